//! What a function declares.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{LabelId, NameId, RegDeclId, RegId, VarId};
use ptx_isa::ScalarType;

use crate::handle::Dependency;

/// A name of up to 15 bytes, or the index of a longer one, whose length is 0 here.
#[derive(Copy, Clone, Default, Debug)]
pub(crate) struct ShortName {
    pub(crate) bytes: [u8; 15],
    pub(crate) len: u8,
}

impl ShortName {
    /// A name, which is added to `long` if it is a long one.
    pub(crate) fn new(name: &str, long: &mut Vec<String>) -> Self {
        let mut short = Self::default();
        match short.bytes.get_mut(..name.len()) {
            Some(start) => {
                start.copy_from_slice(name.as_bytes());
                short.len = name.len() as u8;
            }
            None => {
                let index = (long.len() as u32).to_le_bytes();
                short.bytes[..4].copy_from_slice(&index);
                long.push(String::from(name));
            }
        }
        short
    }

    /// The name, if need be from the long ones.
    pub(crate) fn text<'n>(&'n self, long: &'n [String]) -> &'n str {
        let [a, b, c, d, ..] = self.bytes;
        match self.bytes.get(..usize::from(self.len)) {
            Some(bytes @ [_, ..]) => core::str::from_utf8(bytes).unwrap_or_default(),
            _ => long
                .get(u32::from_le_bytes([a, b, c, d]) as usize)
                .map_or("", String::as_str),
        }
    }

    /// Adds one to the number at its end; `None` if it gets one more digit.
    #[inline]
    pub(crate) fn increment(mut self) -> Option<Self> {
        let digits = self.bytes.get_mut(..usize::from(self.len))?;
        for digit in digits.iter_mut().rev() {
            match digit {
                b'9' => *digit = b'0',
                b'0'..b'9' => {
                    *digit += 1;
                    return Some(self);
                }
                _ => return None,
            }
        }
        None
    }
}

#[derive(Debug)]
pub(crate) struct RegisterInfo {
    /// Its name; a long one is among those of its function.
    pub(crate) name: ShortName,
    /// Its record, from its first mention on.
    pub(crate) id: Option<RegId>,
    pub(crate) decl: RegDeclId,
    /// Its number in the range that declares it.
    pub(crate) number: u32,
    pub(crate) ty: ScalarType,
    pub(crate) vector: u8,
    pub(crate) visible: bool,
    pub(crate) is_parameter: bool,
    /// Whether [`reg`](crate::FunctionBuilder::reg) made it.
    pub(crate) is_fresh: bool,
    /// Whether a statement mentions it.
    pub(crate) is_used: bool,
}

#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) id: VarId,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) visible: bool,
    pub(crate) is_parameter: bool,
}

/// The table that follows a label.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) text: String,
    pub(crate) mentions: Vec<Dependency>,
}

#[derive(Debug)]
pub(crate) struct LabelInfo {
    /// Its record, from its first mention on.
    pub(crate) id: Option<LabelId>,
    pub(crate) record: NameId,
    pub(crate) name: String,
    /// Whether the scope that has its name is open.
    pub(crate) visible: bool,
    /// The scope that it is placed in.
    pub(crate) place: Option<u32>,
    /// The only scope that it can be placed in; none for a name that nothing else has.
    pub(crate) home: Option<u32>,
    /// The scopes of the statements that mention it, before it is placed.
    pub(crate) waiting: Vec<u32>,
    pub(crate) table: Option<Table>,
}

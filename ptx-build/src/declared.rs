//! What a function declares.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{LabelId, NameId, RegDeclId, RegId, VarId};
use ptx_isa::ScalarType;

use crate::handle::Dependency;
use crate::text::Text;

/// A name of up to 15 bytes, with its length in the last byte. A longer one has length 0 and begins with its index.
#[derive(Copy, Clone, Default, Debug)]
pub(crate) struct ShortName([u8; 16]);

impl ShortName {
    /// A name, which is added to `long` if it is a long one.
    pub(crate) fn new(name: &str, long: &mut Vec<String>) -> Self {
        let mut bytes = [0; 16];
        match bytes.get_mut(..name.len()) {
            Some(start) if name.len() < 16 => {
                start.copy_from_slice(name.as_bytes());
                bytes[15] = name.len() as u8;
            }
            _ => {
                bytes = (long.len() as u128).to_le_bytes();
                long.push(String::from(name));
            }
        }
        Self(bytes)
    }

    #[inline]
    const fn len(self) -> u8 {
        self.0[15]
    }

    /// The name, if need be from the long ones.
    pub(crate) fn text<'n>(&'n self, long: &'n [String]) -> &'n str {
        match self.0.get(..usize::from(self.len())) {
            Some(bytes @ [_, ..]) => core::str::from_utf8(bytes).unwrap_or_default(),
            _ => {
                let name = long.get(u128::from_le_bytes(self.0) as usize);
                name.map_or("", String::as_str)
            }
        }
    }

    /// Adds the name to a text.
    #[inline]
    pub(crate) fn write(&self, long: &[String], out: &mut Text) {
        match self.len() {
            0 => out.push_str(self.text(long)),
            len => out.push_short(&self.0, len),
        }
    }

    /// Adds one to the number at its end; `None` if its last digit is 9, or the name is long.
    #[inline]
    pub(crate) fn increment(self) -> Option<Self> {
        // As one number: bytes that were just written are slow to read as part of a word.
        let word = u128::from_le_bytes(self.0);
        let last = u32::from(self.len()).checked_sub(1)? * 8;
        let is_less = (b'0'..b'9').contains(&((word >> last) as u8));
        is_less.then(|| Self((word + (1 << last)).to_le_bytes()))
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

impl RegisterInfo {
    #[inline]
    pub(crate) fn new(name: ShortName, (decl, number): (RegDeclId, u32), ty: ScalarType) -> Self {
        Self {
            name,
            id: None,
            decl,
            number,
            ty,
            vector: 1,
            visible: true,
            is_parameter: false,
            is_fresh: false,
            is_used: false,
        }
    }
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

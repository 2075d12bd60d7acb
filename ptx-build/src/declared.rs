//! What a function declares.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{LabelId, NameId, RegDeclId, RegId, VarId};
use ptx_isa::ScalarType;

use crate::handle::Dependency;
use crate::text::Text;

/// A name of up to 15 bytes, with its length in the last byte. A longer one has length 0 and begins with its index.
///
/// Two words, which are written and read as such: reading more bytes at once than were just written is slow.
#[derive(Copy, Clone, Default, Debug)]
pub(crate) struct ShortName([[u8; 8]; 2]);

impl ShortName {
    /// A name, which is added to `long` if it is a long one.
    pub(crate) fn new(name: &str, long: &mut Vec<String>) -> Self {
        let mut short = Self::default();
        match short.0.as_flattened_mut().get_mut(..name.len()) {
            Some(start) if name.len() < 16 => {
                start.copy_from_slice(name.as_bytes());
                short.0[1][7] = name.len() as u8;
            }
            _ => {
                short.0[0] = (long.len() as u64).to_le_bytes();
                long.push(String::from(name));
            }
        }
        short
    }

    #[inline]
    const fn len(self) -> u8 {
        self.0[1][7]
    }

    /// The name, if need be from the long ones.
    pub(crate) fn text<'n>(&'n self, long: &'n [String]) -> &'n str {
        match self.0.as_flattened().get(..usize::from(self.len())) {
            Some(bytes @ [_, ..]) => core::str::from_utf8(bytes).unwrap_or_default(),
            _ => {
                let name = long.get(u64::from_le_bytes(self.0[0]) as usize);
                name.map_or("", String::as_str)
            }
        }
    }

    /// Adds the name to a text.
    #[inline]
    pub(crate) fn write(&self, long: &[String], out: &mut Text) {
        match self.len() {
            0 => out.push_str(self.text(long)),
            len @ 1..=8 => out.push_short(&self.0[0], len),
            len => {
                out.push_array(&self.0[0]);
                out.push_short(&self.0[1], len - 8);
            }
        }
    }

    /// Adds one to the number at its end; `None` if its last digit is 9, or the name is long.
    #[inline]
    pub(crate) fn increment(self) -> Option<Self> {
        let last = self.len().checked_sub(1)?;
        let [mut first, mut second] = self.0.map(u64::from_le_bytes);
        let word = match last {
            0..8 => &mut first,
            _ => &mut second,
        };
        let digit = 8 * u32::from(last % 8);
        let is_less = (b'0'..=b'8').contains(&((*word >> digit) as u8));
        *word += 1 << digit;
        is_less.then(|| Self([first, second].map(u64::to_le_bytes)))
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

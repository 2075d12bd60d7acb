//! What a function declares.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{LabelId, NameId, RegDeclId, RegId, VarId};
use ptx_isa::ScalarType;

use crate::handle::Dependency;

#[derive(Debug)]
pub(crate) struct RegisterInfo {
    /// Its record, from its first mention on.
    pub(crate) id: Option<RegId>,
    pub(crate) decl: RegDeclId,
    pub(crate) number: u32,
    /// Where its name is.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) ty: ScalarType,
    pub(crate) vector: u8,
    pub(crate) visible: bool,
    pub(crate) is_parameter: bool,
    /// The number in the name of a fresh register; 0 for other registers.
    pub(crate) fresh_number: u32,
}

impl RegisterInfo {
    /// Its name, among those of its function.
    pub(crate) fn name<'n>(&self, names: &'n str) -> Option<&'n str> {
        names.get(self.start as usize..self.end as usize)
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

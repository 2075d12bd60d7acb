//! The registers, variables and labels that a function declares.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::{LabelId, NameId, RegDeclId, RegId, VarId};
use ptx_isa::ScalarType;

use crate::handle::Dependency;

/// The beginning of the names of a range of registers, or a plain name.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Stem {
    Range(u32),
    Plain(u32),
}

/// The registers of a function, by their handles.
#[derive(Default, Debug)]
pub(crate) struct Registers {
    stems: Vec<String>,
    infos: Vec<RegisterInfo>,
}

impl Registers {
    /// Adds a plain name.
    pub(crate) fn add_plain(&mut self, name: &str) -> Stem {
        Stem::Plain(self.add(name))
    }

    /// Adds the beginning of the names of a range.
    pub(crate) fn add_range(&mut self, prefix: &str) -> Stem {
        Stem::Range(self.add(prefix))
    }

    fn add(&mut self, stem: &str) -> u32 {
        self.stems.push(stem.to_string());
        self.stems.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn push(&mut self, info: RegisterInfo) -> u32 {
        self.infos.push(info);
        self.infos.len() as u32 - 1
    }

    /// The number of registers that have a handle.
    pub(crate) fn len(&self) -> u32 {
        self.infos.len() as u32
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&RegisterInfo> {
        self.infos.get(index as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut RegisterInfo> {
        self.infos.get_mut(index as usize)
    }

    /// The name of a register; empty for a register that does not exist.
    pub(crate) fn name(&self, index: u32) -> String {
        let Some(info) = self.get(index) else {
            return String::new();
        };
        let (Stem::Range(stem) | Stem::Plain(stem)) = info.stem;
        let text = self.stems.get(stem as usize).map_or("", String::as_str);
        match info.stem {
            Stem::Range(_) => format!("{text}{}", info.number),
            Stem::Plain(_) => text.to_string(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct RegisterInfo {
    pub(crate) stem: Stem,
    /// Its record, from its first mention on.
    pub(crate) id: Option<RegId>,
    pub(crate) decl: RegDeclId,
    /// Its number in the range that declares it; 0 for a plain name.
    pub(crate) number: u32,
    pub(crate) ty: ScalarType,
    pub(crate) vector: u8,
    pub(crate) visible: bool,
    /// Whether a statement mentions it.
    pub(crate) is_used: bool,
}

impl RegisterInfo {
    /// A scalar that no statement mentions.
    #[inline]
    pub(crate) fn new(stem: Stem, decl: RegDeclId, number: u32, ty: ScalarType) -> Self {
        Self {
            stem,
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
    /// The only scope that it can be placed in; `None` for a unique name.
    pub(crate) home: Option<u32>,
    /// The scopes of the statements that mention it, before it is placed.
    pub(crate) waiting: Vec<u32>,
    pub(crate) table: Option<Table>,
}

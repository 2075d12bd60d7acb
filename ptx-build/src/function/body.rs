//! What is known of a function while it is made.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::FunctionKind;
use ptx_isa::ScalarType;

use crate::error::{Error, Kind};
use crate::operand::Reg;
use crate::writer::Mention;

#[derive(Debug)]
pub(crate) struct RegisterInfo {
    /// Where its name stands.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) ty: ScalarType,
    pub(crate) vector: u8,
    pub(crate) visible: bool,
    pub(crate) is_parameter: bool,
}

#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) class: u32,
    pub(crate) visible: bool,
    pub(crate) is_parameter: bool,
}

/// What stands behind a label that is a table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) text: String,
    pub(crate) mentions: Vec<Mention>,
}

#[derive(Debug)]
pub(crate) struct LabelInfo {
    pub(crate) name: String,
    pub(crate) placed: bool,
    pub(crate) used: bool,
    pub(crate) table: Option<Table>,
}

/// What a name of a function means.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Meaning {
    Register(u32),
    Local(u32),
    Label,
}

/// The fresh registers of one type.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) ty: ScalarType,
    pub(super) prefix: String,
    pub(super) count: u32,
}

/// The function as far as it is made.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) owner: u32,
    pub(crate) function: u32,
    pub(crate) kind: FunctionKind,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) registers: Vec<RegisterInfo>,
    pub(crate) register_names: String,
    pub(crate) locals: Vec<Local>,
    pub(crate) labels: Vec<LabelInfo>,
    /// What each name means here, the innermost scope last.
    pub(crate) names: BTreeMap<String, Vec<Meaning>>,
    /// The names of each open scope.
    pub(super) scopes: Vec<Vec<String>>,
    pub(super) fresh: Vec<Fresh>,
    /// Where the fresh registers of each type are.
    pub(super) fresh_of: [Option<u8>; ScalarType::COUNT],
    pub(super) fresh_labels: u32,
    /// Up to where the text is of finished statements.
    pub(super) committed: usize,
    pub(super) mnemonic: usize,
    pub(super) is_open: bool,
    pub(super) guard: Option<(Reg, bool)>,
    pub(crate) key: Vec<u8>,
    pub(crate) mentions: Vec<Mention>,
    pub(crate) error: Option<Error>,
    /// A statement that was begun and not ended: said when the function is finished.
    pub(crate) unfinished: Option<Error>,
}

impl Body {
    pub(crate) fn register_name(&self, info: &RegisterInfo) -> &str {
        let range = info.start as usize..info.end as usize;
        self.register_names.get(range).unwrap_or_default()
    }

    pub(super) fn indent(&mut self) {
        // As deep as the canonical style goes.
        for _ in 0..(self.scopes.len()).min(32) {
            self.text.push('\t');
        }
    }

    pub(super) fn line(&mut self, text: &str) {
        self.abandon();
        self.indent();
        self.text.push_str(text);
        self.text.push('\n');
        self.committed = self.text.len();
    }

    /// Notes a statement that was begun and not ended.
    pub(super) fn abandon(&mut self) {
        if self.is_open {
            let text = self.text.get(self.committed..).unwrap_or_default();
            let message = format!("`{}` was begun and not ended", text.trim());
            self.unfinished
                .get_or_insert(Error::new(Kind::Unfinished, message));
            self.text.truncate(self.committed);
            self.is_open = false;
        }
    }
}

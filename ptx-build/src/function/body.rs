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

impl RegisterInfo {
    /// Its name, among those of its function.
    pub(crate) fn name<'n>(&self, names: &'n str) -> Option<&'n str> {
        names.get(self.start as usize..self.end as usize)
    }
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
    /// Whether the scope that has its name is open.
    pub(crate) visible: bool,
    pub(crate) placed: bool,
    /// How many statements mention it.
    pub(crate) uses: u32,
    pub(crate) table: Option<Table>,
}

/// What a name of a function means.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Meaning {
    Register(u32),
    Local(u32),
    Label(u32),
    /// A member of a range of registers that nothing mentioned yet.
    Member,
}

/// Registers that were declared as a range, `%r<100>`, or by a plain name.
#[derive(Debug)]
pub(crate) struct RangeInfo {
    pub(super) name: String,
    /// `None` for a plain name.
    pub(super) count: Option<u64>,
    pub(super) ty: ScalarType,
    pub(super) vector: u8,
    /// How many scopes were open.
    pub(super) depth: usize,
    pub(super) is_open: bool,
    /// The members that were asked for.
    pub(super) members: BTreeMap<u64, u32>,
}

impl RangeInfo {
    /// Whether a name is that of a member.
    pub(super) fn holds(&self, name: &str) -> bool {
        let number = name.strip_prefix(self.name.as_str());
        let number = number.filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        match (self.count, number) {
            (Some(count), Some(n)) => n.parse::<u64>().is_ok_and(|n| n < count),
            _ => false,
        }
    }
}

/// A scope that is open.
#[derive(Default, Debug)]
pub(crate) struct Scope {
    pub(super) names: Vec<String>,
    pub(super) ranges: Vec<u32>,
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
    pub(crate) names: BTreeMap<String, Vec<(usize, Meaning)>>,
    pub(super) scopes: Vec<Scope>,
    pub(super) ranges: Vec<RangeInfo>,
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
        info.name(&self.register_names).unwrap_or_default()
    }

    /// A statement that mentions what was noted is refused.
    pub(crate) fn unmention(&mut self) {
        for mention in self.mentions.drain(..) {
            if let Mention::Label(l) = mention
                && let Some(label) = self.labels.get_mut(l as usize)
            {
                label.uses = label.uses.saturating_sub(1);
            }
        }
    }

    pub(super) fn indent(&mut self) {
        // As deep as the canonical style goes.
        for _ in 0..(self.scopes.len()).min(32) {
            self.text.push('\t');
        }
    }

    /// Whether a scope of its own is open.
    pub(crate) fn is_in_scope(&self) -> bool {
        self.depth() > 1
    }

    /// How many scopes are open, the function itself included.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
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
            let help =
                "end it with its operands: the method of its type, or `emit(())` where it has none";
            self.unfinished
                .get_or_insert(Error::new(Kind::Unfinished, message, help));
            self.text.truncate(self.committed);
            self.is_open = false;
        }
    }
}

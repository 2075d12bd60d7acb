//! What is known of a function while it is made.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::FunctionKind;
use ptx_isa::ScalarType;

use super::blocks::Blocks;
use super::parameters::Parameter;
use crate::error::{BuildError, BuildErrorKind};
use crate::module::{DeclState, next_owner};
use crate::operand::Reg;
use crate::writer::Dependency;

#[derive(Debug)]
pub(crate) struct RegisterInfo {
    /// Where its name stands.
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
    pub(crate) mentions: Vec<Dependency>,
}

#[derive(Debug)]
pub(crate) struct LabelInfo {
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

/// What a name of a function means.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Meaning {
    Register(u32),
    Local(u32),
    Label(u32),
    /// A member of a range of registers that nothing mentioned yet.
    Member,
    /// A function that is declared here, by its number in the module.
    Function(u32),
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

/// The number of a member of a range with this name. One that ends with a digit has none: `x10` is 10 behind `x`.
fn number_behind<'n>(range: &str, member: &'n str) -> Option<&'n str> {
    let number = member.strip_prefix(range)?;
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (digits && !ends_with_digit(range)).then_some(number)
}

/// Whether the members of a range with this name cannot be named.
pub(crate) fn ends_with_digit(range: &str) -> bool {
    range.ends_with(|c: char| c.is_ascii_digit())
}

impl RangeInfo {
    /// Whether a name is that of a member.
    pub(super) fn holds(&self, name: &str) -> bool {
        match (self.count, number_behind(&self.name, name)) {
            (Some(count), Some(n)) => n.parse::<u64>().is_ok_and(|n| n < count),
            _ => false,
        }
    }
}

/// A scope that is open.
#[derive(Default, Debug)]
pub(crate) struct Scope {
    pub(super) id: u32,
    pub(super) names: Vec<String>,
    pub(super) ranges: Vec<u32>,
}

/// The fresh registers of one type.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) ty: ScalarType,
    pub(super) prefix: String,
    pub(super) count: u32,
    /// The highest number that a statement mentions; 0 if none is mentioned.
    pub(super) highest_used: u32,
}

impl Fresh {
    /// Whether a name is, or can become, that of such a register.
    pub(super) fn holds(&self, name: &str) -> bool {
        number_behind(&self.prefix, name).is_some()
    }
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
    /// The scope around each scope there was, by their numbers.
    pub(super) outer: Vec<u32>,
    /// The functions that are declared inside of it.
    pub(crate) declared: Vec<u32>,
    pub(super) ranges: Vec<RangeInfo>,
    pub(super) fresh: Vec<Fresh>,
    /// Where the fresh registers of each type are.
    pub(super) fresh_of: [Option<u8>; ScalarType::COUNT],
    pub(crate) fresh_labels: u32,
    /// The places that `.loc` named in this function.
    pub(crate) places: BTreeSet<[u32; 3]>,
    /// The files that it mentions.
    pub(crate) files: BTreeSet<u32>,
    pub(super) blocks: Blocks,
    pub(super) results: Vec<Parameter>,
    pub(super) params: Vec<Parameter>,
    /// Up to where the text is of finished statements.
    pub(super) committed: usize,
    pub(super) mnemonic: usize,
    pub(super) is_open: bool,
    pub(super) guard: Option<(Reg, bool)>,
    pub(crate) key: Vec<u8>,
    pub(crate) mentions: Vec<Dependency>,
    pub(crate) error: Option<BuildError>,
    /// A statement that was begun and not ended: said when the function is finished.
    pub(crate) unfinished: Option<BuildError>,
}

impl Body {
    pub(crate) fn register_name(&self, info: &RegisterInfo) -> &str {
        info.name(&self.register_names).unwrap_or_default()
    }

    /// A function without statements.
    pub(super) fn new(function: u32, kind: FunctionKind, name: &str) -> Self {
        Self {
            owner: next_owner(),
            function,
            kind,
            name: String::from(name),
            text: String::new(),
            registers: Vec::new(),
            register_names: String::new(),
            locals: Vec::new(),
            labels: Vec::new(),
            names: BTreeMap::new(),
            scopes: alloc::vec![Scope::default()],
            outer: alloc::vec![0],
            declared: Vec::new(),
            ranges: Vec::new(),
            fresh: Vec::new(),
            fresh_of: [None; ScalarType::COUNT],
            fresh_labels: 0,
            places: BTreeSet::new(),
            files: BTreeSet::new(),
            blocks: Blocks::default(),
            results: Vec::new(),
            params: Vec::new(),
            committed: 0,
            mnemonic: 0,
            is_open: false,
            guard: None,
            key: Vec::new(),
            mentions: Vec::new(),
            error: None,
            unfinished: None,
        }
    }

    /// Whether it has parameters and results at most.
    pub(super) fn is_empty(&self) -> bool {
        self.committed == 0
            && !self.is_open
            && self.labels.is_empty()
            && self.ranges.is_empty()
            && self.fresh.is_empty()
            && self.declared.is_empty()
            && self.scopes.len() == 1
            && self.blocks.is_empty()
    }

    /// A statement with these dependencies was added: the registers among them have to be declared.
    #[inline]
    pub(crate) fn note_use(&mut self) {
        for mention in &self.mentions {
            if let Dependency::Reg(r) = mention
                && let Some(info) = self.registers.get(*r as usize)
                && info.fresh_number > 0
                && let Some(Some(at)) = self.fresh_of.get(info.ty.index())
                && let Some(fresh) = self.fresh.get_mut(usize::from(*at))
            {
                fresh.highest_used = fresh.highest_used.max(info.fresh_number);
            }
        }
    }

    /// A statement that mentions what was noted is refused.
    pub(crate) fn rollback_refs(&mut self) {
        for mention in self.mentions.drain(..) {
            if let Dependency::Label(l) = mention
                && let Some(label) = self.labels.get_mut(l as usize)
                && label.place.is_none()
            {
                label.waiting.pop();
            }
        }
    }

    /// Whether a statement can mention a label here: it is to be placed, or its scope is open.
    pub(crate) fn reaches(&self, label: &LabelInfo) -> bool {
        let open = |id| self.scopes.iter().any(|s| s.id == id);
        label.visible && label.place.is_none_or(open)
    }

    /// A statement mentions a label.
    pub(crate) fn wait(&mut self, label: u32) {
        let scope = self.scope();
        if let Some(label) = self.labels.get_mut(label as usize)
            && label.place.is_none()
        {
            label.waiting.push(scope);
        }
    }

    /// The number of the scope that is open.
    pub(super) fn scope(&self) -> u32 {
        self.scopes.last().map_or(0, |s| s.id)
    }

    pub(super) fn push_scope(&mut self) {
        let (id, outer) = (self.outer.len() as u32, self.scope());
        self.outer.push(outer);
        self.scopes.push(Scope {
            id,
            ..Scope::default()
        });
    }

    /// Whether one scope is another one or inside of it.
    pub(super) fn is_inside(&self, mut scope: u32, of: u32) -> bool {
        // Inner scopes have larger numbers.
        while scope > of {
            scope = self.outer.get(scope as usize).copied().unwrap_or(0);
        }
        scope == of
    }

    /// Whether a function of the module is declared before this place.
    pub(crate) fn knows(&self, function: u32, written: DeclState) -> bool {
        match written {
            DeclState::Declared => true,
            DeclState::Discarded => false,
            DeclState::Open => function == self.function,
            DeclState::Nested { owner, scope } => {
                let is_open = self.scopes.iter().any(|s| s.id == scope);
                function == self.function || (owner == self.owner && is_open)
            }
        }
    }

    /// Whether the name of a function of the module means something else here.
    pub(crate) fn shadows(&self, name: &str, function: u32) -> bool {
        match self.names.get(name).and_then(|m| m.last()) {
            Some((_, Meaning::Function(f))) => *f != function,
            _ => self.means(name),
        }
    }

    /// Whether there are registers in a range of this name.
    pub(super) fn has_range(&self, name: &str) -> bool {
        let mut ranges = self.ranges.iter().filter(|r| r.is_open);
        self.fresh.iter().any(|f| f.prefix == name) || ranges.any(|r| r.name == name)
    }

    /// Whether a name means something here that the function declared.
    pub(crate) fn means(&self, name: &str) -> bool {
        let in_fresh = |f: &Fresh| f.holds(name);
        let in_range = |r: &RangeInfo| r.is_open && r.holds(name);
        self.names.contains_key(name)
            || self.fresh.iter().any(in_fresh)
            || self.ranges.iter().any(in_range)
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
            self.unfinished.get_or_insert(BuildError::new(
                BuildErrorKind::Unfinished,
                message,
                help,
            ));
            self.text.truncate(self.committed);
            self.is_open = false;
        }
    }
}

//! Where memory that operations access lies: the variable, and the bytes in it if they are known.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts, MemoryAccess};
use ptx_ir::{Operand, Statement, StmtId, SymbolId, VarId};

use crate::cfg::Cfg;
use crate::function_analysis::FunctionAnalysis;
use crate::ssa::{Ssa, Value, ValueId};

/// A variable of the module or of the function.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Root {
    Symbol(SymbolId),
    Variable(VarId),
}

impl Root {
    fn of(operand: Operand) -> Option<Self> {
        match operand {
            Operand::Symbol(symbol) => Some(Self::Symbol(symbol)),
            Operand::Var(variable) => Some(Self::Variable(variable)),
            _ => None,
        }
    }
}

/// The variables that an address may be derived from.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Origin {
    /// None that is known.
    None,
    /// This one, by its number.
    One(u32),
    /// Different ones.
    Several,
}

impl Origin {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, other) | (other, Self::None) => other,
            (a, b) if a == b => a,
            _ => Self::Several,
        }
    }
}

/// What an offset is added to, if it is the same whenever it is evaluated.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Base {
    /// The variable itself.
    Root,
    /// A value that is computed once.
    Value(ValueId),
}

/// Memory that is accessed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The variable that contains it, by its number.
    pub(super) root: Option<u32>,
    base: Option<Base>,
    offset: Option<i64>,
    bytes: Option<u64>,
}

/// Whether two places have bytes in common.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Overlap {
    Never,
    /// They are in one variable.
    Possible,
    Certain,
}

impl Place {
    /// Whether two places have bytes in common. Places of which nothing is known do not.
    pub(super) fn overlap(self, other: Self) -> Overlap {
        let same_base = self.base.is_some() && self.base == other.base;
        let same_root = self.root.is_some() && self.root == other.root;
        let known = |place: Self| Some((place.offset?, place.bytes?));
        match (known(self), known(other)) {
            (Some((a, a_bytes)), Some((b, b_bytes))) if same_base && self.root == other.root => {
                let apart =
                    |from: i64, bytes: u64, to: i64| from.saturating_add_unsigned(bytes) <= to;
                match apart(a, a_bytes, b) || apart(b, b_bytes, a) {
                    true => Overlap::Never,
                    false => Overlap::Certain,
                }
            }
            _ if same_root => Overlap::Possible,
            _ => Overlap::Never,
        }
    }

    /// Whether both are surely the same address.
    pub(super) fn is_same_address(self, other: Self) -> bool {
        let same_base = self.base.is_some() && self.base == other.base;
        same_base && self.root == other.root && self.offset.is_some() && self.offset == other.offset
    }
}

/// Passes over a function until origins are given up.
const PASSES: usize = 8;

/// The places of a function.
pub(super) struct Places<'a> {
    facts: FunctionFacts<'a>,
    analysis: &'a FunctionAnalysis,
    ssa: Option<Ssa>,
    /// The number of each variable.
    roots: BTreeMap<Root, u32>,
    /// What each value is derived from.
    origins: Vec<Origin>,
}

impl<'a> Places<'a> {
    pub(super) fn new(facts: FunctionFacts<'a>, analysis: &'a FunctionAnalysis) -> Self {
        let ssa = Ssa::new(
            facts,
            analysis.cfg(),
            analysis.dominators(),
            analysis.variables(),
        );
        let ssa = ssa.ok();
        let values = ssa.as_ref().map_or(0, Ssa::len);
        let mut places = Self {
            facts,
            analysis,
            ssa,
            roots: BTreeMap::new(),
            origins: vec![Origin::None; values],
        };
        places.solve();
        places
    }

    /// Finds the origins of all values.
    fn solve(&mut self) {
        let Some(ssa) = self.ssa.take() else { return };
        let mut is_done = false;
        for _ in 0..PASSES {
            is_done = !self.pass(&ssa);
            if is_done {
                break;
            }
        }
        if !is_done {
            self.origins.fill(Origin::Several);
        }
        self.ssa = Some(ssa);
    }

    /// Adds to the origins of values; returns whether any changed.
    fn pass(&mut self, ssa: &Ssa) -> bool {
        let cfg: &Cfg = self.analysis.cfg();
        let body = self.facts.body();
        let mut changed = false;
        for (id, block) in cfg.blocks() {
            for phi in ssa.phis(id) {
                let origin = ssa.args(phi).iter().map(|&v| self.origin(v));
                let origin = origin.fold(Origin::None, Origin::join);
                changed |= self.set(phi, origin);
            }
            for (stmt, statement) in body.range(block.first, block.end) {
                let Statement::Inst(inst) = statement else {
                    continue;
                };
                if ssa.defs(stmt).len() == 0 {
                    continue;
                }
                let origin = self.computed(ssa, stmt, self.facts.inst(inst));
                for def in ssa.defs(stmt) {
                    let old = match ssa.value(def) {
                        Value::Def { old: Some(old), .. } => self.origin(old),
                        _ => Origin::None,
                    };
                    changed |= self.set(def, origin.join(old));
                }
            }
        }
        changed
    }

    fn origin(&self, value: ValueId) -> Origin {
        let at = value.as_u32() as usize;
        self.origins.get(at).copied().unwrap_or(Origin::None)
    }

    fn set(&mut self, value: ValueId, origin: Origin) -> bool {
        let Some(old) = self.origins.get_mut(value.as_u32() as usize) else {
            return false;
        };
        let new = old.join(origin);
        core::mem::replace(old, new) != new
    }

    /// What the results of an instruction are derived from: all its sources, unless they come from elsewhere.
    fn computed(&mut self, ssa: &Ssa, stmt: StmtId, facts: Facts<'_>) -> Origin {
        if facts.has_side_effects() || facts.memory().next().is_some() {
            return Origin::None;
        }
        let values = ssa.uses(stmt).iter().map(|read| self.origin(read.value));
        let mut origin = values.fold(Origin::None, Origin::join);
        for (operand, _) in facts.parts() {
            let operand = match operand {
                Operand::Address(id) => self.facts.body().pool().address(id).map(|a| a.base),
                other => Some(other),
            };
            if let Some(root) = operand.and_then(Root::of) {
                origin = origin.join(Origin::One(self.number(root)));
            }
        }
        origin
    }

    fn number(&mut self, root: Root) -> u32 {
        let next = self.roots.len() as u32;
        *self.roots.entry(root).or_insert(next)
    }

    /// The number of variables.
    pub(super) fn roots(&self) -> usize {
        self.roots.len()
    }

    /// The place of an access of a statement.
    pub(super) fn of(&mut self, stmt: StmtId, access: &MemoryAccess) -> Place {
        let (root, base) = match access.base {
            Some(Operand::Reg(register)) => self.of_register(stmt, register),
            Some(operand) => match Root::of(operand) {
                Some(root) => (Some(self.number(root)), Some(Base::Root)),
                None => (None, None),
            },
            None => (None, None),
        };
        Place {
            root,
            base,
            offset: access.offset,
            bytes: access.bytes,
        }
    }

    fn of_register(&self, stmt: StmtId, register: ptx_ir::RegId) -> (Option<u32>, Option<Base>) {
        let Some(ssa) = &self.ssa else {
            return (None, None);
        };
        let variable = self.analysis.variables().of(register.into()).start;
        let Some(value) = ssa.read(stmt, variable) else {
            return (None, None);
        };
        let root = match self.origin(value) {
            Origin::One(root) => Some(root),
            _ => None,
        };
        (
            root,
            self.is_computed_once(ssa, value)
                .then_some(Base::Value(value)),
        )
    }

    /// Whether a value is computed in no loop.
    fn is_computed_once(&self, ssa: &Ssa, value: ValueId) -> bool {
        let block = match ssa.value(value) {
            Value::Unknown => return false,
            Value::Entry { .. } => return true,
            Value::Def { stmt, .. } => self.analysis.cfg().of_statement(stmt),
            Value::Phi { block, .. } => Some(block),
        };
        block.is_some_and(|b| self.analysis.loops().innermost(b).is_none())
    }
}

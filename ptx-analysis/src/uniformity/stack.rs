//! Variables in local memory whose address no other function gets: what a thread loads from them is what it stored there.
//!
//! Unoptimized code keeps its variables there. The address of each access is an affine form ([`crate::values`]); parts of a variable that
//! are accessed by the same bytes are followed like registers. An address escapes if anything else is done with it than to add to it, to compare it and
//! to access memory.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_dataflow::internals::{CellAccess, CellUse, Cells};
use ptx_ir::facts::{Facts, FunctionFacts, MemoryAccess};
use ptx_ir::{InstId, Operand, Statement, StmtId, VarId};
use ptx_isa::{Access, Action, StateSpace};

use super::cells::each_operand;
use crate::function_dataflow::FunctionDataflow;
use crate::reg_lanes::Variables;
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::{Affine, Symbol, Values, VariableRef};

/// How many accesses to cells there may be, and how many more for each statement: an access through an index is one to each cell of the variable.
const ACCESSES: usize = 1 << 12;
const ACCESSES_PER_STATEMENT: usize = 4;

/// What is known of the local memory of a function.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(super) cells: Cells,
    /// Whether other addresses may be those of local memory.
    pub(super) escapes: bool,
}

impl Stack {
    /// Nothing is known.
    pub(super) const UNKNOWN: Self = Self {
        cells: Cells::NONE,
        escapes: true,
    };

    /// There is no local memory.
    pub(super) const NONE: Self = Self {
        cells: Cells::NONE,
        escapes: false,
    };

    pub(crate) fn new(function: &FunctionDataflow<'_>) -> Self {
        let (facts, body) = (function.facts(), function.body());
        if !body.vars().values().any(|v| is_local(v.space)) {
            return if makes_address(facts, StateSpace::Local) {
                Self::UNKNOWN
            } else {
                Self::NONE
            };
        }
        let mut statements = body.statements();
        if statements.any(|(_, s)| matches!(s, Statement::Opaque(_))) {
            return Self::UNKNOWN;
        }
        let (Ok(ssa), Ok(values)) = (function.ssa(), function.values()) else {
            return Self::UNKNOWN;
        };
        let mut finder = Finder {
            facts,
            variables: function.variables(),
            ssa,
            values,
            escaped: BTreeSet::new(),
            any_escapes: false,
            accesses: Vec::new(),
        };
        finder.run(function);
        finder.finish()
    }
}

fn is_local(space: StateSpace) -> bool {
    space.base() == StateSpace::Local
}

/// Whether a function converts an address of a state space to a generic one.
pub(super) fn makes_address(facts: FunctionFacts<'_>, space: StateSpace) -> bool {
    let mut insts = facts.body().insts();
    insts.any(|(id, inst)| {
        let mut spaces = facts.module().signature(inst.sig).state_spaces();
        spaces.any(|of| of.base() == space) && facts.inst(id).action() == Some(Action::ToGeneric)
    })
}

/// What an address in local memory points into.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Root {
    Variable(VarId),
    /// Something in local memory.
    Unknown,
}

/// An access to a variable.
#[derive(Copy, Clone, Debug)]
struct Found {
    stmt: StmtId,
    variable: VarId,
    /// The first byte and the one after the last; `None` if they depend on an index.
    bytes: Option<(i64, i64)>,
    writes: bool,
}

struct Finder<'a> {
    facts: FunctionFacts<'a>,
    variables: &'a Variables,
    ssa: &'a Ssa,
    values: &'a Values,
    escaped: BTreeSet<VarId>,
    any_escapes: bool,
    accesses: Vec<Found>,
}

impl Finder<'_> {
    fn run(&mut self, function: &FunctionDataflow<'_>) {
        for (id, block) in function.cfg().blocks() {
            if !function.is_reachable(id) {
                continue;
            }
            for phi in self.ssa.phis(id) {
                for &arg in self.ssa.args(phi) {
                    self.flows(arg, phi);
                }
            }
            for (stmt, statement) in self.facts.body().range(block.first, block.end) {
                if let Statement::Inst(inst) = statement {
                    self.inst(stmt, inst);
                }
            }
        }
    }

    /// The variable that is added in a form.
    fn root_of(&self, form: &Affine) -> Option<(Root, bool)> {
        let mut found = None;
        let mut is_constant = true;
        for term in form.terms() {
            let root = match self.values.symbol(term.symbol) {
                Some(Symbol::Variable(VariableRef::Local(variable))) => {
                    if !self.is_stack(variable) {
                        is_constant = false;
                        continue;
                    }
                    match term.factor {
                        1 if found.is_none() => Root::Variable(variable),
                        _ => Root::Unknown,
                    }
                }
                Some(Symbol::Window(space)) if is_local(space) => continue,
                _ => {
                    is_constant = false;
                    continue;
                }
            };
            found = Some(root);
        }
        let has_window = || {
            let mut terms = form.terms().iter();
            terms.any(
                |t| matches!(self.values.symbol(t.symbol), Some(Symbol::Window(s)) if is_local(s)),
            )
        };
        match found {
            None if has_window() => Some((Root::Unknown, false)),
            None => None,
            Some(root) => Some((root, is_constant)),
        }
    }

    fn root(&self, value: ValueId) -> Option<Root> {
        let (root, _) = self.root_of(&self.values.affine(value))?;
        Some(root)
    }

    fn escape(&mut self, root: Root) {
        self.any_escapes = true;
        if let Root::Variable(variable) = root {
            self.escaped.insert(variable);
        }
    }

    /// A value becomes another one: an address must remain one that is known.
    fn flows(&mut self, from: ValueId, to: ValueId) {
        if let Some(root) = self.root(from)
            && (root == Root::Unknown || self.root(to) != Some(root))
        {
            self.escape(root);
        }
    }

    fn inst(&mut self, stmt: StmtId, inst: InstId) {
        let facts = self.facts.inst(inst);
        let mut roots: Vec<Root> = Vec::new();
        for of in self.ssa.uses(stmt) {
            roots.extend(self.root(of.value));
        }
        let body = self.facts.body();
        each_operand(self.facts, body.operands(inst), &mut |operand| {
            if let Operand::Var(variable) = operand
                && body.vars().get(variable).is_some_and(|v| is_local(v.space))
            {
                roots.push(Root::Variable(variable));
            }
        });
        if roots.is_empty() {
            return;
        }
        let found = self.access(stmt, &facts);
        match found {
            Some(found) if roots.len() == 1 => self.accesses.push(found),
            _ if facts.is_known() && facts.memory().next().is_none() && self.is_pure(&facts) => {
                for root in roots {
                    self.computes(stmt, root);
                }
            }
            _ => roots.into_iter().for_each(|root| self.escape(root)),
        }
    }

    fn is_pure(&self, facts: &Facts<'_>) -> bool {
        !facts.has_side_effects() && facts.callees().is_none()
    }

    /// An instruction computes something of an address: another one, or a comparison.
    fn computes(&mut self, stmt: StmtId, root: Root) {
        for def in self.ssa.defs(stmt) {
            let is_predicate = self.values.width(def) == 1;
            let keeps = root != Root::Unknown && self.root(def) == Some(root);
            let old = match self.ssa.value(def) {
                Value::Def { old, .. } => old,
                _ => None,
            };
            if !(is_predicate || keeps)
                || old.is_some_and(|old| self.root(old) != Some(root) && !is_predicate)
            {
                self.escape(root);
            }
        }
    }

    /// The access of an instruction that loads or stores.
    fn access(&self, stmt: StmtId, facts: &Facts<'_>) -> Option<Found> {
        let mut accesses = facts.memory();
        let (access, None) = (accesses.next()?, accesses.next()) else {
            return None;
        };
        if !facts.is_known() || !matches!(access.access, Access::Read | Access::Write) {
            return None;
        }
        let (root, is_constant, start) = self.address(stmt, facts, &access)?;
        let Root::Variable(variable) = root else {
            return None;
        };
        let bytes = access.bytes.and_then(|bytes| {
            let end = start.checked_add(i64::try_from(bytes).ok()?)?;
            is_constant.then_some((start, end))
        });
        Some(Found {
            stmt,
            variable,
            bytes,
            writes: access.writes(),
        })
    }

    /// What the address of an access points into, and its constant part.
    fn address(
        &self,
        stmt: StmtId,
        facts: &Facts<'_>,
        access: &MemoryAccess,
    ) -> Option<(Root, bool, i64)> {
        let offset = access.offset?;
        let base = access.base?;
        if let Operand::Var(variable) = base {
            let is_data = self.stores_address(stmt, facts, access);
            return (self.is_stack(variable) && !is_data).then_some((
                Root::Variable(variable),
                true,
                offset,
            ));
        }
        let variable = self.variables.of(facts.place(base)?).single()?;
        let form = self.values.affine(self.ssa.read(stmt, variable)?);
        let (root, is_constant) = self.root_of(&form)?;
        let is_data = self.stores_address(stmt, facts, access);
        (!is_data).then_some((root, is_constant, form.constant().checked_add(offset)?))
    }

    fn is_stack(&self, variable: VarId) -> bool {
        let of = self.facts.body().vars().get(variable);
        of.is_some_and(|v| is_local(v.space))
    }

    /// Whether an address in local memory is what an access stores.
    fn stores_address(&self, stmt: StmtId, facts: &Facts<'_>, access: &MemoryAccess) -> bool {
        let Some((data, _)) = access.data.filter(|_| access.writes()) else {
            return access.writes();
        };
        let mut variables = facts.places(&data).flat_map(|p| self.variables.of(p));
        variables.any(|v| {
            let value = self.ssa.read(stmt, v);
            value.is_some_and(|v| self.root(v).is_some())
        })
    }

    /// The cells of the variables that do not escape.
    fn finish(self) -> Stack {
        let mut by_variable: BTreeMap<VarId, Vec<Found>> = BTreeMap::new();
        for found in self.accesses {
            if !self.escaped.contains(&found.variable) {
                by_variable.entry(found.variable).or_default().push(found);
            }
        }
        let statements = self.facts.body().statement_table().len();
        let mut left = ACCESSES + ACCESSES_PER_STATEMENT * statements;
        let (mut count, mut accesses) = (0u32, Vec::new());
        for (_, found) in by_variable {
            let parts = parts(&found);
            let indexed = found.iter().filter(|f| f.bytes.is_none()).count();
            let needed = found.len() + indexed.saturating_mul(parts.len());
            if needed > left {
                continue;
            }
            left -= needed;
            for access in &found {
                add(access, &parts, count, &mut accesses);
            }
            count += parts.len() as u32;
        }
        Stack {
            cells: Cells::new(count, accesses),
            escapes: self.any_escapes,
        }
    }
}

/// The parts of a variable that are accessed: bytes of accesses that overlap are one part.
fn parts(found: &[Found]) -> Vec<(i64, i64)> {
    let mut ranges: Vec<(i64, i64)> = found.iter().filter_map(|f| f.bytes).collect();
    ranges.sort_unstable();
    let mut parts: Vec<(i64, i64)> = Vec::new();
    for (start, end) in ranges {
        match parts.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            _ => parts.push((start, end)),
        }
    }
    if found.iter().any(|f| f.bytes.is_none()) {
        // What only accesses with an index reach.
        parts.push((i64::MAX, i64::MAX));
    }
    parts
}

/// Notes which cells an access reads or writes; `first` is the number of that of the first part.
fn add(access: &Found, parts: &[(i64, i64)], first: u32, accesses: &mut Vec<CellAccess>) {
    // Parts do not overlap, and are in order.
    let (from, to) = match access.bytes {
        Some((start, end)) => (
            parts.partition_point(|part| part.1 <= start),
            parts.partition_point(|part| part.0 < end),
        ),
        None => (0, parts.len()),
    };
    for (cell, part) in (first..).zip(parts).take(to).skip(from) {
        let usage = match (access.bytes, access.writes) {
            (Some(bytes), false) if bytes == *part => CellUse::Read,
            (_, false) => CellUse::MayRead,
            (Some(bytes), true) if bytes == *part => CellUse::Write,
            (_, true) => CellUse::MayWrite,
        };
        accesses.push(CellAccess {
            stmt: access.stmt,
            cell,
            usage,
        });
    }
}

//! Variables in local memory whose address no other function gets: a thread loads from them what it stored there.
//!
//! Unoptimized code keeps its variables there. The address of each access is an affine form ([`crate::values`]). The parts of a variable that are always
//! accessed as a whole are *cells*, which are followed like registers. An address escapes if an instruction does anything else with it than to add to it, to
//! compare it and to access memory.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use ptx_dataflow::internals::{CellAccess, CellUse, Cells};
use ptx_ir::facts::{Facts, FunctionFacts, MemoryAccess};
use ptx_ir::{InstId, Operand, Statement, StmtId, VarId};
use ptx_isa::{Access, Action, StateSpace};

use super::cells::each_operand;
use crate::function_dataflow::FunctionDataflow;
use crate::reg_lanes::Variables;
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::{Affine, AffineSymbol, Values, VariableRef};

/// The maximum number of accesses to cells: this number, and more for each statement. An access through an index is an access to each cell of the variable.
const MAX_ACCESSES: usize = 1 << 12;
const MAX_ACCESSES_PER_STATEMENT: usize = 4;

/// The local memory of a function.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(super) cells: Cells,
    /// Generic addresses, or those in other functions, may be addresses of local memory.
    pub(super) escapes: bool,
}

impl Stack {
    /// Local memory about which nothing is assumed.
    const UNKNOWN: Self = Self {
        cells: Cells::NONE,
        escapes: true,
    };

    /// No local memory.
    pub(super) const NONE: Self = Self {
        cells: Cells::NONE,
        escapes: false,
    };

    pub(crate) fn new(function: &FunctionDataflow<'_>) -> Self {
        let (facts, body) = (function.facts(), function.body());
        if !body
            .vars()
            .values()
            .any(|variable| is_local(variable.space))
        {
            return if makes_address(facts, StateSpace::Local) {
                Self::UNKNOWN
            } else {
                Self::NONE
            };
        }
        let mut statements = body.statements();
        if statements.any(|(_, statement)| matches!(statement, Statement::Opaque(_))) {
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

/// Returns whether a function converts an address of a state space to a generic one.
pub(super) fn makes_address(facts: FunctionFacts<'_>, space: StateSpace) -> bool {
    let mut insts = facts.body().insts();
    insts.any(|(id, inst)| {
        let mut spaces = facts.module().signature(inst.sig).state_spaces();
        spaces.any(|operand_space| operand_space.base() == space)
            && facts.inst(id).action() == Some(Action::ToGeneric)
    })
}

/// The object of an address in local memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Object {
    Variable(VarId),
    Unknown,
}

/// An address in local memory.
#[derive(Copy, Clone, Debug)]
struct Address {
    object: Object,
    /// The distance from the start of the object; `None` if it depends on an index.
    offset: Option<i64>,
}

/// An access to a variable.
#[derive(Clone, Debug)]
struct VariableAccess {
    stmt: StmtId,
    variable: VarId,
    /// The offsets of its bytes in the variable; `None` if they depend on an index.
    bytes: Option<Range<i64>>,
    writes: bool,
}

/// Collects the accesses to variables, and the variables that escape.
struct Finder<'a> {
    facts: FunctionFacts<'a>,
    variables: &'a Variables,
    ssa: &'a Ssa,
    values: &'a Values,
    escaped: BTreeSet<VarId>,
    any_escapes: bool,
    accesses: Vec<VariableAccess>,
}

impl Finder<'_> {
    fn run(&mut self, function: &FunctionDataflow<'_>) {
        for (id, block) in function.cfg().blocks() {
            if !function.is_reachable(id) {
                continue;
            }
            for phi in self.ssa.phis(id) {
                for &argument in self.ssa.args(phi) {
                    self.flow(argument, phi);
                }
            }
            for (stmt, inst) in block.insts(self.facts.body()) {
                self.inst(stmt, inst);
            }
        }
    }

    /// The address in local memory of an affine form; `None` if it is not one.
    fn address_of_form(&self, form: &Affine) -> Option<Address> {
        let mut object = None;
        let mut is_constant = true;
        let mut has_window = false;
        for term in form.terms() {
            match self.values.symbol(term.symbol) {
                Some(AffineSymbol::Variable(VariableRef::Local(variable)))
                    if self.is_stack_variable(variable) =>
                {
                    object = Some(if term.factor == 1 && object.is_none() {
                        Object::Variable(variable)
                    } else {
                        Object::Unknown
                    });
                }
                Some(AffineSymbol::Window(space)) if is_local(space) => has_window = true,
                _ => is_constant = false,
            }
        }
        match object {
            Some(object) => Some(Address {
                object,
                offset: is_constant.then_some(form.constant()),
            }),
            None if has_window => Some(Address {
                object: Object::Unknown,
                offset: None,
            }),
            None => None,
        }
    }

    /// The object that a value points into, if it is an address in local memory.
    fn object(&self, value: ValueId) -> Option<Object> {
        let address = self.address_of_form(&self.values.affine(value))?;
        Some(address.object)
    }

    fn escape(&mut self, object: Object) {
        self.any_escapes = true;
        if let Object::Variable(variable) = object {
            self.escaped.insert(variable);
        }
    }

    /// A value becomes another one: if it is an address, the other one must be an address in the same variable.
    fn flow(&mut self, from: ValueId, to: ValueId) {
        if let Some(object) = self.object(from)
            && (object == Object::Unknown || self.object(to) != Some(object))
        {
            self.escape(object);
        }
    }

    fn inst(&mut self, stmt: StmtId, inst: InstId) {
        let facts = self.facts.inst(inst);
        let mut objects: Vec<Object> = Vec::new();
        for read in self.ssa.uses(stmt) {
            objects.extend(self.object(read.value));
        }
        let body = self.facts.body();
        each_operand(self.facts, body.operands(inst), &mut |operand| {
            if let Operand::Var(variable) = operand
                && self.is_stack_variable(variable)
            {
                objects.push(Object::Variable(variable));
            }
        });
        if objects.is_empty() {
            return;
        }
        if objects.len() == 1
            && let Some(access) = self.access(stmt, &facts)
        {
            self.accesses.push(access);
        } else if is_computation(&facts) {
            for object in objects {
                self.compute(stmt, object);
            }
        } else {
            for object in objects {
                self.escape(object);
            }
        }
    }

    /// A statement computes another address, or a comparison, from an address in an object.
    fn compute(&mut self, stmt: StmtId, object: Object) {
        for def in self.ssa.defs(stmt) {
            if self.values.width(def) == 1 {
                continue;
            }
            let is_same_object =
                |value| object != Object::Unknown && self.object(value) == Some(object);
            let old = match self.ssa.value(def) {
                Value::Def { old, .. } => old,
                _ => None,
            };
            if !is_same_object(def) || old.is_some_and(|old| !is_same_object(old)) {
                self.escape(object);
            }
        }
    }

    /// The access of an instruction that loads or stores.
    fn access(&self, stmt: StmtId, facts: &Facts<'_>) -> Option<VariableAccess> {
        let mut accesses = facts.memory();
        let (access, None) = (accesses.next()?, accesses.next()) else {
            return None;
        };
        if !facts.is_known()
            || !matches!(access.access, Access::Read | Access::Write)
            || self.stores_address(stmt, facts, &access)
        {
            return None;
        }
        let address = self.address(stmt, facts, &access)?;
        let Object::Variable(variable) = address.object else {
            return None;
        };
        let bytes = address.offset.zip(access.bytes).and_then(|(start, bytes)| {
            let end = start.checked_add(i64::try_from(bytes).ok()?)?;
            Some(start..end)
        });
        Some(VariableAccess {
            stmt,
            variable,
            bytes,
            writes: access.writes(),
        })
    }

    /// The address of an access in local memory.
    fn address(&self, stmt: StmtId, facts: &Facts<'_>, access: &MemoryAccess) -> Option<Address> {
        let offset = access.offset?;
        let base = access.base?;
        if let Operand::Var(variable) = base {
            return self.is_stack_variable(variable).then_some(Address {
                object: Object::Variable(variable),
                offset: Some(offset),
            });
        }
        let variable = self.variables.of(facts.place(base)?).single()?;
        let form = self.values.affine(self.ssa.read(stmt, variable)?);
        let address = self.address_of_form(&form)?;
        // The sum of the constants must not overflow, even if the address depends on an index.
        form.constant().checked_add(offset)?;
        Some(Address {
            object: address.object,
            offset: address.offset.map(|constant| constant + offset),
        })
    }

    fn is_stack_variable(&self, variable: VarId) -> bool {
        let variable = self.facts.body().vars().get(variable);
        variable.is_some_and(|variable| is_local(variable.space))
    }

    /// Returns whether an access stores an address in local memory.
    fn stores_address(&self, stmt: StmtId, facts: &Facts<'_>, access: &MemoryAccess) -> bool {
        if !access.writes() {
            return false;
        }
        let Some((data, _)) = access.data else {
            return true;
        };
        let mut variables = facts
            .places(&data)
            .flat_map(|register| self.variables.of(register));
        variables.any(|variable| {
            let value = self.ssa.read(stmt, variable);
            value.is_some_and(|value| self.object(value).is_some())
        })
    }

    /// The cells of the variables that do not escape.
    fn finish(self) -> Stack {
        let mut by_variable: BTreeMap<VarId, Vec<VariableAccess>> = BTreeMap::new();
        for access in self.accesses {
            if !self.escaped.contains(&access.variable) {
                by_variable.entry(access.variable).or_default().push(access);
            }
        }
        let statements = self.facts.body().statement_table().len();
        let mut remaining = MAX_ACCESSES + MAX_ACCESSES_PER_STATEMENT * statements;
        let (mut count, mut cell_accesses) = (0u32, Vec::new());
        for accesses in by_variable.into_values() {
            let parts = parts(&accesses);
            let indexed = accesses.iter().filter(|access| access.bytes.is_none());
            let needed = accesses.len() + indexed.count().saturating_mul(parts.len());
            if needed > remaining {
                continue;
            }
            remaining -= needed;
            for access in &accesses {
                add_cell_accesses(access, &parts, count, &mut cell_accesses);
            }
            count += parts.len() as u32;
        }
        Stack {
            cells: Cells::new(count, cell_accesses),
            escapes: self.any_escapes,
        }
    }
}

/// Returns whether an instruction only computes values of registers.
fn is_computation(facts: &Facts<'_>) -> bool {
    facts.is_known()
        && facts.memory().next().is_none()
        && !facts.has_side_effects()
        && facts.callees().is_none()
}

/// The parts of a variable that are accessed, in their order. Accesses with common bytes belong to one part.
fn parts(accesses: &[VariableAccess]) -> Vec<Range<i64>> {
    let mut ranges: Vec<Range<i64>> = accesses.iter().filter_map(|a| a.bytes.clone()).collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut parts: Vec<Range<i64>> = Vec::new();
    for range in ranges {
        match parts.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => parts.push(range),
        }
    }
    if accesses.iter().any(|access| access.bytes.is_none()) {
        // The bytes that only accesses with an index reach.
        parts.push(i64::MAX..i64::MAX);
    }
    parts
}

/// Appends the cells that an access reads or writes; `first` is the number of the cell of the first part.
fn add_cell_accesses(
    access: &VariableAccess,
    parts: &[Range<i64>],
    first: u32,
    cell_accesses: &mut Vec<CellAccess>,
) {
    // Parts do not overlap, and are in order.
    let reached = match &access.bytes {
        Some(bytes) => {
            parts.partition_point(|part| part.end <= bytes.start)
                ..parts.partition_point(|part| part.start < bytes.end)
        }
        None => 0..parts.len(),
    };
    for (cell, part) in (first..).zip(parts).take(reached.end).skip(reached.start) {
        let is_whole = access.bytes.as_ref() == Some(part);
        let usage = match (is_whole, access.writes) {
            (true, false) => CellUse::Read,
            (false, false) => CellUse::MayRead,
            (true, true) => CellUse::Write,
            (false, true) => CellUse::MayWrite,
        };
        cell_accesses.push(CellAccess {
            stmt: access.stmt,
            cell,
            usage,
        });
    }
}

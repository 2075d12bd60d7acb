//! Passes over the statements of a function until a fixpoint is reached.

use alloc::vec::Vec;

use ptx_ir::facts::{Callees, Facts, FunctionFacts, MemoryAccess, Space};
use ptx_ir::{InstId, Operand, Statement, StmtId, SymbolKind, VarId};
use ptx_isa::{Access, StateSpace};

use super::calls::CallSummaries;
use super::origin::{Known, Origin};
use super::slots::{Slot, Slots};
use crate::dataflow::sparse::{Bounds, Item, SparseSolver, SsaGraph};
use crate::function_dataflow::FunctionDataflow;
use crate::memory_access::Provenance;
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::VariableRef;

/// The maximum number of sweeps over a function; after that, nothing is assumed about any value.
const MAX_SWEEPS: u32 = 24;

/// The evaluation of the values of a function.
pub(super) struct Pass<'a> {
    pub(super) facts: FunctionFacts<'a>,
    pub(super) analysis: &'a FunctionDataflow<'a>,
    pub(super) ssa: &'a Ssa,
    pub(super) calls: Option<&'a CallSummaries>,
    /// The parameters of the function with their provenance, by id.
    pub(super) params: Vec<(VarId, Known)>,
    pub(super) solver: SparseSolver<'a, Known>,
    pub(super) slots: Slots,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        analysis: &'a FunctionDataflow<'a>,
        ssa: &'a Ssa,
        graph: &'a SsaGraph,
        calls: Option<&'a CallSummaries>,
    ) -> Self {
        let facts = analysis.facts();
        let bounds = Bounds {
            bottom: Known::Nothing,
            top: Known::Unknown,
            max_sweeps: MAX_SWEEPS,
        };
        Self {
            facts,
            analysis,
            ssa,
            calls,
            params: super::params::of(facts, calls),
            solver: SparseSolver::new(analysis.cfg(), ssa, graph, bounds),
            slots: Slots::new(facts.body().vars().len()),
        }
    }

    pub(super) fn run(&mut self) {
        for (id, value) in self.ssa.values() {
            if matches!(value, Value::Entry { .. }) {
                self.solver.raise(id, &Known::Any);
            }
        }
        self.solver.revisit_all();
        while let Some(item) = self.solver.next_item() {
            match item {
                Item::Phi(phi) => self.phi(phi),
                Item::Statement(stmt) => self.statement(stmt),
                Item::BlockEnd(_) => {}
            }
            for load in self.slots.take_changed_loads() {
                self.solver.revisit(load);
            }
        }
        if !self.solver.is_complete() {
            self.slots.escape_all();
        }
    }

    pub(super) fn value(&self, id: ValueId) -> Known {
        *self.solver.value(id)
    }

    fn phi(&mut self, phi: ValueId) {
        let joined = self.solver.join_arguments(phi);
        self.solver.raise(phi, &joined);
        let result = self.value(phi);
        for &arg in self.ssa.args(phi) {
            self.keep(self.value(arg), &[result]);
        }
    }

    fn statement(&mut self, stmt: StmtId) {
        if let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) {
            self.inst(stmt, inst);
        } else {
            self.slots.escape_all();
            for def in self.ssa.defs(stmt) {
                self.solver.raise(def, &Known::Unknown);
            }
        }
    }

    /// Marks a variable as escaping: its address goes to a place where it is not tracked.
    fn keep(&mut self, source: Known, results: &[Known]) {
        if let Some(variable) = local(source)
            && !results.iter().any(|r| local(*r) == Some(variable))
        {
            self.slots.escape(variable);
        }
    }

    fn inst(&mut self, stmt: StmtId, inst: InstId) {
        let facts = self.facts.inst(inst);
        if !facts.is_known() {
            self.slots.escape_all();
        }
        if facts.callees().is_some() {
            self.call(stmt, &facts);
            return;
        }
        let accesses: Vec<MemoryAccess> = facts.memory().collect();
        for access in &accesses {
            self.access(stmt, &facts, access);
        }
        let defs = self.ssa.defs(stmt);
        let results = self.results(stmt, inst, &facts);
        for def in defs.clone() {
            let Value::Def { variable, old, .. } = self.ssa.value(def) else {
                continue;
            };
            let mut known = results
                .iter()
                .filter(|(v, _)| *v == variable)
                .fold(Known::Nothing, |k, (_, found)| k.join(*found));
            if let Some(old) = old.filter(|o| *o != Ssa::UNKNOWN) {
                known = known.join(self.value(old));
            }
            self.solver.raise(def, &known);
        }
        let kept: Vec<Known> = defs.clone().map(|d| self.value(d)).collect();
        let is_condition = defs.len() > 0 && defs.clone().all(|d| self.width(d) == 1);
        if is_condition {
            return;
        }
        let stored = accesses.iter().filter(|a| a.writes());
        let stored: Vec<Operand> = stored.filter_map(|a| Some(a.data?.0)).collect();
        for used in self.ssa.uses(stmt) {
            let place = self.analysis.variables().place(used.variable);
            let is_base = |a: &MemoryAccess| {
                a.base.and_then(|b| facts.place(b)) == Some(place) && a.data.is_some()
            };
            let is_data = stored.iter().any(|s| facts.places(s).any(|p| p == place));
            if is_data || accesses.iter().any(is_base) {
                continue;
            }
            self.keep(self.value(used.value), &kept);
        }
        for variable in super::operands::variables(self.facts.body(), inst) {
            let is_base =
                |a: &MemoryAccess| a.base == Some(Operand::Var(variable)) && a.data.is_some();
            let kept = kept.iter().any(|k| local(*k) == Some(variable));
            if !kept && !accesses.iter().any(is_base) {
                self.slots.escape(variable);
            }
        }
    }

    pub(super) fn width(&self, value: ValueId) -> u16 {
        let class = self.ssa.variable(value);
        let body = self.facts.body();
        let class = class.and_then(|v| self.analysis.variables().class(body, v));
        class.map_or(0, |c| c.bits())
    }

    /// The address of an access with its offset.
    pub(super) fn address(&self, stmt: StmtId, facts: &Facts<'_>, access: &MemoryAccess) -> Known {
        let base = match access.base {
            Some(Operand::Var(_) | Operand::Symbol(_)) => self.variable_address(access.base),
            Some(operand) => self.register(stmt, facts, operand),
            None => return Known::Unknown,
        };
        match access.offset {
            Some(offset) => base.plus(Known::Constant(offset)),
            None => base.plus(Known::Number),
        }
    }

    /// What is known of the value that is read in a register.
    pub(super) fn register(&self, stmt: StmtId, facts: &Facts<'_>, operand: Operand) -> Known {
        let Some(place) = facts.place(operand) else {
            return match self.facts.body().pool().integer(operand) {
                Some(value) => Known::Constant(value),
                None => Known::Unknown,
            };
        };
        self.analysis
            .variables()
            .of(place)
            .single()
            .and_then(|variable| self.ssa.read(stmt, variable))
            .map_or(Known::Unknown, |value| self.value(value))
    }

    /// The address of a variable in its state space.
    pub(super) fn variable_address(&self, operand: Option<Operand>) -> Known {
        let Some(variable) = operand.and_then(VariableRef::of) else {
            return Known::Unknown;
        };
        let module = self.facts.module();
        let space = match variable {
            VariableRef::Local(id) => self.facts.body().vars().get(id).map(|v| v.space),
            VariableRef::Module(id) => match module.symbols().get(id).map(|s| s.kind) {
                Some(SymbolKind::Variable(space, _)) => Some(space),
                _ => None,
            },
        };
        let Some(space) = space else {
            // The address of a function.
            return Known::Number;
        };
        Known::Address(Origin {
            object: Some(Provenance::Variable(variable)),
            space: Some(space.base()),
            is_generic: space.base() == StateSpace::Global,
            is_certain: true,
            offset: Some(0),
        })
    }

    /// What an access does to the variables of the function.
    fn access(&mut self, stmt: StmtId, facts: &Facts<'_>, access: &MemoryAccess) {
        let address = self.address(stmt, facts, access);
        let Some(variable) = local(address) else {
            if access.writes()
                && let Some((data, _)) = access.data
            {
                // What is stored elsewhere may be loaded from there.
                for known in self.elements(stmt, facts, data) {
                    self.keep(known, &[]);
                }
            }
            return;
        };
        let (Some((data, _)), Some(bytes)) = (access.data, access.bytes) else {
            self.slots.escape(variable);
            return;
        };
        if access.access == Access::Read {
            return;
        }
        let elements = self.elements(stmt, facts, data);
        let size = bytes / elements.len().max(1) as u64;
        let is_plain = access.access == Access::Write && size > 0;
        let offset = offset(address).filter(|_| is_plain);
        for (n, known) in (0i64..).zip(elements) {
            let offset = offset.and_then(|o| o.checked_add(n * size as i64));
            let slot = offset.map(|offset| Slot {
                offset,
                bytes: size,
            });
            self.slots.store(variable, slot, known, local(known));
        }
    }

    /// What is known of the registers of an operand.
    fn elements(&self, stmt: StmtId, facts: &Facts<'_>, operand: Operand) -> Vec<Known> {
        match operand {
            Operand::Vector(list) => {
                let list = self.facts.body().pool().list(list);
                list.iter()
                    .map(|o| self.register(stmt, facts, *o))
                    .collect()
            }
            other => vec![self.register(stmt, facts, other)],
        }
    }

    /// What an access loads to the elements of its operand.
    pub(super) fn loaded(
        &mut self,
        stmt: StmtId,
        address: Known,
        element: usize,
        (count, bytes): (usize, u64),
    ) -> Known {
        let size = bytes / count.max(1) as u64;
        let Some(variable) = local(address) else {
            return match size {
                4.. => Known::Any,
                _ => Known::Number,
            };
        };
        let offset = offset(address).and_then(|o| o.checked_add(element as i64 * size as i64));
        if let Ok(at) = self.params.binary_search_by_key(&variable, |(v, _)| *v) {
            return super::params::part(self.params[at].1, variable, offset, size);
        }
        let slot = offset.map(|offset| Slot {
            offset,
            bytes: size,
        });
        self.slots.load(stmt, variable, slot)
    }

    /// A call: arguments escape, and results are what is known of the function.
    fn call(&mut self, stmt: StmtId, facts: &Facts<'_>) {
        let callee = match facts.callees() {
            Some(Callees::Function(symbol)) => Some(symbol),
            _ => None,
        };
        let arguments = self.arguments(stmt, facts);
        for used in self.ssa.uses(stmt) {
            self.keep(self.value(used.value), &[]);
        }
        for known in &arguments {
            self.keep(*known, &[]);
        }
        let lists = facts
            .call_lists()
            .filter(|(_, access)| *access == Access::Write);
        for (at, operand) in lists.flat_map(|(list, _)| list).enumerate() {
            let known = match callee {
                Some(symbol) => super::calls::returned(self, stmt, symbol, at, &arguments),
                None => Known::Any,
            };
            if let Operand::Var(variable) = *operand {
                let size = super::operands::size(self.facts.body(), variable);
                match size {
                    Some(bytes @ (4 | 8)) => {
                        let slot = Slot { offset: 0, bytes };
                        self.slots.store(variable, Some(slot), known, None);
                    }
                    _ => self.slots.escape(variable),
                }
                continue;
            }
            let Some(place) = facts.place(*operand) else {
                continue;
            };
            for def in self.ssa.defs(stmt) {
                if let Value::Def { variable, old, .. } = self.ssa.value(def)
                    && self.analysis.variables().of(place).contains(&variable)
                {
                    let old = old.filter(|o| *o != Ssa::UNKNOWN);
                    let old = old.map_or(Known::Nothing, |o| self.value(o));
                    self.solver.raise(def, &known.join(old));
                }
            }
        }
    }

    /// What is known of the arguments of a call.
    pub(super) fn arguments(&mut self, stmt: StmtId, facts: &Facts<'_>) -> Vec<Known> {
        let lists = facts
            .call_lists()
            .filter(|(_, access)| *access == Access::Read);
        let operands: Vec<Operand> = lists.flat_map(|(list, _)| list).copied().collect();
        let known = operands.into_iter().map(|operand| match operand {
            Operand::Var(variable) => {
                let size = super::operands::size(self.facts.body(), variable);
                match size {
                    Some(bytes @ (4 | 8)) => {
                        self.slots
                            .load(stmt, variable, Some(Slot { offset: 0, bytes }))
                    }
                    _ => {
                        self.slots.escape(variable);
                        Known::Any
                    }
                }
            }
            other => self.register(stmt, facts, other),
        });
        known.collect()
    }
}

/// The variable of the function that something is an address of.
pub(super) fn local(known: Known) -> Option<VarId> {
    match known.object() {
        Some(Provenance::Variable(VariableRef::Local(variable))) => Some(variable),
        _ => None,
    }
}

fn offset(known: Known) -> Option<i64> {
    match known {
        Known::Address(origin) => origin.offset,
        _ => None,
    }
}

/// Whether an access is through a generic address.
pub(super) fn is_generic(access: &MemoryAccess) -> bool {
    access.space == Space::Generic
}

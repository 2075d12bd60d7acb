//! The evaluation of the values of a function with the sparse solver.

use alloc::vec::Vec;

use ptx_dataflow::internals::{Bounds, Item, SsaGraph};
use ptx_ir::facts::{Callees, Facts, FunctionFacts, MemoryAccess, Space};
use ptx_ir::{Binding, Body, InstId, Operand, Statement, StmtId, SymbolKind, VarId};
use ptx_isa::{Access, StateSpace};

use super::calls::CallSummaries;
use super::lattice::{AbstractValue, Address};
use super::slots::{Slot, Slots};
use crate::dataflow::SparseSolver;
use crate::function_dataflow::FunctionDataflow;
use crate::memory_access::Provenance;
use crate::reg_lanes::VariableId;
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::VariableRef;

/// The maximum number of sweeps over a function; after that, nothing is assumed about any value.
const MAX_SWEEPS: u32 = 24;

/// The maximum depth of operands in lists.
const MAX_NESTING: u32 = 2;

/// An instruction that is evaluated.
#[derive(Copy, Clone)]
pub(super) struct Site<'a> {
    pub(super) stmt: StmtId,
    pub(super) inst: InstId,
    pub(super) facts: Facts<'a>,
}

/// A value that an instruction writes to a variable.
#[derive(Copy, Clone)]
pub(super) struct Written {
    pub(super) variable: VariableId,
    pub(super) value: AbstractValue,
}

/// The state of the evaluation of a function.
pub(super) struct Evaluation<'a> {
    pub(super) facts: FunctionFacts<'a>,
    pub(super) function: &'a FunctionDataflow<'a>,
    pub(super) ssa: &'a Ssa,
    pub(super) calls: Option<&'a CallSummaries>,
    /// The parameters of the function, by id.
    params: Vec<(VarId, AbstractValue)>,
    pub(super) solver: SparseSolver<'a, AbstractValue>,
    pub(super) slots: Slots,
    /// The results of the current instruction; kept to reuse its memory.
    written: Vec<Written>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(
        function: &'a FunctionDataflow<'a>,
        ssa: &'a Ssa,
        graph: &'a SsaGraph,
        calls: Option<&'a CallSummaries>,
    ) -> Self {
        let facts = function.facts();
        let bounds = Bounds {
            bottom: AbstractValue::Undefined,
            top: AbstractValue::Unknown,
            max_sweeps: MAX_SWEEPS,
        };
        Self {
            facts,
            function,
            ssa,
            calls,
            params: super::params::values(facts, calls),
            solver: SparseSolver::new(function.cfg(), ssa, graph, bounds),
            slots: Slots::new(facts.body().vars().len()),
            written: Vec::new(),
        }
    }

    pub(super) fn run(&mut self) {
        for (id, value) in self.ssa.values() {
            if matches!(value, Value::Entry { .. }) {
                self.solver.raise(id, &AbstractValue::AddressOrNumber);
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

    pub(super) fn value(&self, id: ValueId) -> AbstractValue {
        *self.solver.value(id)
    }

    fn phi(&mut self, phi: ValueId) {
        let joined = self.solver.join_arguments(phi);
        self.solver.raise(phi, &joined);
        let result = self.value(phi).local_variable();
        for &argument in self.ssa.args(phi) {
            let variable = self.value(argument).local_variable();
            if variable != result {
                self.escape(variable);
            }
        }
    }

    fn statement(&mut self, stmt: StmtId) {
        if let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) {
            let facts = self.facts.inst(inst);
            self.inst(&Site { stmt, inst, facts });
        } else {
            self.slots.escape_all();
            for def in self.ssa.defs(stmt) {
                self.solver.raise(def, &AbstractValue::Unknown);
            }
        }
    }

    /// The address of a variable is used in a way that is not tracked.
    fn escape(&mut self, variable: Option<VarId>) {
        if let Some(variable) = variable {
            self.slots.escape(variable);
        }
    }

    fn inst(&mut self, site: &Site<'_>) {
        let facts = &site.facts;
        if !facts.is_known() {
            self.slots.escape_all();
        }
        if facts.callees().is_some() {
            self.call(site);
            return;
        }
        let mut has_memory = false;
        for access in facts.memory() {
            has_memory = true;
            self.access(site, &access);
        }
        self.raise_results(site, has_memory);
        let defs = self.ssa.defs(site.stmt);
        let is_condition = defs.len() > 0 && defs.clone().all(|def| self.width(def) == 1);
        if !is_condition {
            self.escape_operands(site);
        }
    }

    /// Raises the values that an instruction defines.
    fn raise_results(&mut self, site: &Site<'_>, has_memory: bool) {
        let defs = self.ssa.defs(site.stmt);
        if defs.len() == 0 {
            return;
        }
        let mut written = core::mem::take(&mut self.written);
        written.clear();
        self.results(site, has_memory, &mut written);
        for def in defs {
            let Value::Def { variable, old, .. } = self.ssa.value(def) else {
                continue;
            };
            let mut result: Option<AbstractValue> = None;
            for written in written.iter().filter(|w| w.variable == variable) {
                result = Some(result.map_or(written.value, |r| r.join(written.value)));
            }
            let mut result = result.unwrap_or_else(|| self.other_result(site));
            if let Some(old) = old.filter(|old| *old != Ssa::UNKNOWN) {
                result = result.join(self.value(old));
            }
            self.solver.raise(def, &result);
        }
        self.written = written;
    }

    /// Marks the variables as escaping whose addresses an instruction reads, unless it accesses them or its results are addresses in them.
    fn escape_operands(&mut self, site: &Site<'_>) {
        for read in self.ssa.uses(site.stmt) {
            let Some(variable) = self.value(read.value).local_variable() else {
                continue;
            };
            if !self.is_result(site, variable) && !self.is_access_operand(site, read.variable) {
                self.slots.escape(variable);
            }
        }
        let operands = self.facts.body().operands(site.inst);
        for operand in operands {
            self.escape_named(site, *operand, MAX_NESTING);
        }
    }

    /// Returns whether a result of an instruction is an address in a variable.
    fn is_result(&self, site: &Site<'_>, variable: VarId) -> bool {
        let mut defs = self.ssa.defs(site.stmt);
        defs.any(|def| self.value(def).local_variable() == Some(variable))
    }

    /// Returns whether an instruction only reads a register as the base of an access or as the data that it stores.
    fn is_access_operand(&self, site: &Site<'_>, variable: VariableId) -> bool {
        let register = self.function.variables().place(variable);
        site.facts.memory().any(|access| {
            let Some((data, _)) = access.data else {
                return false;
            };
            let base = access.base.and_then(|base| site.facts.place(base));
            base == Some(register)
                || access.writes() && site.facts.places(&data).any(|place| place == register)
        })
    }

    /// Marks the variables that an operand names as escaping, unless the instruction accesses them or its results are addresses in them.
    fn escape_named(&mut self, site: &Site<'_>, operand: Operand, nesting: u32) {
        let pool = self.facts.body().pool();
        let variable = match operand {
            Operand::Var(variable) => variable,
            Operand::Address(id) => match pool.address(id).map(|address| address.base) {
                Some(Operand::Var(variable)) => variable,
                _ => return,
            },
            Operand::List(id) | Operand::Vector(id) | Operand::Bracket(id) => {
                if let Some(nesting) = nesting.checked_sub(1) {
                    for part in pool.list(id) {
                        self.escape_named(site, *part, nesting);
                    }
                }
                return;
            }
            _ => return,
        };
        let mut accesses = site.facts.memory();
        let is_base = accesses
            .any(|access| access.base == Some(Operand::Var(variable)) && access.data.is_some());
        if !is_base && !self.is_result(site, variable) {
            self.slots.escape(variable);
        }
    }

    /// The bits of the variable that holds a value.
    fn width(&self, value: ValueId) -> u16 {
        let variable = self.ssa.variable(value);
        variable.map_or(0, |variable| self.variable_width(variable).unwrap_or(0))
    }

    /// The bits of a variable.
    pub(super) fn variable_width(&self, variable: VariableId) -> Option<u16> {
        let class = self.function.variables().class(variable)?;
        Some(class.bits())
    }

    /// The address of an access, with its offset.
    pub(super) fn address(&self, site: &Site<'_>, access: &MemoryAccess) -> AbstractValue {
        let base = match access.base {
            Some(operand @ (Operand::Var(_) | Operand::Symbol(_))) => {
                self.variable_address(operand)
            }
            Some(operand) => self.register(site, operand),
            None => return AbstractValue::Unknown,
        };
        base.plus(
            access
                .offset
                .map_or(AbstractValue::Number, AbstractValue::Constant),
        )
    }

    /// The value of a register or of an integer that an instruction reads.
    pub(super) fn register(&self, site: &Site<'_>, operand: Operand) -> AbstractValue {
        let Some(register) = site.facts.place(operand) else {
            let integer = self.facts.body().pool().integer(operand);
            return integer.map_or(AbstractValue::Unknown, AbstractValue::Constant);
        };
        let variable = self.function.variables().of(register).single();
        let value = variable.and_then(|variable| self.ssa.read(site.stmt, variable));
        value.map_or(AbstractValue::Unknown, |value| self.value(value))
    }

    /// The address of a variable in its state space.
    pub(super) fn variable_address(&self, operand: Operand) -> AbstractValue {
        let Some(variable) = VariableRef::of(operand) else {
            return AbstractValue::Unknown;
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
            return AbstractValue::Number;
        };
        AbstractValue::Address(Address {
            object: Some(Provenance::Variable(variable)),
            space: Some(space.base()),
            is_generic: space.base() == StateSpace::Global,
            is_certain: true,
            offset: Some(0),
        })
    }

    /// Records the effect of an access on the variables of the function.
    fn access(&mut self, site: &Site<'_>, access: &MemoryAccess) {
        let address = self.address(site, access);
        let Some(variable) = address.local_variable() else {
            if access.writes()
                && let Some((data, _)) = access.data
            {
                // Values that are stored elsewhere may be loaded from there.
                for value in self.elements(site, data) {
                    self.escape(value.local_variable());
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
        let elements = self.elements(site, data);
        let bytes = bytes / elements.len().max(1) as u64;
        let is_store = access.access == Access::Write && bytes > 0;
        let start = address.offset().filter(|_| is_store);
        for (index, value) in (0i64..).zip(elements) {
            let offset = start.and_then(|start| start.checked_add(index * bytes as i64));
            let slot = offset.map(|offset| Slot { offset, bytes });
            self.slots
                .store(variable, slot, value, value.local_variable());
        }
    }

    /// The values of the registers of an operand.
    fn elements(&self, site: &Site<'_>, operand: Operand) -> Vec<AbstractValue> {
        match operand {
            Operand::Vector(list) => {
                let elements = self.facts.body().pool().list(list).iter();
                elements
                    .map(|element| self.register(site, *element))
                    .collect()
            }
            other => vec![self.register(site, other)],
        }
    }

    /// The value that an access loads to one of `count` elements of its operand.
    pub(super) fn loaded(
        &mut self,
        site: &Site<'_>,
        access: &MemoryAccess,
        index: usize,
        count: usize,
    ) -> AbstractValue {
        let Some(bytes) = access.bytes else {
            return AbstractValue::AddressOrNumber;
        };
        let bytes = bytes / count.max(1) as u64;
        let address = self.address(site, access);
        let Some(variable) = address.local_variable() else {
            return if bytes >= 4 {
                AbstractValue::AddressOrNumber
            } else {
                AbstractValue::Number
            };
        };
        let offset = address
            .offset()
            .and_then(|offset| offset.checked_add(index as i64 * bytes as i64));
        if let Ok(param) = self.params.binary_search_by_key(&variable, |(id, _)| *id) {
            return super::params::part(self.params[param].1, variable, offset, bytes);
        }
        let slot = offset.map(|offset| Slot { offset, bytes });
        self.slots.load(site.stmt, variable, slot)
    }

    /// Evaluates a call: the addresses of arguments escape, and the results come from the summary of the callee.
    fn call(&mut self, site: &Site<'_>) {
        let facts = &site.facts;
        let callee = match facts.callees() {
            Some(Callees::Function(symbol)) => Some(symbol),
            _ => None,
        };
        let arguments = self.arguments(site);
        for read in self.ssa.uses(site.stmt) {
            self.escape(self.value(read.value).local_variable());
        }
        for argument in &arguments {
            self.escape(argument.local_variable());
        }
        let results = facts
            .call_lists()
            .filter(|(_, access)| *access == Access::Write)
            .flat_map(|(list, _)| list);
        for (index, operand) in results.enumerate() {
            let result = match callee {
                Some(symbol) => self.call_result(site, symbol, index, &arguments),
                None => AbstractValue::AddressOrNumber,
            };
            if let Operand::Var(variable) = *operand {
                match word_slot(self.facts.body(), variable) {
                    Some(slot) => self.slots.store(variable, Some(slot), result, None),
                    None => self.slots.escape(variable),
                }
            } else {
                self.raise_call_result(site, *operand, result);
            }
        }
    }

    /// Raises the values of a register in which a call returns a result.
    fn raise_call_result(&mut self, site: &Site<'_>, operand: Operand, result: AbstractValue) {
        let Some(register) = site.facts.place(operand) else {
            return;
        };
        for def in self.ssa.defs(site.stmt) {
            if let Value::Def { variable, old, .. } = self.ssa.value(def)
                && self.function.variables().of(register).contains(&variable)
            {
                let old_value = old
                    .filter(|old| *old != Ssa::UNKNOWN)
                    .map_or(AbstractValue::Undefined, |old| self.value(old));
                self.solver.raise(def, &result.join(old_value));
            }
        }
    }

    /// The arguments of a call.
    pub(super) fn arguments(&mut self, site: &Site<'_>) -> Vec<AbstractValue> {
        let operands = site
            .facts
            .call_lists()
            .filter(|(_, access)| *access == Access::Read)
            .flat_map(|(list, _)| list);
        operands
            .map(|operand| match *operand {
                Operand::Var(variable) => match word_slot(self.facts.body(), variable) {
                    Some(slot) => self.slots.load(site.stmt, variable, Some(slot)),
                    None => {
                        self.slots.escape(variable);
                        AbstractValue::AddressOrNumber
                    }
                },
                other => self.register(site, other),
            })
            .collect()
    }
}

/// The slot of a variable that a body declares, if the variable has 4 or 8 bytes.
fn word_slot(body: &Body, variable: VarId) -> Option<Slot> {
    let stmt = body.vars().get(variable)?.stmt?;
    let declarations = body.declarations();
    let Statement::Decl(id) = body.statement(stmt)? else {
        return None;
    };
    let mut declarators = declarations.declarators(id).iter();
    let declarator = declarators.find(|d| d.binding == Binding::Var(variable))?;
    let layout = declarations
        .decls
        .get(id)?
        .layout(declarator, body.pool())?;
    match layout.size {
        Some(bytes @ (4 | 8)) => Some(Slot { offset: 0, bytes }),
        _ => None,
    }
}

/// Returns whether an access is through a generic address.
pub(super) fn is_generic(access: &MemoryAccess) -> bool {
    access.space == Space::Generic
}

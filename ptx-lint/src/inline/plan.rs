//! Decides which calls can be inlined.
//!
//! Arguments and results are passed in `.param` variables or in registers. They become registers if each is a scalar that is only
//! used by loads, stores and calls.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_ir::facts::{Callees, Facts, ModuleFacts, Space};
use ptx_ir::{
    Binding, Body, FuncId, Module, NameId, Operand, Param, Statement, StmtId, SymbolKind, VarId,
};
use ptx_isa::{Access, StateSpace};

/// The maximum number of statements of an inlined function.
const MOST_STATEMENTS: usize = 256;

/// The storage in which an argument or a result is passed.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    /// A `.param` variable.
    Memory(VarId),
    /// A register or a number, as it is written.
    Register { text: String, bytes: u64 },
}

/// A call of one function.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) callee: FuncId,
    pub(super) results: Vec<Slot>,
    pub(super) arguments: Vec<Slot>,
}

/// A load or store of a complete `.param` variable. Where the variable is replaced by a register, it becomes a move between registers.
#[derive(Clone, Debug)]
pub(super) struct Move {
    pub(super) variable: VarId,
    pub(super) is_store: bool,
    pub(super) bytes: u64,
    /// The guard, as it is written.
    pub(super) guard: String,
    /// The text of the register or number that is loaded into or stored.
    pub(super) value: String,
}

/// The results and parameters of a function that can be inlined.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) results: Vec<Slot>,
    pub(super) parameters: Vec<Slot>,
}

/// The calls of a function, and its interface for its callers.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) calls: BTreeMap<StmtId, Call>,
    pub(super) moves: BTreeMap<StmtId, Move>,
    /// `None` if the function cannot be inlined.
    pub(super) interface: Option<Interface>,
    /// The sizes of the variables that moves access.
    variable_sizes: BTreeMap<VarId, u64>,
    /// The variables that are used by anything but moves and calls. They cannot become registers.
    memory_variables: BTreeSet<VarId>,
    /// The names of variables, registers and labels.
    local_names: BTreeSet<NameId>,
    /// The module-level names that statements reference; empty for functions that cannot be inlined.
    module_names: BTreeSet<NameId>,
}

/// The plans of functions.
pub(crate) struct Plans<'m> {
    pub(super) facts: &'m ModuleFacts<'m>,
    plans: BTreeMap<FuncId, Plan>,
}

impl<'m> Plans<'m> {
    /// Plans the calls in `functions`. Functions that they call must be among them to be inlined.
    pub(crate) fn new(facts: &'m ModuleFacts<'m>, calls: &CallGraph, functions: &[FuncId]) -> Self {
        let mut plans = Self {
            facts,
            plans: BTreeMap::new(),
        };
        for &id in functions {
            let Some(body) = facts.module().body(id) else {
                continue;
            };
            let mut plan = plans.examine(id, body);
            if !calls.is_called(id) || calls.is_recursive(id) {
                plan.interface = None;
            }
            plans.plans.insert(id, plan);
        }
        plans
    }

    pub(super) fn plan(&self, id: FuncId) -> Option<&Plan> {
        self.plans.get(&id)
    }

    /// Returns the sizes in bytes of the results of a call, followed by those of its arguments; `None` if the call cannot be inlined.
    pub(super) fn value_sizes(&self, caller: FuncId, call: &Call) -> Option<Vec<u64>> {
        let (caller, callee) = (self.plan(caller)?, self.plan(call.callee)?);
        let interface = callee.interface.as_ref()?;
        if interface.results.len() != call.results.len()
            || interface.parameters.len() != call.arguments.len()
        {
            return None;
        }
        // A name of the module must not be the name of something else in the caller.
        if callee
            .module_names
            .iter()
            .any(|name| caller.local_names.contains(name))
        {
            return None;
        }
        let passed = call.results.iter().chain(&call.arguments);
        let declared = interface.results.iter().chain(&interface.parameters);
        passed
            .zip(declared)
            .map(|(passed, declared)| {
                match (caller.slot_size(passed)?, callee.slot_size(declared)?) {
                    (0, 0) => Some(4),
                    (0, bytes) | (bytes, 0) => Some(bytes),
                    (passed, declared) => (passed == declared).then_some(passed),
                }
            })
            .collect()
    }

    /// Plans the calls of a function, and finds out whether it can be inlined.
    fn examine(&self, id: FuncId, body: &Body) -> Plan {
        let module = self.facts.module();
        let mut plan = Plan {
            calls: BTreeMap::new(),
            moves: BTreeMap::new(),
            interface: None,
            variable_sizes: BTreeMap::new(),
            memory_variables: BTreeSet::new(),
            local_names: local_names(body),
            module_names: BTreeSet::new(),
        };
        let Some(facts) = self.facts.function(id) else {
            return plan;
        };
        let mut is_simple = true;
        for (stmt, statement) in body.statements() {
            match statement {
                Statement::Inst(inst) => {
                    self.examine_instruction(&mut plan, body, stmt, &facts.inst(inst));
                }
                Statement::Label(_)
                | Statement::Decl(_)
                | Statement::Open(_)
                | Statement::Close(_) => {}
                Statement::Directive(_) | Statement::Prototype(_) => {}
                _ => is_simple = false,
            }
        }
        if is_simple && body.statement_table().len() <= MOST_STATEMENTS {
            plan.interface = interface(module, id, &plan);
            plan.module_names = module_names(module, body);
        }
        plan
    }

    fn examine_instruction(&self, plan: &mut Plan, body: &Body, stmt: StmtId, facts: &Facts<'_>) {
        if let Some(call) = self.unguarded_call(body, facts) {
            plan.calls.insert(stmt, call);
            return;
        }
        if let Some(access) = self.parameter_access(body, stmt, facts)
            && *plan
                .variable_sizes
                .entry(access.variable)
                .or_insert(access.bytes)
                == access.bytes
        {
            plan.moves.insert(stmt, access);
            return;
        }
        let operands = body
            .statement(stmt)
            .into_iter()
            .flat_map(|statement| body.walk(statement));
        plan.memory_variables
            .extend(operands.filter_map(|operand| match operand {
                Operand::Var(variable) => Some(variable),
                _ => None,
            }));
    }

    /// Returns the call of an instruction if it is unguarded and calls one function.
    fn unguarded_call(&self, body: &Body, facts: &Facts<'_>) -> Option<Call> {
        let Some(Callees::Function(symbol)) = facts.callees() else {
            return None;
        };
        let symbol = self.facts.module().symbols().get(symbol)?;
        let SymbolKind::Function(callee) = symbol.kind else {
            return None;
        };
        if facts.guard().is_some() {
            return None;
        }
        let (mut results, mut arguments) = (Vec::new(), Vec::new());
        for (list, access) in facts.call_lists() {
            let slots: Option<Vec<Slot>> = list.iter().map(|o| self.slot(body, *o)).collect();
            match access {
                Access::Write => results = slots?,
                _ => arguments = slots?,
            }
        }
        Some(Call {
            callee,
            results,
            arguments,
        })
    }

    fn slot(&self, body: &Body, operand: Operand) -> Option<Slot> {
        match operand {
            Operand::Var(variable) => Some(Slot::Memory(variable)),
            Operand::Small(number) => Some(Slot::Register {
                text: number.to_string(),
                bytes: 0,
            }),
            Operand::Reg(register) => {
                let bits = body.reg_decl_of(register)?.ty.known()?.bits();
                matches!(bits, 16 | 32 | 64).then(|| Slot::Register {
                    text: body.register_name(self.facts.module(), register),
                    bytes: u64::from(bits) / 8,
                })
            }
            _ => None,
        }
    }

    /// Returns the load or store of a complete `.param` variable.
    fn parameter_access(&self, body: &Body, stmt: StmtId, facts: &Facts<'_>) -> Option<Move> {
        let Statement::Inst(inst) = body.statement(stmt)? else {
            return None;
        };
        let mut accesses = facts.memory();
        let (access, None) = (accesses.next()?, accesses.next()) else {
            return None;
        };
        let is_param = matches!(access.space, Space::State(s) if s.base() == StateSpace::Param);
        let Some(Operand::Var(variable)) = access.base.filter(|_| is_param) else {
            return None;
        };
        let bytes = access.bytes.filter(|b| matches!(b, 2 | 4 | 8))?;
        let (data, _) = access.data?;
        let is_complete = match data {
            Operand::Reg(register) => {
                let bits = body.reg_decl_of(register)?.ty.known()?.bits();
                u64::from(bits) == 8 * bytes
            }
            Operand::Small(_) | Operand::Imm(_) => true,
            _ => false,
        };
        if access.offset != Some(0) || !is_complete {
            return None;
        }
        let module = self.facts.module();
        let text = ptx_print::verbatim_statement(module, body, stmt);
        let text = core::str::from_utf8(&text).ok()?;
        let mnemonic = module.signature(body.inst(inst)?.sig).text();
        let (guard, operands) = text.split_once(mnemonic)?;
        let (first, last) = operands.trim_end_matches(';').split_once(',')?;
        let is_store = access.writes();
        let value = if is_store { last } else { first };
        let has_comment = text.contains("//") || text.contains("/*");
        (!has_comment).then(|| Move {
            variable,
            is_store,
            bytes,
            guard: guard.trim().to_owned(),
            value: value.trim().to_owned(),
        })
    }
}

impl Plan {
    /// Returns the size of a value in bytes, or 0 if each size fits; `None` if the value cannot be in a register.
    fn slot_size(&self, slot: &Slot) -> Option<u64> {
        match slot {
            Slot::Memory(variable) if self.memory_variables.contains(variable) => None,
            Slot::Memory(variable) => Some(self.variable_sizes.get(variable).copied().unwrap_or(0)),
            Slot::Register { bytes, .. } => Some(*bytes),
        }
    }
}

/// Returns the interface of a function if all results and parameters can be in registers.
fn interface(module: &Module, id: FuncId, plan: &Plan) -> Option<Interface> {
    let function = module.functions().get(id).filter(|f| !f.raw_header)?;
    let slots = |params: &[Param]| -> Option<Vec<Slot>> {
        params
            .iter()
            .map(|param| parameter_slot(module, param))
            .collect()
    };
    let interface = Interface {
        results: slots(function.interface.returns.of(module.params()))?,
        parameters: slots(function.interface.params.of(module.params()))?,
    };
    let mut values = interface.results.iter().chain(&interface.parameters);
    values
        .all(|slot| plan.slot_size(slot).is_some())
        .then_some(interface)
}

/// Returns the slot of a result or parameter; `None` if it cannot be in a register.
fn parameter_slot(module: &Module, param: &Param) -> Option<Slot> {
    match param.binding {
        Binding::Var(variable) => Some(Slot::Memory(variable)),
        Binding::Register(_) => {
            let bits = param.ty.known()?.bits();
            matches!(bits, 16 | 32 | 64).then_some(Slot::Register {
                text: module.name(param.name?).to_owned(),
                bytes: u64::from(bits) / 8,
            })
        }
        _ => None,
    }
}

/// The names of the variables, registers and labels of a function.
fn local_names(body: &Body) -> BTreeSet<NameId> {
    let variables = body.vars().values().map(|v| v.name);
    let registers = body.reg_decls().values().map(|r| r.name);
    let labels = body.labels().values().map(|l| l.name);
    variables.chain(registers).chain(labels).collect()
}

/// The module-level names that the statements of a function reference.
fn module_names(module: &Module, body: &Body) -> BTreeSet<NameId> {
    body.statements()
        .flat_map(|(_, statement)| body.walk(statement))
        .filter_map(|operand| Some(module.symbols().get(operand.symbol()?)?.name))
        .collect()
}

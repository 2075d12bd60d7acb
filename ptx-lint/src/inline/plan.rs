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
    Binding, Body, FuncId, InstId, Module, NameId, Operand, Param, Statement, StmtId, SymbolKind,
    VarId,
};
use ptx_isa::{Access, StateSpace};

/// The maximum number of statements of an inlined function.
const MOST_STATEMENTS: usize = 256;

/// Where an argument or a result is passed.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    /// In a `.param` variable.
    Memory(VarId),
    /// In a register, or as a number.
    Register { text: String, bytes: u64 },
}

/// A call of one function.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) callee: FuncId,
    pub(super) results: Vec<Slot>,
    pub(super) arguments: Vec<Slot>,
}

/// A load or a store of a `.param` variable.
#[derive(Clone, Debug)]
pub(super) struct Move {
    pub(super) variable: VarId,
    pub(super) is_store: bool,
    pub(super) bytes: u64,
    /// The guard, as it is written.
    pub(super) guard: String,
    /// The register or the number.
    pub(super) value: String,
}

/// The calls of a function, and how it is called.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) calls: BTreeMap<StmtId, Call>,
    pub(super) moves: BTreeMap<StmtId, Move>,
    /// Parameters and results of the function; `None` if it cannot be inlined.
    pub(super) interface: Option<(Vec<Slot>, Vec<Slot>)>,
    /// The sizes of the variables that are only used by moves and calls.
    bytes: BTreeMap<VarId, u64>,
    /// The variables with other uses.
    others: BTreeSet<VarId>,
    /// The names of variables, registers and labels.
    names: BTreeSet<NameId>,
    /// The module-level names that statements reference; empty for functions that cannot be inlined.
    mentioned: BTreeSet<NameId>,
}

/// The plans of functions.
pub(crate) struct Plans<'m> {
    pub(super) facts: &'m ModuleFacts<'m>,
    of: BTreeMap<FuncId, Plan>,
}

impl<'m> Plans<'m> {
    /// Plans for some functions, and all that they call.
    pub(crate) fn new(facts: &'m ModuleFacts<'m>, calls: &CallGraph, functions: &[FuncId]) -> Self {
        let mut plans = Self {
            facts,
            of: BTreeMap::new(),
        };
        for &id in functions {
            let Some(body) = facts.module().body(id) else {
                continue;
            };
            let mut plan = plans.examine(id, body);
            if !calls.is_called(id) || calls.is_recursive(id) {
                plan.interface = None;
            }
            plans.of.insert(id, plan);
        }
        plans
    }

    pub(super) fn of(&self, id: FuncId) -> Option<&Plan> {
        self.of.get(&id)
    }

    /// The sizes of the values of a call: the results, then the arguments; `None` if it cannot be inlined.
    pub(super) fn values(&self, caller: FuncId, call: &Call) -> Option<Vec<u64>> {
        let (own, of) = (self.of(caller)?, self.of(call.callee)?);
        let (returns, params) = of.interface.as_ref()?;
        if returns.len() != call.results.len() || params.len() != call.arguments.len() {
            return None;
        }
        // A name of the module must not be the name of something else in the caller.
        if of.mentioned.iter().any(|name| own.names.contains(name)) {
            return None;
        }
        let outer = call.results.iter().chain(&call.arguments);
        let pairs = outer.zip(returns.iter().chain(params));
        let bytes = pairs.map(
            |(outer, inner)| match (own.bytes_of(outer)?, of.bytes_of(inner)?) {
                (0, bytes) | (bytes, 0) => Some(if bytes == 0 { 4 } else { bytes }),
                (outer, inner) => (outer == inner).then_some(outer),
            },
        );
        bytes.collect()
    }

    fn examine(&self, id: FuncId, body: &Body) -> Plan {
        let module = self.facts.module();
        let mut plan = Plan {
            calls: BTreeMap::new(),
            moves: BTreeMap::new(),
            interface: None,
            bytes: BTreeMap::new(),
            others: BTreeSet::new(),
            names: names(body),
            mentioned: BTreeSet::new(),
        };
        let Some(facts) = self.facts.function(id) else {
            return plan;
        };
        let mut is_simple = true;
        for (stmt, statement) in body.statements() {
            match statement {
                Statement::Inst(inst) => {
                    self.instruction(&mut plan, body, (stmt, inst), &facts.inst(inst));
                }
                Statement::Label(_)
                | Statement::Decl(_)
                | Statement::Open(_)
                | Statement::Close(_) => {}
                Statement::Directive(_) | Statement::Prototype(_) => {}
                _ => is_simple = false,
            }
        }
        let count = body.statement_table().len();
        if is_simple && count <= MOST_STATEMENTS {
            plan.interface = interface(module, id, &plan);
            plan.mentioned = mentioned(module, body);
        }
        plan
    }

    fn instruction(
        &self,
        plan: &mut Plan,
        body: &Body,
        (stmt, inst): (StmtId, InstId),
        facts: &Facts<'_>,
    ) {
        if let Some(call) = self.call(body, facts) {
            plan.calls.insert(stmt, call);
            return;
        }
        if let Some(of) = self.parameter_access(body, (stmt, inst), facts)
            && *plan.bytes.entry(of.variable).or_insert(of.bytes) == of.bytes
        {
            plan.moves.insert(stmt, of);
            return;
        }
        let mut mentioned = Vec::new();
        mentioned.extend(body.walk(Statement::Inst(inst)));
        plan.others
            .extend(mentioned.into_iter().filter_map(|o| match o {
                Operand::Var(variable) => Some(variable),
                _ => None,
            }));
    }

    /// An unguarded direct call.
    fn call(&self, body: &Body, facts: &Facts<'_>) -> Option<Call> {
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

    /// A load or a store of a whole `.param` variable.
    fn parameter_access(
        &self,
        body: &Body,
        (stmt, inst): (StmtId, InstId),
        facts: &Facts<'_>,
    ) -> Option<Move> {
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
        let fits = match data {
            Operand::Reg(register) => {
                let bits = body.reg_decl_of(register)?.ty.known()?.bits();
                u64::from(bits) == 8 * bytes
            }
            Operand::Small(_) | Operand::Imm(_) => true,
            _ => false,
        };
        if access.offset != Some(0) || !fits {
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
        let is_plain = !text.contains("//") && !text.contains("/*");
        is_plain.then(|| Move {
            variable,
            is_store,
            bytes,
            guard: guard.trim().to_owned(),
            value: value.trim().to_owned(),
        })
    }
}

impl Plan {
    /// The bytes of what is passed, or 0 if any number is right; `None` if it cannot be in a register.
    fn bytes_of(&self, slot: &Slot) -> Option<u64> {
        match slot {
            Slot::Memory(variable) if self.others.contains(variable) => None,
            Slot::Memory(variable) => Some(self.bytes.get(variable).copied().unwrap_or(0)),
            Slot::Register { bytes, .. } => Some(*bytes),
        }
    }
}

/// The results and the parameters of a function.
fn interface(module: &Module, id: FuncId, plan: &Plan) -> Option<(Vec<Slot>, Vec<Slot>)> {
    let function = module.functions().get(id).filter(|f| !f.raw_header)?;
    let slots = |params: &[Param]| -> Option<Vec<Slot>> {
        let slot = |param: &Param| match param.binding {
            Binding::Var(variable) => Some(Slot::Memory(variable)),
            Binding::Register(_) => {
                let bits = param.ty.known()?.bits();
                matches!(bits, 16 | 32 | 64).then_some(Slot::Register {
                    text: module.name(param.name?).to_owned(),
                    bytes: u64::from(bits) / 8,
                })
            }
            _ => None,
        };
        params.iter().map(slot).collect()
    };
    let returns = slots(function.interface.returns.of(module.params()))?;
    let params = slots(function.interface.params.of(module.params()))?;
    let mut all = returns.iter().chain(&params);
    all.all(|slot| plan.bytes_of(slot).is_some())
        .then_some((returns, params))
}

/// The names that a function gives to variables, registers and labels.
fn names(body: &Body) -> BTreeSet<NameId> {
    let variables = body.vars().values().map(|v| v.name);
    let registers = body.reg_decls().values().map(|r| r.name);
    let labels = body.labels().values().map(|l| l.name);
    variables.chain(registers).chain(labels).collect()
}

/// The module-level names that the statements of a function reference.
fn mentioned(module: &Module, body: &Body) -> BTreeSet<NameId> {
    let mut mentioned = Vec::new();
    for (_, statement) in body.statements() {
        mentioned.extend(body.walk(statement));
    }
    let symbols = mentioned.iter().filter_map(|operand| operand.symbol());
    symbols
        .filter_map(|symbol| Some(module.symbols().get(symbol)?.name))
        .collect()
}

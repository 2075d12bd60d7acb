//! What checkers have to know about the instructions of a module, before it runs.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::reaching::{Reaching, UseId};
use ptx_ir::facts::{Facts, FunctionFacts, ModuleFacts, Space};
use ptx_ir::{FuncId, Module, Statement};
use ptx_isa::{AsyncPhase, Completion, Modifier, StateSpace};

use super::scope::Scope;
use crate::lanes::{Integer, Kind, Place};
use crate::program::{Function, Program, Step, Window};

/// An instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// The scope of a strong access or of a fence.
    pub(super) scope: Option<Scope>,
    /// Whether what other threads wrote before is seen after it.
    pub(super) acquires: bool,
    /// Whether other threads see what was written before it.
    pub(super) releases: bool,
    /// Whether the lanes of a warp must execute it together.
    pub(super) aligned: bool,
    /// How the asynchronous operation is completed that it starts.
    pub(super) starts: Option<Completion>,
    /// Whether it is a load of which only selected bits are used, such as the other fields of a word whose bit field is changed.
    pub(super) masked: bool,
    /// Whether it is a load of what is only stored elsewhere on the stack, such as a field of a structure that is passed to a function.
    pub(super) copied: bool,
    /// The variables that it reads and that may never have been written, with their names.
    pub(super) reads: Vec<u32>,
    /// The one of them that is its guard, which all lanes read.
    pub(super) guard: Option<u32>,
    /// The variables that it writes, among those that are read somewhere before they are written.
    pub(super) writes: Vec<u32>,
}

/// The instructions of all functions.
#[derive(Debug)]
pub(crate) struct Sites {
    all: Vec<Site>,
    /// The index of the first instruction of each function.
    starts: Vec<u32>,
    /// The names of variables that are read before they are written, by function and number.
    names: Vec<Vec<Box<str>>>,
}

impl Sites {
    /// Those of a module; with `registers` also what is known about registers.
    pub(crate) fn new(module: &Module, program: &Program, registers: bool) -> Self {
        let mut sites = Self {
            all: Vec::new(),
            starts: Vec::new(),
            names: Vec::new(),
        };
        let facts = ModuleFacts::new(module);
        for (id, _) in module.functions().iter() {
            let start = sites.all.len();
            sites.starts.push(start as u32);
            let of = program.function(id);
            let mut names = Vec::new();
            if let (Some(of), Some(facts)) = (of, facts.function(id)) {
                let all = of.steps.iter().map(|s| site(&facts.inst(s.inst)));
                sites.all.extend(all);
                if registers {
                    names = unwritten(facts, (id, of), &mut sites.all[start..]);
                }
            }
            sites.names.push(names);
        }
        sites
    }

    /// The number of an instruction.
    pub(super) fn number(&self, function: FuncId, at: u32) -> u32 {
        let start = self.starts.get(function.as_u32() as usize);
        start.copied().unwrap_or(0) + at
    }

    /// An instruction, by its number.
    pub(super) fn get(&self, number: u32) -> Option<&Site> {
        self.all.get(number as usize)
    }

    /// The function and the step of an instruction.
    pub(super) fn place(&self, number: u32) -> (FuncId, u32) {
        let function = self.starts.partition_point(|&start| start <= number) - 1;
        let start = self.starts.get(function).copied().unwrap_or(0);
        (FuncId::new(function as u32), number - start)
    }

    /// The number of variables of a function whose writes are followed.
    pub(super) fn variables(&self, function: FuncId) -> usize {
        let names = self.names.get(function.as_u32() as usize);
        names.map_or(0, Vec::len)
    }

    /// The name of a variable.
    pub(super) fn name(&self, function: FuncId, variable: u32) -> &str {
        let names = self.names.get(function.as_u32() as usize);
        names
            .and_then(|n| n.get(variable as usize))
            .map_or("", |n| &**n)
    }
}

fn site(facts: &Facts<'_>) -> Site {
    let access = facts.memory().find(|m| m.operand.is_some());
    let order = access.and_then(|a| a.order).or_else(|| facts.order());
    let scope = access.and_then(|a| a.scope).or_else(|| facts.scope());
    let strong = order.is_some_and(|o| o != Modifier::Weak);
    let both = |one| matches!(order, Some(Modifier::AcqRel | Modifier::Sc)) || order == Some(one);
    let mut starts = facts.asynchronous().iter();
    let starts = starts.find(|(_, phase)| *phase == AsyncPhase::Start);
    Site {
        scope: scope
            .and_then(Scope::of)
            .or(Some(Scope::Device))
            .filter(|_| strong || facts.is_fence()),
        acquires: both(Modifier::Acquire),
        releases: both(Modifier::Release),
        aligned: facts.convergence().is_some(),
        starts: starts.map(|(completion, _)| *completion),
        masked: false,
        copied: false,
        reads: Vec::new(),
        guard: None,
        writes: Vec::new(),
    }
}

/// Finds the variables that may be read before they are written; gives their names.
fn unwritten(
    facts: FunctionFacts<'_>,
    (id, function): (FuncId, &Function),
    sites: &mut [Site],
) -> Vec<Box<str>> {
    let analysis = FunctionAnalysis::new(facts);
    let variables = analysis.variables();
    let reaching = Reaching::new(facts, analysis.cfg(), variables, analysis.liveness());
    let parameters: Vec<u32> = parameters(facts, id, variables);
    let mut numbers: Vec<Option<u32>> = vec![None; variables.len()];
    let mut names = Vec::new();
    let mut steps = vec![None; facts.body().statement_table().len()];
    let insts = facts.body().statements();
    let insts = insts.filter(|(_, s)| matches!(s, Statement::Inst(_)));
    for (step, (id, _)) in insts.enumerate() {
        if let Some(place) = steps.get_mut(id.as_u32() as usize) {
            *place = Some(step);
        }
    }
    let step = |id: ptx_ir::StmtId| steps.get(id.as_u32() as usize).copied().flatten();
    let guard = |id: ptx_ir::StmtId| match facts.body().statement(id)? {
        Statement::Inst(inst) => {
            let (register, _) = facts.inst(inst).guard_register()?;
            Some(variables.of(register).start)
        }
        _ => None,
    };
    let copies = |id: ptx_ir::StmtId| match facts.body().statement(id) {
        Some(Statement::Inst(inst)) => copies(&facts.inst(inst)),
        _ => false,
    };
    for (read, of) in reaching.uses() {
        if copies(of.stmt) {
            continue;
        }
        let variable = of.variable;
        if !reaching.may_be_uninitialized(read) || parameters.contains(&variable) {
            continue;
        }
        let number = *numbers[variable as usize].get_or_insert_with(|| {
            names.push(name(facts, variables, variable));
            names.len() as u32 - 1
        });
        if let Some(site) = step(of.stmt).and_then(|s| sites.get_mut(s)) {
            site.reads.push(number);
            if guard(of.stmt) == Some(variable) {
                site.guard = Some(number);
            }
        }
    }
    for (_, of) in reaching.defs() {
        let Some(number) = numbers[of.variable as usize] else {
            continue;
        };
        if let Some(site) = step(of.stmt).and_then(|s| sites.get_mut(s)) {
            site.writes.push(number);
        }
    }
    let statements: Vec<_> = reaching.uses().map(|(_, of)| step(of.stmt)).collect();
    for (def, of) in reaching.defs() {
        let uses = reaching.uses_of(def);
        let all = |test: &dyn Fn(&Function, usize) -> bool| {
            let at = |read: &UseId| statements.get(read.as_u32() as usize).copied().flatten();
            !uses.is_empty()
                && uses
                    .iter()
                    .all(|r| at(r).is_some_and(|at| test(function, at)))
        };
        if let Some(site) = step(of.stmt).and_then(|s| sites.get_mut(s)) {
            (site.masked, site.copied) = (all(&is_mask), all(&is_copy));
        }
    }
    names
}

/// Whether an instruction stores to what may be the stack.
fn is_copy(function: &Function, at: usize) -> bool {
    match function.steps.get(at).map(|s| &s.step) {
        Some(Step::Store(access)) => {
            matches!(access.address.window, Window::Local | Window::Generic)
        }
        _ => false,
    }
}

/// Whether an instruction selects bits of a register by a constant.
fn is_mask(function: &Function, at: usize) -> bool {
    let Some(Step::Lanes(first, end)) = function.steps.get(at).map(|s| &s.step) else {
        return false;
    };
    let ops = function.code.ops.get(*first as usize..*end as usize);
    let Some([op]) = ops else { return false };
    let place = match op.kind {
        Kind::Word(Integer::And) => Place::Word,
        Kind::Double(Integer::And) => Place::Double,
        _ => return false,
    };
    [op.a, op.b]
        .into_iter()
        .any(|at| function.code.is_constant(place(at)))
}

/// Whether it only passes values on that need not be used: to a parameter, where padding of a structure may never have been written, or to other
/// lanes.
fn copies(facts: &Facts<'_>) -> bool {
    let is_parameter = |m: ptx_ir::facts::MemoryAccess| {
        m.writes() && matches!(m.space, Space::State(s) if s.base() == StateSpace::Param)
    };
    facts.memory().any(is_parameter) || facts.lanes().is_some()
}

/// The variables that parameters in registers are.
fn parameters(
    facts: FunctionFacts<'_>,
    id: FuncId,
    variables: &ptx_analysis::reg_lanes::Variables,
) -> Vec<u32> {
    let module = facts.module();
    let Some(function) = module.functions().get(id) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for param in function.interface.params.of(module.params()) {
        let ptx_ir::Binding::Register(decl) = param.binding else {
            continue;
        };
        let registers = facts.body().registers().iter();
        for (register, _) in registers.filter(|(_, r)| r.decl == decl) {
            found.extend(variables.of(register.into()));
        }
    }
    found
}

fn name(
    facts: FunctionFacts<'_>,
    variables: &ptx_analysis::reg_lanes::Variables,
    variable: u32,
) -> Box<str> {
    let place = variables.place(variable);
    let body = facts.body();
    let decl = body.reg_decl_of(place.register);
    let mut name = String::from(decl.map_or("", |d| facts.module().name(d.name)));
    if let Some(register) = body.registers().get(place.register)
        && decl.is_some_and(|d| d.count.is_some())
    {
        name.push_str(&register.number.to_string());
    }
    name.into()
}

//! Static facts about the instructions of a module that checkers use.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::reaching::UseId;
use ptx_analysis::reg_lanes::VariableId;
use ptx_ir::facts::{Facts, FunctionFacts, ModuleFacts};
use ptx_ir::{EntityId as _, FuncId, Module, Operand, Statement, StmtId};
use ptx_isa::{AsyncPhase, Completion, Directive, Modifier};

use super::scope::Scope;
use super::unset::{Finder, Found, Variable};
use crate::lanes::{Integer, Kind, Place};
use crate::program::{Base, Function, Program, Step, Window};

/// An instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// The scope of a strong access or of a fence.
    pub(super) scope: Option<Scope>,
    /// Whether it has acquire semantics.
    pub(super) acquires: bool,
    /// Whether it has release semantics.
    pub(super) releases: bool,
    /// Whether it is aligned: the lanes of a warp must execute it converged.
    pub(super) aligned: bool,
    /// Whether it is marked as uniform: the lanes that execute it together must not diverge.
    pub(super) uniform: bool,
    /// The completion mechanism of the asynchronous operation that it starts.
    pub(super) starts: Option<Completion>,
    /// Whether it is a load of which only masked bits are used, as in updates of a bit field.
    pub(super) masked: bool,
    /// Whether it is a load whose result is only stored to the stack, such as a field of a structure that is passed to a function.
    pub(super) copied: bool,
    /// For a load, the elements that nothing uses, or that are only stored: a bit for each.
    pub(super) passive_elements: u32,
    /// For a store, the elements that come from such an element of a load and nothing else.
    pub(super) copied_elements: u32,
    /// For a load, the mask of the used bytes from a pragma.
    pub(super) used: Option<u32>,
    /// The variables that it reads and that may be uninitialized.
    pub(super) reads: Vec<u32>,
    /// Whether it has no effects other than computing registers.
    pub(super) computes: bool,
    /// Whether it is a load, perhaps from memory of one thread or CTA, whose results may not matter.
    pub(super) defers: bool,
    /// The variable among them that is its guard, which all lanes read.
    pub(super) guard: Option<u32>,
    /// The variables that it writes, among those that may be uninitialized when they are read.
    pub(super) writes: Vec<u32>,
    /// For a load or a store, the variables among them that the elements in memory are; empty if none is one.
    pub(super) elements: Vec<Option<u32>>,
}

/// The instructions of all functions.
#[derive(Debug)]
pub(crate) struct Sites {
    all: Vec<Site>,
    /// The index of the first instruction of each function.
    starts: Vec<u32>,
    /// The variables that may be uninitialized when they are read, by function and number.
    variables: Vec<Vec<Variable>>,
    /// Whether a variable that may be uninitialized is stored to memory of the CTA or the thread.
    pub(super) follows_memory: bool,
}

impl Sites {
    /// Collects the instructions of a module; with `registers`, also the facts about registers.
    pub(crate) fn new(module: &Module, program: &Program, registers: bool) -> Self {
        let sites = Self::collect(module, program, registers, false);
        if sites.follows_memory {
            Self::collect(module, program, registers, true)
        } else {
            sites
        }
    }

    /// Collects the instructions; `memory` says whether memory of CTAs and threads may hold values that are computed from uninitialized variables.
    fn collect(module: &Module, program: &Program, registers: bool, memory: bool) -> Self {
        let mut sites = Self {
            all: Vec::new(),
            starts: Vec::new(),
            variables: Vec::new(),
            follows_memory: false,
        };
        let facts = ModuleFacts::new(module);
        for (id, _) in module.functions().iter() {
            let start = sites.all.len();
            sites.starts.push(start as u32);
            let program_function = program.function(id);
            let mut variables = Vec::new();
            if let (Some(program_function), Some(facts)) = (program_function, facts.function(id)) {
                let all = program_function
                    .steps
                    .iter()
                    .map(|s| site(&facts.inst(s.inst)));
                sites.all.extend(all);
                for (site, used) in sites.all[start..].iter_mut().zip(used_bytes(facts)) {
                    site.used = used;
                }
                if registers {
                    let unset = unwritten(facts, program_function, &mut sites.all[start..], memory);
                    variables = unset.variables;
                    sites.follows_memory |= unset.stores;
                }
            }
            sites.variables.push(variables);
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

    /// The variables of a function that may be uninitialized when they are read.
    pub(super) fn variables(&self, function: FuncId) -> &[Variable] {
        let variables = self.variables.get(function.as_u32() as usize);
        variables.map_or(&[], Vec::as_slice)
    }
}

/// Of each instruction the value of the pragma `used_bytes_mask` right before it.
fn used_bytes(facts: FunctionFacts<'_>) -> Vec<Option<u32>> {
    let (module, body) = (facts.module(), facts.body());
    let mut used = Vec::new();
    let mut last = None;
    for (_, statement) in body.statements() {
        match statement {
            Statement::Inst(_) => used.push(last.take()),
            Statement::Directive(id) => {
                let stmt = body.directives().get(id);
                let stmt = stmt.filter(|d| d.directive == Directive::Pragma);
                let args = stmt.map_or(&[][..], |d| body.pool().slice(d.args));
                last = args.iter().rev().find_map(|arg| match *arg {
                    Operand::Str(text) => used_bytes_mask(module.name(text)),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    used
}

fn used_bytes_mask(text: &str) -> Option<u32> {
    let mask = text.trim_matches('"').strip_prefix("used_bytes_mask ")?;
    let mask = mask.trim();
    match mask.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => mask.parse().ok(),
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
        uniform: facts.is_uniform(),
        starts: starts.map(|(completion, _)| *completion),
        masked: false,
        copied: false,
        passive_elements: 0,
        copied_elements: 0,
        used: None,
        reads: Vec::new(),
        computes: false,
        defers: false,
        guard: None,
        writes: Vec::new(),
        elements: Vec::new(),
    }
}

/// Finds the variables that may be read before they are written, and the loads whose bytes need not be; gives the variables.
fn unwritten(
    facts: FunctionFacts<'_>,
    function: &Function,
    sites: &mut [Site],
    memory: bool,
) -> Found {
    let analysis = FunctionAnalysis::new(facts);
    let reaching = analysis.reaching();
    let mut steps = vec![None; facts.body().statement_table().len()];
    let insts = facts.body().statements();
    let insts = insts.filter(|(_, s)| matches!(s, Statement::Inst(_)));
    for (step, (id, _)) in insts.enumerate() {
        if let Some(place) = steps.get_mut(id.as_u32() as usize) {
            *place = Some(step);
        }
    }
    let step = |id: StmtId| steps.get(id.as_u32() as usize).copied().flatten();
    let finder = Finder::new(&analysis, function, memory);
    let unset = finder.find(sites, &step);
    let statements: Vec<_> = reaching.uses().map(|(_, of)| step(of.stmt)).collect();
    for (site, target) in sites.iter_mut().zip(&function.steps) {
        if let Step::Load(access) = &target.step {
            let dropped = (0..32)
                .zip(&access.places)
                .filter(|(_, place)| place.is_none());
            site.passive_elements = dropped.fold(0, |all, (element, _)| all | 1 << element);
        }
    }
    let mut is_first = vec![true; sites.len()];
    for (def, of) in reaching.defs() {
        let uses = reaching.uses_of(def);
        let all = |test: &dyn Fn(&Function, usize) -> bool| {
            let at = |read: &UseId| statements.get(read.as_u32() as usize).copied().flatten();
            !uses.is_empty()
                && uses
                    .iter()
                    .all(|r| at(r).is_some_and(|at| test(function, at)))
        };
        if let Some((at, site)) = step(of.stmt).and_then(|s| Some((s, sites.get_mut(s)?))) {
            let is_first = core::mem::take(&mut is_first[at]);
            site.masked = all(&is_mask) && (is_first || site.masked);
            site.copied = all(&is_copy) && (is_first || site.copied);
        }
        let Some(loaded) = step(of.stmt).and_then(|at| element(function, at, of.variable)) else {
            continue;
        };
        let stores: Option<Vec<(usize, u32)>> = uses
            .iter()
            .map(|read| {
                let at = statements.get(read.as_u32() as usize).copied().flatten()?;
                let is_only = reaching.defs_of(*read).len() == 1;
                let stored = element(function, at, of.variable).filter(|_| is_only)?;
                matches!(function.steps.get(at)?.step, Step::Store(_)).then_some((at, stored))
            })
            .collect();
        let Some(stores) = stores else { continue };
        if let Some(site) = step(of.stmt).and_then(|at| sites.get_mut(at)) {
            site.passive_elements |= 1 << loaded;
        }
        for (at, stored) in stores {
            if let Some(site) = sites.get_mut(at) {
                site.copied_elements |= 1 << stored;
            }
        }
    }
    unset
}

/// The element of a load or a store that is a variable, which is not the address.
fn element(function: &Function, at: usize, variable: VariableId) -> Option<u32> {
    let (Step::Load(access) | Step::Store(access)) = &function.steps.get(at)?.step else {
        return None;
    };
    let place = function.registers.get(variable.index()).copied();
    let is_address = matches!((access.address.base, place), (Base::Register(a), Some(b)) if a == b);
    let mut elements = (0..32)
        .zip(&access.places)
        .filter(|(_, stored)| **stored == place);
    match (
        elements.next(),
        elements.next(),
        &function.steps.get(at)?.step,
    ) {
        (Some((element, _)), None, Step::Load(_)) => Some(element),
        (Some((element, _)), None, _) if !is_address => Some(element),
        _ => None,
    }
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

/// The variables that parameters in registers are.
pub(super) fn parameters(
    facts: FunctionFacts<'_>,
    id: FuncId,
    variables: &ptx_analysis::reg_lanes::Variables,
) -> Vec<VariableId> {
    let module = facts.module();
    let Some(function) = module.functions().get(id) else {
        return Vec::new();
    };
    let mut parameter_variables = Vec::new();
    for param in function.interface.params.of(module.params()) {
        let ptx_ir::Binding::Register(decl) = param.binding else {
            continue;
        };
        let registers = facts.body().registers().iter();
        for (register, _) in registers.filter(|(_, r)| r.decl == decl) {
            parameter_variables.extend(variables.of(register.into()));
        }
    }
    parameter_variables
}

/// The name of a variable.
pub(super) fn name(
    facts: FunctionFacts<'_>,
    variables: &ptx_analysis::reg_lanes::Variables,
    variable: VariableId,
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

//! Static facts about the instructions of a module that checkers use.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::reaching::UseId;
use ptx_analysis::reg_lanes::VariableId;
use ptx_ir::facts::{Facts, FunctionFacts, ModuleFacts, Space};
use ptx_ir::{EntityId as _, FuncId, Module, Operand, Statement, StmtId};
use ptx_isa::{AsyncPhase, Completion, Directive, Modifier, Proxy, StateSpace};

use super::published::Scope;
use super::unset::{Finder, UnsetRegisters, Variable};
use crate::lanes::{Integer, Kind, Place};
use crate::program::{Base, Function, Program, Step, Window};

/// The static facts about an instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// The scope of a strong access or of a fence.
    pub(super) scope: Option<Scope>,
    /// It has acquire semantics.
    pub(super) acquires: bool,
    /// It has release semantics.
    pub(super) releases: bool,
    /// It is aligned: the lanes of a warp must execute it converged.
    pub(super) aligned: bool,
    /// It is marked as uniform: the lanes that execute it together must not diverge.
    pub(super) uniform: bool,
    /// Its accesses are, or as a fence it orders those, of the asynchronous proxy.
    pub(super) async_proxy: bool,
    /// It is a fence after which reads of tensor maps see earlier writes through the generic proxy.
    pub(super) acquires_tensor_maps: bool,
    /// It reads data that does not change during the launch.
    pub(super) reads_constants: bool,
    /// It accesses texels of a texture.
    pub(super) is_texture: bool,
    /// It accesses texels of a surface.
    pub(super) is_surface: bool,
    /// The completion mechanism of the asynchronous operation that it starts.
    pub(super) starts: Option<Completion>,
    /// It is a load of which only masked bits are used, as in updates of a bit field.
    pub(super) masked: bool,
    /// It is a load whose result is only stored to the stack, such as a field of a structure that is passed to a function.
    pub(super) copied: bool,
    /// For a load, the elements that are unused or only stored: a bit for each.
    pub(super) passive_elements: u32,
    /// For a store, the elements that come from such an element of a load only: a bit for each.
    pub(super) copied_elements: u32,
    /// For a load, the mask of the used bytes from a pragma.
    pub(super) used_bytes: Option<u32>,
    /// The tracked registers that it reads, by their numbers.
    pub(super) reads: Vec<u32>,
    /// It reads or writes tracked registers that may be uninitialized whatever the loads of shared memory read.
    pub(super) is_always_tracked: bool,
    /// It has no effects other than computing registers.
    pub(super) computes: bool,
    /// It exchanges values between lanes: its results are tracked when the lanes exchange them.
    pub(super) exchanges: bool,
    /// The tracked register that says which lanes exchange values.
    pub(super) member_mask: Option<u32>,
    /// It is a load whose results may not matter: an uninitialized result is reported where it is needed.
    pub(super) defers: bool,
    /// The tracked register that is its guard, which all lanes read.
    pub(super) guard: Option<u32>,
    /// The tracked registers that it writes.
    pub(super) writes: Vec<u32>,
    /// The number of consecutive instructions from this one on that neither read nor write tracked registers.
    untracked_steps: u32,
    /// The number of consecutive instructions from this one on that are not always tracked.
    steps_without_loads: u32,
    /// For a load or a store, the tracked registers of the elements in memory; empty if no element has one.
    pub(super) elements: Vec<Option<u32>>,
}

impl Site {
    /// The number of consecutive instructions from this one on that need not be tracked. `follows_loads` says whether registers are tracked that are only
    /// uninitialized if loads of shared memory read bytes that were never written.
    pub(super) const fn untracked_steps(&self, follows_loads: bool) -> u32 {
        if follows_loads {
            self.untracked_steps
        } else {
            self.steps_without_loads
        }
    }

    /// Whether it reads or writes tracked registers.
    pub(super) fn is_tracked(&self, follows_loads: bool) -> bool {
        self.untracked_steps(follows_loads) == 0
    }
}

/// The facts about the instructions of all functions. Instructions are numbered in the order of functions and steps.
#[derive(Debug)]
pub(crate) struct Sites {
    sites: Vec<Site>,
    /// The number of the first instruction of each function.
    starts: Vec<u32>,
    /// The tracked registers of each function: those that may be uninitialized when they are read.
    variables: Vec<Vec<Variable>>,
    /// Memory of CTAs and threads may contain values that are computed from uninitialized registers.
    tracks_memory: bool,
    /// It may contain values that are computed from what loads of shared memory read, or from uninitialized registers.
    tracks_loaded_values: bool,
    /// Some instruction accesses memory through the asynchronous proxy.
    pub(super) has_async_proxy: bool,
}

/// Whether memory of CTAs and threads may contain values that are computed from uninitialized registers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum MemoryTracking {
    Initialized,
    /// Only by values that are computed from what loads of shared memory read.
    MayBeTaintedByLoads,
    MayBeTainted,
}

impl Sites {
    /// Collects the facts about the instructions of a module; with `registers`, also those about registers.
    pub(crate) fn new(module: &Module, program: &Program, registers: bool) -> Self {
        let sites = Self::collect(module, program, registers, MemoryTracking::Initialized);
        let memory = if sites.tracks_memory {
            MemoryTracking::MayBeTainted
        } else if sites.tracks_loaded_values {
            MemoryTracking::MayBeTaintedByLoads
        } else {
            return sites;
        };
        Self::collect(module, program, registers, memory)
    }

    /// Whether memory of CTAs and threads may contain uninitialized values.
    pub(super) const fn tracks_memory(&self, follows_loads: bool) -> bool {
        self.tracks_memory || follows_loads && self.tracks_loaded_values
    }

    fn collect(
        module: &Module,
        program: &Program,
        registers: bool,
        memory: MemoryTracking,
    ) -> Self {
        let mut sites = Self {
            sites: Vec::new(),
            starts: Vec::new(),
            variables: Vec::new(),
            tracks_memory: false,
            tracks_loaded_values: false,
            has_async_proxy: false,
        };
        let facts = ModuleFacts::new(module);
        for (id, _) in module.functions().iter() {
            let start = sites.sites.len();
            sites.starts.push(start as u32);
            let mut variables = Vec::new();
            if let (Some(function), Some(facts)) = (program.function(id), facts.function(id)) {
                let used_bytes = used_bytes(facts)
                    .into_iter()
                    .chain(core::iter::repeat(None));
                for (target, used_bytes) in function.steps.iter().zip(used_bytes) {
                    sites.sites.push(Site {
                        used_bytes,
                        ..site(&facts.inst(target.inst))
                    });
                }
                if registers {
                    let unset =
                        find_unset_registers(facts, function, &mut sites.sites[start..], memory);
                    variables = unset.variables;
                    sites.tracks_memory |= unset.is_stored;
                    sites.tracks_loaded_values |= unset.is_stored_after_loads;
                }
            }
            sites.variables.push(variables);
        }
        sites.count_untracked_steps();
        sites.has_async_proxy = sites
            .sites
            .iter()
            .any(|site| site.async_proxy && site.starts.is_some());
        sites
    }

    fn count_untracked_steps(&mut self) {
        let (mut untracked_steps, mut steps_without_loads) = (0, 0);
        for site in self.sites.iter_mut().rev() {
            let is_tracked = !(site.reads.is_empty() && site.writes.is_empty());
            untracked_steps = if is_tracked { 0 } else { untracked_steps + 1 };
            steps_without_loads = if site.is_always_tracked {
                0
            } else {
                steps_without_loads + 1
            };
            site.untracked_steps = untracked_steps;
            site.steps_without_loads = steps_without_loads;
        }
    }

    /// The number of an instruction.
    pub(super) fn number(&self, function: FuncId, step_index: u32) -> u32 {
        let start = self.starts.get(function.as_u32() as usize);
        start.copied().unwrap_or(0) + step_index
    }

    /// The facts about an instruction.
    pub(super) fn get(&self, number: u32) -> Option<&Site> {
        self.sites.get(number as usize)
    }

    /// The function of an instruction and the index of its step.
    pub(super) fn place(&self, number: u32) -> (FuncId, u32) {
        let function = self.starts.partition_point(|&start| start <= number) - 1;
        let start = self.starts.get(function).copied().unwrap_or(0);
        (FuncId::new(function as u32), number - start)
    }

    /// The tracked registers of a function.
    pub(super) fn variables(&self, function: FuncId) -> &[Variable] {
        let variables = self.variables.get(function.as_u32() as usize);
        variables.map_or(&[], Vec::as_slice)
    }
}

/// For each instruction, the value of the pragma `used_bytes_mask` right before it.
fn used_bytes(facts: FunctionFacts<'_>) -> Vec<Option<u32>> {
    let (module, body) = (facts.module(), facts.body());
    let mut used_bytes = Vec::new();
    let mut last_mask = None;
    for (_, statement) in body.statements() {
        match statement {
            Statement::Inst(_) => used_bytes.push(last_mask.take()),
            Statement::Directive(id) => {
                let args = body
                    .directives()
                    .get(id)
                    .filter(|d| d.directive == Directive::Pragma)
                    .map_or(&[][..], |d| body.pool().slice(d.args));
                last_mask = args.iter().rev().find_map(|arg| match *arg {
                    Operand::Str(text) => used_bytes_mask(module.name(text)),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    used_bytes
}

/// The mask in the text of a pragma.
fn used_bytes_mask(text: &str) -> Option<u32> {
    let mask = text.trim_matches('"').strip_prefix("used_bytes_mask ")?;
    let mask = mask.trim();
    match mask.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => mask.parse().ok(),
    }
}

/// The facts about an instruction that do not depend on other instructions.
fn site(facts: &Facts<'_>) -> Site {
    let access = facts.memory().find(|m| m.operand.is_some());
    let order = access.and_then(|a| a.order).or_else(|| facts.order());
    let scope = access.and_then(|a| a.scope).or_else(|| facts.scope());
    let is_strong = order.is_some_and(|o| o != Modifier::Weak);
    let is_acquire_and_release = matches!(order, Some(Modifier::AcqRel | Modifier::Sc));
    let start = facts
        .asynchronous()
        .iter()
        .find(|(_, phase)| *phase == AsyncPhase::Start);
    Site {
        scope: scope
            .and_then(Scope::of)
            .or(Some(Scope::Device))
            .filter(|_| is_strong || facts.is_fence()),
        acquires: is_acquire_and_release || order == Some(Modifier::Acquire),
        releases: is_acquire_and_release || order == Some(Modifier::Release),
        aligned: facts.convergence().is_some(),
        uniform: facts.is_uniform(),
        async_proxy: facts.proxy() == Proxy::Async,
        reads_constants: facts.proxy() == Proxy::ReadOnly
            || access.is_some_and(|access| access.space == Space::State(StateSpace::Const)),
        is_texture: facts.proxy() == Proxy::Texture,
        is_surface: facts.proxy() == Proxy::Surface,
        acquires_tensor_maps: facts.proxy() == Proxy::Tensormap && order == Some(Modifier::Acquire),
        starts: start.map(|(completion, _)| *completion),
        ..Site::default()
    }
}

/// Finds the registers that may be read before they are written, and the loads whose bytes need not be initialized, and notes them in `sites`.
fn find_unset_registers(
    facts: FunctionFacts<'_>,
    function: &Function,
    sites: &mut [Site],
    memory: MemoryTracking,
) -> UnsetRegisters {
    let analysis = FunctionAnalysis::new(facts);
    let reaching = analysis.reaching();
    let mut step_indices = vec![None; facts.body().statement_table().len()];
    let insts = facts
        .body()
        .statements()
        .filter(|(_, statement)| matches!(statement, Statement::Inst(_)));
    for (step_index, (id, _)) in insts.enumerate() {
        if let Some(slot) = step_indices.get_mut(id.as_u32() as usize) {
            *slot = Some(step_index);
        }
    }
    let step_of = |id: StmtId| step_indices.get(id.as_u32() as usize).copied().flatten();
    let unset = Finder::new(&analysis, function, memory).find(sites, &step_of);
    for (site, target) in sites.iter_mut().zip(&function.steps) {
        if let Step::Load(access) = &target.step {
            site.passive_elements = (0..32)
                .zip(&access.places)
                .filter(|(_, place)| place.is_none())
                .fold(0, |dropped, (element, _)| dropped | 1 << element);
        }
    }
    let steps_of_uses: Vec<Option<usize>> = reaching
        .uses()
        .map(|(_, usage)| step_of(usage.stmt))
        .collect();
    let step_of_use = |id: UseId| steps_of_uses.get(id.as_u32() as usize).copied().flatten();
    let mut is_first_definition = vec![true; sites.len()];
    for (def, definition) in reaching.defs() {
        let uses = reaching.uses_of(def);
        let step_index = step_of(definition.stmt);
        let all_uses = |is_expected: fn(&Function, usize) -> bool| {
            !uses.is_empty()
                && uses
                    .iter()
                    .all(|id| step_of_use(*id).is_some_and(|step| is_expected(function, step)))
        };
        if let Some(step_index) = step_index
            && let Some(site) = sites.get_mut(step_index)
        {
            let is_first = core::mem::take(&mut is_first_definition[step_index]);
            site.masked = all_uses(is_mask) && (is_first || site.masked);
            site.copied = all_uses(is_copy) && (is_first || site.copied);
        }
        let loaded_element =
            step_index.and_then(|step| element_of_variable(function, step, definition.variable));
        let Some(loaded_element) = loaded_element else {
            continue;
        };
        let stores: Option<Vec<(usize, u32)>> = uses
            .iter()
            .map(|id| {
                let step = step_of_use(*id)?;
                let is_only_definition = reaching.defs_of(*id).len() == 1;
                let stored_element = element_of_variable(function, step, definition.variable)
                    .filter(|_| is_only_definition)?;
                let is_store = matches!(function.steps.get(step)?.step, Step::Store(_));
                is_store.then_some((step, stored_element))
            })
            .collect();
        let Some(stores) = stores else { continue };
        if let Some(site) = step_index.and_then(|step| sites.get_mut(step)) {
            site.passive_elements |= 1 << loaded_element;
        }
        for (step, stored_element) in stores {
            if let Some(site) = sites.get_mut(step) {
                site.copied_elements |= 1 << stored_element;
            }
        }
    }
    unset
}

/// The only element of a load or a store that is in the register of a variable. The register must not be the address of a store.
fn element_of_variable(
    function: &Function,
    step_index: usize,
    variable: VariableId,
) -> Option<u32> {
    let step = &function.steps.get(step_index)?.step;
    let (Step::Load(access) | Step::Store(access)) = step else {
        return None;
    };
    let place = function.registers.get(variable.index()).copied();
    let mut elements = (0..32)
        .zip(&access.places)
        .filter(|(_, element_place)| **element_place == place)
        .map(|(element, _)| element);
    let (Some(element), None) = (elements.next(), elements.next()) else {
        return None;
    };
    let is_address = match access.address.base {
        Base::Register(address) => Some(address) == place,
        Base::Frame | Base::Zero => false,
    };
    (matches!(step, Step::Load(_)) || !is_address).then_some(element)
}

/// Whether a step is a store whose address may be on the stack.
fn is_copy(function: &Function, step_index: usize) -> bool {
    match function.steps.get(step_index).map(|s| &s.step) {
        Some(Step::Store(access)) => {
            matches!(access.address.window, Window::Local | Window::Generic)
        }
        _ => false,
    }
}

/// Whether a step selects bits of a register by a constant.
fn is_mask(function: &Function, step_index: usize) -> bool {
    let Some(Step::Lanes(first, end)) = function.steps.get(step_index).map(|s| &s.step) else {
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
        .any(|index| function.code.is_constant(place(index)))
}

/// The variables of the parameters that are in registers.
pub(super) fn parameter_variables(
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
        for (register, entry) in facts.body().registers().iter() {
            if entry.decl == decl {
                parameter_variables.extend(variables.of(register.into()));
            }
        }
    }
    parameter_variables
}

/// The name of a variable.
pub(super) fn variable_name(
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

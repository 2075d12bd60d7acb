//! What threads execute, and which registers they read that they never wrote.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use ptx_analysis::reg_lanes::{VariableId, Variables};
use ptx_ir::facts::{ModuleFacts, RegisterComponent};
use ptx_ir::{Binding, EntityId as _, FuncId, InstId};
use ptx_vm::{ExecutedStep, StepObserver, StepPlace, StepRegister, StepState};

/// The lanes of a warp.
const LANES: usize = 32;

/// A warp: the number of its grid, `%ctaid` of its CTA and its first thread.
type Warp = (u64, [u32; 3], u32);
/// An instruction.
pub(crate) type At = (FuncId, InstId);

/// What happened at an instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Executed {
    /// The lanes of each warp that executed it, at some time.
    warps: HashMap<Warp, u32>,
    /// Whether each of them read a register that it never wrote, each time.
    pub(crate) always_unset: bool,
}

impl Executed {
    /// Whether only some threads of a warp execute it, in CTAs of that many threads.
    pub(crate) fn is_by_some(&self, threads: u32) -> bool {
        let mut warps = self.warps.iter();
        warps.any(|((_, _, first), lanes)| {
            let all = u32::MAX >> 32u32.saturating_sub(threads - first).min(31);
            *lanes != all
        })
    }

    /// Whether two threads of the first warp of a CTA execute this and another instruction.
    pub(crate) fn is_by_two(&self, other: &Self) -> bool {
        let mut warps = self.warps.iter().filter(|((_, _, first), _)| *first == 0);
        warps.any(|(warp, lanes)| {
            let others = other.warps.get(warp).copied().unwrap_or(0);
            others != 0 && (lanes | others).count_ones() >= 2
        })
    }
}

/// The registers of a function.
#[derive(Debug)]
struct Registers {
    variables: Variables,
    /// What the caller writes.
    parameters: Vec<VariableId>,
    /// The guards of instructions.
    guards: HashMap<InstId, RegisterComponent>,
    /// Those that read and those that write the carry flag, which has the number after that of the last variable.
    reads_carry: HashSet<InstId>,
    writes_carry: HashSet<InstId>,
}

/// The written variables of a warp in a call: the lanes by variable.
type Written = HashMap<(u32, FuncId), Vec<u32>>;

#[derive(Debug, Default)]
struct State {
    executed: HashMap<At, Executed>,
    written: HashMap<Warp, Written>,
    /// How many calls each lane is in.
    depths: HashMap<Warp, [Option<u32>; LANES]>,
}

/// Observes launches.
#[derive(Debug)]
pub(crate) struct Observer {
    functions: HashMap<FuncId, Registers>,
    state: Mutex<State>,
}

impl Observer {
    pub(crate) fn new(facts: &ModuleFacts<'_>) -> Self {
        let module = facts.module();
        let mut functions = HashMap::new();
        for (id, function, body) in module.definitions() {
            let variables = Variables::new(body);
            let mut parameters = Vec::new();
            for param in function.interface.params.of(module.params()) {
                let Binding::Register(decl) = param.binding else {
                    continue;
                };
                let registers = body.registers().iter();
                for (register, _) in registers.filter(|(_, r)| r.decl == decl) {
                    parameters.extend(variables.of(register.into()));
                }
            }
            let mut registers = Registers {
                variables,
                parameters,
                guards: HashMap::new(),
                reads_carry: HashSet::new(),
                writes_carry: HashSet::new(),
            };
            for (inst, _) in body.insts() {
                let Some(of) = facts.function(id).map(|of| of.inst(inst)) else {
                    continue;
                };
                let guard = of.guard_register().map(|(place, _)| (inst, place));
                registers.guards.extend(guard);
                registers
                    .reads_carry
                    .extend(of.reads_carry().then_some(inst));
                registers
                    .writes_carry
                    .extend(of.writes_carry().then_some(inst));
            }
            functions.insert(id, registers);
        }
        Self {
            functions,
            state: Mutex::default(),
        }
    }

    /// What happened since the last time.
    pub(crate) fn take(&self) -> HashMap<At, Executed> {
        let mut state = self.state.lock().unwrap();
        std::mem::take(&mut *state).executed
    }
}

impl StepObserver for Observer {
    fn step(&self, step: &ExecutedStep<'_>) {
        let mut state = self.state.lock().unwrap();
        let place = &step.place;
        let Some(registers) = self.functions.get(&place.function) else {
            return;
        };
        let warp = (place.grid.number, place.block, place.first_thread);
        if step.state != StepState::Resumed {
            let new = state.enter(warp, step);
            let written = state.written(warp, step, registers);
            written.iter_mut().for_each(|lanes| *lanes &= !new);
            for variable in &registers.parameters {
                written[variable.index()] |= new;
            }
            let (lanes, unset) = unset(written, step, registers);
            state.note(warp, step.place, lanes, unset);
        }
        let written = state.written(warp, step, registers);
        let active = place.active & step.lanes;
        for write in step.writes {
            if let StepRegister::Register(register) = write.register() {
                for variable in registers.variables.of(register) {
                    written[variable.index()] |= active;
                }
            }
        }
        if registers.writes_carry.contains(&place.inst) {
            written[registers.variables.len()] |= active;
        }
    }
}

/// The lanes that execute an instruction, and those of them that read a register that they never wrote. Where the guard does not hold, only that is read.
fn unset(written: &[u32], step: &ExecutedStep<'_>, registers: &Registers) -> (u32, u32) {
    let active = step.place.active & step.lanes;
    let guard = registers.guards.get(&step.place.inst);
    let (mut lanes, mut unset) = (active, 0);
    for read in step.reads {
        let StepRegister::Register(register) = read.register() else {
            continue;
        };
        let missing = |variable: VariableId| !written[variable.index()];
        let missing = registers.variables.of(register).map(missing);
        let missing = missing.fold(0, |all, lanes| all | lanes);
        if guard == Some(&register) {
            lanes |= missing & step.lanes;
        }
        unset |= missing & lanes;
    }
    if registers.reads_carry.contains(&step.place.inst) {
        unset |= active & !written[registers.variables.len()];
    }
    (lanes, unset)
}

impl State {
    /// The lanes that came to the function by a call, or begin.
    fn enter(&mut self, warp: Warp, step: &ExecutedStep<'_>) -> u32 {
        let depths = self.depths.entry(warp).or_insert([None; LANES]);
        let mut new = 0;
        for (lane, depth) in depths.iter_mut().enumerate() {
            if step.lanes >> lane & 1 == 1 {
                let enters = depth.is_none_or(|depth| depth < step.place.depth);
                new |= u32::from(enters) << lane;
                *depth = Some(step.place.depth);
            }
        }
        new
    }

    fn written(
        &mut self,
        warp: Warp,
        step: &ExecutedStep<'_>,
        registers: &Registers,
    ) -> &mut Vec<u32> {
        let frames = self.written.entry(warp).or_default();
        let frame = (step.place.depth, step.place.function);
        let count = registers.variables.len() + 1;
        frames.entry(frame).or_insert_with(|| vec![0; count])
    }

    fn note(&mut self, warp: Warp, place: StepPlace, lanes: u32, unset: u32) {
        if lanes == 0 {
            return;
        }
        let new = Executed {
            warps: HashMap::new(),
            always_unset: true,
        };
        let at = (place.function, place.inst);
        let executed = self.executed.entry(at).or_insert(new);
        *executed.warps.entry(warp).or_default() |= lanes;
        executed.always_unset &= lanes & !unset == 0;
    }
}

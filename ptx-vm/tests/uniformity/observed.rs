//! Compares what threads hold and do.

use std::sync::Mutex;

use ptx_analysis::calls::CallGraph;
use ptx_analysis::cfg::BlockId;
use ptx_analysis::reg_lanes::{VariableId, Variables};
use ptx_analysis::uniformity::{ModuleUniformity, Uniformity};
use ptx_ir::facts::{Flow, FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, FunctionKind, InstId, Module};
use ptx_isa::{Proxy, StateSpace};
use ptx_vm::{
    AccessUse, ExecutedStep, Launch, StepAccess, StepObserver, StepPlace, StepRegister, StepState,
};

use super::hashing::{FastMap, FastSet, hash};
use super::instances::{Shape, Thread};
use super::missed::Sources;
use super::tally::Tally;

/// Something that threads may hold or do alike.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum What {
    /// A register after an instruction.
    Def(FuncId, InstId, VariableId),
    /// The guard of an instruction.
    Guard(FuncId, InstId),
    /// Where the block goes on that an instruction ends.
    Branch(FuncId, InstId),
}

/// What was seen of it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) claimed: Uniformity,
    /// By group, the largest first: whether several of its members were compared, and whether threads of it differed. Members of a warp are threads, those of a
    /// CTA are warps, and those of larger groups are CTAs.
    pub(crate) compared: [bool; 4],
    pub(crate) differed: [bool; 4],
    /// How many values of threads were compared.
    pub(crate) observations: u64,
}

impl Seen {
    /// Whether nothing differed that was called uniform.
    fn is_sound(&self) -> bool {
        let called = (0..4).filter(|at| self.claimed as usize <= *at);
        called.into_iter().all(|at| !self.differed[at])
    }

    /// Whether it was the same in a group in which it is not called so.
    fn is_missed(&self) -> bool {
        let mut others = (0..4).filter(|at| self.claimed as usize > *at);
        others.any(|at| self.compared[at] && !self.differed[at])
    }
}

/// What is known of a function.
#[derive(Debug)]
struct Function {
    shape: Shape,
    variables: Variables,
    sources: Sources,
    /// Whether other modules may call it, so that nothing can be known of its arguments.
    is_open: bool,
    /// By instruction.
    insts: FastMap<InstId, Inst>,
}

/// What is known of an instruction.
#[derive(Copy, Clone, Debug)]
struct Inst {
    flow: Flow,
    is_guarded: bool,
    /// Whether it ends a block that goes on to several places.
    branches: bool,
    /// Whether it reads what nothing may write meanwhile.
    reads_constants: bool,
}

impl Function {
    fn new(facts: FunctionFacts<'_>, calls: &CallGraph) -> Self {
        let header = &facts.module().functions()[facts.id()];
        let is_open = header.kind != FunctionKind::Entry
            && (header.linkage.is_some() || calls.is_address_taken(facts.id()));
        let shape = Shape::new(facts);
        let inst = |(id, _): (InstId, &ptx_ir::Inst)| {
            let of = facts.inst(id);
            let mut accesses = of.memory();
            let inst = Inst {
                flow: of.flow(),
                is_guarded: of.guard().is_some(),
                branches: shape.branches(id) && matches!(of.flow(), Flow::Jump | Flow::Table),
                reads_constants: accesses.any(|m| m.proxy == Proxy::ReadOnly),
            };
            (id, inst)
        };
        Self {
            insts: facts.body().insts().map(inst).collect(),
            variables: Variables::new(facts.body()),
            sources: Sources::new(facts),
            is_open,
            shape,
        }
    }
}

/// An instance of a block, and of the calls by which threads came to its function.
type Entered = (FuncId, BlockId, u64);

/// The lanes of a warp.
#[derive(Debug)]
struct Warp {
    threads: Vec<Thread>,
    /// The lanes that have not ended.
    live: u32,
    /// The steps since they were apart for the first time.
    apart: u32,
    /// Whether these are more than a limit, so that the machine may let them run in turns: then they need not meet again after a branch.
    in_turns: bool,
}

impl Warp {
    fn new() -> Self {
        Self {
            threads: vec![Thread::default(); 32],
            live: 0,
            apart: 0,
            in_turns: false,
        }
    }

    /// Lanes execute an instruction; those of `ended` end with it.
    fn step(&mut self, mask: u32, ended: u32) {
        self.live |= mask;
        // The machine may also count steps that lanes execute together between two times that they are apart.
        self.apart += u32::from(self.apart > 0 || mask != self.live);
        self.in_turns |= self.apart >= TURN;
        self.live &= !ended;
    }
}

/// How many compared numbers are kept of a launch.
const HINTS: usize = 61;

/// Steps apart after which lanes may run in turns.
const TURN: u32 = 1_000;

#[derive(Debug, Default)]
struct State {
    launch: Option<Launch>,
    warps: FastMap<(u64, [u32; 3], u32), Warp>,
    /// Whether lanes of the current warp, and of any warp of the launch, ran in turns.
    in_turns: bool,
    any_in_turns: bool,
    seen: FastMap<What, Seen>,
    /// The first value of each instance in each group, and the member of the group that held it.
    first: FastMap<(What, u64, u64), (u64, u64)>,
    /// How many threads of a group entered an instance of a block, with the calls that they came by.
    entered: FastMap<(Entered, u64), (u64, u32)>,
    /// How many threads of a group entered a function by the same calls.
    calls: FastMap<(FuncId, u64, u64), u32>,
    wrong_blocks: Vec<String>,
    /// Numbers that threads compared in the launch, and a count of them.
    hints: Vec<u64>,
    hinted: usize,
    /// What was seen, and how many blocks were wrong, before the launch.
    before: (FastMap<What, Seen>, usize),
    /// The bytes in global memory that were read as constants, and those that were written.
    constants: FastSet<u64>,
    written: FastSet<u64>,
}

/// Observes the launches of a kernel.
#[derive(Debug)]
pub(crate) struct Observer<'a> {
    module: &'a Module,
    uniformity: &'a ModuleUniformity,
    functions: FastMap<FuncId, Function>,
    /// Whether instances can be told apart.
    is_known: bool,
    state: Mutex<State>,
}

impl<'a> Observer<'a> {
    pub(crate) fn new(
        facts: &ModuleFacts<'a>,
        uniformity: &'a ModuleUniformity,
        kernel: FuncId,
    ) -> Self {
        let calls = CallGraph::new(facts);
        let mut functions = FastMap::default();
        for id in calls.reachable([kernel]) {
            functions.extend(facts.function(id).map(|of| (id, Function::new(of, &calls))));
        }
        Self {
            module: facts.module(),
            uniformity,
            is_known: functions.values().all(|f| f.shape.sees_headers),
            functions,
            state: Mutex::default(),
        }
    }

    /// A launch begins.
    pub(crate) fn begin(&self, launch: &Launch) {
        let mut state = self.state.lock().unwrap();
        state.launch = Some(launch.clone());
        state.warps.clear();
        state.any_in_turns = false;
        state.first.clear();
        state.entered.clear();
        state.calls.clear();
        state.constants.clear();
        state.written.clear();
        state.hints.clear();
        state.before = (state.seen.clone(), state.wrong_blocks.len());
    }

    /// A launch came to its end, or failed: then threads are missing. Whether nothing was wrong in it; nothing counts of launches that write what they read as
    /// a constant, which they must not.
    pub(crate) fn end(&self, done: bool) -> bool {
        let mut state = self.state.lock().unwrap();
        let state = &mut *state;
        if !state.constants.is_disjoint(&state.written) {
            state.discard();
            return true;
        }
        for (((function, block, _), group), (path, count)) in &state.entered {
            let all = state.calls.get(&(*function, *path, *group));
            if done && !state.any_in_turns && all != Some(count) {
                let text = format!("{function:?} {block:?}: {count} of {all:?} threads");
                state.wrong_blocks.push(text);
            }
        }
        let (before, blocks) = &state.before;
        let is_known = |what| before.get(what).is_some_and(|of: &Seen| !of.is_sound());
        state.wrong_blocks.len() == *blocks
            && state
                .seen
                .iter()
                .all(|(what, of)| of.is_sound() || is_known(what))
    }

    /// Nothing counts of the last launch.
    pub(crate) fn discard(&self) {
        self.state.lock().unwrap().discard();
    }

    /// Numbers that threads compared in the last launch, always with the same result.
    pub(crate) fn hints(&self) -> Vec<u64> {
        self.state.lock().unwrap().hints.clone()
    }

    /// How much was compared, and how much differed.
    pub(crate) fn progress(&self) -> usize {
        let state = self.state.lock().unwrap();
        let flags = state.seen.values().flat_map(|s| [s.compared, s.differed]);
        flags.flatten().filter(|is_so| *is_so).count()
    }

    /// Whether something is not called uniform that was.
    pub(crate) fn misses(&self) -> bool {
        let state = self.state.lock().unwrap();
        state.seen.values().any(Seen::is_missed)
    }

    /// The functions that the kernel may call, and itself.
    pub(crate) fn functions(&self) -> impl Iterator<Item = FuncId> {
        self.functions.keys().copied()
    }

    /// Adds what was seen.
    pub(crate) fn finish(&self, tally: &mut Tally, name: &str) {
        let state = self.state.lock().unwrap();
        for (what, seen) in &state.seen {
            let text = || format!("{name}: {}", self.text(*what));
            let What::Def(id, inst, variable) = what else {
                tally.count(seen, None, text);
                continue;
            };
            let function = &self.functions[id];
            let cause = |group| {
                let stmt = function.shape.place(*inst).map(|(_, stmt, _)| stmt);
                let claims = self.uniformity.function(*id).unwrap();
                function
                    .sources
                    .cause(claims, (stmt.unwrap(), *variable), group)
            };
            match function.is_open {
                true => tally.count(seen, None, text),
                false => tally.count(seen, Some(&cause), text),
            }
        }
        tally.blocks(name, &state.wrong_blocks);
    }

    /// What it is, for people.
    fn text(&self, what: What) -> String {
        let (What::Def(function, inst, _)
        | What::Guard(function, inst)
        | What::Branch(function, inst)) = what;
        let body = self.module.body(function).unwrap();
        let mut statements = body.statements();
        let statement = statements.find(|(_, s)| *s == ptx_ir::Statement::Inst(inst));
        let span = body.source_span(statement.unwrap().0);
        let text = String::from_utf8_lossy(span.of(self.module.source())).into_owned();
        format!("{what:?}: {text}")
    }
}

impl StepObserver for Observer<'_> {
    fn step(&self, step: &ExecutedStep<'_>) {
        let place = &step.place;
        let function = self.functions.get(&place.function);
        let Some(function) = function.filter(|_| self.is_known) else {
            return;
        };
        let Some((block, stmt, _)) = function.shape.place(place.inst) else {
            return;
        };
        let mut state = self.state.lock().unwrap();
        let claims = self.uniformity.function(place.function).unwrap();
        let groups = groups(state.launch.as_ref().unwrap(), place);
        let resumed = step.state == StepState::Resumed;
        let inst = function.insts[&place.inst];
        if !resumed {
            state.together(step, inst.flow);
        }
        let keys = match resumed {
            true => state.resumed(step),
            false => state.executed(step, &function.shape, (block, claims.block(block)), &groups),
        };
        let holds = |lane: usize| u64::from(place.active >> lane & 1);
        state.note_memory(step, inst.reads_constants);
        if inst.is_guarded && !resumed {
            let what = What::Guard(place.function, place.inst);
            let claimed = claims.guard(stmt);
            state.compare((what, claimed), (step.lanes, &keys), &groups, &holds);
        }
        if inst.branches && !resumed {
            let what = What::Branch(place.function, place.inst);
            let index = |lane: usize| match (inst.flow, step.reads) {
                (Flow::Table, [index, ..]) => index.bits(lane) as u64,
                _ => holds(lane),
            };
            let claimed = claims.branch(block);
            state.compare((what, claimed), (step.lanes, &keys), &groups, &index);
        }
        if !matches!(step.state, StepState::Done | StepState::Resumed) {
            return;
        }
        for write in step.writes {
            let StepRegister::Register(register) = write.register() else {
                continue;
            };
            let variable = function.variables.of(register).first();
            let what = What::Def(place.function, place.inst, variable);
            let value = |lane: usize| {
                let bits = write.bits(lane);
                bits as u64 ^ ((bits >> 64) as u64).rotate_left(17)
            };
            let claimed = claims.def(stmt, variable);
            let is_missed = state.compare((what, claimed), (step.lanes, &keys), &groups, &value);
            if is_missed && write.ty().bits() == 1 {
                state.hint(step);
            }
        }
    }
}

/// The groups that a warp belongs to. Grids that kernels launch have no clusters of several CTAs.
fn groups(launch: &Launch, place: &StepPlace) -> [u64; 4] {
    let (grid, block) = (place.grid.number, place.block);
    let size = if grid == 0 { launch.cluster } else { [1; 3] };
    let cluster = [block[0] / size[0], block[1] / size[1], block[2] / size[2]];
    [
        grid,
        hash((1u8, grid, cluster)),
        hash((2u8, grid, block)),
        hash((3u8, grid, block, place.first_thread)),
    ]
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

impl State {
    /// Nothing counts of the last launch.
    fn discard(&mut self) {
        self.seen.clone_from(&self.before.0);
        self.wrong_blocks.truncate(self.before.1);
    }

    /// The instances of an instruction whose results lanes get.
    fn resumed(&self, step: &ExecutedStep<'_>) -> [u64; 32] {
        let place = &step.place;
        let warp = (place.grid.number, place.block, place.first_thread);
        let mut keys = [0; 32];
        for lane in lanes(step.lanes) {
            let warp = self.warps.get(&warp);
            let depth = place.depth as usize;
            keys[lane] = warp.map_or(0, |w| w.threads[lane].last(depth));
        }
        keys
    }

    /// Notes which lanes of a warp are together.
    fn together(&mut self, step: &ExecutedStep<'_>, flow: Flow) {
        let place = &step.place;
        let ends = flow == Flow::Exit || flow == Flow::Return && place.depth == 0;
        let ended = if ends { place.active } else { 0 };
        let warp = (place.grid.number, place.block, place.first_thread);
        let warp = self.warps.entry(warp).or_insert_with(Warp::new);
        warp.step(place.mask, ended);
        self.in_turns = warp.in_turns;
        self.any_in_turns |= warp.in_turns;
    }

    /// Lanes execute an instruction of a block; gives its instances.
    fn executed(
        &mut self,
        step: &ExecutedStep<'_>,
        shape: &Shape,
        (block, claimed): (BlockId, Uniformity),
        groups: &[u64; 4],
    ) -> [u64; 32] {
        let place = &step.place;
        let warp = (place.grid.number, place.block, place.first_thread);
        let warp = self.warps.entry(warp).or_insert_with(Warp::new);
        let mut keys = [0; 32];
        for lane in lanes(step.lanes) {
            let depth = place.depth as usize;
            let executed = warp.threads[lane].execute(shape, place.inst, depth);
            keys[lane] = executed.instance;
            if executed.calls {
                for group in groups {
                    let call = (place.function, executed.path, *group);
                    *self.calls.entry(call).or_default() += 1;
                }
            }
            if executed.enters && claimed < Uniformity::Varying {
                let group = groups[claimed as usize];
                let entered = (place.function, block, executed.instance);
                let count = self.entered.entry((entered, group));
                count.or_insert((executed.path, 0)).1 += 1;
            }
            if step.state == StepState::Waits {
                warp.threads[lane].wait(depth);
            }
        }
        keys
    }

    /// Notes which constants are read and what is written.
    fn note_memory(&mut self, step: &ExecutedStep<'_>, constants: bool) {
        let global = |a: &&StepAccess| a.space == StateSpace::Global;
        for access in step.accesses.iter().filter(global) {
            let bytes = access.address..access.address.saturating_add(access.bytes.min(64));
            if access.usage != AccessUse::Read {
                self.written.extend(bytes);
            } else if constants {
                self.constants.extend(bytes);
            }
        }
    }

    /// Compares the values of lanes with each other, and with those of other threads that execute the same instance. Whether they were the same so far in a group
    /// in which they are not called so.
    fn compare(
        &mut self,
        (what, claimed): (What, Uniformity),
        (mask, keys): (u32, &[u64; 32]),
        groups: &[u64; 4],
        value: &dyn Fn(usize) -> u64,
    ) -> bool {
        if claimed == Uniformity::Warp && self.in_turns {
            return false;
        }
        let new = || Seen {
            claimed,
            compared: [false; 4],
            differed: [false; 4],
            observations: 0,
        };
        let seen = self.seen.entry(what).or_insert_with(new);
        let mut left = mask;
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let same = lanes(left).filter(|l| keys[*l] == keys[first]);
            let same = same.fold(0u32, |all, lane| all | 1 << lane);
            left &= !same;
            let of_first = value(first);
            if claimed < Uniformity::Varying {
                seen.observations += u64::from(same.count_ones());
            }
            if same.count_ones() > 1 {
                seen.compared[3] = true;
                if lanes(same).any(|lane| value(lane) != of_first) {
                    seen.differed = [true; 4];
                }
            }
            let [_, _, cta, warp] = *groups;
            for (at, (group, member)) in groups
                .iter()
                .zip([cta, cta, warp, first as u64])
                .enumerate()
            {
                if seen.differed[at] {
                    continue;
                }
                let known = self.first.entry((what, keys[first], *group));
                let (known, of_member) = *known.or_insert((of_first, member));
                seen.compared[at] |= member != of_member;
                // A larger group contains this one.
                if known != of_first {
                    seen.differed[..=at].fill(true);
                }
            }
        }
        seen.is_missed()
    }

    /// Notes what some lanes compare, always with the same result.
    fn hint(&mut self, step: &ExecutedStep<'_>) {
        let ends = [step.lanes.trailing_zeros(), 31 - step.lanes.leading_zeros()];
        for read in step.reads {
            for lane in ends {
                let bits = read.bits(lane as usize) as u64;
                if self.hints.len() < HINTS {
                    self.hints.push(bits);
                } else {
                    self.hints[self.hinted % HINTS] = bits;
                }
                self.hinted += 7;
            }
        }
    }
}

//! An observer that finds out whether threads repeat a loop for ever.
//!
//! Lanes repeat a loop if they come to an instruction twice with the same values of all registers that decide where they go and what they read, and
//! nothing else changed in between: no memory, no barrier, no other thread ended. What they do depends on nothing else, so they do the same until
//! something changes. If all lanes of a launch that do not wait at a barrier repeat a loop, and nothing changed since the first of them began to, nothing
//! changes any more.

use std::collections::HashMap;

use ptx_ir::FuncId;
use ptx_isa::Action;

use super::block::Block;
use super::execution::{Execution, Failed};
use super::grid::Grid;
use super::groups::{CallFrame, State};
use super::location::Memory;
use super::observer::{After, Observed, Observer, OnMbarrier, Stepped};
use super::repeats::{Steps, repeat};
use super::touch::{Touch, Use};
use super::warp::Warp;
use crate::lanes::{Registers, lanes};
use crate::program::{Act, Callee, Step};

/// What lanes read in a loop that may end it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Poll {
    pub(super) function: FuncId,
    pub(super) at: u32,
    pub(super) memory: Memory,
    /// The offset; the address in global memory.
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// Whether it is an mbarrier object.
    pub(super) is_mbarrier: bool,
}

/// The most reads of a loop that are described.
const POLLS: usize = 4;

/// Lanes that may repeat a loop.
#[derive(Debug)]
struct Loop {
    lanes: u32,
    /// Where they were last: the call, the function and the step.
    last: (usize, FuncId, u32),
    /// The least depth of calls that they were in: only there, the registers of one call decide what they do.
    depth: u32,
    /// A state that they may come to again.
    start: Option<((usize, FuncId, u32), Registers)>,
    /// How often they jumped back, and when the state is replaced: at powers of two, so that a loop of any length is found.
    arrivals: u32,
    next: u32,
    /// How often they came to the state again.
    matches: u32,
    steps: Steps,
    polls: Vec<Poll>,
}

/// How often a state is reached again: local memory that calls leave is then the same, too.
const MATCHES: u32 = 2;

/// A warp, by its CTA and its first thread.
type Key = (u64, u32);

/// The state of the observer.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    /// Whether it looks at all.
    pub(super) enabled: bool,
    /// Whether something changed.
    pub(super) changed: bool,
    /// Whether a barrier of a CTA was completed, so that threads that wait at one may go on.
    completed: bool,
    /// Whether a loop reads memory that other clusters have as well.
    pub(super) reads_global: bool,
    warps: HashMap<Key, Vec<Loop>>,
    /// The bytes that the current step may change: of a lane, with what they were.
    written: Vec<(Memory, usize, u64, Option<u8>)>,
}

impl Loop {
    fn new(lanes: u32, last: (usize, FuncId, u32), depth: u32) -> Self {
        Self {
            lanes,
            last,
            depth,
            start: None,
            arrivals: 0,
            next: 1,
            matches: 0,
            steps: Steps::new(),
            polls: Vec::new(),
        }
    }

    const fn repeats(&self) -> bool {
        self.matches >= MATCHES
    }

    /// The lanes come to a step.
    fn arrive(&mut self, grid: &Grid<'_>, step: Stepped, call: &CallFrame) {
        let here = (step.call, step.function, step.at);
        if call.depth < self.depth {
            // The callers have registers, too.
            *self = Self::new(self.lanes, here, call.depth);
            return;
        }
        let back =
            (step.call, step.function) == (self.last.0, self.last.1) && step.at <= self.last.2;
        self.last = here;
        if !back || self.repeats() || call.depth > self.depth {
            return;
        }
        self.arrivals += 1;
        if let Some((place, before)) = &self.start
            && *place == here
        {
            let states = (before, &call.registers);
            match repeat(grid, step.function, states, self.lanes, &self.steps) {
                true => self.matches += 1,
                false => self.matches = 0,
            }
        }
        if self.arrivals >= self.next && self.matches == 0 {
            self.next = self.arrivals.saturating_mul(2);
            self.start = Some((here, call.registers.clone()));
            self.steps.clear();
            self.polls.clear();
        }
    }
}

/// A byte of the memory of a lane.
fn byte(grid: &Grid<'_>, block: &Block, warp: &Warp, of: (Memory, usize, u64)) -> Option<u8> {
    let (memory, lane, at) = of;
    match memory {
        Memory::Global => grid.device.read(at, 1).ok().map(|v| v as u8),
        Memory::Shared(rank) => block.shared(rank)?.get(at as usize).copied(),
        Memory::Local => warp.stacks.get(lane)?.get(at as usize).copied(),
        Memory::Parameter => None,
    }
}

/// Whether an action changes nothing but registers, and tells other threads nothing. Waiting at a barrier changes only when threads go on: if all of them
/// repeat loops, it does not matter.
const fn is_pure(action: Action) -> bool {
    matches!(
        action,
        Action::Fence
            | Action::Hint
            | Action::Sleep
            | Action::GridDependency
            | Action::CopyCommit
            | Action::CopyWait
            | Action::BulkCommit
            | Action::BulkWait
            | Action::CachePolicy
            | Action::ToGeneric
            | Action::FromGeneric
            | Action::TestSpace
            | Action::MapShared
            | Action::SharedRank
            | Action::Shuffle
            | Action::Vote
            | Action::Match
            | Action::ActiveLanes
            | Action::WarpReduce
            | Action::Elect
            | Action::WarpBarrier
            | Action::BarrierSync
            | Action::MbarrierTest
            | Action::MbarrierWait
            | Action::MbarrierPending
    )
}

impl Probe {
    /// Begins to look.
    pub(super) fn start(&mut self) {
        *self = Self {
            enabled: true,
            ..Self::default()
        };
    }

    const fn looks(&self) -> bool {
        self.enabled && !self.changed
    }

    /// Whether all lanes of a warp that have not ended wait at barriers or repeat loops, or some repeat a loop that reads nothing: that never ends,
    /// and lanes that come after it in the code do not run before. If barriers are completed, all have to repeat loops.
    pub(super) fn covers(&self, grid: &Grid<'_>, block: &Block, warp: &Warp) -> bool {
        let loops = self.warps.get(&(grid.linear(block.index), warp.first));
        let repeating = loops.into_iter().flatten().filter(|one| one.repeats());
        let mut endless = false;
        let repeating = repeating.fold(0, |all, one| {
            endless |= one.polls.is_empty();
            all | one.lanes
        });
        let goes_on = |state: State| match state {
            State::Ready => true,
            State::Barrier(_) => self.completed,
            State::Lanes(_) | State::Matrix | State::Cluster => false,
        };
        let ready = warp.groups.all.iter().filter(|g| goes_on(g.state));
        let ready = ready.fold(0, |all, group| all | group.mask);
        endless && !self.completed || ready & !repeating == 0
    }

    /// What lanes of a warp read in a loop that they repeat; `None` if they do not.
    pub(super) fn polls(&self, block: u64, warp: u32, mask: u32) -> Option<&[Poll]> {
        let loops = self.warps.get(&(block, warp))?;
        let all = loops.iter().filter(|one| one.repeats());
        let mut own = all.filter(|one| mask & !one.lanes == 0);
        own.next().map(|one| &one.polls[..])
    }

    /// Adds what a step reads to the loops that its lanes are in.
    fn add(&mut self, of: &Execution<'_>, poll: Poll) {
        let key = (of.grid.linear(of.block.index), of.warp.first);
        for one in self.warps.get_mut(&key).into_iter().flatten() {
            let new = !one.polls.contains(&poll) && one.polls.len() < POLLS;
            if of.mask & !one.lanes == 0 && new {
                one.polls.push(poll);
            }
        }
    }

    fn read(&mut self, of: &Execution<'_>, touch: &Touch<'_>) {
        let (Memory::Global | Memory::Shared(_)) = touch.memory else {
            return;
        };
        self.reads_global |= touch.memory == Memory::Global;
        let lane = touch.lanes.trailing_zeros() as usize % crate::lanes::LANES;
        let poll = Poll {
            function: of.id,
            at: of.at,
            memory: touch.memory,
            address: touch.at[lane],
            bytes: touch.bytes,
            is_mbarrier: false,
        };
        self.add(of, poll);
    }
}

/// Whether a step has effects that an observer of accesses and actions does not see.
fn has_effect(step: &Step, call: &CallFrame) -> bool {
    match step {
        Step::Exit | Step::Trap | Step::Unsupported(_) => true,
        Step::Return => call.caller.is_none(),
        Step::Call(call) => matches!(call.callee, Callee::System(_)),
        _ => false,
    }
}

impl Observer for Probe {
    fn step(&mut self, grid: &Grid<'_>, block: &Block, warp: u32, step: Stepped, call: &CallFrame) {
        if !self.looks() {
            return;
        }
        self.written.clear();
        let function = grid.program.function(step.function);
        let target = function.and_then(|f| f.steps.get(step.at as usize));
        if step.active != 0 && target.is_some_and(|t| has_effect(&t.step, call)) {
            self.changed = true;
            return;
        }
        let loops = self.warps.entry((grid.linear(block.index), warp));
        let loops = loops.or_default();
        let mask = step.mask;
        // Lanes that join others, or only some of them, are not in the same loop any more.
        loops.retain(|one| mask & !one.lanes == 0 || mask & one.lanes == 0);
        let here = (step.call, step.function, step.at);
        match loops.iter_mut().find(|one| one.lanes == mask) {
            Some(own) => own.arrive(grid, step, call),
            None => loops.push(Loop::new(mask, here, call.depth)),
        }
        for one in loops.iter_mut().filter(|one| mask & !one.lanes == 0) {
            one.steps.insert((step.function, step.at));
        }
    }

    fn stepped(&mut self, grid: &Grid<'_>, block: &Block, warp: &Warp, _: Stepped, _: After) {
        if !self.looks() {
            return;
        }
        let now = |&(memory, lane, at, _): &(Memory, usize, u64, Option<u8>)| {
            byte(grid, block, warp, (memory, lane, at))
        };
        let changed = |one| now(one) != one.3 || one.3.is_none();
        self.changed = self.written.iter().any(changed);
        self.written.clear();
    }

    fn access(&mut self, of: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        if !self.looks() || touch.lanes == 0 {
            return touch.lanes;
        }
        if touch.usage != Use::Write {
            self.read(of, touch);
        }
        if touch.usage != Use::Read {
            if of.by_byte {
                // Actions that write are not followed.
                self.changed = true;
                return touch.lanes;
            }
            for lane in lanes(touch.lanes) {
                for at in (0..touch.bytes).map(|at| touch.at[lane].wrapping_add(at)) {
                    let old = byte(of.grid, of.block, of.warp, (touch.memory, lane, at));
                    self.written.push((touch.memory, lane, at, old));
                }
            }
        }
        touch.lanes
    }

    fn act(&mut self, of: &Execution<'_>, act: &Act) {
        if !self.looks() {
            return;
        }
        let groups = &of.warp.groups.all;
        let meets = groups.iter().any(|g| matches!(g.state, State::Lanes(_)));
        let exchanges = matches!(
            act.action,
            Action::Shuffle
                | Action::Vote
                | Action::Match
                | Action::WarpReduce
                | Action::Elect
                | Action::WarpBarrier
        );
        // Which lanes are together depends on the order of the groups.
        let alone = act.action != Action::ActiveLanes || groups.len() == 1;
        self.changed |= !is_pure(act.action) || exchanges && meets || !alone;
    }

    fn acted(&mut self, _: &Execution<'_>, act: &Act, waits: bool) {
        self.changed |= self.enabled && waits && act.action != Action::BarrierSync;
    }

    fn mbarrier(&mut self, of: &Execution<'_>, on: &OnMbarrier) -> bool {
        if !self.looks() {
            return true;
        }
        match on.action {
            Action::MbarrierTest | Action::MbarrierWait => {
                let poll = Poll {
                    function: of.id,
                    at: of.at,
                    memory: Memory::Shared(on.rank),
                    address: on.at,
                    bytes: 8,
                    is_mbarrier: true,
                };
                self.add(of, poll);
            }
            _ => self.changed = true,
        }
        true
    }

    fn mbarrier_phase(&mut self, _: &Execution<'_>, _: &OnMbarrier, _: bool) {}

    fn called(&mut self, _: &Execution<'_>) {}

    fn allocated(&mut self, _: u64, _: u64) {
        self.changed = true;
    }

    fn freed(&mut self, _: &Execution<'_>, _: usize, _: u64) {
        self.changed = true;
    }

    fn failed(&mut self, _: &Execution<'_>, _: &Failed) -> bool {
        self.changed = true;
        false
    }

    fn barrier(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp], _: u32) {
        self.completed = true;
    }

    fn cluster_barrier(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp]) {
        self.changed = true;
    }

    fn stuck(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp]) {}

    fn ended(&mut self, _: &Grid<'_>, _: &Block) {}

    fn finish(self: Box<Self>) -> Observed {
        Observed::default()
    }

    fn probe(&mut self) -> Option<&mut Probe> {
        Some(self)
    }
}

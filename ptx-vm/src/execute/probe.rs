//! An observer that finds out whether threads repeat a loop for ever.
//!
//! Lanes repeat a loop if they come to an instruction twice with the same values of all registers that decide where they go, what they access and what
//! others can see, and nothing else changed in between: no memory, no mbarrier object, no other thread ended. What they do depends on nothing else, so
//! they do the same until something changes. If all lanes of a launch that do not wait at a barrier repeat a loop, and nothing changed since the first of
//! them began to, nothing changes any more.
//!
//! Memory that only the lanes of a loop access may change, if looking takes time ([`ProbeEffort::Thorough`]): it is compared like registers. Barriers only
//! decide when threads go on. A reduction at a barrier has the same result each time if the same lanes bring the same predicates to it.

use core::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ptx_ir::FuncId;
use ptx_isa::Action;

use super::barriers::reduction;
use super::block::Block;
use super::cells::{Cell, Cells, LaneSet, value};
use super::execution::{Execution, Failed};
use super::grid::Grid;
use super::groups::{After, CallFrame, Group, State, Stepped};
use super::location::Memory;
use super::observer::{Observer, OnMbarrier};
use super::repeated_loop::{Loop, Poll};
use super::touch::{Touch, Use};
use super::warp::Warp;
use crate::lanes::{LANES, lanes};
use crate::program::{Act, Callee, MALLOC, Step};

/// The bytes that the steps of a look may write at most for each access of a lane.
const LARGEST_WRITE: u64 = 1 << 12;

/// The effort of a look.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) enum ProbeEffort {
    /// Any change of memory ends the look.
    #[default]
    Quick,
    /// Changes of memory that only one loop accesses are followed.
    Thorough,
}

/// A warp, by its CTA and its first thread.
type Key = (u64, u32);

/// Bytes of a word that the current step may change.
#[derive(Copy, Clone, Debug)]
struct PendingWrite {
    memory: Memory,
    lane: usize,
    cell: Cell,
    before: u32,
}

/// Lanes that take part in a reduction at a barrier: their instruction, and the lanes whose predicate is true.
type Reducing = BTreeMap<(u32, u32), (FuncId, u32, u32)>;

/// The events at a barrier of a CTA during a look.
#[derive(Debug, Default)]
struct SeenBarrier {
    /// Threads arrived without waiting, or those that waited went on.
    is_completed: bool,
    /// The lanes that came to it: the first thread of their warp, and their mask.
    users: BTreeSet<(u32, u32)>,
    /// The lanes that took part in the first reduction; `None` if there was none.
    reducing: Option<Reducing>,
}

/// The state of the observer.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    pub(super) is_enabled: bool,
    effort: ProbeEffort,
    /// Something changed.
    pub(super) changed: bool,
    /// A loop reads memory that other clusters have as well.
    pub(super) reads_global: bool,
    warps: HashMap<Key, Vec<Loop>>,
    cells: Cells,
    /// The words that the current step may change.
    pending: Vec<PendingWrite>,
    /// By the CTA and the number of the barrier.
    barriers: HashMap<(u64, u32), SeenBarrier>,
    /// The clusters in which threads arrived at the barrier of the cluster.
    clusters: HashSet<[u32; 3]>,
}

/// Whether an action changes nothing but registers, and tells other threads nothing. Barriers decide only when threads go on: if all of them repeat loops,
/// it does not matter.
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
            | Action::BarrierArrive
            | Action::BarrierReduce
            | Action::ClusterArrive
            | Action::ClusterWait
            | Action::MbarrierTest
            | Action::MbarrierWait
            | Action::MbarrierPending
            | Action::StackSave
            | Action::StackRestore
            | Action::StackAllocate
    )
}

/// Whether the accesses of an action to memory are seen, and it has no other effects.
const fn is_seen(action: Action) -> bool {
    matches!(
        action,
        Action::CopyAsync
            | Action::BulkCopy
            | Action::StoreBulk
            | Action::MatrixLoad
            | Action::MatrixStore
            | Action::MatrixTranspose
            | Action::MatrixMultiply
            | Action::FragmentLoad
            | Action::FragmentStore
    )
}

impl Probe {
    /// The probe that is an observer, or a part of it.
    pub(super) fn of_observer(observer: &mut dyn Observer) -> Option<&mut Self> {
        observer.part(TypeId::of::<Self>())?.downcast_mut()
    }

    /// Begins to look.
    pub(super) fn start(&mut self, effort: ProbeEffort) {
        *self = Self {
            is_enabled: true,
            effort,
            ..Self::default()
        };
    }

    const fn looks(&self) -> bool {
        self.is_enabled && !self.changed
    }

    /// Whether all lanes of a warp that have not ended wait at barriers or repeat loops, or some repeat a loop that reads nothing: that never ends,
    /// and lanes that come after it in the code do not run before. Lanes at a barrier that may be completed again have to repeat loops.
    pub(super) fn covers(&self, grid: &Grid<'_>, block: &Block, warp: &Warp) -> bool {
        let linear = grid.linear(block.index);
        let loops = self.warps.get(&(linear, warp.first));
        let mut repeating = 0;
        let mut is_endless = false;
        for repeated in loops.into_iter().flatten().filter(|one| one.repeats()) {
            repeating |= repeated.lanes.2;
            is_endless |= repeated.is_endless();
        }
        let cluster_goes_on = self.clusters.contains(&block.cluster);
        let goes_on = |group: &&Group| match group.state {
            State::Ready => true,
            State::Barrier(id) => self.is_completed(linear, id),
            State::Cluster => cluster_goes_on,
            State::Lanes(_) | State::Matrix => false,
        };
        let ready = warp.groups.all.iter().filter(goes_on);
        let ready = ready.fold(0, |all, group| all | group.mask);
        let meets_others = cluster_goes_on
            || self
                .barriers
                .iter()
                .any(|((block, _), barrier)| *block == linear && barrier.is_completed);
        is_endless && !meets_others || ready & !repeating == 0
    }

    fn is_completed(&self, block: u64, id: u32) -> bool {
        let barrier = self.barriers.get(&(block, id));
        barrier.is_some_and(|barrier| barrier.is_completed)
    }

    /// The loop that lanes of a warp repeat; `None` if they do not.
    pub(super) fn repeated_loop(&self, block: u64, warp: u32, mask: u32) -> Option<&Loop> {
        let loops = self.warps.get(&(block, warp))?.iter();
        let mut repeated = loops.filter(|one| one.repeats() && mask & !one.lanes.2 == 0);
        repeated.next()
    }

    /// The loops that the lanes of a step are in.
    fn loops_of(&mut self, execution: &Execution<'_>) -> impl Iterator<Item = &mut Loop> {
        let key = (
            execution.grid.linear(execution.block.index),
            execution.warp.first,
        );
        let mask = execution.mask;
        let loops = self.warps.get_mut(&key).into_iter().flatten();
        loops.filter(move |one| mask & !one.lanes.2 == 0)
    }

    fn read(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) {
        let (Memory::Global | Memory::Shared(_)) = touch.memory else {
            return;
        };
        self.reads_global |= touch.memory == Memory::Global;
        let lane = touch.lanes.trailing_zeros() as usize % LANES;
        let poll = Poll {
            function: execution.id,
            at: execution.at,
            memory: touch.memory,
            address: touch.at[lane],
            bytes: touch.bytes,
            is_mbarrier: false,
        };
        let range = (touch.at[lane], 1);
        let cell =
            Cell::of_access(execution.grid, execution.block, (touch.memory, 0), range).next();
        self.loops_of(execution)
            .for_each(|one| one.add_poll(poll, cell));
    }

    /// Follows the words that lanes access.
    fn follow(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) {
        if touch.usage == Use::Read && self.effort == ProbeEffort::Quick {
            return;
        }
        if touch.bytes > LARGEST_WRITE {
            self.changed = true;
            return;
        }
        for lane in lanes(touch.lanes) {
            let place = (touch.memory, execution.warp.first + lane as u32);
            let range = (touch.at[lane], touch.bytes);
            for cell in Cell::of_access(execution.grid, execution.block, place, range) {
                if self.effort == ProbeEffort::Thorough
                    && !self.follow_cell(execution, cell, touch.usage)
                {
                    self.changed = true;
                    return;
                }
                if touch.usage != Use::Read {
                    self.expect_write(execution, (touch.memory, lane, cell));
                }
            }
        }
    }

    /// Follows a word that lanes access. Gives whether it is still as private as loops rely on.
    fn follow_cell(&mut self, execution: &Execution<'_>, cell: Cell, usage: Use) -> bool {
        let user: LaneSet = (
            execution.grid.linear(execution.block.index),
            execution.warp.first,
            execution.mask,
        );
        let step = (execution.id, execution.at);
        for one in self.loops_of(execution).filter(|one| !one.repeats()) {
            if usage != Use::Write {
                one.trace.reads.insert((step, cell));
            }
            if usage != Use::Read {
                one.trace.writes.insert((step, cell));
            }
        }
        self.cells.access(cell, user)
    }

    /// The step may change a word.
    fn expect_write(
        &mut self,
        execution: &Execution<'_>,
        (memory, lane, cell): (Memory, usize, Cell),
    ) {
        let before = value(
            execution.grid,
            execution.block,
            execution.warp,
            (memory, lane, cell),
        );
        if self
            .pending
            .iter()
            .rev()
            .take(LANES)
            .any(|write| write.cell == cell)
        {
            return;
        }
        self.pending.push(PendingWrite {
            memory,
            lane,
            cell,
            before,
        });
    }

    /// Lanes come to a barrier.
    fn arrive_at_barrier(&mut self, execution: &Execution<'_>, act: &Act) {
        let Some((id, _)) = execution.barrier_operands(act) else {
            return;
        };
        let block = execution.grid.linear(execution.block.index);
        let barrier = self.barriers.entry((block, id)).or_default();
        let is_new = barrier
            .users
            .insert((execution.warp.first, execution.active));
        self.changed |= is_new && barrier.reducing.is_some();
        barrier.is_completed |= act.action == Action::BarrierArrive;
    }
}

/// Whether lanes of the warp wait for those that perform an action.
fn meets_waiting_lanes(execution: &Execution<'_>, act: &Act) -> bool {
    let is_of_matrix = matches!(
        act.action,
        Action::MatrixLoad
            | Action::MatrixStore
            | Action::MatrixTranspose
            | Action::MatrixMultiply
            | Action::FragmentLoad
            | Action::FragmentStore
    );
    let masks = match act.action {
        Action::Shuffle
        | Action::Vote
        | Action::Match
        | Action::WarpReduce
        | Action::Elect
        | Action::WarpBarrier => act
            .member_mask()
            .map(|mask| execution.warp.values(execution.call, mask)),
        _ => None,
    };
    execution
        .warp
        .groups
        .all
        .iter()
        .any(|group| match group.state {
            State::Matrix => is_of_matrix,
            State::Lanes(waiting) => masks.as_ref().is_some_and(|masks| {
                lanes(execution.active).any(|lane| masks[lane] as u32 == waiting)
            }),
            _ => false,
        })
}

/// The lanes that wait at a barrier; `None` if there is no reduction.
fn reducing(grid: &Grid<'_>, warps: &[Warp], id: u32) -> Option<Reducing> {
    let mut all = Reducing::new();
    let mut reduces = false;
    for warp in warps {
        for group in warp
            .groups
            .all
            .iter()
            .filter(|g| g.state == State::Barrier(id))
        {
            let call = warp.groups.calls.get(group.call)?.as_ref()?;
            let source = reduction(warp, group.call, group.at, grid);
            reduces |= source.is_some();
            let predicates = source.map_or(0, |(_, source)| {
                let holds = |lane: &usize| warp.get(group.call, source, *lane) != 0;
                let holding = lanes(group.mask).filter(holds);
                holding.fold(0, |all, lane| all | 1 << lane)
            });
            let instruction = (call.function, group.at, predicates);
            all.insert((warp.first, group.mask), instruction);
        }
    }
    reduces.then_some(all)
}

/// Whether a step has effects that an observer of accesses and actions does not see.
fn has_effect(step: &Step, call: &CallFrame) -> bool {
    match step {
        Step::Exit | Step::Trap | Step::Unsupported(_) => true,
        Step::Return => call.caller.is_none(),
        // The observer sees what is allocated.
        Step::Call(call) => matches!(&call.callee, Callee::System(name) if **name != *MALLOC),
        _ => false,
    }
}

impl Observer for Probe {
    fn step(&mut self, grid: &Grid<'_>, block: &Block, warp: u32, step: Stepped, call: &CallFrame) {
        if !self.looks() {
            return;
        }
        self.pending.clear();
        let function = grid.program.function(step.function);
        let target = function.and_then(|f| f.steps.get(step.at as usize));
        if step.active != 0 && target.is_some_and(|t| has_effect(&t.step, call)) {
            self.changed = true;
            return;
        }
        let linear = grid.linear(block.index);
        let loops = self.warps.entry((linear, warp)).or_default();
        let mask = step.mask;
        // Lanes that join others, or only some of them, are not in the same loop any more.
        loops.retain(|one| mask & !one.lanes.2 == 0 || mask & one.lanes.2 == 0);
        let place = (step.call, step.function, step.at);
        match loops.iter_mut().find(|one| one.lanes.2 == mask) {
            Some(repeated) => {
                self.changed |= !repeated.arrive(grid, &mut self.cells, step, call);
            }
            None => loops.push(Loop::new((linear, warp, mask), place, call.depth)),
        }
        let containing = loops.iter_mut().filter(|one| mask & !one.lanes.2 == 0);
        for repeated in containing.filter(|one| !one.repeats()) {
            repeated.trace.steps.insert((step.function, step.at));
        }
    }

    fn stepped(&mut self, grid: &Grid<'_>, block: &Block, warp: &Warp, step: Stepped, _: After) {
        if !self.looks() {
            return;
        }
        let user = (grid.linear(block.index), warp.first, step.mask);
        for write in core::mem::take(&mut self.pending) {
            let place = (write.memory, write.lane, write.cell);
            let now = value(grid, block, warp, place);
            let is_private =
                self.effort == ProbeEffort::Thorough && self.cells.is_only_user(write.cell, user);
            if now != write.before && !(is_private && self.cells.make_private(write.cell)) {
                self.changed = true;
                return;
            }
            let loops = self.warps.get_mut(&(user.0, user.1)).into_iter().flatten();
            for one in loops.filter(|one| step.mask & !one.lanes.2 == 0) {
                one.write(write.cell, (write.before, now));
            }
        }
    }

    fn access(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        if !self.looks() || touch.lanes == 0 {
            return touch.lanes;
        }
        if touch.usage != Use::Write {
            self.read(execution, touch);
        }
        self.follow(execution, touch);
        touch.lanes
    }

    fn act(&mut self, execution: &Execution<'_>, act: &Act) {
        if !self.looks() {
            return;
        }
        match act.action {
            Action::BarrierSync | Action::BarrierArrive | Action::BarrierReduce => {
                self.arrive_at_barrier(execution, act);
            }
            Action::ClusterArrive => {
                self.clusters.insert(execution.block.cluster);
            }
            _ => {}
        }
        // Which lanes are together depends on the order of the groups.
        let alone = act.action != Action::ActiveLanes || execution.warp.groups.all.len() == 1;
        let is_recognized = is_pure(act.action) || is_seen(act.action);
        self.changed |= !is_recognized || !alone || meets_waiting_lanes(execution, act);
    }

    fn acted(&mut self, _: &Execution<'_>, act: &Act, waits: bool) {
        let at_barrier = matches!(
            act.action,
            Action::BarrierSync | Action::BarrierReduce | Action::ClusterWait
        );
        self.changed |= self.is_enabled && waits && !at_barrier;
    }

    fn mbarrier(&mut self, execution: &Execution<'_>, on: &OnMbarrier) -> bool {
        if !self.looks() {
            return true;
        }
        match on.action {
            Action::MbarrierTest | Action::MbarrierWait => {
                let poll = Poll {
                    function: execution.id,
                    at: execution.at,
                    memory: Memory::Shared(on.rank),
                    address: on.at,
                    bytes: 8,
                    is_mbarrier: true,
                };
                self.loops_of(execution)
                    .for_each(|one| one.add_poll(poll, None));
            }
            _ => self.changed = true,
        }
        true
    }

    fn mbarrier_phase(&mut self, _: &Execution<'_>, _: &OnMbarrier, _: bool) {}

    fn called(&mut self, execution: &Execution<'_>) {
        if !self.looks() {
            return;
        }
        let step = (execution.id, execution.at);
        let callees: Vec<FuncId> = execution
            .callees()
            .filter_map(|(call, _)| Some(execution.call_frame(call)?.function))
            .collect();
        for one in self.loops_of(execution) {
            let called = callees.iter().map(|callee| (step, *callee));
            one.trace.callees.extend(called);
        }
    }

    fn allocated(&mut self, start: u64, _: u64) {
        // Without memory, nothing changes.
        self.changed |= start != 0;
    }

    fn freed(&mut self, _: &Execution<'_>, _: usize, _: u64) {
        self.changed = true;
    }

    fn failed(&mut self, _: &Execution<'_>, _: &Failed) -> bool {
        self.changed = true;
        false
    }

    fn barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp], id: u32) {
        if !self.looks() {
            return;
        }
        let linear = grid.linear(block.index);
        let barrier = self.barriers.entry((linear, id)).or_default();
        barrier.is_completed = true;
        let Some(reducing) = reducing(grid, warps, id) else {
            return;
        };
        let are_all = reducing.keys().eq(barrier.users.iter());
        match &barrier.reducing {
            Some(first) => self.changed |= *first != reducing,
            None => barrier.reducing = Some(reducing),
        }
        self.changed |= !are_all;
    }

    fn cluster_barrier(&mut self, _: &Grid<'_>, block: &Block, _: &[Warp]) {
        self.clusters.insert(block.cluster);
    }

    fn stuck(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp]) {}

    fn ended(&mut self, _: &Grid<'_>, _: &Block) {}

    fn part(&mut self, wanted: TypeId) -> Option<&mut dyn Any> {
        (wanted == TypeId::of::<Self>()).then_some(self)
    }
}

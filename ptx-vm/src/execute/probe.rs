//! An observer that determines whether threads repeat a loop for ever.
//!
//! Lanes repeat a loop if they come to an instruction twice with the same values of all registers that decide their branches, their addresses and the
//! values that other threads see, and nothing else changed in between: no memory, no mbarrier object, no other thread ended. Their steps depend on
//! nothing else, so they repeat these steps until something changes. If all lanes of a launch that do not wait at a barrier repeat a loop, and nothing
//! changed since the first of them began to repeat, nothing changes any more.
//!
//! With [`ProbeEffort::Thorough`], memory that only the lanes of a loop access may change: it is compared like registers. Barriers only
//! decide when threads go on. A reduction at a barrier has the same result each time if the same lanes bring the same predicates to it.

use core::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ptx_ir::FuncId;
use ptx_isa::Action;

use super::actions::BarrierOperands;
use super::barriers::reduction;
use super::block::Block;
use super::cells::{Cell, Cells, LaneSet, value};
use super::effects::{has_effect, has_observed_effects, is_pure};
use super::execution::{Execution, Failed};
use super::grid::Grid;
use super::groups::{CallFrame, LaneOutcome, LaneStep, State};
use super::location::Memory;
use super::matrix::is_matrix_action;
use super::observer::{MbarrierOperation, Observer, PhaseEvent};
use super::repeated_loop::{Loop, Poll};
use super::touch::{Touch, Use};
use super::warp::Warp;
use crate::lanes::{LANES, lanes};
use crate::program::Act;

/// The maximum number of bytes of an access of a lane during a look.
const LARGEST_WRITE: u64 = 1 << 12;

/// The effort of a look.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) enum ProbeEffort {
    /// Any change of memory ends the look.
    #[default]
    Quick,
    /// Changes of memory that only one loop accesses are compared.
    Thorough,
}

/// A warp: the linear index of its CTA, and its first thread.
type WarpKey = (u64, u32);

/// A word that the current step may change.
#[derive(Copy, Clone, Debug)]
struct PendingWrite {
    memory: Memory,
    lane: usize,
    cell: Cell,
    /// The value before the step.
    old_value: u32,
}

/// The participants of a reduction at a barrier: for lanes of a warp, given by its first thread and a mask, the instruction, and the lanes whose
/// predicate is true.
type Reducing = BTreeMap<(u32, u32), (FuncId, u32, u32)>;

/// The events at a barrier of a CTA during a look.
#[derive(Debug, Default)]
struct SeenBarrier {
    /// Threads arrived without waiting, or waiting threads went on.
    is_completed: bool,
    /// The lanes that arrived: the first thread of their warp, and their mask.
    users: BTreeSet<(u32, u32)>,
    /// The participants of the first reduction; `None` without a reduction.
    reducing: Option<Reducing>,
}

/// The observer. It does nothing unless a look is in progress.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    pub(super) is_enabled: bool,
    effort: ProbeEffort,
    /// Something changed during the look.
    pub(super) changed: bool,
    /// A loop reads global memory, which other clusters may change.
    pub(super) reads_global: bool,
    /// The loops of the lanes of each warp.
    warps: HashMap<WarpKey, Vec<Loop>>,
    cells: Cells,
    /// The words that the current step may change.
    pending: Vec<PendingWrite>,
    /// The barriers, by the CTA and the number of the barrier.
    barriers: HashMap<(u64, u32), SeenBarrier>,
    /// The clusters in which threads arrived at the barrier of the cluster.
    clusters: HashSet<[u32; 3]>,
}

impl Probe {
    /// The probe that is an observer, or a part of it.
    pub(super) fn of_observer(observer: &mut dyn Observer) -> Option<&mut Self> {
        observer.part(TypeId::of::<Self>())?.downcast_mut()
    }

    /// Begins a look.
    pub(super) fn start(&mut self, effort: ProbeEffort) {
        *self = Self {
            is_enabled: true,
            effort,
            ..Self::default()
        };
    }

    /// Whether a look is in progress and nothing has changed yet.
    const fn is_looking(&self) -> bool {
        self.is_enabled && !self.changed
    }

    /// Whether all lanes of a warp that have not ended wait at barriers or repeat loops, or some lanes repeat a loop that reads nothing: it never ends,
    /// and lanes that are after it in the code do not run. Lanes at a barrier that may be completed again have to repeat loops.
    pub(super) fn covers(&self, grid: &Grid<'_>, block: &Block, warp: &Warp) -> bool {
        let linear = grid.linear(block.index);
        let loops = self.warps.get(&(linear, warp.first));
        let mut repeating = 0;
        let mut is_endless = false;
        for repeated in loops.into_iter().flatten().filter(|l| l.repeats()) {
            repeating |= repeated.lanes.mask;
            is_endless |= repeated.is_endless();
        }
        let cluster_goes_on = self.clusters.contains(&block.cluster);
        let running = warp
            .groups
            .all
            .iter()
            .filter(|group| match group.state {
                State::Ready => true,
                State::Barrier(id) => self.is_completed(linear, id),
                State::Cluster => cluster_goes_on,
                State::Lanes(_)
                | State::Matrix
                | State::TensorColumns
                | State::Warpgroup
                | State::OtherGrid => false,
            })
            .fold(0, |mask, group| mask | group.mask);
        let meets_others = cluster_goes_on
            || self
                .barriers
                .iter()
                .any(|((block, _), barrier)| *block == linear && barrier.is_completed);
        is_endless && !meets_others || running & !repeating == 0
    }

    fn is_completed(&self, block: u64, id: u32) -> bool {
        let barrier = self.barriers.get(&(block, id));
        barrier.is_some_and(|barrier| barrier.is_completed)
    }

    /// The loop that lanes of a warp repeat; `None` if they do not.
    pub(super) fn repeated_loop(&self, block: u64, warp: u32, mask: u32) -> Option<&Loop> {
        self.warps
            .get(&(block, warp))?
            .iter()
            .find(|l| l.repeats() && l.lanes.contains(mask))
    }

    /// The loops that contain the lanes of a step.
    fn loops_of(&mut self, execution: &Execution<'_>) -> impl Iterator<Item = &mut Loop> {
        let key = (
            execution.grid.linear(execution.block.index),
            execution.warp.first,
        );
        let mask = execution.mask;
        self.warps
            .get_mut(&key)
            .into_iter()
            .flatten()
            .filter(move |l| l.lanes.contains(mask))
    }

    /// Records a read of lanes, whose value may end their loops.
    fn record_read(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) {
        let (Memory::Global | Memory::Shared(_)) = touch.memory else {
            return;
        };
        self.reads_global |= touch.memory == Memory::Global;
        let lane = touch.lanes.trailing_zeros() as usize % LANES;
        let poll = Poll {
            function: execution.function_id,
            step_index: execution.step_index,
            memory: touch.memory,
            address: touch.addresses[lane],
            bytes: touch.bytes,
            is_mbarrier: false,
        };
        let cell = Cell::of_access(
            execution.grid,
            execution.block,
            0,
            touch.memory,
            touch.addresses[lane],
            1,
        )
        .next();
        for containing_loop in self.loops_of(execution) {
            containing_loop.add_poll(poll, cell);
        }
    }

    /// Records the words that lanes access.
    fn record_words(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) {
        if touch.usage == Use::Read && self.effort == ProbeEffort::Quick {
            return;
        }
        if touch.bytes > LARGEST_WRITE {
            self.changed = true;
            return;
        }
        for lane in lanes(touch.lanes) {
            let thread = execution.warp.first + lane as u32;
            for cell in Cell::of_access(
                execution.grid,
                execution.block,
                thread,
                touch.memory,
                touch.addresses[lane],
                touch.bytes,
            ) {
                if self.effort == ProbeEffort::Thorough
                    && !self.record_word(execution, cell, touch.usage)
                {
                    self.changed = true;
                    return;
                }
                if touch.usage != Use::Read {
                    self.expect_write(execution, lane, touch.memory, cell);
                }
            }
        }
    }

    /// Records an access of lanes to a word. Returns false if the word is private to other lanes.
    fn record_word(&mut self, execution: &Execution<'_>, cell: Cell, usage: Use) -> bool {
        let user = LaneSet {
            block: execution.grid.linear(execution.block.index),
            warp: execution.warp.first,
            mask: execution.mask,
        };
        let step = (execution.function_id, execution.step_index);
        for traced_loop in self.loops_of(execution).filter(|l| !l.repeats()) {
            if usage != Use::Write {
                traced_loop.trace.reads.insert((step, cell));
            }
            if usage != Use::Read {
                traced_loop.trace.writes.insert((step, cell));
            }
        }
        self.cells.access(cell, user)
    }

    /// Records a word that the step may change.
    fn expect_write(&mut self, execution: &Execution<'_>, lane: usize, memory: Memory, cell: Cell) {
        let recent = self.pending.iter().rev().take(LANES);
        if recent.into_iter().any(|write| write.cell == cell) {
            return;
        }
        let old_value = value(
            execution.grid,
            execution.block,
            execution.warp,
            lane,
            memory,
            cell,
        );
        self.pending.push(PendingWrite {
            memory,
            lane,
            cell,
            old_value,
        });
    }

    /// Records that lanes arrive at a barrier.
    fn arrive_at_barrier(&mut self, execution: &Execution<'_>, act: &Act) {
        let Some(BarrierOperands { id, .. }) = execution.barrier_operands(act) else {
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

/// Whether lanes of the warp wait for the lanes that perform an action.
fn meets_waiting_lanes(execution: &Execution<'_>, act: &Act) -> bool {
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
            State::Matrix => is_matrix_action(act.action),
            State::Lanes(waiting) => masks.as_ref().is_some_and(|masks| {
                lanes(execution.active).any(|lane| masks[lane] as u32 == waiting)
            }),
            _ => false,
        })
}

/// The lanes that wait at a barrier; `None` if none of them performs a reduction.
fn reducing(grid: &Grid<'_>, warps: &[Warp], id: u32) -> Option<Reducing> {
    let mut participants = Reducing::new();
    let mut has_reduction = false;
    for warp in warps {
        for group in &warp.groups.all {
            if group.state != State::Barrier(id) {
                continue;
            }
            let call = warp.groups.calls.get(group.call)?.as_ref()?;
            let reduction = reduction(warp, group, grid);
            has_reduction |= reduction.is_some();
            let true_lanes = reduction.map_or(0, |reduction| {
                lanes(group.mask)
                    .filter(|lane| warp.get(group.call, reduction.predicate, *lane) != 0)
                    .fold(0, |mask, lane| mask | 1 << lane)
            });
            participants.insert(
                (warp.first, group.mask),
                (call.function, group.step_index, true_lanes),
            );
        }
    }
    has_reduction.then_some(participants)
}

impl Observer for Probe {
    fn unobserved_steps(&self, _: FuncId, _: u32, count: u32) -> u32 {
        if self.is_looking() { 0 } else { count }
    }

    fn step(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: u32,
        step: LaneStep,
        call: &CallFrame,
    ) {
        if !self.is_looking() {
            return;
        }
        self.pending.clear();
        let function = grid.program.function(step.function);
        let target = function.and_then(|f| f.steps.get(step.index as usize));
        if step.active != 0 && target.is_some_and(|t| has_effect(&t.step, call)) {
            self.changed = true;
            return;
        }
        let linear = grid.linear(block.index);
        let loops = self.warps.entry((linear, warp)).or_default();
        let mask = step.mask;
        // Lanes that join other lanes, and lanes that are divided, are not in the same loop any more.
        loops.retain(|l| l.lanes.contains(mask) || mask & l.lanes.mask == 0);
        let place = (step.call, step.function, step.index);
        match loops.iter_mut().find(|l| l.lanes.mask == mask) {
            Some(repeated) => {
                self.changed |= !repeated.arrive(grid, &mut self.cells, step, call);
            }
            None => {
                let lanes = LaneSet {
                    block: linear,
                    warp,
                    mask,
                };
                loops.push(Loop::new(lanes, place, call.depth));
            }
        }
        for traced_loop in loops
            .iter_mut()
            .filter(|l| l.lanes.contains(mask) && !l.repeats())
        {
            traced_loop.trace.steps.insert((step.function, step.index));
        }
    }

    fn stepped(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: &Warp,
        step: LaneStep,
        _: LaneOutcome,
    ) {
        if !self.is_looking() {
            return;
        }
        let user = LaneSet {
            block: grid.linear(block.index),
            warp: warp.first,
            mask: step.mask,
        };
        for write in core::mem::take(&mut self.pending) {
            let new_value = value(grid, block, warp, write.lane, write.memory, write.cell);
            let is_private =
                self.effort == ProbeEffort::Thorough && self.cells.is_only_user(write.cell, user);
            if new_value != write.old_value && !(is_private && self.cells.make_private(write.cell))
            {
                self.changed = true;
                return;
            }
            let loops = self.warps.get_mut(&(user.block, user.warp));
            for containing_loop in loops.into_iter().flatten() {
                if containing_loop.lanes.contains(step.mask) {
                    containing_loop.record_write(write.cell, write.old_value, new_value);
                }
            }
        }
    }

    fn access(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        if !self.is_looking() || touch.lanes == 0 {
            return touch.lanes;
        }
        if touch.usage != Use::Write {
            self.record_read(execution, touch);
        }
        self.record_words(execution, touch);
        touch.lanes
    }

    fn act(&mut self, execution: &Execution<'_>, act: &Act) {
        if !self.is_looking() {
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
        // The active lanes depend on the order of the groups.
        let is_independent =
            act.action != Action::ActiveLanes || execution.warp.groups.all.len() == 1;
        let is_recognized = is_pure(act.action) || has_observed_effects(act.action);
        self.changed |= !is_recognized || !is_independent || meets_waiting_lanes(execution, act);
    }

    fn acted(&mut self, _: &Execution<'_>, act: &Act, waits: bool) {
        let waits_at_barrier = matches!(
            act.action,
            Action::BarrierSync | Action::BarrierReduce | Action::ClusterWait
        );
        self.changed |= self.is_enabled && waits && !waits_at_barrier;
    }

    fn mbarrier(&mut self, execution: &Execution<'_>, operation: &MbarrierOperation) -> bool {
        if !self.is_looking() {
            return true;
        }
        match operation.action {
            Action::MbarrierTest | Action::MbarrierWait => {
                let poll = Poll {
                    function: execution.function_id,
                    step_index: execution.step_index,
                    memory: Memory::Shared(operation.rank),
                    address: operation.offset,
                    bytes: 8,
                    is_mbarrier: true,
                };
                for containing_loop in self.loops_of(execution) {
                    containing_loop.add_poll(poll, None);
                }
            }
            _ => self.changed = true,
        }
        true
    }

    fn mbarrier_phase(&mut self, _: &Execution<'_>, _: &MbarrierOperation, _: PhaseEvent) {}

    fn called(&mut self, execution: &Execution<'_>) {
        if !self.is_looking() {
            return;
        }
        let step = (execution.function_id, execution.step_index);
        let callees: Vec<FuncId> = execution
            .callees()
            .filter_map(|(call, _)| Some(execution.call_frame(call)?.function))
            .collect();
        for containing_loop in self.loops_of(execution) {
            let calls = callees.iter().map(|callee| (step, *callee));
            containing_loop.trace.callees.extend(calls);
        }
    }

    fn allocated(&mut self, start: u64, _: u64) {
        // An allocation that fails changes nothing.
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
        if !self.is_looking() {
            return;
        }
        let linear = grid.linear(block.index);
        let barrier = self.barriers.entry((linear, id)).or_default();
        barrier.is_completed = true;
        let Some(reducing) = reducing(grid, warps, id) else {
            return;
        };
        let has_all_users = reducing.keys().eq(barrier.users.iter());
        match &barrier.reducing {
            Some(first) => self.changed |= *first != reducing,
            None => barrier.reducing = Some(reducing),
        }
        self.changed |= !has_all_users;
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

//! Pairs of accesses that may be executed one after the other without a barrier in between.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_ir::EntityId as _;
use ptx_ir::facts::{Facts, RegAccess};
use ptx_ir::raw::query::Environment;
use ptx_ir::{Operand, StmtId};
use ptx_isa::{Action, Marks, Modifier, Target};

use super::accesses::SharedAccesses;
use crate::context::FunctionContext;
use crate::divergence::is_counted;

/// The maximum number of simultaneously tracked accesses.
const MAX_PENDING: usize = 96;
/// The maximum number of passes over the blocks.
const MAX_PASSES: usize = 12;

/// An access that other threads may not have completed yet, with the path from it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct PendingAccess {
    /// Its index in [`SharedAccesses::all`].
    access: usize,
    /// It belongs to an earlier iteration of a loop that contains the current block.
    is_earlier: bool,
    /// The path contains a warp barrier.
    in_other_warps: bool,
    /// The path contains an arrival without a wait: other threads may not have reached the arrival.
    is_past_arrival: bool,
    /// The last barrier on the path whose number differs between threads.
    group: Option<StmtId>,
}

/// The barriers whose numbers differ between threads, with the numbers.
pub(super) type Groups = BTreeMap<StmtId, PerThread>;

/// Two accesses that may be executed in this order without a barrier in between.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pair {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) is_earlier: bool,
    pub(super) in_other_warps: bool,
    pub(super) group: Option<StmtId>,
    /// Both are in one block.
    pub(super) is_certain: bool,
}

/// The first target on which the lanes of a warp do not execute each instruction together.
const INDEPENDENT: Target = Target::Sm70;

/// The effect of an instruction on earlier accesses.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Effect {
    None,
    /// They are complete in all threads.
    Orders,
    /// They are complete in the threads of the warp.
    OrdersWarp,
    /// They are complete in the threads that wait at the barrier, which this thread need not do.
    Arrives,
}

/// An instruction that orders earlier accesses, or accesses shared memory.
struct Step {
    stmt: StmtId,
    effect: Effect,
    /// Its accesses, as indices in [`SharedAccesses::all`].
    accesses: Range<usize>,
}

/// The pending accesses of a function.
pub(super) struct Pending<'a, 'c> {
    cx: &'a FunctionContext<'c>,
    accesses: &'a SharedAccesses,
    groups: &'a Groups,
    /// The lanes of a warp execute each instruction together.
    is_in_lockstep: bool,
    /// The steps of each reachable block.
    steps: Vec<Vec<Step>>,
    /// The pending accesses at the start of each block, in order.
    starts: Vec<Vec<PendingAccess>>,
}

impl<'a, 'c> Pending<'a, 'c> {
    pub(super) fn new(
        cx: &'a FunctionContext<'c>,
        accesses: &'a SharedAccesses,
        groups: &'a Groups,
    ) -> Self {
        let mut pending = Self {
            cx,
            accesses,
            groups,
            is_in_lockstep: Environment::of(cx.module())
                .target()
                .is_some_and(|t| !t.implies(INDEPENDENT)),
            steps: steps(cx, accesses),
            starts: vec![Vec::new(); cx.cfg().len()],
        };
        pending.solve();
        pending
    }

    /// Propagates pending accesses along the edges. A block whose start did not change has nothing new to pass on.
    fn solve(&mut self) {
        let order: Vec<BlockId> = self.cx.analysis().dominators().order().collect();
        let mut is_changed = vec![true; self.starts.len()];
        for _ in 0..MAX_PASSES {
            let mut is_stable = true;
            for &block in &order {
                if !core::mem::take(&mut is_changed[block.index()]) {
                    continue;
                }
                let mut state = self.starts[block.index()].clone();
                for step in &self.steps[block.index()] {
                    self.apply_effect(step, &mut state);
                    add_accesses(step, &mut state);
                }
                for &successor in self.cx.cfg().successors(block) {
                    if self.arrive(block, successor, &state) {
                        is_changed[successor.index()] = true;
                        is_stable = false;
                    }
                }
            }
            if is_stable {
                break;
            }
        }
    }

    /// Adds the pending accesses of an edge. Returns whether there are new ones.
    fn arrive(&mut self, from: BlockId, to: BlockId, state: &[PendingAccess]) -> bool {
        let loops = self.cx.analysis().loops();
        let repeated_loop = loops
            .innermost(to)
            .filter(|id| loops.header(to) == Some(to) && loops.contains(*id, from));
        let start = &mut self.starts[to.index()];
        let mut has_new = false;
        for pending in state {
            let mut pending = *pending;
            // A thread that arrives usually waits for others in the next iteration.
            if pending.is_past_arrival && repeated_loop.is_some() {
                continue;
            }
            let block = self.accesses.all[pending.access].block;
            pending.is_earlier |= repeated_loop.is_some_and(|id| loops.contains(id, block));
            has_new |= insert(start, pending);
        }
        has_new
    }

    /// Calls `each` with all pairs.
    pub(super) fn pairs(&self, each: &mut dyn FnMut(Pair)) {
        for (block, start) in self.steps.iter().zip(&self.starts) {
            let mut state = start.clone();
            for step in block {
                self.apply_effect(step, &mut state);
                for second in step.accesses.clone() {
                    for pending in &state {
                        self.pair(pending, second, each);
                    }
                }
                add_accesses(step, &mut state);
            }
        }
    }

    /// Applies the effect of an instruction on earlier accesses.
    fn apply_effect(&self, step: &Step, state: &mut Vec<PendingAccess>) {
        match step.effect {
            Effect::None => {}
            Effect::Orders if self.groups.contains_key(&step.stmt) => {
                // Threads of a group are not tracked past two such barriers.
                state.retain(|pending| pending.group.is_none());
                for pending in state {
                    pending.group = Some(step.stmt);
                }
            }
            Effect::Orders => state.clear(),
            Effect::OrdersWarp => {
                for pending in &mut *state {
                    pending.in_other_warps = true;
                }
                state.sort_unstable();
                state.dedup();
            }
            Effect::Arrives => {
                for pending in &mut *state {
                    pending.is_past_arrival = true;
                }
                state.sort_unstable();
                state.dedup();
            }
        }
    }

    fn pair(&self, pending: &PendingAccess, second: usize, each: &mut dyn FnMut(Pair)) {
        let (a, b) = (
            &self.accesses.all[pending.access],
            &self.accesses.all[second],
        );
        let conflict = (a.writes || b.writes) && !(a.is_atomic && b.is_atomic);
        if !conflict || a.provenance != b.provenance {
            return;
        }
        // Volatile accesses are strong: between them, the order is not known, but there is no data race.
        let are_strong = a.is_volatile && b.is_volatile;
        let in_order = self.is_in_lockstep && are_strong;
        let is_next =
            a.block == b.block && self.cx.body().precedes(a.stmt, b.stmt) && !pending.is_earlier;
        each(Pair {
            first: pending.access,
            second,
            is_earlier: pending.is_earlier,
            in_other_warps: pending.in_other_warps || in_order,
            group: pending.group,
            is_certain: is_next && !pending.is_past_arrival && !are_strong,
        });
    }
}

/// Adds the accesses of an instruction.
fn add_accesses(step: &Step, state: &mut Vec<PendingAccess>) {
    for access in step.accesses.clone() {
        let pending = PendingAccess {
            access,
            is_earlier: false,
            in_other_warps: false,
            is_past_arrival: false,
            group: None,
        };
        insert(state, pending);
    }
}

/// Inserts a pending access in order, up to the maximum number. Returns whether it is new.
fn insert(state: &mut Vec<PendingAccess>, pending: PendingAccess) -> bool {
    match state.binary_search(&pending) {
        Err(position) if state.len() < MAX_PENDING => {
            state.insert(position, pending);
            true
        }
        _ => false,
    }
}

/// The steps of each reachable block.
fn steps(cx: &FunctionContext<'_>, accesses: &SharedAccesses) -> Vec<Vec<Step>> {
    let mut steps: Vec<Vec<Step>> = Vec::new();
    // The accesses are in the order of the blocks and statements.
    let mut next_access = 0;
    for (id, block) in cx.cfg().blocks() {
        let mut block_steps = Vec::new();
        if cx.analysis().is_reachable(id) {
            for (stmt, inst) in block.insts(cx.body()) {
                let first_access = next_access;
                while (accesses.all.get(next_access)).is_some_and(|access| access.stmt == stmt) {
                    next_access += 1;
                }
                let effect = effect(&cx.facts().inst(inst));
                if effect != Effect::None || first_access < next_access {
                    block_steps.push(Step {
                        stmt,
                        effect,
                        accesses: first_access..next_access,
                    });
                }
            }
        }
        steps.push(block_steps);
    }
    steps
}

/// The barriers for some of the threads: those whose numbers depend on the thread index, and those that other threads do not reach.
pub(super) fn groups(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    reaching: &[u128],
) -> Groups {
    let mut groups = Groups::new();
    let mut numbers: BTreeMap<i64, Vec<StmtId>> = BTreeMap::new();
    for reached in cx.instructions() {
        let action = reached.facts.action();
        let waits = matches!(action, Some(Action::BarrierSync | Action::BarrierReduce));
        if !waits && action != Some(Action::BarrierArrive) {
            continue;
        }
        let operand = reached
            .facts
            .operand(0)
            .map(|o| o.operand)
            .or(reached.facts.marked(Marks::PARTICIPANTS).next());
        if let Some(number) = operand.and_then(|o| cx.constant(reached.stmt, o)) {
            numbers.entry(number).or_default().push(reached.stmt);
        }
        if !waits || !is_counted(&reached.facts) {
            continue;
        }
        let value = operand.and_then(|o| cx.read(reached.stmt, o));
        if let Some(number @ PerThread::Each(_)) = value.and_then(|v| threads.value(v)) {
            groups.insert(reached.stmt, number);
        }
    }
    for statements in numbers.into_values() {
        // Only barriers with a unique number.
        if let [stmt] = *statements
            && let Some(number) = participants(cx, threads, reaching, stmt)
        {
            groups.insert(stmt, number);
        }
    }
    groups
}

/// For each sample thread, 0 if it reaches a barrier for a number of threads, or else another number; `None` if all or no sample threads reach it.
fn participants(
    cx: &FunctionContext<'_>,
    threads: &ThreadValues<'_>,
    reaching: &[u128],
    stmt: StmtId,
) -> Option<PerThread> {
    let facts = cx.inst_at(stmt)?;
    if !is_counted(&facts) || facts.action() == Some(Action::BarrierArrive) {
        return None;
    }
    let executing = *reaching.get(cx.cfg().of_statement(stmt)?.index())?;
    let count = threads.samples().len() as u64;
    let is_part = executing != 0 && u64::from(executing.count_ones()) < count;
    is_part.then(|| {
        let number = |sample| {
            if executing >> sample & 1 == 1 {
                0
            } else {
                sample + 1
            }
        };
        PerThread::Each((0..count).map(number).collect())
    })
}

/// The effect of an instruction on earlier accesses.
fn effect(facts: &Facts<'_>) -> Effect {
    if !facts.is_known() || facts.callees().is_some() {
        // It may wait.
        return Effect::Orders;
    }
    match facts.action() {
        Some(Action::WarpBarrier) => Effect::OrdersWarp,
        Some(Action::BarrierArrive | Action::ClusterArrive | Action::MbarrierArrive) => {
            Effect::Arrives
        }
        Some(
            Action::BarrierSync
            | Action::BarrierReduce
            | Action::ClusterWait
            | Action::MbarrierTest
            | Action::MbarrierWait
            | Action::GridDependency,
        ) => Effect::Orders,
        _ if acquires(facts) => Effect::Orders,
        _ => Effect::None,
    }
}

/// Whether an access waits for a release of another thread.
fn acquires(facts: &Facts<'_>) -> bool {
    let acquires = |order| matches!(order, Some(Modifier::Acquire | Modifier::AcqRel));
    let reads = |(_, usage): (Operand, RegAccess)| usage.writes();
    facts.memory().any(|m| m.reads() && acquires(m.order)) && facts.parts().any(reads)
}

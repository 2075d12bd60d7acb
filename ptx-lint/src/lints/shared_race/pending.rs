//! Finds the accesses that may precede others without a barrier in between.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_ir::EntityId as _;
use ptx_ir::facts::{Facts, RegAccess};
use ptx_ir::query::Environment;
use ptx_ir::{Operand, Statement, StmtId};
use ptx_isa::{Action, Marks, Modifier, Target};

use super::touch::Touches;
use crate::context::FunctionContext;
use crate::divergence::is_counted;

/// The maximum number of simultaneously tracked accesses, and of visits of blocks.
const FOLLOWED: usize = 96;
const PASSES: usize = 12;

/// The path of an access.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Way {
    touch: usize,
    /// From an earlier iteration of a loop around both.
    is_earlier: bool,
    /// Past a warp barrier.
    in_other_warps: bool,
    /// Past an arrival without a wait: other threads may not have come there.
    is_past_arrival: bool,
    /// Past a barrier whose number differs between threads.
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
    /// Whether both are in one block.
    pub(super) is_certain: bool,
}

/// The first target on which the lanes of a warp do not execute each instruction together.
const INDEPENDENT: Target = Target::Sm70;

/// The effect of an instruction on earlier accesses.
enum Effect {
    None,
    /// They are complete in all threads.
    Orders,
    /// They are complete in the threads of the warp.
    OrdersWarp,
    /// They are complete in the threads that wait at the barrier, which this one need not do.
    Arrives,
}

pub(super) struct Pending<'a, 'c> {
    cx: &'a FunctionContext<'c>,
    touches: &'a Touches,
    groups: &'a Groups,
    /// Whether the lanes of a warp execute each instruction together.
    is_in_lockstep: bool,
    /// The pending accesses at the start of each block.
    starts: Vec<Vec<Way>>,
}

impl<'a, 'c> Pending<'a, 'c> {
    pub(super) fn new(
        cx: &'a FunctionContext<'c>,
        touches: &'a Touches,
        groups: &'a Groups,
    ) -> Self {
        let mut pending = Self {
            cx,
            touches,
            groups,
            is_in_lockstep: Environment::of(cx.module())
                .target()
                .is_some_and(|t| !t.implies(INDEPENDENT)),
            starts: vec![Vec::new(); cx.cfg().len()],
        };
        let order: Vec<BlockId> = cx.analysis().dominators().order().collect();
        for _ in 0..PASSES {
            let mut changed = false;
            for &block in &order {
                let mut state = pending.starts[block.index()].clone();
                pending.walk(block, &mut state, &mut |_| {});
                for to in cx.cfg().successors(block) {
                    changed |= pending.arrive(block, *to, &state);
                }
            }
            if !changed {
                break;
            }
        }
        pending
    }

    /// Adds the pending accesses of an edge; returns whether there are new ones.
    fn arrive(&mut self, from: BlockId, to: BlockId, state: &[Way]) -> bool {
        let loops = self.cx.analysis().loops();
        let around = loops.innermost(to).filter(|_| loops.header(to) == Some(to));
        let around = around.filter(|id| loops.contains(*id, from));
        let mut changed = false;
        for way in state {
            let mut way = *way;
            // A thread that arrives usually waits for others in the next iteration.
            if way.is_past_arrival && around.is_some() {
                continue;
            }
            let block = self.touches.all[way.touch].block;
            way.is_earlier |= around.is_some_and(|id| loops.contains(id, block));
            let start = &mut self.starts[to.index()];
            if let Err(at) = start.binary_search(&way)
                && start.len() < FOLLOWED
            {
                start.insert(at, way);
                changed = true;
            }
        }
        changed
    }

    /// Calls `each` with all pairs.
    pub(super) fn pairs(&self, each: &mut dyn FnMut(Pair)) {
        for (id, _) in self.cx.cfg().blocks() {
            if self.cx.analysis().is_reachable(id) {
                let mut state = self.starts[id.index()].clone();
                self.walk(id, &mut state, each);
            }
        }
    }

    /// Processes the statements of a block.
    fn walk(&self, block: BlockId, state: &mut Vec<Way>, each: &mut dyn FnMut(Pair)) {
        let Some(of) = self.cx.cfg().block(block) else {
            return;
        };
        for (stmt, statement) in self.cx.body().range(of.first, of.end) {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            match effect(&self.cx.facts().inst(inst)) {
                Effect::None => {}
                Effect::Orders if self.groups.contains_key(&stmt) => {
                    // Threads of a group are not tracked past two such barriers.
                    state.retain(|way| way.group.is_none());
                    state.iter_mut().for_each(|way| way.group = Some(stmt));
                }
                Effect::Orders => state.clear(),
                Effect::OrdersWarp => {
                    state.iter_mut().for_each(|way| way.in_other_warps = true);
                    state.sort_unstable();
                    state.dedup();
                }
                Effect::Arrives => {
                    state.iter_mut().for_each(|way| way.is_past_arrival = true);
                    state.sort_unstable();
                    state.dedup();
                }
            }
            for &second in self.touches.of.get(&stmt).into_iter().flatten() {
                for way in state.iter() {
                    self.pair(way, second, each);
                }
            }
            for &touch in self.touches.of.get(&stmt).into_iter().flatten() {
                let way = Way {
                    touch,
                    is_earlier: false,
                    in_other_warps: false,
                    is_past_arrival: false,
                    group: None,
                };
                if let Err(at) = state.binary_search(&way)
                    && state.len() < FOLLOWED
                {
                    state.insert(at, way);
                }
            }
        }
    }

    fn pair(&self, way: &Way, second: usize, each: &mut dyn FnMut(Pair)) {
        let (a, b) = (&self.touches.all[way.touch], &self.touches.all[second]);
        let conflict = (a.writes || b.writes) && !(a.is_atomic && b.is_atomic);
        // Volatile accesses are strong: between them, the order is not known, but there is no data race.
        let are_strong = a.is_volatile && b.is_volatile;
        let in_order = self.is_in_lockstep && are_strong;
        if conflict && a.provenance == b.provenance {
            let is_next =
                a.block == b.block && self.cx.body().precedes(a.stmt, b.stmt) && !way.is_earlier;
            each(Pair {
                first: way.touch,
                second,
                is_earlier: way.is_earlier,
                in_other_warps: way.in_other_warps || in_order,
                group: way.group,
                is_certain: is_next && !way.is_past_arrival && !are_strong,
            });
        }
    }
}

/// The barriers for some of the threads: those whose numbers depend on the thread index, and those that other threads do not reach.
pub(super) fn groups(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    sets: &[u128],
) -> Groups {
    let mut groups = Groups::new();
    let mut numbers: BTreeMap<i64, Vec<StmtId>> = BTreeMap::new();
    for at in cx.instructions() {
        let arrives = at.facts.action() == Some(Action::BarrierArrive);
        let waits = matches!(
            at.facts.action(),
            Some(Action::BarrierSync | Action::BarrierReduce)
        );
        let operand = at
            .facts
            .operand(0)
            .map(|o| o.operand)
            .or(at.facts.marked(Marks::PARTICIPANTS).next());
        if let Some(number) = operand
            .and_then(|o| cx.constant(at.stmt, o))
            .filter(|_| waits || arrives)
        {
            numbers.entry(number).or_default().push(at.stmt);
        }
        if !waits || !is_counted(&at.facts) {
            continue;
        }
        let value = operand.and_then(|o| cx.read(at.stmt, o));
        if let Some(number @ PerThread::Each(_)) = value.and_then(|v| threads.value(v)) {
            groups.insert(at.stmt, number);
        }
    }
    // Barriers with a unique number.
    for stmt in numbers
        .into_values()
        .filter_map(|all| <[StmtId; 1]>::try_from(all).ok())
    {
        let [stmt] = stmt;
        let is_some = cx
            .inst_at(stmt)
            .is_some_and(|f| is_counted(&f) && f.action() != Some(Action::BarrierArrive));
        let block = cx.cfg().of_statement(stmt).filter(|_| is_some);
        let set = block
            .and_then(|block| sets.get(block.index()).copied())
            .unwrap_or(0);
        let count = threads.samples().len() as u64;
        if set != 0 && u64::from(set.count_ones()) < count {
            let number = |sample: u64| {
                if set >> sample & 1 == 1 {
                    0
                } else {
                    sample + 1
                }
            };
            groups.insert(stmt, PerThread::Each((0..count).map(number).collect()));
        }
    }
    groups
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

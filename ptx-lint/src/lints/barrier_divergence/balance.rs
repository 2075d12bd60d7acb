//! Compares the barriers on the paths from a branch.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::StmtId;
use ptx_ir::facts::Facts;
use ptx_isa::{Action, Marks};

use crate::context::{FunctionContext, Reached};
use crate::divergence::{Divergence, is_counted};

/// The maximum number of visited blocks, and of compared barriers.
const MOST_BLOCKS: usize = 256;
const MOST_BARRIERS: usize = 16;
/// The maximum number of blocks from the end of a loop to the exit.
const MOST_EXIT_BLOCKS: usize = 4;
/// The maximum number of successors of a branch.
const MOST_SUCCESSORS: usize = 16;

/// The barriers on a path: the number of each, or `None` if it is unknown.
type Sequence = Vec<Option<i64>>;

/// Returns `true` if all paths from a branch to its post-dominator may have the same barriers. `barrier` is one of them; only barriers of its kind are
/// compared. If the barriers of a path are unknown because of a loop, it is sufficient that there is a barrier with the same number after each
/// successor of the branch.
pub(super) fn may_meet(
    cx: &FunctionContext<'_>,
    divergence: &Divergence,
    branch: BlockId,
    barrier: &Reached<'_>,
) -> bool {
    let search = Search {
        splits_warps: divergence.branch(branch) == Uniformity::Varying,
        ..Search::new(cx, divergence.meets(branch), None, barrier)
    };
    search.agree(cx.cfg().successors(branch))
}

/// Returns `true` if all paths from a branch to the next iteration of a loop may have the same barriers. The loop contains the branch and `barrier`,
/// which is not aligned: threads that execute different parts of an iteration may meet at it. Threads that exit are not waited for.
pub(super) fn may_meet_in_loop(
    cx: &FunctionContext<'_>,
    branch: BlockId,
    barrier_block: BlockId,
    barrier: &Reached<'_>,
) -> bool {
    let loops = cx.analysis().loops();
    let mut enclosing =
        core::iter::successors(loops.innermost(branch), |id| loops.get(*id)?.parent());
    let Some(common_loop) = enclosing.find(|id| loops.contains(*id, barrier_block)) else {
        return false;
    };
    let (inner, outer): (Vec<BlockId>, Vec<BlockId>) = cx
        .cfg()
        .successors(branch)
        .iter()
        .partition(|to| loops.contains(common_loop, **to));
    let header = loops.get(common_loop).map(|l| l.header());
    let search = Search::new(cx, header, Some(common_loop), barrier);
    outer.iter().all(|to| search.leads_to_exit(*to)) && search.agree(&inner)
}

/// Returns the number of a barrier, if it is known.
fn barrier_number(cx: &FunctionContext<'_>, stmt: StmtId, facts: &Facts<'_>) -> Option<i64> {
    let first = facts.parts().next().map(|(operand, _)| operand);
    let operand = facts.marked(Marks::PARTICIPANTS).next().or(first)?;
    cx.constant(stmt, operand)
}

/// A search for the barriers on paths.
struct Search<'a, 'c> {
    cx: &'a FunctionContext<'c>,
    /// The block at which paths end; `None` if they end at the exit.
    stop: Option<BlockId>,
    /// The loop whose iterations are searched; `None` if paths may leave each loop.
    loop_id: Option<LoopId>,
    /// The number of the barrier.
    number: Option<i64>,
    is_cluster: bool,
    /// The branch splits warps. Lanes of a warp do not meet at aligned barriers.
    splits_warps: bool,
    /// The barriers from the start of each block; `None` during the visit, and if the paths differ.
    sequences: BTreeMap<BlockId, Option<Sequence>>,
    /// A loop, or the size of the function, made the barriers of a path unknown.
    is_unknown: bool,
}

/// The barriers of a block that are compared.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Compared {
    All,
    /// All without the barriers that the threads of a warp must execute converged.
    NotAligned,
}

impl<'a, 'c> Search<'a, 'c> {
    fn new(
        cx: &'a FunctionContext<'c>,
        stop: Option<BlockId>,
        loop_id: Option<LoopId>,
        barrier: &Reached<'_>,
    ) -> Self {
        Self {
            cx,
            stop,
            loop_id,
            number: barrier_number(cx, barrier.stmt, &barrier.facts),
            is_cluster: matches!(
                barrier.facts.action(),
                Some(Action::ClusterArrive | Action::ClusterWait)
            ),
            splits_warps: false,
            sequences: BTreeMap::new(),
            is_unknown: false,
        }
    }

    /// Returns `true` if the paths from the successors of a branch may have the same barriers.
    fn agree(mut self, successors: &[BlockId]) -> bool {
        if successors.len() > MOST_SUCCESSORS {
            return false;
        }
        let sequences: Vec<Option<Sequence>> = successors
            .iter()
            .map(|block| self.sequence_from(*block))
            .collect();
        if let [Some(first), remaining @ ..] = sequences.as_slice()
            && remaining
                .iter()
                .all(|sequence| sequence.as_ref() == Some(first))
        {
            return true;
        }
        self.is_unknown && self.shares_number(successors)
    }

    /// Returns `true` if threads leave the loop at `block` and exit without a barrier that may have the number of the compared one.
    fn leads_to_exit(&self, block: BlockId) -> bool {
        let Some(loop_id) = self.loop_id else {
            return false;
        };
        if self.cx.analysis().loops().contains(loop_id, block) {
            return false;
        }
        let mut id = block;
        for _ in 0..MOST_EXIT_BLOCKS {
            let Some(block) = self.cx.cfg().block(id) else {
                return false;
            };
            let Some(barriers) = self.barriers_in(id, Compared::All) else {
                return false;
            };
            if barriers
                .iter()
                .any(|number| number.is_none() || *number == self.number)
            {
                return false;
            }
            match self.cx.cfg().successors(id) {
                [] => return block.exits,
                [next] => id = *next,
                _ => return false,
            }
        }
        false
    }

    /// Returns the barriers on all paths from the start of a block; `None` if they differ. The depth of the recursion is at most `MOST_BLOCKS`.
    fn sequence_from(&mut self, block: BlockId) -> Option<Sequence> {
        if Some(block) == self.stop {
            return Some(Sequence::new());
        }
        if let Some(sequence) = self.sequences.get(&block) {
            self.is_unknown |= sequence.is_none();
            return sequence.clone();
        }
        if self.sequences.len() >= MOST_BLOCKS {
            self.is_unknown = true;
            return None;
        }
        self.sequences.insert(block, None);
        let mut sequence = self.barriers_in(block, Compared::All)?;
        let cfg = self.cx.cfg();
        // The barriers after the block, on the paths that were searched so far.
        let mut continuation: Option<Sequence> = None;
        if cfg.block(block).is_some_and(|block| block.exits) {
            continuation = Some(Sequence::new());
        }
        for to in cfg.successors(block) {
            if self.leads_to_exit(*to) {
                continue;
            }
            let next = self.sequence_from(*to)?;
            if continuation.get_or_insert_with(|| next.clone()) != &next {
                return None;
            }
        }
        sequence.extend(continuation?);
        if sequence.len() > MOST_BARRIERS {
            return None;
        }
        self.sequences.insert(block, Some(sequence.clone()));
        Some(sequence)
    }

    /// Returns `true` if after each successor of a branch there is a barrier of the same number, in blocks that are not reachable from the other
    /// successors.
    fn shares_number(&self, successors: &[BlockId]) -> bool {
        let reachable: Vec<BTreeSet<BlockId>> = successors
            .iter()
            .map(|block| self.reachable_blocks(*block))
            .collect();
        let compared = if self.splits_warps {
            Compared::NotAligned
        } else {
            Compared::All
        };
        let mut common: Option<BTreeSet<i64>> = None;
        for (index, blocks) in reachable.iter().enumerate() {
            let numbers: BTreeSet<i64> = blocks
                .iter()
                .filter(|block| {
                    let mut others = reachable.iter().enumerate();
                    others.all(|(other, blocks)| other == index || !blocks.contains(block))
                })
                .filter_map(|block| self.barriers_in(*block, compared))
                .flatten()
                .flatten()
                .collect();
            common = Some(match common {
                Some(common) => common.intersection(&numbers).copied().collect(),
                None => numbers,
            });
        }
        common.is_some_and(|numbers| !numbers.is_empty())
    }

    /// Returns the blocks that are reachable from `start` before the post-dominator of the branch.
    fn reachable_blocks(&self, start: BlockId) -> BTreeSet<BlockId> {
        let (mut blocks, mut worklist) = (BTreeSet::new(), vec![start]);
        while let Some(block) = worklist.pop() {
            if Some(block) != self.stop && blocks.len() < MOST_BLOCKS && blocks.insert(block) {
                worklist.extend(self.cx.cfg().successors(block));
            }
        }
        blocks
    }

    /// Returns the barriers in a block; `None` if it calls functions with barriers.
    fn barriers_in(&self, block: BlockId, compared: Compared) -> Option<Sequence> {
        let block = self.cx.cfg().block(block)?;
        let mut sequence = Sequence::new();
        for (stmt, inst) in block.insts(self.cx.body()) {
            let facts = self.cx.facts().inst(inst);
            if facts
                .callees()
                .is_some_and(|callee| self.cx.callee_waits(&callee))
            {
                return None;
            }
            let is_skipped = compared == Compared::NotAligned && facts.convergence().is_some();
            match facts.action() {
                Some(Action::BarrierSync | Action::BarrierReduce)
                    if !self.is_cluster && !is_counted(&facts) && !is_skipped =>
                {
                    sequence.push(barrier_number(self.cx, stmt, &facts));
                }
                Some(Action::ClusterArrive) if self.is_cluster => sequence.push(Some(-1)),
                _ => {}
            }
        }
        Some(sequence)
    }
}

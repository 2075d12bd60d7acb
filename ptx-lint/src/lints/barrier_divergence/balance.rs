//! Whether all paths from a branch have the same barriers.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::facts::Facts;
use ptx_ir::{Statement, StmtId};
use ptx_isa::{Action, Marks};

use crate::context::{FunctionContext, Reached};
use crate::divergence::{Divergence, is_counted};

/// The maximum number of visited blocks, and of compared barriers.
const BLOCKS: usize = 256;
const BARRIERS: usize = 16;
/// The maximum number of blocks from the end of a loop to where threads exit.
const STEPS: usize = 4;
/// The maximum number of ways from a branch.
const WAYS: usize = 16;

/// The barriers on a path: the number of each, or `None` if it is unknown.
type Sequence = Vec<Option<i64>>;

/// Whether all paths from a branch to its post-dominator may have the same barriers of the kind of an instruction: they do, or that is not known
/// because of a loop, and each way has a barrier with the same number.
pub(super) fn may_meet(
    cx: &FunctionContext<'_>,
    divergence: &Divergence,
    branch: BlockId,
    of: &Reached<'_>,
) -> bool {
    let ways = cx.cfg().successors(branch);
    let search = Search {
        is_of_lanes: divergence.branch(branch) == Uniformity::Varying,
        ..search(cx, divergence.meets(branch), None, of)
    };
    search.agree(ways)
}

/// The same for all paths from a branch to the next iteration of a loop that contains the branch and a barrier which is not aligned: threads that do
/// different things in each iteration may meet at it. Nothing waits for those that exit.
pub(super) fn may_meet_in_loop(
    cx: &FunctionContext<'_>,
    (branch, barrier): (BlockId, BlockId),
    of: &Reached<'_>,
) -> bool {
    let loops = cx.analysis().loops();
    let parent = |id: &LoopId| loops.get(*id).and_then(|l| l.parent());
    let mut around = core::iter::successors(loops.innermost(branch), parent);
    let Some(id) = around.find(|id| loops.contains(*id, barrier)) else {
        return false;
    };
    let stays = |to: &BlockId| loops.contains(id, *to);
    let (ways, others): (Vec<BlockId>, Vec<BlockId>) =
        cx.cfg().successors(branch).iter().partition(|to| stays(to));
    let header = loops.get(id).map(|l| l.header());
    let search = search(cx, header, Some(id), of);
    others.iter().all(|to| search.leaves(*to)) && search.agree(&ways)
}

/// The number of a barrier, if it is known.
fn number(cx: &FunctionContext<'_>, stmt: StmtId, of: &Facts<'_>) -> Option<i64> {
    let first = of.parts().next().map(|(operand, _)| operand);
    let number = of.marked(Marks::PARTICIPANTS).next().or(first);
    number.and_then(|operand| cx.constant(stmt, operand))
}

fn search<'a, 'c>(
    cx: &'a FunctionContext<'c>,
    stop: Option<BlockId>,
    inside: Option<LoopId>,
    of: &Reached<'_>,
) -> Search<'a, 'c> {
    Search {
        cx,
        stop,
        inside,
        number: number(cx, of.stmt, &of.facts),
        is_cluster: matches!(
            of.facts.action(),
            Some(Action::ClusterArrive | Action::ClusterWait)
        ),
        is_of_lanes: false,
        known: BTreeMap::new(),
        is_unknown: false,
    }
}

struct Search<'a, 'c> {
    cx: &'a FunctionContext<'c>,
    stop: Option<BlockId>,
    /// The loop of whose iterations paths are followed.
    inside: Option<LoopId>,
    /// The number of the barrier.
    number: Option<i64>,
    is_cluster: bool,
    /// Whether the branch divides the lanes of a warp, which do not meet at aligned barriers.
    is_of_lanes: bool,
    /// The barriers from the start of each block; `None` during the visit, and if the paths differ.
    known: BTreeMap<BlockId, Option<Sequence>>,
    /// Whether a loop, or the size of the function, made the barriers of a path unknown.
    is_unknown: bool,
}

impl Search<'_, '_> {
    /// Whether the ways from a branch may have the same barriers.
    fn agree(mut self, ways: &[BlockId]) -> bool {
        if ways.len() > WAYS {
            return false;
        }
        let sequences: Vec<Option<Sequence>> = ways.iter().map(|to| self.from(*to)).collect();
        if let [Some(first), rest @ ..] = sequences.as_slice()
            && rest.iter().all(|other| other.as_ref() == Some(first))
        {
            return true;
        }
        self.is_unknown && self.shares_number(ways)
    }

    /// Whether threads leave the loop and exit, perhaps after they met others at a barrier with another number.
    fn leaves(&self, to: BlockId) -> bool {
        let is_inside = |id| self.cx.analysis().loops().contains(id, to);
        if self.inside.is_none_or(is_inside) {
            return false;
        }
        let mut at = to;
        for _ in 0..STEPS {
            let Some(block) = self.cx.cfg().block(at) else {
                return false;
            };
            let barriers = self.inside(at, false);
            if barriers.is_none_or(|all| all.iter().any(|n| n.is_none() || *n == self.number)) {
                return false;
            }
            match self.cx.cfg().successors(at) {
                [] => return block.exits,
                [next] => at = *next,
                _ => return false,
            }
        }
        false
    }

    /// The barriers on all paths from the start of a block; `None` if they differ.
    fn from(&mut self, block: BlockId) -> Option<Sequence> {
        if Some(block) == self.stop {
            return Some(Sequence::new());
        }
        if let Some(known) = self.known.get(&block) {
            self.is_unknown |= known.is_none();
            return known.clone();
        }
        if self.known.len() >= BLOCKS {
            self.is_unknown = true;
            return None;
        }
        self.known.insert(block, None);
        let mut sequence = self.inside(block, false)?;
        let mut rest: Option<Sequence> = None;
        let cfg = self.cx.cfg();
        if cfg.block(block).is_some_and(|b| b.exits) {
            rest = Some(Sequence::new());
        }
        for to in cfg.successors(block) {
            if self.leaves(*to) {
                continue;
            }
            let next = self.from(*to)?;
            if rest.get_or_insert_with(|| next.clone()) != &next {
                return None;
            }
        }
        sequence.extend(rest?);
        if sequence.len() > BARRIERS {
            return None;
        }
        self.known.insert(block, Some(sequence.clone()));
        Some(sequence)
    }

    /// Whether each way from a branch has a barrier of the same number, in blocks that the other ways do not reach.
    fn shares_number(&self, ways: &[BlockId]) -> bool {
        let reached: Vec<BTreeSet<BlockId>> = ways.iter().map(|to| self.reached(*to)).collect();
        let mut common: Option<BTreeSet<i64>> = None;
        for (at, blocks) in reached.iter().enumerate() {
            let others = || reached.iter().enumerate().filter(|(other, _)| *other != at);
            let own = blocks
                .iter()
                .filter(|b| others().all(|(_, of)| !of.contains(b)));
            let numbers: BTreeSet<i64> = own
                .filter_map(|block| self.inside(*block, self.is_of_lanes))
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

    /// The blocks from one to the post-dominator of the branch.
    fn reached(&self, from: BlockId) -> BTreeSet<BlockId> {
        let (mut seen, mut work) = (BTreeSet::new(), vec![from]);
        while let Some(block) = work.pop() {
            if Some(block) != self.stop && seen.len() < BLOCKS && seen.insert(block) {
                work.extend(self.cx.cfg().successors(block));
            }
        }
        seen
    }

    /// The barriers in a block, perhaps without the aligned ones; `None` if it calls functions with barriers.
    fn inside(&self, block: BlockId, skips_aligned: bool) -> Option<Sequence> {
        let of = self.cx.cfg().block(block)?;
        let mut sequence = Sequence::new();
        for (stmt, statement) in self.cx.body().range(of.first, of.end) {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let facts = self.cx.facts().inst(inst);
            if facts.callees().is_some_and(|callee| self.cx.waits(&callee)) {
                return None;
            }
            match facts.action() {
                Some(Action::BarrierSync | Action::BarrierReduce)
                    if !(self.is_cluster
                        || is_counted(&facts)
                        || skips_aligned && facts.convergence().is_some()) =>
                {
                    sequence.push(number(self.cx, stmt, &facts));
                }
                Some(Action::ClusterArrive) if self.is_cluster => sequence.push(Some(-1)),
                _ => {}
            }
        }
        Some(sequence)
    }
}

//! Blocks that lie before and after each other on the paths of a function.

use alloc::vec::Vec;

use super::events::{Event, Events};
use crate::cfg::{BlockId, Cfg};
use crate::dataflow::BitSet;
use crate::function_dataflow::FunctionDataflow;
use crate::graph::Node as _;

/// The post-dominators that are examined.
const MOST_POST_DOMINATORS: usize = 64;

/// Whether each thread that executes `earlier` executes `block` later: whether `block` is `earlier` or post-dominates it.
pub(super) fn always_follows(
    analysis: &FunctionDataflow<'_>,
    block: BlockId,
    earlier: BlockId,
) -> bool {
    core::iter::successors(Some(earlier), |post_dominator| {
        analysis.ipdom(*post_dominator)
    })
    .take(MOST_POST_DOMINATORS)
    .any(|post_dominator| post_dominator == block)
}

/// The blocks to which at least one edge leads from `blocks`. A path ends at a block for which `stops` holds; that block is included.
pub(super) fn reachable_from(
    cfg: &Cfg,
    blocks: &[BlockId],
    stops: impl Fn(BlockId) -> bool,
) -> BitSet {
    let mut reached = BitSet::new(cfg.len() as u32);
    let mut worklist = blocks.to_vec();
    while let Some(block) = worklist.pop() {
        for &successor in cfg.successors(block) {
            if reached.insert(successor.as_u32()) && !stops(successor) {
                worklist.push(successor);
            }
        }
    }
    reached
}

/// The blocks from which at least one edge leads to one of `blocks`.
pub(super) fn reaching(cfg: &Cfg, blocks: &[BlockId]) -> BitSet {
    let mut reaching = BitSet::new(cfg.len() as u32);
    let mut worklist = blocks.to_vec();
    while let Some(block) = worklist.pop() {
        for &predecessor in cfg.predecessors(block) {
            if reaching.insert(predecessor.as_u32()) {
                worklist.push(predecessor);
            }
        }
    }
    reaching
}

/// Whether a path leads from `branch` to `target`, or to an exit of the function without a target, on which no thread executes one of
/// `required`.
pub(super) fn avoids<'e>(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    branch: BlockId,
    target: Option<BlockId>,
    required: impl Iterator<Item = &'e Event>,
) -> bool {
    // An event that only some threads execute counts as executed at the outermost branch that selects these threads.
    let dominators = analysis.dominators();
    let required_blocks: Vec<BlockId> = required
        .map(|event| {
            let deciders = events.decided_by_thread(event.block).iter().rev();
            let mut inside = deciders.filter(|d| dominators.strictly_dominates(branch, **d));
            inside.next().copied().unwrap_or(event.block)
        })
        .collect();
    let cfg = analysis.cfg();
    target.is_none() && returns(cfg, branch)
        || reachable_from(cfg, &[branch], |block| required_blocks.contains(&block))
            .iter()
            .map(BlockId::from_u32)
            .filter(|block| !required_blocks.contains(block))
            .any(|block| match target {
                Some(target) => block == target,
                None => cfg.successors(block).is_empty() || returns(cfg, block),
            })
}

/// Whether the function may return at the end of a block.
fn returns(cfg: &Cfg, block: BlockId) -> bool {
    cfg.block(block).is_some_and(|b| b.returns)
}

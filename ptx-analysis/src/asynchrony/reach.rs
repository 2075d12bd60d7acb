//! Paths between blocks, and branches on parameters of the kernel that skip what has to happen.

use alloc::vec::Vec;

use super::events::{Event, Events};
use crate::cfg::{BlockId, Cfg};
use crate::dataflow::BitSet;
use crate::function_analysis::FunctionAnalysis;
use crate::graph::Node as _;

/// The blocks that are reached from the ends of some blocks, not through blocks that stop a path.
pub(super) fn after(cfg: &Cfg, blocks: &[BlockId], stops: impl Fn(BlockId) -> bool) -> BitSet {
    let mut seen = BitSet::new(cfg.len() as u32);
    let mut open = blocks.to_vec();
    while let Some(block) = open.pop() {
        for &to in cfg.successors(block) {
            if seen.insert(to.as_u32()) && !stops(to) {
                open.push(to);
            }
        }
    }
    seen
}

/// Whether a path leads from a branch to a block, or to an exit, on which none of some events happens in any thread.
pub(super) fn avoids<'e>(
    events: &Events,
    analysis: &FunctionAnalysis<'_>,
    branch: BlockId,
    to: Option<BlockId>,
    happens: impl Iterator<Item = &'e Event>,
) -> bool {
    // What some threads do happens where the branch is that selects them.
    let dominators = analysis.dominators();
    let at = |event: &Event| {
        let mut deciders = events.decided_by_thread(event.block).iter().rev();
        let outermost = deciders.find(|d| dominators.strictly_dominates(branch, **d));
        outermost.copied().unwrap_or(event.block)
    };
    let blocks: Vec<BlockId> = happens.map(at).collect();
    let cfg = analysis.cfg();
    let reached = after(cfg, &[branch], |block| blocks.contains(&block));
    let ends = |block: BlockId| cfg.successors(block).is_empty() || returns(cfg, block);
    let is_end = |block: BlockId| match to {
        Some(to) => block == to,
        None => ends(block),
    };
    let reached = reached.iter().map(BlockId::from_u32);
    let mut reached = reached.filter(|block| !blocks.contains(block));
    reached.any(is_end) || to.is_none() && returns(cfg, branch)
}

/// Whether the function may return at the end of a block.
fn returns(cfg: &Cfg, block: BlockId) -> bool {
    cfg.block(block).is_some_and(|b| b.returns)
}

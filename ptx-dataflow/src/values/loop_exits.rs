//! The exits of loops, computed in time that is linear in the number of blocks for any nesting depth.

use alloc::vec::Vec;

use crate::cfg::{BlockId, Cfg, Edge};
use crate::graph::Loops;

/// The exits of a loop.
#[derive(Clone, Default)]
pub(super) struct LoopExits<'c> {
    /// The exit edges from blocks that are in no inner loop.
    pub(super) edges: Vec<&'c Edge>,
    /// Whether there are other exits: from an inner loop, or at the end of the function.
    pub(super) others: bool,
}

/// The exits of each loop.
pub(super) fn of_loops<'c>(cfg: &'c Cfg, loops: &Loops<BlockId>) -> Vec<LoopExits<'c>> {
    let mut exits = vec![LoopExits::default(); loops.len()];
    // The least depth of the loops that edges from inside of each loop leave.
    let mut left = vec![u32::MAX; loops.len()];
    for (block, data) in cfg.blocks() {
        let Some(id) = loops.innermost(block) else {
            continue;
        };
        let at = id.as_u32() as usize;
        let (Some(exits), Some(left)) = (exits.get_mut(at), left.get_mut(at)) else {
            continue;
        };
        if data.exits {
            exits.others = true;
            *left = 0;
        }
        for (_, edge) in cfg.out_edges(block) {
            if !loops.contains(id, edge.to) {
                exits.edges.push(edge);
                *left = (*left).min(common_depth(loops, block, edge.to) + 1);
            }
        }
    }
    // Inner loops have higher numbers.
    for (id, data) in loops.iter().rev() {
        let (Some(parent), Some(&depth)) = (data.parent(), left.get(id.as_u32() as usize)) else {
            continue;
        };
        let at = parent.as_u32() as usize;
        if depth < data.depth()
            && let (Some(exits), Some(left)) = (exits.get_mut(at), left.get_mut(at))
        {
            exits.others = true;
            *left = depth.min(*left);
        }
    }
    exits
}

/// The number of loops that contain both blocks.
fn common_depth(loops: &Loops<BlockId>, a: BlockId, b: BlockId) -> u32 {
    let mut next = loops.innermost(b);
    while let Some(id) = next {
        let Some(data) = loops.get(id) else { break };
        if loops.contains(id, a) {
            return data.depth();
        }
        next = data.parent();
    }
    0
}

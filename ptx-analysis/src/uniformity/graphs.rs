//! Control flow, dominators and loops, and the graphs that are derived from them.

use alloc::vec::Vec;

use ptx_dataflow::internals::{Csr, Frontiers};

use crate::cfg::{BlockId, Cfg};
use crate::function_dataflow::FunctionDataflow;
use crate::graph::{Dominators, LoopId, LoopKind, Loops, PostDominators, ReversePostOrder};

/// Graphs that are derived from the control flow of a function.
#[derive(Debug)]
pub(crate) struct RegionGraphs {
    frontiers: Frontiers<BlockId>,
    children: Csr<BlockId>,
    /// For each block the outermost irreducible loop around it; empty if the function has no irreducible loop.
    irreducible: Vec<Option<LoopId>>,
}

impl RegionGraphs {
    pub(crate) fn new(function: &FunctionDataflow<'_>) -> Self {
        Self {
            frontiers: Frontiers::new(function.cfg(), function.dominators()),
            children: function.dominators().children(),
            irreducible: irreducible(function.cfg(), function.loop_forest()),
        }
    }
}

/// The graphs of a function.
#[derive(Copy, Clone)]
pub(super) struct Graphs<'a> {
    pub(super) cfg: &'a Cfg,
    pub(super) dominators: &'a Dominators<BlockId>,
    pub(super) post: &'a PostDominators<BlockId>,
    /// All loops, including irreducible ones.
    pub(super) loops: &'a Loops<BlockId>,
    pub(super) frontiers: &'a Frontiers<BlockId>,
    pub(super) children: &'a Csr<BlockId>,
    pub(super) order: &'a ReversePostOrder<BlockId>,
    irreducible: &'a [Option<LoopId>],
}

impl<'a> Graphs<'a> {
    pub(super) fn new(function: &'a FunctionDataflow<'_>, regions: &'a RegionGraphs) -> Self {
        Self {
            cfg: function.cfg(),
            dominators: function.dominators(),
            post: function.post_dominators(),
            loops: function.loop_forest(),
            frontiers: &regions.frontiers,
            children: &regions.children,
            order: function.reverse_post_order(),
            irreducible: &regions.irreducible,
        }
    }

    /// The position of a block in reverse post-order.
    pub(super) fn position(&self, block: BlockId) -> u32 {
        self.order.position(block).unwrap_or(u32::MAX)
    }

    /// The outermost irreducible loop around a block.
    pub(super) fn irreducible(&self, block: BlockId) -> Option<LoopId> {
        let outermost = self.irreducible.get(block.as_u32() as usize);
        outermost.copied().flatten()
    }

    /// Returns whether a block is the header of a loop that contains another one.
    pub(super) fn is_header_around(&self, header: BlockId, block: BlockId) -> bool {
        let Some(id) = self.loops.innermost(header) else {
            return false;
        };
        let is_header = self.loops.get(id).is_some_and(|l| l.header() == header);
        is_header && self.loops.contains(id, block)
    }

    /// For each loop its exits, by block; `None` if there are more than `max` edges out of loops, counted for each loop that they leave.
    pub(super) fn loop_exits(&self, mut max: u64) -> Option<Vec<Vec<LoopExit>>> {
        let mut exits: Vec<Vec<LoopExit>> = vec![Vec::new(); self.loops.len()];
        for (from, _) in self.cfg.blocks() {
            for &to in self.cfg.successors(from) {
                for id in self.loops.left(from, to) {
                    max = max.checked_sub(1)?;
                    exits[id.as_u32() as usize].push(LoopExit {
                        block: to,
                        has_several_edges: false,
                    });
                }
            }
        }
        for exits in &mut exits {
            exits.sort_unstable_by_key(|exit| exit.block);
            exits.dedup_by(|next, first| {
                first.has_several_edges |= next.block == first.block;
                next.block == first.block
            });
        }
        Some(exits)
    }
}

/// A block outside of a loop to which an edge leads from the loop.
#[derive(Copy, Clone, Debug)]
pub(super) struct LoopExit {
    pub(super) block: BlockId,
    /// Several edges lead there from the loop.
    pub(super) has_several_edges: bool,
}

/// For each block the outermost irreducible loop around it; empty if there is no irreducible loop.
fn irreducible(cfg: &Cfg, loops: &Loops<BlockId>) -> Vec<Option<LoopId>> {
    let mut infos = loops.iter();
    if infos.all(|(_, info)| info.kind() != LoopKind::Irreducible) {
        return Vec::new();
    }
    // For each loop; outer loops come before those inside them.
    let mut outermost: Vec<Option<LoopId>> = vec![None; loops.len()];
    for (id, info) in loops.iter() {
        let parent = info
            .parent()
            .and_then(|id| *outermost.get(id.as_u32() as usize)?);
        let is_irreducible = info.kind() == LoopKind::Irreducible;
        if let Some(slot) = outermost.get_mut(id.as_u32() as usize) {
            *slot = parent.or_else(|| is_irreducible.then_some(id));
        }
    }
    let mut blocks = Vec::with_capacity(cfg.len());
    for (block, _) in cfg.blocks() {
        let innermost = loops.innermost(block);
        let outermost = innermost.and_then(|id| outermost.get(id.as_u32() as usize));
        blocks.push(outermost.copied().flatten());
    }
    blocks
}

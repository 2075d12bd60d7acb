//! The graphs of a function that the analysis needs.

use alloc::vec::Vec;

use crate::cfg::{BlockId, Cfg};
use crate::function_dataflow::FunctionDataflow;
use crate::graph::{
    Csr, Dominators, Frontiers, LoopId, LoopKind, Loops, PostDominators, ReversePostOrder,
};

/// Graphs that are derived from the control flow of a function.
#[derive(Debug)]
pub(crate) struct RegionGraphs {
    frontiers: Frontiers<BlockId>,
    children: Csr<BlockId>,
    /// The outermost irreducible loop around each block; empty if there is none.
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
        let around = self.irreducible.get(block.as_u32() as usize);
        around.copied().flatten()
    }

    /// Whether a block is the header of a loop around another one.
    pub(super) fn is_header_around(&self, header: BlockId, block: BlockId) -> bool {
        let Some(id) = self.loops.innermost(header) else {
            return false;
        };
        let is_header = self.loops.get(id).is_some_and(|l| l.header() == header);
        is_header && self.loops.contains(id, block)
    }

    /// Of each loop, the blocks to which edges lead out of it, each once, with whether there are several such edges. `None` if edges leave more loops
    /// than `most`, all together.
    pub(super) fn after(&self, mut most: u64) -> Option<Vec<Vec<(BlockId, bool)>>> {
        let mut after: Vec<Vec<(BlockId, bool)>> = vec![Vec::new(); self.loops.len()];
        for (from, _) in self.cfg.blocks() {
            for &to in self.cfg.successors(from) {
                for id in self.loops.left(from, to) {
                    most = most.checked_sub(1)?;
                    let known = &mut after[id.as_u32() as usize];
                    match known.last_mut() {
                        Some((last, several)) if *last == to => *several = true,
                        _ => known.push((to, false)),
                    }
                }
            }
        }
        after.iter_mut().for_each(merge);
        Some(after)
    }
}

/// Leaves each block once.
fn merge(after: &mut Vec<(BlockId, bool)>) {
    after.sort_unstable();
    after.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 |= is_same;
        is_same
    });
}

fn irreducible(cfg: &Cfg, loops: &Loops<BlockId>) -> Vec<Option<LoopId>> {
    let is_irreducible = |id: LoopId| {
        let kind = loops.get(id).map(|l| l.kind());
        kind == Some(LoopKind::Irreducible)
    };
    if !loops.iter().any(|(id, _)| is_irreducible(id)) {
        return Vec::new();
    }
    // Of each loop; outer loops come before those inside them.
    let mut outermost: Vec<Option<LoopId>> = vec![None; loops.len()];
    for (id, of) in loops.iter() {
        let around = of.parent().and_then(|p| outermost.get(p.as_u32() as usize));
        let around = around.copied().flatten();
        if let Some(slot) = outermost.get_mut(id.as_u32() as usize) {
            *slot = around.or_else(|| is_irreducible(id).then_some(id));
        }
    }
    let of_block = |block: BlockId| {
        let innermost = loops.innermost(block)?;
        outermost.get(innermost.as_u32() as usize).copied()?
    };
    cfg.blocks().map(|(id, _)| of_block(id)).collect()
}

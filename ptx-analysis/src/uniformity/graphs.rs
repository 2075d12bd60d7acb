//! The graphs of a function that the analysis needs.

use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;

use crate::cfg::{BlockId, Cfg};
use crate::graph::{
    Csr, Dominators, Frontiers, LoopId, LoopKind, Loops, PostDominators, ReversePostOrder,
};

/// The graphs of a function.
pub(super) struct Graphs {
    pub(super) cfg: Cfg,
    pub(super) dominators: Dominators<BlockId>,
    pub(super) post: PostDominators<BlockId>,
    pub(super) loops: Loops<BlockId>,
    pub(super) frontiers: Frontiers<BlockId>,
    pub(super) children: Csr<BlockId>,
    pub(super) order: ReversePostOrder<BlockId>,
    /// The outermost irreducible loop around each block; empty if there is none.
    irreducible: Vec<Option<LoopId>>,
}

impl Graphs {
    pub(super) fn new(facts: FunctionFacts<'_>) -> Self {
        let cfg = Cfg::new(facts);
        let dominators = Dominators::new(&cfg);
        let loops = Loops::new(&cfg, &dominators);
        Self {
            post: PostDominators::new(&cfg),
            frontiers: Frontiers::new(&cfg, &dominators),
            children: dominators.children(),
            order: ReversePostOrder::new(&cfg),
            irreducible: irreducible(&cfg, &loops),
            dominators,
            loops,
            cfg,
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

    /// The blocks to which edges lead out of a loop, each once, with whether there are several such edges.
    pub(super) fn after(&self, id: LoopId) -> Vec<(BlockId, bool)> {
        let mut targets: Vec<BlockId> = self.loops.exits(&self.cfg, id).map(|(_, to)| to).collect();
        targets.sort_unstable();
        let mut after: Vec<(BlockId, bool)> = Vec::new();
        for to in targets {
            match after.last_mut() {
                Some((last, several)) if *last == to => *several = true,
                _ => after.push((to, false)),
            }
        }
        after
    }
}

fn irreducible(cfg: &Cfg, loops: &Loops<BlockId>) -> Vec<Option<LoopId>> {
    let is_irreducible = |id: LoopId| {
        let kind = loops.get(id).map(|l| l.kind());
        kind == Some(LoopKind::Irreducible)
    };
    if !loops.iter().any(|(id, _)| is_irreducible(id)) {
        return Vec::new();
    }
    let mut found = vec![None; cfg.len()];
    for (id, _) in loops.iter().filter(|(id, _)| is_irreducible(*id)) {
        for block in loops.body(id) {
            // Outer loops come before those inside them.
            if let Some(slot @ None) = found.get_mut(block.as_u32() as usize) {
                *slot = Some(id);
            }
        }
    }
    found
}

//! Everything that is usually asked of a function, worked out together.

use alloc::vec::Vec;

use ptx_ir::EntityId;
use ptx_ir::facts::FunctionFacts;

use crate::cfg::{BlockId, Cfg};
use crate::dominance::immediate_dominators;
use crate::lists::Lists;
use crate::liveness::Liveness;
use crate::loops::Loops;
use crate::pressure::Pressure;
use crate::summary::Summary;
use crate::variables::Variables;

/// Control flow, dominance, loops, liveness and pressure of one function.
#[derive(Clone, Debug)]
pub struct FunctionAnalysis {
    /// Its graph.
    pub cfg: Cfg,
    /// What can be live.
    pub variables: Variables,
    /// What each block reads and writes.
    pub summary: Summary,
    /// What is live.
    pub liveness: Liveness,
    /// The immediate dominator of each block that is reached, apart from the entry.
    pub idom: Vec<Option<BlockId>>,
    /// The immediate post-dominator; `None` is the way out of the function, or that there is no way out.
    pub ipdom: Vec<Option<BlockId>>,
    /// The loops.
    pub loops: Loops,
    /// The most registers alive at once.
    pub pressure: Pressure,
}

impl FunctionAnalysis {
    /// Analyses a function.
    pub fn new(facts: FunctionFacts<'_>) -> Self {
        let cfg = Cfg::new(facts);
        let variables = Variables::new(facts.body());
        let summary = Summary::new(facts, &cfg, &variables);
        let liveness = Liveness::new(&cfg, &summary, &variables);
        let pressure = Pressure::new(facts, &cfg, &variables, &liveness);
        let blocks = cfg.len();
        let ids = || (0..blocks as u32).map(BlockId::new);
        let forward = ids().flat_map(|b| cfg.out(b).iter().map(|e| (e.from.as_u32(), e.to.as_u32())));
        let forward = Lists::new(blocks, forward);
        let entry = Cfg::ENTRY.as_u32();
        let idom = immediate_dominators(entry, &forward, blocks);
        let loops = Loops::new(entry, &forward, &idom);
        // Backwards, from behind all ways out.
        let exit = blocks as u32;
        let leaving = cfg.blocks().filter(|(_, b)| b.exits);
        let leaving = leaving.map(|(id, _)| (exit, id.as_u32()));
        let backward = ids().flat_map(|b| cfg.out(b).iter().map(|e| (e.to.as_u32(), e.from.as_u32())));
        let backward = Lists::new(blocks + 1, backward.chain(leaving));
        let ipdom = immediate_dominators(exit, &backward, blocks + 1);
        let block = |node: Option<u32>| node.filter(|&n| n != exit).map(BlockId::new);
        Self {
            idom: idom.into_iter().map(block).collect(),
            ipdom: ipdom.into_iter().take(blocks).map(block).collect(),
            loops,
            cfg,
            variables,
            summary,
            liveness,
            pressure,
        }
    }

    /// Whether control may get to a block.
    pub fn is_reachable(&self, block: BlockId) -> bool {
        block == Cfg::ENTRY || self.idom(block).is_some()
    }

    /// The immediate dominator of a block.
    pub fn idom(&self, block: BlockId) -> Option<BlockId> {
        self.idom.get(block.index()).copied().flatten()
    }

    /// The immediate post-dominator of a block.
    pub fn ipdom(&self, block: BlockId) -> Option<BlockId> {
        self.ipdom.get(block.index()).copied().flatten()
    }
}

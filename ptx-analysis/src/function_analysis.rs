//! Everything that is usually asked of a function, worked out together.

use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;

use crate::block_summary::Summary;
use crate::cfg::{BlockId, Cfg};
use crate::graph::{Digraph, Dominators, Graph};
use crate::liveness::Liveness;
use crate::natural_loops::NaturalLoops;
use crate::pressure::Pressure;
use crate::reg_lanes::Variables;

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
    /// Its dominators.
    pub dominators: Dominators,
    /// Of the paths that leave the function; entered behind all blocks that exit, numbered one past the last.
    pub leaving: Dominators,
    /// Its natural loops.
    pub loops: NaturalLoops,
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
        let dominators = Dominators::new(&cfg);
        let loops = NaturalLoops::new(&cfg, &dominators);
        Self {
            leaving: Dominators::new(&turned(&cfg)),
            dominators,
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
        self.dominators.is_reachable(block.as_u32())
    }

    /// The immediate dominator of a block.
    pub fn idom(&self, block: BlockId) -> Option<BlockId> {
        self.dominators.immediate(block.as_u32()).map(BlockId::new)
    }

    /// The immediate post-dominator of a block, of the paths that leave the function: `None` where they share none, and
    /// where no path leaves. See [`PostDominators`](crate::graph::PostDominators) for one that infinite loops have too.
    pub fn ipdom(&self, block: BlockId) -> Option<BlockId> {
        let found = self.leaving.immediate(block.as_u32());
        let exit = self.cfg.len() as u32;
        found.filter(|&b| b != exit).map(BlockId::new)
    }
}

/// The graph backwards, from one node behind all blocks that exit.
fn turned(cfg: &Cfg) -> Digraph {
    let exit = cfg.node_count();
    let back = cfg.blocks().flat_map(|(id, _)| cfg.out(id));
    let back = back.map(|e| (e.to.as_u32(), e.from.as_u32()));
    let leaving = cfg.blocks().filter(|(_, b)| b.exits);
    let edges: Vec<(u32, u32)> = back
        .chain(leaving.map(|(id, _)| (exit, id.as_u32())))
        .collect();
    Digraph::from_valid(exit + 1, exit, &edges)
}

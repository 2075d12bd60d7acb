//! The usual analyses of a function, computed together.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, ModuleFacts, Stamp};
use ptx_ir::{FuncId, parallel};

use crate::block_summary::Summary;
use crate::cfg::{BlockId, Cfg};
use crate::graph::{Digraph, Dominators, Graph, Loops};
use crate::liveness::Liveness;
use crate::pressure::Pressure;
use crate::reg_lanes::Variables;

/// Calls `work` for each function that has a body, with its facts, and gives the results in the order of the functions. With
/// the feature `parallel`, the functions of a large module are divided among several threads.
///
/// ```
/// use ptx_analysis::function_analysis::{FunctionAnalysis, map_functions};
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.entry k() { ret; }\n.entry l() { .reg .b32 a; mov.b32 a, 1; ret; }\n";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let units = map_functions(&facts, |_, of| FunctionAnalysis::new(of).pressure().units);
/// assert_eq!(units, [0, 1]);
/// ```
pub fn map_functions<'f, T: Send>(
    facts: &'f ModuleFacts<'_>,
    work: impl Fn(FuncId, FunctionFacts<'f>) -> T + Sync,
) -> Vec<T> {
    parallel::map_functions(facts.module(), |run| {
        let of = |id: &FuncId| Some(work(*id, facts.function(*id)?));
        run.iter().filter_map(of).collect()
    })
}

/// Control flow, dominators, loops, liveness and register pressure of one function.
///
/// ```
/// use ptx_analysis::function_analysis::FunctionAnalysis;
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\
///     .reg .pred %p; .reg .b32 %i;\n\
///     mov.b32 %i, 0;\n\
///     LOOP: add.s32 %i, %i, 1; setp.lt.s32 %p, %i, 10; @%p bra LOOP;\n\
///     ret;\n}\n";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// for (id, function, _) in module.definitions() {
///     let Some(facts) = facts.function(id) else { continue };
///     let analysis = FunctionAnalysis::new(facts);
///     println!("{}: {} blocks", module.name(function.name), analysis.cfg().len());
///     for (id, info) in analysis.loops().iter() {
///         println!("a loop of {} blocks", analysis.loops().body(id).len());
///         assert_eq!(analysis.loops().preheader(analysis.cfg(), id), analysis.idom(info.header()));
///     }
///     assert_eq!(analysis.pressure().units, 1);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct FunctionAnalysis {
    stamp: Stamp,
    cfg: Cfg,
    variables: Variables,
    summary: Summary,
    liveness: Liveness,
    dominators: Dominators<BlockId>,
    /// The dominators of the reversed graph, entered at a node after all blocks with an edge to each block that exits.
    post: Dominators,
    loops: Loops<BlockId>,
    pressure: Pressure,
}

impl FunctionAnalysis {
    /// Analyzes a function.
    #[must_use]
    pub fn new(facts: FunctionFacts<'_>) -> Self {
        let cfg = Cfg::new(facts);
        let variables = Variables::new(facts.body());
        let summary = Summary::new(facts, &cfg, &variables);
        let liveness = Liveness::new(&cfg, &summary, &variables);
        let pressure = Pressure::new(facts, &cfg, &variables, &liveness);
        let dominators = Dominators::new(&cfg);
        let loops = Loops::natural(&cfg, &dominators);
        Self {
            stamp: Stamp::of(facts),
            post: Dominators::new(&reversed(&cfg)),
            dominators,
            loops,
            cfg,
            variables,
            summary,
            liveness,
            pressure,
        }
    }

    ptx_isa::getters! {
        /// Which function it is of, at which revision of the module.
        stamp: Stamp = stamp;
        /// The control-flow graph.
        cfg: &Cfg = &cfg;
        /// The numbers of the registers and of the elements of vector registers.
        variables: &Variables = &variables;
        /// What each block reads and writes.
        summary: &Summary = &summary;
        /// What is live at the start and at the end of each block.
        liveness: &Liveness = &liveness;
        /// The dominators of the blocks.
        dominators: &Dominators<BlockId> = &dominators;
        /// The natural loops. For irreducible loops too, use [`Loops::new`].
        loops: &Loops<BlockId> = &loops;
        /// The greatest number of registers that are live at once.
        pressure: Pressure = pressure;
    }

    /// Whether the entry reaches a block.
    #[must_use]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.dominators.is_reachable(block)
    }

    /// The immediate dominator of a block.
    #[must_use]
    pub fn idom(&self, block: BlockId) -> Option<BlockId> {
        self.dominators.immediate(block)
    }

    /// The immediate post-dominator of a block, considering only paths that leave the function: `None` where they have
    /// none in common, and where no path leaves. [`PostDominators`](crate::graph::PostDominators) considers infinite loops
    /// too.
    pub fn ipdom(&self, block: BlockId) -> Option<BlockId> {
        let found = self.post.immediate(block.as_u32());
        let exit = self.cfg.len() as u32;
        found.filter(|&b| b != exit).map(BlockId::new)
    }
}

/// The reversed graph, entered at one node after all blocks that exit.
fn reversed(cfg: &Cfg) -> Digraph {
    let exit = cfg.node_count();
    let back = cfg.edges().map(|(_, e)| (e.to.as_u32(), e.from.as_u32()));
    let leaving = cfg.blocks().filter(|(_, b)| b.exits);
    let edges: Vec<(u32, u32)> = back
        .chain(leaving.map(|(id, _)| (exit, id.as_u32())))
        .collect();
    Digraph::from_valid(exit + 1, exit, &edges)
}

//! Control dependences of blocks, the group of threads in which each branch is uniform, and values that may differ between threads.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_analysis::cfg::{Block, BlockId, Cfg};
use ptx_analysis::graph::{Dominators, Node as _};
use ptx_analysis::internals::Digraph;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
use ptx_ir::facts::{Facts, Flow, FunctionFacts, Space};
use ptx_ir::{Statement, StmtId};
use ptx_isa::{Marks, StateSpace};

/// The maximum numbers of branches that [`Divergence::causes`] returns and of blocks that it visits. Beyond them, it adds an unknown branch.
const MOST_CAUSES: usize = 32;
const MOST_VISITED: usize = 1 << 10;

/// The maximum number of control dependences that are recorded, for each block of the function.
const MOST_DEPENDENCES: usize = 1 << 6;

/// The branches that blocks are control dependent on. Paths that abort the kernel are ignored.
#[derive(Debug)]
pub(crate) struct Divergence {
    /// By block: the blocks whose terminators it is control dependent on.
    controlled_by: Vec<Vec<BlockId>>,
    /// By block: the largest group of threads in which its terminator is uniform.
    branch_levels: Vec<Uniformity>,
    /// By block: the largest group whose threads all reach it, or none.
    block_levels: Vec<Uniformity>,
    /// The group of threads that enter the function together.
    entry_level: Uniformity,
    /// By block: its immediate post-dominator; `None` if that is the exit.
    post_dominators: Vec<Option<BlockId>>,
}

impl Divergence {
    /// Examines the branches of a function.
    pub(crate) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        uniformity: &FunctionUniformity,
    ) -> Self {
        let aborts = aborting_blocks(facts, cfg);
        // The reversed graph has a further node for the exit.
        let exit = cfg.len() as u32;
        let is_kept = |node: u32| node == exit || aborts.get(node as usize) == Some(&false);
        let mut reversed_edges = Vec::new();
        for (id, block) in cfg.blocks() {
            if aborts[id.as_u32() as usize] {
                continue;
            }
            if returns(facts, block) {
                reversed_edges.push((exit, id.as_u32()));
            }
            for to in cfg.successors(id) {
                if is_kept(to.as_u32()) {
                    reversed_edges.push((to.as_u32(), id.as_u32()));
                }
            }
        }
        let entry_level = uniformity.block(Cfg::ENTRY);
        let mut divergence = Self {
            controlled_by: vec![Vec::new(); cfg.len()],
            branch_levels: cfg.blocks().map(|(id, _)| uniformity.branch(id)).collect(),
            block_levels: vec![entry_level; cfg.len()],
            entry_level,
            post_dominators: vec![None; cfg.len()],
        };
        let Ok(graph) = Digraph::new(exit + 1, exit, &reversed_edges) else {
            return divergence;
        };
        let dominators = Dominators::new(&graph);
        for (id, _) in cfg.blocks() {
            divergence.post_dominators[id.as_u32() as usize] = dominators
                .immediate(id.as_u32())
                .filter(|node| *node != exit)
                .map(BlockId::from_u32);
        }
        let mut remaining = MOST_DEPENDENCES * cfg.len();
        for (id, block) in cfg.blocks() {
            let successors = cfg.successors(id).iter();
            let paths = successors.filter(|to| is_kept(to.as_u32())).count()
                + usize::from(returns(facts, block));
            if paths >= 2 && !aborts[id.as_u32() as usize] {
                divergence.record_dependents(cfg, &dominators, id, &mut remaining);
            }
        }
        divergence.compute_block_levels();
        divergence
    }

    /// Marks branches as uniform in each warp.
    pub(crate) fn refine(&mut self, branches: &[BlockId]) {
        for branch in branches {
            if let Some(level) = self.branch_levels.get_mut(branch.as_u32() as usize) {
                *level = (*level).min(Uniformity::Warp);
            }
        }
        if !branches.is_empty() {
            self.block_levels.fill(self.entry_level);
            self.compute_block_levels();
        }
    }

    /// Records the blocks that are control dependent on the branch at the end of a block: those on the paths in the tree of `dominators` from its
    /// successors up to its immediate post-dominator. `remaining` is the number of dependences that may still be recorded.
    fn record_dependents(
        &mut self,
        cfg: &Cfg,
        dominators: &Dominators,
        branch: BlockId,
        remaining: &mut usize,
    ) {
        let stop = dominators.immediate(branch.as_u32());
        for to in cfg.successors(branch) {
            let mut next = Some(to.as_u32());
            while let Some(block) = next.filter(|_| next != stop) {
                // The exit has no entry in the table.
                let Some(controlled_by) = self.controlled_by.get_mut(block as usize) else {
                    break;
                };
                if *remaining == 0
                    || !dominators.is_reachable(block)
                    || controlled_by.last() == Some(&branch)
                {
                    break;
                }
                *remaining -= 1;
                controlled_by.push(branch);
                next = dominators.immediate(block);
            }
        }
    }

    /// Joins the levels of the branches that each block is transitively control dependent on.
    fn compute_block_levels(&mut self) {
        loop {
            let mut changed = false;
            for block in 0..self.block_levels.len() {
                let mut level = self.block_levels[block];
                for branch in &self.controlled_by[block] {
                    let branch = branch.as_u32() as usize;
                    level = level
                        .join(self.branch_levels[branch])
                        .join(self.block_levels[branch]);
                }
                changed |= level != self.block_levels[block];
                self.block_levels[block] = level;
            }
            if !changed {
                return;
            }
        }
    }

    /// The largest group whose threads all reach a block, or none.
    pub(crate) fn level(&self, block: BlockId) -> Uniformity {
        let level = self.block_levels.get(block.as_u32() as usize);
        level.copied().unwrap_or(Uniformity::Grid)
    }

    /// The group of threads in which the terminator of a block is uniform.
    pub(crate) fn branch(&self, block: BlockId) -> Uniformity {
        let level = self.branch_levels.get(block.as_u32() as usize);
        level.copied().unwrap_or(Uniformity::Grid)
    }

    /// The immediate post-dominator of a block, ignoring paths that abort the kernel.
    pub(crate) fn meets(&self, block: BlockId) -> Option<BlockId> {
        self.post_dominators
            .get(block.as_u32() as usize)
            .copied()
            .flatten()
    }

    /// The branches that a block is transitively control dependent on and that are divergent at a level above `level`; the nearest ones
    /// first. If there are too many, the last one is a block that does not exist.
    pub(crate) fn causes(&self, block: BlockId, level: Uniformity) -> Vec<BlockId> {
        self.causes_of_blocks(vec![block], level)
    }

    /// The union of the [`causes`](Self::causes) of several blocks.
    pub(crate) fn causes_of_blocks(&self, blocks: Vec<BlockId>, level: Uniformity) -> Vec<BlockId> {
        let mut seen = BTreeSet::new();
        let mut causes = Vec::new();
        let mut worklist = blocks;
        let mut visited = 0;
        while let Some(block) = worklist.get(visited) {
            if causes.len() >= MOST_CAUSES || visited >= MOST_VISITED {
                // A block without instructions and successors.
                causes.push(BlockId::from_u32(u32::MAX));
                break;
            }
            visited += 1;
            let branches = self.controlled_by.get(block.as_u32() as usize);
            for &branch in branches.into_iter().flatten() {
                let is_block_divergent = self.level(branch) > level;
                let is_branch_divergent = self.branch(branch) > level;
                if (is_block_divergent || is_branch_divergent) && seen.insert(branch) {
                    if is_block_divergent {
                        worklist.push(branch);
                    }
                    if is_branch_divergent {
                        causes.push(branch);
                    }
                }
            }
        }
        causes
    }
}

/// Returns `true` if threads may leave the function at the end of a block while the kernel continues.
fn returns(facts: FunctionFacts<'_>, block: &Block) -> bool {
    block.exits && last(facts, block).is_none_or(|last| !is_abort(&last))
}

/// The last instruction of a block.
fn last<'a>(facts: FunctionFacts<'a>, block: &Block) -> Option<Facts<'a>> {
    let (_, inst) = block.insts(facts.body()).next_back()?;
    Some(facts.inst(inst))
}

/// Returns `true` if an instruction aborts the kernel or calls a function that does not return.
fn is_abort(facts: &Facts<'_>) -> bool {
    facts.flow() == Flow::Trap || facts.never_returns()
}

/// Returns by block whether all paths from it abort the kernel. Some blocks before backward edges are missed: the number of passes is limited.
fn aborting_blocks(facts: FunctionFacts<'_>, cfg: &Cfg) -> Vec<bool> {
    const PASSES: usize = 4;
    let mut aborts = vec![false; cfg.len()];
    for _ in 0..PASSES {
        for (id, block) in cfg.blocks().rev() {
            let ends_in_abort =
                last(facts, block).is_some_and(|f| f.guard().is_none() && is_abort(&f));
            let successors = cfg.successors(id);
            let leads_to_abort = !block.exits
                && !successors.is_empty()
                && successors.iter().all(|to| aborts[to.as_u32() as usize]);
            aborts[id.as_u32() as usize] = ends_in_abort || leads_to_abort;
        }
    }
    aborts
}

/// Returns `true` if a barrier specifies the number of participating threads.
pub(crate) fn is_counted(facts: &Facts<'_>) -> bool {
    let Some((form, _)) = facts.form() else {
        return true;
    };
    let marked_position = form
        .operands()
        .iter()
        .position(|operand| operand.marks().contains(Marks::THREAD_COUNT));
    // Where no operand is marked, the second one is the number.
    facts.operand(marked_position.unwrap_or(1)).is_some()
}

/// Returns by value id whether there is a reason for the value to differ between the threads of a CTA. A phi differs if one of its arguments does.
/// Linear in the number of values and arguments of phis.
pub(crate) fn varying_values(
    facts: FunctionFacts<'_>,
    ssa: &Ssa,
    likely: &FunctionUniformity,
    has_local_variables: bool,
) -> Vec<bool> {
    let mut varying = vec![false; ssa.len()];
    // Pairs of an argument and its phi.
    let mut phis_of_arguments: Vec<(ValueId, ValueId)> = Vec::new();
    let mut worklist = Vec::new();
    for (id, value) in ssa.values() {
        match value {
            Value::Def { stmt, variable, .. }
                if likely.def(stmt, variable) > Uniformity::Cta
                    || may_load_locally(facts, stmt, has_local_variables) =>
            {
                worklist.push(id);
            }
            Value::Phi { .. } => {
                phis_of_arguments.extend(ssa.args(id).iter().map(|argument| (*argument, id)));
            }
            _ => {}
        }
    }
    phis_of_arguments.sort_unstable();
    while let Some(value) = worklist.pop() {
        let Some(slot @ false) = varying.get_mut(value.as_u32() as usize) else {
            continue;
        };
        *slot = true;
        let first = phis_of_arguments.partition_point(|(argument, _)| *argument < value);
        worklist.extend(
            phis_of_arguments
                .iter()
                .skip(first)
                .take_while(|(argument, _)| *argument == value)
                .map(|(_, phi)| *phi),
        );
    }
    varying
}

/// Returns `true` if a statement may load from local memory, whose contents differ between threads.
fn may_load_locally(facts: FunctionFacts<'_>, stmt: StmtId, has_local_variables: bool) -> bool {
    let Some(Statement::Inst(inst)) = facts.body().statement(stmt) else {
        return false;
    };
    facts.inst(inst).memory().any(|access| {
        let may_be_local = match access.space {
            Space::State(space) => space.base() == StateSpace::Local,
            Space::Generic => has_local_variables,
            _ => false,
        };
        access.reads() && may_be_local
    })
}

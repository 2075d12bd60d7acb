//! Control dependences of blocks, and the group of threads in which each branch is uniform.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_analysis::cfg::{Block, BlockId, Cfg};
use ptx_analysis::graph::{Digraph, Dominators, Node as _};
use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
use ptx_ir::Statement;
use ptx_ir::facts::{Facts, Flow, FunctionFacts};
use ptx_isa::Marks;

/// Branches of which a block depends that are found, and blocks that are visited for them; beyond that, more branches are not known.
const MOST_CAUSES: usize = 32;
const MOST_VISITED: usize = 1 << 10;

/// How many blocks are visited for all branches, for each block of the function.
const VISITS_PER_BLOCK: usize = 1 << 6;

/// The branches that blocks are control dependent on. Paths that abort the kernel are ignored.
#[derive(Debug)]
pub(crate) struct Divergence {
    /// For each block, the blocks whose terminators it is control dependent on.
    decided_by: Vec<Vec<BlockId>>,
    branches: Vec<Uniformity>,
    levels: Vec<Uniformity>,
    entry: Uniformity,
    immediate: Vec<Option<BlockId>>,
}

impl Divergence {
    /// Examines the branches of a function. All threads of the group `entry` enter it together.
    pub(crate) fn new(facts: FunctionFacts<'_>, cfg: &Cfg, of: &FunctionUniformity) -> Self {
        let aborts = aborting(facts, cfg);
        let exit = cfg.len() as u32;
        let mut edges = Vec::new();
        for (id, block) in cfg.blocks() {
            if aborts[id.as_u32() as usize] {
                continue;
            }
            if leaves(facts, block) {
                edges.push((exit, id.as_u32()));
            }
            let successors = cfg.successors(id).iter();
            edges.extend(successors.map(|to| (to.as_u32(), id.as_u32())));
        }
        let kept = |to: u32| to == exit || aborts.get(to as usize) == Some(&false);
        edges.retain(|(from, _)| kept(*from));
        let mut found = Self {
            decided_by: vec![Vec::new(); cfg.len()],
            branches: cfg.blocks().map(|(id, _)| of.branch(id)).collect(),
            levels: vec![of.block(Cfg::ENTRY); cfg.len()],
            entry: of.block(Cfg::ENTRY),
            immediate: vec![None; cfg.len()],
        };
        let Ok(graph) = Digraph::new(exit + 1, exit, &edges) else {
            return found;
        };
        let post = Dominators::new(&graph);
        for (id, _) in cfg.blocks() {
            let immediate = post.immediate(id.as_u32()).filter(|at| *at != exit);
            found.immediate[id.as_u32() as usize] = immediate.map(BlockId::from_u32);
        }
        let mut left = VISITS_PER_BLOCK * cfg.len();
        for (id, block) in cfg.blocks() {
            let successors = cfg.successors(id).iter();
            let ways = successors.filter(|to| kept(to.as_u32())).count()
                + usize::from(leaves(facts, block));
            if ways >= 2 && !aborts[id.as_u32() as usize] {
                found.decide(cfg, (&post, exit), id, &mut left);
            }
        }
        found.solve();
        found
    }

    /// Marks branches as uniform in each warp.
    pub(crate) fn refine(&mut self, branches: &[BlockId]) {
        for branch in branches {
            if let Some(level) = self.branches.get_mut(branch.as_u32() as usize) {
                *level = (*level).min(Uniformity::Warp);
            }
        }
        if !branches.is_empty() {
            self.levels.fill(self.entry);
            self.solve();
        }
    }

    /// Records the blocks that are control dependent on the branch at the end of a block.
    fn decide(
        &mut self,
        cfg: &Cfg,
        (post, exit): (&Dominators, u32),
        branch: BlockId,
        left: &mut usize,
    ) {
        let stop = post.immediate(branch.as_u32());
        for to in cfg.successors(branch) {
            let mut at = Some(to.as_u32());
            while let Some(block) = at.filter(|at| *at != exit && Some(*at) != stop) {
                let Some(decided_by) = self.decided_by.get_mut(block as usize) else {
                    break;
                };
                if *left == 0 || !post.is_reachable(block) || decided_by.last() == Some(&branch) {
                    break;
                }
                *left -= 1;
                decided_by.push(branch);
                at = post.immediate(block);
            }
        }
    }

    /// Computes the transitive control dependences of blocks.
    fn solve(&mut self) {
        loop {
            let mut changed = false;
            for at in 0..self.levels.len() {
                let mut level = self.levels[at];
                for by in &self.decided_by[at] {
                    let by = by.as_u32() as usize;
                    level = level.join(self.branches[by]).join(self.levels[by]);
                }
                changed |= level != self.levels[at];
                self.levels[at] = level;
            }
            if !changed {
                return;
            }
        }
    }

    /// The largest group whose threads all reach a block, or none.
    pub(crate) fn level(&self, block: BlockId) -> Uniformity {
        let level = self.levels.get(block.as_u32() as usize);
        level.copied().unwrap_or(Uniformity::Grid)
    }

    /// The group of threads in which the terminator of a block is uniform.
    pub(crate) fn branch(&self, block: BlockId) -> Uniformity {
        let level = self.branches.get(block.as_u32() as usize);
        level.copied().unwrap_or(Uniformity::Grid)
    }

    /// The immediate post-dominator of a block, ignoring paths that abort the kernel.
    pub(crate) fn meets(&self, block: BlockId) -> Option<BlockId> {
        self.immediate
            .get(block.as_u32() as usize)
            .copied()
            .flatten()
    }

    /// The target of branches that are not known. It has no instructions and no successors.
    fn unknown() -> BlockId {
        BlockId::from_u32(u32::MAX)
    }

    /// The branches that a block is transitively control dependent on and that are divergent at a level above `level`; the nearest ones
    /// first. If there are many, the last one is a block that does not exist.
    pub(crate) fn causes(&self, block: BlockId, level: Uniformity) -> Vec<BlockId> {
        self.causes_of(vec![block], level)
    }

    /// The same for several blocks.
    pub(crate) fn causes_of(&self, blocks: Vec<BlockId>, level: Uniformity) -> Vec<BlockId> {
        let mut seen = BTreeSet::new();
        let (mut found, mut work) = (Vec::new(), blocks);
        let mut at = 0;
        while let Some(&next) = work.get(at) {
            if found.len() >= MOST_CAUSES || at >= MOST_VISITED {
                found.push(Self::unknown());
                break;
            }
            at += 1;
            for &by in self
                .decided_by
                .get(next.as_u32() as usize)
                .into_iter()
                .flatten()
            {
                let in_divergent = self.level(by) > level;
                if (in_divergent || self.branch(by) > level) && seen.insert(by) {
                    if in_divergent {
                        work.push(by);
                    }
                    if self.branch(by) > level {
                        found.push(by);
                    }
                }
            }
        }
        found
    }
}

/// Whether threads may leave the function at the end of a block while the kernel continues.
fn leaves(facts: FunctionFacts<'_>, block: &Block) -> bool {
    block.exits && last(facts, block).is_none_or(|f| !is_abort(&f))
}

/// The last instruction of a block.
fn last<'a>(facts: FunctionFacts<'a>, block: &Block) -> Option<Facts<'a>> {
    let mut statements = facts.body().range(block.first, block.end).rev();
    statements.find_map(|(_, statement)| match statement {
        Statement::Inst(inst) => Some(facts.inst(inst)),
        _ => None,
    })
}

/// Whether an instruction aborts the kernel or calls a function that does not return.
fn is_abort(facts: &Facts<'_>) -> bool {
    facts.flow() == Flow::Trap || facts.never_returns()
}

/// The blocks from which all paths abort the kernel.
fn aborting(facts: FunctionFacts<'_>, cfg: &Cfg) -> Vec<bool> {
    let mut aborts = vec![false; cfg.len()];
    // Most edges go forward.
    for _ in 0..4 {
        for (id, block) in cfg.blocks().rev() {
            let ends = last(facts, block).is_some_and(|f| f.guard().is_none() && is_abort(&f));
            let mut successors = cfg.successors(id).iter();
            let only = !block.exits
                && !cfg.successors(id).is_empty()
                && successors.all(|to| aborts[to.as_u32() as usize]);
            aborts[id.as_u32() as usize] = ends || only;
        }
    }
    aborts
}

/// Whether a barrier specifies the number of participating threads.
pub(crate) fn is_counted(facts: &Facts<'_>) -> bool {
    let Some((form, _)) = facts.form() else {
        return true;
    };
    let of_count = |marks: Marks| marks.contains(Marks::THREAD_COUNT);
    let marked = form.operands().iter().position(|o| of_count(o.marks()));
    // Where no operand is marked, the second one is the number.
    facts.operand(marked.unwrap_or(1)).is_some()
}

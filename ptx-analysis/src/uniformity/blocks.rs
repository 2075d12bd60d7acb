//! The groups of threads that execute blocks together.

use alloc::vec::Vec;

use ptx_isa::Uniformity;

use super::control::Control;
use super::graphs::Graphs;
use crate::cfg::BlockId;
use crate::graph::Node as _;

/// For each block the largest group of which, for each instance of the block, all threads execute it or none.
///
/// A block depends on the branches between which and their post-dominators it lies, and so on the branches on which these depend. `branches` is the
/// uniformity of the branches. Threads in different iterations of a loop execute different instances of its blocks, and the branches in these blocks depend on
/// the iteration.
pub(super) fn executions(
    graphs: &Graphs<'_>,
    control: &Control<'_>,
    branches: &[Uniformity],
    entry: Uniformity,
) -> Vec<Uniformity> {
    let count = graphs.cfg.len();
    let in_step = in_step(graphs, control);
    let mut executions = vec![entry; count];
    let mut unvisited = Unvisited {
        next: (0..=count as u32).collect(),
    };
    // From the smallest group on, each block is visited once.
    for group in Uniformity::ALL
        .into_iter()
        .rev()
        .filter(|group| *group > entry)
    {
        let mut worklist: Vec<u32> = Vec::new();
        for (block, (branch, in_step)) in (0u32..).zip(branches.iter().zip(&in_step)) {
            if *branch == group {
                worklist.push(block);
            }
            if *in_step == group {
                let execution = &mut executions[block as usize];
                *execution = execution.join(group);
                worklist.push(block);
            }
        }
        while let Some(branch) = worklist.pop() {
            let branch = BlockId::from_u32(branch);
            let stop = graphs.post.tree().immediate(branch.as_u32());
            for &successor in graphs.cfg.successors(branch) {
                unvisited.visit(graphs, successor.as_u32(), stop, |block| {
                    if let Some(execution) = executions.get_mut(block as usize) {
                        *execution = group;
                        worklist.push(block);
                    }
                });
            }
        }
    }
    executions
}

/// For each block the group of threads that are in the same iterations of the loops around it.
fn in_step(graphs: &Graphs<'_>, control: &Control<'_>) -> Vec<Uniformity> {
    // Outer loops come before those inside them.
    let mut loops = control.in_step().to_vec();
    for (id, info) in graphs.loops.iter() {
        let parent = info
            .parent()
            .and_then(|id| loops.get(id.as_u32() as usize).copied())
            .unwrap_or(Uniformity::Grid);
        if let Some(group) = loops.get_mut(id.as_u32() as usize) {
            *group = group.join(parent);
        }
    }
    let mut in_step = Vec::with_capacity(graphs.cfg.len());
    for (block, _) in graphs.cfg.blocks() {
        let innermost = graphs.loops.innermost(block);
        let group = innermost.and_then(|id| loops.get(id.as_u32() as usize));
        in_step.push(group.copied().unwrap_or(Uniformity::Grid));
    }
    in_step
}

/// The blocks that were not visited, as a union-find structure over the tree of post-dominators.
struct Unvisited {
    /// A block that was not visited points to itself. Others point to a block above them in the tree.
    next: Vec<u32>,
}

impl Unvisited {
    /// Calls `each` for the unvisited blocks from a block up to its post-dominator `stop`, without `stop`.
    fn visit(
        &mut self,
        graphs: &Graphs<'_>,
        block: u32,
        stop: Option<u32>,
        mut each: impl FnMut(u32),
    ) {
        let tree = graphs.post.tree();
        let depth = stop.map_or(0, |stop| tree.depth(stop));
        let mut block = self.first_above(block);
        // The virtual exit is a post-dominator of all blocks.
        while block != graphs.post.virtual_exit() && (stop.is_none() || tree.depth(block) > depth) {
            let parent = tree.immediate(block).unwrap_or(graphs.post.virtual_exit());
            self.next[block as usize] = parent;
            each(block);
            block = self.first_above(parent);
        }
    }

    /// The first unvisited block from a block upwards. Shortens the path.
    fn first_above(&mut self, mut block: u32) -> u32 {
        while self
            .next
            .get(block as usize)
            .is_some_and(|&next| next != block)
        {
            let next = self.next[block as usize];
            self.next[block as usize] = self.next[next as usize];
            block = next;
        }
        block
    }
}

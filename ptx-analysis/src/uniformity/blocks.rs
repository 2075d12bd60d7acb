//! Which threads execute a block.

use alloc::vec::Vec;

use ptx_isa::Uniformity;

use super::control::Control;
use super::graphs::Graphs;
use crate::cfg::BlockId;
use crate::graph::Node as _;

/// For each block the largest group of which all threads execute it, or none: the branches decide that it depends on, and so do those that
/// these depend on. `branches` says in which threads each block goes on to the same place. Threads that are in different iterations of a loop execute different
/// instances of its blocks, and what these decide depends on the iteration.
pub(super) fn executions(
    graphs: &Graphs<'_>,
    control: &Control<'_>,
    branches: &[Uniformity],
    entry: Uniformity,
) -> Vec<Uniformity> {
    let count = graphs.cfg.len();
    let in_step = in_step(graphs, control);
    let mut found = vec![entry; count];
    let mut next: Vec<u32> = (0..=count as u32).collect();
    // From the smallest group on, each block is reached once.
    for level in Uniformity::ALL.into_iter().rev().filter(|l| *l > entry) {
        let at_level = (0u32..).zip(branches).filter(|(_, of)| **of == level);
        let mut work: Vec<u32> = at_level.map(|(block, _)| block).collect();
        let out_of_step = (0u32..).zip(&in_step).filter(|(_, of)| **of == level);
        for (block, _) in out_of_step {
            if let Some(of) = found.get_mut(block as usize) {
                *of = level.join(*of);
            }
            work.push(block);
        }
        while let Some(from) = work.pop() {
            let from = BlockId::from_u32(from);
            let stop = graphs.post.tree().immediate(from.as_u32());
            for &to in graphs.cfg.successors(from) {
                reach(graphs, (to.as_u32(), stop), &mut next, |block| {
                    if let Some(of) = found.get_mut(block as usize) {
                        *of = level;
                        // What it decides depends on the same.
                        work.push(block);
                    }
                });
            }
        }
    }
    found
}

/// Of each block, in which threads those that meet in the loops around it are in the same iterations.
fn in_step(graphs: &Graphs<'_>, control: &Control<'_>) -> Vec<Uniformity> {
    // Outer loops come before those inside them.
    let mut loops = control.in_step().to_vec();
    for (id, of) in graphs.loops.iter() {
        let around = of.parent().and_then(|p| loops.get(p.as_u32() as usize));
        let around = around.copied().unwrap_or(Uniformity::Grid);
        if let Some(level) = loops.get_mut(id.as_u32() as usize) {
            *level = level.join(around);
        }
    }
    let of_block = |block: BlockId| {
        let id = graphs.loops.innermost(block)?;
        loops.get(id.as_u32() as usize).copied()
    };
    let blocks = graphs.cfg.blocks();
    blocks
        .map(|(block, _)| of_block(block).unwrap_or(Uniformity::Grid))
        .collect()
}

/// Calls `each` for the blocks from one up to a post-dominator of it that were not reached before.
fn reach(
    graphs: &Graphs<'_>,
    (from, stop): (u32, Option<u32>),
    next: &mut [u32],
    mut each: impl FnMut(u32),
) {
    let tree = graphs.post.tree();
    let depth = stop.map_or(0, |stop| tree.depth(stop));
    let mut at = root(next, from);
    // The virtual exit is a post-dominator of all.
    while at != graphs.post.virtual_exit() && (stop.is_none() || tree.depth(at) > depth) {
        let up = tree.immediate(at).unwrap_or(graphs.post.virtual_exit());
        next[at as usize] = up;
        each(at);
        at = root(next, up);
    }
}

/// The first block from one upwards that was not reached.
fn root(next: &mut [u32], mut at: u32) -> u32 {
    while next.get(at as usize).is_some_and(|&up| up != at) {
        let up = next[at as usize];
        next[at as usize] = next[up as usize];
        at = up;
    }
    at
}

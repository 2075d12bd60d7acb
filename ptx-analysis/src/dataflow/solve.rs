//! The least fixed point, by a worklist in reverse post-order.
//!
//! A block is visited again only when its state grew, always the first one in order: O((d + 2) · E) joins for the usual
//! bit-vector problems, d being the depth of the loop nest. Memory: one state a block.

use super::{Analysis, Direction, JoinSemiLattice};
use crate::graph::{Graph, ReversePostOrder};
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The budget was used up before the states settled. They would be too small: none are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// How many blocks were visited.
    pub steps: u64,
}

impl core::fmt::Display for Incomplete {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "no fixed point after {} steps", self.steps)
    }
}

impl core::error::Error for Incomplete {}

/// The state of each block, where facts enter it: at its start; backward, at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution<D> {
    states: Vec<Option<D>>,
    steps: u64,
}

impl<D: JoinSemiLattice> Solution<D> {
    /// The state at the start of `block`; backward, at its end. Forward, `None` for a block that no path reaches.
    pub fn state(&self, block: u32) -> Option<&D> {
        self.states.get(block as usize)?.as_ref()
    }

    /// The state on the other side of `block`: at its end; backward, at its start. Runs the effect of the block.
    pub fn through<A: Analysis<Domain = D>>(&self, analysis: &A, block: u32) -> Option<D> {
        let mut state = self.state(block)?.clone();
        analysis.block(block, &mut state);
        Some(state)
    }

    /// How many blocks were visited, the same one again included.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// Solves `analysis` over `graph`, visiting at most `budget` blocks.
///
/// Forward, what no path from the entry reaches has no state and adds nothing to others. Backward, every block has one:
/// the boundary holds where the block [exits](Graph::exits); in an infinite loop nothing but bottom flows in.
pub fn solve<A: Analysis>(
    graph: &impl Graph,
    analysis: &A,
    budget: u64,
) -> Result<Solution<A::Domain>, Incomplete> {
    let backward = A::DIRECTION == Direction::Backward;
    let nodes = graph.node_count() as usize;
    let mut order = ReversePostOrder::whole(graph).order().to_vec();
    if backward {
        order.reverse();
    }
    let mut position = vec![0; nodes];
    for (at, &block) in (0u32..).zip(&order) {
        position[block as usize] = at;
    }

    let mut states: Vec<Option<A::Domain>> = vec![None; nodes];
    let mut queued = vec![backward; nodes];
    let mut queue: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
    if backward {
        for (block, state) in (0u32..).zip(&mut states) {
            *state = Some(if graph.exits(block) {
                analysis.boundary()
            } else {
                analysis.bottom()
            });
        }
        queue.extend((0..nodes as u32).map(Reverse));
    } else if let Some(state) = states.get_mut(graph.entry() as usize) {
        *state = Some(analysis.boundary());
        queued[graph.entry() as usize] = true;
        queue.push(Reverse(position[graph.entry() as usize]));
    }

    let mut steps = 0;
    while let Some(Reverse(at)) = queue.pop() {
        if steps == budget {
            return Err(Incomplete { steps });
        }
        steps += 1;
        let block = order[at as usize];
        queued[block as usize] = false;
        let Some(mut state) = states[block as usize].clone() else {
            continue;
        };
        analysis.block(block, &mut state);
        let next = if backward {
            graph.predecessors(block)
        } else {
            graph.successors(block)
        };
        for &to in next {
            let target = &mut states[to as usize];
            let grew = if A::EDGES {
                let mut state = state.clone();
                let (source, sink) = if backward { (to, block) } else { (block, to) };
                analysis.edge(source, sink, &mut state) && flow(target, &state)
            } else {
                flow(target, &state)
            };
            if grew && !core::mem::replace(&mut queued[to as usize], true) {
                queue.push(Reverse(position[to as usize]));
            }
        }
    }
    Ok(Solution { states, steps })
}

fn flow<D: JoinSemiLattice>(target: &mut Option<D>, state: &D) -> bool {
    match target {
        Some(target) => target.join(state),
        None => {
            *target = Some(state.clone());
            true
        }
    }
}

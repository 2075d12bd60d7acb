//! The least fixed point, by a worklist in reverse post-order.
//!
//! A block is visited again only if its state grew, always the first one in order: `O((d + 2) E)` joins for the usual
//! bit-vector problems, where `d` is the depth of the loop nest. Memory: one state per block.

use super::{Analysis, Direction, JoinSemiLattice};
use crate::graph::{DepthFirst, Graph, Node};
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::marker::PhantomData;

/// The budget was used up before the least fixed point was reached. The states so far would not be valid facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Incomplete {
    /// The number of blocks visited.
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
pub struct Solution<D, N = u32> {
    states: Vec<Option<D>>,
    steps: u64,
    nodes: PhantomData<fn(N) -> N>,
}

impl<D: JoinSemiLattice, N: Node> Solution<D, N> {
    /// The state at the start of `block`; backward, at its end. Forward, `None` for a block that no path reaches.
    pub fn state(&self, block: N) -> Option<&D> {
        self.states.get(block.as_u32() as usize)?.as_ref()
    }

    /// The state on the other side of `block`: at its end; backward, at its start. Applies the block.
    pub fn through<A>(&self, analysis: &A, block: N) -> Option<D>
    where
        A: Analysis<Domain = D, Node = N>,
    {
        let mut state = self.state(block)?.clone();
        analysis.block(block, &mut state);
        Some(state)
    }

    /// The number of blocks visited, those visited again included.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// Solves `analysis` over `graph`, visiting at most `budget` blocks.
///
/// Forward, a block that no path from the entry reaches has no state and adds nothing to others. Backward, every block has
/// one: the boundary holds where the block [exits](Graph::exits); nothing but bottom flows into an infinite loop.
///
/// # Errors
///
/// If the budget is used up before the least fixed point is reached.
pub fn solve<A: Analysis>(
    graph: &impl Graph<Node = A::Node>,
    analysis: &A,
    budget: u64,
) -> Result<Solution<A::Domain, A::Node>, Incomplete> {
    let backward = A::DIRECTION == Direction::Backward;
    let nodes = graph.node_count() as usize;
    let search = DepthFirst::whole(graph);
    let mut order = search.postorder().to_vec();
    if !backward {
        order.reverse();
    }
    let mut position = vec![0; nodes];
    for (at, &block) in (0u32..).zip(&order) {
        position[block as usize] = at;
    }
    let mut states = starting_states(graph, analysis);
    let mut queued: Vec<bool> = states.iter().map(Option::is_some).collect();
    let started = (0..nodes).filter(|&n| queued[n]);
    let mut queue: BinaryHeap<Reverse<u32>> = started.map(|n| Reverse(position[n])).collect();
    let mut steps = 0;
    while let Some(Reverse(at)) = queue.pop() {
        if steps == budget {
            return Err(Incomplete { steps });
        }
        steps += 1;
        let number = order[at as usize];
        let block = A::Node::from_u32(number);
        queued[number as usize] = false;
        let Some(mut state) = states[number as usize].clone() else {
            continue;
        };
        analysis.block(block, &mut state);
        let next = if backward {
            graph.predecessors(block)
        } else {
            graph.successors(block)
        };
        for &to in next {
            let index = to.as_u32() as usize;
            let target = &mut states[index];
            let grew = if A::EDGES {
                let mut state = state.clone();
                let (source, sink) = if backward { (to, block) } else { (block, to) };
                analysis.edge(source, sink, &mut state) && flow(target, &state)
            } else {
                flow(target, &state)
            };
            if grew && !core::mem::replace(&mut queued[index], true) {
                queue.push(Reverse(position[index]));
            }
        }
    }
    Ok(Solution {
        states,
        steps,
        nodes: PhantomData,
    })
}

/// What holds before anything flows: at the entry; backward, in every block.
fn starting_states<A: Analysis>(
    graph: &impl Graph<Node = A::Node>,
    analysis: &A,
) -> Vec<Option<A::Domain>> {
    let entry = graph.entry();
    let state = |block: A::Node| match A::DIRECTION {
        Direction::Forward => (block == entry).then(|| analysis.boundary()),
        Direction::Backward if graph.exits(block) => Some(analysis.boundary()),
        Direction::Backward => Some(analysis.bottom()),
    };
    graph.nodes().map(state).collect()
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

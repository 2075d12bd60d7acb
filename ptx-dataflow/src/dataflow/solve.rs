//! The least fixed point, by a worklist in reverse post-order, and the states inside of blocks.
//!
//! A block is visited again only if its state grew, always the first one in order: `O((d + 2) E)` joins for the usual
//! bit-vector problems, where `d` is the depth of the loop nest. Memory: one state per block.

use super::{Analysis, Direction, JoinSemiLattice};
use crate::graph::{DepthFirst, Graph, Node};
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::marker::PhantomData;

/// The budget was used up before the least fixed point was reached. The states of the last step are not valid facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Incomplete {
    /// The number of visited blocks.
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
    #[doc(hidden)]
    pub fn through<A>(&self, analysis: &A, block: N) -> Option<D>
    where
        A: Analysis<Domain = D, Node = N>,
    {
        let mut state = self.state(block)?.clone();
        analysis.block(block, &mut state);
        Some(state)
    }

    /// The number of visits of blocks, including repeated ones.
    #[doc(hidden)]
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
    for (index, &block) in (0u32..).zip(&order) {
        position[block as usize] = index;
    }
    let mut states = initial_states(graph, analysis);
    let mut queued: Vec<bool> = states.iter().map(Option::is_some).collect();
    let mut worklist: BinaryHeap<Reverse<u32>> = (0..nodes)
        .filter(|&node| queued[node])
        .map(|node| Reverse(position[node]))
        .collect();
    let mut steps = 0;
    while let Some(Reverse(index)) = worklist.pop() {
        if steps == budget {
            return Err(Incomplete { steps });
        }
        steps += 1;
        let number = order[index as usize];
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
        for &neighbor in next {
            let index = neighbor.as_u32() as usize;
            let target = &mut states[index];
            let grew = if A::EDGES {
                let mut state = state.clone();
                let (from, to) = if backward {
                    (neighbor, block)
                } else {
                    (block, neighbor)
                };
                analysis.edge(from, to, &mut state) && join(target, &state)
            } else {
                join(target, &state)
            };
            if grew && !core::mem::replace(&mut queued[index], true) {
                worklist.push(Reverse(position[index]));
            }
        }
    }
    Ok(Solution {
        states,
        steps,
        nodes: PhantomData,
    })
}

/// The states before the first step: that of the entry; backward, those of all blocks.
fn initial_states<A: Analysis>(
    graph: &impl Graph<Node = A::Node>,
    analysis: &A,
) -> Vec<Option<A::Domain>> {
    let entry = graph.entry();
    graph
        .nodes()
        .map(|block| match A::DIRECTION {
            Direction::Forward => (block == entry).then(|| analysis.boundary()),
            Direction::Backward if graph.exits(block) => Some(analysis.boundary()),
            Direction::Backward => Some(analysis.bottom()),
        })
        .collect()
}

/// Joins a state with that of a block; returns whether the state of the block changed.
fn join<D: JoinSemiLattice>(target: &mut Option<D>, state: &D) -> bool {
    match target {
        Some(target) => target.join(state),
        None => {
            *target = Some(state.clone());
            true
        }
    }
}

/// A position in a solved analysis. Moving on in the direction of the analysis costs the instructions between; any other
/// move starts again at the boundary of the block.
#[derive(Debug)]
pub struct Cursor<'a, A: Analysis> {
    analysis: &'a A,
    solution: &'a Solution<A::Domain, A::Node>,
    position: Option<Position<A::Node, A::Domain>>,
}

/// The state after some of the instructions of a block, in the direction of the analysis.
#[derive(Debug)]
struct Position<N, D> {
    block: N,
    applied: u32,
    state: D,
}

impl<'a, A: Analysis> Cursor<'a, A> {
    /// Creates a cursor over `solution`, which must be that of `analysis`.
    pub fn new(analysis: &'a A, solution: &'a Solution<A::Domain, A::Node>) -> Self {
        Self {
            analysis,
            solution,
            position: None,
        }
    }

    /// The state just before instruction `index` of `block`, as control goes; with the block's length, at its end.
    /// `None` if there is no such position, or no path reaches it.
    pub fn before(&mut self, block: A::Node, index: u32) -> Option<&A::Domain> {
        let len = self.analysis.len(block);
        if index > len {
            return None;
        }
        let target = match A::DIRECTION {
            Direction::Forward => index,
            Direction::Backward => len - index,
        };
        let mut position = match self.position.take() {
            Some(position) if position.block == block && position.applied <= target => position,
            _ => Position {
                block,
                applied: 0,
                state: self.solution.state(block)?.clone(),
            },
        };
        while position.applied < target {
            let instruction = match A::DIRECTION {
                Direction::Forward => position.applied,
                Direction::Backward => len - 1 - position.applied,
            };
            self.analysis
                .effect(block, instruction, &mut position.state);
            position.applied += 1;
        }
        Some(&self.position.insert(position).state)
    }

    /// The state just after instruction `index` of `block`, as control goes.
    pub fn after(&mut self, block: A::Node, index: u32) -> Option<&A::Domain> {
        self.before(block, index.checked_add(1)?)
    }
}

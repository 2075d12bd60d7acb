//! Facts that hold at every point of a graph, as the least solution of equations along its edges.
//!
//! An [`Analysis`] defines the lattice of facts (a [`JoinSemiLattice`]), the effects of instructions and the facts at the
//! boundary; [`solve`] finds the least fixed point, [`Cursor`] the state at any instruction. An [`InstAnalysis`] is the simpler form for the instructions of
//! a function: it gets each instruction with its facts. A [`SparseAnalysis`] has one fact for each value of the SSA form instead of a state for each block.

mod bits;
mod insts;
mod position_set;
mod solve;
mod solve_sparse;
pub(crate) mod sparse;
pub(crate) mod sparse_set;
pub(crate) mod ssa_graph;

use ptx_isa::Uniformity;

use crate::graph::Node;

pub use bits::BitSet;
pub use insts::{InstAnalysis, InstSolution, MapLattice, solve_insts};
pub use solve::{Cursor, Incomplete, Solution, solve};
pub use solve_sparse::solve_sparse;
pub use sparse::{SparseAnalysis, SparseSolution, SparseSolver};
pub(crate) use sparse_set::SparseSet;

/// Values that can be joined where paths meet. A join is associative, commutative and idempotent.
///
/// Solving ends if no chain of joins grows without end; otherwise the budget ends it.
pub trait JoinSemiLattice: Clone {
    /// Makes `self` the least value above both; returns whether it changed.
    fn join(&mut self, other: &Self) -> bool;
}

/// The lattice with a new least element, `None`: no path reaches the position.
impl<S: JoinSemiLattice> JoinSemiLattice for Option<S> {
    fn join(&mut self, other: &Self) -> bool {
        match (&mut *self, other) {
            (_, None) => false,
            (Some(state), Some(other)) => state.join(other),
            (None, Some(_)) => {
                self.clone_from(other);
                true
            }
        }
    }
}

/// A chain: a value that is the same in fewer threads is greater.
impl JoinSemiLattice for Uniformity {
    fn join(&mut self, other: &Self) -> bool {
        let joined = (*self).max(*other);
        core::mem::replace(self, joined) != joined
    }
}

/// The direction in which facts flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the entry to the exits: facts about past instructions.
    Forward,
    /// From the exits to the entry: facts about future instructions.
    Backward,
}

/// A dataflow problem over a graph whose nodes are blocks of instructions. Effects must be monotone.
pub trait Analysis {
    /// The blocks of the graph.
    type Node: Node;
    /// The facts.
    type Domain: JoinSemiLattice;
    /// The direction in which they flow.
    const DIRECTION: Direction;
    /// If `false`, [`Analysis::edge`] is not called, which saves copies of states.
    const EDGES: bool = false;

    /// The least fact.
    fn bottom(&self) -> Self::Domain;
    /// The fact where control enters the graph; backward, where control leaves it.
    fn boundary(&self) -> Self::Domain;
    /// The number of instructions of a block.
    fn len(&self, block: Self::Node) -> u32;
    /// Applies an instruction to the state, in the direction of the analysis.
    fn effect(&self, block: Self::Node, index: u32, state: &mut Self::Domain);

    /// Applies all instructions of a block, in the direction of the analysis. Overriding this with a summary saves time.
    fn block(&self, block: Self::Node, state: &mut Self::Domain) {
        match Self::DIRECTION {
            Direction::Forward => {
                for index in 0..self.len(block) {
                    self.effect(block, index, state);
                }
            }
            Direction::Backward => {
                for index in (0..self.len(block)).rev() {
                    self.effect(block, index, state);
                }
            }
        }
    }

    /// Applies the edge from `from` to `to`, which is in the direction of control also if the analysis is backward; returns
    /// `false` if control never follows it. Parallel edges are one to this function: it has to hold for each of them.
    fn edge(&self, from: Self::Node, to: Self::Node, state: &mut Self::Domain) -> bool {
        let _ = (from, to, state);
        true
    }
}

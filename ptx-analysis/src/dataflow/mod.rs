//! Facts that hold at every point of a graph, as the least solution of equations along its edges.
//!
//! An [`Analysis`] says what a fact is (a [`JoinSemiLattice`]), what an instruction does to it and what holds at the
//! boundary; [`solve`] finds the least fixed point, [`Cursor`] the state at any instruction.

mod bits;
mod cursor;
mod dot;
mod solve;
mod sparse;

pub use bits::BitSet;
pub use cursor::Cursor;
pub use dot::Dot;
pub use solve::{Incomplete, Solution, solve};
pub use sparse::SparseSet;

/// Values that can be joined where paths meet. A join is associative, commutative and idempotent.
///
/// Solving ends if no chain of values, each a join with the one before, grows for ever; otherwise the budget ends it.
pub trait JoinSemiLattice: Clone {
    /// Makes `self` the least value above both; says whether it changed.
    fn join(&mut self, other: &Self) -> bool;
}

/// With control or against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the entry on: what has happened.
    Forward,
    /// From the exits back: what may still happen.
    Backward,
}

/// A dataflow problem over a graph whose nodes are blocks of instructions. Effects must be monotone.
pub trait Analysis {
    /// The facts.
    type Domain: JoinSemiLattice;
    /// Which way they flow.
    const DIRECTION: Direction;
    /// Whether [`Analysis::edge`] does anything. Otherwise no state is copied for it.
    const EDGES: bool = false;

    /// The least value: nothing is known to reach this place.
    fn bottom(&self) -> Self::Domain;
    /// What holds where control enters the graph; backward, where it leaves.
    fn boundary(&self) -> Self::Domain;
    /// How many instructions a block has.
    fn len(&self, block: u32) -> u32;
    /// What an instruction does to the state, in the direction of the analysis.
    fn effect(&self, block: u32, index: u32, state: &mut Self::Domain);

    /// What a whole block does: all its instructions, in the direction of the analysis. Worth replacing by a summary.
    fn block(&self, block: u32, state: &mut Self::Domain) {
        match Self::DIRECTION {
            Direction::Forward => (0..self.len(block)).for_each(|i| self.effect(block, i, state)),
            Direction::Backward => (0..self.len(block))
                .rev()
                .for_each(|i| self.effect(block, i, state)),
        }
    }

    /// What going from `from` to `to` does (edges in the direction of control, also backward); `false` if this never
    /// happens. Parallel edges are not told apart: it has to hold for each of them.
    fn edge(&self, from: u32, to: u32, state: &mut Self::Domain) -> bool {
        let _ = (from, to, state);
        true
    }
}

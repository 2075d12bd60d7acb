//! The state at any instruction, computed again from the state of its block.

use super::{Analysis, Direction, Solution};

/// A position in a solved analysis. Moving on in the direction of the analysis costs the instructions between; any other
/// move starts again at the boundary of the block.
#[derive(Debug)]
pub struct Cursor<'a, A: Analysis> {
    analysis: &'a A,
    solution: &'a Solution<A::Domain, A::Node>,
    /// The block, the number of its instructions applied, and the state after them.
    at: Option<(A::Node, u32, A::Domain)>,
}

impl<'a, A: Analysis> Cursor<'a, A> {
    /// A cursor over `solution`, which must be that of `analysis`.
    pub fn new(analysis: &'a A, solution: &'a Solution<A::Domain, A::Node>) -> Self {
        Self {
            analysis,
            solution,
            at: None,
        }
    }

    /// The state just before instruction `index` of `block`, as control goes; with the block's length, at its end.
    /// `None` if there is no such position, or no path reaches it.
    pub fn before(&mut self, block: A::Node, index: u32) -> Option<&A::Domain> {
        let len = self.analysis.len(block);
        if index > len {
            return None;
        }
        let applied = match A::DIRECTION {
            Direction::Forward => index,
            Direction::Backward => len - index,
        };
        let (from, mut state) = match self.at.take() {
            Some((b, done, state)) if b == block && done <= applied => (done, state),
            _ => (0, self.solution.state(block)?.clone()),
        };
        for step in from..applied {
            let instruction = match A::DIRECTION {
                Direction::Forward => step,
                Direction::Backward => len - 1 - step,
            };
            self.analysis.effect(block, instruction, &mut state);
        }
        Some(&self.at.insert((block, applied, state)).2)
    }

    /// The state just after instruction `index` of `block`, as control goes.
    pub fn after(&mut self, block: A::Node, index: u32) -> Option<&A::Domain> {
        let next = index.checked_add(1)?;
        self.before(block, next)
    }
}

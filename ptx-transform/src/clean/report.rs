//! What clean-ups changed.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{FuncId, Span};

use super::Pass;

/// A change of a statement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Change {
    /// The clean-up that made it.
    pub pass: Pass,
    /// The function of the statement.
    pub function: FuncId,
    /// The statement as it is in the source, before all changes.
    pub span: Span,
    /// What allowed the change, such as `%r3 is never read`.
    pub why: String,
}

/// The changes of all clean-ups.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Every change, in the order in which they were made.
    pub changes: Vec<Change>,
    /// The number of rounds, including the last one, in which nothing changed.
    pub rounds: u32,
}

impl Report {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The number of changes of one clean-up.
    #[must_use]
    pub fn count(&self, pass: Pass) -> usize {
        self.changes.iter().filter(|c| c.pass == pass).count()
    }
}

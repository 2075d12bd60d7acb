//! Report of the changes of clean-ups.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::AnalysisError;
use ptx_ir::{FuncId, Span};

use super::Pass;

/// A change of a statement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Change {
    /// The clean-up that made it.
    pub pass: Pass,
    /// The function of the statement, by its id in the module that was cleaned.
    pub function: FuncId,
    /// The statement as it is in the source, before all changes.
    pub span: Span,
    /// The reason that allowed the change, such as `%r3 is never read`.
    pub why: String,
}

/// The changes of all clean-ups.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Every change, in the order in which they were made.
    pub changes: Vec<Change>,
    /// The functions that were left unchanged because they are too complex, in their order.
    pub skipped: Vec<Skipped>,
    /// The number of rounds, including the last one, in which nothing changed.
    pub rounds: u32,
}

/// A function that was left unchanged because its analysis would cost too much.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Skipped {
    /// The function.
    pub function: FuncId,
    /// The limit that it exceeds.
    pub reason: AnalysisError,
}

impl Report {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub(super) fn skip(&mut self, skipped: Skipped) {
        let position = self
            .skipped
            .binary_search_by_key(&skipped.function, |s| s.function);
        if let Err(index) = position {
            self.skipped.insert(index, skipped);
        }
    }

    /// The number of changes of one clean-up.
    #[must_use]
    pub fn count(&self, pass: Pass) -> usize {
        self.changes.iter().filter(|c| c.pass == pass).count()
    }
}

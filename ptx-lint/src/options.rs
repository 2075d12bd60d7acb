//! Options of the linter.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;

use crate::Lint;

/// Options that select the reported findings.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LintOptions {
    /// The lints to run: all of them by default.
    pub lints: Vec<Lint>,
    /// The minimum certainty of reported findings.
    pub certainty: Certainty,
}

impl Default for LintOptions {
    fn default() -> Self {
        Self {
            lints: Lint::ALL.to_vec(),
            certainty: Certainty::Possible,
        }
    }
}

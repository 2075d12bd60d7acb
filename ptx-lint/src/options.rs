//! Options of the linter.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;

use crate::Lint;
use crate::lints::Need;

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

impl LintOptions {
    /// Returns `true` if an enabled lint needs the information.
    pub(crate) fn need(&self, need: Need) -> bool {
        self.lints.iter().any(|lint| lint.needs(need))
    }
}

//! Which findings are reported.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;

use crate::Lint;

/// Which findings are reported.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LintOptions {
    /// The lints that look for mistakes: all of them by default.
    pub lints: Vec<Lint>,
    /// The least certainty of a finding.
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

//! What lints find.

use alloc::string::String;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::{Diagnostic, FuncId, Span, StmtId};

use crate::Lint;

/// What a lint found.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The lint.
    pub lint: Lint,
    /// Whether the mistake is certain.
    pub certainty: Certainty,
    /// The function.
    pub function: FuncId,
    /// The statement where the mistake takes effect; the first one for a mistake in the header of the function.
    pub stmt: StmtId,
    /// How many passes an access to shared memory takes because of bank conflicts, if the finding is about these.
    pub degree: Option<u32>,
    /// The warning.
    pub diagnostic: Diagnostic,
}

impl Finding {
    /// Adds what to write instead.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.with_help(help);
        self
    }

    /// Adds another place that is involved.
    pub(crate) fn with_label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.with_label(span, message);
        self
    }

    /// Adds an edit that repairs it.
    pub(crate) fn with_fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.with_fix(span, text);
        self
    }

    /// Adds the degree of bank conflicts.
    pub(crate) fn with_degree(mut self, degree: u32) -> Self {
        self.degree = Some(degree);
        self
    }
}

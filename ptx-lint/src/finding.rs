//! Findings of lints.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::{Diagnostic, FuncId, Span, StmtId};

use crate::Lint;

/// A finding of a lint.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The lint that reports it.
    pub lint: Lint,
    /// Whether the finding is definite or only possible.
    pub certainty: Certainty,
    /// The function that contains the statement.
    pub function: FuncId,
    /// The statement to which the finding applies; the first one if it applies to the header of the function.
    pub stmt: StmtId,
    /// For bank conflicts, the number of passes that the access to shared memory takes.
    pub degree: Option<u32>,
    /// The variable of the module whose declaration is the cause: the findings of all functions become one there.
    pub(crate) declaration: Option<Box<str>>,
    /// Places that [`Finding::add_places`] adds to the repeats of the diagnostic.
    pub(crate) places: Vec<Span>,
    /// The diagnostic to show.
    pub diagnostic: Diagnostic,
}

impl Finding {
    /// Adds a help text.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.with_help(help);
        self
    }

    /// Adds a label at another span.
    pub(crate) fn with_label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.with_label(span, message);
        self
    }

    /// Adds an edit that fixes the problem.
    pub(crate) fn with_fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.with_fix(span, text);
        self
    }

    /// Adds a further place with the same cause. It is in the diagnostic when the lint ends.
    pub(crate) fn repeat(&mut self, span: Span) {
        self.places.push(span);
    }

    /// Adds the further places to the diagnostic.
    pub(crate) fn add_places(&mut self) {
        if !self.places.is_empty() {
            let repeats = core::mem::take(&mut self.diagnostic.repeats).into_vec();
            let places = core::mem::take(&mut self.places);
            self.diagnostic.repeats = repeats.into_iter().chain(places).collect();
        }
    }

    /// Adds the degree of bank conflicts.
    pub(crate) fn with_degree(mut self, degree: u32) -> Self {
        self.degree = Some(degree);
        self
    }
}

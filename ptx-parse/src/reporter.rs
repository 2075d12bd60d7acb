//! Collects diagnostics, up to a limit.

use alloc::vec::Vec;
use ptx_ir::{Code, Diagnostic, Span};

use crate::cascade::Cascade;
use crate::undeclared::MOST_COMPARISONS;

pub(crate) struct Reporter {
    diagnostics: Vec<Diagnostic>,
    limit: usize,
    /// Further places of diagnostics, by their numbers.
    repeats: Vec<(usize, Span)>,
    /// Which later errors follow from those that were reported.
    pub(crate) cascade: Cascade,
    /// How many more names are compared with undeclared ones.
    pub(crate) comparisons_left: usize,
    /// How many more times the rest of a function is read for its braces.
    pub(crate) scans_left: usize,
}

/// How many times that is done, so that the cost stays linear.
const MOST_SCANS: usize = 64;

impl Reporter {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            diagnostics: Vec::new(),
            limit,
            repeats: Vec::new(),
            cascade: Cascade::default(),
            comparisons_left: MOST_COMPARISONS,
            scans_left: MOST_SCANS,
        }
    }

    /// Whether nothing was reported.
    #[cfg(feature = "parallel")]
    pub(crate) fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// The error with this number, counted from 0, is also at `span`.
    pub(crate) fn repeat(&mut self, number: usize, span: Span) {
        self.repeats.push((number, span));
    }

    /// How many diagnostics were reported.
    pub(crate) fn count(&self) -> usize {
        self.diagnostics.len()
    }

    /// Keeps a diagnostic, up to the limit.
    #[cold]
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.cascade.reported(&diagnostic);
        let limit = self.limit;
        if self.diagnostics.len() < limit {
            self.diagnostics.push(diagnostic);
        } else if self.diagnostics.len() == limit {
            self.diagnostics.push(Diagnostic::error(
                Code::TooManyDiagnostics,
                diagnostic.span,
                format!("more than {limit} diagnostics; the rest is not reported"),
            ));
        }
    }

    pub(crate) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.repeats
            .sort_unstable_by_key(|(number, span)| (*number, span.start));
        for repeats in self.repeats.chunk_by(|(a, _), (b, _)| a == b) {
            let number = repeats.first().map_or(0, |(number, _)| *number);
            if let Some(diagnostic) = self.diagnostics.get_mut(number) {
                diagnostic.repeats = repeats.iter().map(|(_, span)| *span).collect();
                // What replaces the first name replaces the others.
                let replaced = diagnostic.fix.iter().find(|f| f.span == diagnostic.span);
                if let Some(text) = replaced.map(|f| f.text.clone()) {
                    let edit = |&(_, span): &(usize, Span)| (span, text.clone());
                    diagnostic.add_fix(repeats.iter().map(edit));
                }
            }
        }
        self.diagnostics
    }
}

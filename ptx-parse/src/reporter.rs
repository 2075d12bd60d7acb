//! Collects diagnostics, up to a limit.

use alloc::vec::Vec;
use ptx_ir::{Code, Diagnostic, Span};

use crate::cascade::Cascade;
use crate::undeclared::MOST_COMPARISONS;

/// What diagnostics about names depend on.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Reports {
    /// All that was reported before: each name of the module is reported once.
    OfModule,
    /// What was reported in the same function.
    OfFunctions,
}

pub(crate) struct Reporter {
    pub(crate) reports: Reports,
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

/// How many names are compared for each byte of a function, where each function is reported on its own.
const COMPARISONS_PER_BYTE: usize = 64;

impl Reporter {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            reports: Reports::OfModule,
            diagnostics: Vec::new(),
            limit,
            repeats: Vec::new(),
            cascade: Cascade::default(),
            comparisons_left: MOST_COMPARISONS,
            scans_left: MOST_SCANS,
        }
    }

    /// A body begins.
    pub(crate) fn enter_body(&mut self) {
        if self.reports == Reports::OfFunctions {
            self.scans_left = MOST_SCANS;
        }
    }

    /// The names that a body of `len` bytes does not declare are about to be reported.
    pub(crate) fn enter_undeclared(&mut self, len: usize) {
        if self.reports == Reports::OfFunctions {
            // In proportion to the text, so that the cost stays linear.
            self.comparisons_left = len
                .saturating_mul(COMPARISONS_PER_BYTE)
                .min(MOST_COMPARISONS);
        }
    }

    /// Whether nothing was reported.
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

    pub(crate) fn take_diagnostics(&mut self) -> Vec<Diagnostic> {
        let mut all = core::mem::take(&mut self.diagnostics);
        self.repeats
            .sort_unstable_by_key(|(number, span)| (*number, span.start));
        for repeats in self.repeats.chunk_by(|(a, _), (b, _)| a == b) {
            let number = repeats.first().map_or(0, |(number, _)| *number);
            if let Some(diagnostic) = all.get_mut(number) {
                diagnostic.repeats = repeats.iter().map(|(_, span)| *span).collect();
                // What replaces the first name replaces the others.
                let replaced = diagnostic.fix.iter().find(|f| f.span == diagnostic.span);
                if let Some(text) = replaced.map(|f| f.text.clone()) {
                    let edit = |&(_, span): &(usize, Span)| (span, text.clone());
                    let applicability = diagnostic.applicability;
                    diagnostic.add_fix(repeats.iter().map(edit));
                    diagnostic.applicability = applicability;
                }
            }
        }
        all
    }
}

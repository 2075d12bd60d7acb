//! Collects records of errors, up to a limit.

use alloc::vec::Vec;
use ptx_ir::{Code, Diagnostic, Span};

use crate::cascade::Cascade;
use crate::record::Record;

/// The errors on which errors about names depend.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Reports {
    /// All errors that were reported before: each name of the module is reported once.
    OfModule,
    /// The errors of the same function: each function is reported on its own.
    OfFunctions,
}

/// The records of errors that were found so far.
pub(crate) struct Reporter {
    pub(crate) reports: Reports,
    records: Vec<Record>,
    limit: usize,
    /// Further places of errors, by the numbers of their records.
    repeats: Vec<(usize, Span)>,
    /// Decides which later errors follow from the ones that were reported.
    pub(crate) cascade: Cascade,
    /// The number of searches for a `}` in the rest of a function that are still allowed.
    pub(crate) scans_left: usize,
}

/// The limit of searches for a `}` in the rest of a function, so that the cost stays linear.
const MOST_SCANS: usize = 64;

impl Reporter {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            reports: Reports::OfModule,
            records: Vec::new(),
            limit,
            repeats: Vec::new(),
            cascade: Cascade::default(),
            scans_left: MOST_SCANS,
        }
    }

    /// Handles the beginning of a body.
    pub(crate) fn enter_body(&mut self) {
        if self.reports == Reports::OfFunctions {
            self.scans_left = MOST_SCANS;
        }
    }

    /// Whether nothing was reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds a further place of the error with this number, counted from 0.
    pub(crate) fn repeat(&mut self, number: usize, span: Span) {
        self.repeats.push((number, span));
    }

    /// The number of records.
    pub(crate) fn count(&self) -> usize {
        self.records.len()
    }

    /// Adds a record. The first one beyond the limit becomes an error about the limit, and the others are dropped.
    #[cold]
    pub(crate) fn report(&mut self, record: Record) {
        self.cascade.reported(&record.error);
        let limit = self.limit;
        if self.records.len() < limit {
            self.records.push(record);
        } else if self.records.len() == limit {
            let message = format!("more than {limit} diagnostics; the rest is not reported");
            let span = record.error.span;
            let error = Diagnostic::error(Code::TooManyDiagnostics, span, message);
            self.records.push(error.into());
        }
    }

    pub(crate) fn take_records(&mut self) -> Records {
        Records {
            records: core::mem::take(&mut self.records),
            repeats: core::mem::take(&mut self.repeats),
            reports: self.reports,
        }
    }
}

/// The errors of a source, or of a function of it.
pub(crate) struct Records {
    /// The records in the order in which the errors were found.
    pub(crate) records: Vec<Record>,
    /// Further places of errors, by the numbers of their records.
    pub(crate) repeats: Vec<(usize, Span)>,
    pub(crate) reports: Reports,
}

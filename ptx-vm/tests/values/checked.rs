//! How much was checked, and what was wrong.

use std::fmt;

/// What was compared, and what was wrong.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) launches: u64,
    /// Values with a form that has known symbols, those that are more than their own symbol, and all.
    pub(crate) forms: u64,
    pub(crate) composed: u64,
    pub(crate) values: u64,
    /// Intervals and alignments that say something.
    pub(crate) intervals: u64,
    pub(crate) alignments: u64,
    pub(crate) trip_counts: u64,
    /// Forms that are true if nothing wraps, and those of them that were not true.
    pub(crate) assumed: u64,
    pub(crate) wrapped: u64,
    /// Steps with accesses, those whose generic space and whose object is known, and those whose addresses are.
    pub(crate) accesses: u64,
    pub(crate) spaces: u64,
    pub(crate) pointers: u64,
    /// Steps with accesses to variables and allocations that are known.
    pub(crate) variables: u64,
    pub(crate) requests: u64,
    /// Those whose sectors or passes were compared.
    pub(crate) counted_requests: u64,
    /// Those whose addresses are known if nothing wraps.
    pub(crate) assumed_requests: u64,
    pub(crate) wrapped_requests: u64,
    /// Those of lanes that are in different iterations of a loop, which are not compared.
    pub(crate) separated_requests: u64,
    wrong: Vec<String>,
}

impl Checked {
    pub(crate) fn observations(&self) -> u64 {
        self.composed + self.intervals + self.alignments + self.trip_counts
    }

    pub(crate) fn wrong(&self) -> &[String] {
        &self.wrong
    }

    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        if self.wrong.len() < 1000 {
            self.wrong.push(what());
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.launches += other.launches;
        self.forms += other.forms;
        self.composed += other.composed;
        self.values += other.values;
        self.intervals += other.intervals;
        self.alignments += other.alignments;
        self.trip_counts += other.trip_counts;
        self.assumed += other.assumed;
        self.wrapped += other.wrapped;
        self.accesses += other.accesses;
        self.spaces += other.spaces;
        self.pointers += other.pointers;
        self.variables += other.variables;
        self.requests += other.requests;
        self.counted_requests += other.counted_requests;
        self.assumed_requests += other.assumed_requests;
        self.wrapped_requests += other.wrapped_requests;
        self.separated_requests += other.separated_requests;

        self.wrong.extend(other.wrong);
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} launches, {} observations: {} forms of {} values, {} intervals, {} alignments, {} trip counts; \
             {} forms if nothing wraps, {} of them wrapped; {} accesses: {} generic ones in known spaces, {} of known pointers, {} of known variables, \
             {} requests, {} of them counted, {} if nothing wraps, {} of them wrapped, {} of lanes in different iterations",
            self.launches,
            self.observations(),
            self.composed,
            self.values,
            self.intervals,
            self.alignments,
            self.trip_counts,
            self.assumed,
            self.wrapped,
            self.accesses,
            self.spaces,
            self.pointers,
            self.variables,
            self.requests,
            self.counted_requests,
            self.assumed_requests,
            self.wrapped_requests,
            self.separated_requests
        )
    }
}

//! Counts how often analyses are computed: for tests, with the feature `count-builds`.

use ptx_ir::facts::FunctionFacts;

/// Records that an analysis of a function is computed.
#[inline]
pub(crate) fn record(analysis: &'static str, facts: FunctionFacts<'_>) {
    #[cfg(feature = "count-builds")]
    counting::record(analysis, facts);
    let _ = (analysis, facts);
}

#[cfg(feature = "count-builds")]
pub(crate) mod counting {
    extern crate std;

    use core::cell::RefCell;
    use std::thread_local;
    use std::vec::Vec;

    use ptx_ir::facts::{FunctionFacts, Stamp};

    thread_local! {
        static BUILDS: RefCell<Vec<(&'static str, Stamp)>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn record(analysis: &'static str, facts: FunctionFacts<'_>) {
        BUILDS.with_borrow_mut(|builds| builds.push((analysis, Stamp::of(facts))));
    }

    /// Takes the analyses that this thread computed since the last call, in order.
    #[must_use]
    pub fn take_builds() -> Vec<(&'static str, Stamp)> {
        BUILDS.take()
    }
}

//! A CTA: its shared memory and barriers, and what observes it.

use core::cell::RefCell;

use super::observer::Observer;

/// The number of barriers of a CTA.
pub(super) const BARRIERS: usize = 16;

/// A CTA without its warps.
#[derive(Debug)]
pub(crate) struct Block {
    /// `%ctaid`.
    pub(crate) index: [u32; 3],
    /// `%cluster_ctarank`.
    pub(crate) rank: usize,
    pub(crate) cluster: [u32; 3],
    pub(crate) barriers: [Barrier; BARRIERS],
    /// The number of turns of its warps.
    pub(super) turns: u64,
    /// The state that the CTAs of the cluster share, while this one runs.
    pub(crate) together: Together,
}

/// The state that the CTAs of a cluster share.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// The shared memory of each CTA.
    pub(super) shared: Vec<Vec<u8>>,
    /// The threads that arrived at the barrier of the cluster, and the number of times that it was completed.
    pub(crate) arrived: u32,
    pub(crate) phase: u64,
    /// The observer of the execution.
    pub(crate) observer: Option<Observing>,
}

/// An observer that one instruction at a time uses.
pub(crate) type Observing = RefCell<Box<dyn Observer>>;

/// A barrier of a CTA.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// The number of threads that take part; 0 for all that have not ended.
    pub(crate) expected: u32,
    /// Threads that arrived without waiting.
    pub(crate) arrived: u32,
}

impl Block {
    /// The shared memory of a CTA of the cluster.
    pub(crate) fn shared(&self, rank: usize) -> Option<&[u8]> {
        self.together.shared.get(rank).map(Vec::as_slice)
    }

    pub(crate) fn shared_mut(&mut self, rank: usize) -> Option<&mut [u8]> {
        self.together.shared.get_mut(rank).map(Vec::as_mut_slice)
    }

    /// Asks the observer, if there is one.
    #[inline]
    pub(super) fn observe(&self, ask: impl FnOnce(&mut dyn Observer, &Self)) {
        if let Some(observer) = &self.together.observer
            && let Ok(mut observer) = observer.try_borrow_mut()
        {
            ask(&mut **observer, self);
        }
    }
}

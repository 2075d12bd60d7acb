//! The heap of `malloc`: a range of global memory that keeps its contents between launches.

use std::sync::atomic::{AtomicU64, Ordering};

/// A heap. Memory that was freed is used again only when nothing is allocated at the end of a launch.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    start: u64,
    /// One past the last address.
    end: u64,
    /// The address of the next allocation.
    next: AtomicU64,
    /// The number of allocations that were not freed.
    live: AtomicU64,
}

impl Clone for Heap {
    fn clone(&self) -> Self {
        Self {
            start: self.start,
            end: self.end,
            next: AtomicU64::new(self.next.load(Ordering::Relaxed)),
            live: AtomicU64::new(self.live.load(Ordering::Relaxed)),
        }
    }
}

impl Heap {
    pub(crate) const fn new(start: u64, bytes: u64) -> Self {
        Self {
            start,
            end: start.saturating_add(bytes),
            next: AtomicU64::new(start),
            live: AtomicU64::new(0),
        }
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// The first address of the heap, and one past the last address of an allocation.
    pub(crate) fn used(&self) -> (u64, u64) {
        (self.start, self.next.load(Ordering::Relaxed))
    }

    /// One past the last address.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// The address of new memory; 0 if there is not enough.
    pub(crate) fn allocate(&self, bytes: u64) -> u64 {
        // Allocations are apart, so that a checker finds accesses past their ends.
        let size = bytes.max(1).div_ceil(16).saturating_add(1);
        let size = size.saturating_mul(16);
        let start = (self.next).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            next.checked_add(size).filter(|end| *end <= self.end)
        });
        if start.is_ok() {
            self.live.fetch_add(1, Ordering::Relaxed);
        }
        start.unwrap_or(0)
    }

    /// Frees an allocation.
    pub(crate) fn free(&self, address: u64) {
        let (start, end) = self.used();
        if (start..end).contains(&address) {
            let _ = (self.live).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |live| {
                live.checked_sub(1)
            });
        }
    }

    /// Frees all allocations.
    pub(crate) fn clear(&mut self) {
        *self.next.get_mut() = self.start;
        *self.live.get_mut() = 0;
    }

    /// Ends a launch: an empty heap starts again from its first address.
    pub(crate) fn end_launch(&mut self) {
        if *self.live.get_mut() == 0 {
            *self.next.get_mut() = self.start;
        }
    }
}

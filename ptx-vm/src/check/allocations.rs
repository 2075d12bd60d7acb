//! The allocations of global memory.

use core::ops::Range;
use std::collections::BTreeMap;

use super::report::Actor;

/// The owner of an allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// An allocation of the host.
    Host,
    /// A variable of the module.
    Variable(Box<str>),
    /// Memory of the heap.
    Heap,
    /// All memory of the heap of an earlier launch.
    EarlierHeap,
}

/// An allocation in global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Allocation {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) owner: Owner,
    /// The thread that freed it.
    pub(crate) freed: Option<Actor>,
}

/// All allocations, by their start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allocations {
    all: BTreeMap<u64, Allocation>,
    /// The bounds of the one that was found last, which was not freed.
    last: (u64, u64),
}

impl Allocations {
    /// Adds an allocation.
    pub(crate) fn insert(&mut self, start: u64, bytes: u64, owner: Owner) {
        let allocation = Allocation {
            start,
            end: start.saturating_add(bytes),
            owner,
            freed: None,
        };
        self.all.insert(start, allocation);
    }

    /// The memory in use, in bytes, but for the names of variables.
    pub(crate) fn memory(&self) -> u64 {
        // Nodes of the tree are at least half full.
        2 * self.all.len() as u64 * size_of::<(u64, Allocation)>() as u64
    }

    /// Whether all bytes of a range are in one allocation that was not freed.
    #[inline]
    pub(crate) fn contain(&mut self, range: &Range<u64>) -> bool {
        let (start, end) = (range.start, range.end);
        if self.last.0 <= start && end <= self.last.1 {
            return true;
        }
        let allocation = self.before(start);
        let allocation = allocation.filter(|a| end <= a.end && a.freed.is_none());
        match allocation.map(|a| (a.start, a.end)) {
            Some(bounds) => {
                self.last = bounds;
                true
            }
            None => false,
        }
    }

    /// The last allocation that begins at an address or before it.
    pub(crate) fn before(&self, address: u64) -> Option<&Allocation> {
        Some(self.all.range(..=address).next_back()?.1)
    }

    /// The first allocation that begins after an address.
    pub(crate) fn after(&self, address: u64) -> Option<&Allocation> {
        Some(self.all.range(address.saturating_add(1)..).next()?.1)
    }

    /// The allocation that begins at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Allocation> {
        self.all.get(&address)
    }

    /// Notes that an allocation was freed.
    pub(crate) fn free(&mut self, address: u64, by: Actor) {
        if let Some(allocation) = self.all.get_mut(&address) {
            allocation.freed = Some(by);
        }
        self.last = (0, 0);
    }
}

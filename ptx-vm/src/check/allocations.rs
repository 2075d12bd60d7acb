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
    pub(crate) freed_by: Option<Actor>,
}

/// All allocations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allocations {
    /// The allocations by their start.
    by_start: BTreeMap<u64, Allocation>,
    /// The bounds of the allocation that contained the last range; it was not freed.
    last: Range<u64>,
}

impl Allocations {
    /// Adds an allocation.
    pub(crate) fn insert(&mut self, start: u64, bytes: u64, owner: Owner) {
        let allocation = Allocation {
            start,
            end: start.saturating_add(bytes),
            owner,
            freed_by: None,
        };
        self.by_start.insert(start, allocation);
    }

    /// The memory in use in bytes, without the names of variables.
    pub(crate) fn memory(&self) -> u64 {
        // Nodes of the tree are at least half full.
        2 * self.by_start.len() as u64 * size_of::<(u64, Allocation)>() as u64
    }

    /// Whether all bytes of a range are in one allocation that was not freed.
    #[inline]
    pub(crate) fn contain(&mut self, range: &Range<u64>) -> bool {
        if self.last.start <= range.start && range.end <= self.last.end {
            return true;
        }
        let bounds = self
            .before(range.start)
            .filter(|a| range.end <= a.end && a.freed_by.is_none())
            .map(|a| a.start..a.end);
        match bounds {
            Some(bounds) => {
                self.last = bounds;
                true
            }
            None => false,
        }
    }

    /// The last allocation that begins at an address or before it.
    pub(crate) fn before(&self, address: u64) -> Option<&Allocation> {
        Some(self.by_start.range(..=address).next_back()?.1)
    }

    /// The first allocation that begins after an address.
    pub(crate) fn after(&self, address: u64) -> Option<&Allocation> {
        Some(self.by_start.range(address.saturating_add(1)..).next()?.1)
    }

    /// The allocation that begins at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Allocation> {
        self.by_start.get(&address)
    }

    /// Records that an allocation was freed.
    pub(crate) fn free(&mut self, address: u64, actor: Actor) {
        if let Some(allocation) = self.by_start.get_mut(&address) {
            allocation.freed_by = Some(actor);
        }
        self.last = 0..0;
    }
}

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
    /// The number of bytes from the start that no other allocation uses, at least those of this allocation.
    reserved_bytes: u64,
    pub(crate) owner: Owner,
    pub(crate) freed: Option<Freed>,
}

/// The end of an allocation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Freed {
    /// A thread freed it.
    ByThread(Actor),
    /// The host freed it.
    ByHost,
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
    /// Adds an allocation, which replaces those that were freed there.
    pub(crate) fn insert(&mut self, start: u64, bytes: u64, owner: Owner) {
        self.insert_padded(start, bytes, bytes, owner);
    }

    /// Adds an allocation like [`insert`](Self::insert), for which `reserved_bytes` bytes are reserved, at least `bytes`.
    pub(crate) fn insert_padded(
        &mut self,
        start: u64,
        bytes: u64,
        reserved_bytes: u64,
        owner: Owner,
    ) {
        let end = start.saturating_add(bytes);
        let reserved_end = start.saturating_add(reserved_bytes);
        while let Some((&freed, _)) = self.by_start.range(start..reserved_end).next() {
            self.by_start.remove(&freed);
        }
        let allocation = Allocation {
            start,
            end,
            reserved_bytes,
            owner,
            freed: None,
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
            .filter(|a| range.end <= a.end && a.freed.is_none())
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

    /// Whether an allocation that was not freed has an address from `start` to `end`.
    pub(crate) fn has_live(&self, start: u64, end: u64) -> bool {
        let earlier = self.by_start.range(..end).rev();
        for allocation in earlier.map(|(_, allocation)| allocation) {
            if allocation.freed.is_none() && allocation.end > start {
                return true;
            }
            if allocation.start <= start {
                break;
            }
        }
        false
    }

    /// The allocation that begins at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Allocation> {
        self.by_start.get(&address)
    }

    /// Records that a thread freed an allocation.
    pub(crate) fn free(&mut self, address: u64, actor: Actor) {
        if let Some(allocation) = self.by_start.get_mut(&address) {
            allocation.freed = Some(Freed::ByThread(actor));
        }
        self.last = 0..0;
    }

    /// Records that the host freed an allocation, and returns the number of bytes that were reserved for it. The error is the reason why that is impossible.
    pub(crate) fn free_by_host(&mut self, address: u64) -> Result<u64, String> {
        let allocation = self.by_start.get_mut(&address);
        let Some(allocation) = allocation.filter(|a| a.owner == Owner::Host) else {
            return Err(format!("no allocation of the host begins at {address:#x}"));
        };
        if allocation.freed.is_some() {
            let bytes = allocation.end - allocation.start;
            return Err(format!(
                "the allocation of {bytes} bytes at {address:#x} was freed before"
            ));
        }
        allocation.freed = Some(Freed::ByHost);
        self.last = 0..0;
        Ok(allocation.reserved_bytes)
    }

    /// Removes an allocation, of which nothing is recorded any more.
    pub(crate) fn remove(&mut self, address: u64) {
        self.by_start.remove(&address);
        self.last = 0..0;
    }
}

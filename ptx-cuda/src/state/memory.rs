//! Allocations of device memory, managed memory, and memory of the host that the device can access.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::{ARRAY_ALIGNMENT, Driver};
use crate::arena::{Arena, LARGE_PAGE, page_bytes};
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// How memory was allocated, and who can access it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum AllocationKind {
    /// Device memory.
    Device,
    /// Memory that the program and kernels access at the same address, and that migrates.
    Managed,
    /// Memory of the host that the driver allocated, and that kernels access at the same address.
    Pinned {
        /// The flags with which it was allocated.
        flags: u32,
    },
    /// Memory of the host that the program registered; its first address on the host.
    Registered {
        /// The address of the first byte on the host.
        host: usize,
        /// The flags with which it was registered.
        flags: u32,
    },
    /// Device memory of another process.
    Shared,
    /// Memory that the program mapped at reserved addresses. Neighboring allocations of this kind are one range for copies.
    Mapped,
    /// A variable of a module.
    Variable,
    /// A variable of a module with managed variables, which the program can access.
    ManagedVariable,
}

impl AllocationKind {
    /// Whether the program can access the memory at its address of the device.
    pub(crate) const fn is_exposed(self) -> bool {
        matches!(
            self,
            Self::Managed | Self::Pinned { .. } | Self::ManagedVariable
        )
    }

    /// Whether the allocation ends with something else: a variable with its module, and a mapping when it is unmapped.
    const fn ends_otherwise(self) -> bool {
        matches!(self, Self::Variable | Self::ManagedVariable | Self::Mapped)
    }
}

/// An allocation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Allocation {
    pub(crate) bytes: u64,
    pub(crate) kind: AllocationKind,
    /// The context that owns it.
    pub(crate) context: Raw,
    /// The number of the allocation among all of the process.
    pub(crate) number: u64,
    /// The first address and the size that the machine allocated, if they are not those of the allocation.
    pub(crate) pages: Option<(u64, u64)>,
}

/// All allocations.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) arena: Arc<Arena>,
    /// The allocations, by their first addresses on the device.
    allocations: BTreeMap<u64, Allocation>,
    /// The first address on the device of registered memory, by its first address on the host.
    registered: BTreeMap<usize, u64>,
    /// The bytes of the device.
    pub(crate) total: u64,
    /// The bytes of device memory and managed memory.
    pub(crate) used: u64,
    created: u64,
}

impl Memory {
    pub(crate) fn new(arena: Arc<Arena>, total: u64) -> Self {
        Self {
            arena,
            allocations: BTreeMap::new(),
            registered: BTreeMap::new(),
            total,
            used: 0,
            created: 0,
        }
    }

    /// The allocation that contains an address, and its first address.
    pub(crate) fn find(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (start, allocation) = self.allocations.range(..=address).next_back()?;
        (address - start < allocation.bytes.max(1)).then_some((*start, allocation))
    }

    /// The address on the device of an address of the host in registered memory.
    pub(crate) fn registered(&self, host: usize) -> Option<u64> {
        let (first, address) = self.registered.range(..=host).next_back()?;
        let allocation = self.allocations.get(address)?;
        let offset = (host - first) as u64;
        (offset < allocation.bytes).then_some(address + offset)
    }

    /// Whether a range of the host contains registered memory.
    pub(super) fn has_registered(&self, host: Range<usize>) -> bool {
        let mut before_end = self.registered.range(..host.end);
        // Registered ranges do not overlap: the last one ends last.
        before_end.next_back().is_some_and(|(first, address)| {
            let bytes = self.allocations.get(address).map_or(0, |a| a.bytes);
            first.saturating_add(bytes as usize) > host.start
        })
    }

    /// Of the pages of a range that is being registered, or was registered, those without other registered memory. Only the first and the last page can have some.
    fn pages_of_one(&self, first: usize, bytes: usize) -> Range<usize> {
        let page = page_bytes() as usize;
        let (mut start, mut end) = (first, first + bytes);
        if self.has_registered(start..start + page) {
            start += page;
        }
        if start < end && self.has_registered(end - page..end) {
            end -= page;
        }
        start..end
    }

    /// Checks that a range of device addresses is within one allocation, or neighboring ones that the program mapped.
    pub(crate) fn check(&self, address: u64, bytes: u64) -> Outcome<()> {
        let (start, allocation) = self.find(address).ok_or(Status::INVALID_VALUE)?;
        let mut available = allocation.bytes.saturating_sub(address - start);
        let mut is_mapped = allocation.kind == AllocationKind::Mapped;
        while is_mapped && available < bytes {
            let next = self.allocations.get(&(address + available));
            is_mapped = next.is_some_and(|next| next.kind == AllocationKind::Mapped);
            available += next.filter(|_| is_mapped).map_or(0, |next| next.bytes);
        }
        if bytes <= available {
            Ok(())
        } else {
            Err(Status::INVALID_VALUE)
        }
    }

    /// The address in this process of bytes at an address of the device or of the host: that of the machine's view for the device. Fails if a range of device addresses is
    /// not within one allocation.
    pub(crate) fn view(&self, address: u64, bytes: u64) -> Outcome<usize> {
        if bytes > 0 && self.arena.contains(address) {
            self.check(address, bytes)?;
            return Ok(self.arena.machine_view(address));
        }
        if bytes > 0 && address == 0 {
            return Err(Status::INVALID_VALUE);
        }
        Ok(address as usize)
    }

    /// The first addresses of the allocations that a context owns.
    pub(crate) fn of_context(&self, context: Raw) -> Vec<u64> {
        let owned = self.allocations.iter().filter(|(_, allocation)| {
            allocation.context == context && !allocation.kind.ends_otherwise()
        });
        owned.map(|(address, _)| *address).collect()
    }

    /// All allocations, by their first addresses.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Allocation)> {
        self.allocations
            .iter()
            .map(|(address, allocation)| (*address, allocation))
    }

    /// Adds an allocation.
    pub(super) fn insert(&mut self, address: u64, mut allocation: Allocation) {
        self.created += 1;
        allocation.number = self.created;
        if matches!(
            allocation.kind,
            AllocationKind::Device | AllocationKind::Managed
        ) {
            self.used += allocation.bytes;
        }
        if let AllocationKind::Registered { host, .. } = allocation.kind {
            self.registered.insert(host, address);
        }
        self.allocations.insert(address, allocation);
    }

    /// Removes the allocation at an address.
    pub(super) fn remove(&mut self, address: u64) -> Option<Allocation> {
        let allocation = self.allocations.remove(&address)?;
        if matches!(
            allocation.kind,
            AllocationKind::Device | AllocationKind::Managed
        ) {
            self.used -= allocation.bytes;
        }
        if let AllocationKind::Registered { host, .. } = allocation.kind {
            self.registered.remove(&host);
        }
        Some(allocation)
    }
}

impl Driver {
    /// Allocates device memory, managed memory or pinned memory, and returns its address. Fails during captures, as it may wait for the device.
    pub(crate) fn allocate(&mut self, bytes: u64, kind: AllocationKind) -> Outcome<u64> {
        self.check_unsafe_call()?;
        self.allocate_in_order(bytes, kind)
    }

    /// Allocates memory in the order of a stream, which does not wait for the device.
    pub(crate) fn allocate_in_order(&mut self, bytes: u64, kind: AllocationKind) -> Outcome<u64> {
        let context = self.current_context()?;
        if bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let left = self.memory.total - self.memory.used;
        if matches!(kind, AllocationKind::Device | AllocationKind::Managed) && bytes > left {
            return Err(Status::OUT_OF_MEMORY);
        }
        let no_memory = Status::OUT_OF_MEMORY;
        let mut pages = None;
        let address = if kind.is_exposed() {
            let rounded = bytes
                .checked_next_multiple_of(LARGE_PAGE)
                .ok_or(no_memory)?;
            let address = self.device.allocate_aligned(bytes, LARGE_PAGE);
            let address = address.ok_or(no_memory)?;
            self.memory
                .arena
                .expose(address, rounded, true)
                .map_err(|_| no_memory)?;
            // The program can write there at any time.
            self.device.set_written(address, rounded);
            pages = Some((address, rounded));
            address
        } else {
            let alignment = ARRAY_ALIGNMENT as u64;
            let address = self.device.allocate_aligned(bytes, alignment);
            address.ok_or(no_memory)?
        };
        self.memory.insert(
            address,
            Allocation {
                bytes,
                kind,
                context,
                number: 0,
                pages,
            },
        );
        Ok(address)
    }

    /// Registers memory of the host, and returns its address on the device.
    pub(crate) fn register(&mut self, host: usize, bytes: u64, flags: u32) -> Outcome<u64> {
        let context = self.current_context()?;
        if bytes == 0 || host == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let page = page_bytes();
        let first = host as u64 / page * page;
        let end = (host as u64)
            .checked_add(bytes)
            .filter(|end| end.checked_next_multiple_of(page).is_some())
            .ok_or(Status::INVALID_VALUE)?;
        let is_registered = self.memory.has_registered(host..end as usize);
        if self.memory.arena.contains(host as u64) || is_registered {
            return Err(Status::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let rounded = end.next_multiple_of(page) - first;
        let start = self.device.reserve(rounded, page);
        let start = start.ok_or(Status::OUT_OF_MEMORY)?;
        let address = start + (host as u64 - first);
        let pages = self.memory.pages_of_one(first as usize, rounded as usize);
        let arena = &self.memory.arena;
        let adopted = arena.adopt(pages);
        let mapped = adopted.and_then(|()| arena.map_adopted(first as usize, start, rounded));
        if mapped.is_err() || self.device.map(address, bytes).is_err() {
            let _ = self.device.release(start);
            return Err(Status::INVALID_VALUE);
        }
        self.device.set_written(address, bytes);
        self.memory.insert(
            address,
            Allocation {
                bytes,
                kind: AllocationKind::Registered { host, flags },
                context,
                number: 0,
                pages: Some((start, rounded)),
            },
        );
        Ok(address)
    }

    /// Ends the registration of memory of the host.
    pub(crate) fn unregister(&mut self, host: usize) -> Outcome<()> {
        let unknown = Status::HOST_MEMORY_NOT_REGISTERED;
        let address = *self.memory.registered.get(&host).ok_or(unknown)?;
        self.free(address)
    }

    /// Frees an allocation.
    pub(crate) fn free(&mut self, address: u64) -> Outcome<()> {
        if self.free_graph_memory(address)? {
            return Ok(());
        }
        let invalid = Status::INVALID_VALUE;
        let (start, allocation) = self.memory.find(address).ok_or(invalid)?;
        if start != address || allocation.kind.ends_otherwise() {
            return Err(invalid);
        }
        let allocation = self.memory.remove(address).ok_or(invalid)?;
        let (start, bytes) = allocation.pages.unwrap_or((address, allocation.bytes));
        let arena = &self.memory.arena;
        if let AllocationKind::Registered { host, .. } = allocation.kind {
            let page = page_bytes() as usize;
            let pages = self.memory.pages_of_one(host / page * page, bytes as usize);
            let abandoned = arena.abandon(pages);
            let replaced = abandoned.and_then(|()| arena.replace(start, bytes, None));
            replaced.map_err(|_| Status::UNMAP_FAILED)?;
            self.device.unmap(address).map_err(|_| invalid)?;
            return self.device.release(start).map_err(|_| invalid);
        } else if allocation.kind.is_exposed() {
            arena
                .expose(start, bytes, false)
                .map_err(|_| Status::UNMAP_FAILED)?;
        } else if allocation.kind == AllocationKind::Shared {
            arena
                .replace(start, bytes, None)
                .map_err(|_| Status::UNMAP_FAILED)?;
            self.opened.retain(|_, opened| opened.address != address);
        }
        self.device.free(start).map_err(|_| invalid)?;
        self.memory.arena.release(start, bytes);
        Ok(())
    }

    /// Allocates rows of bytes, and returns the address and the distance between rows, a multiple of 512 bytes.
    pub(crate) fn allocate_rows(
        &mut self,
        width_bytes: usize,
        height: usize,
    ) -> Outcome<(u64, usize)> {
        let distance = width_bytes
            .checked_next_multiple_of(512)
            .ok_or(Status::INVALID_VALUE)?;
        let bytes = distance.checked_mul(height).ok_or(Status::INVALID_VALUE)?;
        Ok((
            self.allocate(bytes as u64, AllocationKind::Device)?,
            distance,
        ))
    }

    /// The address on the device of an address of the device, or of the host in registered memory.
    pub(crate) fn device_address(&self, pointer: u64) -> Outcome<u64> {
        if self.memory.arena.contains(pointer) {
            return Ok(pointer);
        }
        self.memory
            .registered(pointer as usize)
            .ok_or(Status::INVALID_VALUE)
    }
}

//! Virtual memory management: reserved addresses, and memory that programs map there.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::IntoRawFd as _;

use super::shared_memory::open_shared_file;
use super::{Allocation, AllocationKind, Driver};
use crate::arena::{SHARED_NAME, memory_file};
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// The sizes of memory, of its parts that are mapped, and of reservations are multiples of this number of bytes, as on a GPU.
pub(crate) const GRANULARITY: u64 = 2 << 20;

/// The accesses that a program allows: none, reads, and reads and writes.
pub(crate) const NO_ACCESS: u32 = 0;
pub(crate) const READ_ACCESS: u32 = 1;
pub(crate) const WRITE_ACCESS: u32 = 3;

/// What memory consists of.
#[derive(Debug)]
enum Pages {
    /// The pages of reserved addresses of the device that nothing else uses, by the first of them.
    Reserved(u64),
    /// A file, of which other processes may have descriptors.
    Shared(File),
    /// A file that another process, or this one, exported. It is not counted as memory of the device again.
    Imported(File),
}

impl Pages {
    const fn file(&self) -> Option<&File> {
        match self {
            Self::Reserved(_) => None,
            Self::Shared(file) | Self::Imported(file) => Some(file),
        }
    }
}

/// Memory without an address that programs can use, until it is mapped.
#[derive(Debug)]
pub(crate) struct PhysicalMemory {
    pub(crate) bytes: u64,
    pages: Pages,
    /// The properties that the program requested, as it gave them.
    pub(crate) properties: [u8; 32],
    /// How many times the program has to release it. All of its handles are the same number.
    handles: u64,
    /// The addresses at which parts of it are mapped now.
    mapped: Vec<u64>,
    /// Whether a part was mapped, so that it may have contents.
    was_mapped: bool,
}

impl Kind for PhysicalMemory {
    const NUMBER: usize = 8;
    const UNKNOWN: Status = Status::INVALID_VALUE;
}

/// A part of the memory at an address.
#[derive(Copy, Clone, Debug)]
struct Mapping {
    bytes: u64,
    memory: Raw,
    /// What the device and the program may do there.
    device_access: u32,
    host_access: u32,
}

/// What is reserved and mapped.
#[derive(Debug, Default)]
pub(crate) struct VirtualMemory {
    /// The bytes of each reservation, by its address.
    reservations: BTreeMap<u64, u64>,
    /// The mapped parts, by their addresses.
    mappings: BTreeMap<u64, Mapping>,
}

impl VirtualMemory {
    /// The mapped part that contains an address.
    fn mapping(&self, address: u64) -> Outcome<&Mapping> {
        let part = self.mappings.range(..=address).next_back();
        let part = part.filter(|(start, mapping)| address - *start < mapping.bytes);
        part.map(|(_, mapping)| mapping)
            .ok_or(Status::INVALID_VALUE)
    }

    /// The addresses of the mapped parts of which a range consists.
    fn parts(&self, address: u64, bytes: u64) -> Outcome<Vec<u64>> {
        let end = address.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
        let mut next = address;
        let mut parts = Vec::new();
        while next < end {
            let mapping = self.mappings.get(&next).ok_or(Status::INVALID_VALUE)?;
            parts.push(next);
            next += mapping.bytes;
        }
        if next == end && bytes > 0 {
            Ok(parts)
        } else {
            Err(Status::INVALID_VALUE)
        }
    }
}

/// Fails unless a size is a multiple of the granularity, and not 0.
fn check_size(bytes: u64) -> Outcome<()> {
    if bytes == 0 || !bytes.is_multiple_of(GRANULARITY) {
        return Err(Status::INVALID_VALUE);
    }
    Ok(())
}

impl Driver {
    /// Reserves addresses, and returns the first one.
    pub(crate) fn reserve_addresses(&mut self, bytes: u64, alignment: u64) -> Outcome<u64> {
        check_size(bytes)?;
        if alignment != 0 && !alignment.is_power_of_two() {
            return Err(Status::INVALID_VALUE);
        }
        let start = self.device.reserve(bytes, alignment.max(GRANULARITY));
        let start = start.ok_or(Status::OUT_OF_MEMORY)?;
        self.virtual_memory.reservations.insert(start, bytes);
        Ok(start)
    }

    /// Ends a reservation, in which nothing is mapped.
    pub(crate) fn free_addresses(&mut self, address: u64, bytes: u64) -> Outcome<()> {
        let virtual_memory = &mut self.virtual_memory;
        let mapped = virtual_memory.mappings.range(address..);
        let is_used = mapped.take(1).any(|(start, _)| start - address < bytes);
        if virtual_memory.reservations.get(&address) != Some(&bytes) || is_used {
            return Err(Status::INVALID_VALUE);
        }
        virtual_memory.reservations.remove(&address);
        let released = self.device.release(address);
        released.map_err(|_| Status::INVALID_VALUE)
    }

    /// Creates memory, which is mapped nowhere.
    pub(crate) fn create_memory(
        &mut self,
        bytes: u64,
        properties: [u8; 32],
        is_shared: bool,
    ) -> Outcome<Raw> {
        check_size(bytes)?;
        if bytes > self.memory.total - self.memory.used {
            return Err(Status::OUT_OF_MEMORY);
        }
        let out_of_memory = Status::OUT_OF_MEMORY;
        let pages = if is_shared {
            let file = memory_file(SHARED_NAME, bytes).map_err(|_| out_of_memory)?;
            Pages::Shared(file.into())
        } else {
            let pages = self.device.reserve(bytes, GRANULARITY);
            Pages::Reserved(pages.ok_or(out_of_memory)?)
        };
        self.memory.used += bytes;
        Ok(self.insert_memory(bytes, properties, pages))
    }

    fn insert_memory(&mut self, bytes: u64, properties: [u8; 32], pages: Pages) -> Raw {
        // The contents of memory of another process are not known.
        let was_mapped = matches!(pages, Pages::Imported(_));
        self.physical_memory.insert(PhysicalMemory {
            bytes,
            pages,
            properties,
            handles: 1,
            mapped: Vec::new(),
            was_mapped,
        })
    }

    /// A new descriptor of memory that was created to be shared, which the program closes. Another process may write it from now on.
    pub(crate) fn export_memory(&mut self, memory: Raw) -> Outcome<i32> {
        let physical = self.physical_memory.get_mut(memory)?;
        let file = physical.pages.file().ok_or(Status::INVALID_VALUE)?;
        let descriptor = file.try_clone().map_err(|_| Status::OPERATING_SYSTEM)?;
        physical.was_mapped = true;
        self.set_written_where_mapped(memory)?;
        Ok(descriptor.into_raw_fd())
    }

    /// The memory of which a descriptor was exported.
    pub(crate) fn import_memory(
        &mut self,
        descriptor: usize,
        properties: [u8; 32],
    ) -> Outcome<Raw> {
        let file = open_shared_file(descriptor).ok_or(Status::INVALID_VALUE)?;
        let bytes = file.metadata().map_err(|_| Status::OPERATING_SYSTEM)?.len();
        check_size(bytes)?;
        Ok(self.insert_memory(bytes, properties, Pages::Imported(file)))
    }

    /// Releases a handle of memory.
    pub(crate) fn release_memory(&mut self, memory: Raw) -> Outcome<()> {
        let physical = self.physical_memory.get_mut(memory)?;
        let left = physical.handles.checked_sub(1);
        physical.handles = left.ok_or(Status::INVALID_VALUE)?;
        self.free_unused_memory(memory)
    }

    /// Frees memory if it has no handles and is mapped nowhere.
    fn free_unused_memory(&mut self, memory: Raw) -> Outcome<()> {
        let physical = self.physical_memory.get(memory)?;
        if physical.handles > 0 || !physical.mapped.is_empty() {
            return Ok(());
        }
        let PhysicalMemory { bytes, pages, .. } = self.physical_memory.remove(memory)?;
        match pages {
            Pages::Imported(_) => Ok(()),
            Pages::Shared(_) => {
                self.memory.used -= bytes;
                Ok(())
            }
            Pages::Reserved(pages) => {
                self.memory.used -= bytes;
                self.memory.arena.release(pages, bytes);
                let released = self.device.release(pages);
                released.map_err(|_| Status::INVALID_VALUE)
            }
        }
    }

    /// The memory that is mapped at an address, with one more handle.
    pub(crate) fn retain_memory(&mut self, address: u64) -> Outcome<Raw> {
        let memory = self.virtual_memory.mapping(address)?.memory;
        self.physical_memory.get_mut(memory)?.handles += 1;
        Ok(memory)
    }

    /// Maps a part of memory at reserved addresses. Nothing may access it there until [`set_access`](Self::set_access) allows that.
    pub(crate) fn map_memory(
        &mut self,
        address: u64,
        bytes: u64,
        offset: u64,
        memory: Raw,
    ) -> Outcome<()> {
        let invalid = Status::INVALID_VALUE;
        check_size(bytes)?;
        let end = address.checked_add(bytes).ok_or(invalid)?;
        let virtual_memory = &mut self.virtual_memory;
        let reservation = virtual_memory.reservations.range(..=address).next_back();
        let (start, reserved) = reservation.ok_or(invalid)?;
        let is_used = (virtual_memory.mappings.range(..end).next_back())
            .is_some_and(|(start, mapping)| start + mapping.bytes > address);
        let physical = self.physical_memory.get_mut(memory)?;
        let fits = offset
            .checked_add(bytes)
            .is_some_and(|end| end <= physical.bytes);
        let is_aligned = [address, offset]
            .iter()
            .all(|n| n.is_multiple_of(GRANULARITY));
        if end - start > *reserved || is_used || !fits || !is_aligned {
            return Err(invalid);
        }
        let arena = &self.memory.arena;
        let mapped = match &physical.pages {
            Pages::Reserved(pages) => arena.map(address, pages + offset, bytes),
            Pages::Shared(file) | Pages::Imported(file) => {
                arena.replace(address, bytes, Some((file, offset)))
            }
        };
        mapped.map_err(|_| Status::OUT_OF_MEMORY)?;
        physical.mapped.push(address);
        let mapping = Mapping {
            bytes,
            memory,
            device_access: NO_ACCESS,
            host_access: NO_ACCESS,
        };
        virtual_memory.mappings.insert(address, mapping);
        Ok(())
    }

    /// Ends the mappings of which a range consists.
    pub(crate) fn unmap_memory(&mut self, address: u64, bytes: u64) -> Outcome<()> {
        for part in self.virtual_memory.parts(address, bytes)? {
            self.set_access_of_part(part, true, NO_ACCESS)?;
            self.set_access_of_part(part, false, NO_ACCESS)?;
            let mapping = self.virtual_memory.mappings.remove(&part);
            let mapping = mapping.ok_or(Status::INVALID_VALUE)?;
            let unmapped = self.memory.arena.map(part, part, mapping.bytes);
            unmapped.map_err(|_| Status::UNMAP_FAILED)?;
            let physical = self.physical_memory.get_mut(mapping.memory)?;
            physical.mapped.retain(|address| *address != part);
            self.free_unused_memory(mapping.memory)?;
        }
        Ok(())
    }

    /// Sets what the device, or the program, may do in the mappings of which a range consists.
    pub(crate) fn set_access(
        &mut self,
        address: u64,
        bytes: u64,
        of_device: bool,
        access: u32,
    ) -> Outcome<()> {
        if !matches!(access, NO_ACCESS | READ_ACCESS | WRITE_ACCESS) {
            return Err(Status::INVALID_VALUE);
        }
        for part in self.virtual_memory.parts(address, bytes)? {
            self.set_access_of_part(part, of_device, access)?;
        }
        Ok(())
    }

    fn set_access_of_part(&mut self, address: u64, of_device: bool, access: u32) -> Outcome<()> {
        let invalid = Status::INVALID_VALUE;
        let mapping = self.virtual_memory.mappings.get_mut(&address);
        let mapping = mapping.ok_or(invalid)?;
        let place = if of_device {
            &mut mapping.device_access
        } else {
            &mut mapping.host_access
        };
        let previous = std::mem::replace(place, access);
        let is_change = (previous == NO_ACCESS) != (access == NO_ACCESS);
        let mapping = *mapping;
        match (is_change, of_device, access != NO_ACCESS) {
            (false, ..) => Ok(()),
            (true, true, true) => self.begin_allocation(address, mapping),
            (true, true, false) => {
                self.memory.remove(address);
                self.device.unmap(address).map_err(|_| invalid)
            }
            (true, false, is_allowed) => {
                let arena = &self.memory.arena;
                let exposed = arena.expose(address, mapping.bytes, is_allowed);
                exposed.map_err(|_| Status::OUT_OF_MEMORY)?;
                let physical = self.physical_memory.get_mut(mapping.memory)?;
                physical.was_mapped = true;
                self.set_written_where_mapped(mapping.memory)
            }
        }
    }

    /// Makes a mapped part an allocation.
    fn begin_allocation(&mut self, address: u64, mapping: Mapping) -> Outcome<()> {
        let context = self.owning_context();
        let mapped = self.device.map(address, mapping.bytes);
        mapped.map_err(|_| Status::INVALID_VALUE)?;
        let allocation = Allocation {
            bytes: mapping.bytes,
            kind: AllocationKind::Mapped,
            context,
            number: 0,
            pages: None,
        };
        self.memory.insert(address, allocation);
        let physical = self.physical_memory.get_mut(mapping.memory)?;
        if std::mem::replace(&mut physical.was_mapped, true) {
            self.set_written_where_mapped(mapping.memory)?;
        }
        Ok(())
    }

    /// Marks memory as initialized at all of its addresses, since it may be written through another one.
    fn set_written_where_mapped(&mut self, memory: Raw) -> Outcome<()> {
        for address in &self.physical_memory.get(memory)?.mapped {
            let mapping = self.virtual_memory.mapping(*address)?;
            if mapping.device_access != NO_ACCESS {
                self.device.set_written(*address, mapping.bytes);
            }
        }
        Ok(())
    }

    /// What the device, or the program, may do at an address where memory is mapped.
    pub(crate) fn access(&self, address: u64, of_device: bool) -> Outcome<u32> {
        let mapping = self.virtual_memory.mapping(address)?;
        Ok(if of_device {
            mapping.device_access
        } else {
            mapping.host_access
        })
    }
}

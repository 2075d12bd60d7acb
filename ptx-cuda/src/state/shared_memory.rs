//! Memory that processes share: a handle names the process, the descriptor of the memory of its device, and the allocation in it. Another process maps the pages at another address.

use std::fs::{self, File, OpenOptions};

use super::Driver;
use super::memory::{Allocation, AllocationKind};
use crate::arena::{LARGE_PAGE, NAME, SHARED_NAME, START};
use crate::status::{Outcome, Status};

/// What a handle of memory says.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SharedMemory {
    process: u32,
    descriptor: i32,
    /// The first address of the allocation in that process.
    address: u64,
    bytes: u64,
}

/// Memory of another process that this one opened.
#[derive(Debug)]
pub(crate) struct OpenedMemory {
    pub(crate) address: u64,
    /// How often it was opened and not closed.
    count: u32,
}

/// The bytes of a handle.
pub(crate) const HANDLE_BYTES: usize = 64;

/// What the memory of a handle contains.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// An allocation of the program.
    Allocation,
    /// The numbers of the records of an event.
    Event,
}

impl Content {
    /// The first bytes of handles.
    const fn magic(self) -> [u8; 8] {
        match self {
            Self::Allocation => *b"ptxkit-1",
            Self::Event => *b"ptxkit-e",
        }
    }
}

impl SharedMemory {
    /// The memory of this process at an address.
    pub(super) fn of_this_process(descriptor: i32, address: u64, bytes: u64) -> Self {
        Self {
            process: std::process::id(),
            descriptor,
            address,
            bytes,
        }
    }

    /// The bytes of the handle.
    pub(crate) fn to_bytes(self, content: Content) -> [u8; HANDLE_BYTES] {
        let mut bytes = [0; HANDLE_BYTES];
        let fields = [
            &content.magic()[..],
            &self.process.to_le_bytes(),
            &self.descriptor.to_le_bytes(),
            &self.address.to_le_bytes(),
            &self.bytes.to_le_bytes(),
        ];
        for (place, byte) in bytes.iter_mut().zip(fields.concat()) {
            *place = byte;
        }
        bytes
    }

    /// Reads the bytes of a handle.
    pub(crate) fn from_bytes(bytes: &[u8; HANDLE_BYTES], content: Content) -> Option<Self> {
        let (magic, fields) = bytes.split_first_chunk()?;
        let (process, fields) = fields.split_first_chunk()?;
        let (descriptor, fields) = fields.split_first_chunk()?;
        let (address, fields) = fields.split_first_chunk()?;
        let (size, _) = fields.split_first_chunk()?;
        (*magic == content.magic()).then_some(Self {
            process: u32::from_le_bytes(*process),
            descriptor: i32::from_le_bytes(*descriptor),
            address: u64::from_le_bytes(*address),
            bytes: u64::from_le_bytes(*size),
        })
    }

    /// The first byte in the file that has to be mapped, and the number of bytes.
    fn pages(&self) -> Option<(u64, u64)> {
        let first = self.address.checked_sub(START)?;
        let end = first.checked_add(self.bytes)?;
        let offset = first / LARGE_PAGE * LARGE_PAGE;
        Some((offset, end.checked_next_multiple_of(LARGE_PAGE)? - offset))
    }

    /// Opens the memory of the process. Fails if the process ended, or if the descriptor is that of something else.
    fn open(&self, end: u64) -> Option<File> {
        let path = format!("/proc/{}/fd/{}", self.process, self.descriptor);
        if !is_memory_file(&path, NAME) {
            return None;
        }
        let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        (end <= file.metadata().ok()?.len()).then_some(file)
    }
}

/// Whether the descriptor that a path in `/proc` names is one of a file in memory with a name.
fn is_memory_file(path: &str, name: &str) -> bool {
    let link = fs::read_link(path).unwrap_or_default();
    let prefix = format!("/memfd:{name}");
    link.to_str().is_some_and(|link| link.starts_with(&prefix))
}

/// Whether a descriptor of this process is one of the memory of a device.
pub(crate) fn is_descriptor_of_device(descriptor: usize) -> bool {
    is_memory_file(&format!("/proc/self/fd/{descriptor}"), NAME)
}

/// The file of memory that processes share, of which the program has a descriptor.
pub(super) fn open_shared_file(descriptor: usize) -> Option<File> {
    let path = format!("/proc/self/fd/{descriptor}");
    if !is_memory_file(&path, SHARED_NAME) {
        return None;
    }
    OpenOptions::new().read(true).write(true).open(path).ok()
}

impl Driver {
    /// The handle of the allocation that contains an address.
    pub(crate) fn share(&self, address: u64) -> Outcome<SharedMemory> {
        let allocation = self.memory.find(address);
        let (start, allocation) = allocation.ok_or(Status::INVALID_VALUE)?;
        if allocation.kind != AllocationKind::Device {
            return Err(Status::INVALID_VALUE);
        }
        let descriptor = self.memory.arena.descriptor();
        Ok(SharedMemory::of_this_process(
            descriptor,
            start,
            allocation.bytes,
        ))
    }

    /// Opens memory of another process, and returns its address.
    pub(crate) fn open_shared(&mut self, shared: SharedMemory) -> Outcome<u64> {
        let context = self.owning_context();
        if let Some(opened) = self.opened.get_mut(&shared) {
            opened.count += 1;
            return Ok(opened.address);
        }
        let (address, pages) = self.map_shared(shared)?;
        self.memory.insert(
            address,
            Allocation {
                bytes: shared.bytes,
                kind: AllocationKind::Shared,
                context,
                number: 0,
                pages: Some(pages),
            },
        );
        let opened = OpenedMemory { address, count: 1 };
        self.opened.insert(shared, opened);
        Ok(address)
    }

    /// Maps memory of another process. Returns its address, and the first address and the size of the pages.
    pub(super) fn map_shared(&mut self, shared: SharedMemory) -> Outcome<(u64, (u64, u64))> {
        if shared.process == std::process::id() {
            return Err(Status::INVALID_CONTEXT);
        }
        let invalid = Status::INVALID_VALUE;
        let (offset, bytes) = shared
            .pages()
            .filter(|(_, bytes)| *bytes > 0)
            .ok_or(invalid)?;
        let file = shared.open(offset.saturating_add(bytes)).ok_or(invalid)?;
        let start = self.device.allocate_aligned(bytes, LARGE_PAGE);
        let start = start.ok_or(Status::OUT_OF_MEMORY)?;
        let mapped = self
            .memory
            .arena
            .replace(start, bytes, Some((&file, offset)));
        if mapped.is_err() {
            let _ = self.memory.arena.replace(start, bytes, None);
            let _ = self.device.free(start);
            return Err(Status::MAP_FAILED);
        }
        // The other process may have written all of it.
        self.device.set_written(start, bytes);
        let address = start + (shared.address - START - offset);
        Ok((address, (start, bytes)))
    }

    /// Closes memory of another process, once for each time that it was opened.
    pub(crate) fn close_shared(&mut self, address: u64) -> Outcome<()> {
        let mut all = self.opened.values_mut();
        let opened = all.find(|opened| opened.address == address);
        let opened = opened.ok_or(Status::INVALID_VALUE)?;
        opened.count -= 1;
        if opened.count > 0 {
            return Ok(());
        }
        self.free(address)
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, SharedMemory};

    #[test]
    fn a_handle_has_all_fields() {
        let shared = SharedMemory {
            process: 77,
            descriptor: 5,
            address: 0x6000_0001_2340,
            bytes: 0x2_0000,
        };
        let bytes = shared.to_bytes(Content::Allocation);
        let read = |content| SharedMemory::from_bytes(&bytes, content);
        assert_eq!(read(Content::Allocation), Some(shared));
        assert_eq!(read(Content::Event), None);
        assert_eq!(shared.pages(), Some((0x1_0000, 0x3_0000)));
        assert_eq!(SharedMemory::from_bytes(&[0; 64], Content::Event), None);
    }
}

//! The records of events, which processes can share: their numbers are then in memory of the device of one process, which the others map.

use std::sync::atomic::{AtomicU32, Ordering};

use ptx_vm::{HostPage, PageSource as _};

use super::shared_memory::SharedMemory;
use super::{Driver, Event};
use crate::arena::{ArenaPages, LARGE_PAGE};
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// How many records of an event were appended to streams, and how many of them were performed.
#[derive(Default)]
pub(crate) struct Records {
    requested: AtomicU32,
    completed: AtomicU32,
    shared: Option<SharedRecords>,
}

/// Where processes share the numbers: the first words of a page.
struct SharedRecords {
    page: HostPage,
    /// The address of the page on the device of this process.
    address: u64,
    /// Whether the page is memory of another process.
    is_opened: bool,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("requested", &self.requested())
            .field("completed", &self.completed())
            .finish_non_exhaustive()
    }
}

impl Records {
    /// The numbers of requested and of completed records.
    fn numbers(&self) -> [&AtomicU32; 2] {
        let page = self.shared.as_ref();
        match page.map(|shared| shared.page.as_ref().as_ref()) {
            Some([requested, completed, ..]) => [requested, completed],
            _ => [&self.requested, &self.completed],
        }
    }

    /// The number of records that were appended to streams.
    pub(super) fn requested(&self) -> u64 {
        self.numbers()[0].load(Ordering::Acquire).into()
    }

    /// The number of records that were performed.
    pub(super) fn completed(&self) -> u64 {
        self.numbers()[1].load(Ordering::Acquire).into()
    }

    /// Whether all records were performed.
    pub(super) fn are_complete(&self) -> bool {
        self.completed() >= self.requested()
    }

    /// Appends a record to a stream that cannot perform it yet.
    pub(super) fn request(&self) {
        self.numbers()[0].fetch_add(1, Ordering::AcqRel);
    }

    /// Performs a record.
    pub(super) fn complete(&self) {
        let [requested, completed] = self.numbers();
        let number = completed.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        requested.fetch_max(number, Ordering::AcqRel);
    }

    /// Moves the numbers to a page that processes share. If another process owns it, its numbers are those of the event.
    fn share(&mut self, shared: SharedRecords) {
        let [requested, completed] = [self.requested(), self.completed()];
        let is_opened = shared.is_opened;
        self.shared = Some(shared);
        if !is_opened {
            let numbers = self.numbers();
            numbers[0].store(requested as u32, Ordering::Release);
            numbers[1].store(completed as u32, Ordering::Release);
        }
    }
}

impl Driver {
    /// The memory with the records of an event, for other processes.
    pub(crate) fn share_event(&mut self, event: Raw) -> Outcome<SharedMemory> {
        let records = &self.events.get(event)?.records;
        let is_for_processes = self.events.get(event)?.flags & Event::INTERPROCESS != 0;
        let address = match &records.shared {
            Some(shared) if !shared.is_opened => shared.address,
            None if is_for_processes => {
                let address = self.device.allocate_aligned(LARGE_PAGE, LARGE_PAGE);
                let address = address.ok_or(Status::OUT_OF_MEMORY)?;
                self.share_records(event, address, false)?;
                address
            }
            _ => return Err(Status::INVALID_HANDLE),
        };
        let descriptor = self.memory.arena.descriptor();
        Ok(SharedMemory::of_this_process(
            descriptor, address, LARGE_PAGE,
        ))
    }

    /// Creates an event whose records are those of an event of another process.
    pub(crate) fn open_event(&mut self, shared: SharedMemory) -> Outcome<Raw> {
        let event = self.create_event(Event::INTERPROCESS | Event::DISABLE_TIMING)?;
        let mapped = self.map_shared(shared);
        let opened = mapped.and_then(|(address, _)| self.share_records(event, address, true));
        if opened.is_err() {
            self.events.remove(event)?;
        }
        opened.map(|()| event)
    }

    /// Moves the records of an event to a page of the device.
    fn share_records(&mut self, event: Raw, address: u64, is_opened: bool) -> Outcome<()> {
        let pages = ArenaPages(self.memory.arena.clone());
        let page = pages.page(address).ok_or(Status::INVALID_VALUE)?;
        let event = self.events.get_mut(event)?;
        event.records.share(SharedRecords {
            page,
            address,
            is_opened,
        });
        Ok(())
    }

    /// Whether other processes can record or wait for any event.
    pub(crate) fn has_shared_events(&self) -> bool {
        let mut events = self.events.iter();
        events.any(|(_, event)| event.records.shared.is_some())
    }

    /// Destroys an event.
    pub(crate) fn destroy_event(&mut self, event: Raw) -> Outcome<()> {
        let event = self.events.remove(event)?;
        let Some(shared) = event.records.shared else {
            return Ok(());
        };
        let arena = &self.memory.arena;
        if shared.is_opened {
            let unmapped = arena.replace(shared.address, LARGE_PAGE, None);
            unmapped.map_err(|_| Status::UNMAP_FAILED)?;
        }
        let freed = self.device.free(shared.address);
        freed.map_err(|_| Status::INVALID_VALUE)?;
        self.memory.arena.release(shared.address, LARGE_PAGE);
        Ok(())
    }
}

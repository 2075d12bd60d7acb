//! Global memory: pages that are allocated on first use and can be shared by host threads.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::Fault;
use super::free_ranges::FreeRanges;
use super::multicast::Multicasts;
use super::pages::{Frozen, PAGE_BYTES, Page, PageSource};
use crate::account::{Account, Purpose};
use crate::error::StopReason;

/// Bytes of a page.
pub(super) const PAGE: u64 = PAGE_BYTES as u64;
/// Allocations begin at its multiples, as those of the driver do.
const ALIGN: u64 = 256;
/// The bytes of memory after the last allocation. As between allocations, only a checker finds accesses there.
const MARGIN: u64 = 64 << 10;

/// Pages of a part, whose list exists from the first write to it on.
const PART: u64 = 1 << 10;
/// Bytes of the list of a part.
const LIST: u64 = PART * size_of::<Cell>() as u64;

type Cell = OnceLock<Page>;
type Part = OnceLock<Box<[Cell]>>;

/// The contents of a page that was never written. It is only read.
static ZEROS: [AtomicU32; (PAGE / 4) as usize] = [const { AtomicU32::new(0) }; (PAGE / 4) as usize];

/// The size of addresses, which decides where global memory begins.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum AddressSize {
    /// 32 bits: memory begins at `0x1000_0000` and ends before `0xffff_0000`.
    Bits32,
    /// 64 bits: memory begins at `0x6000_0000_0000` and has at most 1 TiB.
    #[default]
    Bits64,
}

impl AddressSize {
    /// The first address of global memory.
    const fn start(self) -> u64 {
        match self {
            Self::Bits32 => 0x1000_0000,
            Self::Bits64 => 0x6000_0000_0000,
        }
    }

    /// One past the last address that global memory may have.
    const fn end(self) -> u64 {
        match self {
            Self::Bits32 => 0xffff_0000,
            Self::Bits64 => self.start() + (1 << 40),
        }
    }
}

/// The memory of the device.
///
/// A page is looked up in `parts`, which this memory alone uses, and then among those that are shared with snapshots, which are copied before they are written:
///
/// ```text
/// parts ─▶ │ part │ part │ …       PART pages each
///             └─▶ │ page │ page │ …
/// frozen ─▶ number of a page ─▶ page
/// ```
#[derive(Debug)]
pub(crate) struct GlobalMemory {
    size: AddressSize,
    /// The first address.
    start: u64,
    parts: Vec<Part>,
    /// The pages that are shared with snapshots.
    frozen: Frozen,
    /// One past the last address of allocations and the gaps after them.
    end: u64,
    /// One past the last address that threads may access without an error.
    limit: u64,
    /// The ranges before `end` that are not allocated.
    free: FreeRanges,
    /// The ranges of multimem addresses.
    multicasts: Multicasts,
    /// Pages that the caller provides.
    source: Option<Arc<dyn PageSource>>,
    account: Arc<Account>,
}

/// A copy of global memory, which shares its pages.
#[derive(Clone, Debug)]
pub(crate) struct MemorySnapshot {
    frozen: Frozen,
    end: u64,
    free: FreeRanges,
    multicasts: Multicasts,
}

impl GlobalMemory {
    /// Bytes of a page.
    pub(crate) const PAGE: u64 = PAGE;

    /// Memory without allocations.
    pub(crate) fn new(size: AddressSize, source: Option<Arc<dyn PageSource>>) -> Self {
        let account = Arc::default();
        Self {
            size,
            start: size.start(),
            parts: Vec::new(),
            frozen: Frozen::default(),
            end: size.start(),
            limit: size.start(),
            free: FreeRanges::default(),
            multicasts: Multicasts::default(),
            source,
            account,
        }
    }

    /// The size of addresses.
    pub(crate) const fn address_size(&self) -> AddressSize {
        self.size
    }

    /// The first address.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// One past the last address that threads may access without an error.
    #[expect(
        clippy::misnamed_getters,
        reason = "the field `end` is where allocations end"
    )]
    pub(crate) const fn end(&self) -> u64 {
        self.limit
    }

    /// Sets one past the last address of allocations.
    fn set_end(&mut self, end: u64) {
        self.end = end;
        self.limit = if end == self.start {
            end
        } else {
            (end + MARGIN).min(self.size.end())
        };
        let parts = (self.limit - self.start).div_ceil(PAGE * PART) as usize;
        if parts > self.parts.len() {
            self.parts.resize_with(parts, Part::default);
        }
    }

    /// The address of a new allocation of zeros, apart from others; `None` if there is no memory with that many bytes. The alignment is a power of two.
    pub(crate) fn allocate(&mut self, bytes: u64, align: u64) -> Option<u64> {
        let align = align.max(ALIGN);
        let footprint = footprint(bytes)?;
        if let Some(start) = self.free.take(footprint, align) {
            // A kernel may have written there after the memory was freed.
            self.clear(start, footprint);
            return Some(start);
        }
        let start = self.end.checked_next_multiple_of(align)?;
        let end = start.checked_add(footprint)?;
        if end > self.size.end() {
            return None;
        }
        self.free.insert(self.end, start);
        self.set_end(end);
        Some(start)
    }

    /// Frees an allocation of `bytes` bytes, which begins at an address. A later allocation may use its memory.
    pub(crate) fn free(&mut self, address: u64, bytes: u64) {
        let Some(footprint) = footprint(bytes) else {
            return;
        };
        self.drop_pages(address, footprint);
        self.free.insert(address, address + footprint);
    }

    /// Drops the pages that are within a range. Their contents become zero, unless the source of pages keeps them.
    pub(crate) fn drop_pages(&mut self, address: u64, bytes: u64) {
        let first = (address - self.start).div_ceil(PAGE);
        let end = (address + bytes - self.start) / PAGE;
        for number in first..end {
            let part = self.parts.get_mut((number / PART) as usize);
            let cells = part.and_then(OnceLock::get_mut);
            let cell = cells.and_then(|cells| cells.get_mut((number % PART) as usize));
            if let Some(Page::Own(_)) = cell.and_then(OnceLock::take) {
                self.account.release(PAGE);
            }
        }
        self.frozen.remove(first..end);
    }

    /// Sets the bytes of a range to zero.
    fn clear(&mut self, address: u64, bytes: u64) {
        self.drop_pages(address, bytes);
        let zeros = [0; PAGE_BYTES];
        let mut position = address;
        let end = address + bytes;
        while position < end {
            let page_end = (position - (position - self.start) % PAGE) + PAGE;
            let next = page_end.min(end);
            // A page that was never written stays without memory of the host. Writing zeros to one that exists cannot fail.
            let _ = self.write_bytes(position, &zeros[..(next - position) as usize]);
            position = next;
        }
    }

    /// A copy of the memory. Linear in the number of pages that were written since the last snapshot; the pages themselves are shared.
    pub(crate) fn snapshot(&mut self) -> MemorySnapshot {
        let mut copies = Vec::new();
        for (part_index, part) in (0u64..).zip(&mut self.parts) {
            let cells = part.get_mut().map_or(&mut [][..], |cells| &mut cells[..]);
            for (index, cell) in (0u64..).zip(cells) {
                let number = part_index * PART + index;
                match cell.take() {
                    Some(Page::Own(words)) => self.frozen.insert(number, words, &self.account),
                    Some(Page::Host(page)) => {
                        copies.push((number, Page::copy_of(page.as_ref().as_ref())));
                        let _ = cell.set(Page::Host(page));
                    }
                    None => {}
                }
            }
        }
        let mut frozen = self.frozen.clone();
        for (number, words) in copies {
            self.account.note(PAGE, Purpose::GlobalMemory);
            frozen.insert(number, words, &self.account);
        }
        MemorySnapshot {
            frozen,
            end: self.end,
            free: self.free.clone(),
            multicasts: self.multicasts.clone(),
        }
    }

    /// Sets the memory to the contents of a snapshot. Linear in the number of pages that were written since then; if the caller provides pages, in the number of pages.
    pub(crate) fn restore(&mut self, snapshot: &MemorySnapshot) {
        self.set_end(snapshot.end);
        self.free = snapshot.free.clone();
        self.multicasts = snapshot.multicasts.clone();
        self.frozen = snapshot.frozen.clone();
        if self.source.is_some() {
            for number in snapshot.frozen.numbers() {
                self.other_page(self.start + number * PAGE, number);
            }
        }
        for (part_index, part) in (0u64..).zip(&mut self.parts) {
            let cells = part.get_mut().map_or(&mut [][..], |cells| &mut cells[..]);
            for (index, cell) in (0u64..).zip(cells) {
                if let Some(Page::Host(page)) = cell.get() {
                    let number = part_index * PART + index;
                    let saved = snapshot.frozen.get(number).unwrap_or(&ZEROS);
                    for (word, saved) in page.as_ref().as_ref().iter().zip(saved) {
                        word.store(saved.load(Ordering::Relaxed), Ordering::Relaxed);
                    }
                } else if cell.take().is_some() {
                    self.account.release(PAGE);
                }
            }
        }
    }

    /// The ranges of multimem addresses.
    pub(crate) const fn multicasts(&self) -> &Multicasts {
        &self.multicasts
    }

    pub(crate) const fn multicasts_mut(&mut self) -> &mut Multicasts {
        &mut self.multicasts
    }

    /// The memory of the host that is used.
    pub(crate) const fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// The reason why an access to bytes at an address is impossible: if it is within the memory, a page for it was refused.
    pub(crate) fn fault(&self, address: u64, bytes: u64) -> Fault {
        let within = address >= self.start && address.saturating_add(bytes) <= self.limit;
        if within {
            Fault::NoMemory
        } else {
            Fault::OutOfBounds(address)
        }
    }

    /// The reason why a launch cannot go on after a fault.
    pub(crate) fn reason(&self, fault: Fault) -> StopReason {
        match fault {
            Fault::NoMemory => self.account.error(Purpose::GlobalMemory, PAGE),
            other => other.into(),
        }
    }

    /// The page of an address, if it was written.
    #[inline]
    pub(super) fn used_page(&self, address: u64) -> Option<&[AtomicU32]> {
        let page = address.checked_sub(self.start)? / PAGE;
        let cell = self
            .parts
            .get((page / PART) as usize)
            .and_then(OnceLock::get)
            .and_then(|cells| cells.get((page % PART) as usize)?.get());
        match cell {
            Some(page) => Some(page.words()),
            None => self.other_page(address, page),
        }
    }

    /// A page that this memory has not written: one that is shared with snapshots, or one of the caller.
    #[inline(never)]
    fn other_page(&self, address: u64, page: u64) -> Option<&[AtomicU32]> {
        if let Some(source) = &self.source
            && address < self.limit
            && let Ok(cell) = self.cell(page)
            && let Some(words) = Page::of_source(&**source, self.start + page * PAGE)
        {
            return Some(cell.get_or_init(|| words).words());
        }
        self.frozen.get(page)
    }

    /// The start of the page of an address, and the number of its words.
    fn extent(&self, address: u64) -> Option<(u64, usize)> {
        let start = address - address.checked_sub(self.start)? % PAGE;
        let available = self.limit.checked_sub(start)?;
        Some((start, available.div_ceil(4).min(PAGE / 4) as usize))
    }

    /// The page of an address for reads, which allocate nothing: where it begins, and its words up to the end of the memory.
    #[inline]
    pub(super) fn readable(&self, address: u64) -> Option<(u64, &[AtomicU32])> {
        let (start, used) = self.extent(address)?;
        let words = self.used_page(address).unwrap_or(&ZEROS);
        Some((start, words.get(..used)?))
    }

    /// The page of an address for writes: where it begins, and its words up to the end of the memory.
    pub(super) fn page(&self, address: u64) -> Result<(u64, &[AtomicU32]), Fault> {
        let fault = Fault::OutOfBounds(address);
        let (start, used) = self.extent(address).ok_or(fault)?;
        let number = (start - self.start) / PAGE;
        let cell = self
            .parts
            .get((number / PART) as usize)
            .and_then(OnceLock::get)
            .and_then(|cells| cells.get((number % PART) as usize)?.get());
        let words = match cell {
            Some(page) => page.words(),
            None => self.new_page(address, number)?,
        };
        Ok((start, words.get(..used).ok_or(fault)?))
    }

    /// Creates a page for writes. It begins as a copy of the one that is shared with snapshots.
    #[cold]
    fn new_page(&self, address: u64, number: u64) -> Result<&[AtomicU32], Fault> {
        if self.source.is_some()
            && self.other_page(address, number).is_some()
            && let Some(page) = self.cell(number)?.get()
        {
            return Ok(page.words());
        }
        let frozen = self.frozen.get(number).unwrap_or(&ZEROS);
        let cell = self.cell(number)?;
        let page = self.get_or_allocate(cell, PAGE, || Page::Own(Page::copy_of(frozen)))?;
        Ok(page.words())
    }

    /// The cell of a page, whose part is allocated.
    fn cell(&self, number: u64) -> Result<&Cell, Fault> {
        let fault = Fault::OutOfBounds(self.start + number * PAGE);
        let part = self.parts.get((number / PART) as usize).ok_or(fault)?;
        let cells =
            self.get_or_allocate(part, LIST, || (0..PART).map(|_| Cell::new()).collect())?;
        cells.get((number % PART) as usize).ok_or(fault)
    }

    /// The contents of a cell, which are allocated if there is enough memory.
    fn get_or_allocate<'c, T>(
        &self,
        cell: &'c OnceLock<T>,
        bytes: u64,
        new: impl FnOnce() -> T,
    ) -> Result<&'c T, Fault> {
        if cell.get().is_none() {
            let account_entry = self.account.take(bytes, Purpose::GlobalMemory);
            account_entry.map_err(|_| Fault::NoMemory)?;
            // Another thread may have been faster.
            if cell.set(new()).is_err() {
                self.account.release(bytes);
            }
        }
        cell.get().ok_or(Fault::NoMemory)
    }

    fn word(&self, address: u64) -> Result<&AtomicU32, Fault> {
        let word = self.readable(address).and_then(|(start, words)| {
            let word_index = (address - start) / 4;
            words.get(word_index as usize)
        });
        word.ok_or(Fault::OutOfBounds(address))
    }

    /// The value of the word at an address.
    #[inline]
    fn load(&self, address: u64) -> Result<u32, Fault> {
        Ok(self.word(address)?.load(Ordering::Relaxed))
    }

    /// A word for a write.
    fn word_mut(&self, address: u64) -> Result<&AtomicU32, Fault> {
        let (start, words) = self.page(address)?;
        let word = words.get(((address - start) / 4) as usize);
        word.ok_or(Fault::OutOfBounds(address))
    }

    /// The value of at most 16 bytes at a multiple of their number.
    #[inline]
    pub(crate) fn read(&self, address: u64, bytes: u8) -> Result<u128, Fault> {
        match bytes {
            4 => Ok(self.load(address)?.into()),
            8 | 16 => {
                let mut value = 0;
                for part in 0..u64::from(bytes) / 4 {
                    value |= u128::from(self.load(address + 4 * part)?) << (32 * part);
                }
                Ok(value)
            }
            _ => {
                let shift = 8 * (address % 4);
                let mask = (1u32 << (8 * bytes)) - 1;
                Ok((self.load(address)? >> shift & mask).into())
            }
        }
    }

    /// Writes at most 16 bytes at a multiple of their number.
    #[inline]
    pub(crate) fn write(&self, address: u64, bytes: u8, value: u128) -> Result<(), Fault> {
        match bytes {
            4 => self
                .word_mut(address)?
                .store(value as u32, Ordering::Relaxed),
            8 | 16 => {
                // Nothing is written if a part is out of bounds.
                self.word_mut(address.wrapping_add(u64::from(bytes) - 4))?;
                for part in 0..u64::from(bytes) / 4 {
                    let bits = (value >> (32 * part)) as u32;
                    self.word_mut(address + 4 * part)?
                        .store(bits, Ordering::Relaxed);
                }
            }
            _ => {
                let shift = 8 * (address % 4);
                let mask = ((1u32 << (8 * bytes)) - 1) << shift;
                let word = self.word_mut(address)?;
                let bits = (value as u32) << shift & mask;
                // The other bytes of the word may be changed at the same time.
                let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| {
                    Some(old & !mask | bits)
                });
            }
        }
        Ok(())
    }
}

/// The bytes of an allocation with the gap after it; `None` if there are too many.
fn footprint(bytes: u64) -> Option<u64> {
    bytes
        .max(1)
        .checked_next_multiple_of(ALIGN)?
        .checked_add(ALIGN)
}

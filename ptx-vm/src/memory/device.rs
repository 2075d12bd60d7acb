//! Global memory: pages that are allocated on first use and can be shared by host threads.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::Fault;
use crate::account::{Account, Purpose};
use crate::error::StopReason;
use crate::lanes::{Double, LANES, lanes};
use crate::program::GLOBAL;

/// Bytes of a page.
pub(super) const PAGE: u64 = 1 << 16;
/// Allocations begin at its multiples, as those of the driver do.
const ALIGN: u64 = 256;

/// Pages of a part, whose list exists from the first write to it on.
const PART: u64 = 1 << 10;
/// Bytes of the list of a part.
const LIST: u64 = PART * size_of::<Page>() as u64;

type Page = OnceLock<Box<[AtomicU32]>>;
type Part = OnceLock<Box<[Page]>>;

/// The contents of a page that was never written. It is only read.
static ZEROS: [AtomicU32; (PAGE / 4) as usize] = [const { AtomicU32::new(0) }; (PAGE / 4) as usize];

/// The memory of the device.
#[derive(Debug, Default)]
pub(crate) struct Device {
    parts: Vec<Part>,
    /// One past the last address in use.
    end: u64,
    account: Arc<Account>,
}

/// The page that was used last, for reads or for writes.
struct Cursor<'d> {
    device: &'d Device,
    writes: bool,
    start: u64,
    words: &'d [AtomicU32],
}

impl<'d> Cursor<'d> {
    const fn new(device: &'d Device, writes: bool) -> Self {
        Self {
            device,
            writes,
            start: 0,
            words: &[],
        }
    }

    /// The index of a word on its page.
    #[inline]
    fn find(&mut self, address: u64) -> Option<usize> {
        let index = address.wrapping_sub(self.start) / 4;
        if index < self.words.len() as u64 {
            return Some(index as usize);
        }
        self.find_on_other_page(address)
    }

    #[cold]
    #[inline(never)]
    fn find_on_other_page(&mut self, address: u64) -> Option<usize> {
        (self.start, self.words) = if self.writes {
            self.device.page(address).ok()?
        } else {
            self.device.readable(address)?
        };
        usize::try_from((address - self.start) / 4).ok()
    }

    fn word(&mut self, address: u64) -> Option<&'d AtomicU32> {
        let index = self.find(address)?;
        self.words.get(index)
    }

    /// The two words at a multiple of eight bytes.
    fn words(&mut self, address: u64) -> Option<[&'d AtomicU32; 2]> {
        let index = self.find(address)?;
        Some([self.words.get(index)?, self.words.get(index + 1)?])
    }
}

impl Device {
    /// Bytes of a page.
    pub(crate) const PAGE: u64 = PAGE;

    /// The last address that memory may have.
    pub(crate) const LAST: u64 = GLOBAL + (1 << 40);

    /// Memory up to an address, at most up to the last one.
    pub(crate) fn new(end: u64) -> Self {
        let mut device = Self {
            parts: Vec::new(),
            end: GLOBAL,
            account: Arc::default(),
        };
        device.grow(end.min(Self::LAST));
        device
    }

    fn grow(&mut self, end: u64) {
        self.end = self.end.max(end);
        let parts = (self.end - GLOBAL).div_ceil(PAGE * PART) as usize;
        if parts > self.parts.len() {
            self.parts.resize_with(parts, Part::default);
        }
    }

    /// One past the last address in use.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// The address of a new allocation, apart from others; `None` beyond 2^40 bytes in total.
    pub(crate) fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let start = (self.end.div_ceil(ALIGN) + 1) * ALIGN;
        let end = start.checked_add(bytes.max(1))?;
        if end > Self::LAST {
            return None;
        }
        self.grow(end);
        Some(start)
    }

    /// The memory of the host that is used.
    pub(crate) const fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// The reason why an access to bytes at an address is impossible: if it is within the memory, a page for it was refused.
    pub(crate) fn fault(&self, address: u64, bytes: u64) -> Fault {
        let limit = self.end.next_multiple_of(4);
        let within = address >= GLOBAL && address.saturating_add(bytes) <= limit;
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
        let page = address.checked_sub(GLOBAL)? / PAGE;
        let part = self.parts.get((page / PART) as usize)?.get()?;
        part.get((page % PART) as usize)?
            .get()
            .map(|words| &**words)
    }

    /// The start of the page of an address, and the number of its words.
    fn extent(&self, address: u64) -> Option<(u64, usize)> {
        let start = address - address.checked_sub(GLOBAL)? % PAGE;
        let available = self.end.checked_sub(start)?;
        Some((start, available.div_ceil(4).min(PAGE / 4) as usize))
    }

    /// The page of an address for reads, which allocate nothing: where it begins, and its words up to the end of the memory.
    #[inline]
    fn readable(&self, address: u64) -> Option<(u64, &[AtomicU32])> {
        let (start, used) = self.extent(address)?;
        let words = self.used_page(address).unwrap_or(&ZEROS);
        Some((start, words.get(..used)?))
    }

    /// The page of an address for writes: where it begins, and its words up to the end of the memory.
    fn page(&self, address: u64) -> Result<(u64, &[AtomicU32]), Fault> {
        let fault = Fault::OutOfBounds(address);
        let (start, used) = self.extent(address).ok_or(fault)?;
        let words = match self.used_page(address) {
            Some(words) => words,
            None => self.new_page(address)?,
        };
        Ok((start, words.get(..used).ok_or(fault)?))
    }

    /// Allocates the page of an address.
    #[cold]
    fn new_page(&self, address: u64) -> Result<&[AtomicU32], Fault> {
        let fault = Fault::OutOfBounds(address);
        let page = address.checked_sub(GLOBAL).ok_or(fault)? / PAGE;
        let part = self.parts.get((page / PART) as usize).ok_or(fault)?;
        let list = self.get_or_allocate(part, LIST, || (0..PART).map(|_| Page::new()).collect())?;
        let page = list.get((page % PART) as usize).ok_or(fault)?;
        self.get_or_allocate(page, PAGE, || {
            (0..PAGE / 4).map(|_| AtomicU32::new(0)).collect()
        })
    }

    /// The contents of a cell, which are allocated if there is enough memory.
    fn get_or_allocate<'c, T>(
        &self,
        cell: &'c OnceLock<Box<[T]>>,
        bytes: u64,
        new: impl FnOnce() -> Box<[T]>,
    ) -> Result<&'c [T], Fault> {
        if cell.get().is_none() {
            let account_entry = self.account.take(bytes, Purpose::GlobalMemory);
            account_entry.map_err(|_| Fault::NoMemory)?;
            // Another thread may have been faster.
            if cell.set(new()).is_err() {
                self.account.release(bytes);
            }
        }
        cell.get().map(Box::as_ref).ok_or(Fault::NoMemory)
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

    /// Reads values of 1, 2, 4 or 8 bytes at the address of each lane of a mask, at multiples of their number. The error is the first lane whose address is
    /// out of bounds.
    pub(crate) fn read_lanes(
        &self,
        addresses: &Double,
        bytes: u8,
        mask: u32,
    ) -> Result<Double, usize> {
        let mut values = [0; LANES];
        let mut cursor = Cursor::new(self, false);
        match bytes {
            4 => {
                for lane in lanes(mask) {
                    let word = cursor.word(addresses[lane]).ok_or(lane)?;
                    values[lane] = word.load(Ordering::Relaxed).into();
                }
            }
            8 => {
                for lane in lanes(mask) {
                    let [low, high] = cursor.words(addresses[lane]).ok_or(lane)?;
                    let high = u64::from(high.load(Ordering::Relaxed));
                    values[lane] = u64::from(low.load(Ordering::Relaxed)) | high << 32;
                }
            }
            _ => {
                for lane in lanes(mask) {
                    values[lane] = self.read(addresses[lane], bytes).map_err(|_| lane)? as u64;
                }
            }
        }
        Ok(values)
    }

    /// Writes values of 1, 2, 4 or 8 bytes at the address of each lane of a mask. The error is the first lane whose address is out of bounds.
    pub(crate) fn write_lanes(
        &self,
        addresses: &Double,
        bytes: u8,
        mask: u32,
        values: &Double,
    ) -> Result<(), usize> {
        let mut cursor = Cursor::new(self, true);
        match bytes {
            4 => {
                for lane in lanes(mask) {
                    let word = cursor.word(addresses[lane]).ok_or(lane)?;
                    word.store(values[lane] as u32, Ordering::Relaxed);
                }
            }
            8 => {
                for lane in lanes(mask) {
                    let [low, high] = cursor.words(addresses[lane]).ok_or(lane)?;
                    low.store(values[lane] as u32, Ordering::Relaxed);
                    high.store((values[lane] >> 32) as u32, Ordering::Relaxed);
                }
            }
            _ => {
                for lane in lanes(mask) {
                    self.write(addresses[lane], bytes, values[lane].into())
                        .map_err(|_| lane)?;
                }
            }
        }
        Ok(())
    }
}

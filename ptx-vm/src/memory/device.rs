//! Global memory: pages that are allocated on first use and can be shared by host threads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Fault;
use crate::lanes::{Double, LANES, lanes};
use crate::program::GLOBAL;

/// Bytes of a page.
pub(super) const PAGE: u64 = 1 << 16;
/// Allocations begin at its multiples, as those of the driver do.
const ALIGN: u64 = 256;

type Page = OnceLock<Box<[AtomicU32]>>;

/// The memory of the device.
#[derive(Debug, Default)]
pub(crate) struct Device {
    pages: Vec<Page>,
    /// One past the last address in use.
    end: u64,
}

/// The page that was used last.
struct Cursor<'d> {
    device: &'d Device,
    start: u64,
    words: &'d [AtomicU32],
}

impl<'d> Cursor<'d> {
    const fn new(device: &'d Device) -> Self {
        Self {
            device,
            start: 0,
            words: &[],
        }
    }

    /// Where a word is on its page.
    fn find(&mut self, address: u64) -> Option<usize> {
        let at = address.wrapping_sub(self.start) / 4;
        if at < self.words.len() as u64 {
            return Some(at as usize);
        }
        (self.start, self.words) = self.device.page(address)?;
        usize::try_from((address - self.start) / 4).ok()
    }

    fn word(&mut self, address: u64) -> Option<&'d AtomicU32> {
        let at = self.find(address)?;
        self.words.get(at)
    }

    /// The two words at a multiple of eight bytes.
    fn words(&mut self, address: u64) -> Option<[&'d AtomicU32; 2]> {
        let at = self.find(address)?;
        Some([self.words.get(at)?, self.words.get(at + 1)?])
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
            pages: Vec::new(),
            end: GLOBAL,
        };
        device.grow(end.min(Self::LAST));
        device
    }

    fn grow(&mut self, end: u64) {
        self.end = self.end.max(end);
        let pages = (self.end - GLOBAL).div_ceil(PAGE) as usize;
        if pages > self.pages.len() {
            self.pages.resize_with(pages, Page::default);
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

    /// The page of an address, if it was used.
    pub(super) fn used_page(&self, address: u64) -> Option<&[AtomicU32]> {
        let page = (address.checked_sub(GLOBAL)? / PAGE) as usize;
        self.pages.get(page)?.get().map(|words| &**words)
    }

    /// The page of an address: where it begins, and its words up to the end of the memory.
    fn page(&self, address: u64) -> Option<(u64, &[AtomicU32])> {
        let offset = address.checked_sub(GLOBAL)?;
        let page = self.pages.get((offset / PAGE) as usize)?;
        let words = page.get_or_init(|| (0..PAGE / 4).map(|_| AtomicU32::new(0)).collect());
        let start = address - offset % PAGE;
        let used = (self.end - start).div_ceil(4).min(PAGE / 4);
        Some((start, words.get(..used as usize)?))
    }

    fn word(&self, address: u64) -> Result<&AtomicU32, Fault> {
        let word = self.page(address).and_then(|(start, words)| {
            let at = (address - start) / 4;
            words.get(at as usize)
        });
        word.ok_or(Fault::OutOfBounds(address))
    }

    /// The value of at most 16 bytes at a multiple of their number.
    #[inline]
    pub(crate) fn read(&self, address: u64, bytes: u8) -> Result<u128, Fault> {
        let word = |address: u64| Ok(self.word(address)?.load(Ordering::Relaxed));
        match bytes {
            4 => word(address).map(u128::from),
            8 | 16 => {
                let mut value = 0;
                for part in 0..u64::from(bytes) / 4 {
                    value |= u128::from(word(address + 4 * part)?) << (32 * part);
                }
                Ok(value)
            }
            _ => {
                let shift = 8 * (address % 4);
                let mask = (1u32 << (8 * bytes)) - 1;
                Ok((word(address)? >> shift & mask).into())
            }
        }
    }

    /// Writes at most 16 bytes at a multiple of their number.
    #[inline]
    pub(crate) fn write(&self, address: u64, bytes: u8, value: u128) -> Result<(), Fault> {
        match bytes {
            4 => self.word(address)?.store(value as u32, Ordering::Relaxed),
            8 | 16 => {
                // Nothing is written if a part is out of bounds.
                self.word(address.wrapping_add(u64::from(bytes) - 4))?;
                for part in 0..u64::from(bytes) / 4 {
                    let bits = (value >> (32 * part)) as u32;
                    self.word(address + 4 * part)?
                        .store(bits, Ordering::Relaxed);
                }
            }
            _ => {
                let shift = 8 * (address % 4);
                let mask = ((1u32 << (8 * bytes)) - 1) << shift;
                let word = self.word(address)?;
                let bits = (value as u32) << shift & mask;
                // The other bytes of the word may be changed at the same time.
                let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| {
                    Some(old & !mask | bits)
                });
            }
        }
        Ok(())
    }

    /// The values of 1, 2, 4 or 8 bytes at the address of each lane of a mask, at multiples of their number; the lane whose address is out of
    /// bounds.
    pub(crate) fn read_lanes(&self, at: &Double, bytes: u8, mask: u32) -> Result<Double, usize> {
        let mut values = [0; LANES];
        let mut cursor = Cursor::new(self);
        match bytes {
            4 => {
                for lane in lanes(mask) {
                    let word = cursor.word(at[lane]).ok_or(lane)?;
                    values[lane] = word.load(Ordering::Relaxed).into();
                }
            }
            8 => {
                for lane in lanes(mask) {
                    let [low, high] = cursor.words(at[lane]).ok_or(lane)?;
                    let high = u64::from(high.load(Ordering::Relaxed));
                    values[lane] = u64::from(low.load(Ordering::Relaxed)) | high << 32;
                }
            }
            _ => {
                for lane in lanes(mask) {
                    values[lane] = self.read(at[lane], bytes).map_err(|_| lane)? as u64;
                }
            }
        }
        Ok(values)
    }

    /// Writes values of 1, 2, 4 or 8 bytes at the address of each lane of a mask.
    pub(crate) fn write_lanes(
        &self,
        at: &Double,
        bytes: u8,
        mask: u32,
        values: &Double,
    ) -> Result<(), usize> {
        let mut cursor = Cursor::new(self);
        match bytes {
            4 => {
                for lane in lanes(mask) {
                    let word = cursor.word(at[lane]).ok_or(lane)?;
                    word.store(values[lane] as u32, Ordering::Relaxed);
                }
            }
            8 => {
                for lane in lanes(mask) {
                    let [low, high] = cursor.words(at[lane]).ok_or(lane)?;
                    low.store(values[lane] as u32, Ordering::Relaxed);
                    high.store((values[lane] >> 32) as u32, Ordering::Relaxed);
                }
            }
            _ => {
                for lane in lanes(mask) {
                    let written = self.write(at[lane], bytes, values[lane].into());
                    written.map_err(|_| lane)?;
                }
            }
        }
        Ok(())
    }
}

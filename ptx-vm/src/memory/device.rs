//! Global memory: pages that exist from their first use on, which threads of the host may share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Fault;
use crate::program::GLOBAL;

/// Bytes of a page.
const PAGE: u64 = 1 << 16;
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

impl Device {
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

    /// The address of a new allocation; `None` beyond 2^40 bytes in total.
    pub(crate) fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let start = self.end.div_ceil(ALIGN) * ALIGN;
        let end = start.checked_add(bytes.max(1))?;
        if end > Self::LAST {
            return None;
        }
        self.grow(end);
        Some(start)
    }

    fn word(&self, address: u64) -> Result<&AtomicU32, Fault> {
        let fault = Fault::OutOfBounds(address);
        let offset = address.checked_sub(GLOBAL).ok_or(fault)?;
        if address >= self.end {
            return Err(fault);
        }
        let page = self.pages.get((offset / PAGE) as usize).ok_or(fault)?;
        let words = page.get_or_init(|| (0..PAGE / 4).map(|_| AtomicU32::new(0)).collect());
        words.get((offset % PAGE / 4) as usize).ok_or(fault)
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

    /// Copies bytes out of memory.
    pub(crate) fn read_bytes(&self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        for (at, byte) in (address..).zip(into) {
            *byte = self.read(at, 1)? as u8;
        }
        Ok(())
    }

    /// Copies bytes into memory.
    pub(crate) fn write_bytes(&self, address: u64, from: &[u8]) -> Result<(), Fault> {
        for (at, byte) in (address..).zip(from) {
            self.write(at, 1, (*byte).into())?;
        }
        Ok(())
    }
}

//! Elements of global memory that the lanes of a warp read and write.

use std::sync::atomic::{AtomicU32, Ordering};

use super::global::GlobalMemory;
use super::rows::{GROUP, LaneValue, Pattern, pattern};
use crate::lanes::{Double, LANES, lanes};

/// The page that was used last, for reads or for writes.
struct Cursor<'d> {
    memory: &'d GlobalMemory,
    writes: bool,
    start: u64,
    words: &'d [AtomicU32],
}

impl<'d> Cursor<'d> {
    const fn new(memory: &'d GlobalMemory, writes: bool) -> Self {
        Self {
            memory,
            writes,
            start: 0,
            words: &[],
        }
    }

    /// The index of a word on its page.
    #[inline(always)]
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
            self.memory.page(address).ok()?
        } else {
            self.memory.readable(address)?
        };
        usize::try_from((address - self.start) / 4).ok()
    }

    #[inline(always)]
    fn word(&mut self, address: u64) -> Option<&'d AtomicU32> {
        let index = self.find(address)?;
        self.words.get(index)
    }

    /// The two words at a multiple of eight bytes.
    #[inline(always)]
    fn words(&mut self, address: u64) -> Option<[&'d AtomicU32; 2]> {
        let index = self.find(address)?;
        Some([self.words.get(index)?, self.words.get(index + 1)?])
    }

    /// The value of `N` bytes at a multiple of their number.
    #[inline(always)]
    fn read<const N: usize>(&mut self, address: u64) -> Option<u64> {
        if N == 8 {
            let [low, high] = self.words(address)?;
            return Some(joined(low, high));
        }
        let word = self.word(address)?.load(Ordering::Relaxed);
        let unused = 32 - 8 * N as u32;
        let shift = 8 * (address % 4) as u32;
        Some((word >> shift << unused >> unused).into())
    }

    /// Reads the values of `N` bytes of neighboring lanes.
    #[inline(always)]
    fn read_group<const N: usize, V: LaneValue>(
        &mut self,
        addresses: &[u64; GROUP],
        values: &mut [V; GROUP],
    ) -> Option<()> {
        match pattern(addresses, N as u64) {
            Pattern::Same => *values = [V::from_bits(self.read::<N>(addresses[0])?); GROUP],
            Pattern::Row if N >= 4 => {
                let index = self.find(addresses[0])?;
                // A row may continue on the next page.
                if let Some(row) = self.words.get(index..index + GROUP * N / 4) {
                    for (lane, value) in values.iter_mut().enumerate() {
                        *value = V::from_bits(if N == 4 {
                            row[lane].load(Ordering::Relaxed).into()
                        } else {
                            joined(&row[2 * lane], &row[2 * lane + 1])
                        });
                    }
                    return Some(());
                }
                return self.read_each::<N, V>(addresses, values);
            }
            Pattern::Row if N == 1 && addresses[0].is_multiple_of(4) => {
                let index = self.find(addresses[0])?;
                let Some([low, high]) = self.words.get(index..).and_then(|w| w.first_chunk())
                else {
                    return self.read_each::<N, V>(addresses, values);
                };
                let bytes = joined(low, high).to_le_bytes();
                for (lane, value) in values.iter_mut().enumerate() {
                    *value = V::from_bits(bytes[lane].into());
                }
            }
            Pattern::Row | Pattern::Other => self.read_each::<N, V>(addresses, values)?,
        }
        Some(())
    }

    #[inline(always)]
    fn read_each<const N: usize, V: LaneValue>(
        &mut self,
        addresses: &[u64; GROUP],
        values: &mut [V; GROUP],
    ) -> Option<()> {
        for (lane, value) in values.iter_mut().enumerate() {
            *value = V::from_bits(self.read::<N>(addresses[lane])?);
        }
        Some(())
    }
}

/// The value of two words, the lower one first.
#[inline(always)]
fn joined(low: &AtomicU32, high: &AtomicU32) -> u64 {
    let high = u64::from(high.load(Ordering::Relaxed));
    u64::from(low.load(Ordering::Relaxed)) | high << 32
}
impl GlobalMemory {
    /// Reads values of 1, 2, 4 or 8 bytes at the address of each lane of a mask, at multiples of their number. The error is the first lane whose address is
    /// out of bounds.
    #[inline(always)]
    pub(crate) fn read_lanes<V: LaneValue>(
        &self,
        addresses: &Double,
        bytes: u8,
        mask: u32,
        values: &mut [V; LANES],
    ) -> Result<(), usize> {
        match bytes {
            4 => self.gather::<4, V>(addresses, mask, values),
            8 => self.gather::<8, V>(addresses, mask, values),
            2 => self.gather::<2, V>(addresses, mask, values),
            _ => self.gather::<1, V>(addresses, mask, values),
        }
    }

    #[inline(always)]
    fn gather<const N: usize, V: LaneValue>(
        &self,
        addresses: &Double,
        mask: u32,
        values: &mut [V; LANES],
    ) -> Result<(), usize> {
        let mut cursor = Cursor::new(self, false);
        if mask != u32::MAX {
            for lane in lanes(mask) {
                values[lane] = V::from_bits(cursor.read::<N>(addresses[lane]).ok_or(lane)?);
            }
            return Ok(());
        }
        let groups = addresses.as_chunks().0;
        for (group, values) in values.as_chunks_mut().0.iter_mut().enumerate() {
            if cursor.read_group::<N, V>(&groups[group], values).is_none() {
                return Err(self.first_outside(addresses, N as u8, mask));
            }
        }
        Ok(())
    }

    /// The first lane of a mask whose address cannot be read.
    #[cold]
    fn first_outside(&self, addresses: &Double, bytes: u8, mask: u32) -> usize {
        lanes(mask)
            .find(|&lane| self.read(addresses[lane], bytes).is_err())
            .unwrap_or(0)
    }

    /// Changes the word at the address of one lane of a mask after the other. The error is the first lane whose address is out of bounds.
    #[inline(always)]
    pub(crate) fn change_words(
        &self,
        addresses: &Double,
        mask: u32,
        mut new: impl FnMut(usize, u32) -> u32,
    ) -> Result<(), usize> {
        let mut cursor = Cursor::new(self, true);
        for lane in lanes(mask) {
            let word = cursor.word(addresses[lane]).ok_or(lane)?;
            word.store(new(lane, word.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
        Ok(())
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

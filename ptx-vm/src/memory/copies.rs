//! Copies between the host and global memory, which do not allocate pages for zeros.

use std::sync::atomic::Ordering;

use super::Fault;
use super::global::{GlobalMemory, PAGE};

/// Bytes of a word.
const WORD: usize = 4;

impl GlobalMemory {
    /// Copies bytes out of memory.
    pub(crate) fn read_bytes(&self, address: u64, destination: &mut [u8]) -> Result<(), Fault> {
        self.check(address, destination.len())?;
        let mut position = address;
        let mut remaining = destination;
        while !remaining.is_empty() {
            let (bytes_on_page, next_pages) =
                remaining.split_at_mut(self.on_page(position, remaining.len()));
            match self.used_page(position) {
                None => bytes_on_page.fill(0),
                Some(words) => {
                    let first = ((position - self.start()) % PAGE) as usize;
                    for (offset, byte) in (first..).zip(bytes_on_page.iter_mut()) {
                        let word = words
                            .get(offset / WORD)
                            .map_or(0, |w| w.load(Ordering::Relaxed));
                        *byte = word.to_le_bytes()[offset % WORD];
                    }
                }
            }
            position += bytes_on_page.len() as u64;
            remaining = next_pages;
        }
        Ok(())
    }

    /// Copies bytes into memory.
    pub(crate) fn write_bytes(&self, address: u64, source: &[u8]) -> Result<(), Fault> {
        self.check(address, source.len())?;
        let mut position = address;
        let mut remaining = source;
        while !remaining.is_empty() {
            let (bytes_on_page, next_pages) =
                remaining.split_at(self.on_page(position, remaining.len()));
            if self.used_page(position).is_some() || bytes_on_page.iter().any(|byte| *byte != 0) {
                self.write_part(position, bytes_on_page)?;
            }
            position += bytes_on_page.len() as u64;
            remaining = next_pages;
        }
        Ok(())
    }

    /// Writes bytes of one page, word by word between its ends.
    fn write_part(&self, address: u64, source: &[u8]) -> Result<(), Fault> {
        let bytes_before_word = (address.next_multiple_of(WORD as u64) - address) as usize;
        let (head, aligned) = source.split_at(bytes_before_word.min(source.len()));
        let words = aligned.chunks_exact(WORD);
        let tail = words.remainder();
        let mut position = address;
        for byte in head {
            self.write(position, 1, (*byte).into())?;
            position += 1;
        }
        for word in words {
            let word = word.try_into().map_or(0, u32::from_le_bytes);
            self.write(position, WORD as u8, word.into())?;
            position += WORD as u64;
        }
        for byte in tail {
            self.write(position, 1, (*byte).into())?;
            position += 1;
        }
        Ok(())
    }

    /// Checks that there is memory at all of the addresses; the fault is that of the first address without memory.
    pub(crate) fn check(&self, address: u64, bytes: usize) -> Result<(), Fault> {
        let limit = self.end();
        let end = address.saturating_add(bytes as u64);
        if bytes == 0 || address >= self.start() && end <= limit {
            Ok(())
        } else if address < self.start() {
            Err(Fault::OutOfBounds(address))
        } else {
            Err(Fault::OutOfBounds(address.max(limit)))
        }
    }

    /// The number of bytes of a range that are on the page of the first one.
    const fn on_page(&self, address: u64, bytes: usize) -> usize {
        let bytes_to_end_of_page = (PAGE - (address - self.start()) % PAGE) as usize;
        if bytes < bytes_to_end_of_page {
            bytes
        } else {
            bytes_to_end_of_page
        }
    }
}

//! Copies between the host and global memory, which do not allocate pages for zeros.

use std::sync::atomic::Ordering;

use super::Fault;
use super::device::{Device, PAGE};
use crate::program::GLOBAL;

/// Bytes of a word.
const WORD: usize = 4;

impl Device {
    /// Copies bytes out of memory.
    pub(crate) fn read_bytes(&self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.check(address, into.len())?;
        let mut at = address;
        let mut rest = into;
        while !rest.is_empty() {
            let (here, after) = rest.split_at_mut(on_page(at, rest.len()));
            match self.used_page(at) {
                None => here.fill(0),
                Some(words) => {
                    let first = ((at - GLOBAL) % PAGE) as usize;
                    for (byte, to) in (first..).zip(here.iter_mut()) {
                        let word = words.get(byte / WORD);
                        let word = word.map_or(0, |w| w.load(Ordering::Relaxed));
                        *to = word.to_le_bytes()[byte % WORD];
                    }
                }
            }
            at += here.len() as u64;
            rest = after;
        }
        Ok(())
    }

    /// Copies bytes into memory.
    pub(crate) fn write_bytes(&self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.check(address, from.len())?;
        let mut at = address;
        let mut rest = from;
        while !rest.is_empty() {
            let (here, after) = rest.split_at(on_page(at, rest.len()));
            if self.used_page(at).is_some() || here.iter().any(|byte| *byte != 0) {
                self.write_part(at, here)?;
            }
            at += here.len() as u64;
            rest = after;
        }
        Ok(())
    }

    /// Writes bytes of one page, word by word between its ends.
    fn write_part(&self, address: u64, from: &[u8]) -> Result<(), Fault> {
        let before = (address.next_multiple_of(WORD as u64) - address) as usize;
        let (first, rest) = from.split_at(before.min(from.len()));
        let words = rest.chunks_exact(WORD);
        let last = words.remainder();
        let mut at = address;
        for byte in first {
            self.write(at, 1, (*byte).into())?;
            at += 1;
        }
        for word in words {
            let word = word.try_into().map_or(0, u32::from_le_bytes);
            self.write(at, WORD as u8, word.into())?;
            at += WORD as u64;
        }
        for byte in last {
            self.write(at, 1, (*byte).into())?;
            at += 1;
        }
        Ok(())
    }

    /// An error if there is no memory at some of the addresses: that of the first one.
    fn check(&self, address: u64, bytes: usize) -> Result<(), Fault> {
        // Memory has whole words.
        let limit = self.end().next_multiple_of(WORD as u64);
        let end = address.saturating_add(bytes as u64);
        match bytes > 0 && (address < GLOBAL || end > limit) {
            true if address < GLOBAL => Err(Fault::OutOfBounds(address)),
            true => Err(Fault::OutOfBounds(address.max(limit))),
            false => Ok(()),
        }
    }
}

/// How many of some bytes are on the page of the first one.
fn on_page(address: u64, bytes: usize) -> usize {
    let left = PAGE - (address - GLOBAL) % PAGE;
    bytes.min(left as usize)
}

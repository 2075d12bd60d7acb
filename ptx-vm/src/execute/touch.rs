//! Accesses of lanes to memory, as observers see them.

use core::ops::Range;

use super::location::Memory;
use crate::lanes::{Double, LANES};

/// The kind of an access to memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AccessUse {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is changed by an atomic operation.
    ReadWrite,
}

pub(crate) use AccessUse as Use;

/// Accesses of lanes to one memory.
pub(crate) struct Touch<'a> {
    pub(crate) usage: Use,
    pub(crate) memory: Memory,
    /// The offset that each lane accesses; in global memory the address.
    pub(crate) addresses: &'a Double,
    /// The number of bytes that each lane accesses.
    pub(crate) bytes: u64,
    /// The number of bytes of an element of a vector.
    pub(crate) element: u64,
    /// The alignment of the addresses in bytes.
    pub(crate) align: u64,
    /// The accessing lanes.
    pub(crate) lanes: u32,
    /// The value that a single lane is about to write, if the accesses are shown one by one.
    pub(crate) value: Option<u128>,
}

impl Touch<'_> {
    /// The smallest range that contains all bytes that lanes of a mask access.
    #[inline]
    pub(crate) fn range(&self, mask: u32) -> Range<u64> {
        let (mut low, mut high) = (u64::MAX, 0);
        for (lane, &address) in self.addresses.iter().enumerate() {
            // All ones for lanes that are not in the mask.
            let unused = u64::from(mask >> lane & 1).wrapping_sub(1);
            low = low.min(address | unused);
            high = high.max(address & !unused);
        }
        low..high.saturating_add(self.bytes)
    }

    /// Whether a mask contains all lanes and they access consecutive bytes that begin at `start`.
    #[inline]
    pub(crate) fn is_row(&self, mask: u32, start: u64) -> bool {
        mask == u32::MAX
            && (0..LANES)
                .all(|lane| self.addresses[lane] == start.wrapping_add(lane as u64 * self.bytes))
    }

    /// Whether the addresses of the lanes of a mask are multiples of the alignment.
    #[inline]
    pub(crate) fn is_aligned(&self, mask: u32) -> bool {
        let address_bits = (0..LANES).fold(0, |bits, lane| {
            let used = u64::from(mask >> lane & 1).wrapping_neg();
            bits | self.addresses[lane] & used
        });
        !self.align.is_power_of_two() || address_bits & (self.align - 1) == 0
    }
}

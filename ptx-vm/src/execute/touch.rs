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
    /// The offset of each lane; the address in global memory.
    pub(crate) at: &'a Double,
    /// The number of bytes that each lane accesses.
    pub(crate) bytes: u64,
    /// The number of bytes of an element of a vector.
    pub(crate) element: u64,
    /// To which the offsets must be aligned.
    pub(crate) align: u64,
    pub(crate) lanes: u32,
}

impl Touch<'_> {
    /// The range of all bytes that lanes of a mask access, and bytes between them.
    #[inline]
    pub(crate) fn range(&self, mask: u32) -> Range<u64> {
        let (mut low, mut high) = (u64::MAX, 0);
        for (lane, &at) in self.at.iter().enumerate() {
            let unused = u64::from(mask >> lane & 1).wrapping_sub(1);
            (low, high) = (low.min(at | unused), high.max(at & !unused));
        }
        low..high.saturating_add(self.bytes)
    }

    /// Whether the lanes of a mask are all of them and access consecutive bytes, which begin at an address.
    #[inline]
    pub(crate) fn is_row(&self, mask: u32, start: u64) -> bool {
        let next = |lane: usize| start.wrapping_add(lane as u64 * self.bytes);
        mask == u32::MAX && (0..LANES).all(|lane| self.at[lane] == next(lane))
    }

    /// Whether the addresses of the lanes of a mask are multiples of what they must be aligned to.
    #[inline]
    pub(crate) fn is_aligned(&self, mask: u32) -> bool {
        let used = |lane: usize| u64::from(mask >> lane & 1).wrapping_neg();
        let lanes = (0..LANES).map(|lane| self.at[lane] & used(lane));
        let bits = lanes.fold(0, |all, at| all | at);
        !self.align.is_power_of_two() || bits & (self.align - 1) == 0
    }
}

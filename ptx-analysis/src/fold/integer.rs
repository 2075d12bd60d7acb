//! Integer types.

use super::{mask, signed};

/// An integer type: values are taken from bits by it and put back.
#[derive(Clone, Copy)]
pub(super) struct Int {
    pub(super) bits: u16,
    pub(super) signed: bool,
}

impl Int {
    /// The value of the lowest bits. It holds unsigned values of 64 bits too.
    pub(super) fn value(self, raw: u128) -> i128 {
        let raw = raw & mask(self.bits);
        if self.signed {
            signed(raw, self.bits)
        } else {
            raw as i128
        }
    }

    pub(super) fn min(self) -> i128 {
        if self.signed {
            -(1 << (self.bits - 1))
        } else {
            0
        }
    }

    pub(super) fn max(self) -> i128 {
        mask(self.bits - u16::from(self.signed)) as i128
    }

    pub(super) fn clamp(self, value: i128) -> i128 {
        value.clamp(self.min(), self.max())
    }
}

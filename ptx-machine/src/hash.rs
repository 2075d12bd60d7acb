//! Values that follow from what made them and from nothing else.

use crate::Random;

/// Mixes numbers and words into one number.
#[derive(Clone, Copy)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number(self, n: u64) -> Self {
        Self(Random::new(self.0.rotate_left(7) ^ n).next())
    }

    pub(crate) fn wide(self, n: u128) -> Self {
        self.number(n as u64).number((n >> 64) as u64)
    }

    pub(crate) fn text(self, text: &str) -> Self {
        let all = text.bytes().fold(self, |h, b| h.number(b.into()));
        all.number(text.len() as u64)
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }

    /// As wide as any register.
    pub(crate) fn bits(self) -> u128 {
        u128::from(self.0) | u128::from(self.number(1).0) << 64
    }
}

//! The bytes that say what the operands of an instruction are.

use alloc::vec::Vec;

/// What the operands of one instruction are, in bytes: 16 in place, the rest behind them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ShapeKey {
    pub(super) packed: u128,
    len: u8,
    pub(super) rest: Vec<u8>,
}

impl ShapeKey {
    const PACKED: u8 = 16;

    /// An empty key.
    pub const fn new() -> Self {
        Self {
            packed: 0,
            len: 0,
            rest: Vec::new(),
        }
    }

    /// Begins anew with the bytes of a word.
    #[inline]
    pub(super) fn start(&mut self, bytes: u64, len: u8) {
        self.packed = bytes.into();
        self.len = len;
        self.rest.clear();
    }

    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        if self.len < Self::PACKED {
            self.packed |= u128::from(byte) << (8 * self.len);
            self.len += 1;
        } else {
            self.rest.push(byte);
        }
    }

    /// The whole key, if it is that short.
    #[inline]
    pub fn short(&self) -> Option<u128> {
        self.rest.is_empty().then_some(self.packed)
    }

    pub(super) fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        let packed = self.packed.to_le_bytes();
        (0..usize::from(self.len))
            .map(move |i| packed[i & 15])
            .chain(self.rest.iter().copied())
    }
}

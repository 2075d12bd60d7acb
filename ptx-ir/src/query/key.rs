//! The bytes that encode the operands of an instruction.

use smallvec::SmallVec;

/// The encoded shape of the operands of one instruction. Queries with equal mnemonics and equal shapes have equal answers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ShapeKey {
    /// The first 16 bytes.
    packed: u128,
    /// The number of bytes in `packed`.
    len: u8,
    /// The bytes after the first 16.
    overflow: SmallVec<[u8; 16]>,
}

impl ShapeKey {
    const PACKED: u8 = 16;

    /// An empty key.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Clears the key and fills it with the lowest `len` bytes of a word.
    #[inline]
    pub(super) fn start(&mut self, bytes: u64, len: u8) {
        self.packed = bytes.into();
        self.len = len;
        self.overflow.clear();
    }

    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        if self.len < Self::PACKED {
            self.packed |= u128::from(byte) << (8 * self.len);
            self.len += 1;
        } else {
            self.overflow.push(byte);
        }
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.push(*byte));
    }

    /// The whole key as one word, if it fits. Different keys give different words: no operand begins with a zero byte,
    /// and the length of each follows from its first byte.
    #[inline]
    pub(super) fn short(&self) -> Option<u128> {
        self.overflow.is_empty().then_some(self.packed)
    }

    pub(super) fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.packed
            .to_le_bytes()
            .into_iter()
            .take(usize::from(self.len))
            .chain(self.overflow.iter().copied())
    }
}

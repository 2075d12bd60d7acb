//! The bytes that encode the operands of an instruction.

use smallvec::SmallVec;

/// The shape of the operands of one instruction, encoded: up to 16 bytes in one word, the rest in a vector. Queries with equal mnemonics and
/// equal shapes have equal answers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ShapeKey {
    packed: u128,
    len: u8,
    rest: SmallVec<[u8; 16]>,
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

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.push(*byte));
    }

    /// The whole key as one word, if it fits. Different keys give different words: no operand begins with a zero byte,
    /// and the length of each follows from its first byte.
    #[inline]
    pub(super) fn short(&self) -> Option<u128> {
        self.rest.is_empty().then_some(self.packed)
    }

    pub(super) fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        let packed = self.packed.to_le_bytes().into_iter();
        let packed = packed.take(usize::from(self.len));
        packed.chain(self.rest.iter().copied())
    }
}

//! A fast hash function: many short keys are hashed for each step.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};

pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;
pub(crate) type FastSet<K> = HashSet<K, BuildHasherDefault<Mixer>>;

/// Mixes 64 bits at a time by a product of 128 bits.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15);
        let product = mixed * 0xa076_1d64_78bd_642f;
        let folded = product as u64 ^ (product >> 64) as u64;
        // Words that give a product of zero must not all be alike.
        self.0 = folded.rotate_left(23).wrapping_add(word);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

/// The hash of a value.
pub(crate) fn hash(of: impl Hash) -> u64 {
    let mut mixer = Mixer::default();
    of.hash(&mut mixer);
    mixer.finish()
}

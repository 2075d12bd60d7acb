//! The hash function of the word tables. The generator includes this file, so that the generated tables and the
//! look-ups made in them agree.

/// Mixes a word into 64 bits: eight bytes at a time, the last eight overlapping those before.
#[inline]
pub(crate) fn hash(word: &[u8]) -> u64 {
    let mut state = (word.len() as u64).wrapping_mul(MULTIPLIER);
    if let Some(last) = word.last_chunk::<8>() {
        let mut unread = word;
        while let Some((chunk, tail)) = unread.split_first_chunk::<8>() {
            state = step(state, u64::from_le_bytes(*chunk));
            unread = tail;
        }
        state = step(state, u64::from_le_bytes(*last));
    } else if let (Some(first), Some(last)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
        let bits = (u32::from_le_bytes(*first) as u64) << 32 | u32::from_le_bytes(*last) as u64;
        state = step(state, bits);
    } else {
        let chunk = word.iter().fold(0, |bits, &byte| bits << 8 | byte as u64);
        state = step(state, chunk);
    }
    state ^ state >> 29
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn step(state: u64, chunk: u64) -> u64 {
    let mixed = (state ^ chunk).wrapping_mul(MULTIPLIER);
    mixed ^ mixed >> 32
}

/// The bucket of a hash among `buckets` (a power of two): it selects the displacement.
#[inline]
pub(crate) fn bucket(hash: u64, buckets: usize) -> usize {
    (hash >> 48) as usize & (buckets - 1)
}

/// The position of a hash among `slots` (a power of two) under the displacement of its bucket.
#[inline]
pub(crate) fn position(hash: u64, displacement: u16, slots: usize) -> usize {
    let spread =
        (hash as u32).wrapping_add((displacement as u32).wrapping_mul((hash >> 16) as u32 | 1));
    (spread >> 3) as usize & (slots - 1)
}

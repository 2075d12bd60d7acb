//! Scans eight bytes at a time (SIMD within a register): fast paths for the most frequent tokens.
//!
//! A token is loaded as one little-endian word, so its first byte is the lowest. Every fast
//! path has a general one; these functions give `None` where they do not apply.

/// A byte in all eight places.
const fn all(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The eight bytes at `at`, if there are as many.
#[inline(always)]
pub(crate) fn load(src: &[u8], at: usize) -> Option<u64> {
    src.get(at..)?
        .first_chunk::<8>()
        .map(|c| u64::from_le_bytes(*c))
}

/// The lowest `len` bytes, `len` below eight.
#[inline(always)]
pub(crate) const fn low(word: u64, len: u32) -> u64 {
    word & ((1 << (8 * len)) - 1)
}

/// A name that ends in a number, in one word with a byte after it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Numbered {
    /// The bytes before the number, with their count in the top byte.
    pub(crate) key: u64,
    pub(crate) number: u32,
    /// Length of prefix and number together.
    pub(crate) len: u32,
}

/// Splits a word into a prefix without digits and the number after it. The prefix is not looked
/// at: a caller has to know its key.
#[inline(always)]
pub(crate) fn numbered(word: u64) -> Option<Numbered> {
    let x = word ^ all(b'0');
    // High bit set where the byte is not a digit.
    let other = ((x & all(0x7F)).wrapping_add(all(0x76)) | x) & all(0x80);
    let digits = !other & all(0x80);
    let prefix = digits.trailing_zeros() >> 3;
    if prefix >= 8 {
        return None;
    }
    let count = (other >> (8 * prefix)).trailing_zeros() >> 3;
    let len = prefix + count;
    if prefix == 0 || len >= 8 {
        return None;
    }
    // The digits move to the top; below them are zeros, which become leading zeros of the number.
    let aligned = (word >> (8 * prefix)) << (64 - 8 * count);
    let v = aligned & all(0x0F);
    let v = (v.wrapping_mul(10 << 8 | 1) >> 8) & 0x00FF_00FF_00FF_00FF;
    let v = (v.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_FFFF_0000_FFFF;
    let v = v.wrapping_mul(10_000 << 32 | 1) >> 32;
    Some(Numbered {
        key: low(word, prefix) | (prefix as u64) << 56,
        number: v as u32,
        len,
    })
}

/// How many bytes are before the first space, control character or `;`; 8 if none does.
#[inline(always)]
pub(crate) fn before_space(word: u64) -> u32 {
    // Lowest match is exact: bytes below 0x21, and bytes that are `;`.
    let space = word.wrapping_sub(all(0x21)) & !word & all(0x80);
    let x = word ^ all(b';');
    let semicolon = x.wrapping_sub(all(0x01)) & !x & all(0x80);
    (space | semicolon).trailing_zeros() >> 3
}

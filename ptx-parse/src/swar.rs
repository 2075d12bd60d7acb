//! Scans eight bytes at a time (SIMD within a register): fast paths for the most frequent tokens.
//!
//! A token is loaded as one little-endian word, so its first byte is the lowest. Every fast
//! path has a general alternative, which is used where these functions return `None`.

/// A word whose eight bytes are `byte`.
const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The eight bytes from `offset` on, if there are as many.
#[inline(always)]
pub(crate) fn load(src: &[u8], offset: usize) -> Option<u64> {
    src.get(offset..)?
        .first_chunk::<8>()
        .map(|bytes| u64::from_le_bytes(*bytes))
}

/// The lowest `len` bytes of a word. `len` is less than eight.
#[inline(always)]
pub(crate) const fn low(word: u64, len: u32) -> u64 {
    word & ((1 << (8 * len)) - 1)
}

/// A name that ends in a number, and is shorter than a word.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Numbered {
    /// The bytes before the number, with their count in the top byte.
    pub(crate) key: u64,
    pub(crate) number: u32,
    /// The length of prefix and number together.
    pub(crate) len: u32,
}

/// Splits a word into a prefix without digits and the number after it. Any bytes that are not digits count as the
/// prefix: the caller has to compare the key.
#[inline(always)]
pub(crate) fn numbered(word: u64) -> Option<Numbered> {
    let difference = word ^ repeat(b'0');
    // The high bit of a byte is set if the byte is not a digit.
    let non_digits =
        ((difference & repeat(0x7F)).wrapping_add(repeat(0x76)) | difference) & repeat(0x80);
    let digits = !non_digits & repeat(0x80);
    let prefix_len = digits.trailing_zeros() >> 3;
    if prefix_len >= 8 {
        return None;
    }
    let digit_count = (non_digits >> (8 * prefix_len)).trailing_zeros() >> 3;
    let len = prefix_len + digit_count;
    if prefix_len == 0 || len >= 8 {
        return None;
    }
    // The digits move to the top; below them are zeros, which become leading zeros of the number.
    let digits = ((word >> (8 * prefix_len)) << (64 - 8 * digit_count)) & repeat(0x0F);
    // Each step joins neighboring numbers: two digits each, then four, then eight.
    let pairs = (digits.wrapping_mul(10 << 8 | 1) >> 8) & 0x00FF_00FF_00FF_00FF;
    let quadruples = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_FFFF_0000_FFFF;
    let number = quadruples.wrapping_mul(10_000 << 32 | 1) >> 32;
    Some(Numbered {
        key: low(word, prefix_len) | (prefix_len as u64) << 56,
        number: number as u32,
        len,
    })
}

/// The number of bytes before the first space, control character or `;`; 8 if there is none.
#[inline(always)]
pub(crate) fn before_space(word: u64) -> u32 {
    // The high bit of a byte is set if the byte is below 0x21, or is `;`. Only the lowest set bit is exact.
    let space = word.wrapping_sub(repeat(0x21)) & !word & repeat(0x80);
    let difference = word ^ repeat(b';');
    let semicolon = difference.wrapping_sub(repeat(0x01)) & !difference & repeat(0x80);
    (space | semicolon).trailing_zeros() >> 3
}

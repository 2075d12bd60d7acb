//! Where functions seem to begin. A wrong guess costs time, nothing else.

use alloc::vec::Vec;
use core::ops::Range;

use rayon::prelude::*;

use crate::cursor::Cursor;

/// Divides a source into parts that begin with a function and are about `len` bytes long, except for what is before the first function.
pub(super) fn divide(src: &[u8], len: usize) -> Vec<Range<usize>> {
    let len = len.max(1);
    let start = |i: usize| next_function(src, i * len, (i + 1) * len);
    let mut starts: Vec<usize> = (0..src.len().div_ceil(len))
        .into_par_iter()
        .filter_map(start)
        .collect();
    starts.push(src.len());
    starts.windows(2).map(|w| w[0]..w[1]).collect()
}

/// The first function that begins a line in `from..until`, not the first line of the source.
pub(super) fn next_function(src: &[u8], from: usize, until: usize) -> Option<usize> {
    let text = src.get(..until.min(src.len()))?;
    let mut at = from.saturating_sub(1);
    while let Some(line) = memchr::memchr(b'\n', text.get(at..)?) {
        at += line + 1;
        if is_function(src, at) {
            return Some(at).filter(|&at| at < until);
        }
    }
    None
}

/// Whether the first word at `at` begins a function.
pub(super) fn is_function(src: &[u8], at: usize) -> bool {
    let mut cursor = Cursor::new(src);
    cursor.pos = at;
    // `.entry`, `.extern`, `.func`, `.visible`, `.weak`
    cursor.peek() == b'.'
        && matches!(cursor.peek_at(1), b'e' | b'f' | b'v' | b'w')
        && cursor.is_function()
}

//! The functions that each thread applies to its row. The host compiles this file, too, and compares the results.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Sorts a row by the last decimal digits of its numbers. The sort is stable.
pub fn sort(row: &mut [u32]) {
    let mut sorted: Vec<u32> = row.to_vec();
    sorted.sort_by_key(|number| number % 10);
    row.copy_from_slice(&sorted);
}

/// The most frequent remainder modulo 16 of the odd numbers, or the least of several; `u32::MAX` without an odd number.
#[must_use]
pub fn most_frequent(row: &[u32]) -> u32 {
    let mut counts = BTreeMap::new();
    for number in row.iter().filter(|number| *number % 2 == 1) {
        *counts.entry(number % 16).or_insert(0u32) += 1;
    }
    let most = counts
        .iter()
        .max_by_key(|(remainder, count)| (**count, u32::MAX - **remainder));
    most.map_or(u32::MAX, |(remainder, _)| *remainder)
}

/// The sum of the products of neighboring numbers.
#[must_use]
pub fn neighbours(row: &[u32]) -> u32 {
    let products = row.windows(2).map(|pair| pair[0].wrapping_mul(pair[1]));
    products.fold(0, u32::wrapping_add)
}

/// The number at the index that the first number is. Panics if the index is outside of the row.
#[must_use]
pub fn follow(row: &[u32]) -> u32 {
    row[row[0] as usize]
}

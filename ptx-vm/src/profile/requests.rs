//! What the hardware does for the accesses of a warp.

use crate::lanes::{Double, LANES, lanes};

/// Bytes of a sector of global memory.
const SECTOR: u64 = 32;
/// The banks of shared memory, and the bytes of a word of each.
const BANKS: u64 = 32;
const WORD: u64 = 4;

/// The number of different sectors.
pub(super) fn sectors(at: &Double, bytes: u64, mask: u32) -> u64 {
    distinct(at, bytes, mask, SECTOR).len() as u64
}

/// How often shared memory is accessed, and how often without conflicts. Accesses of eight and more bytes are divided: the first half
/// of a warp comes before the second one, or the first quarter before the others.
pub(super) fn passes(at: &Double, bytes: u64, mask: u32) -> (u64, u64) {
    let parts = bytes.div_ceil(WORD).clamp(1, 8).next_power_of_two();
    let size = LANES as u64 / parts;
    let first = ((1u64 << size) - 1) as u32;
    let parts = (0..parts).map(|part| mask & first << (part * size));
    let (mut all, mut least) = (0, 0);
    for part in parts.filter(|part| *part != 0) {
        let mut of_bank = [0; BANKS as usize];
        for word in distinct(at, bytes, part, WORD) {
            of_bank[(word % BANKS) as usize] += 1;
        }
        all += of_bank.into_iter().max().unwrap_or(0);
        least += 1;
    }
    (all, least)
}

/// The different pieces of a size that lanes access, by their numbers.
fn distinct(at: &Double, bytes: u64, mask: u32, size: u64) -> Vec<u64> {
    let pieces = |lane: usize| {
        let last = at[lane].saturating_add(bytes.max(1) - 1);
        at[lane] / size..=last / size
    };
    let mut all: Vec<u64> = lanes(mask).flat_map(pieces).collect();
    all.sort_unstable();
    all.dedup();
    all
}

//! The cost of memory requests of a warp on the hardware: sectors and passes.

use alloc::vec::Vec;

/// The lanes of a warp.
pub const LANES: usize = 32;
/// The size of a sector of global memory in bytes.
const SECTOR: u64 = 32;
/// The number of banks of shared memory, and the size of a word in bytes.
const BANKS: usize = 32;
const WORD: u64 = 4;

/// The number of passes over shared memory that a request of a warp takes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct Passes {
    /// The number of passes: in each pass, each of the 32 banks provides one four-byte word.
    pub all: u64,
    /// The number of passes without bank conflicts.
    pub least: u64,
}

/// The number of distinct 32-byte sectors that the lanes of a mask access; each lane accesses the same number of bytes at its address.
///
/// ```
/// use ptx_analysis::memory_access::requests::{passes, sectors};
/// let words: [u64; 32] = core::array::from_fn(|lane| 8 * lane as u64);
/// assert_eq!(sectors(&words, 4, u32::MAX), 8);
/// assert_eq!(passes(&words, 4, u32::MAX).all, 2);
/// ```
#[must_use]
pub fn sectors(at: &[u64; LANES], bytes: u64, mask: u32) -> u64 {
    distinct(at, bytes, mask, SECTOR).len() as u64
}

/// The number of passes over shared memory for the lanes of a mask. Accesses of eight and more bytes are split: the first half of the warp is
/// served before the second one, or the quarters one after the other.
#[must_use]
pub fn passes(at: &[u64; LANES], bytes: u64, mask: u32) -> Passes {
    let parts = bytes.div_ceil(WORD).clamp(1, 8).next_power_of_two();
    let size = LANES as u64 / parts;
    let first = ((1u64 << size) - 1) as u32;
    let parts = (0..parts).map(|part| mask & first << (part * size));
    let mut passes = Passes::default();
    for part in parts.filter(|part| *part != 0) {
        let mut of_bank = [0; BANKS];
        for word in distinct(at, bytes, part, WORD) {
            of_bank[(word % BANKS as u64) as usize] += 1;
        }
        passes.all += of_bank.into_iter().max().unwrap_or(0);
        passes.least += 1;
    }
    passes
}

/// The distinct chunks of a size that lanes access, by number.
fn distinct(at: &[u64; LANES], bytes: u64, mask: u32, size: u64) -> Vec<u64> {
    let pieces = |(_, &at): (u32, &u64)| {
        let last = at.saturating_add(bytes.max(1) - 1);
        at / size..=last / size
    };
    let lanes = (0u32..).zip(at).filter(|(lane, _)| mask >> lane & 1 == 1);
    let mut all: Vec<u64> = lanes.flat_map(pieces).collect();
    all.sort_unstable();
    all.dedup();
    all
}

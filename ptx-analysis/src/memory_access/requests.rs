//! The cost of memory requests of a warp on the hardware: sectors and passes.

/// The number of lanes of a warp.
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

/// The set of the first lanes of a warp, as a mask.
#[must_use]
pub const fn existing_lanes(count: u32) -> u32 {
    match count {
        0 => 0,
        1..32 => (1 << count) - 1,
        _ => u32::MAX,
    }
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
pub fn sectors(addresses: &[u64; LANES], bytes: u64, mask: u32) -> u64 {
    let mut count = 0;
    each_chunk(addresses, bytes, mask, SECTOR, |_| count += 1);
    count
}

/// The number of passes over shared memory for the lanes of a mask. Accesses of eight and more bytes are split: the first half of the warp is
/// served before the second one, or the quarters one after the other.
#[must_use]
pub fn passes(addresses: &[u64; LANES], bytes: u64, mask: u32) -> Passes {
    let parts = bytes.div_ceil(WORD).clamp(1, 8).next_power_of_two();
    let lanes_per_part = LANES as u64 / parts;
    let first_part = ((1u64 << lanes_per_part) - 1) as u32;
    let mut passes = Passes::default();
    for part in 0..parts {
        let lanes = mask & first_part << (part * lanes_per_part);
        if lanes == 0 {
            continue;
        }
        let mut words = [0; BANKS];
        each_chunk(addresses, bytes, lanes, WORD, |word| {
            words[(word % BANKS as u64) as usize] += 1;
        });
        passes.all += words.into_iter().max().unwrap_or(0);
        passes.least += 1;
    }
    passes
}

/// Calls `each` with the numbers of the distinct chunks of a size that lanes access, in ascending order.
fn each_chunk(
    addresses: &[u64; LANES],
    bytes: u64,
    mask: u32,
    size: u64,
    mut each: impl FnMut(u64),
) {
    let mut ranges = [(0, 0); LANES];
    let mut count = 0;
    for (lane, &address) in (0u32..).zip(addresses) {
        if mask >> lane & 1 == 1 {
            let last = address.saturating_add(bytes.max(1) - 1);
            ranges[count] = (address / size, last / size);
            count += 1;
        }
    }
    let ranges = &mut ranges[..count];
    ranges.sort_unstable();
    let mut next = 0;
    for &(first, last) in &*ranges {
        for chunk in first.max(next)..=last {
            each(chunk);
        }
        next = next.max(last + 1);
    }
}

//! Elements that the lanes of a warp read and write. Lanes next to each other often access consecutive elements or the same one.

use crate::lanes::{Double, LANES, lanes};

/// The number of lanes whose accesses are compared with each other.
pub(super) const GROUP: usize = 8;

/// A value in each lane: 32 or 64 bits.
pub(crate) trait LaneValue: Copy + Default {
    /// The lowest bits of a value.
    fn from_bits(bits: u64) -> Self;
}

impl LaneValue for u32 {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits as Self
    }
}

impl LaneValue for u64 {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits
    }
}

/// The elements that neighboring lanes access.
pub(super) enum Pattern {
    /// Consecutive elements.
    Row,
    /// One element.
    Same,
    Other,
}

/// The pattern of the accesses of neighboring lanes to elements of a number of bytes.
#[inline(always)]
pub(super) fn pattern(addresses: &[u64; GROUP], bytes: u64) -> Pattern {
    let first = addresses[0];
    match addresses[1].wrapping_sub(first) {
        0 if are_in_steps(addresses, 0) => Pattern::Same,
        stride if stride == bytes && are_in_steps(addresses, bytes) => Pattern::Row,
        _ => Pattern::Other,
    }
}

/// Whether each address is `step` greater than the one before.
#[inline(always)]
fn are_in_steps(addresses: &[u64; GROUP], step: u64) -> bool {
    let differences = (0..GROUP).fold(0, |bits, lane| {
        bits | (addresses[lane] ^ addresses[0].wrapping_add(lane as u64 * step))
    });
    differences == 0
}

/// Reads values of at most 8 bytes at the offset of each lane of a mask. The error is the first lane whose offset is out of bounds.
#[inline(always)]
pub(crate) fn read_lanes<V: LaneValue>(
    memory: &[u8],
    offsets: &Double,
    bytes: u8,
    mask: u32,
    values: &mut [V; LANES],
) -> Result<(), usize> {
    match bytes {
        1 => gather::<1, V>(memory, offsets, mask, values),
        2 => gather::<2, V>(memory, offsets, mask, values),
        4 => gather::<4, V>(memory, offsets, mask, values),
        _ => gather::<8, V>(memory, offsets, mask, values),
    }
}

#[inline(always)]
fn gather<const N: usize, V: LaneValue>(
    memory: &[u8],
    offsets: &Double,
    mask: u32,
    values: &mut [V; LANES],
) -> Result<(), usize> {
    if mask != u32::MAX {
        for lane in lanes(mask) {
            values[lane] = read_at::<N, V>(memory, offsets[lane]).ok_or(lane)?;
        }
        return Ok(());
    }
    let groups = offsets.as_chunks().0;
    // An iterator over both at once is not always inlined without link-time optimization.
    for (group, values) in values.as_chunks_mut().0.iter_mut().enumerate() {
        if gather_group::<N, V>(memory, &groups[group], values).is_none() {
            return Err(first_outside::<N>(memory, offsets, mask));
        }
    }
    Ok(())
}

#[inline(always)]
fn value_of<const N: usize, V: LaneValue>(source: &[u8; N]) -> V {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(source);
    V::from_bits(u64::from_le_bytes(bytes))
}

#[inline(always)]
fn read_at<const N: usize, V: LaneValue>(memory: &[u8], offset: u64) -> Option<V> {
    let start = usize::try_from(offset).ok()?;
    memory.get(start..)?.first_chunk().map(value_of::<N, V>)
}

/// Reads the values of neighboring lanes.
#[inline(always)]
fn gather_group<const N: usize, V: LaneValue>(
    memory: &[u8],
    offsets: &[u64; GROUP],
    values: &mut [V; GROUP],
) -> Option<()> {
    match pattern(offsets, N as u64) {
        Pattern::Same => *values = [read_at::<N, V>(memory, offsets[0])?; GROUP],
        Pattern::Row => {
            let start = usize::try_from(offsets[0]).ok()?;
            let row = memory.get(start..)?.get(..GROUP * N)?.as_chunks().0;
            let row: &[[u8; N]; GROUP] = row.first_chunk()?;
            for (lane, value) in values.iter_mut().enumerate() {
                *value = value_of::<N, V>(&row[lane]);
            }
        }
        Pattern::Other => {
            for (lane, value) in values.iter_mut().enumerate() {
                *value = read_at::<N, V>(memory, offsets[lane])?;
            }
        }
    }
    Some(())
}

/// The first lane of a mask whose offset is out of bounds.
#[cold]
fn first_outside<const N: usize>(memory: &[u8], offsets: &Double, mask: u32) -> usize {
    let is_outside = |lane: &usize| {
        let end = offsets[*lane].saturating_add(N as u64);
        end > memory.len() as u64
    };
    lanes(mask).find(is_outside).unwrap_or(0)
}

/// Writes values of at most 8 bytes at the offset of each lane of a mask. The error is the first lane whose offset is out of bounds.
#[inline(always)]
pub(crate) fn write_lanes(
    memory: &mut [u8],
    offsets: &Double,
    bytes: u8,
    mask: u32,
    values: &Double,
) -> Result<(), usize> {
    match bytes {
        1 => scatter::<1>(memory, offsets, mask, values),
        2 => scatter::<2>(memory, offsets, mask, values),
        4 => scatter::<4>(memory, offsets, mask, values),
        _ => scatter::<8>(memory, offsets, mask, values),
    }
}

#[inline(always)]
fn scatter<const N: usize>(
    memory: &mut [u8],
    offsets: &Double,
    mask: u32,
    values: &Double,
) -> Result<(), usize> {
    for lane in lanes(mask) {
        let start = usize::try_from(offsets[lane]).ok();
        let target: &mut [u8; N] = start
            .and_then(|start| memory.get_mut(start..)?.first_chunk_mut())
            .ok_or(lane)?;
        target.copy_from_slice(&values[lane].to_le_bytes()[..N]);
    }
    Ok(())
}

/// Changes the word at the offset of one lane of a mask after the other. The error is the first lane whose offset is out of bounds.
#[inline(always)]
pub(crate) fn change_words(
    memory: &mut [u8],
    offsets: &Double,
    mask: u32,
    mut new: impl FnMut(usize, u32) -> u32,
) -> Result<(), usize> {
    for lane in lanes(mask) {
        let start = usize::try_from(offsets[lane]).ok();
        let word: &mut [u8; 4] = start
            .and_then(|start| memory.get_mut(start..)?.first_chunk_mut())
            .ok_or(lane)?;
        *word = new(lane, u32::from_le_bytes(*word)).to_le_bytes();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{read, write};

    /// Offsets of lanes: of rows, of one element, or any; a few are out of bounds.
    fn offsets(random: &mut fastrand::Rng, bytes: u64, len: u64) -> Double {
        let mut offsets = [0; LANES];
        for group in offsets.chunks_mut(GROUP) {
            let (start, kind) = (random.u64(..len), random.u8(..4));
            for (lane, offset) in (0..).zip(group) {
                *offset = match kind {
                    0 => start + lane * bytes,
                    1 => start,
                    2 => start + lane * 2 * bytes,
                    _ => random.u64(..len),
                } % (len + 9 - bytes);
            }
        }
        if random.u8(..20) == 0 {
            offsets[random.usize(..LANES)] = u64::MAX - random.u64(..8);
        }
        offsets
    }

    #[test]
    fn elements_are_those_of_each_lane_alone() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut memory: Vec<u8> = (0..300).map(|_| random.u8(..)).collect();
        for round in 0..20_000 {
            let bytes = 1 << random.u8(..4);
            let offsets = offsets(&mut random, bytes.into(), 300);
            let mask = if round % 3 == 0 {
                random.u32(..)
            } else {
                u32::MAX
            };
            let values = [0; LANES].map(|_: u64| random.u64(..));

            let mut found = [7u64; LANES];
            let result = read_lanes(&memory, &offsets, bytes, mask, &mut found);
            let failed = lanes(mask).find(|&lane| read(&memory, offsets[lane], bytes).is_none());
            assert_eq!(result.err(), failed);
            if failed.is_none() {
                let expected: Double = core::array::from_fn(|lane| {
                    let value = read(&memory, offsets[lane], bytes);
                    if mask >> lane & 1 == 1 {
                        value.unwrap_or(0) as u64
                    } else {
                        7
                    }
                });
                assert_eq!(found, expected);
            }

            let mut expected = memory.clone();
            for lane in lanes(mask) {
                if write(&mut expected, offsets[lane], bytes, values[lane].into()).is_none() {
                    break;
                }
            }
            let result = write_lanes(&mut memory, &offsets, bytes, mask, &values);
            assert_eq!((result.err(), &memory), (failed, &expected));
        }
    }
}

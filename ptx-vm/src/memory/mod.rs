//! Device memory, which all threads share, and the shared memory of a CTA.

mod copies;
mod free_ranges;
mod global;
mod heap;
mod multicast;
mod pages;
pub(crate) mod swizzle;
pub(crate) mod tensor;
mod value;

pub use global::AddressSize;
pub(crate) use global::{GlobalMemory, MemorySnapshot};
pub(crate) use heap::Heap;
pub(crate) use multicast::{MAX_MEMBERS, is_multimem};
pub use pages::{HostPage, PAGE_BYTES, PageSource};
pub use swizzle::Swizzle;
pub use value::DeviceValue;
pub(crate) use value::{bytes_of, values_of};

use crate::lanes::{Double, LANES, lanes};

/// The reason why an access is impossible.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// No memory has the address.
    OutOfBounds(u64),
    /// The address is not a multiple of the number of bytes.
    Misaligned(u64),
    /// The memory limit of the host was reached.
    NoMemory,
}

/// The value of at most 16 bytes at an offset.
pub(crate) fn read(memory: &[u8], offset: u64, bytes: u8) -> Option<u128> {
    let start = usize::try_from(offset).ok()?;
    let source = memory.get(start..start.checked_add(bytes.into())?)?;
    let mut value = [0; 16];
    value[..source.len()].copy_from_slice(source);
    Some(u128::from_le_bytes(value))
}

/// Reads values of at most 8 bytes at the offset of each lane of a mask. The error is the first lane whose offset is out of bounds.
pub(crate) fn read_lanes(
    memory: &[u8],
    offsets: &Double,
    bytes: u8,
    mask: u32,
) -> Result<Double, usize> {
    match bytes {
        1 => gather::<1>(memory, offsets, mask),
        2 => gather::<2>(memory, offsets, mask),
        4 => gather::<4>(memory, offsets, mask),
        _ => gather::<8>(memory, offsets, mask),
    }
}

fn gather<const N: usize>(memory: &[u8], offsets: &Double, mask: u32) -> Result<Double, usize> {
    let mut values = [0; LANES];
    for lane in lanes(mask) {
        let source = range::<N>(offsets[lane]).and_then(|range| memory.get(range));
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(source.ok_or(lane)?);
        values[lane] = u64::from_le_bytes(bytes);
    }
    Ok(values)
}

/// Writes values of at most 8 bytes at the offset of each lane of a mask. The error is the first lane whose offset is out of bounds.
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

fn scatter<const N: usize>(
    memory: &mut [u8],
    offsets: &Double,
    mask: u32,
    values: &Double,
) -> Result<(), usize> {
    for lane in lanes(mask) {
        let destination = range::<N>(offsets[lane])
            .and_then(|range| memory.get_mut(range))
            .ok_or(lane)?;
        destination.copy_from_slice(&values[lane].to_le_bytes()[..N]);
    }
    Ok(())
}

/// The range of `N` bytes at an offset.
fn range<const N: usize>(offset: u64) -> Option<core::ops::Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    Some(start..start.checked_add(N)?)
}

/// Changes a value of at most 8 bytes at an offset.
pub(crate) fn change(
    memory: &mut [u8],
    offset: u64,
    bytes: u8,
    new: impl FnOnce(u64) -> u64,
) -> Option<()> {
    let start = usize::try_from(offset).ok()?;
    let destination = memory.get_mut(start..start.checked_add(bytes.into())?)?;
    if let Ok(word) = <&mut [u8; 4]>::try_from(&mut *destination) {
        *word = (new(u32::from_le_bytes(*word).into()) as u32).to_le_bytes();
        return Some(());
    }
    let mut old = [0; 8];
    old[..destination.len()].copy_from_slice(destination);
    let value = new(u64::from_le_bytes(old)).to_le_bytes();
    destination.copy_from_slice(&value[..bytes.into()]);
    Some(())
}

/// Writes at most 16 bytes at an offset.
pub(crate) fn write(memory: &mut [u8], offset: u64, bytes: u8, value: u128) -> Option<()> {
    let start = usize::try_from(offset).ok()?;
    let destination = memory.get_mut(start..start.checked_add(bytes.into())?)?;
    destination.copy_from_slice(&value.to_le_bytes()[..bytes.into()]);
    Some(())
}

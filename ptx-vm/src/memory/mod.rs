//! Device memory, which all threads share, and the shared memory of a CTA.

mod copies;
mod free_ranges;
mod global;
mod global_lanes;
mod heap;
mod multicast;
mod pages;
mod rows;
pub(crate) mod tensor;
mod value;

pub use global::AddressSize;
pub(crate) use global::{GlobalMemory, MemorySnapshot};
pub(crate) use heap::Heap;
pub(crate) use multicast::{MAX_MEMBERS, is_multimem};
pub use pages::{HostPage, PAGE_BYTES, PageSource};
#[doc(inline)]
pub(crate) use ptx_analysis::Swizzle;
pub(crate) use rows::{LaneValue, change_words, read_lanes, write_lanes};
pub use value::DeviceValue;
pub(crate) use value::{bytes_of, values_of};

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

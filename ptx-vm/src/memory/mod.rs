//! Memory: that of the device, which all threads share, and that of a CTA.

mod device;

pub(crate) use device::Device;

/// Why an access is impossible.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// No memory has the address.
    OutOfBounds(u64),
    /// The address is not a multiple of the number of bytes.
    Misaligned(u64),
}

/// The value of at most 16 bytes at an offset.
pub(crate) fn read(memory: &[u8], offset: u64, bytes: u8) -> Option<u128> {
    let start = usize::try_from(offset).ok()?;
    let from = memory.get(start..start.checked_add(bytes.into())?)?;
    let mut value = [0; 16];
    value[..from.len()].copy_from_slice(from);
    Some(u128::from_le_bytes(value))
}

/// Writes at most 16 bytes at an offset.
pub(crate) fn write(memory: &mut [u8], offset: u64, bytes: u8, value: u128) -> Option<()> {
    let start = usize::try_from(offset).ok()?;
    let to = memory.get_mut(start..start.checked_add(bytes.into())?)?;
    to.copy_from_slice(&value.to_le_bytes()[..bytes.into()]);
    Some(())
}

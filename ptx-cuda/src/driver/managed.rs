//! Managed memory: its attributes, and operations on several ranges. Managed memory is always where it is needed, so that these operations have no effect.

use crate::call::{enqueue, in_context, on_device};
use crate::caller;
use crate::handles::Raw;
use crate::state::{AllocationKind, Driver, Operation};
use crate::status::{Outcome, Status};

/// Checks that a range is within managed memory.
pub(crate) fn check_managed(driver: &Driver, address: usize, bytes: usize) -> Outcome<()> {
    let (_, allocation) = driver
        .memory
        .find(address as u64)
        .ok_or(Status::INVALID_VALUE)?;
    let is_managed = matches!(
        allocation.kind,
        AllocationKind::Managed | AllocationKind::ManagedVariable
    );
    if !is_managed || bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    driver.memory.check(address as u64, bytes as u64)
}

/// Checks the ranges of a function for several ranges.
fn ranges(
    name: &str,
    addresses: *const usize,
    sizes: *const usize,
    count: usize,
    stream: Raw,
) -> Status {
    enqueue(name, stream, |driver| {
        let sizes = caller::slice(sizes, count)?;
        for (address, bytes) in caller::slice(addresses, count)?.iter().zip(sizes) {
            check_managed(driver, *address, *bytes)?;
        }
        Ok(Operation::Empty)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPrefetchBatchAsync(
    addresses: *const usize,
    sizes: *const usize,
    count: usize,
    _places: usize,
    _place_indices: usize,
    _place_count: usize,
    _flags: u64,
    stream: Raw,
) -> Status {
    ranges("cuMemPrefetchBatchAsync", addresses, sizes, count, stream)
}

/// The contents of discarded memory are not defined: it keeps them.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemDiscardBatchAsync(
    addresses: *const usize,
    sizes: *const usize,
    count: usize,
    _flags: u64,
    stream: Raw,
) -> Status {
    ranges("cuMemDiscardBatchAsync", addresses, sizes, count, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemDiscardAndPrefetchBatchAsync(
    addresses: *const usize,
    sizes: *const usize,
    count: usize,
    _places: usize,
    _place_indices: usize,
    _place_count: usize,
    _flags: u64,
    stream: Raw,
) -> Status {
    let name = "cuMemDiscardAndPrefetchBatchAsync";
    ranges(name, addresses, sizes, count, stream)
}

/// The attributes of ranges that are a place: the preferred one, and the last one of a prefetch. There is none: -2.
const PLACES: [u32; 2] = [2, 4];
const NO_PLACE: i32 = -2;

/// Writes the value of an attribute of a range of managed memory: words of 4 bytes.
fn set_range_attribute(value: *mut i32, value_bytes: usize, number: u32) -> Outcome<()> {
    if !(1..=8).contains(&number) || value_bytes == 0 || !value_bytes.is_multiple_of(4) {
        return Err(Status::INVALID_VALUE);
    }
    let result = if PLACES.contains(&number) || number == 3 {
        NO_PLACE
    } else {
        0
    };
    for place in caller::slice_mut(value, value_bytes / 4)? {
        place.write(result);
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemRangeGetAttribute(
    value: *mut i32,
    value_bytes: usize,
    number: u32,
    address: usize,
    bytes: usize,
) -> Status {
    on_device("cuMemRangeGetAttribute", |driver| {
        check_managed(driver, address, bytes)?;
        set_range_attribute(value, value_bytes, number)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemRangeGetAttributes(
    values: *const *mut i32,
    value_bytes: *const usize,
    numbers: *const u32,
    count: usize,
    address: usize,
    bytes: usize,
) -> Status {
    in_context("cuMemRangeGetAttributes", |driver| {
        check_managed(driver, address, bytes)?;
        let values = caller::slice(values, count)?.iter();
        let sizes = caller::slice(value_bytes, count)?;
        let numbers = caller::slice(numbers, count)?;
        for ((value, size), number) in values.zip(sizes).zip(numbers) {
            set_range_attribute(*value, *size, *number)?;
        }
        Ok(())
    })
}

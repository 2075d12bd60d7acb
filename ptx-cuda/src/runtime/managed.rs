//! Advice about managed memory. Managed memory is always where it is needed: advice has no effect.

use super::call::{enqueue, in_context};
use super::types::MemoryLocation;
use super::version::{Major, major};
use crate::caller;
use crate::handles::Raw;
use crate::state::{AllocationKind, Driver, Operation};
use crate::status::{Outcome, Status};

/// The kinds of places of memory: `cudaMemLocationType`.
mod location {
    pub(super) const DEVICE: u32 = 1;
    /// The last kind.
    pub(super) const HOST_NUMA_CURRENT: u32 = 4;
}

/// The number of the device of the host in CUDA 12.
const HOST_DEVICE: i32 = -1;

/// Checks that a range is within managed memory.
fn check_managed(driver: &Driver, address: usize, bytes: usize) -> Outcome<()> {
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

/// The place in a word of 8 bytes, which is a number of a device in CUDA 12 and a structure in CUDA 13: both are passed in one register.
fn check_location(word: u64, is_structure: bool) -> Outcome<()> {
    let location = if is_structure {
        MemoryLocation {
            kind: word as u32,
            id: (word >> 32) as i32,
        }
    } else {
        MemoryLocation {
            kind: location::DEVICE,
            id: word as i32,
        }
    };
    match location {
        MemoryLocation {
            kind: location::DEVICE,
            id: 0,
        } => Ok(()),
        MemoryLocation {
            kind: location::DEVICE,
            id: HOST_DEVICE,
        } if !is_structure => Ok(()),
        MemoryLocation {
            kind: location::DEVICE,
            ..
        } => Err(Status::INVALID_DEVICE),
        MemoryLocation { kind, .. } if kind <= location::HOST_NUMA_CURRENT => Ok(()),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The advice: 1 to 6. Those about read-mostly data, 1 and 2, ignore the place.
fn advise(
    name: &str,
    address: usize,
    bytes: usize,
    advice: u32,
    place: Option<(u64, bool)>,
) -> Status {
    in_context(name, |driver| {
        if !(1..=6).contains(&advice) {
            return Err(Status::INVALID_VALUE);
        }
        if let Some((word, is_structure)) = place
            && !matches!(advice, 1 | 2 | 4)
        {
            check_location(word, is_structure)?;
        }
        check_managed(driver, address, bytes)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemAdvise(address: usize, bytes: usize, advice: u32, place: u64) -> Status {
    let is_structure = major() == Major::Thirteen;
    let place = Some((place, is_structure));
    advise("cudaMemAdvise", address, bytes, advice, place)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemAdvise_v2(
    address: usize,
    bytes: usize,
    advice: u32,
    place: u64,
) -> Status {
    let place = Some((place, true));
    advise("cudaMemAdvise_v2", address, bytes, advice, place)
}

fn prefetch(
    name: &str,
    [address, bytes]: [usize; 2],
    place: u64,
    is_structure: bool,
    stream: Raw,
) -> Status {
    enqueue(name, stream, |driver| {
        check_location(place, is_structure)?;
        check_managed(driver, address, bytes)?;
        Ok(Operation::Empty)
    })
}

/// The fourth parameter is the stream in CUDA 12, and flags in CUDA 13.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPrefetchAsync(
    address: usize,
    bytes: usize,
    place: u64,
    flags_or_stream: usize,
    stream: Raw,
) -> Status {
    let (is_structure, stream) = match major() {
        Major::Twelve => (false, flags_or_stream),
        Major::Thirteen => (true, stream),
    };
    let range = [address, bytes];
    prefetch("cudaMemPrefetchAsync", range, place, is_structure, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPrefetchAsync_v2(
    address: usize,
    bytes: usize,
    place: u64,
    _flags: u32,
    stream: Raw,
) -> Status {
    prefetch(
        "cudaMemPrefetchAsync_v2",
        [address, bytes],
        place,
        true,
        stream,
    )
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
pub extern "C" fn cudaMemPrefetchBatchAsync(
    addresses: *const usize,
    sizes: *const usize,
    count: usize,
    _places: usize,
    _place_indices: usize,
    _place_count: usize,
    _flags: u64,
    stream: Raw,
) -> Status {
    ranges("cudaMemPrefetchBatchAsync", addresses, sizes, count, stream)
}

/// The contents of discarded memory are not defined: it keeps them.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemDiscardBatchAsync(
    addresses: *const usize,
    sizes: *const usize,
    count: usize,
    _flags: u64,
    stream: Raw,
) -> Status {
    ranges("cudaMemDiscardBatchAsync", addresses, sizes, count, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemDiscardAndPrefetchBatchAsync(
    addresses: *const usize,
    sizes: *const usize,
    count: usize,
    _places: usize,
    _place_indices: usize,
    _place_count: usize,
    _flags: u64,
    stream: Raw,
) -> Status {
    let name = "cudaMemDiscardAndPrefetchBatchAsync";
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
pub extern "C" fn cudaMemRangeGetAttribute(
    value: *mut i32,
    value_bytes: usize,
    number: u32,
    address: usize,
    bytes: usize,
) -> Status {
    in_context("cudaMemRangeGetAttribute", |driver| {
        check_managed(driver, address, bytes)?;
        set_range_attribute(value, value_bytes, number)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemRangeGetAttributes(
    values: *const *mut i32,
    value_bytes: *const usize,
    numbers: *const u32,
    count: usize,
    address: usize,
    bytes: usize,
) -> Status {
    in_context("cudaMemRangeGetAttributes", |driver| {
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

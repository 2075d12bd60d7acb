//! Advice about managed memory. Managed memory is always where it is needed: advice has no effect.

use super::call::{enqueue, in_context, same_as_driver};
use super::version::{Major, major};
use crate::abi::graph::MemoryLocation;
use crate::abi::location;
use crate::driver::managed::{self as d, check_managed};
use crate::handles::Raw;
use crate::state::Operation;
use crate::status::{Outcome, Status};

/// The number of the device of the host in CUDA 12.
const HOST_DEVICE: i32 = -1;

/// The place in a word of 8 bytes, which is a number of a device in CUDA 12 and a structure in CUDA 13: both are passed in one register.
fn check_location(word: u64, is_structure: bool) -> Outcome<()> {
    let location = if is_structure {
        MemoryLocation {
            kind: word as u32,
            number: (word >> 32) as i32,
        }
    } else {
        MemoryLocation {
            kind: location::DEVICE,
            number: word as i32,
        }
    };
    match location {
        MemoryLocation {
            kind: location::DEVICE,
            number: 0,
        } => Ok(()),
        MemoryLocation {
            kind: location::DEVICE,
            number: HOST_DEVICE,
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

same_as_driver! {
    pub extern "C" fn cudaMemPrefetchBatchAsync(
        addresses: *const usize,
        sizes: *const usize,
        count: usize,
        places: usize,
        place_indices: usize,
        place_count: usize,
        flags: u64,
        stream: Raw,
    ) -> Status => d::cuMemPrefetchBatchAsync;

    pub extern "C" fn cudaMemDiscardBatchAsync(
        addresses: *const usize,
        sizes: *const usize,
        count: usize,
        flags: u64,
        stream: Raw,
    ) -> Status => d::cuMemDiscardBatchAsync;

    pub extern "C" fn cudaMemDiscardAndPrefetchBatchAsync(
        addresses: *const usize,
        sizes: *const usize,
        count: usize,
        places: usize,
        place_indices: usize,
        place_count: usize,
        flags: u64,
        stream: Raw,
    ) -> Status => d::cuMemDiscardAndPrefetchBatchAsync;

    pub extern "C" fn cudaMemRangeGetAttribute(
        value: *mut i32,
        value_bytes: usize,
        number: u32,
        address: usize,
        bytes: usize,
    ) -> Status => d::cuMemRangeGetAttribute;

    pub extern "C" fn cudaMemRangeGetAttributes(
        values: *const *mut i32,
        value_bytes: *const usize,
        numbers: *const u32,
        count: usize,
        address: usize,
        bytes: usize,
    ) -> Status => d::cuMemRangeGetAttributes;
}

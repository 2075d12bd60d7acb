//! Allocations, and facts about addresses.

use crate::call::{call, enqueue, in_context, on_device};
use crate::caller::{self, Out, set, set_if_wanted};
use crate::handles::Raw;
use crate::state::{AllocationKind, Driver, Operation};
use crate::status::{Outcome, Status};

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetInfo_v2(free: Out<'_, usize>, total: Out<'_, usize>) -> Status {
    in_context("cuMemGetInfo_v2", |driver| {
        set_if_wanted(free, (driver.memory.total - driver.memory.used) as usize);
        set_if_wanted(total, driver.memory.total as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAlloc_v2(address: Out<'_, u64>, bytes: usize) -> Status {
    in_context("cuMemAlloc_v2", |driver| {
        let start = driver.allocate(bytes as u64, AllocationKind::Device)?;
        set(address, start)
    })
}

/// The distance between rows is a multiple of 512 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocPitch_v2(
    address: Out<'_, u64>,
    pitch: Out<'_, usize>,
    width_bytes: usize,
    height: usize,
    element_bytes: u32,
) -> Status {
    in_context("cuMemAllocPitch_v2", |driver| {
        if !matches!(element_bytes, 4 | 8 | 16) {
            return Err(Status::INVALID_VALUE);
        }
        let (start, distance) = driver.allocate_rows(width_bytes, height)?;
        set(pitch, distance)?;
        set(address, start)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocManaged(address: Out<'_, u64>, bytes: usize, flags: u32) -> Status {
    in_context("cuMemAllocManaged", |driver| {
        if !matches!(flags, 1 | 2 | 4) {
            return Err(Status::INVALID_VALUE);
        }
        let start = driver.allocate(bytes as u64, AllocationKind::Managed)?;
        set(address, start)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocHost_v2(pointer: Out<'_, usize>, bytes: usize) -> Status {
    cuMemHostAlloc(pointer, bytes, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostAlloc(pointer: Out<'_, usize>, bytes: usize, flags: u32) -> Status {
    in_context("cuMemHostAlloc", |driver| {
        let start = driver.allocate(bytes as u64, AllocationKind::Pinned { flags })?;
        set(pointer, start as usize)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> Status {
    in_context("cuMemFree_v2", |driver| match address {
        0 => Ok(()),
        address => driver.free(address),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(address: u64, stream: Raw) -> Status {
    enqueue("cuMemFreeAsync", stream, |_| match address {
        0 => Ok(Operation::Empty),
        address => Ok(Operation::Free(address)),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(pointer: usize) -> Status {
    cuMemFree_v2(pointer as u64)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostRegister_v2(pointer: usize, bytes: usize, flags: u32) -> Status {
    in_context("cuMemHostRegister_v2", |driver| {
        driver.register(pointer, bytes as u64, flags).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostUnregister(pointer: usize) -> Status {
    in_context("cuMemHostUnregister", |driver| driver.unregister(pointer))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostGetDevicePointer_v2(
    address: Out<'_, u64>,
    pointer: usize,
    flags: u32,
) -> Status {
    in_context("cuMemHostGetDevicePointer_v2", |driver| {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        set(address, driver.device_address(pointer as u64)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostGetFlags(flags: Out<'_, u32>, pointer: usize) -> Status {
    in_context("cuMemHostGetFlags", |driver| {
        let address = driver.device_address(pointer as u64)?;
        let (_, allocation) = driver.memory.find(address).ok_or(Status::INVALID_VALUE)?;
        match allocation.kind {
            AllocationKind::Pinned { flags: of_host }
            | AllocationKind::Registered { flags: of_host, .. } => set(flags, of_host),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetAddressRange_v2(
    start: Out<'_, u64>,
    bytes: Out<'_, usize>,
    address: u64,
) -> Status {
    in_context("cuMemGetAddressRange_v2", |driver| {
        let (first, allocation) = driver.memory.find(address).ok_or(Status::NOT_FOUND)?;
        set_if_wanted(start, first);
        set_if_wanted(bytes, allocation.bytes as usize);
        Ok(())
    })
}

/// The numbers of attributes of addresses.
mod attribute {
    pub(super) const CONTEXT: u32 = 1;
    pub(super) const MEMORY_TYPE: u32 = 2;
    pub(super) const DEVICE_POINTER: u32 = 3;
    pub(super) const HOST_POINTER: u32 = 4;
    pub(super) const BUFFER_ID: u32 = 7;
    pub(super) const IS_MANAGED: u32 = 8;
    pub(super) const RANGE_START: u32 = 11;
    pub(super) const RANGE_BYTES: u32 = 12;
    pub(super) const MAPPED: u32 = 13;
    /// One more than the last number.
    pub(super) const COUNT: u32 = 22;
}

/// Writes the value of an attribute of an address: 8, 4 or 1 bytes, as the attribute requires.
fn set_attribute(driver: &Driver, value: usize, number: u32, pointer: u64) -> Outcome<()> {
    use attribute as a;
    if value == 0 || !(1..a::COUNT).contains(&number) {
        return Err(Status::INVALID_VALUE);
    }
    let address = driver.device_address(pointer)?;
    let (start, allocation) = driver.memory.find(address).ok_or(Status::INVALID_VALUE)?;
    let on_host = match allocation.kind {
        AllocationKind::Registered { host, .. } => host as u64 + (address - start),
        kind if kind.is_exposed() => address,
        _ => 0,
    };
    let is_managed = allocation.kind == AllocationKind::Managed;
    let (number_of_bytes, result) = match number {
        a::CONTEXT => (8, allocation.context as u64),
        a::MEMORY_TYPE => (4, if on_host != 0 && !is_managed { 1 } else { 2 }),
        a::DEVICE_POINTER => (8, address),
        a::HOST_POINTER if on_host == 0 => return Err(Status::INVALID_VALUE),
        a::HOST_POINTER => (8, on_host),
        a::BUFFER_ID => (8, allocation.number),
        a::IS_MANAGED => (4, is_managed.into()),
        a::RANGE_START => (8, start),
        a::RANGE_BYTES => (8, allocation.bytes),
        a::MAPPED => (4, 1),
        14 | 17 | 18 | 19 | 20 => (8, 0),
        16 => (4, 3),
        _ => (4, 0),
    };
    caller::copy(
        result.to_le_bytes().as_ptr().expose_provenance(),
        value,
        number_of_bytes,
    );
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuPointerGetAttribute(value: usize, number: u32, pointer: u64) -> Status {
    call("cuPointerGetAttribute", |driver| {
        set_attribute(driver, value, number, pointer)
    })
}

/// Attributes of addresses that are not known are 0.
#[unsafe(no_mangle)]
pub extern "C" fn cuPointerGetAttributes(
    count: u32,
    numbers: *const u32,
    values: *const usize,
    pointer: u64,
) -> Status {
    call("cuPointerGetAttributes", |driver| {
        let numbers = caller::slice(numbers, count as usize)?;
        for (number, value) in numbers.iter().zip(caller::slice(values, count as usize)?) {
            if set_attribute(driver, *value, *number, pointer).is_err() {
                let bytes = if matches!(number, 1 | 3 | 4 | 7 | 11 | 12) {
                    8
                } else {
                    4
                };
                caller::copy([0u8; 8].as_ptr().expose_provenance(), *value, bytes);
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuPointerSetAttribute(_value: usize, number: u32, pointer: u64) -> Status {
    in_context("cuPointerSetAttribute", |driver| {
        // Copies are always complete when functions return.
        if number != 6 {
            return Err(Status::INVALID_VALUE);
        }
        driver
            .memory
            .find(pointer)
            .map(|_| ())
            .ok_or(Status::INVALID_VALUE)
    })
}

/// Managed memory is always where it is needed: advice has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAdvise_v2(
    address: u64,
    bytes: usize,
    _advice: u32,
    _location: u64,
) -> Status {
    on_device("cuMemAdvise_v2", |driver| {
        driver.memory.check(address, bytes as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAdvise(address: u64, bytes: usize, advice: u32, device: i32) -> Status {
    cuMemAdvise_v2(address, bytes, advice, device as u64)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPrefetchAsync_v2(
    address: u64,
    bytes: usize,
    _location: u64,
    _flags: u32,
    stream: Raw,
) -> Status {
    enqueue("cuMemPrefetchAsync_v2", stream, |driver| {
        driver.memory.check(address, bytes as u64)?;
        Ok(Operation::Empty)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPrefetchAsync(
    address: u64,
    bytes: usize,
    device: i32,
    stream: Raw,
) -> Status {
    cuMemPrefetchAsync_v2(address, bytes, device as u64, 0, stream)
}

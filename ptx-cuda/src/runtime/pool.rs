//! Pools of memory. Allocations of a pool are those of the device, and are freed at once.

use super::call::{enqueue, in_context, same_as_driver, without_context};
use super::types::MemoryAccess;
use crate::abi::ExportedPointer;
use crate::abi::graph::{MemoryLocation, PoolProperties};
use crate::caller::{self, Out, given, set};
use crate::driver::device::check_device;
use crate::driver::pool as d;
use crate::handles::Raw;
use crate::state::{Driver, Operation};
use crate::status::{Outcome, Status};

/// Allocates memory at once; the order of the stream is kept, as operations are performed when they are appended. An allocation of no bytes is null.
fn allocate(
    name: &str,
    pointer: Out<'_, usize>,
    bytes: usize,
    stream: Raw,
    pool: impl FnOnce(&mut Driver) -> Outcome<()>,
) -> Status {
    enqueue(name, stream, |driver| {
        let pointer = pointer.ok_or(Status::INVALID_VALUE)?;
        pool(driver)?;
        let (address, operation) = match bytes {
            0 => (0, Operation::Nothing),
            bytes => driver.allocate_in_stream(stream, bytes as u64)?,
        };
        pointer.write(address as usize);
        Ok(operation)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocAsync(pointer: Out<'_, usize>, bytes: usize, stream: Raw) -> Status {
    allocate("cudaMallocAsync", pointer, bytes, stream, |_| Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocFromPoolAsync(
    pointer: Out<'_, usize>,
    bytes: usize,
    pool: Raw,
    stream: Raw,
) -> Status {
    let name = "cudaMallocFromPoolAsync";
    allocate(name, pointer, bytes, stream, |driver| {
        driver.check_pool(pool)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetDefaultMemPool(pool: Out<'_, Raw>, device: i32) -> Status {
    without_context("cudaDeviceGetDefaultMemPool", |driver| {
        check_device(device)?;
        set(pool, driver.default_pool())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetMemPool(pool: Out<'_, Raw>, device: i32) -> Status {
    cudaDeviceGetDefaultMemPool(pool, device)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetMemPool(device: i32, pool: Raw) -> Status {
    without_context("cudaDeviceSetMemPool", |driver| {
        check_device(device)?;
        driver.pools.get(pool).map(|_| ())
    })
}

same_as_driver! {
    pub extern "C" fn cudaMemGetDefaultMemPool(
        pool: Out<'_, Raw>,
        location: Option<&MemoryLocation>,
        kind: u32,
    ) -> Status => d::cuMemGetDefaultMemPool;

    pub extern "C" fn cudaMemGetMemPool(
        pool: Out<'_, Raw>,
        location: Option<&MemoryLocation>,
        kind: u32,
    ) -> Status => d::cuMemGetMemPool;

    pub extern "C" fn cudaMemSetMemPool(
        location: Option<&MemoryLocation>,
        kind: u32,
        pool: Raw,
    ) -> Status => d::cuMemSetMemPool;

    pub extern "C" fn cudaMemPoolCreate(
        pool: Out<'_, Raw>,
        properties: Option<&PoolProperties>,
    ) -> Status => d::cuMemPoolCreate;

    pub extern "C" fn cudaMemPoolExportToShareableHandle(
        handle: usize,
        pool: Raw,
        kind: u32,
        flags: u64,
    ) -> Status => d::cuMemPoolExportToShareableHandle;

    pub extern "C" fn cudaMemPoolImportFromShareableHandle(
        pool: Out<'_, Raw>,
        handle: usize,
        kind: u32,
        flags: u64,
    ) -> Status => d::cuMemPoolImportFromShareableHandle;

    pub extern "C" fn cudaMemPoolExportPointer(
        data: Out<'_, ExportedPointer>,
        address: u64,
    ) -> Status => d::cuMemPoolExportPointer;

    pub extern "C" fn cudaMemPoolImportPointer(
        address: Out<'_, u64>,
        pool: Raw,
        data: Option<&ExportedPointer>,
    ) -> Status => d::cuMemPoolImportPointer;
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolDestroy(pool: Raw) -> Status {
    in_context("cudaMemPoolDestroy", |driver| {
        driver.pools.remove(pool).map(|_| ())
    })
}

/// The bytes of the value of an attribute of pools.
const fn value_bytes(number: u32) -> usize {
    if number <= 3 { 4 } else { 8 }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolSetAttribute(pool: Raw, number: u32, value: usize) -> Status {
    in_context("cudaMemPoolSetAttribute", |driver| {
        if !(1..=8).contains(&number) {
            return Err(Status::INVALID_VALUE);
        }
        let mut bytes = [0; 8];
        let source = caller::bytes(value, value_bytes(number))?;
        bytes[..source.len()].copy_from_slice(source);
        let pool = driver.pools.get_mut(pool)?;
        pool.attributes.insert(number, u64::from_le_bytes(bytes));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolGetAttribute(pool: Raw, number: u32, value: usize) -> Status {
    in_context("cudaMemPoolGetAttribute", |driver| {
        if value == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let used = driver.memory.used;
        let pool = driver.pools.get(pool)?;
        let result = match number {
            // The bytes that are reserved and used, now and at most.
            5..=8 => used,
            // The reuse of memory is enabled if nothing else was set.
            1..=3 => pool.attributes.get(&number).copied().unwrap_or(1),
            4 => pool.attributes.get(&number).copied().unwrap_or(0),
            _ => return Err(Status::INVALID_VALUE),
        };
        caller::put(&result.to_le_bytes()[..value_bytes(number)], value);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolTrimTo(pool: Raw, _bytes: usize) -> Status {
    in_context("cudaMemPoolTrimTo", |driver| {
        driver.pools.get(pool).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolSetAccess(
    pool: Raw,
    access: *const MemoryAccess,
    count: usize,
) -> Status {
    in_context("cudaMemPoolSetAccess", |driver| {
        driver.pools.get(pool)?;
        for access in caller::slice(access, count)? {
            if access.location.kind == 1 {
                check_device(access.location.number)?;
            }
        }
        Ok(())
    })
}

/// The device can read and write the memory of every pool: 3.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolGetAccess(
    access: Out<'_, u32>,
    pool: Raw,
    location: Option<&MemoryLocation>,
) -> Status {
    in_context("cudaMemPoolGetAccess", |driver| {
        driver.pools.get(pool)?;
        given(location)?;
        set(access, 3)
    })
}

//! Pools of memory. There is one pool of memory for all; allocations of a pool are those of the device, and are freed at once.

use crate::abi::ExportedPointer;
use crate::abi::graph::{MemoryLocation, PoolProperties};
use crate::call::{enqueue, in_context, plain};
use crate::caller::{self, Out, given, set};
use crate::handles::Raw;
use crate::state::Pool;
use crate::state::pools::FILE_DESCRIPTOR;
use crate::state::shared_memory::{Content, SharedMemory, is_descriptor_of_device};
use crate::status::Status;

/// The result of a function that allocates memory in a stream. While the stream is captured, a node of the graph allocates it.
fn enqueue_allocation(name: &str, address: Out<'_, u64>, bytes: usize, stream: Raw) -> Status {
    enqueue(name, stream, |driver| {
        let address = address.ok_or(Status::INVALID_VALUE)?;
        let (start, operation) = driver.allocate_in_stream(stream, bytes as u64)?;
        address.write(start);
        Ok(operation)
    })
}

/// Allocates memory at once; the order of the stream is kept, as operations are performed when they are appended.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocAsync(address: Out<'_, u64>, bytes: usize, stream: Raw) -> Status {
    enqueue_allocation("cuMemAllocAsync", address, bytes, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocFromPoolAsync(
    address: Out<'_, u64>,
    bytes: usize,
    pool: Raw,
    stream: Raw,
) -> Status {
    let status =
        crate::call::in_context("cuMemAllocFromPoolAsync", |driver| driver.check_pool(pool));
    if status != Status::SUCCESS {
        return status;
    }
    enqueue_allocation("cuMemAllocFromPoolAsync", address, bytes, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetDefaultMemPool(pool: Out<'_, Raw>, device: i32) -> Status {
    crate::call::call("cuDeviceGetDefaultMemPool", |driver| {
        super::device::check_device(device)?;
        set(pool, driver.default_pool())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetMemPool(pool: Out<'_, Raw>, device: i32) -> Status {
    cuDeviceGetDefaultMemPool(pool, device)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceSetMemPool(device: i32, pool: Raw) -> Status {
    crate::call::call("cuDeviceSetMemPool", |driver| {
        super::device::check_device(device)?;
        driver.pools.get(pool).map(|_| ())
    })
}

/// The pool of a place, which is the device.
fn pool_at(name: &str, pool: Out<'_, Raw>, location: Option<&MemoryLocation>) -> Status {
    crate::call::call(name, |driver| {
        let location = given(location)?;
        if location.kind == 1 {
            super::device::check_device(location.number)?;
        }
        set(pool, driver.default_pool())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetDefaultMemPool(
    pool: Out<'_, Raw>,
    location: Option<&MemoryLocation>,
    _kind: u32,
) -> Status {
    pool_at("cuMemGetDefaultMemPool", pool, location)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetMemPool(
    pool: Out<'_, Raw>,
    location: Option<&MemoryLocation>,
    _kind: u32,
) -> Status {
    pool_at("cuMemGetMemPool", pool, location)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemSetMemPool(
    location: Option<&MemoryLocation>,
    _kind: u32,
    pool: Raw,
) -> Status {
    crate::call::call("cuMemSetMemPool", |driver| {
        given(location)?;
        driver.pools.get(pool).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolCreate(
    pool: Out<'_, Raw>,
    properties: Option<&PoolProperties>,
) -> Status {
    in_context("cuMemPoolCreate", |driver| {
        let handle_kinds = given(properties)?.handle_types;
        if handle_kinds & !FILE_DESCRIPTOR != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let pool = pool.ok_or(Status::INVALID_VALUE)?;
        pool.write(driver.pools.insert(Pool {
            handle_kinds,
            ..Pool::default()
        }));
        Ok(())
    })
}

/// Another process can use the pool, through a file descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolExportToShareableHandle(
    handle: usize,
    pool: Raw,
    kind: u32,
    flags: u64,
) -> Status {
    in_context("cuMemPoolExportToShareableHandle", |driver| {
        let pool = driver.pools.get(pool)?;
        let is_wanted = kind == FILE_DESCRIPTOR && pool.handle_kinds & kind != 0;
        if handle == 0 || flags != 0 || !is_wanted || pool.is_imported {
            return Err(Status::INVALID_VALUE);
        }
        let descriptor = driver.memory.arena.duplicate();
        let descriptor = descriptor.map_err(|_| Status::OPERATING_SYSTEM)?;
        caller::put(&descriptor.to_ne_bytes(), handle);
        Ok(())
    })
}

/// The pool of another process. `handle` is the file descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolImportFromShareableHandle(
    pool: Out<'_, Raw>,
    handle: usize,
    kind: u32,
    flags: u64,
) -> Status {
    in_context("cuMemPoolImportFromShareableHandle", |driver| {
        let pool = pool.ok_or(Status::INVALID_VALUE)?;
        if kind != FILE_DESCRIPTOR || flags != 0 || !is_descriptor_of_device(handle) {
            return Err(Status::INVALID_VALUE);
        }
        pool.write(driver.pools.insert(Pool {
            is_imported: true,
            ..Pool::default()
        }));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolExportPointer(data: Out<'_, ExportedPointer>, address: u64) -> Status {
    in_context("cuMemPoolExportPointer", |driver| {
        let shared = driver.share(address)?;
        set(data, ExportedPointer(shared.to_bytes(Content::Allocation)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolImportPointer(
    address: Out<'_, u64>,
    pool: Raw,
    data: Option<&ExportedPointer>,
) -> Status {
    in_context("cuMemPoolImportPointer", |driver| {
        let shared = SharedMemory::from_bytes(&given(data)?.0, Content::Allocation);
        let shared = shared.filter(|_| address.is_some());
        let shared = shared.ok_or(Status::INVALID_VALUE)?;
        if !driver.pools.get(pool)?.is_imported {
            return Err(Status::INVALID_VALUE);
        }
        set(address, driver.open_shared(shared)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolDestroy(pool: Raw) -> Status {
    in_context("cuMemPoolDestroy", |driver| {
        driver.pools.remove(pool).map(|_| ())
    })
}

/// The bytes of the value of an attribute of pools.
const fn value_bytes(attribute: u32) -> usize {
    if attribute <= 3 { 4 } else { 8 }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolSetAttribute(pool: Raw, attribute: u32, value: usize) -> Status {
    in_context("cuMemPoolSetAttribute", |driver| {
        let mut bytes = [0; 8];
        let given = caller::bytes(value, value_bytes(attribute))?;
        bytes[..given.len()].copy_from_slice(given);
        let pool = driver.pools.get_mut(pool)?;
        pool.attributes.insert(attribute, u64::from_le_bytes(bytes));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolGetAttribute(pool: Raw, attribute: u32, value: usize) -> Status {
    in_context("cuMemPoolGetAttribute", |driver| {
        if value == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let used = driver.memory.used;
        let pool = driver.pools.get(pool)?;
        let number = match attribute {
            // The bytes that are reserved and used, now and at most.
            5..=8 => used,
            // The reuse of memory is enabled if nothing else was set.
            1..=3 => pool.attributes.get(&attribute).copied().unwrap_or(1),
            4 => pool.attributes.get(&attribute).copied().unwrap_or(0),
            _ => return Err(Status::INVALID_VALUE),
        };
        caller::copy(
            number.to_le_bytes().as_ptr().expose_provenance(),
            value,
            value_bytes(attribute),
        );
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolTrimTo(pool: Raw, _bytes: usize) -> Status {
    in_context("cuMemPoolTrimTo", |driver| {
        driver.pools.get(pool).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolSetAccess(pool: Raw, _access: usize, _count: usize) -> Status {
    in_context("cuMemPoolSetAccess", |driver| {
        driver.pools.get(pool).map(|_| ())
    })
}

/// The device can read and write the memory of every pool.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolGetAccess(access: Out<'_, u32>, pool: Raw, _location: usize) -> Status {
    in_context("cuMemPoolGetAccess", |driver| {
        driver.pools.get(pool)?;
        set(access, 3)
    })
}

/// Nothing is kept that could be released.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGraphMemTrim(_device: i32) -> Status {
    plain("cuDeviceGraphMemTrim", || Ok(()))
}

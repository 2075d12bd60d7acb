//! Pools of memory. There is one pool of memory for all; allocations of a pool are those of the device, and are freed at once.

use crate::abi::graph::{MemoryAccess, MemoryLocation, PoolProperties};
use crate::abi::{ExportedPointer, location};
use crate::call::{call, enqueue, on_device, plain};
use crate::caller::{self, Out, given, set};
use crate::handles::Raw;
use crate::state::pools::FILE_DESCRIPTOR;
use crate::state::shared_memory::{Content, SharedMemory, is_descriptor_of_device};
use crate::state::{AllocationKind, Driver, Pool};
use crate::status::{Outcome, Status};

/// The result of a function that allocates memory in a stream. While the stream is captured, a node of the graph allocates it.
fn enqueue_allocation(
    name: &str,
    address: Out<'_, u64>,
    bytes: usize,
    stream: Raw,
    pool: impl FnOnce(&mut Driver) -> Raw,
) -> Status {
    enqueue(name, stream, |driver| {
        let address = address.ok_or(Status::INVALID_VALUE)?;
        let pool = pool(driver);
        let kind = driver.kind_of_pool(pool)?;
        let (start, operation) = driver.allocate_in_stream(stream, bytes as u64, kind)?;
        address.write(start);
        Ok(operation)
    })
}

/// Allocates memory at once; the order of the stream is kept, as operations are performed when they are appended.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocAsync(address: Out<'_, u64>, bytes: usize, stream: Raw) -> Status {
    enqueue_allocation("cuMemAllocAsync", address, bytes, stream, |driver| {
        driver.current_pool()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocFromPoolAsync(
    address: Out<'_, u64>,
    bytes: usize,
    pool: Raw,
    stream: Raw,
) -> Status {
    enqueue_allocation("cuMemAllocFromPoolAsync", address, bytes, stream, |_| pool)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetDefaultMemPool(pool: Out<'_, Raw>, device: i32) -> Status {
    call("cuDeviceGetDefaultMemPool", |driver| {
        super::device::check_device(device)?;
        set(pool, driver.default_pool(AllocationKind::Device))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetMemPool(pool: Out<'_, Raw>, device: i32) -> Status {
    call("cuDeviceGetMemPool", |driver| {
        super::device::check_device(device)?;
        set(pool, driver.current_pool())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceSetMemPool(device: i32, pool: Raw) -> Status {
    call("cuDeviceSetMemPool", |driver| {
        super::device::check_device(device)?;
        driver.choose_pool(pool)
    })
}

/// Checks a place of memory: if it is a device, that there is one with its number.
fn check_place(place: MemoryLocation) -> Outcome<()> {
    if place.kind == location::DEVICE {
        super::device::check_device(place.number)?;
    }
    Ok(())
}

/// How memory of a place with a type of allocations is allocated: on the device, on the host, or as managed memory.
fn kind_at(place: MemoryLocation, allocation_type: u32) -> Outcome<AllocationKind> {
    const PINNED: u32 = 1;
    const MANAGED: u32 = 2;
    check_place(place)?;
    match (allocation_type, place.kind) {
        (PINNED, location::DEVICE) => Ok(AllocationKind::Device),
        (PINNED, location::HOST | location::HOST_NUMA | location::HOST_NUMA_CURRENT) => {
            Ok(AllocationKind::Pinned { flags: 0 })
        }
        (MANAGED, _) => Ok(AllocationKind::Managed),
        _ => Err(Status::INVALID_VALUE),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetDefaultMemPool(
    pool: Out<'_, Raw>,
    location: Option<&MemoryLocation>,
    allocation_type: u32,
) -> Status {
    call("cuMemGetDefaultMemPool", |driver| {
        let kind = kind_at(*given(location)?, allocation_type)?;
        set(pool, driver.default_pool(kind))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetMemPool(
    pool: Out<'_, Raw>,
    location: Option<&MemoryLocation>,
    allocation_type: u32,
) -> Status {
    call("cuMemGetMemPool", |driver| {
        let result = match kind_at(*given(location)?, allocation_type)? {
            AllocationKind::Device => driver.current_pool(),
            kind => driver.default_pool(kind),
        };
        set(pool, result)
    })
}

/// Pools of the host and of managed memory are those that functions name.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemSetMemPool(
    location: Option<&MemoryLocation>,
    allocation_type: u32,
    pool: Raw,
) -> Status {
    call("cuMemSetMemPool", |driver| {
        let kind = kind_at(*given(location)?, allocation_type)?;
        if driver.kind_of_pool(pool)? != kind {
            return Err(Status::INVALID_VALUE);
        }
        match kind {
            AllocationKind::Device => driver.choose_pool(pool),
            _ => Ok(()),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolCreate(
    pool: Out<'_, Raw>,
    properties: Option<&PoolProperties>,
) -> Status {
    on_device("cuMemPoolCreate", |driver| {
        let properties = given(properties)?;
        let handle_kinds = properties.handle_types;
        let kind = kind_at(properties.location, properties.allocation_type)?;
        if handle_kinds & !FILE_DESCRIPTOR != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let pool = pool.ok_or(Status::INVALID_VALUE)?;
        pool.write(driver.pools.insert(Pool {
            handle_kinds,
            ..Pool::new(kind)
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
    on_device("cuMemPoolExportToShareableHandle", |driver| {
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
    on_device("cuMemPoolImportFromShareableHandle", |driver| {
        let pool = pool.ok_or(Status::INVALID_VALUE)?;
        if kind != FILE_DESCRIPTOR || flags != 0 || !is_descriptor_of_device(handle) {
            return Err(Status::INVALID_VALUE);
        }
        pool.write(driver.pools.insert(Pool {
            is_imported: true,
            ..Pool::new(AllocationKind::Device)
        }));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolExportPointer(data: Out<'_, ExportedPointer>, address: u64) -> Status {
    on_device("cuMemPoolExportPointer", |driver| {
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
    on_device("cuMemPoolImportPointer", |driver| {
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
    on_device("cuMemPoolDestroy", |driver| driver.destroy_pool(pool))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolSetAttribute(pool: Raw, number: u32, value: usize) -> Status {
    on_device("cuMemPoolSetAttribute", |driver| {
        driver.set_pool_attribute(pool, number, value)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolGetAttribute(pool: Raw, number: u32, value: usize) -> Status {
    on_device("cuMemPoolGetAttribute", |driver| {
        if value == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let (result, bytes) = driver.pool_attribute(pool, number)?;
        caller::put(&result.to_le_bytes()[..bytes], value);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolTrimTo(pool: Raw, _bytes: usize) -> Status {
    on_device("cuMemPoolTrimTo", |driver| {
        driver.pools.get(pool).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolSetAccess(
    pool: Raw,
    access: *const MemoryAccess,
    count: usize,
) -> Status {
    on_device("cuMemPoolSetAccess", |driver| {
        driver.pools.get(pool)?;
        for access in caller::slice(access, count)? {
            check_place(access.location)?;
        }
        Ok(())
    })
}

/// The device can read and write the memory of every pool: 3.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolGetAccess(
    access: Out<'_, u32>,
    pool: Raw,
    location: Option<&MemoryLocation>,
) -> Status {
    on_device("cuMemPoolGetAccess", |driver| {
        driver.pools.get(pool)?;
        check_place(*given(location)?)?;
        set(access, 3)
    })
}

/// Nothing is kept that could be released.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGraphMemTrim(_device: i32) -> Status {
    plain("cuDeviceGraphMemTrim", || Ok(()))
}

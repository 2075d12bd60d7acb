//! Pools of memory. Allocations of a pool are those of the device, and are freed at once.

use super::call::{enqueue, same_as_driver};
use crate::abi::ExportedPointer;
use crate::abi::graph::{MemoryAccess, MemoryLocation, PoolProperties};
use crate::caller::Out;
use crate::driver::pool as d;
use crate::handles::Raw;
use crate::state::{Driver, Operation};
use crate::status::Status;

/// Allocates memory at once; the order of the stream is kept, as operations are performed when they are appended. An allocation of no bytes is null.
fn allocate(
    name: &str,
    pointer: Out<'_, usize>,
    bytes: usize,
    stream: Raw,
    pool: impl FnOnce(&mut Driver) -> Raw,
) -> Status {
    enqueue(name, stream, |driver| {
        let pointer = pointer.ok_or(Status::INVALID_VALUE)?;
        let pool = pool(driver);
        let kind = driver.kind_of_pool(pool)?;
        let (address, operation) = match bytes {
            0 => (0, Operation::Nothing),
            bytes => driver.allocate_in_stream(stream, bytes as u64, kind)?,
        };
        pointer.write(address as usize);
        Ok(operation)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocAsync(pointer: Out<'_, usize>, bytes: usize, stream: Raw) -> Status {
    allocate("cudaMallocAsync", pointer, bytes, stream, |driver| {
        driver.current_pool()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocFromPoolAsync(
    pointer: Out<'_, usize>,
    bytes: usize,
    pool: Raw,
    stream: Raw,
) -> Status {
    let name = "cudaMallocFromPoolAsync";
    allocate(name, pointer, bytes, stream, |_| pool)
}

same_as_driver! {
    pub extern "C" fn cudaDeviceGetDefaultMemPool(
        pool: Out<'_, Raw>,
        device: i32,
    ) -> Status => d::cuDeviceGetDefaultMemPool;

    pub extern "C" fn cudaDeviceGetMemPool(
        pool: Out<'_, Raw>,
        device: i32,
    ) -> Status => d::cuDeviceGetMemPool;

    pub extern "C" fn cudaDeviceSetMemPool(
        device: i32,
        pool: Raw,
    ) -> Status => d::cuDeviceSetMemPool;

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

    pub extern "C" fn cudaMemPoolDestroy(pool: Raw) -> Status => d::cuMemPoolDestroy;

    pub extern "C" fn cudaMemPoolSetAttribute(
        pool: Raw,
        number: u32,
        value: usize,
    ) -> Status => d::cuMemPoolSetAttribute;

    pub extern "C" fn cudaMemPoolGetAttribute(
        pool: Raw,
        number: u32,
        value: usize,
    ) -> Status => d::cuMemPoolGetAttribute;

    pub extern "C" fn cudaMemPoolTrimTo(pool: Raw, bytes: usize) -> Status => d::cuMemPoolTrimTo;

    pub extern "C" fn cudaMemPoolSetAccess(
        pool: Raw,
        access: *const MemoryAccess,
        count: usize,
    ) -> Status => d::cuMemPoolSetAccess;

    pub extern "C" fn cudaMemPoolGetAccess(
        access: Out<'_, u32>,
        pool: Raw,
        location: Option<&MemoryLocation>,
    ) -> Status => d::cuMemPoolGetAccess;
}

//! Memory of the host that kernels can access.

use super::call::in_context;
use crate::caller::{Out, set};
use crate::state::AllocationKind;
use crate::status::Status;

/// The flags of allocations that exist: portable, mapped, write-combined.
const ALLOCATION_FLAGS: u32 = 0b111;
/// The flags of registrations that exist: portable, mapped, memory of devices, read-only.
const REGISTRATION_FLAGS: u32 = 0b1111;

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocHost(pointer: Out<'_, usize>, bytes: usize) -> Status {
    cudaHostAlloc(pointer, bytes, 0)
}

/// An allocation of no bytes is null.
#[unsafe(no_mangle)]
pub extern "C" fn cudaHostAlloc(pointer: Out<'_, usize>, bytes: usize, flags: u32) -> Status {
    in_context("cudaHostAlloc", |driver| {
        let pointer = pointer.ok_or(Status::INVALID_VALUE)?;
        if flags & !ALLOCATION_FLAGS != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let address = match bytes {
            0 => 0,
            bytes => driver.allocate(bytes as u64, AllocationKind::Pinned { flags })?,
        };
        pointer.write(address as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeHost(pointer: usize) -> Status {
    in_context("cudaFreeHost", |driver| {
        if pointer == 0 {
            return Ok(());
        }
        driver.flush_output();
        match driver.memory.find(pointer as u64) {
            Some((_, allocation)) if matches!(allocation.kind, AllocationKind::Pinned { .. }) => {
                driver.free(pointer as u64)
            }
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostRegister(pointer: usize, bytes: usize, flags: u32) -> Status {
    in_context("cudaHostRegister", |driver| {
        if flags & !REGISTRATION_FLAGS != 0 {
            return Err(Status::INVALID_VALUE);
        }
        driver.register(pointer, bytes as u64, flags).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostUnregister(pointer: usize) -> Status {
    in_context("cudaHostUnregister", |driver| driver.unregister(pointer))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostGetDevicePointer(
    address: Out<'_, usize>,
    pointer: usize,
    flags: u32,
) -> Status {
    in_context("cudaHostGetDevicePointer", |driver| {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let device = driver.device_address(pointer as u64)?;
        let (_, allocation) = driver.memory.find(device).ok_or(Status::INVALID_VALUE)?;
        if allocation.kind == AllocationKind::Device {
            return Err(Status::INVALID_VALUE);
        }
        set(address, device as usize)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostGetFlags(flags: Out<'_, u32>, pointer: usize) -> Status {
    in_context("cudaHostGetFlags", |driver| {
        let device = driver.device_address(pointer as u64)?;
        let (_, allocation) = driver.memory.find(device).ok_or(Status::INVALID_VALUE)?;
        match allocation.kind {
            // All memory of the host can be mapped.
            AllocationKind::Pinned { flags: host_flags }
            | AllocationKind::Registered {
                flags: host_flags, ..
            } => set(flags, host_flags | 2),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

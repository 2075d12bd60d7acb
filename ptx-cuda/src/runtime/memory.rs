//! Allocations of device memory and of managed memory.

use super::call::{enqueue, in_context};
use super::types::{Extent, PitchedPointer};
use crate::caller::{Out, set, set_if_wanted};
use crate::handles::Raw;
use crate::state::{AllocationKind, Operation};
use crate::status::Status;

/// An allocation of no bytes is null.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMalloc(pointer: Out<'_, usize>, bytes: usize) -> Status {
    in_context("cudaMalloc", |driver| {
        let pointer = pointer.ok_or(Status::INVALID_VALUE)?;
        let address = match bytes {
            0 => 0,
            bytes => driver.allocate(bytes as u64, AllocationKind::Device)?,
        };
        pointer.write(address as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocManaged(pointer: Out<'_, usize>, bytes: usize, flags: u32) -> Status {
    in_context("cudaMallocManaged", |driver| {
        let pointer = pointer.ok_or(Status::INVALID_VALUE)?;
        if !matches!(flags, 1 | 2) {
            return Err(Status::INVALID_VALUE);
        }
        let address = driver.allocate(bytes as u64, AllocationKind::Managed)?;
        pointer.write(address as usize);
        Ok(())
    })
}

/// The distance between rows is a multiple of 512 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocPitch(
    pointer: Out<'_, usize>,
    pitch: Out<'_, usize>,
    width: usize,
    height: usize,
) -> Status {
    in_context("cudaMallocPitch", |driver| {
        let (Some(pointer), Some(pitch)) = (pointer, pitch) else {
            return Err(Status::INVALID_VALUE);
        };
        let (address, distance) = match (width, height) {
            (0, _) | (_, 0) => (0, 0),
            _ => driver.allocate_rows(width, height)?,
        };
        pointer.write(address as usize);
        pitch.write(distance);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMalloc3D(result: Out<'_, PitchedPointer>, extent: Extent) -> Status {
    in_context("cudaMalloc3D", |driver| {
        let result = result.ok_or(Status::INVALID_VALUE)?;
        let rows = extent.height.checked_mul(extent.depth);
        let rows = rows.ok_or(Status::INVALID_VALUE)?;
        let (address, pitch) = match (extent.width, rows) {
            (0, _) | (_, 0) => (0, 0),
            (width, rows) => driver.allocate_rows(width, rows)?,
        };
        result.write(PitchedPointer {
            pointer: address as usize,
            pitch,
            width: extent.width,
            height: extent.height,
        });
        Ok(())
    })
}

/// Waits for the device, as the documentation says. Memory that another function allocated is an error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaFree(pointer: usize) -> Status {
    in_context("cudaFree", |driver| {
        if pointer == 0 {
            return Ok(());
        }
        driver.flush_output();
        match driver.memory.find(pointer as u64) {
            Some((_, allocation))
                if matches!(
                    allocation.kind,
                    AllocationKind::Device | AllocationKind::Managed
                ) =>
            {
                driver.free(pointer as u64)
            }
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeAsync(pointer: usize, stream: Raw) -> Status {
    enqueue("cudaFreeAsync", stream, |_| match pointer {
        0 => Ok(Operation::Empty),
        pointer => Ok(Operation::Free(pointer as u64)),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemGetInfo(free: Out<'_, usize>, total: Out<'_, usize>) -> Status {
    in_context("cudaMemGetInfo", |driver| {
        let memory = &driver.memory;
        set_if_wanted(free, (memory.total - memory.used) as usize);
        set(total, memory.total as usize)
    })
}

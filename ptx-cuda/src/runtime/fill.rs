//! Fills of memory with a byte.

use super::call::enqueue;
use super::types::{Extent, PitchedPointer};
use crate::handles::Raw;
use crate::state::{DEFAULT_STREAM, Driver, Fill, Operation};
use crate::status::{Outcome, Status};

/// The operation of a fill after all checks.
fn operation(driver: &Driver, mut fill: Fill) -> Outcome<Operation> {
    if fill.values == 0 || fill.rows == 0 {
        return Ok(Operation::Empty);
    }
    fill.address = driver.device_address(fill.address)?;
    driver.check_fill(&fill)?;
    Ok(Operation::Fill(fill))
}

/// The rows of a fill: their number, the bytes of each, and the distance between them.
#[derive(Copy, Clone)]
struct Rows {
    address: usize,
    pitch: usize,
    width: usize,
    height: usize,
}

impl Rows {
    /// The fill with the low byte of a value.
    fn fill(self, value: i32) -> Outcome<Fill> {
        if self.height > 1 && self.width > self.pitch {
            return Err(Status::INVALID_VALUE);
        }
        Ok(Fill {
            address: self.address as u64,
            pitch: self.pitch as u64,
            value: value as u8 as u32,
            width: 1,
            values: self.width as u64,
            rows: self.height as u64,
        })
    }
}

fn fill(name: &str, rows: Rows, value: i32, stream: Raw) -> Status {
    enqueue(name, stream, |driver| operation(driver, rows.fill(value)?))
}

const fn linear(address: usize, bytes: usize) -> Rows {
    Rows {
        address,
        pitch: bytes,
        width: bytes,
        height: 1,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset(address: usize, value: i32, bytes: usize) -> Status {
    fill("cudaMemset", linear(address, bytes), value, DEFAULT_STREAM)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemsetAsync(address: usize, value: i32, bytes: usize, stream: Raw) -> Status {
    fill("cudaMemsetAsync", linear(address, bytes), value, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset2D(
    address: usize,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
) -> Status {
    cudaMemset2DAsync(address, pitch, value, width, height, DEFAULT_STREAM)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset2DAsync(
    address: usize,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: Raw,
) -> Status {
    let rows = Rows {
        address,
        pitch,
        width,
        height,
    };
    fill("cudaMemset2DAsync", rows, value, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset3D(memory: PitchedPointer, value: i32, extent: Extent) -> Status {
    cudaMemset3DAsync(memory, value, extent, DEFAULT_STREAM)
}

/// A fill of layers is one fill if the layers have no other rows between them, and else a fill for each layer.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset3DAsync(
    memory: PitchedPointer,
    value: i32,
    extent: Extent,
    stream: Raw,
) -> Status {
    let name = "cudaMemset3DAsync";
    let layer = Rows {
        address: memory.pointer,
        pitch: memory.pitch,
        width: extent.width,
        height: extent.height,
    };
    let rows = extent.height.checked_mul(extent.depth);
    let distance = memory.pitch.checked_mul(memory.height);
    let (Some(rows), Some(distance)) = (rows, distance) else {
        return fill(name, linear(0, 1), value, stream);
    };
    if extent.depth <= 1 || extent.height == memory.height {
        let all = Rows {
            height: rows,
            ..layer
        };
        return fill(name, all, value, stream);
    }
    if layer.width == 0 || layer.height == 0 {
        return fill(name, linear(0, 0), value, stream);
    }
    for index in 0..extent.depth {
        let offset = distance.saturating_mul(index);
        let part = Rows {
            address: memory.pointer.saturating_add(offset),
            ..layer
        };
        let status = fill(name, part, value, stream);
        if status != Status::SUCCESS {
            return status;
        }
    }
    Status::SUCCESS
}

//! Copies of memory, of rows of bytes or of bytes that follow each other.

use super::call::enqueue_or_wait;
use crate::driver::device::check_device;
use crate::handles::Raw;
use crate::state::{AllocationKind, Copy, Driver, Operation, Place, Region};
use crate::status::{Outcome, Status};

/// The directions of copies: `cudaMemcpyKind`.
pub(crate) mod kind {
    pub(crate) const HOST_TO_HOST: u32 = 0;
    pub(crate) const HOST_TO_DEVICE: u32 = 1;
    pub(crate) const DEVICE_TO_HOST: u32 = 2;
    pub(crate) const DEVICE_TO_DEVICE: u32 = 3;
    pub(crate) const DEFAULT: u32 = 4;
}

/// Checks that an address is one of the device, or of the host in memory that the device can access.
fn check_device_side(driver: &Driver, address: u64) -> Outcome<()> {
    driver.device_address(address).map(|_| ())
}

/// Checks that an address is one that the host can access.
fn check_host_side(driver: &Driver, address: u64) -> Outcome<()> {
    match driver.memory.find(address) {
        Some((_, allocation)) if allocation.kind == AllocationKind::Device => {
            Err(Status::INVALID_VALUE)
        }
        _ => Ok(()),
    }
}

/// Checks that the addresses of a copy are those of its direction.
pub(crate) fn check_direction(driver: &Driver, from: u64, to: u64, direction: u32) -> Outcome<()> {
    match direction {
        kind::HOST_TO_HOST => {
            check_host_side(driver, from)?;
            check_host_side(driver, to)
        }
        // The driver finds memory of the device by its address, so that a copy from it is possible, too.
        kind::HOST_TO_DEVICE => check_device_side(driver, to),
        kind::DEVICE_TO_HOST => check_device_side(driver, from),
        kind::DEVICE_TO_DEVICE => {
            check_device_side(driver, from)?;
            check_device_side(driver, to)
        }
        kind::DEFAULT => Ok(()),
        _ => Err(Status::INVALID_MEMCPY_DIRECTION),
    }
}

/// The operation of a copy after all checks.
pub(crate) fn operation(driver: &Driver, copy: Copy, direction: u32) -> Outcome<Operation> {
    let Region {
        bytes,
        rows,
        layers,
    } = copy.region;
    if direction > kind::DEFAULT {
        return Err(Status::INVALID_MEMCPY_DIRECTION);
    }
    if bytes == 0 || rows == 0 || layers == 0 {
        return Ok(Operation::Empty);
    }
    if let (Place::Address { address: from, .. }, Place::Address { address: to, .. }) =
        (copy.from, copy.to)
    {
        check_direction(driver, from, to, direction)?;
    }
    driver.check_copy(&copy)?;
    Ok(Operation::Copy(copy))
}

/// The result of a function that copies bytes that follow each other. A copy that is not asynchronous waits for the device.
fn linear(
    name: &str,
    [to, from]: [usize; 2],
    bytes: usize,
    direction: u32,
    stream: Option<Raw>,
) -> Status {
    enqueue_or_wait(name, stream, |driver| {
        let copy = Copy::linear(from as u64, to as u64, bytes as u64);
        operation(driver, copy, direction)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy(to: usize, from: usize, bytes: usize, direction: u32) -> Status {
    linear("cudaMemcpy", [to, from], bytes, direction, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyAsync(
    to: usize,
    from: usize,
    bytes: usize,
    direction: u32,
    stream: Raw,
) -> Status {
    linear(
        "cudaMemcpyAsync",
        [to, from],
        bytes,
        direction,
        Some(stream),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyPeer(
    to: usize,
    to_device: i32,
    from: usize,
    from_device: i32,
    bytes: usize,
) -> Status {
    enqueue_or_wait("cudaMemcpyPeer", None, |driver| {
        check_device(to_device)?;
        check_device(from_device)?;
        let copy = Copy::linear(from as u64, to as u64, bytes as u64);
        operation(driver, copy, kind::DEFAULT)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyPeerAsync(
    to: usize,
    to_device: i32,
    from: usize,
    from_device: i32,
    bytes: usize,
    stream: Raw,
) -> Status {
    enqueue_or_wait("cudaMemcpyPeerAsync", Some(stream), |driver| {
        check_device(to_device)?;
        check_device(from_device)?;
        let copy = Copy::linear(from as u64, to as u64, bytes as u64);
        operation(driver, copy, kind::DEFAULT)
    })
}

/// One end of a copy of rows: the address, and the distance between rows.
#[derive(Copy, Clone)]
struct Rows {
    address: usize,
    pitch: usize,
}

/// The result of a function that copies rows of `width` bytes.
fn rows(
    name: &str,
    [to, from]: [Rows; 2],
    [width, height]: [usize; 2],
    direction: u32,
    stream: Option<Raw>,
) -> Status {
    enqueue_or_wait(name, stream, |driver| {
        if height > 0 && (width > to.pitch || width > from.pitch) {
            return Err(Status::INVALID_PITCH_VALUE);
        }
        let place = |rows: Rows| Place::Address {
            address: rows.address as u64,
            row: rows.pitch as u64,
            layer: 0,
        };
        let copy = Copy {
            from: place(from),
            to: place(to),
            region: Region {
                bytes: width as u64,
                rows: height as u64,
                layers: 1,
            },
        };
        operation(driver, copy, direction)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy2D(
    to: usize,
    to_pitch: usize,
    from: usize,
    from_pitch: usize,
    width: usize,
    height: usize,
    direction: u32,
) -> Status {
    let to = Rows {
        address: to,
        pitch: to_pitch,
    };
    let from = Rows {
        address: from,
        pitch: from_pitch,
    };
    rows("cudaMemcpy2D", [to, from], [width, height], direction, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy2DAsync(
    to: usize,
    to_pitch: usize,
    from: usize,
    from_pitch: usize,
    width: usize,
    height: usize,
    direction: u32,
    stream: Raw,
) -> Status {
    let to = Rows {
        address: to,
        pitch: to_pitch,
    };
    let from = Rows {
        address: from,
        pitch: from_pitch,
    };
    let size = [width, height];
    rows(
        "cudaMemcpy2DAsync",
        [to, from],
        size,
        direction,
        Some(stream),
    )
}

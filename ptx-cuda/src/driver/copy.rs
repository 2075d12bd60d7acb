//! Copies of memory.

use crate::abi::{Copy2d, Copy3d, Place2d, Place3d, memory_type};
use crate::call::enqueue;
use crate::caller::given;
use crate::handles::Raw;
use crate::state::{Copy, DEFAULT_STREAM, Operation, Place, Region};
use crate::status::{Outcome, Status};

/// The result of a function that copies bytes that follow each other. A copy that is not asynchronous waits for the device.
fn linear(name: &str, to: u64, from: u64, bytes: usize, stream: Option<Raw>) -> Status {
    enqueue(name, stream.unwrap_or(DEFAULT_STREAM), |driver| {
        if stream.is_none() {
            driver.synchronize()?;
        }
        let copy = Copy::linear(from, to, bytes as u64);
        driver.check_copy(&copy)?;
        Ok(Operation::Copy(copy))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy(to: u64, from: u64, bytes: usize) -> Status {
    linear("cuMemcpy", to, from, bytes, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Raw) -> Status {
    linear("cuMemcpyAsync", to, from, bytes, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoD_v2(to: u64, from: usize, bytes: usize) -> Status {
    linear("cuMemcpyHtoD_v2", to, from as u64, bytes, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: usize, bytes: usize, stream: Raw) -> Status {
    linear("cuMemcpyHtoDAsync_v2", to, from as u64, bytes, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoH_v2(to: usize, from: u64, bytes: usize) -> Status {
    linear("cuMemcpyDtoH_v2", to as u64, from, bytes, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoHAsync_v2(to: usize, from: u64, bytes: usize, stream: Raw) -> Status {
    linear("cuMemcpyDtoHAsync_v2", to as u64, from, bytes, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) -> Status {
    linear("cuMemcpyDtoD_v2", to, from, bytes, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Raw) -> Status {
    linear("cuMemcpyDtoDAsync_v2", to, from, bytes, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyPeer(
    to: u64,
    _to_context: Raw,
    from: u64,
    _from_context: Raw,
    bytes: usize,
) -> Status {
    linear("cuMemcpyPeer", to, from, bytes, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    _to_context: Raw,
    from: u64,
    _from_context: Raw,
    bytes: usize,
    stream: Raw,
) -> Status {
    linear("cuMemcpyPeerAsync", to, from, bytes, Some(stream))
}

/// The place of one end of a copy of rows.
fn place_2d(place: &Place2d) -> Outcome<Place> {
    place_3d(&Place3d {
        x_bytes: place.x_bytes,
        y: place.y,
        z: 0,
        level: 0,
        memory_type: place.memory_type,
        host: place.host,
        device: place.device,
        array: place.array,
        reserved: 0,
        pitch: place.pitch,
        height: 0,
    })
}

/// The place of one end of a copy of layers.
fn place_3d(place: &Place3d) -> Outcome<Place> {
    let base = match place.memory_type {
        memory_type::HOST => place.host as u64,
        memory_type::DEVICE | memory_type::UNIFIED => place.device,
        memory_type::ARRAY => {
            return Ok(Place::Array {
                array: place.array,
                position: [place.x_bytes as u64, place.y as u64, place.z as u64],
            });
        }
        _ => return Err(Status::INVALID_VALUE),
    };
    let row = place.pitch as u64;
    let layer = row
        .checked_mul(place.height as u64)
        .ok_or(Status::INVALID_VALUE)?;
    let rows = (place.y as u64).checked_mul(row);
    let layers = (place.z as u64).checked_mul(layer);
    let offset = rows
        .zip(layers)
        .and_then(|(rows, layers)| rows.checked_add(layers));
    let offset = offset.and_then(|offset| offset.checked_add(place.x_bytes as u64));
    let address = offset.and_then(|offset| base.checked_add(offset));
    Ok(Place::Address {
        address: address.ok_or(Status::INVALID_VALUE)?,
        row,
        layer,
    })
}

/// The result of a function that copies rows or layers.
fn shaped(name: &str, stream: Option<Raw>, copy: impl FnOnce() -> Outcome<Copy>) -> Status {
    enqueue(name, stream.unwrap_or(DEFAULT_STREAM), |driver| {
        if stream.is_none() {
            driver.synchronize()?;
        }
        let copy = copy()?;
        driver.check_copy(&copy)?;
        Ok(Operation::Copy(copy))
    })
}

fn copy_2d(copy: Option<&Copy2d>) -> Outcome<Copy> {
    let copy = given(copy)?;
    Ok(Copy {
        from: place_2d(&copy.from)?,
        to: place_2d(&copy.to)?,
        region: Region {
            bytes: copy.width_bytes as u64,
            rows: copy.height as u64,
            layers: 1,
        },
    })
}

pub(crate) fn copy_3d(copy: Option<&Copy3d>) -> Outcome<Copy> {
    let copy = given(copy)?;
    Ok(Copy {
        from: place_3d(&copy.from)?,
        to: place_3d(&copy.to)?,
        region: Region {
            bytes: copy.width_bytes as u64,
            rows: copy.height as u64,
            layers: copy.depth as u64,
        },
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy2D_v2(copy: Option<&Copy2d>) -> Status {
    shaped("cuMemcpy2D_v2", None, || copy_2d(copy))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy2DUnaligned_v2(copy: Option<&Copy2d>) -> Status {
    shaped("cuMemcpy2DUnaligned_v2", None, || copy_2d(copy))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy2DAsync_v2(copy: Option<&Copy2d>, stream: Raw) -> Status {
    shaped("cuMemcpy2DAsync_v2", Some(stream), || copy_2d(copy))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy3D_v2(copy: Option<&Copy3d>) -> Status {
    shaped("cuMemcpy3D_v2", None, || copy_3d(copy))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy3DAsync_v2(copy: Option<&Copy3d>, stream: Raw) -> Status {
    shaped("cuMemcpy3DAsync_v2", Some(stream), || copy_3d(copy))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy3DPeer(copy: Option<&Copy3d>) -> Status {
    shaped("cuMemcpy3DPeer", None, || copy_3d(copy))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy3DPeerAsync(copy: Option<&Copy3d>, stream: Raw) -> Status {
    shaped("cuMemcpy3DPeerAsync", Some(stream), || copy_3d(copy))
}

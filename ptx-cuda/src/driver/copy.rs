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

/// The result of a function that copies bytes of arrays that follow each other. `divides` is an array whose elements have a size that divides the number of bytes.
fn array_bytes(
    name: &str,
    [from, to]: [Place; 2],
    bytes: usize,
    divides: Option<Raw>,
    stream: Option<Raw>,
) -> Status {
    enqueue(name, stream.unwrap_or(DEFAULT_STREAM), |driver| {
        if stream.is_none() {
            driver.synchronize()?;
        }
        let bytes = bytes as u64;
        if let Some(array) = divides
            && !bytes.is_multiple_of(driver.arrays.get(array)?.element_bytes())
        {
            return Err(Status::INVALID_VALUE);
        }
        let region = Region {
            bytes,
            rows: 1,
            layers: 1,
        };
        let copy = Copy { from, to, region };
        driver.check_copy(&copy)?;
        Ok(Operation::Copy(copy))
    })
}

/// The bytes of an array from an offset on.
const fn in_array(array: Raw, offset: usize) -> Place {
    Place::ArrayBytes {
        array,
        offset: offset as u64,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoA_v2(to: Raw, offset: usize, from: usize, bytes: usize) -> Status {
    let places = [Place::linear(from as u64), in_array(to, offset)];
    array_bytes("cuMemcpyHtoA_v2", places, bytes, None, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoAAsync_v2(
    to: Raw,
    offset: usize,
    from: usize,
    bytes: usize,
    stream: Raw,
) -> Status {
    let places = [Place::linear(from as u64), in_array(to, offset)];
    array_bytes("cuMemcpyHtoAAsync_v2", places, bytes, None, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyAtoH_v2(to: usize, from: Raw, offset: usize, bytes: usize) -> Status {
    let places = [in_array(from, offset), Place::linear(to as u64)];
    array_bytes("cuMemcpyAtoH_v2", places, bytes, None, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyAtoHAsync_v2(
    to: usize,
    from: Raw,
    offset: usize,
    bytes: usize,
    stream: Raw,
) -> Status {
    let places = [in_array(from, offset), Place::linear(to as u64)];
    array_bytes("cuMemcpyAtoHAsync_v2", places, bytes, None, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoA_v2(to: Raw, offset: usize, from: u64, bytes: usize) -> Status {
    let places = [Place::linear(from), in_array(to, offset)];
    array_bytes("cuMemcpyDtoA_v2", places, bytes, None, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyAtoD_v2(to: u64, from: Raw, offset: usize, bytes: usize) -> Status {
    let places = [in_array(from, offset), Place::linear(to)];
    array_bytes("cuMemcpyAtoD_v2", places, bytes, Some(from), None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyAtoA_v2(
    to: Raw,
    to_offset: usize,
    from: Raw,
    from_offset: usize,
    bytes: usize,
) -> Status {
    let places = [in_array(from, from_offset), in_array(to, to_offset)];
    array_bytes("cuMemcpyAtoA_v2", places, bytes, Some(from), None)
}

/// The place of one end of a copy of rows.
fn place_2d(place: &Place2d, region: Region) -> Outcome<Place> {
    let place = Place3d {
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
    };
    place_3d(&place, region)
}

/// The place of one end of a copy of layers. A pitch or a height of 0 is that of a region whose rows or layers follow each other.
fn place_3d(place: &Place3d, region: Region) -> Outcome<Place> {
    let invalid = Status::INVALID_VALUE;
    if place.level != 0 {
        return Err(invalid);
    }
    let [x, y, z] = [place.x_bytes, place.y, place.z].map(|position| position as u64);
    let base = match place.memory_type {
        memory_type::HOST => place.host as u64,
        memory_type::DEVICE | memory_type::UNIFIED => place.device,
        memory_type::ARRAY => {
            return Ok(Place::Array {
                array: place.array,
                position: [x, y, z],
            });
        }
        _ => return Err(invalid),
    };
    let row = distance(place.pitch as u64, x, region.bytes)?;
    if row > MAX_PITCH {
        return Err(invalid);
    }
    let height = distance(place.height as u64, y, region.rows)?;
    let layer = row.checked_mul(height).ok_or(invalid)?;
    let offset = y
        .checked_mul(row)
        .zip(z.checked_mul(layer))
        .and_then(|(rows, layers)| rows.checked_add(layers)?.checked_add(x));
    let address = offset.and_then(|offset| base.checked_add(offset));
    Ok(Place::Address {
        address: address.ok_or(invalid)?,
        row,
        layer,
    })
}

/// The largest distance between rows: `CU_DEVICE_ATTRIBUTE_MAX_PITCH`.
const MAX_PITCH: u64 = i32::MAX as u64;

/// The distance between rows in bytes, or between layers in rows, which must contain the region.
fn distance(specified: u64, start: u64, length: u64) -> Outcome<u64> {
    let least = start.checked_add(length).ok_or(Status::INVALID_VALUE)?;
    match specified {
        0 => Ok(least),
        specified if specified < least => Err(Status::INVALID_VALUE),
        specified => Ok(specified),
    }
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
    let region = Region {
        bytes: copy.width_bytes as u64,
        rows: copy.height as u64,
        layers: 1,
    };
    Ok(Copy {
        from: place_2d(&copy.from, region)?,
        to: place_2d(&copy.to, region)?,
        region,
    })
}

pub(crate) fn copy_3d(copy: Option<&Copy3d>) -> Outcome<Copy> {
    let copy = given(copy)?;
    let region = Region {
        bytes: copy.width_bytes as u64,
        rows: copy.height as u64,
        layers: copy.depth as u64,
    };
    Ok(Copy {
        from: place_3d(&copy.from, region)?,
        to: place_3d(&copy.to, region)?,
        region,
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

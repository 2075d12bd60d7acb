//! Copies of layers of rows, between addresses and arrays.

use super::call::enqueue_or_wait;
use super::copy::{kind, operation};
use super::types::{Copy3dParameters, Copy3dPeerParameters, Extent, PitchedPointer, Position};
use crate::caller::given;
use crate::driver::device::check_device;
use crate::handles::Raw;
use crate::state::{Copy, Driver, Place, Region};
use crate::status::{Outcome, Status};

/// One end of a copy: an array, or an address with the distances between rows and layers.
#[derive(Copy, Clone)]
struct End {
    array: usize,
    position: Position,
    memory: PitchedPointer,
}

/// The place of an end of a copy, whose position is in bytes, rows and layers.
fn place(end: &End, element_bytes: usize) -> Outcome<Place> {
    let invalid = Status::INVALID_VALUE;
    let x = end.position.x.checked_mul(element_bytes).ok_or(invalid)?;
    if end.array != 0 {
        return Ok(Place::Array {
            array: end.array,
            position: [x as u64, end.position.y as u64, end.position.z as u64],
        });
    }
    let row = end.memory.pitch;
    let layer = row.checked_mul(end.memory.height).ok_or(invalid)?;
    let address = || {
        let rows = end.position.y.checked_mul(row)?;
        let layers = end.position.z.checked_mul(layer)?;
        end.memory
            .pointer
            .checked_add(x)?
            .checked_add(rows)?
            .checked_add(layers)
    };
    Ok(Place::Address {
        address: address().ok_or(invalid)? as u64,
        row: row as u64,
        layer: layer as u64,
    })
}

/// The bytes of an element of the arrays of a copy, which is the unit of its extent; 1 without arrays.
fn element_bytes(driver: &Driver, ends: [&End; 2]) -> Outcome<usize> {
    let arrays = ends.map(|end| end.array).into_iter();
    let mut sizes = arrays
        .filter(|array| *array != 0)
        .map(|array| driver.array_element_bytes(array));
    let first = sizes.next().unwrap_or(Ok(1))?;
    match sizes.next() {
        Some(second) if second? != first => Err(Status::INVALID_VALUE),
        _ => Ok(first),
    }
}

/// The copy between two ends.
fn copy(driver: &Driver, from: &End, to: &End, extent: Extent) -> Outcome<Copy> {
    let unit = element_bytes(driver, [from, to])?;
    let unit_of = |end: &End| if end.array == 0 { 1 } else { unit };
    let bytes = extent
        .width
        .checked_mul(unit)
        .ok_or(Status::INVALID_VALUE)?;
    for end in [from, to] {
        let is_strided = end.array == 0 && (extent.height > 1 || extent.depth > 1);
        if is_strided && bytes > end.memory.pitch {
            return Err(Status::INVALID_PITCH_VALUE);
        }
    }
    Ok(Copy {
        from: place(from, unit_of(from))?,
        to: place(to, unit_of(to))?,
        region: Region {
            bytes: bytes as u64,
            rows: extent.height as u64,
            layers: extent.depth as u64,
        },
    })
}

fn result(name: &str, parameters: Option<&Copy3dParameters>, stream: Option<Raw>) -> Status {
    enqueue_or_wait(name, stream, |driver| {
        let parameters = given(parameters)?;
        let copy = copy_of(driver, parameters)?;
        operation(driver, copy, parameters.kind)
    })
}

/// The copy that parameters describe.
pub(crate) fn copy_of(driver: &Driver, parameters: &Copy3dParameters) -> Outcome<Copy> {
    let from = End {
        array: parameters.from_array,
        position: parameters.from_position,
        memory: parameters.from,
    };
    let to = End {
        array: parameters.to_array,
        position: parameters.to_position,
        memory: parameters.to,
    };
    copy(driver, &from, &to, parameters.extent)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy3D(parameters: Option<&Copy3dParameters>) -> Status {
    result("cudaMemcpy3D", parameters, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy3DAsync(parameters: Option<&Copy3dParameters>, stream: Raw) -> Status {
    result("cudaMemcpy3DAsync", parameters, Some(stream))
}

fn peer(name: &str, parameters: Option<&Copy3dPeerParameters>, stream: Option<Raw>) -> Status {
    enqueue_or_wait(name, stream, |driver| {
        let parameters = given(parameters)?;
        check_device(parameters.from_device)?;
        check_device(parameters.to_device)?;
        let from = End {
            array: parameters.from_array,
            position: parameters.from_position,
            memory: parameters.from,
        };
        let to = End {
            array: parameters.to_array,
            position: parameters.to_position,
            memory: parameters.to,
        };
        let copy = copy(driver, &from, &to, parameters.extent)?;
        operation(driver, copy, kind::DEFAULT)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy3DPeer(parameters: Option<&Copy3dPeerParameters>) -> Status {
    peer("cudaMemcpy3DPeer", parameters, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy3DPeerAsync(
    parameters: Option<&Copy3dPeerParameters>,
    stream: Raw,
) -> Status {
    peer("cudaMemcpy3DPeerAsync", parameters, Some(stream))
}

/// The parameters that describe a copy. Offsets from addresses are part of the addresses.
pub(super) fn parameters_of(driver: &Driver, copy: &Copy) -> Outcome<Copy3dParameters> {
    let bytes = copy.region.bytes as usize;
    let mut unit = 1;
    let mut end = |place: Place| {
        let mut end = End {
            array: 0,
            position: Position { x: 0, y: 0, z: 0 },
            memory: PitchedPointer {
                pointer: 0,
                pitch: 0,
                width: 0,
                height: 0,
            },
        };
        match place {
            Place::Address {
                address,
                row,
                layer,
            } => {
                end.memory = PitchedPointer {
                    pointer: address as usize,
                    pitch: row as usize,
                    width: bytes,
                    height: layer.checked_div(row).unwrap_or(0) as usize,
                };
            }
            Place::Array {
                array, position, ..
            } => {
                unit = driver.array_element_bytes(array)?.max(1);
                let [x, y, z] = position.map(|position| position as usize);
                end.array = array;
                end.position = Position { x: x / unit, y, z };
            }
            Place::ArrayBytes { .. } => return Err(Status::NOT_SUPPORTED),
        }
        Ok(end)
    };
    let [from, to] = [end(copy.from)?, end(copy.to)?];
    Ok(Copy3dParameters {
        from_array: from.array,
        from_position: from.position,
        from: from.memory,
        to_array: to.array,
        to_position: to.position,
        to: to.memory,
        extent: Extent {
            width: bytes / unit,
            height: copy.region.rows as usize,
            depth: copy.region.layers as usize,
        },
        kind: kind::DEFAULT,
    })
}

//! Copies and fills of memory.

use super::{CudaArray, Driver};
use crate::caller;
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// One end of a copy.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// An address of the device or of the host, and the distances in bytes between rows and between layers.
    Address { address: u64, row: u64, layer: u64 },
    /// An array, and the position in it: bytes, rows and layers.
    Array { array: Raw, position: [u64; 3] },
    /// The bytes of an array without padding, from an offset on. Rows follow each other, then layers.
    ArrayBytes { array: Raw, offset: u64 },
}

impl Place {
    /// A place whose bytes follow each other.
    pub(crate) const fn linear(address: u64) -> Self {
        Self::Address {
            address,
            row: 0,
            layer: 0,
        }
    }
}

/// The extent of a copy.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Region {
    /// The bytes of a row.
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    pub(crate) layers: u64,
}

/// A copy between the host, the device and arrays.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Copy {
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) region: Region,
}

impl Copy {
    /// A copy of bytes that follow each other.
    pub(crate) const fn linear(from: u64, to: u64, bytes: u64) -> Self {
        Self {
            from: Place::linear(from),
            to: Place::linear(to),
            region: Region {
                bytes,
                rows: 1,
                layers: 1,
            },
        }
    }
}

/// A fill of memory with a value.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    /// The distance in bytes between rows.
    pub(crate) pitch: u64,
    pub(crate) value: u32,
    /// The bytes of the value: 1, 2 or 4.
    pub(crate) width: u64,
    /// The number of values in a row.
    pub(crate) values: u64,
    pub(crate) rows: u64,
}

impl Driver {
    /// Checks both ends of a copy, as a function does before it appends the copy to a stream.
    pub(crate) fn check_copy(&self, copy: &Copy) -> Outcome<()> {
        let region = copy.region;
        let is_empty = region.bytes == 0 || region.rows == 0 || region.layers == 0;
        for place in [copy.from, copy.to] {
            if let Place::Array { array, .. } | Place::ArrayBytes { array, .. } = place {
                self.arrays.get(array)?;
            }
            if is_empty {
                continue;
            }
            match place {
                Place::Address { .. } => {
                    let last = row_address(place, region.rows - 1, region.layers - 1)?;
                    for address in [row_address(place, 0, 0)?, last] {
                        self.memory.view(address, region.bytes)?;
                    }
                }
                Place::Array { array, position } => {
                    check_box(self.arrays.get(array)?, position, region)?;
                }
                Place::ArrayBytes { array, offset } => {
                    let array = self.arrays.get(array)?;
                    let all = array.row_bytes() * array.rows().iter().product::<u64>();
                    let end = offset.checked_add(region.bytes);
                    if end.is_none_or(|end| end > all)
                        || !offset.is_multiple_of(array.element_bytes())
                    {
                        return Err(Status::INVALID_VALUE);
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks the range of a fill.
    pub(crate) fn check_fill(&self, fill: &Fill) -> Outcome<()> {
        let bytes = fill
            .values
            .checked_mul(fill.width)
            .ok_or(Status::INVALID_VALUE)?;
        if bytes == 0 || fill.rows == 0 {
            return Ok(());
        }
        let last = (fill.rows - 1)
            .checked_mul(fill.pitch)
            .ok_or(Status::INVALID_VALUE)?;
        let last = fill
            .address
            .checked_add(last)
            .ok_or(Status::INVALID_VALUE)?;
        if !fill.address.is_multiple_of(fill.width) || !self.memory.arena.contains(last) {
            return Err(Status::INVALID_VALUE);
        }
        self.memory.check(fill.address, bytes)?;
        self.memory.check(last, bytes)
    }

    /// Copies memory.
    pub(crate) fn copy(&mut self, copy: &Copy) -> Outcome<()> {
        let Region {
            bytes,
            rows,
            layers,
        } = copy.region;
        for layer in 0..layers {
            for row in 0..rows {
                let mut done = 0;
                while done < bytes {
                    let from = self.run(copy.from, [row, layer], done, bytes - done)?;
                    let to = self.run(copy.to, [row, layer], done, bytes - done)?;
                    let length = from.bytes.min(to.bytes);
                    caller::copy(from.view, to.view, length as usize);
                    if let Some(address) = to.device {
                        self.device.set_written(address, length);
                    }
                    done += length;
                }
            }
        }
        Ok(())
    }

    /// The bytes of a row of a place from an offset on, at most `bytes`.
    fn run(&self, place: Place, [row, layer]: [u64; 2], offset: u64, bytes: u64) -> Outcome<Run> {
        let invalid = Status::INVALID_VALUE;
        let (handle, [x, y, z]) = match place {
            Place::Address { .. } => {
                let start = row_address(place, row, layer)?;
                let address = start.checked_add(offset).ok_or(invalid)?;
                return Ok(Run {
                    view: self.memory.view(address, bytes)?,
                    bytes,
                    device: self.memory.arena.contains(address).then_some(address),
                });
            }
            Place::Array {
                array,
                position: [x, y, z],
            } => (array, [x + offset, y + row, z + layer]),
            Place::ArrayBytes {
                array,
                offset: start,
            } => {
                let row_bytes = self.arrays.get(array)?.row_bytes();
                let [height, _] = self.arrays.get(array)?.rows();
                let number = (start + offset) / row_bytes;
                let position = [
                    (start + offset) % row_bytes,
                    number % height,
                    number / height,
                ];
                (array, position)
            }
        };
        let array = self.arrays.get(handle)?;
        let left = array.row_bytes().checked_sub(x).filter(|left| *left > 0);
        let bytes = left.ok_or(invalid)?.min(bytes);
        let address = self.array_row(array, y, z)? + x;
        Ok(Run {
            view: self.memory.arena.machine_view(address),
            bytes,
            device: Some(address),
        })
    }

    /// Fills memory.
    pub(crate) fn fill(&mut self, fill: &Fill) -> Outcome<()> {
        self.check_fill(fill)?;
        let row_bytes = fill
            .values
            .checked_mul(fill.width)
            .ok_or(Status::INVALID_VALUE)?;
        let value = fill.value.to_le_bytes();
        let pattern = value[..fill.width as usize].repeat(PATTERN / fill.width as usize);
        for row in 0..fill.rows {
            let start = fill.address + row * fill.pitch;
            let view = self.memory.view(start, row_bytes)?;
            for offset in (0..row_bytes).step_by(PATTERN) {
                let bytes = (row_bytes - offset).min(PATTERN as u64) as usize;
                caller::copy(
                    pattern.as_ptr().expose_provenance(),
                    view + offset as usize,
                    bytes,
                );
            }
            if self.memory.arena.contains(start) {
                self.device.set_written(start, row_bytes);
            }
        }
        Ok(())
    }
}

/// Bytes that follow each other.
struct Run {
    /// The address in this process.
    view: usize,
    bytes: u64,
    /// The address on the device, if it is memory of the device.
    device: Option<u64>,
}

/// Checks that a copy is within an array, and begins at an element.
fn check_box(array: &CudaArray, position: [u64; 3], region: Region) -> Outcome<()> {
    let [height, depth] = array.rows();
    let sizes = [array.row_bytes(), height, depth];
    let lengths = [region.bytes, region.rows, region.layers];
    let is_within = (0..3).all(|dimension| {
        let end = position[dimension].checked_add(lengths[dimension]);
        end.is_some_and(|end| end <= sizes[dimension])
    });
    if is_within && position[0].is_multiple_of(array.element_bytes()) {
        Ok(())
    } else {
        Err(Status::INVALID_VALUE)
    }
}

/// The bytes that a fill writes at once, a multiple of the width of every value.
const PATTERN: usize = 4096;

/// The address of a row.
fn row_address(place: Place, row: u64, layer: u64) -> Outcome<u64> {
    match place {
        Place::Address {
            address,
            row: row_distance,
            layer: layer_distance,
        } => {
            let offset = row
                .checked_mul(row_distance)
                .and_then(|rows| rows.checked_add(layer.checked_mul(layer_distance)?));
            let offset = offset.ok_or(Status::INVALID_VALUE)?;
            address.checked_add(offset).ok_or(Status::INVALID_VALUE)
        }
        Place::Array { .. } | Place::ArrayBytes { .. } => Err(Status::INVALID_VALUE),
    }
}

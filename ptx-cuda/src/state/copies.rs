//! Copies and fills of memory.

use super::Driver;
use crate::caller;
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// One end of a copy.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// An address of the device or of the host, and the distances in bytes between rows and between layers.
    Address { address: u64, row: u64, layer: u64 },
    /// An array, and the position in it: bytes, rows and layers.
    Array { array: usize, position: [u64; 3] },
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
        for place in [copy.from, copy.to] {
            let Region {
                bytes,
                rows,
                layers,
            } = copy.region;
            if bytes > 0 && rows > 0 && layers > 0 && matches!(place, Place::Address { .. }) {
                self.memory.view(row_address(place, 0, 0)?, bytes)?;
                self.memory
                    .view(row_address(place, rows - 1, layers - 1)?, bytes)?;
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

    /// The bytes of an element of an array.
    pub(crate) fn array_element_bytes(&self, _array: Raw) -> Outcome<usize> {
        Err(Status::NOT_SUPPORTED)
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
                let from = row_address(copy.from, row, layer)?;
                let to = row_address(copy.to, row, layer)?;
                let source = self.memory.view(from, bytes)?;
                let target = self.memory.view(to, bytes)?;
                caller::copy(source, target, bytes as usize);
                if self.memory.arena.contains(to) {
                    self.device.set_written(to, bytes);
                }
            }
        }
        Ok(())
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
                caller::copy(pattern.as_ptr().addr(), view + offset as usize, bytes);
            }
            if self.memory.arena.contains(start) {
                self.device.set_written(start, row_bytes);
            }
        }
        Ok(())
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
        Place::Array { .. } => Err(Status::NOT_SUPPORTED),
    }
}

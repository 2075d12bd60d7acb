//! Reads of matrices in shared memory whose elements are where a matrix descriptor states.

use super::execution::{Execution, Failed};
use super::location::Memory;
use super::touch::{Touch, Use};
use crate::lanes::{LANES, lanes};
use crate::matrix::multiply::Matrix;
use crate::matrix::shared::{Major, SharedMatrix, UNIT};
use crate::memory::{self, Fault};

/// A part of a matrix in shared memory.
#[derive(Clone, Debug)]
pub(super) struct StoredMatrix {
    /// The rank of the CTA in whose shared memory it is.
    pub(super) rank: usize,
    pub(super) matrix: SharedMatrix,
    pub(super) major: Major,
    /// The index of the first row of the first or column of the second factor. It is a multiple of the elements of a unit, unless these dimensions are lines.
    pub(super) first: usize,
    /// Rows of the first or columns of the second factor, and the elements of each.
    pub(super) size: [usize; 2],
    /// The bits of an element: 4 to 32. Single bits are read as words of 32.
    pub(super) bits: usize,
}

impl StoredMatrix {
    /// The addresses of the units, and the index of the first element of each: row and column.
    fn units(&self) -> Vec<(u64, [usize; 2])> {
        let elements = self.elements_of_unit();
        let [rows, depth] = self.size;
        let (lines, units) = match self.major {
            Major::K => (rows, depth.div_ceil(elements)),
            Major::Mn => (depth, rows.div_ceil(elements)),
        };
        let mut result = Vec::with_capacity(lines * units);
        for line in 0..lines {
            for unit in 0..units {
                let (first_line, first_unit, element) = match self.major {
                    Major::K => (self.first, 0, [line, unit * elements]),
                    Major::Mn => (0, self.first / elements, [unit * elements, line]),
                };
                let [line, unit] = [first_line + line, first_unit + unit].map(|n| n as u64);
                result.push((self.matrix.unit_address(self.major, line, unit), element));
            }
        }
        result
    }

    const fn elements_of_unit(&self) -> usize {
        8 * UNIT as usize / self.bits
    }
}

impl Execution<'_> {
    /// Reads a matrix: the rows of the first factor, or the columns of the second one as rows. Observers see accesses of the active lanes, one unit each.
    pub(super) fn read_stored_matrix(&mut self, stored: &StoredMatrix) -> Result<Matrix, Failed> {
        let units = stored.units();
        self.handle(units.len() as u64 * UNIT, self.first())?;
        let addresses: Vec<u64> = units.iter().map(|&(address, _)| address).collect();
        let values = self.read_units(stored.rank, &addresses)?;
        let [rows, depth] = stored.size;
        let mut elements = vec![0; rows * depth];
        let mask = u128::MAX >> (128 - stored.bits);
        for ((_, [row, column]), value) in units.into_iter().zip(values) {
            for index in 0..stored.elements_of_unit() {
                let (row, column) = match stored.major {
                    Major::K => (row, column + index),
                    Major::Mn => (row + index, column),
                };
                if row < rows && column < depth {
                    elements[row * depth + column] = (value >> (index * stored.bits) & mask) as u64;
                }
            }
        }
        Ok(Matrix {
            size: stored.size,
            elements,
        })
    }

    /// Reads units of 16 bytes in the shared memory of a CTA of the cluster. Units that a checker does not allow to be read are zero.
    fn read_units(&self, rank: usize, units: &[u64]) -> Result<Vec<u128>, Failed> {
        let mut values = Vec::with_capacity(units.len());
        let readers: Vec<usize> = lanes(self.active).collect();
        for addresses in units.chunks(readers.len().max(1)) {
            let allowed = if self.by_byte {
                self.touch_units(rank, &readers, addresses)
            } else {
                u32::MAX
            };
            for (&lane, &address) in readers.iter().zip(addresses) {
                let value = if allowed >> lane & 1 == 1 {
                    let memory = self.block.shared(rank).unwrap_or_default();
                    memory::read(memory, address, UNIT as u8)
                        .ok_or_else(|| (Fault::OutOfBounds(address).into(), lane))?
                } else {
                    0
                };
                values.push(value);
            }
        }
        Ok(values)
    }

    /// Shows reads of units to the observer: one unit in each lane. Returns the lanes that may read.
    fn touch_units(&self, rank: usize, readers: &[usize], units: &[u64]) -> u32 {
        let (mut addresses, mut mask) = ([0; LANES], 0);
        for (&lane, &address) in readers.iter().zip(units) {
            addresses[lane] = address;
            mask |= 1 << lane;
        }
        let touch = Touch {
            usage: Use::Read,
            memory: Memory::Shared(rank),
            addresses: &addresses,
            bytes: UNIT,
            element: UNIT,
            align: UNIT,
            lanes: mask,
            value: None,
        };
        self.observe(|observer, execution| observer.access(execution, &touch))
            .unwrap_or(mask)
    }
}

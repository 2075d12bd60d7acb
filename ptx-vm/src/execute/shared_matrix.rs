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
    /// The index of the first row of the first or column of the second factor.
    pub(super) first: usize,
    /// Rows of the first or columns of the second factor, and the elements of each.
    pub(super) size: [usize; 2],
    /// The bits of an element, in a unit whose packed elements are expanded: 4 to 32. Single bits are read as words of 32.
    pub(super) bits: usize,
}

impl StoredMatrix {
    /// The addresses of the units, and the index of the first element of each: row, counted as `first`, and column.
    pub(super) fn units(&self) -> Vec<(u64, [usize; 2])> {
        let elements = self.elements_of_unit();
        let [rows, depth] = self.size;
        let rows = self.first..self.first + rows;
        let (lines, units) = match self.major {
            Major::K => (rows, 0..depth.div_ceil(elements)),
            Major::Mn => (0..depth, rows.start / elements..rows.end.div_ceil(elements)),
        };
        let mut result = Vec::with_capacity(lines.len() * units.len());
        for line in lines {
            for unit in units.clone() {
                let element = match self.major {
                    Major::K => [line, unit * elements],
                    Major::Mn => [unit * elements, line],
                };
                let address = self
                    .matrix
                    .unit_address(self.major, line as u64, unit as u64);
                result.push((address, element));
            }
        }
        result
    }

    /// The matrix whose units have values: the rows of the first factor, or the columns of the second one as rows.
    pub(super) fn matrix_of(&self, units: &[(u64, [usize; 2])], values: &[u128]) -> Matrix {
        let [rows, depth] = self.size;
        let mut elements = vec![0; rows * depth];
        let mask = u128::MAX >> (128 - self.bits);
        for ((_, [row, column]), value) in units.iter().zip(values) {
            for index in 0..self.elements_of_unit() {
                let (row, column) = match self.major {
                    Major::K => (*row, column + index),
                    Major::Mn => (row + index, *column),
                };
                if (self.first..self.first + rows).contains(&row) && column < depth {
                    elements[(row - self.first) * depth + column] =
                        (value >> (index * self.bits) & mask) as u64;
                }
            }
        }
        Matrix {
            size: self.size,
            elements,
        }
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
        Ok(stored.matrix_of(&units, &values))
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

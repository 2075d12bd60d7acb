//! Loads and stores of small matrices, each row of which has its own address.

use ptx_analysis::internals::fragments::MatrixRows;
use ptx_isa::Modifier;

use super::execution::{Execution, Failed};
use super::matrix::{Fragment, gather, scatter};
use crate::matrix::multiply::Matrix;
use crate::matrix::units::UnitFormat;
use crate::program::Act;

impl Execution<'_> {
    /// Loads matrices, the rows of which have their addresses in the lanes.
    pub(super) fn load_matrices(&mut self, act: &Act) -> Result<(), Failed> {
        let rows = MatrixRows::of(&act.modifiers).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let destinations = act.all_places(0);
        let format = unit_format(act);
        let mut result = Fragment::new();
        for number in 0..destinations.len() / rows.registers {
            let mut memory_rows = Vec::with_capacity(rows.memory_rows);
            for memory_row in 0..rows.memory_rows {
                let lane = rows.address_lane(number, memory_row);
                let location = self.location(&address, lane);
                memory_rows.push(format.expand(self.read(location, 16, lane)?));
            }
            let matrix = Matrix::new(rows.size, |row, column| {
                let (memory_row, index) = if rows.transposed {
                    (column, row)
                } else {
                    (row, column)
                };
                (memory_rows[memory_row] >> (index * rows.bits)) as u64 & ((1 << rows.bits) - 1)
            });
            result.extend(scatter(&matrix, rows.layout, rows.bits, rows.registers));
        }
        self.set_fragment(destinations, &result);
        Ok(())
    }

    /// Stores matrices, the rows of which have their addresses in the lanes.
    pub(super) fn store_matrices(&mut self, act: &Act) -> Result<(), Failed> {
        let rows = MatrixRows::of(&act.modifiers).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let source = self.fragment(act.all_places(1));
        for (number, fragment) in source.chunks(rows.registers).enumerate() {
            let matrix = gather(fragment, rows.layout, rows.size, rows.bits);
            for memory_row in 0..rows.memory_rows {
                let mut bytes = 0;
                for index in 0..128 / rows.bits {
                    let [row, column] = rows.element(memory_row, index);
                    bytes |= u128::from(matrix.at(row, column)) << (index * rows.bits);
                }
                let lane = rows.address_lane(number, memory_row);
                let location = self.location(&address, lane);
                self.write(location, 16, bytes, lane)?;
            }
        }
        Ok(())
    }
}

/// The arrangement of the elements of a row in memory.
fn unit_format(act: &Act) -> UnitFormat {
    if act.has(Modifier::B6x16P32) {
        UnitFormat::Sixes
    } else if act.has(Modifier::B4x16P64) {
        UnitFormat::Fours
    } else if act.has(Modifier::S4) {
        UnitFormat::SignedFours
    } else {
        UnitFormat::Plain
    }
}

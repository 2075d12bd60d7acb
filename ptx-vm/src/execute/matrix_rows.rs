//! Loads and stores of small matrices, each row of which has its own address.

use ptx_analysis::internals::rows_of_matrix;
use ptx_isa::Modifier;

use super::execution::{Execution, Failed};
use super::matrix::{Fragment, gather, scatter};
use crate::lanes::LANES;
use crate::matrix::layout::{Layout, Role};
use crate::matrix::multiply::Matrix;
use crate::matrix::operation::shape;
use crate::matrix::units::UnitFormat;
use crate::program::Act;

impl Execution<'_> {
    /// Loads matrices, the rows of which have their addresses in the lanes.
    pub(super) fn load_matrices(&mut self, act: &Act) -> Result<(), Failed> {
        let rows = MatrixRows::of(act).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let destinations = act.all_places(0);
        let mut result = Fragment::new();
        for number in 0..destinations.len() / rows.registers {
            let mut memory_rows = Vec::with_capacity(rows.memory_rows);
            for memory_row in 0..rows.memory_rows {
                let lane = number * rows.memory_rows + memory_row;
                let location = self.location(&address, lane % LANES);
                memory_rows.push(rows.format.expand(self.read(location, 16, lane % LANES)?));
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
        let rows = MatrixRows::of(act).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let source = self.fragment(act.all_places(1));
        for (number, fragment) in source.chunks(rows.registers).enumerate() {
            let matrix = gather(fragment, rows.layout, rows.size, rows.bits);
            for memory_row in 0..rows.memory_rows {
                let mut bytes = 0;
                for index in 0..128 / rows.bits {
                    let (row, column) = if rows.transposed {
                        (index, memory_row)
                    } else {
                        (memory_row, index)
                    };
                    bytes |= u128::from(matrix.at(row, column)) << (index * rows.bits);
                }
                let lane = (number * rows.memory_rows + memory_row) % LANES;
                let location = self.location(&address, lane);
                self.write(location, 16, bytes, lane)?;
            }
        }
        Ok(())
    }
}

/// The shape of matrices that are loaded from or stored to rows with their own addresses.
struct MatrixRows {
    size: [usize; 2],
    bits: usize,
    /// The number of rows in memory: columns of a matrix that is transposed.
    memory_rows: usize,
    registers: usize,
    transposed: bool,
    layout: Layout,
    format: UnitFormat,
}

impl MatrixRows {
    fn of(act: &Act) -> Option<Self> {
        let [rows, columns, _] = shape(&act.modifiers)?;
        let bits = if act.has(Modifier::B16) { 16 } else { 8 };
        let transposed = act.has(Modifier::Trans);
        let role = match (rows, bits) {
            // Elements of a factor.
            (_, 8) if columns == 16 => Role::A,
            _ => Role::C,
        };
        let format = if act.has(Modifier::B6x16P32) {
            UnitFormat::Sixes
        } else if act.has(Modifier::B4x16P64) {
            UnitFormat::Fours
        } else if act.has(Modifier::S4) {
            UnitFormat::SignedFours
        } else {
            UnitFormat::Plain
        };
        Some(Self {
            size: [rows, columns],
            bits,
            memory_rows: rows_of_matrix(&act.modifiers)? as usize,
            registers: (rows * columns * bits / (32 * LANES)).max(1),
            transposed,
            layout: Layout::Warp {
                role,
                elements: 32 / bits,
            },
            format,
        })
    }
}

//! The matrices that a warp loads and stores by rows with their own addresses.

use ptx_isa::Modifier;

use super::LANES;
use super::layout::{Layout, Role};
use crate::work::matrix::{matrix_shape, rows_of_matrix};

/// The shape of matrices that are loaded from or stored to rows with their own addresses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MatrixRows {
    /// The numbers of rows and columns in registers.
    pub size: [usize; 2],
    /// The bits of an element.
    pub bits: usize,
    /// The number of rows in memory: columns of a matrix that is transposed.
    pub memory_rows: usize,
    /// The registers of a lane for each matrix.
    pub registers: usize,
    /// Whether the rows in memory are columns in registers.
    pub transposed: bool,
    /// The places of the elements in registers.
    pub layout: Layout,
}

impl MatrixRows {
    /// The matrices of modifiers. `None` if they do not state any.
    #[must_use]
    pub fn of(modifiers: &[Modifier]) -> Option<Self> {
        let [rows, columns, _] = matrix_shape(modifiers)?.map(|n| n as usize);
        let bits = if modifiers.contains(&Modifier::B16) {
            16
        } else {
            8
        };
        let role = match (rows, bits) {
            // Elements of a factor.
            (_, 8) if columns == 16 => Role::A,
            _ => Role::C,
        };
        Some(Self {
            size: [rows, columns],
            bits,
            memory_rows: rows_of_matrix(modifiers)? as usize,
            registers: (rows * columns * bits / (32 * LANES)).max(1),
            transposed: modifiers.contains(&Modifier::Trans),
            layout: Layout::Warp {
                role,
                elements: 32 / bits,
            },
        })
    }

    /// The lane that has the address of a row in memory of a matrix.
    #[must_use]
    pub const fn address_lane(&self, matrix: usize, memory_row: usize) -> usize {
        (matrix * self.memory_rows + memory_row) % LANES
    }

    /// The element of a row in memory, by its index, as row and column in registers.
    #[must_use]
    pub const fn element(&self, memory_row: usize, index: usize) -> [usize; 2] {
        if self.transposed {
            [index, memory_row]
        } else {
            [memory_row, index]
        }
    }
}

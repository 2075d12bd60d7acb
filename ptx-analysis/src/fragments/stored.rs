//! The matrices that a warp loads and stores as a whole, whose rows or columns are at equal distances.

use ptx_isa::Modifier;

use super::LANES;
use super::layout::{Layout, Role};
use crate::work::matrix::StoredMatrix;

/// A matrix in memory with its fragment.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct StoredFragment {
    /// The numbers of rows and columns, in elements that are moved together.
    pub size: [usize; 2],
    /// The bits that are moved together.
    pub bits: usize,
    /// The places of the elements.
    pub layout: Layout,
    /// Whether the rows are contiguous in memory.
    pub row_major: bool,
    /// The number of elements of the type that are moved together: those of less than 8 bits are moved in words.
    pub word: usize,
}

impl StoredFragment {
    /// The matrix of modifiers. `None` if they do not state one.
    #[must_use]
    pub fn of(modifiers: &[Modifier]) -> Option<Self> {
        let stored = StoredMatrix::of(modifiers)?;
        let role = if modifiers.contains(&Modifier::A) {
            Role::A
        } else if modifiers.contains(&Modifier::B) {
            Role::B
        } else {
            Role::C
        };
        let bits = usize::from(stored.element.bits());
        let word = if bits < 8 { 32 / bits } else { 1 };
        let elements = bits * word;
        let [rows, columns] = stored.size.map(|n| n as usize);
        let size = match role {
            Role::A => [rows, columns / word],
            Role::B => [rows / word, columns],
            Role::C => [rows, columns],
        };
        Some(Self {
            size,
            bits: elements,
            layout: Layout::Warp {
                role,
                elements: (32 / elements).max(1),
            },
            row_major: modifiers.contains(&Modifier::Row),
            word,
        })
    }

    /// The number of elements that are contiguous: of a row or a column.
    #[must_use]
    pub const fn contiguous_elements(&self) -> usize {
        self.size[if self.row_major { 1 } else { 0 }]
    }

    /// The offset of an element in bytes from the first one. The distance of rows or columns is in elements of the type.
    #[must_use]
    pub const fn offset(&self, row: usize, column: usize, stride: u64) -> u64 {
        let (line, index) = if self.row_major {
            (row, column)
        } else {
            (column, row)
        };
        let start = (line as u64).wrapping_mul(stride) / self.word as u64;
        start
            .wrapping_add(index as u64)
            .wrapping_mul(self.bits as u64 / 8)
    }

    /// The number of registers of a lane that hold its elements.
    #[must_use]
    pub fn registers(&self) -> usize {
        let bits = self.size[0] * self.size[1] * self.bits;
        (bits / (self.bits.max(32) * LANES)).max(1)
    }
}

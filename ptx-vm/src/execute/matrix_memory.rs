//! Loads and stores of matrices whose rows or columns are at equal distances.

use ptx_analysis::internals::StoredMatrix;
use ptx_isa::Modifier;

use super::execution::{Execution, Failed};
use super::matrix::{Fragment, gather};
use crate::lanes::{Double, LANES};
use crate::matrix::layout::{Layout, Role};
use crate::program::Act;

impl Execution<'_> {
    /// Loads a factor or an addend.
    pub(super) fn load_fragment(&mut self, act: &Act) -> Result<(), Failed> {
        let stored = Stored::of(act).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let destinations = act.all_places(0);
        let strides = self.strides(act, &stored);
        let mut result = vec![[0; LANES]; stored.registers()];
        for row in 0..stored.size[0] {
            for column in 0..stored.size[1] {
                let position = stored.layout.position(stored.size, row, column);
                let first_element = self.location(&address, position.lane);
                let location =
                    first_element.plus(stored.offset(row, column, strides[position.lane]));
                let bits = self.read(location, (stored.bits / 8) as u8, position.lane)? as u64;
                result[position.register][position.lane] |= bits << (position.index * stored.bits);
            }
        }
        // Fragments with more registers than elements have copies of them.
        let copies = (0..destinations.len())
            .map(|index| result[index % result.len()])
            .collect::<Fragment>();
        self.set_fragment(destinations, &copies);
        Ok(())
    }

    /// Stores a result.
    pub(super) fn store_fragment(&mut self, act: &Act) -> Result<(), Failed> {
        let stored = Stored::of(act).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let strides = self.strides(act, &stored);
        let source = self.fragment(act.all_places(1));
        let matrix = gather(&source, stored.layout, stored.size, stored.bits);
        for row in 0..stored.size[0] {
            for column in 0..stored.size[1] {
                let lane = stored.layout.position(stored.size, row, column).lane;
                let location =
                    self.location(&address, lane)
                        .plus(stored.offset(row, column, strides[lane]));
                let bits = matrix.at(row, column).into();
                self.write(location, (stored.bits / 8) as u8, bits, lane)?;
            }
        }
        Ok(())
    }

    /// The distance of rows or columns, in elements, in each lane.
    fn strides(&mut self, act: &Act, stored: &Stored) -> Double {
        let values = self.fragment(act.all_places(2));
        let default = [(stored.contiguous_elements() * stored.word) as u64; LANES];
        values.first().copied().unwrap_or(default)
    }
}

/// A matrix in memory whose rows or columns are at equal distances.
struct Stored {
    size: [usize; 2],
    bits: usize,
    layout: Layout,
    row_major: bool,
    /// The number of elements of the type that are moved together: those of less than 8 bits are moved in words.
    word: usize,
}

impl Stored {
    fn of(act: &Act) -> Option<Self> {
        let stored = StoredMatrix::of(&act.modifiers)?;
        let role = if act.has(Modifier::A) {
            Role::A
        } else if act.has(Modifier::B) {
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
            row_major: act.has(Modifier::Row),
            word,
        })
    }

    /// The number of elements that are contiguous: of a row or a column.
    const fn contiguous_elements(&self) -> usize {
        self.size[if self.row_major { 1 } else { 0 }]
    }

    /// The offset of an element in bytes from the first one. The distance of rows or columns is in elements of the type.
    const fn offset(&self, row: usize, column: usize, stride: u64) -> u64 {
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
    fn registers(&self) -> usize {
        (self.size[0] * self.size[1] * self.bits / (self.bits.max(32) * LANES)).max(1)
    }
}

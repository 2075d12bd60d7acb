//! The fragments of loads from and stores to tensor memory (PTX ISA manual 9.7.16.2.3).

use ptx_isa::Modifier;

/// The shape of an access of a warp: the lanes of tensor memory, and the bits of each that are moved together.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TensorShape {
    /// `.32x32b`
    Lanes32x32,
    /// `.16x64b`
    Lanes16x64,
    /// `.16x128b`
    Lanes16x128,
    /// `.16x256b`
    Lanes16x256,
    /// `.16x32bx2`: two accesses to the same lanes, at different columns.
    Lanes16x32Twice,
}

/// A cell of an access.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TensorCell {
    /// The lane, from the first one of the access on.
    pub row: usize,
    /// The column, from the first one of its part on, in elements of 32 bits.
    pub column: usize,
    /// Whether it is in the second part.
    pub is_second: bool,
}

impl TensorShape {
    /// The shape of modifiers. `None` if they do not state one.
    #[must_use]
    pub fn of(modifiers: &[Modifier]) -> Option<Self> {
        let shapes = [
            (Modifier::D32x32b, Self::Lanes32x32),
            (Modifier::D16x64b, Self::Lanes16x64),
            (Modifier::D16x128b, Self::Lanes16x128),
            (Modifier::D16x256b, Self::Lanes16x256),
            (Modifier::D16x32bx2, Self::Lanes16x32Twice),
        ];
        let mut shapes = shapes.into_iter();
        let shape = shapes.find(|(modifier, _)| modifiers.contains(modifier));
        shape.map(|(_, shape)| shape)
    }

    /// The number of lanes of each part.
    #[must_use]
    pub const fn rows(self) -> usize {
        match self {
            Self::Lanes32x32 => 32,
            _ => 16,
        }
    }

    /// The registers of a thread for the modifier `.x1`.
    #[must_use]
    pub const fn least_registers(self) -> usize {
        match self {
            Self::Lanes32x32 | Self::Lanes16x64 | Self::Lanes16x32Twice => 1,
            Self::Lanes16x128 => 2,
            Self::Lanes16x256 => 4,
        }
    }

    /// The columns of each part, in elements of 32 bits, if each thread has `registers`.
    #[must_use]
    pub const fn columns(self, registers: usize) -> usize {
        match self {
            Self::Lanes32x32 | Self::Lanes16x32Twice => registers,
            Self::Lanes16x64 | Self::Lanes16x128 | Self::Lanes16x256 => 2 * registers,
        }
    }

    /// The cell of a register of a thread.
    #[must_use]
    pub const fn cell(self, thread: usize, register: usize) -> TensorCell {
        let (row, column) = match self {
            Self::Lanes32x32 => (thread, register),
            Self::Lanes16x64 => (
                thread / 4 + 8 * (thread & 1),
                2 * register + (thread >> 1 & 1),
            ),
            Self::Lanes16x128 => (
                thread / 4 + 8 * (register & 1),
                4 * (register / 2) + thread % 4,
            ),
            Self::Lanes16x256 => (
                thread / 4 + 8 * (register >> 1 & 1),
                8 * (register / 4) + 2 * (thread % 4) + (register & 1),
            ),
            Self::Lanes16x32Twice => (thread % 16, register),
        };
        TensorCell {
            row,
            column,
            is_second: matches!(self, Self::Lanes16x32Twice) && thread >= 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::TensorShape as Shape;

    /// Each cell belongs to one register of one thread.
    #[test]
    fn fragments_cover_all_cells_once() {
        for shape in [
            Shape::Lanes32x32,
            Shape::Lanes16x64,
            Shape::Lanes16x128,
            Shape::Lanes16x256,
            Shape::Lanes16x32Twice,
        ] {
            let least = shape.least_registers();
            for registers in [least, 2 * least, 8 * least] {
                let mut cells = Vec::new();
                for thread in 0..32 {
                    for register in 0..registers {
                        let cell = shape.cell(thread, register);
                        cells.push((cell.is_second, cell.row, cell.column));
                    }
                }
                cells.sort_unstable();
                let parts = [false, true].into_iter().take(match shape {
                    Shape::Lanes16x32Twice => 2,
                    _ => 1,
                });
                let all: Vec<_> = parts
                    .flat_map(|second| {
                        (0..shape.rows()).flat_map(move |row| {
                            (0..shape.columns(registers)).map(move |column| (second, row, column))
                        })
                    })
                    .collect();
                assert_eq!(cells, all, "{shape:?} {registers}");
            }
        }
    }
}

//! The mapping of matrix elements to the registers of a warp.
//!
//! PTX ISA manual 9.7.14.5 shows the fragments of each shape and type. All but those of eight lanes ([`Layout::Quads`]) follow one rule: eight
//! groups of four lanes have the rows of the first factor or the columns of the second, and each lane a whole register of elements.

/// A matrix of a product.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// The first factor.
    A,
    /// The second factor.
    B,
    /// The addend or the result.
    C,
}

/// The place of an element.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// The lane of the warp.
    pub lane: usize,
    /// The register of the lane, among those of the operand.
    pub register: usize,
    /// Its index in the register, the lowest bits first.
    pub index: usize,
}

/// The distribution of a matrix over lanes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Layout {
    /// One matrix in all lanes; each register has `elements` elements.
    Warp {
        /// The matrix of the product.
        role: Role,
        /// The number of elements of a register.
        elements: usize,
    },
    /// Four matrices, in eight lanes each.
    Quads {
        /// The matrix of the product.
        role: Role,
        /// The number of elements of a register.
        elements: usize,
        /// Whether the rows are contiguous.
        row_major: bool,
        /// The number of the matrix among four.
        part: usize,
    },
}

impl Layout {
    /// The place of an element of a matrix with a number of rows and columns.
    #[must_use]
    #[inline(always)]
    pub const fn position(self, size: [usize; 2], row: usize, column: usize) -> Position {
        match self {
            Self::Warp {
                role: Role::A,
                elements,
            } => factor(elements, 16, size, row, column),
            Self::Warp {
                role: Role::B,
                elements,
            } => factor(elements, 8, [size[1], size[0]], column, row),
            Self::Warp {
                role: Role::C,
                elements,
            } => addend(elements, size, row, column),
            Self::Quads {
                role,
                elements,
                row_major,
                part,
            } => {
                let (lane, index) = match (role, row_major) {
                    (Role::A, true) => (row % 4 + row / 4 * 16, column),
                    (Role::A, false) => (column + row / 4 * 16, row % 4),
                    (Role::B, true) => (row + column / 4 * 16, column % 4),
                    (Role::B, false) => (column % 4 + column / 4 * 16, row),
                    (Role::C, _) if elements == 2 => (row % 4 + row / 4 * 16, column),
                    (Role::C, _) => (
                        (row & 1) + (column & 2) + row / 4 * 16,
                        row & 2 | column & 4 | column & 1,
                    ),
                };
                Position {
                    lane: lane + 4 * part,
                    register: index / elements,
                    index: index % elements,
                }
            }
        }
    }
}

/// An element of a factor: element `k` of a line, which is a row of the first or a column of the second factor. Factors of more lines than
/// `max_lines` consist of tiles with that many. All sizes are powers of two.
#[inline(always)]
const fn factor(
    elements: usize,
    max_lines: usize,
    size: [usize; 2],
    line: usize,
    k: usize,
) -> Position {
    let [lines, length] = size;
    let tile = if lines < max_lines { lines } else { max_lines };
    let halves = tile / 8;
    let word = k >> elements.trailing_zeros();
    let registers = (length >> elements.trailing_zeros()) / 4 * halves;
    Position {
        lane: line % 8 * 4 + word % 4,
        register: (line >> tile.trailing_zeros()) * registers
            + word / 4 * halves
            + (line & (tile - 1)) / 8,
        index: k & (elements - 1),
    }
}

/// An element of an addend: each lane has two neighbors in a row of each 8 × 8 matrix. All sizes are powers of two.
#[inline(always)]
const fn addend(elements: usize, size: [usize; 2], row: usize, column: usize) -> Position {
    let halves = if size[0] < 16 { 1 } else { 2 };
    let tile = row / 16 * (size[1] / 8) + column / 8;
    let index = (tile * halves + row % 16 / 8) * 2 + column % 2;
    Position {
        lane: row % 8 * 4 + column % 8 / 2,
        register: index >> elements.trailing_zeros(),
        index: index & (elements - 1),
    }
}

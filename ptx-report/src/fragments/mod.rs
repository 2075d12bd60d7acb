//! Fragments of matrices: which lane of a warp has which element in which register, and where shared memory has the elements.
//!
//! The places come from the functions with which `ptx-vm` executes the instructions.

mod instruction;
mod shared;
mod svg;
mod text;

use serde::Serialize;

use crate::SCHEMA;
use ptx_analysis::internals::fragments::layout::Position;

pub use self::svg::svg;
pub use self::text::text;

/// The fragments of an instruction, or the arrangement of shared memory.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fragments {
    schema: u32,
    /// The mnemonic, or the name of a swizzle mode.
    pub name: String,
    /// The matrices in registers.
    pub matrices: Vec<FragmentMatrix>,
    /// The arrangements of matrices in shared memory.
    pub shared: Vec<SharedLayout>,
    /// Restrictions, a sentence each.
    pub notes: Vec<&'static str>,
}

/// A matrix in the registers of a warp.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FragmentMatrix {
    /// The operand, such as `a`.
    pub operand: String,
    /// What the matrix is, such as `the first factor`.
    pub meaning: String,
    /// The element type.
    pub element: String,
    /// The bits of an element in a register.
    pub bits: usize,
    /// What a row is: `row`, or `lane` of tensor memory.
    pub row_name: &'static str,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The number of registers of a lane.
    pub registers: usize,
    /// The places of the elements, row by row.
    pub places: Vec<Vec<FragmentPlace>>,
    /// The lane that has the address of each row in memory; empty for instructions without such addresses.
    pub address_lanes: Vec<usize>,
}

/// The place of an element.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FragmentPlace {
    /// The lane of the warp.
    pub lane: usize,
    /// The register of the lane, among those of the operand.
    pub register: usize,
    /// The index of the element in the register, the lowest bits first.
    pub index: usize,
}

impl From<Position> for FragmentPlace {
    fn from(position: Position) -> Self {
        Self {
            lane: position.lane,
            register: position.register,
            index: position.index,
        }
    }
}

/// An arrangement of chunks of bytes in shared memory.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SharedLayout {
    /// The name of the swizzle mode.
    pub swizzle: &'static str,
    /// What lines and chunks are.
    pub meaning: String,
    /// The bytes of a chunk.
    pub chunk_bytes: u64,
    /// The offset in bytes of each chunk of each line.
    pub offsets: Vec<Vec<u64>>,
}

impl Fragments {
    fn new(name: &str) -> Self {
        Self {
            schema: SCHEMA,
            name: name.to_owned(),
            matrices: Vec::new(),
            shared: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl FragmentMatrix {
    /// A matrix whose places a function gives.
    fn new(
        operand: impl Into<String>,
        meaning: impl Into<String>,
        element: (String, usize),
        size: [usize; 2],
        place: impl Fn(usize, usize) -> FragmentPlace,
    ) -> Self {
        let [rows, columns] = size;
        let places: Vec<Vec<FragmentPlace>> = (0..rows)
            .map(|row| (0..columns).map(|column| place(row, column)).collect())
            .collect();
        let last = places.iter().flatten().map(|place| place.register).max();
        Self {
            operand: operand.into(),
            meaning: meaning.into(),
            element: element.0,
            bits: element.1,
            row_name: "row",
            rows,
            columns,
            registers: last.map_or(0, |register| register + 1),
            places,
            address_lanes: Vec::new(),
        }
    }

    /// The numbers of rows and columns of elements that are together in each register: at least one of them is 1.
    fn block(&self) -> [usize; 2] {
        let place = |row: usize, column: usize| self.places.get(row)?.get(column).copied();
        let Some(first) = place(0, 0) else {
            return [1, 1];
        };
        let is_same = |other: Option<FragmentPlace>| {
            other.is_some_and(|other| (other.lane, other.register) == (first.lane, first.register))
        };
        let columns = (1..self.columns)
            .take_while(|c| is_same(place(0, *c)))
            .count()
            + 1;
        let rows = (1..self.rows).take_while(|r| is_same(place(*r, 0))).count() + 1;
        let block = if columns > 1 { [1, columns] } else { [rows, 1] };
        if self.has_blocks(block) {
            block
        } else {
            [1, 1]
        }
    }

    /// Whether all blocks of a size are in one register each.
    fn has_blocks(&self, [rows, columns]: [usize; 2]) -> bool {
        self.places.iter().enumerate().all(|(row, places)| {
            places.iter().enumerate().all(|(column, place)| {
                let first = self
                    .places
                    .get(row / rows * rows)
                    .and_then(|places| places.get(column / columns * columns));
                first.is_some_and(|first| {
                    (first.lane, first.register) == (place.lane, place.register)
                        && place.index == first.index + row % rows + column % columns
                })
            })
        })
    }
}

/// The fragments of a mnemonic with all its modifiers, or the arrangement of shared memory by a swizzle mode such as `swizzle-128`; `swizzle` is all
/// of them.
///
/// # Errors
///
/// There is no such instruction, the mnemonic is not complete, or the instruction has no fragments; the message states the reason.
///
/// ```
/// let fragments = ptx_report::fragments::find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").unwrap();
/// let a = &fragments.matrices[0];
/// let place = a.places[8][3];
/// assert_eq!((place.lane, place.register, place.index), (1, 1, 1));
/// ```
pub fn find(text: &str) -> Result<Fragments, String> {
    if text.starts_with("swizzle") {
        return shared::find(text);
    }
    instruction::find(text)
}

#[cfg(test)]
mod tests;

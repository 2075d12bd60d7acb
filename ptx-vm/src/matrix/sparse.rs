//! The positions of the stored elements of a sparse first factor.
//!
//! PTX ISA manual 9.7.14.6: of each four units two are stored, with the index of each in two bits of the metadata. A unit is an element of 8 or
//! 16 bits, two elements of 4 bits, or half an element of 32 bits. Four lanes have the metadata of two rows; the selector says in which of them.

use ptx_analysis::internals::fragments::metadata_place;

use super::multiply::Matrix;
use super::operation::Operation;

/// The column of each stored element. `metadata` is the register of each lane.
pub(crate) fn columns(operation: &Operation, metadata: &[u64; 32], selector: usize) -> Matrix {
    let [rows, _, _] = operation.shape;
    let stored = operation.stored();
    let bits = operation.factor_bits();
    let units = operation.fragments.metadata_units();
    Matrix::new([rows, stored], |row, element| {
        stored_column(bits, element, |unit| {
            unit_index(units, metadata, selector, row, unit)
        }) as u64
    })
}

/// The column of a stored element of `bits` bits. `index` gives the two bits of metadata of a unit.
pub(crate) fn stored_column(bits: usize, element: usize, index: impl Fn(usize) -> usize) -> usize {
    match bits {
        4 => element / 4 * 8 + 2 * index(element / 2) + element % 2,
        32 => element * 2 + index(2 * element) / 2,
        _ => element / 2 * 4 + index(element),
    }
}

/// The index of a stored unit of a row, which has `units` of them.
fn unit_index(
    units: usize,
    metadata: &[u64; 32],
    selector: usize,
    row: usize,
    unit: usize,
) -> usize {
    let [lane, position] = metadata_place(units, selector, row, unit);
    (metadata[lane] >> position & 3) as usize
}

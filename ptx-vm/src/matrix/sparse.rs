//! The positions of the stored elements of a sparse first factor.
//!
//! PTX ISA manual 9.7.14.6: of each four units two are stored, with the index of each in two bits of the metadata. A unit is an element of 8 or
//! 16 bits, two elements of 4 bits, or half an element of 32 bits. Four lanes have the metadata of two rows; the selector says in which of them.

use super::multiply::Matrix;
use super::operation::Operation;

/// The column of each stored element. `metadata` is the register of each lane.
pub(crate) fn columns(operation: &Operation, metadata: &[u64; 32], selector: usize) -> Matrix {
    let [rows, _, _] = operation.shape;
    let stored = operation.stored();
    let bits = operation.factor_bits();
    let units = match bits {
        4 => stored / 2,
        32 => stored * 2,
        _ => stored,
    };
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
    let group = row % 8 * 4;
    let high = row / 8;
    let (lane, position) = match units {
        // One lane has two rows.
        ..=8 => (selector, 16 * high + 2 * unit),
        // Two lanes have half of two rows each.
        9..=16 => (2 * selector + unit / 8, 16 * high + unit % 8 * 2),
        // Four lanes have half of a row each.
        _ => (unit / 16 * 2 + high, unit % 16 * 2),
    };
    (metadata[(group + lane) % 32] >> position & 3) as usize
}

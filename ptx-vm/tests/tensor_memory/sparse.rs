//! Products whose first factor is sparse.

use crate::elements::{E2M1, E4M3, F16, S8, TF32, Type};
use crate::products::{COLUMNS, KINDS, Matrices, Product};
use crate::{Experiment, Random};

/// The first column of the metadata.
const METADATA: usize = 160;

/// Random places of the stored elements of each row: for each chunk of four elements, the places of two. Chunks of TF32 have two elements, each of which
/// counts as two.
fn random_places(random: &mut Random, product: &Product) -> Vec<Vec<[usize; 2]>> {
    let is_wide = product.types[0] == TF32;
    let chunks = if is_wide {
        product.stored()
    } else {
        product.stored() / 2
    };
    let choices: &[[usize; 2]] = if is_wide {
        &[[0, 1], [2, 3]]
    } else {
        &[[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    };
    (0..product.shape[0])
        .map(|_| (0..chunks).map(|_| random.pick(choices)).collect())
        .collect()
}

/// Writes the metadata to the lanes of each row, or for elements of 16 and 32 bits to those of 16 rows together: the first half of the bits of rows 0 to 7
/// is in the lower and that of rows 8 to 15 in the upper half of lanes 0 to 7, and the second half in lanes 8 to 15.
pub(crate) fn put_metadata(
    experiment: &mut Experiment,
    product: &Product,
    places: &[Vec<[usize; 2]>],
    selector: usize,
) {
    for (row, chunks) in places.iter().enumerate() {
        let bits = chunks
            .iter()
            .enumerate()
            .fold(0u64, |bits, (chunk, [first, second])| {
                bits | ((first | second << 2) as u64) << (4 * chunk)
            });
        for (block, lane) in product.lanes_of_row(row) {
            let cells = &mut experiment.cells[block];
            if matches!(product.types[0].bits, 16 | 32) {
                for half in 0..2 {
                    let cell = &mut cells
                        [(lane - lane % 16 + lane % 8 + 8 * half) * COLUMNS + METADATA + selector];
                    let shift = lane / 8 % 2 * 16;
                    let part = (bits >> (16 * half) & 0xffff) as u32;
                    *cell = *cell & !(0xffff << shift) | part << shift;
                }
            } else {
                cells[lane * COLUMNS + METADATA] = bits as u32;
                cells[lane * COLUMNS + METADATA + 1] = (bits >> 32) as u32;
            }
        }
    }
}

/// The column of a stored element.
fn column(ty: Type, places: &[[usize; 2]], stored: usize) -> usize {
    match ty.bits {
        32 => 2 * stored + places[stored][0] / 2,
        _ => stored / 2 * 4 + places[stored / 2][stored % 2],
    }
}

pub(crate) fn check(random: &mut Random, product: &Product) {
    let matrices: Matrices = product.matrices(random);
    let places = random_places(random, product);
    let mut experiment = product.experiment(random, &matrices);
    let selector = if product.types[0].bits >= 16 {
        random.below(4)
    } else {
        0
    };
    put_metadata(&mut experiment, product, &places, selector);
    if selector > 0 {
        let position = experiment.body.find("mov.b32 %r22, ").unwrap() + "mov.b32 %r22, ".len();
        let end = position + experiment.body[position..].find(';').unwrap();
        let descriptor: u32 = experiment.body[position..end].parse().unwrap();
        experiment
            .body
            .replace_range(position..end, &(descriptor | selector as u32).to_string());
    }
    product.compare(&experiment, |row, result_column| {
        let addend = if product.accumulates {
            matrices.c[row][result_column]
        } else {
            0.0
        };
        let sum = product.sum(&matrices, row, result_column, |row, stored| {
            column(product.types[0], &places[row], stored)
        });
        Some(addend + sum)
    });
}

#[test]
fn sparse_products_of_all_kinds() {
    let mut random = Random::new(20);
    for (kind, types, depth) in KINDS {
        for rows in [64, 128] {
            let ty = random.pick(types);
            let mut product = Product::new(kind, [ty; 2], [rows, 16, 2 * depth]);
            product.is_sparse = true;
            product.upper = rows == 64 && random.below(2) == 0;
            product.a_in_tensor_memory = random.below(2) == 0;
            product.transposed[1] = ty.bits >= 8;
            check(&mut random, &product);
        }
    }
}

#[test]
fn packed_elements_of_tensor_memory_are_sparse() {
    let mut random = Random::new(21);
    for types in [[E2M1, E4M3], [E4M3, E2M1]] {
        let mut product = Product::new("f8f6f4", types, [128, 16, 64]);
        product.is_sparse = true;
        product.a_in_tensor_memory = true;
        check(&mut random, &product);
    }
}

#[test]
fn metadata_without_a_meaning_is_an_error() {
    let mut random = Random::new(22);
    for (kind, ty, depth, wrong) in [
        ("f16", F16, 32, 0b0101),
        ("tf32", TF32, 16, 0b1001),
        ("i8", S8, 64, 0b1111),
    ] {
        let mut product = Product::new(kind, [ty; 2], [128, 16, depth]);
        product.is_sparse = true;
        let matrices = product.matrices(&mut random);
        let mut places = random_places(&mut random, &product);
        places[77][1] = [wrong & 3, wrong >> 2];
        let mut experiment = product.experiment(&mut random, &matrices);
        put_metadata(&mut experiment, &product, &places, 0);
        assert!(
            experiment.error().contains(&format!("{wrong:#06b}")),
            "{kind}"
        );
    }
}

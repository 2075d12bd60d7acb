//! Weight-stationary products, with zero-column masks.

use crate::elements::{E5M2, F16, S8, TF32};
use crate::products::{KINDS, Product};
use crate::{Random, sparse};

fn stationary(random: &mut Random, product: &mut Product) {
    product.is_stationary = true;
    product.a_in_tensor_memory = random.below(2) == 0;
    product.accumulates = random.below(2) == 0;
}

#[test]
fn weight_stationary_products_of_all_kinds() {
    let mut random = Random::new(30);
    for (kind, types, depth) in KINDS {
        for rows in [32, 64, 128] {
            let ty = random.pick(types);
            let mut product = Product::new(kind, [ty; 2], [rows, 64, depth]);
            stationary(&mut random, &mut product);
            product.modifiers = format!(".collector::b{}::fill", random.below(4));
            product.check(&mut random);
        }
    }
}

#[test]
fn sparse_weight_stationary_products() {
    let mut random = Random::new(31);
    for (kind, ty, depth) in [
        ("f16", F16, 32),
        ("tf32", TF32, 16),
        ("f8f6f4", E5M2, 64),
        ("i8", S8, 64),
    ] {
        let rows = random.pick(&[32, 64]);
        let mut product = Product::new(kind, [ty; 2], [rows, 64, depth]);
        stationary(&mut random, &mut product);
        product.is_sparse = true;
        sparse::check(&mut random, &product);
    }
}

/// The mask of the columns that count as zero, from spans one after the other.
fn mask(
    rows: usize,
    columns: usize,
    starts: [usize; 4],
    begins_with_ones: [bool; 4],
    ones: usize,
    zeros: usize,
) -> Vec<bool> {
    let parts = 128 / rows;
    let mut mask = Vec::new();
    for part in 0..parts {
        let mut bits = Vec::new();
        let mut is_one = begins_with_ones[part];
        while bits.len() < columns / parts + starts[part] {
            bits.extend(vec![is_one; if is_one { ones } else { zeros }]);
            is_one = !is_one;
        }
        mask.extend(&bits[starts[part]..starts[part] + columns / parts]);
    }
    mask
}

#[test]
fn columns_of_the_second_factor_count_as_zero() {
    let mut random = Random::new(32);
    for rows in [32, 64, 128] {
        let mut product = Product::new("f16", [F16; 2], [rows, 64, 16]);
        stationary(&mut random, &mut product);
        let (ones, zeros) = (1 + random.below(5), 1 + random.below(5));
        let starts: [usize; 4] = core::array::from_fn(|_| random.below(ones.min(zeros)));
        let first: [bool; 4] = core::array::from_fn(|_| random.below(2) == 0);
        let mut descriptor = 1u64 << 39 | (ones as u64 - 1) << 40 | (zeros as u64 - 1) << 48;
        for index in 0..4 {
            descriptor |=
                (starts[index] as u64) << (8 * index) | u64::from(first[index]) << (32 + index);
        }
        product.operands = format!("%p5, {descriptor}");
        let zero = mask(rows, 64, starts, first, ones, zeros);
        let matrices = product.matrices(&mut random);
        let experiment = product.experiment(&mut random, &matrices);
        product.compare(&experiment, |row, column| {
            let addend = if product.accumulates {
                matrices.c[row][column]
            } else {
                0.0
            };
            let sum = if zero[column] {
                0.0
            } else {
                product.sum(&matrices, row, column, |_, stored| stored)
            };
            Some(addend + sum)
        });
    }
}

#[test]
fn columns_of_the_second_factor_are_shifted() {
    // A product of 64 columns whose second factor has 128 of them in shared memory.
    let mut random = Random::new(33);
    let wide = Product::new("f16", [F16; 2], [128, 128, 16]);
    let mut product = Product::new("f16", [F16; 2], [128, 64, 16]);
    product.is_stationary = true;
    product.operands = format!("%p5, {}", 5u64 << 56);
    let matrices = wide.matrices(&mut random);
    let mut experiment = wide.experiment(&mut random, &matrices);
    let narrow = product.experiment(&mut random, &product.matrices(&mut Random::new(1)));
    // The descriptors of the wide product with the instruction of the narrow one.
    let (descriptors, _) = experiment.body.split_once("mov.b32 %r22").unwrap();
    let (_, instruction) = narrow.body.split_once("mov.b32 %r22").unwrap();
    experiment.body = format!("{descriptors}mov.b32 %r22{instruction}");
    product.compare(&experiment, |row, column| {
        Some(matrices.c[row][column] + wide.sum(&matrices, row, column + 5, |_, stored| stored))
    });
}

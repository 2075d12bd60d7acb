//! Products, copies and shifts of pairs of CTAs.

use crate::products::{KINDS, Product};
use crate::{Experiment, Random, sparse};

#[test]
fn products_of_pairs() {
    let mut random = Random::new(40);
    for (kind, types, depth) in KINDS {
        for rows in [128, 256] {
            let ty = random.pick(types);
            let mut product = Product::new(kind, [ty; 2], [rows, 32, depth]);
            product.is_pair = true;
            product.a_in_tensor_memory = random.below(2) == 0;
            product.transposed[1] = ty.bits >= 8 && random.below(2) == 0;
            product.check(&mut random);
        }
    }
}

#[test]
fn sparse_products_of_pairs() {
    let mut random = Random::new(41);
    for (kind, types, depth) in KINDS {
        let ty = random.pick(types);
        let rows = random.pick(&[128, 256]);
        let mut product = Product::new(kind, [ty; 2], [rows, 32, 2 * depth]);
        product.is_pair = true;
        product.is_sparse = true;
        product.upper = rows == 128 && random.below(2) == 0;
        sparse::check(&mut random, &product);
    }
}

#[test]
fn lanes_of_both_blocks_may_be_disabled() {
    let mut random = Random::new(42);
    let (kind, types, depth) = KINDS[0];
    let mut product = Product::new(kind, [types[0]; 2], [256, 16, depth]);
    product.is_pair = true;
    let mask: Vec<u32> = random.words(8);
    let registers: Vec<String> = (30..38).map(|register| format!("%r{register}")).collect();
    product.operands = format!("{{{}}}, %p5", registers.join(", "));
    let matrices = product.matrices(&mut random);
    let mut experiment = product.experiment(&mut random, &matrices);
    let moves = registers
        .iter()
        .zip(&mask)
        .map(|(register, bits)| format!("mov.b32 {register}, {bits};\n"));
    experiment.body.insert_str(0, &moves.collect::<String>());
    product.compare(&experiment, |row, column| {
        let sum = matrices.c[row][column] + product.sum(&matrices, row, column, |_, stored| stored);
        (mask[row / 32] >> (row % 32) & 1 == 0).then_some(sum)
    });
}

#[test]
fn each_block_copies_from_its_own_shared_memory() {
    let mut random = Random::new(43);
    let descriptor = 128u64 >> 4 << 16 | 256 >> 4 << 32 | 1 << 46;
    let mut experiment = Experiment::new(
        32,
        format!(
            "shr.u32 %r20, %buffer, 4;\ncvt.u64.u32 %rd9, %r20;\nadd.s64 %rd9, %rd9, {descriptor};\ntcgen05.cp.cta_group::2.128x256b [%taddr+8], %rd9;"
        ),
    );
    experiment.shared = (0..2).map(|_| random.bytes(crate::BUFFER)).collect();
    experiment.cells = (0..2).map(|_| random.words(128 * 32)).collect();
    let mut expected = experiment.cells.clone();
    for (shared, expected) in experiment.shared.iter().zip(&mut expected) {
        for lane in 0..128 {
            for column in 0..8 {
                let address = lane % 8 * 16 + lane / 8 * 256 + column / 4 * 128 + column % 4 * 4;
                let bytes = &shared[address..address + 4];
                expected[lane * 32 + 8 + column] = u32::from_le_bytes(bytes.try_into().unwrap());
            }
        }
    }
    assert!(experiment.run() == expected);
}

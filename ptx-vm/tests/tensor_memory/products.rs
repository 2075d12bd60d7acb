//! Products of matrices, dense, of all kinds without scales.

use crate::elements::{
    BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, Layout, S8, TF32, Type, U8, half_bits, put,
    result_place,
};
use crate::{Experiment, Random};

/// A product with small numbers, whose sums are exact.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub(crate) kind: &'static str,
    pub(crate) types: [Type; 2],
    /// The code of the type of the result: 0 for binary16, 1 for binary32, 2 for integers.
    pub(crate) result: u32,
    /// The numbers of rows and columns of the result, and of the products of a sum.
    pub(crate) shape: [usize; 3],
    pub(crate) is_pair: bool,
    pub(crate) is_stationary: bool,
    pub(crate) is_sparse: bool,
    pub(crate) transposed: [bool; 2],
    pub(crate) negated: [bool; 2],
    pub(crate) a_in_tensor_memory: bool,
    /// The upper half of the lanes of each warp is used, where only half of them are.
    pub(crate) upper: bool,
    pub(crate) accumulates: bool,
    /// Modifiers after the kind, and operands after the usual ones.
    pub(crate) modifiers: String,
    pub(crate) operands: String,
}

/// The codes of the elements, and the numbers that the product is added to.
#[derive(Clone)]
pub(crate) struct Matrices {
    /// The stored elements of the first factor, row by row.
    pub(crate) a: Vec<Vec<u32>>,
    /// The columns of the second factor.
    pub(crate) b: Vec<Vec<u32>>,
    pub(crate) c: Vec<Vec<f64>>,
}

pub(crate) const A_COLUMN: usize = 128;
pub(crate) const COLUMNS: usize = 192;

impl Product {
    pub(crate) fn new(kind: &'static str, types: [Type; 2], shape: [usize; 3]) -> Self {
        Self {
            kind,
            types,
            result: if kind == "i8" { 2 } else { 1 },
            shape,
            is_pair: false,
            is_stationary: false,
            is_sparse: false,
            transposed: [false; 2],
            negated: [false; 2],
            a_in_tensor_memory: false,
            upper: false,
            accumulates: true,
            modifiers: String::new(),
            operands: String::new(),
        }
    }

    pub(crate) fn flags(&self) -> [bool; 4] {
        [self.is_pair, self.is_sparse, self.is_stationary, self.upper]
    }

    pub(crate) fn blocks(&self) -> usize {
        1 + usize::from(self.is_pair)
    }

    /// The number of stored elements of a row of the first factor.
    pub(crate) fn stored(&self) -> usize {
        self.shape[2] / (1 + usize::from(self.is_sparse))
    }

    fn descriptor(&self) -> u32 {
        let [rows, columns, _] = self.shape;
        let bit = |value: bool, position: u32| u32::from(value) << position;
        bit(self.is_sparse, 2)
            | self.result << 4
            | self.types[0].code << 7
            | self.types[1].code << 10
            | bit(self.negated[0], 13)
            | bit(self.negated[1], 14)
            | bit(self.transposed[0], 15)
            | bit(self.transposed[1], 16)
            | (columns as u32 >> 3) << 17
            | (rows as u32 >> 4) << 24
    }

    pub(crate) fn matrices(&self, random: &mut Random) -> Matrices {
        let [rows, columns, depth] = self.shape;
        let mut matrix = |ty: Type, lines: usize, length: usize| -> Vec<Vec<u32>> {
            let codes = ty.small_codes();
            (0..lines)
                .map(|_| {
                    (0..length)
                        .map(|_| ty.random_code(random, &codes))
                        .collect()
                })
                .collect()
        };
        let a = matrix(self.types[0], rows, self.stored());
        let b = matrix(self.types[1], columns, depth);
        let c = (0..rows)
            .map(|_| (0..columns).map(|_| random.below(9) as f64 - 4.0).collect())
            .collect();
        Matrices { a, b, c }
    }

    /// The number of elements in 16 bytes of shared memory: those of less than 8 bits have as many as bytes.
    fn per_unit(ty: Type) -> usize {
        16 / (ty.bits.max(8) / 8)
    }

    fn bits_of_result(&self, value: f64) -> u32 {
        match self.result {
            0 => half_bits(value),
            1 => (value as f32).to_bits(),
            _ => value as i32 as u32,
        }
    }

    /// The cell of a stored element of the first factor in tensor memory, relative to its first one, and the lowest bit.
    fn cell_of_element(&self, k: usize) -> (usize, usize) {
        let bits = self.types[0].bits.max(8);
        let lowest = if self.types[0] == E2M1 { 2 } else { 0 };
        (k * bits / 32, k * bits % 32 + lowest)
    }

    /// The lanes that need a row of the first factor: those that have elements of the row of the result, in each CTA.
    pub(crate) fn lanes_of_row(&self, row: usize) -> Vec<(usize, usize)> {
        let [rows, columns, _] = self.shape;
        let places = (0..columns).map(|column| {
            let (block, lane, _) = result_place([rows, columns], self.flags(), row, column);
            (block, lane)
        });
        let mut lanes: Vec<_> = places.collect();
        lanes.dedup();
        lanes
    }

    /// The experiment that computes the product: its matrices are in shared or tensor memory. Returns also the instruction without its last operands.
    pub(crate) fn experiment(&self, random: &mut Random, matrices: &Matrices) -> Experiment {
        let [rows, columns, depth] = self.shape;
        let mut experiment = Experiment::new(COLUMNS, "");
        let blocks = self.blocks();
        experiment.shared = (0..blocks).map(|_| random.bytes(crate::BUFFER)).collect();
        experiment.cells = (0..blocks).map(|_| random.words(128 * COLUMNS)).collect();
        let (rows_of_block, columns_of_block) = (rows / blocks, columns / blocks);
        let (a_layout, end) = Layout::random(
            random,
            0,
            rows_of_block,
            self.stored(),
            Self::per_unit(self.types[0]),
            self.transposed[0],
        );
        let (b_layout, end) = Layout::random(
            random,
            end,
            columns_of_block,
            depth,
            Self::per_unit(self.types[1]),
            self.transposed[1],
        );
        assert!(end <= crate::BUFFER, "{end} {self:?}");
        for (row, codes) in matrices.a.iter().enumerate() {
            for (k, &code) in codes.iter().enumerate() {
                if self.a_in_tensor_memory {
                    let (column, lowest) = self.cell_of_element(k);
                    let bits = self.types[0].bits;
                    for (block, lane) in self.lanes_of_row(row) {
                        let cell = &mut experiment.cells[block][lane * COLUMNS + A_COLUMN + column];
                        let mask = ((1u64 << bits) - 1) as u32;
                        *cell = *cell & !(mask << lowest) | (code & mask) << lowest;
                    }
                } else {
                    let (address, index) =
                        a_layout.place(Self::per_unit(self.types[0]), row % rows_of_block, k);
                    put(
                        &mut experiment.shared[row / rows_of_block],
                        address,
                        index,
                        self.types[0].bits,
                        code,
                    );
                }
            }
        }
        for (column, codes) in matrices.b.iter().enumerate() {
            for (k, &code) in codes.iter().enumerate() {
                let (address, index) =
                    b_layout.place(Self::per_unit(self.types[1]), column % columns_of_block, k);
                put(
                    &mut experiment.shared[column / columns_of_block],
                    address,
                    index,
                    self.types[1].bits,
                    code,
                );
            }
        }
        for row in 0..rows {
            for column in 0..columns {
                let (block, lane, place) = result_place([rows, columns], self.flags(), row, column);
                let bits = self.bits_of_result(matrices.c[row][column]);
                // The upper half of a cell with binary16 is ignored.
                let bits = if self.result == 0 {
                    bits | random.next() as u32 & 0xffff_0000
                } else {
                    bits
                };
                experiment.cells[block][lane * COLUMNS + place] = bits;
            }
        }
        experiment.body = self.instruction(&a_layout, &b_layout, 16 * usize::from(self.upper));
        experiment
    }

    fn instruction(&self, a: &Layout, b: &Layout, lane: usize) -> String {
        let mut name = "tcgen05.mma".to_owned();
        if self.is_stationary {
            name += ".ws";
        }
        if self.is_sparse {
            name += ".sp";
        }
        let a_operand = if self.a_in_tensor_memory {
            format!("[%r21+{A_COLUMN}]")
        } else {
            "%rd10".into()
        };
        let metadata = if self.is_sparse { " [%r21+160]," } else { "" };
        let Self {
            kind,
            modifiers,
            operands,
            ..
        } = self;
        format!(
            "shr.u32 %r20, %buffer, 4;\ncvt.u64.u32 %rd9, %r20;\nadd.s64 %rd10, %rd9, {a};\nadd.s64 %rd11, %rd9, {b};\nadd.u32 %r21, %taddr, {lane};\n\
             setp.eq.u32 %p5, 1, {accumulates};\nmov.b32 %r22, {descriptor};\n\
             {name}.cta_group::{group}.kind::{kind}{modifiers} [%r21], {a_operand}, %rd11,{metadata} %r22, {operands};",
            a = a.descriptor(),
            b = b.descriptor(),
            lane = lane << 16,
            accumulates = u32::from(self.accumulates),
            group = self.blocks(),
            descriptor = self.descriptor(),
            operands = if operands.is_empty() { "%p5" } else { operands },
        )
    }

    /// The sum of an element of the result. `column_of_stored` gives the column of a stored element of a row of the first factor.
    pub(crate) fn sum(
        &self,
        matrices: &Matrices,
        row: usize,
        column: usize,
        column_of_stored: impl Fn(usize, usize) -> usize,
    ) -> f64 {
        let negative = self.negated[0] != self.negated[1];
        let products = (0..self.stored()).map(|stored| {
            let a = self.types[0].value(matrices.a[row][stored]);
            let b = self.types[1].value(matrices.b[column][column_of_stored(row, stored)]);
            if negative { -a * b } else { a * b }
        });
        products.sum()
    }

    /// Runs the product and compares all cells. `expected` gives an element of the result; `None` for one that is not written.
    pub(crate) fn compare(
        &self,
        experiment: &Experiment,
        expected: impl Fn(usize, usize) -> Option<f64>,
    ) {
        let [rows, columns, _] = self.shape;
        let mut cells = experiment.cells.clone();
        for row in 0..rows {
            for column in 0..columns {
                let (block, lane, place) = result_place([rows, columns], self.flags(), row, column);
                if let Some(value) = expected(row, column) {
                    cells[block][lane * COLUMNS + place] = self.bits_of_result(value);
                }
            }
        }
        let found = experiment.run();
        for (block, (found, expected)) in found.iter().zip(&cells).enumerate() {
            for lane in 0..128 {
                let line = lane * COLUMNS..(lane + 1) * COLUMNS;
                assert_eq!(
                    found[line.clone()],
                    expected[line],
                    "{block} {lane} {self:?}\n{}",
                    experiment.body
                );
            }
        }
    }

    /// Runs the product of random matrices and compares the result.
    pub(crate) fn check(&self, random: &mut Random) {
        let matrices = self.matrices(random);
        let experiment = self.experiment(random, &matrices);
        self.compare(&experiment, |row, column| {
            let addend = if self.accumulates {
                matrices.c[row][column]
            } else {
                0.0
            };
            Some(addend + self.sum(&matrices, row, column, |_, stored| stored))
        });
    }
}

/// The types of each kind, and the number of products of a dense sum.
pub(crate) const KINDS: [(&str, &[Type], usize); 4] = [
    ("f16", &[F16, BF16], 16),
    ("tf32", &[TF32], 8),
    ("f8f6f4", &[E4M3, E5M2, E2M3, E3M2, E2M1], 32),
    ("i8", &[U8, S8], 32),
];

/// The result with types of a kind that may be transposed.
fn random_options(random: &mut Random, product: &mut Product) {
    let may_be_transposed = |ty: Type| ty.bits >= 8;
    for factor in 0..2 {
        product.transposed[factor] =
            may_be_transposed(product.types[factor]) && random.below(2) == 0;
        product.negated[factor] = product.kind != "i8" && random.below(2) == 0;
    }
    product.a_in_tensor_memory = random.below(3) == 0;
    if product.a_in_tensor_memory {
        product.transposed[0] = false;
    }
    product.accumulates = random.below(3) > 0;
    product.upper = random.below(2) == 0 && product.shape[0] == 64 && !product.is_stationary;
    if matches!(product.kind, "f16" | "f8f6f4") && product.types[0] != BF16 && random.below(3) == 0
    {
        product.result = 0;
    }
}

#[test]
fn products_of_all_kinds() {
    let mut random = Random::new(1);
    for (kind, types, depth) in KINDS {
        for round in 0..10 {
            // Transposed bytes need a multiple of 16 columns.
            let columns = random.pick(&[16, 32, 48, 80]);
            let rows = if round % 2 == 0 { 64 } else { 128 };
            let a = random.pick(types);
            let b = if kind == "f16" { a } else { random.pick(types) };
            let mut product = Product::new(kind, [a, b], [rows, columns, depth]);
            random_options(&mut random, &mut product);
            product.check(&mut random);
        }
    }
}

#[test]
fn the_least_and_the_greatest_numbers_of_columns() {
    let mut random = Random::new(2);
    for columns in [8, 24, 120] {
        for rows in [64, 128] {
            Product::new("f16", [F16; 2], [rows, columns, 16]).check(&mut random);
        }
    }
}

#[test]
fn infinities_and_rounding_are_those_of_the_block_of_a_product() {
    // 16 products are added at once, with terms that are truncated to 25 fractional bits of the greatest one.
    let mut random = Random::new(3);
    let product = Product::new("f16", [F16; 2], [64, 8, 16]);
    let mut matrices = product.matrices(&mut random);
    let half = half_bits;
    for row in 0..64 {
        matrices.a[row] = vec![half(0.0); 16];
        matrices.c[row] = vec![1.0; 8];
    }
    for column in 0..8 {
        matrices.b[column] = vec![half(0.00390625); 16];
    }
    // 1 + 2^-24 + 2^-24 is 1 + 2^-23: both terms are kept. Two terms of 2^-26 are lost.
    matrices.a[0][0] = half(2f64.powi(-16));
    matrices.a[0][1] = half(2f64.powi(-16));
    matrices.a[1][0] = half(2f64.powi(-18));
    matrices.a[1][1] = half(2f64.powi(-18));
    let experiment = product.experiment(&mut random, &matrices);
    product.compare(&experiment, |row, _| {
        Some(if row == 0 { 1.0 + 2f64.powi(-23) } else { 1.0 })
    });
}

#[test]
fn lanes_may_be_disabled() {
    let mut random = Random::new(4);
    let mut product = Product::new("tf32", [TF32; 2], [128, 16, 8]);
    let mask: Vec<u32> = random.words(4);
    product.operands = "{%r30, %r31, %r32, %r33}, %p5".into();
    let matrices = product.matrices(&mut random);
    let mut experiment = product.experiment(&mut random, &matrices);
    let moves = (0..4).map(|word| format!("mov.b32 %r{}, {};\n", 30 + word, mask[word]));
    experiment.body.insert_str(0, &moves.collect::<String>());
    product.compare(&experiment, |row, column| {
        let sum = matrices.c[row][column] + product.sum(&matrices, row, column, |_, stored| stored);
        (mask[row / 32] >> (row % 32) & 1 == 0).then_some(sum)
    });
}

#[test]
fn the_input_is_divided_by_a_power_of_two() {
    let mut random = Random::new(5);
    for (kind, ty, depth, result) in [
        ("f16", F16, 16, 0),
        ("f16", BF16, 16, 1),
        ("tf32", TF32, 8, 1),
    ] {
        let mut product = Product::new(kind, [ty; 2], [128, 16, depth]);
        product.result = result;
        product.operands = "%p5, 3".into();
        let matrices = product.matrices(&mut random);
        let experiment = product.experiment(&mut random, &matrices);
        product.compare(&experiment, |row, column| {
            Some(
                matrices.c[row][column] / 8.0
                    + product.sum(&matrices, row, column, |_, stored| stored),
            )
        });
    }
}

#[test]
fn rows_of_the_first_factor_are_shifted() {
    let mut random = Random::new(6);
    let mut product = Product::new("f16", [BF16; 2], [128, 16, 16]);
    product.a_in_tensor_memory = true;
    product.modifiers = ".ashift".into();
    let matrices = product.matrices(&mut random);
    let experiment = product.experiment(&mut random, &matrices);
    product.compare(&experiment, |row, column| {
        Some(
            matrices.c[row][column]
                + product.sum(&matrices, (row + 1).min(127), column, |_, stored| stored),
        )
    });
}

#[test]
fn collectors_have_no_effect() {
    let mut random = Random::new(7);
    let mut product = Product::new("f16", [F16; 2], [64, 16, 16]);
    for usage in ["fill", "use", "lastuse", "discard"] {
        product.modifiers = format!(".collector::a::{usage}");
        product.check(&mut random);
    }
}

#[test]
fn integers_saturate_if_the_descriptor_says_so() {
    let mut random = Random::new(8);
    let product = Product::new("i8", [U8; 2], [64, 16, 32]);
    let mut matrices = product.matrices(&mut random);
    matrices.c = vec![vec![f64::from(i32::MAX); 16]; 64];
    let mut experiment = product.experiment(&mut random, &matrices);
    let sum = |row: usize, column: usize| {
        matrices.c[row][column] + product.sum(&matrices, row, column, |_, stored| stored)
    };
    product.compare(&experiment, |row, column| {
        Some(f64::from(sum(row, column) as i64 as i32))
    });
    let descriptor = format!("mov.b32 %r22, {}", product.descriptor());
    experiment.body = experiment.body.replace(
        &descriptor,
        &format!("mov.b32 %r22, {}", product.descriptor() | 8),
    );
    product.compare(&experiment, |row, column| {
        Some(sum(row, column).min(f64::from(i32::MAX)))
    });
}

#[test]
fn wrong_operands_are_errors() {
    let mut random = Random::new(9);
    let product = Product::new("f16", [F16; 2], [64, 16, 16]);
    let matrices = product.matrices(&mut random);
    let experiment = product.experiment(&mut random, &matrices);
    let descriptor = product.descriptor();
    let with = |old: &str, new: &str| {
        let mut changed = experiment.clone();
        assert!(changed.body.contains(old), "{old}");
        changed.body = changed.body.replacen(old, new, 1);
        changed.error()
    };
    let with_descriptor =
        |bits: u32| with(&format!("%r22, {descriptor};"), &format!("%r22, {bits};"));
    // Sparse, reserved bits, types, rows, columns.
    assert!(with_descriptor(descriptor | 4).contains("sparsity"));
    assert!(with_descriptor(descriptor | 1 << 23).contains("bit 23"));
    assert!(with_descriptor(descriptor | 3 << 7).contains("bits 7 to 9"));
    assert!(with_descriptor(descriptor | 3 << 10).contains("bits 10 to 12"));
    assert!(with_descriptor(descriptor | 3 << 4).contains("bits 4 to 5"));
    assert!(with_descriptor(descriptor & !(31 << 24) | 6 << 24).contains("96 rows"));
    assert!(with_descriptor(descriptor & !(63 << 17)).contains("0 columns"));
    assert!(with_descriptor(descriptor & !(63 << 17) | 33 << 17).contains("264 columns"));
    assert!(with("[%r21]", "[%r21+500]").contains("column 512"));
    assert!(with("add.u32 %r21, %taddr, 0", "add.u32 %r21, %taddr, 0x80000").contains("lane 8"));
    // The shared memory descriptors.
    assert!(
        with(
            "add.s64 %rd11, %rd9, ",
            "mov.b64 %rd8, 0; add.s64 %rd11, %rd8, -"
        )
        .contains("shared memory descriptor")
    );
}

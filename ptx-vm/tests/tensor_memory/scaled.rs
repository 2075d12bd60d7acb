//! Products with block scales.

use crate::elements::{E2M1, E2M3, E3M2, E4M3, E5M2, Layout, Type, put, result_place};
use crate::{Experiment, Random};

const COLUMNS: usize = 192;
const A_COLUMN: usize = 64;
/// The first columns of the scales of both factors.
const SCALES: [usize; 2] = [96, 128];
/// The first column of the metadata of a sparse factor.
const METADATA: usize = 160;
const PLACES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

#[derive(Clone, Debug)]
struct Scaled {
    kind: &'static str,
    modifier: &'static str,
    types: [Type; 2],
    /// Scales are of type `.ue4m3` instead of `.ue8m0`.
    has_fractions: bool,
    /// The numbers of rows, columns, products of a sum, and scales of a row.
    shape: [usize; 3],
    scales: usize,
    /// The first byte of the scales in words.
    ids: [usize; 2],
    is_pair: bool,
    is_sparse: bool,
    a_in_tensor_memory: bool,
    target: &'static str,
}

/// The codes of the elements and scales, by rows of the first and columns of the second factor, and the numbers that the product is added to, plus 4.
struct Matrices {
    a: Vec<Vec<u32>>,
    b: Vec<Vec<u32>>,
    a_scales: Vec<Vec<u32>>,
    b_scales: Vec<Vec<u32>>,
    c: Vec<Vec<u32>>,
    /// For each row and four units of a sparse first factor, the places of the two units that are stored. A unit is a byte.
    places: Vec<Vec<[usize; 2]>>,
}

impl Scaled {
    /// Whether elements of 4 bits are packed.
    fn is_packed(&self) -> bool {
        self.kind != "mxf8f6f4"
    }

    fn per_unit(&self) -> usize {
        if self.is_packed() { 32 } else { 16 }
    }

    fn descriptor(&self) -> u32 {
        let [rows, columns, depth] = self.shape;
        let code = |ty: Type| if self.is_packed() { 1 } else { ty.code };
        u32::from(self.is_sparse) << 2
            | (self.ids[1] as u32) << 4
            | code(self.types[0]) << 7
            | code(self.types[1]) << 10
            | (columns as u32 >> 3) << 17
            | u32::from(!self.has_fractions) << 23
            | (rows as u32 >> 7) << 27
            | (self.ids[0] as u32) << 29
            | u32::from(depth == 96) << 31
    }

    fn scale(&self, code: u32) -> f64 {
        if self.has_fractions {
            E4M3.value(code & 0x7f)
        } else {
            2f64.powi(code as i32 - 127)
        }
    }

    /// The number of stored elements of a row of the first factor.
    fn stored(&self) -> usize {
        self.shape[2] / (1 + usize::from(self.is_sparse))
    }

    /// The column of a stored element.
    fn column(&self, places: &[[usize; 2]], stored: usize) -> usize {
        let elements = if self.is_packed() { 2 } else { 1 };
        let unit = stored / elements;
        if self.is_sparse {
            elements * (unit / 2 * 4 + places[unit / 2][unit % 2]) + stored % elements
        } else {
            stored
        }
    }

    /// Writes the metadata of the rows to their lanes.
    fn put_metadata(&self, experiment: &mut Experiment, places: &[Vec<[usize; 2]>]) {
        for (row, places) in places.iter().enumerate() {
            let bits = places
                .iter()
                .enumerate()
                .fold(0u64, |bits, (chunk, [first, second])| {
                    bits | ((first | second << 2) as u64) << (4 * chunk)
                });
            let (block, lane, _) = self.place(row, 0);
            let cells = &mut experiment.cells[block][lane * COLUMNS + METADATA..];
            cells[0] = bits as u32;
            cells[1] = (bits >> 32) as u32;
        }
    }

    fn blocks(&self) -> usize {
        1 + usize::from(self.is_pair)
    }

    /// The CTA, the lane and the column of an element of the result.
    fn place(&self, row: usize, column: usize) -> (usize, usize, usize) {
        let [rows, columns, _] = self.shape;
        result_place(
            [rows, columns],
            [self.is_pair, false, false, false],
            row,
            column,
        )
    }

    /// Random matrices.
    fn matrices(&self, random: &mut Random) -> Matrices {
        let [rows, columns, depth] = self.shape;
        let mut lines = |codes: &[u32], lines: usize, length: usize| -> Vec<Vec<u32>> {
            (0..lines)
                .map(|_| (0..length).map(|_| random.pick(codes)).collect())
                .collect()
        };
        let scale_codes: &[u32] = if self.has_fractions {
            &[0x30, 0x38, 0x3c, 0x40, 0xb8]
        } else {
            &[125, 126, 127, 128, 129]
        };
        Matrices {
            a: lines(&self.types[0].small_codes(), rows, self.stored()),
            b: lines(&self.types[1].small_codes(), columns, depth),
            a_scales: lines(scale_codes, rows, self.scales),
            b_scales: lines(scale_codes, columns, self.scales),
            c: lines(&[0, 1, 2, 3, 4, 5, 6, 7, 8], rows, columns),
            places: (0..rows)
                .map(|_| (0..16).map(|_| random.pick(&PLACES)).collect())
                .collect(),
        }
    }

    /// Writes a row of the first factor to the lanes of its results.
    fn put_row(&self, experiment: &mut Experiment, row: usize, codes: &[u32]) {
        let bits = if self.is_packed() { 4 } else { 8 };
        let lowest = if !self.is_packed() && self.types[0] == E2M1 {
            2
        } else {
            0
        };
        let mut lanes: Vec<_> = (0..self.shape[1])
            .map(|column| self.place(row, column))
            .map(|(block, lane, _)| (block, lane))
            .collect();
        lanes.dedup();
        for (k, &code) in codes.iter().enumerate() {
            for &(block, lane) in &lanes {
                let cell = &mut experiment.cells[block][lane * COLUMNS + A_COLUMN + k * bits / 32];
                let shift = k * bits % 32;
                *cell = *cell & !(((1 << bits) - 1) << shift) | code << lowest << shift;
            }
        }
    }

    /// Writes rows of a factor to the shared memory of the CTAs.
    fn put_factor(
        &self,
        experiment: &mut Experiment,
        layout: &Layout,
        ty: Type,
        lines: &[Vec<u32>],
    ) {
        let lines_of_block = lines.len() / self.blocks();
        for (line, codes) in lines.iter().enumerate() {
            for (k, &code) in codes.iter().enumerate() {
                let (address, index) = layout.place(self.per_unit(), line % lines_of_block, k);
                let shared = &mut experiment.shared[line / lines_of_block];
                put(shared, address, index, ty.bits, code);
            }
        }
    }

    fn check(&self, random: &mut Random) {
        let [rows, columns, depth] = self.shape;
        let blocks = self.blocks();
        let mut experiment = Experiment::new(COLUMNS, "");
        experiment.target = self.target;
        experiment.shared = (0..blocks).map(|_| random.bytes(crate::BUFFER)).collect();
        experiment.cells = (0..blocks).map(|_| random.words(128 * COLUMNS)).collect();
        let matrices = self.matrices(random);
        let unit = self.per_unit();
        let (a_layout, end) = Layout::random(random, 0, rows / blocks, self.stored(), unit, false);
        let (b_layout, end) = Layout::random(random, end, columns / blocks, depth, unit, false);
        assert!(end <= crate::BUFFER);
        if self.a_in_tensor_memory {
            for (row, codes) in matrices.a.iter().enumerate() {
                self.put_row(&mut experiment, row, codes);
            }
        } else {
            self.put_factor(&mut experiment, &a_layout, self.types[0], &matrices.a);
        }
        self.put_factor(&mut experiment, &b_layout, self.types[1], &matrices.b);
        if self.is_sparse {
            self.put_metadata(&mut experiment, &matrices.places);
        }
        self.put_scales(&mut experiment, &matrices.a_scales, &matrices.b_scales);
        self.set_body(&mut experiment, [&a_layout, &b_layout]);
        let mut expected = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let (block, lane, place) = self.place(row, column);
                let addend = f64::from(matrices.c[row][column]) - 4.0;
                experiment.cells[block][lane * COLUMNS + place] = (addend as f32).to_bits();
                let sum = addend + self.sum(&matrices, row, column);
                expected.push((block, lane * COLUMNS + place, (sum as f32).to_bits()));
            }
        }
        let mut cells = experiment.cells.clone();
        for (block, cell, bits) in expected {
            cells[block][cell] = bits;
        }
        let found = experiment.run();
        for (block, (found, expected)) in found.iter().zip(&cells).enumerate() {
            for lane in 0..128 {
                let line = lane * COLUMNS..(lane + 1) * COLUMNS;
                assert_eq!(
                    found[line.clone()],
                    expected[line],
                    "{block} {lane} {self:?}"
                );
            }
        }
    }

    fn sum(&self, matrices: &Matrices, row: usize, column: usize) -> f64 {
        let depth = self.shape[2];
        let products = (0..self.stored()).map(|stored| {
            let k = self.column(&matrices.places[row], stored);
            let scale = k * self.scales / depth;
            let a = self.types[0].value(matrices.a[row][stored]);
            let b = self.types[1].value(matrices.b[column][k]);
            let a_scale = self.scale(matrices.a_scales[row][scale]);
            a * a_scale * b * self.scale(matrices.b_scales[column][scale])
        });
        products.sum()
    }

    /// Writes the scales to all warps: 32 lines are in the lanes of a column, the next ones in the next columns. Bytes beyond the fourth are in the columns after
    /// those of 128 lines, or after as many as there are lines if they are more.
    fn put_scales(&self, experiment: &mut Experiment, a: &[Vec<u32>], b: &[Vec<u32>]) {
        let [rows, columns, _] = self.shape;
        let blocks = experiment.cells.len();
        let rows_of_block = rows / blocks;
        // With half of the rows in each half of the lanes, each half has the scales of its columns.
        let halves = if self.is_pair && rows == 128 { 2 } else { 1 };
        let columns_of_half = columns / halves;
        for block in 0..blocks {
            for warp in 0..4 {
                let half = if halves == 2 { warp / 2 } else { 0 };
                let a = &a[block * rows_of_block..(block + 1) * rows_of_block];
                let b = &b[half * columns_of_half..(half + 1) * columns_of_half];
                for (factor, lines) in [a, b].into_iter().enumerate() {
                    let group = if lines.len() > 128 { 8 } else { 4 };
                    for (line, scales) in lines.iter().enumerate() {
                        for (index, &code) in scales.iter().enumerate() {
                            let byte = self.ids[factor] + index;
                            let column = SCALES[factor] + line / 32 + byte / 4 * group;
                            let cell = &mut experiment.cells[block]
                                [(warp * 32 + line % 32) * COLUMNS + column];
                            let shift = byte % 4 * 8;
                            *cell = *cell & !(0xff << shift) | code << shift;
                        }
                    }
                }
            }
        }
    }

    fn set_body(&self, experiment: &mut Experiment, [a, b]: [&Layout; 2]) {
        let a_operand = if self.a_in_tensor_memory {
            format!("[%taddr+{A_COLUMN}]")
        } else {
            "%rd10".into()
        };
        experiment.body = format!(
            "shr.u32 %r20, %buffer, 4;\ncvt.u64.u32 %rd9, %r20;\nadd.s64 %rd10, %rd9, {a};\nadd.s64 %rd11, %rd9, {b};\n\
             setp.eq.u32 %p5, 1, 1;\nmov.b32 %r22, {descriptor};\n\
             tcgen05.mma{sp}.cta_group::{group}.kind::{kind}.block_scale{modifier} [%taddr], {a_operand}, %rd11,{metadata} %r22, [%taddr+{a_scales}], [%taddr+{b_scales}], %p5;",
            a = a.descriptor(),
            b = b.descriptor(),
            descriptor = self.descriptor(),
            group = experiment.cells.len(),
            kind = self.kind,
            sp = if self.is_sparse { ".sp" } else { "" },
            metadata = if self.is_sparse {
                format!(" [%taddr+{METADATA}],")
            } else {
                String::new()
            },
            modifier = self.modifier,
            a_scales = SCALES[0],
            b_scales = SCALES[1],
        );
    }
}

const BASE: Scaled = Scaled {
    kind: "mxf8f6f4",
    modifier: "",
    types: [E4M3; 2],
    has_fractions: false,
    shape: [128, 16, 32],
    scales: 1,
    ids: [0; 2],
    is_pair: false,
    is_sparse: false,
    a_in_tensor_memory: false,
    target: "sm_100a",
};

#[test]
fn products_of_bytes_with_scales() {
    let mut random = Random::new(60);
    for round in 0..4 {
        let types = [E4M3, E5M2, E2M3, E3M2, E2M1];
        let scaled = Scaled {
            types: [random.pick(&types), random.pick(&types)],
            shape: [128, random.pick(&[8, 40, 64]), 32],
            ids: [random.below(4), random.below(4)],
            modifier: ["", ".scale_vec::1X", ".block32", ""][round],
            a_in_tensor_memory: round % 2 == 1,
            ..BASE
        };
        scaled.check(&mut random);
    }
}

#[test]
fn products_of_four_bits_with_scales() {
    let mut random = Random::new(61);
    let packed = Scaled {
        types: [E2M1; 2],
        shape: [128, 16, 64],
        ..BASE
    };
    for (kind, modifier, scales, has_fractions) in [
        ("mxf4", "", 2, false),
        ("mxf4", ".scale_vec::2X", 2, false),
        ("mxf4nvf4", ".block32", 2, false),
        ("mxf4nvf4", ".block16", 4, false),
        ("mxf4nvf4", ".scale_vec::4X", 4, true),
    ] {
        let scaled = Scaled {
            kind,
            modifier,
            scales,
            has_fractions,
            ids: if scales == 2 {
                [2 * random.below(2), 2 * random.below(2)]
            } else {
                [0; 2]
            },
            a_in_tensor_memory: random.below(2) == 0,
            ..packed.clone()
        };
        scaled.check(&mut random);
    }
}

#[test]
fn products_of_96_elements_with_scales() {
    let mut random = Random::new(62);
    for (kind, modifier, scales, ids) in [
        ("mxf4", ".block32", 3, [0, 1]),
        ("mxf4", ".block32", 3, [2, 3]),
        ("mxf4nvf4", ".block16", 6, [0, 2]),
    ] {
        let scaled = Scaled {
            kind,
            modifier,
            types: [E2M1; 2],
            shape: [128, 16, 96],
            scales,
            ids,
            target: "sm_103a",
            ..BASE
        };
        scaled.check(&mut random);
    }
}

#[test]
fn scaled_products_of_pairs() {
    let mut random = Random::new(63);
    for rows in [128, 256] {
        let scaled = Scaled {
            shape: [rows, 64, 32],
            is_pair: true,
            ids: [1, 2],
            ..BASE
        };
        scaled.check(&mut random);
    }
    let scaled = Scaled {
        kind: "mxf4",
        types: [E2M1; 2],
        shape: [256, 32, 64],
        scales: 2,
        is_pair: true,
        ..BASE
    };
    scaled.check(&mut random);
}

#[test]
fn sparse_products_with_scales() {
    let mut random = Random::new(64);
    let sparse = Scaled {
        is_sparse: true,
        ..BASE
    };
    for scaled in [
        Scaled {
            types: [E5M2, E2M1],
            shape: [128, 16, 64],
            ids: [3, 1],
            ..sparse.clone()
        },
        Scaled {
            kind: "mxf4",
            types: [E2M1; 2],
            shape: [128, 16, 128],
            scales: 2,
            ids: [2, 0],
            ..sparse.clone()
        },
        Scaled {
            kind: "mxf4nvf4",
            modifier: ".block16",
            types: [E2M1; 2],
            shape: [256, 32, 128],
            scales: 4,
            has_fractions: true,
            is_pair: true,
            ..sparse
        },
    ] {
        scaled.check(&mut random);
    }
}

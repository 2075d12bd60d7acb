//! Products with block scales.

use crate::elements::{E2M1, E2M3, E3M2, E4M3, E5M2, Layout, Type, put, result_place};
use crate::{Experiment, Random};

const COLUMNS: usize = 192;
const A_COLUMN: usize = 64;
/// The first columns of the scales of both factors.
const SCALES: [usize; 2] = [96, 128];

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
    a_in_tensor_memory: bool,
    target: &'static str,
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
        (self.ids[1] as u32) << 4
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

    fn check(&self, random: &mut Random) {
        let [rows, columns, depth] = self.shape;
        let blocks = 1 + usize::from(self.is_pair);
        let (rows_of_block, columns_of_block) = (rows / blocks, columns / blocks);
        let flags = [self.is_pair, false, false, false];
        let mut experiment = Experiment::new(COLUMNS, "");
        experiment.target = self.target;
        experiment.shared = (0..blocks).map(|_| random.bytes(crate::BUFFER)).collect();
        experiment.cells = (0..blocks).map(|_| random.words(128 * COLUMNS)).collect();
        let mut codes = |ty: Type, lines: usize| -> Vec<Vec<u32>> {
            let codes = ty.small_codes();
            (0..lines)
                .map(|_| (0..depth).map(|_| random.pick(&codes)).collect())
                .collect()
        };
        let (a, b) = (codes(self.types[0], rows), codes(self.types[1], columns));
        let scale_codes: &[u32] = if self.has_fractions {
            &[0x30, 0x38, 0x3c, 0x40, 0xb8]
        } else {
            &[125, 126, 127, 128, 129]
        };
        let mut scales = |lines: usize| -> Vec<Vec<u32>> {
            (0..lines)
                .map(|_| (0..self.scales).map(|_| random.pick(scale_codes)).collect())
                .collect()
        };
        let (a_scales, b_scales) = (scales(rows), scales(columns));
        let (a_layout, end) =
            Layout::random(random, 0, rows_of_block, depth, self.per_unit(), false);
        let (b_layout, end) =
            Layout::random(random, end, columns_of_block, depth, self.per_unit(), false);
        assert!(end <= crate::BUFFER);
        for (row, line) in a.iter().enumerate() {
            for (k, &code) in line.iter().enumerate() {
                if self.a_in_tensor_memory {
                    let bits = if self.is_packed() { 4 } else { 8 };
                    let shift = k * bits % 32;
                    let code = if !self.is_packed() && self.types[0] == E2M1 {
                        code << 2
                    } else {
                        code
                    };
                    let mut lanes: Vec<_> = (0..columns)
                        .map(|column| result_place([rows, columns], flags, row, column))
                        .map(|(block, lane, _)| (block, lane))
                        .collect();
                    lanes.dedup();
                    for (block, lane) in lanes {
                        let cell =
                            &mut experiment.cells[block][lane * COLUMNS + A_COLUMN + k * bits / 32];
                        *cell = *cell & !(((1 << bits) - 1) << shift) | code << shift;
                    }
                } else {
                    let (address, index) = a_layout.place(self.per_unit(), row % rows_of_block, k);
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
        for (column, line) in b.iter().enumerate() {
            for (k, &code) in line.iter().enumerate() {
                let (address, index) =
                    b_layout.place(self.per_unit(), column % columns_of_block, k);
                put(
                    &mut experiment.shared[column / columns_of_block],
                    address,
                    index,
                    self.types[1].bits,
                    code,
                );
            }
        }
        let mut addend = vec![vec![0.0; columns]; rows];
        for row in 0..rows {
            for column in 0..columns {
                let (block, lane, place) = result_place([rows, columns], flags, row, column);
                addend[row][column] = random.below(9) as f64 - 4.0;
                experiment.cells[block][lane * COLUMNS + place] =
                    (addend[row][column] as f32).to_bits();
            }
        }
        self.put_scales(&mut experiment, &a_scales, &b_scales);
        self.set_body(&mut experiment, [&a_layout, &b_layout]);
        let mut expected = experiment.cells.clone();
        for row in 0..rows {
            for column in 0..columns {
                let (block, lane, place) = result_place([rows, columns], flags, row, column);
                let sum: f64 = (0..depth)
                    .map(|k| {
                        let scale = k * self.scales / depth;
                        let a = self.types[0].value(a[row][k]) * self.scale(a_scales[row][scale]);
                        a * self.types[1].value(b[column][k]) * self.scale(b_scales[column][scale])
                    })
                    .sum();
                expected[block][lane * COLUMNS + place] =
                    ((addend[row][column] + sum) as f32).to_bits();
            }
        }
        let found = experiment.run();
        for (block, (found, expected)) in found.iter().zip(&expected).enumerate() {
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
             tcgen05.mma.cta_group::{group}.kind::{kind}.block_scale{modifier} [%taddr], {a_operand}, %rd11, %r22, [%taddr+{a_scales}], [%taddr+{b_scales}], %p5;",
            a = a.descriptor(),
            b = b.descriptor(),
            descriptor = self.descriptor(),
            group = experiment.cells.len(),
            kind = self.kind,
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

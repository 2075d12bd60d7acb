//! Products with block scales.

use crate::Numbers;
use crate::dense::Product;
use crate::element::*;
use crate::sparse::{self, LOAD_METADATA};

/// Scales that are powers of two: of rows or columns, for each block.
struct Scales {
    powers: Numbers,
    /// The word of each lane.
    words: Vec<u32>,
}

/// Where the scales of a matrix are: the lane of four that has those of a line, and the first byte.
fn any(
    random: &mut fastrand::Rng,
    lines: usize,
    blocks: usize,
    unsigned: bool,
    (member, byte): (usize, usize),
) -> Scales {
    let powers = Numbers::new(lines, blocks, |_, _| random.i64(0..=2));
    let mut words: Vec<u32> = (0..32).map(|_| random.u32(..) & 0x3f3f_3f3f).collect();
    for line in 0..lines {
        let lane = line % 8 * 4 + member + line / 8;
        for block in 0..blocks {
            // An exponent of 8 bits, or 4 bits of exponent above 3 of fraction.
            let power = powers.at(line, block) as u32;
            let code = if unsigned {
                (7 + power) << 3
            } else {
                127 + power
            };
            let shift = 8 * (byte + block);
            words[lane] = words[lane] & !(0xff << shift) | code << shift;
        }
    }
    Scales { powers, words }
}

/// A matrix with each element multiplied by the scale of its block.
fn scaled(of: &Numbers, scales: &Numbers) -> Numbers {
    Numbers::new(of.rows, of.columns, |row, column| {
        of.at(row, column) << scales.at(row, column * scales.columns / of.columns)
    })
}

/// Where the selectors say that the scales are: bytes and members of groups of lanes, for both factors.
struct Selectors {
    bytes: [usize; 2],
    lanes: [usize; 2],
}

fn compare(
    product: &Product<'_>,
    sparse: bool,
    blocks: usize,
    unsigned: bool,
    selectors: &Selectors,
) {
    let mut random = fastrand::Rng::with_seed(11);
    let [rows, columns, depth] = product.shape;
    let Selectors { bytes, lanes } = selectors;
    let of_a = any(
        &mut random,
        rows,
        blocks,
        unsigned,
        (2 * lanes[0], bytes[0]),
    );
    let of_b = any(&mut random, columns, blocks, unsigned, (lanes[1], bytes[1]));
    let b = product.b.any(&mut random, depth, columns);
    let c = Element {
        most: 100,
        least: -100,
        ..product.c
    }
    .any(&mut random, rows, columns);
    let words = of_a.words.iter().chain(&of_b.words);
    let mut extra: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
    let (stored, whole, opcode, metadata) = match sparse {
        false => {
            let a = product.a.any(&mut random, rows, depth);
            (a.clone(), a, "mma", "")
        }
        true => {
            let a = sparse::any(&mut random, product.a, depth, 0);
            extra.splice(0..0, a.metadata());
            (a.stored, a.whole, "mma.sp::ordered_metadata", ", %r16, 0x0")
        }
    };
    let first = if sparse { 128 } else { 0 };
    let setup = format!(
        "{LOAD_METADATA}ld.shared.b32 %r17, [%r43+EXTRA+{first}];\nld.shared.b32 %r18, [%r43+EXTRA+{}];\n",
        first + 128
    );
    let operands = format!(
        "{metadata}, %r17, {{{}, {}}}, %r18, {{{}, {}}}",
        bytes[0], lanes[0], bytes[1], lanes[1]
    );
    let found = product.computed([opcode, &setup, &operands], [&stored, &b, &c], &extra);
    let expected = scaled(&whole, &of_a.powers);
    let of_columns = scaled(&b.transposed(), &of_b.powers).transposed();
    assert_eq!(
        found,
        expected.multiplied(&of_columns, &c),
        "{:?} {}",
        product.shape,
        product.before
    );
}

#[test]
fn one_scale_of_a_row() {
    let formats = [E4M3, E5M2, E3M2, E2M3, PADDED_E2M1];
    for (n, a) in formats.into_iter().enumerate() {
        for (m, b) in formats.into_iter().enumerate() {
            for (depth, sparse) in [(32, false), (64, true)] {
                let product = Product {
                    target: "sm_120a",
                    before: if n == m {
                        ".kind::mxf8f6f4.block_scale"
                    } else {
                        ".kind::mxf8f6f4.block_scale.scale_vec::1X"
                    },
                    after: ".ue8m0",
                    shape: [16, 8, depth],
                    a,
                    b,
                    c: F32,
                };
                let selectors = Selectors {
                    bytes: [n % 4, m % 4],
                    lanes: [m % 2, (n + m) % 4],
                };
                compare(&product, sparse, 1, false, &selectors);
            }
        }
    }
}

#[test]
fn several_scales_of_a_row() {
    for (before, after, blocks) in [
        (".kind::mxf4.block_scale", ".ue8m0", 2),
        (".kind::mxf4nvf4.block_scale.scale_vec::2X", ".ue8m0", 2),
        (".kind::mxf4nvf4.block_scale.scale_vec::4X", ".ue4m3", 4),
    ] {
        for (depth, sparse) in [(64, false), (128, true)] {
            // ptxas needs the modifier for sparse factors.
            let before = match (sparse, before) {
                (true, ".kind::mxf4.block_scale") => ".kind::mxf4.block_scale.scale_vec::2X",
                (_, before) => before,
            };
            let product = Product {
                target: "sm_120a",
                before,
                after,
                shape: [16, 8, depth],
                a: E2M1,
                b: E2M1,
                c: F32,
            };
            let bytes: &[[usize; 2]] = if blocks == 4 {
                &[[0, 0]]
            } else {
                &[[0, 0], [2, 0], [0, 2], [2, 2]]
            };
            for &bytes in bytes {
                for lanes in [[0, 0], [1, 3], [0, 2]] {
                    compare(
                        &product,
                        sparse,
                        blocks,
                        after == ".ue4m3",
                        &Selectors { bytes, lanes },
                    );
                }
            }
        }
    }
}

//! Products with a sparse first factor.

use crate::Numbers;
use crate::dense::Product;
use crate::element::*;

/// A sparse matrix: what is stored of it, the metadata of each lane and the matrix.
pub(crate) struct Sparse {
    pub(crate) stored: Numbers,
    metadata: Vec<u32>,
    pub(crate) whole: Numbers,
}

/// Any sparse matrix. Of each four units two are stored, of 32 bits one of two elements.
pub(crate) fn any(
    random: &mut fastrand::Rng,
    of: Element,
    depth: usize,
    selector: usize,
) -> Sparse {
    let stored = of.any(random, 16, depth / 2);
    let mut whole = Numbers::new(16, depth, |_, _| 0);
    // Two bits for each stored unit of each row.
    let mut indices = vec![Vec::new(); 16];
    for (row, indices) in indices.iter_mut().enumerate() {
        let mut column = 0;
        let mut element = 0;
        let mut put = |column: usize| {
            whole.values[row * depth + column] = stored.at(row, element);
            element += 1;
        };
        while column < depth {
            let first = random.usize(0..3);
            let second = random.usize(first + 1..4);
            match of.bits {
                32 => {
                    let odd = random.bool();
                    put(column + usize::from(odd));
                    indices.extend(if odd { [2, 3] } else { [0, 1] });
                    column += 2;
                }
                4 => {
                    for index in [first, second] {
                        put(column + 2 * index);
                        put(column + 2 * index + 1);
                        indices.push(index as u32);
                    }
                    column += 8;
                }
                _ => {
                    for index in [first, second] {
                        put(column + index);
                        indices.push(index as u32);
                    }
                    column += 4;
                }
            }
        }
    }
    Sparse {
        metadata: metadata(&indices, selector),
        stored,
        whole,
    }
}

/// The metadata of the lanes, as the figures of PTX ISA manual 9.7.14.6.2 show them.
fn metadata(indices: &[Vec<u32>], selector: usize) -> Vec<u32> {
    let word = |row: usize, units: std::ops::Range<usize>| {
        let units = indices[row][units].iter().enumerate();
        units.fold(0, |word, (n, index)| word | index << (2 * n))
    };
    let of_lane = |lane: usize| {
        let (group, member) = (lane / 4, lane % 4);
        let both = |units: std::ops::Range<usize>| {
            word(group, units.clone()) | word(group + 8, units) << 16
        };
        match indices[0].len() {
            8 if member == selector => both(0..8),
            16 if member / 2 == selector => both(member % 2 * 8..member % 2 * 8 + 8),
            32 => {
                let first = member / 2 * 16;
                word(group + member % 2 * 8, first..first + 16)
            }
            // Of no effect.
            _ => 0x5555_5555,
        }
    };
    (0..32).map(of_lane).collect()
}

impl Sparse {
    /// The bytes of the metadata, four of each lane.
    pub(crate) fn metadata(&self) -> Vec<u8> {
        self.metadata
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect()
    }
}

/// Loads the metadata of the lane.
pub(crate) const LOAD_METADATA: &str = "shl.b32 %r43, %t, 2;\nmov.u32 %r44, memory;\nadd.u32 %r43, %r43, %r44;\n\
     ld.shared.b32 %r16, [%r43+EXTRA];\n";

fn compare(product: &Product<'_>, opcode: &str, selectors: usize) {
    let mut random = fastrand::Rng::with_seed(7);
    for selector in 0..selectors {
        let [rows, columns, depth] = product.shape;
        let a = any(&mut random, product.a, depth, selector);
        let b = product.b.any(&mut random, depth, columns);
        let c = Element {
            most: 100,
            least: -100,
            ..product.c
        }
        .any(&mut random, rows, columns);
        let operands = format!(", %r16, {selector:#x}");
        let found = product.computed(
            [opcode, LOAD_METADATA, &operands],
            [&a.stored, &b, &c],
            &a.metadata(),
        );
        assert_eq!(
            found,
            a.whole.multiplied(&b, &c),
            "{:?} {:?} {selector}",
            product.shape,
            product.a
        );
    }
}

fn all(target: &str, before: &str, types: [Element; 3], depth: usize, selectors: usize) {
    let [a, b, c] = types;
    let product = Product {
        target,
        before,
        after: "",
        shape: [16, 8, depth],
        a,
        b,
        c,
    };
    compare(&product, "mma.sp::ordered_metadata", selectors);
    if before.is_empty() && target == "sm_80" {
        compare(&product, "mma.sp", selectors);
    }
}

#[test]
fn numbers() {
    for (a, c) in [(F16, F16), (F16, F32), (BF16, F32)] {
        all("sm_80", "", [a, a, c], 16, 4);
        all("sm_80", "", [a, a, c], 32, 2);
    }
    all("sm_80", "", [TF32, TF32, F32], 8, 4);
    all("sm_80", "", [TF32, TF32, F32], 16, 2);
    for a in [E4M3, E5M2] {
        for b in [E4M3, E5M2] {
            for target in ["sm_89", "sm_90", "sm_120"] {
                all(target, "", [a, b, F32], 64, 1);
            }
        }
    }
    let formats = [E4M3, E5M2, E3M2, E2M3, PADDED_E2M1];
    for a in formats {
        for b in formats {
            for c in [F16, F32] {
                all("sm_120a", ".kind::f8f6f4", [a, b, c], 64, 1);
            }
        }
    }
}

#[test]
fn integers() {
    for a in [S8, U8] {
        for b in [S8, U8] {
            all("sm_80", "", [a, b, S32], 32, 2);
            all("sm_80", "", [a, b, S32], 64, 1);
            all("sm_80", ".satfinite", [a, b, S32], 64, 1);
        }
    }
    for a in [S4, U4] {
        for b in [S4, U4] {
            all("sm_80", "", [a, b, S32], 64, 2);
            all("sm_80", "", [a, b, S32], 128, 1);
        }
    }
}

//! Bit fields, counts, shifts and permutations.

use crate::common::{Cases, bit, edges, run};

#[test]
fn bits() {
    let cases = &mut Cases::default();
    for width in [32u32, 64] {
        let all = u64::MAX >> (64 - width);
        for &x in &edges(width) {
            let one = [x.into()];
            let name = |op: &str, kind: char| format!("{op}.{kind}{width}");
            cases.is(
                &name("popc", 'b'),
                &one,
                Some((0..width).map(|i| u128::from(bit(x, i))).sum()),
            );
            let top = (0..width).rev().find(|&i| bit(x, i) == 1);
            cases.is(
                &name("clz", 'b'),
                &one,
                Some(top.map_or(width, |t| width - 1 - t).into()),
            );
            cases.is(
                &name("brev", 'b'),
                &one,
                Some((0..width).fold(0, |r, i| r << 1 | u128::from(bit(x, i)))),
            );
            cases.is(&name("not", 'b'), &one, Some((x ^ all).into()));
            cases.is(&name("cnot", 'b'), &one, Some((x == 0).into()));
            let sign = bit(x, width - 1);
            for (kind, other) in [('u', 0), ('s', sign)] {
                let found = (0..width).rev().find(|&i| bit(x, i) != other);
                cases.is(
                    &name("bfind", kind),
                    &one,
                    Some(found.unwrap_or(u32::MAX).into()),
                );
                let amount = found.map_or(u32::MAX, |f| width - 1 - f);
                cases.is(&name("bfind.shiftamt", kind), &one, Some(amount.into()));
            }
            for &y in &edges(width) {
                let two = [x.into(), y.into()];
                cases.is(&name("and", 'b'), &two, Some((x & y).into()));
                cases.is(&name("or", 'b'), &two, Some((x | y).into()));
                cases.is(&name("xor", 'b'), &two, Some((x ^ y).into()));
                cases.is(&name("setp.eq", 'b'), &two, Some((x == y).into()));
            }
            for pos in [0u32, 1, 7, 16, 31, 32, 40, 63, 64, 255, 257] {
                cases.is(
                    &name("shl", 'b'),
                    &[x.into(), pos.into()],
                    Some(
                        (0..width)
                            .filter(|&i| i >= pos)
                            .map(|i| u128::from(bit(x, i - pos)) << i)
                            .sum(),
                    ),
                );
                for len in [0u32, 1, 8, 16, 31, 32, 33, 64, 255, 256] {
                    let (p, l) = match width {
                        64 => (pos.min(300), len.min(300)),
                        _ => (pos & 0xff, len & 0xff),
                    };
                    for kind in ['u', 's'] {
                        // As in the PTX ISA manual, bit by bit, but for positions and lengths above 255.
                        let fill = if kind == 'u' || l == 0 {
                            0
                        } else {
                            bit(x, (p + l - 1).min(width - 1))
                        };
                        let expected = (0..width).map(|i| {
                            let b = if i < l && p + i < width {
                                bit(x, p + i)
                            } else {
                                fill
                            };
                            u128::from(b) << i
                        });
                        cases.is(
                            &name("bfe", kind),
                            &[x.into(), pos.into(), len.into()],
                            Some(expected.sum()),
                        );
                    }
                    for base in [0, all, 0x1234_5678_9abc_def0 & all] {
                        let mut expected = base;
                        for i in (0..l).filter(|i| p + i < width) {
                            expected = expected & !(1 << (p + i)) | bit(x, i) << (p + i);
                        }
                        cases.is(
                            &name("bfi", 'b'),
                            &[x.into(), base.into(), pos.into(), len.into()],
                            Some(expected.into()),
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn words_of_32_bits() {
    let cases = &mut Cases::default();
    for &x in &edges(32) {
        for &y in &edges(32) {
            for n in [0u32, 1, 8, 31, 32, 33, 63, u32::MAX] {
                for (mode, k) in [("clamp", n.min(32)), ("wrap", n & 31)] {
                    let three = [x.into(), y.into(), n.into()];
                    let (mut left, mut right) = ((x as u32, y as u32), (x as u32, y as u32));
                    for _ in 0..k {
                        left = (left.0 << 1, left.1 << 1 | left.0 >> 31);
                        right = (right.0 >> 1 | right.1 << 31, right.1 >> 1);
                    }
                    cases.is(&format!("shf.l.{mode}.b32"), &three, Some(left.1.into()));
                    cases.is(&format!("shf.r.{mode}.b32"), &three, Some(right.0.into()));
                }
            }
            for select in [
                0x3210u32,
                0x7654,
                0x0123,
                0xfedc,
                0x8888,
                0x4b1f,
                0xffff_7531,
            ] {
                let source: Vec<u8> = [(x as u32).to_le_bytes(), (y as u32).to_le_bytes()].concat();
                let pick = |i: u32| {
                    let control = select >> (4 * i) & 15;
                    let byte = source[control as usize & 7];
                    if control & 8 == 0 {
                        byte
                    } else {
                        ((byte as i8) >> 7) as u8
                    }
                };
                let expected = u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)]);
                cases.is(
                    "prmt.b32",
                    &[x.into(), y.into(), select.into()],
                    Some(expected.into()),
                );
            }
            // The table of the PTX ISA manual, from the highest byte down.
            let table: [(&str, [[u8; 4]; 4]); 6] = [
                (
                    "f4e",
                    [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]],
                ),
                (
                    "b4e",
                    [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]],
                ),
                ("rc8", [[0; 4], [1; 4], [2; 4], [3; 4]]),
                (
                    "ecl",
                    [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]],
                ),
                (
                    "ecr",
                    [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]],
                ),
                (
                    "rc16",
                    [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]],
                ),
            ];
            for (mode, rows) in table {
                for (select, row) in rows.iter().enumerate() {
                    let both = y << 32 | x;
                    let expected = row
                        .iter()
                        .fold(0, |r, &b| r << 8 | (both >> (8 * b) & 0xff));
                    cases.is(
                        &format!("prmt.b32.{mode}"),
                        &[x.into(), y.into(), select as u128 + 4],
                        Some(expected.into()),
                    );
                }
            }
            for table in [0x00, 0x80, 0xfe, 0x96, 0xe8, 0x1b, 0xff] {
                let z = 0x0f0f_3c5au64;
                let row = |i| bit(x, i) << 2 | bit(y, i) << 1 | bit(z, i);
                let expected = (0..32)
                    .map(|i| u128::from(bit(table, row(i) as u32)) << i)
                    .sum();
                cases.is(
                    "lop3.b32",
                    &[x.into(), y.into(), z.into(), table.into()],
                    Some(expected),
                );
                let with = run(
                    "lop3.or.b32",
                    &[x.into(), y.into(), z.into(), table.into(), 0],
                    None,
                )
                .unwrap();
                assert_eq!(with.second, Some(expected != 0));
            }
        }
        for n in [0u32, 1, 5, 16, 31, 32, 33, 63, 64, u32::MAX] {
            let b1 = n & 31;
            for clamp in [true, false] {
                let mode = if clamp { "clamp" } else { "wrap" };
                // As the PTX ISA manual describes both.
                for kind in ['s', 'u'] {
                    let too_large = n >= 32 && clamp;
                    let mask = if too_large { 0 } else { u32::MAX << b1 };
                    let fill = !(b1 == 0 || too_large || kind == 'u')
                        && bit(x, (b1.wrapping_sub(1)) & 31) == 1;
                    let expected = (x as u32 & !mask) | if fill { mask } else { 0 };
                    cases.is(
                        &format!("szext.{mode}.{kind}32"),
                        &[x.into(), n.into()],
                        Some(expected.into()),
                    );
                }
                let a = x as u32;
                let mask0 = if clamp && a >= 32 {
                    0
                } else {
                    u32::MAX << (a & 31)
                };
                let sum = (a & 31) + b1;
                let mask1 = if sum >= 32 || clamp && (a >= 32 || n >= 32) {
                    0
                } else if b1 == 0 {
                    u32::MAX
                } else {
                    u32::MAX << sum
                };
                // With a width of nothing the mask is empty, wherever it begins.
                let expected = if (if clamp { n } else { b1 }) == 0 {
                    0
                } else {
                    mask0 & !mask1
                };
                cases.is(
                    &format!("bmsk.{mode}.b32"),
                    &[x.into(), n.into()],
                    Some(expected.into()),
                );
            }
        }
        for base in 0..34u32 {
            for offset in [-40i32, -3, -2, -1, 0, 1, 2, 3, 31, 40, i32::MIN] {
                let set: Vec<u32> = match offset {
                    0 => (base..=base).collect(),
                    1.. => (base..32).collect(),
                    _ => (0..=base.min(31)).rev().collect(),
                };
                let nth = (offset.unsigned_abs() as usize).saturating_sub(1);
                let found = set
                    .into_iter()
                    .filter(|&i| i < 32 && bit(x, i) == 1)
                    .nth(nth);
                // The absolute value of the least offset overflows: ptxas gives 0.
                let found = match offset {
                    i32::MIN => 0,
                    _ => found.unwrap_or(u32::MAX),
                };
                let expected = (base < 32).then_some(found.into());
                cases.is(
                    "fns.b32",
                    &[x.into(), base.into(), (offset as u32).into()],
                    expected,
                );
            }
        }
    }
}

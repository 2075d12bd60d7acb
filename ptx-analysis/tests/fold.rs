//! The constant evaluator against another one: native integers and floats of Rust, and loops over bits where Rust has no
//! such operation. `PTX_FOLD_CASES=file` writes all cases, one a line: `instruction operands… = expected`.
#![allow(clippy::unwrap_used)]

use ptx_analysis::fold::{Folded, Operation, commutes, fold, fold_partial};
use ptx_isa::{Modifier, Opcode};
use std::fmt::Write;

fn run(text: &str, operands: &[u128], carry: Option<bool>) -> Option<Folded> {
    let mut words = text.split('.');
    let opcode = Opcode::from_text(words.next().unwrap().as_bytes()).unwrap();
    let modifiers: Vec<Modifier> = words
        .map(|w| Modifier::from_text(format!(".{w}").as_bytes()).unwrap())
        .collect();
    fold(&Operation {
        opcode,
        modifiers: &modifiers,
        operands,
        carry,
    })
}

/// Checks instructions and keeps what it checked.
#[derive(Default)]
struct Cases {
    text: String,
    count: u64,
}

impl Cases {
    fn is(&mut self, text: &str, operands: &[u128], expected: Option<u128>) {
        let found = run(text, operands, None).map(|f| f.value);
        let hex = |x: u128| format!("{x:#x}");
        let shown: Vec<String> = operands.iter().map(|&x| hex(x)).collect();
        assert_eq!(found.map(hex), expected.map(hex), "{text} {shown:?}");
        if let Some(value) = expected {
            writeln!(self.text, "{text} {} = {value:#x}", shown.join(" ")).unwrap();
        }
        self.count += 1;
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        use std::io::Write;
        assert!(std::thread::panicking() || self.count > 0);
        if let Some(path) = std::env::var_os("PTX_FOLD_CASES") {
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .unwrap();
            file.write_all(self.text.as_bytes()).unwrap();
        }
    }
}

/// Numbers at the edges of a width.
fn edges(bits: u32) -> Vec<u64> {
    let all = u64::MAX >> (64 - bits);
    let mut edges = vec![
        0,
        1,
        2,
        3,
        7,
        10,
        all,
        all - 1,
        all >> 1,
        (all >> 1) + 1,
        (all >> 1) - 1,
    ];
    edges.extend([
        0x5555_5555_5555_5555 & all,
        0xaaaa_aaaa_aaaa_aaaa & all,
        0x0123_4567_89ab_cdef & all,
    ]);
    edges.extend(
        [8, 15, 16, 24, 31, 32, 33, 48, 63]
            .into_iter()
            .filter(|&k| k < bits)
            .map(|k| 1u64 << k),
    );
    edges.extend(
        [8, 16, 24, 31, 33]
            .into_iter()
            .filter(|&k| k < bits)
            .map(|k| (1u64 << k) - 1),
    );
    edges.sort();
    edges.dedup();
    edges
}

macro_rules! integers {
    ($cases:ident, $($ty:ident $unsigned:ident $wide:ident $suffix:literal),*) => {$({
        let edges = edges($ty::BITS);
        let up = |x: $ty| Some(u128::from(x as $unsigned));
        for &x in &edges {
            let a = x as $ty;
            let name = |op: &str| format!("{op}.{}", $suffix);
            for &y in &edges {
                let b = y as $ty;
                let two = [x.into(), y.into()];
                $cases.is(&name("add"), &two, up(a.wrapping_add(b)));
                $cases.is(&name("sub"), &two, up(a.wrapping_sub(b)));
                $cases.is(&name("mul.lo"), &two, up(a.wrapping_mul(b)));
                $cases.is(&name("mul.hi"), &two, up(((a as $wide * b as $wide) >> $ty::BITS) as $ty));
                if $ty::BITS < 64 {
                    $cases.is(&name("mul.wide"), &two, Some((a as $wide * b as $wide) as u128 & (u128::MAX >> (128 - 2 * $ty::BITS))));
                }
                $cases.is(&name("div"), &two, a.checked_div(b).and_then(up));
                $cases.is(&name("rem"), &two, a.checked_rem(b).and_then(up));
                $cases.is(&name("min"), &two, up(if a < b { a } else { b }));
                $cases.is(&name("max"), &two, up(if a < b { b } else { a }));
                for (test, value) in [("eq", a == b), ("ne", a != b), ("lt", a < b), ("le", a <= b), ("gt", a > b), ("ge", a >= b)] {
                    $cases.is(&name(&format!("setp.{test}")), &two, Some(value.into()));
                    $cases.is(&name(&format!("set.{test}.u32")), &two, Some(if value { 0xffff_ffff } else { 0 }));
                    $cases.is(&name(&format!("set.{test}.f32")), &two, Some(if value { 1f32.to_bits().into() } else { 0 }));
                    for c in [0, 1] {
                        let three = [x.into(), y.into(), c];
                        $cases.is(&name(&format!("setp.{test}.and")), &three, Some((value & (c == 1)).into()));
                        $cases.is(&name(&format!("setp.{test}.or")), &three, Some((value | (c == 1)).into()));
                        $cases.is(&name(&format!("setp.{test}.xor")), &three, Some((value ^ (c == 1)).into()));
                    }
                }
                for z in [0, 1, edges[edges.len() / 2], *edges.last().unwrap()] {
                    let c = z as $ty;
                    let three = [x.into(), y.into(), z.into()];
                    $cases.is(&name("mad.lo"), &three, up(a.wrapping_mul(b).wrapping_add(c)));
                    $cases.is(&name("mad.hi"), &three, up((((a as $wide * b as $wide) >> $ty::BITS) as $ty).wrapping_add(c)));
                    $cases.is(&name("sad"), &three, up(c.wrapping_add(a.abs_diff(b) as $ty)));
                    $cases.is(&name("selp"), &three, up(if z & 1 == 1 { a } else { b }));
                    $cases.is(&format!("slct.{}.s32", $suffix), &three, up(if z as u32 as i32 >= 0 { a } else { b }));
                }
            }
            for n in [0u32, 1, 5, 15, 16, 31, 32, 33, 63, 64, 65, 255, 256, u32::MAX] {
                let expected = match a.checked_shr(n) {
                    Some(shifted) => shifted,
                    None => a >> ($ty::BITS - 1) >> 1u32.min($ty::BITS - 1),
                };
                let expected = if n >= $ty::BITS && $ty::MIN == 0 { 0 } else { expected };
                $cases.is(&name("shr"), &[x.into(), n.into()], up(expected));
            }
        }
    })*};
}

#[test]
fn integer_arithmetic() {
    let cases = &mut Cases::default();
    integers!(cases, u16 u16 u32 "u16", u32 u32 u64 "u32", u64 u64 u128 "u64", i16 u16 i32 "s16", i32 u32 i64 "s32", i64 u64 i128 "s64");
    for &x in &edges(32) {
        let one = [x.into()];
        let s = x as u32 as i32;
        cases.is("neg.s32", &one, Some((s.wrapping_neg() as u32).into()));
        cases.is("abs.s32", &one, s.checked_abs().map(|v| (v as u32).into()));
        for &y in &edges(32) {
            let t = y as u32 as i32;
            let two = [x.into(), y.into()];
            cases.is(
                "add.sat.s32",
                &two,
                Some((s.saturating_add(t) as u32).into()),
            );
            cases.is(
                "sub.sat.s32",
                &two,
                Some((s.saturating_sub(t) as u32).into()),
            );
            let low = |v: u64| {
                if v & 0x80_0000 != 0 {
                    (v | !0xff_ffff) as i64
                } else {
                    (v & 0xff_ffff) as i64
                }
            };
            let (signed, unsigned) = (low(x) * low(y), (x & 0xff_ffff) * (y & 0xff_ffff));
            cases.is("mul24.lo.s32", &two, Some((signed as u32).into()));
            cases.is("mul24.hi.s32", &two, Some(((signed >> 16) as u32).into()));
            cases.is("mul24.lo.u32", &two, Some((unsigned as u32).into()));
            cases.is("mul24.hi.u32", &two, Some(((unsigned >> 16) as u32).into()));
            for z in [0u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                let three = [x.into(), y.into(), z.into()];
                let hi = ((s as i64 * t as i64) >> 32) as i32;
                cases.is(
                    "mad.hi.sat.s32",
                    &three,
                    Some((hi.saturating_add(z as i32) as u32).into()),
                );
                cases.is(
                    "mad24.hi.sat.s32",
                    &three,
                    Some((((signed >> 16) as i32).saturating_add(z as i32) as u32).into()),
                );
                cases.is(
                    "mad24.lo.u32",
                    &three,
                    Some((unsigned as u32).wrapping_add(z).into()),
                );
                let (a, b) = ((x as u32).to_le_bytes(), (y as u32).to_le_bytes());
                let mut sums = [z; 3];
                for i in 0..4 {
                    sums[0] = sums[0].wrapping_add(u32::from(a[i]) * u32::from(b[i]));
                    sums[1] =
                        sums[1].wrapping_add((i32::from(a[i] as i8) * i32::from(b[i])) as u32);
                    sums[2] = sums[2]
                        .wrapping_add((i32::from(a[i] as i8) * i32::from(b[i] as i8)) as u32);
                }
                cases.is("dp4a.u32.u32", &three, Some(sums[0].into()));
                cases.is("dp4a.s32.u32", &three, Some(sums[1].into()));
                cases.is("dp4a.s32.s32", &three, Some(sums[2].into()));
                let halves = [x as u16 as i16, (x >> 16) as u16 as i16];
                for (mode, from) in [("lo", 0), ("hi", 2)] {
                    let sum = (0..2).fold(z, |sum, i| {
                        sum.wrapping_add(
                            (i32::from(halves[i]) * i32::from(b[from + i] as i8)) as u32,
                        )
                    });
                    cases.is(&format!("dp2a.{mode}.s32.s32"), &three, Some(sum.into()));
                }
            }
        }
    }
}

#[test]
fn carries() {
    for &x in &edges(32) {
        for &y in &edges(32) {
            for carry in [false, true] {
                let check = |text: &str, operands: &[u128], (value, out): (u32, bool)| {
                    let found = run(text, operands, Some(carry)).unwrap();
                    assert_eq!(
                        (found.value, found.carry),
                        (value.into(), Some(out)),
                        "{text} {operands:x?} {carry}"
                    );
                    let silent = run(&text.replace(".cc", ""), operands, Some(carry));
                    if text.starts_with("addc")
                        || text.starts_with("subc")
                        || text.starts_with("madc")
                    {
                        assert_eq!(
                            silent.map(|f| (f.value, f.carry)),
                            Some((value.into(), None))
                        );
                        assert_eq!(run(text, operands, None), None);
                    }
                };
                let (a, b) = (x as u32, y as u32);
                let two = [x.into(), y.into()];
                check("add.cc.u32", &two, a.overflowing_add(b));
                check("sub.cc.s32", &two, a.overflowing_sub(b));
                let (sum, over) = a.overflowing_add(b);
                let (sum, more) = sum.overflowing_add(carry.into());
                check("addc.cc.u32", &two, (sum, over | more));
                let (rest, under) = a.overflowing_sub(b);
                let (rest, more) = rest.overflowing_sub(carry.into());
                check("subc.cc.u32", &two, (rest, under | more));
                let low = a.wrapping_mul(b);
                let (sum, over) = low.overflowing_add(a);
                check(
                    "mad.lo.cc.u32",
                    &[x.into(), y.into(), x.into()],
                    (sum, over),
                );
                let high = ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32;
                let (sum, over) = high.overflowing_add(b);
                let (sum, more) = sum.overflowing_add(carry.into());
                check(
                    "madc.hi.cc.s32",
                    &[x.into(), y.into(), y.into()],
                    (sum, over | more),
                );
            }
        }
    }
}

fn bit(x: u64, i: u32) -> u64 {
    x >> i & 1
}

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
                    let (p, l) = (pos & 0xff, len & 0xff);
                    for kind in ['u', 's'] {
                        // As the manual has it, bit by bit.
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
            // The table of the manual, from the highest byte down.
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
                // The manual's words for both.
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
                let expected = (base < 32).then_some(found.unwrap_or(u32::MAX).into());
                cases.is(
                    "fns.b32",
                    &[x.into(), base.into(), (offset as u32).into()],
                    expected,
                );
            }
        }
    }
}

#[test]
fn what_is_open_or_unknown_is_refused() {
    for (text, operands) in [
        ("div.s32", vec![0x8000_0000, 0xffff_ffff]),
        ("rem.u64", vec![5, 0]),
        ("add.f32", vec![0x7fc0_0000, 0]),
        ("sqrt.approx.f32", vec![0x3f80_0000]),
        ("div.full.f32", vec![0x3f80_0000, 0x3f80_0000]),
        ("add.sat.u64", vec![1, 1]),
        ("add.s32", vec![1]),
        ("setp.lo.s32", vec![1, 1]),
        ("cvt.rzi.s32.f32", vec![0x7fc0_0000]),
        ("ld.u32", vec![1]),
    ] {
        assert_eq!(run(text, &operands, None), None, "{text}");
    }
    // Rounded up to the least normal number: open whether `.ftz` makes it zero.
    assert_eq!(run("mul.ftz.f32", &[0x00ff_ffff, 0x3f00_0000], None), None);
}

/// Zeros, subnormals, the edges of the normal numbers, halfway cases, infinities, a NaN; each also negative.
fn floats() -> Vec<f64> {
    let mut values = vec![
        0.0,
        1.0,
        1.5,
        2.0,
        3.0,
        10.0,
        0.1,
        1.0 / 3.0,
        0.5,
        2.5,
        3.5,
        255.5,
        65504.0,
        65520.0,
        1e10,
        1e30,
    ];
    values.extend([
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::from_bits(1),
        f64::from_bits(0xf_ffff_ffff_ffff),
        1.0 + f64::EPSILON,
    ]);
    values.extend([
        1.0 - f64::EPSILON / 2.0,
        9007199254740993.0,
        4503599627370497.5,
        2147483647.5,
        4294967295.5,
        9.3e18,
        1.9e19,
    ]);
    let single = [
        1u32,
        0x7f_ffff,
        0x80_0000,
        0x7f7f_ffff,
        0x3f80_0001,
        0x3f7f_ffff,
        0x4b80_0001,
        0x3380_0000,
        0x3300_0000,
    ];
    values.extend(single.map(|b| f64::from(f32::from_bits(b))));
    values.extend([
        1.0 + 2f64.powi(-24),
        1.0 + 3.0 * 2f64.powi(-24),
        1.0 + 2f64.powi(-11),
        1.0 + 2f64.powi(-8),
        2f64.powi(-25),
    ]);
    values.extend([
        f64::INFINITY,
        f64::NAN,
        2f64.powi(-24),
        2f64.powi(-149),
        2f64.powi(-150),
        3e-8,
        6e-8,
        1e-40,
    ]);
    let negative: Vec<f64> = values.iter().map(|v| -v).collect();
    values.extend(negative);
    values
}

macro_rules! float_arithmetic {
    ($name:ident, $ty:ident, $suffix:literal, $tiny:expr) => {
        #[test]
        fn $name() {
            let cases = &mut Cases::default();
            let edges: Vec<$ty> = floats().into_iter().map(|v| v as $ty).collect();
            let raw = |v: $ty| u128::from(v.to_bits());
            let bits = |v: $ty| (!v.is_nan()).then(|| raw(v));
            // From the nearest value and the sign of what is missing to the directed ones.
            let directed = |nearest: $ty, missing: $ty| {
                let (down, up) = match missing.partial_cmp(&0.0).unwrap() {
                    std::cmp::Ordering::Less => (nearest.next_down(), nearest),
                    std::cmp::Ordering::Equal => (nearest, nearest),
                    std::cmp::Ordering::Greater => (nearest, nearest.next_up()),
                };
                [
                    ("rm", down),
                    ("rp", up),
                    ("rz", if nearest < 0.0 { up } else { down }),
                ]
            };
            let usual = |v: $ty| v.is_finite() && v.abs() > $tiny && v.abs() < 1.0 / $tiny;
            for &a in &edges {
                let one = [raw(a)];
                cases.is(concat!("neg.", $suffix), &one, bits(-a));
                cases.is(concat!("abs.", $suffix), &one, bits(a.abs()));
                cases.is(concat!("sqrt.rn.", $suffix), &one, bits(a.sqrt()));
                cases.is(concat!("rcp.rn.", $suffix), &one, bits(1.0 / a));
                if usual(a) && a > 0.0 {
                    let root = a.sqrt();
                    for (rounding, value) in directed(root, (-root).mul_add(root, a)) {
                        cases.is(&format!("sqrt.{rounding}.{}", $suffix), &one, bits(value));
                    }
                }
                let tests = [
                    ("finite", a.is_finite()),
                    ("infinite", a.is_infinite()),
                    ("number", !a.is_nan()),
                    ("notanumber", a.is_nan()),
                    ("normal", a.is_normal() || a == 0.0),
                    ("subnormal", a.is_subnormal()),
                ];
                for (test, value) in tests {
                    cases.is(
                        &format!("testp.{test}.{}", $suffix),
                        &one,
                        Some(value.into()),
                    );
                }
                for &b in &edges {
                    let two = [raw(a), raw(b)];
                    cases.is(concat!("add.", $suffix), &two, bits(a + b));
                    cases.is(concat!("sub.rn.", $suffix), &two, bits(a - b));
                    cases.is(concat!("mul.rn.", $suffix), &two, bits(a * b));
                    cases.is(concat!("div.rn.", $suffix), &two, bits(a / b));
                    cases.is(concat!("copysign.", $suffix), &two, bits(b.copysign(a)));
                    let least = if a == b {
                        if a.is_sign_negative() { a } else { b }
                    } else {
                        a.min(b)
                    };
                    let most = if a == b {
                        if a.is_sign_negative() { b } else { a }
                    } else {
                        a.max(b)
                    };
                    cases.is(concat!("min.", $suffix), &two, bits(least));
                    cases.is(concat!("max.", $suffix), &two, bits(most));
                    for &c in edges.iter().step_by(5) {
                        cases.is(
                            concat!("fma.rn.", $suffix),
                            &[raw(a), raw(b), raw(c)],
                            bits(a.mul_add(b, c)),
                        );
                    }
                    let unordered = a.is_nan() || b.is_nan();
                    for (test, value) in [
                        ("eq", a == b),
                        ("lt", a < b),
                        ("le", a <= b),
                        ("gt", a > b),
                        ("ge", a >= b),
                    ] {
                        cases.is(
                            &format!("setp.{test}.{}", $suffix),
                            &two,
                            Some(value.into()),
                        );
                        cases.is(
                            &format!("setp.{test}u.{}", $suffix),
                            &two,
                            Some((value || unordered).into()),
                        );
                    }
                    cases.is(
                        concat!("setp.ne.", $suffix),
                        &two,
                        Some((a != b && !unordered).into()),
                    );
                    cases.is(concat!("setp.neu.", $suffix), &two, Some((a != b).into()));
                    cases.is(
                        concat!("setp.num.", $suffix),
                        &two,
                        Some((!unordered).into()),
                    );
                    cases.is(concat!("setp.nan.", $suffix), &two, Some(unordered.into()));
                    let sum = a + b;
                    if usual(sum) && usual(a) && usual(b) {
                        // What a sum in floating point leaves out, exactly (Knuth).
                        let part = sum - a;
                        let missing = (a - (sum - part)) + (b - part);
                        for (rounding, value) in directed(sum, missing) {
                            cases.is(&format!("add.{rounding}.{}", $suffix), &two, bits(value));
                        }
                    }
                    let product = a * b;
                    if usual(product) {
                        for (rounding, value) in directed(product, a.mul_add(b, -product)) {
                            cases.is(&format!("mul.{rounding}.{}", $suffix), &two, bits(value));
                        }
                    }
                    let quotient = a / b;
                    if usual(quotient) && usual(a) && usual(b) {
                        let rest = (-quotient).mul_add(b, a) * b.signum();
                        for (rounding, value) in directed(quotient, rest) {
                            cases.is(&format!("div.{rounding}.{}", $suffix), &two, bits(value));
                        }
                    }
                }
            }
        }
    };
}

float_arithmetic!(single, f32, "f32", 1e-20);
float_arithmetic!(double, f64, "f64", 1e-200);

#[test]
fn flushing_and_saturation() {
    let cases = &mut Cases::default();
    let flush = |v: f32| {
        if v.is_subnormal() {
            0f32.copysign(v)
        } else {
            v
        }
    };
    for a in floats().into_iter().map(|v| v as f32) {
        for b in floats().into_iter().map(|v| v as f32) {
            let two = [a.to_bits().into(), b.to_bits().into()];
            let bits = |v: f32| (!v.is_nan()).then(|| u128::from(v.to_bits()));
            cases.is("add.ftz.f32", &two, bits(flush(flush(a) + flush(b))));
            cases.is("setp.lt.ftz.f32", &two, Some((flush(a) < flush(b)).into()));
            let product = flush(a) * flush(b);
            // Decided before rounding or after: the same but for the least normal number.
            if product.abs() != f32::MIN_POSITIVE {
                cases.is("mul.rn.ftz.f32", &two, bits(flush(product)));
            }
            let sum = a + b;
            if sum != 0.0 {
                cases.is("add.sat.f32", &two, bits(sum.clamp(0.0, 1.0)));
            }
        }
    }
}

#[test]
fn float_to_integer_and_back() {
    let cases = &mut Cases::default();
    for a in floats() {
        let single = a as f32;
        type Round = fn(f64) -> f64;
        let roundings: [(&str, Round); 4] = [
            ("rni", f64::round_ties_even),
            ("rzi", f64::trunc),
            ("rmi", f64::floor),
            ("rpi", f64::ceil),
        ];
        for (name, round) in roundings {
            for (suffix, raw, value) in [
                ("f64", u128::from(a.to_bits()), a),
                ("f32", single.to_bits().into(), single.into()),
            ] {
                let one = [raw];
                let whole = round(value);
                let number = |v: u128| (!value.is_nan()).then_some(v);
                cases.is(
                    &format!("cvt.{name}.s8.{suffix}"),
                    &one,
                    number((whole as i8 as u8).into()),
                );
                cases.is(
                    &format!("cvt.{name}.u8.{suffix}"),
                    &one,
                    number((whole as u8).into()),
                );
                cases.is(
                    &format!("cvt.{name}.s16.{suffix}"),
                    &one,
                    number((whole as i16 as u16).into()),
                );
                cases.is(
                    &format!("cvt.{name}.s32.{suffix}"),
                    &one,
                    number((whole as i32 as u32).into()),
                );
                cases.is(
                    &format!("cvt.{name}.u32.{suffix}"),
                    &one,
                    number((whole as u32).into()),
                );
                cases.is(
                    &format!("cvt.{name}.s64.{suffix}"),
                    &one,
                    number((whole as i64 as u64).into()),
                );
                cases.is(
                    &format!("cvt.{name}.u64.{suffix}"),
                    &one,
                    number((whole as u64).into()),
                );
                let same = if suffix == "f64" {
                    u128::from(whole.to_bits())
                } else {
                    (whole as f32).to_bits().into()
                };
                cases.is(&format!("cvt.{name}.{suffix}.{suffix}"), &one, number(same));
            }
        }
        let number = |v: u128| (!a.is_nan()).then_some(v);
        cases.is(
            "cvt.f64.f32",
            &[single.to_bits().into()],
            number(f64::from(single).to_bits().into()),
        );
        cases.is(
            "cvt.rn.f32.f64",
            &[a.to_bits().into()],
            number(single.to_bits().into()),
        );
        if a.is_finite() && single.is_finite() {
            let down = if f64::from(single) > a {
                single.next_down()
            } else {
                single
            };
            let up = if f64::from(single) < a {
                single.next_up()
            } else {
                single
            };
            // A zero keeps the sign of what was rounded to it.
            let signed = |v: f32| {
                number(
                    if v == 0.0 { 0f32.copysign(a as f32) } else { v }
                        .to_bits()
                        .into(),
                )
            };
            cases.is("cvt.rm.f32.f64", &[a.to_bits().into()], signed(down));
            cases.is("cvt.rp.f32.f64", &[a.to_bits().into()], signed(up));
            cases.is(
                "cvt.rz.f32.f64",
                &[a.to_bits().into()],
                signed(if a < 0.0 { up } else { down }),
            );
        }
    }
    for x in edges(64) {
        let one = [x.into()];
        cases.is("cvt.rn.f32.u64", &one, Some((x as f32).to_bits().into()));
        cases.is(
            "cvt.rn.f32.s64",
            &one,
            Some((x as i64 as f32).to_bits().into()),
        );
        cases.is("cvt.rn.f64.u64", &one, Some((x as f64).to_bits().into()));
        cases.is(
            "cvt.rn.f64.s64",
            &one,
            Some((x as i64 as f64).to_bits().into()),
        );
        cases.is(
            "cvt.rn.f32.s32",
            &one,
            Some((x as i32 as f32).to_bits().into()),
        );
        cases.is(
            "cvt.rn.f32.u8",
            &one,
            Some((x as u8 as f32).to_bits().into()),
        );
    }
}

#[test]
fn integer_to_integer() {
    let cases = &mut Cases::default();
    for x in edges(64) {
        let one = [x.into()];
        macro_rules! to {
            ($from:ident $source:literal, $($ty:ident $unsigned:ident $suffix:literal),*) => {$({
                let a = x as $from;
                cases.is(&format!("cvt.{}.{}", $suffix, $source), &one, Some((a as $ty as $unsigned).into()));
                let clamped = (a as i128).clamp($ty::MIN as i128, $ty::MAX as i128) as $ty;
                // `.sat` is only legal where it can matter.
                if ($from::MIN as i128) < $ty::MIN as i128 || ($from::MAX as i128) > $ty::MAX as i128 {
                    cases.is(&format!("cvt.sat.{}.{}", $suffix, $source), &one, Some((clamped as $unsigned).into()));
                }
            })*};
        }
        macro_rules! from {
            ($($from:ident $source:literal),*) => {$(
                to!($from $source, u8 u8 "u8", u16 u16 "u16", u32 u32 "u32", u64 u64 "u64", i8 u8 "s8", i16 u16 "s16", i32 u32 "s32", i64 u64 "s64");
            )*};
        }
        from!(u8 "u8", u16 "u16", u32 "u32", u64 "u64", i8 "s8", i16 "s16", i32 "s32", i64 "s64");
    }
}

/// Short formats: all values by the formula, ascending; rounding by search among them.
#[test]
fn short_formats() {
    let cases = &mut Cases::default();
    for (suffix, exponent, fraction) in [("f16", 5, 10), ("bf16", 8, 7)] {
        let bias = (1 << (exponent - 1)) - 1;
        let value = |bits: u32| {
            let (e, m) = (
                (bits >> fraction) as i32,
                f64::from(bits & ((1 << fraction) - 1)),
            );
            let unit = 2f64.powi(e.max(1) - bias - fraction);
            (m + if e > 0 { f64::from(1 << fraction) } else { 0.0 }) * unit
        };
        // The number behind the greatest stands for infinity when rounding to nearest.
        let infinity = ((1u32 << exponent) - 1) << fraction;
        let values: Vec<f64> = (0..=infinity).map(value).collect();
        for bits in (0..=0xffffu32).filter(|b| suffix == "f16" || b % 7 == 0) {
            let magnitude = bits & 0x7fff;
            let wide = if magnitude == infinity {
                f64::INFINITY
            } else {
                value(magnitude)
            } as f32;
            let wide = if bits & 0x8000 != 0 { -wide } else { wide };
            cases.is(
                &format!("cvt.f32.{suffix}"),
                &[bits.into()],
                (magnitude <= infinity).then_some(wide.to_bits().into()),
            );
        }
        let mut singles: Vec<f32> = floats()
            .into_iter()
            .map(|v| v as f32)
            .filter(|v| !v.is_nan())
            .collect();
        for bits in (1..infinity).step_by(61) {
            let half = ((values[bits as usize - 1] + values[bits as usize]) / 2.0) as f32;
            singles.extend([half, half.next_up(), half.next_down(), -half]);
        }
        for a in singles {
            let (size, sign) = (
                f64::from(a.abs()),
                if a.is_sign_negative() { 0x8000 } else { 0 },
            );
            let above = values.partition_point(|&v| v < size);
            let (below, above) = match above {
                _ if above < values.len() && values[above] == size => (above, above),
                _ => (above - 1, above.min(infinity as usize)),
            };
            let (down, up) = (size - values[below], values[above] - size);
            let nearest = match down.partial_cmp(&up) {
                _ if size > values[infinity as usize] => infinity as usize,
                Some(std::cmp::Ordering::Less) => below,
                Some(std::cmp::Ordering::Greater) => above,
                _ => below + below % 2 * (above - below),
            };
            // Towards zero no finite number becomes infinite.
            let zero = if a.is_finite() {
                below.min(infinity as usize - 1)
            } else {
                infinity as usize
            };
            let one = [a.to_bits().into()];
            cases.is(
                &format!("cvt.rn.{suffix}.f32"),
                &one,
                Some(nearest as u128 | sign),
            );
            cases.is(
                &format!("cvt.rz.{suffix}.f32"),
                &one,
                Some(zero as u128 | sign),
            );
        }
    }
    for a in [0x3c00u128, 0x0001, 0x7bff, 0xbc00, 0x3555] {
        for b in [0x3c00u128, 0x0001, 0x7bff, 0x3555] {
            // Products and sums of half precision are exact in double precision: rounding once is enough.
            let double = |x: u128| run("cvt.f64.f16", &[x], None).unwrap().value as u64;
            let back = |v: f64| {
                run("cvt.rn.f16.f64", &[v.to_bits().into()], None)
                    .unwrap()
                    .value
            };
            let (x, y) = (f64::from_bits(double(a)), f64::from_bits(double(b)));
            cases.is("mul.f16", &[a, b], Some(back(x * y)));
            cases.is(
                "add.f16x2",
                &[a << 16 | b, b << 16 | a],
                Some(back(x + y) << 16 | back(x + y)),
            );
        }
    }
}

#[test]
fn packed_integers() {
    let cases = &mut Cases::default();
    for &x in &edges(32) {
        for &y in &edges(32) {
            let two = [x.into(), y.into()];
            let halves = |v: u64| [v as u16, (v >> 16) as u16];
            let each = |f: fn(u16, u16) -> u16| {
                let (a, b) = (halves(x), halves(y));
                Some(u128::from(f(a[0], b[0])) | u128::from(f(a[1], b[1])) << 16)
            };
            cases.is("add.u16x2", &two, each(u16::wrapping_add));
            cases.is("sub.s16x2", &two, each(u16::wrapping_sub));
            cases.is("add.sat.u16x2", &two, each(u16::saturating_add));
            cases.is(
                "add.sat.s16x2",
                &two,
                each(|a, b| (a as i16).saturating_add(b as i16) as u16),
            );
            cases.is("min.u16x2", &two, each(u16::min));
            cases.is(
                "max.s16x2",
                &two,
                each(|a, b| (a as i16).max(b as i16) as u16),
            );
            cases.is(
                "min.relu.s16x2",
                &two,
                each(|a, b| (a as i16).min(b as i16).max(0) as u16),
            );
            let bytes = (x as u32)
                .to_le_bytes()
                .into_iter()
                .zip((y as u32).to_le_bytes());
            let sums: Vec<u8> = bytes.map(|(a, b)| a.wrapping_add(b)).collect();
            cases.is(
                "add.u8x4",
                &two,
                Some(u32::from_le_bytes(sums.try_into().unwrap()).into()),
            );
        }
    }
}

#[test]
fn packing() {
    let cases = &mut Cases::default();
    for &x in &edges(32) {
        for &y in &edges(32) {
            for (suffix, bits, signed) in [
                ("u2", 2, false),
                ("s2", 2, true),
                ("u4", 4, false),
                ("s4", 4, true),
                ("u8", 8, false),
                ("s8", 8, true),
                ("u16", 16, false),
                ("s16", 16, true),
            ] {
                let (least, most) = if signed {
                    (-(1i64 << (bits - 1)), (1 << (bits - 1)) - 1)
                } else {
                    (0, (1 << bits) - 1)
                };
                let part = |v: u64| {
                    let v = i64::from(v as u32 as i32);
                    let v = if v < least {
                        least
                    } else if v > most {
                        most
                    } else {
                        v
                    };
                    (0..bits).map(|i| bit(v as u64, i) << i).sum::<u64>()
                };
                let both = part(x) << bits | part(y);
                if bits == 16 {
                    cases.is(
                        &format!("cvt.pack.sat.{suffix}.s32"),
                        &[x.into(), y.into()],
                        Some(both.into()),
                    );
                } else {
                    let c = 0xdead_beefu64;
                    let expected = (0..32)
                        .map(|i| {
                            if i < 2 * bits {
                                bit(both, i) << i
                            } else {
                                bit(c, i - 2 * bits) << i
                            }
                        })
                        .sum::<u64>();
                    cases.is(
                        &format!("cvt.pack.sat.{suffix}.s32.b32"),
                        &[x.into(), y.into(), c.into()],
                        Some(expected.into()),
                    );
                }
            }
        }
    }
}

#[test]
fn selection_by_sign_and_lanes_of_floats() {
    let cases = &mut Cases::default();
    for c in floats().into_iter().map(|v| v as f32) {
        let operands = [7, 9, c.to_bits().into()];
        cases.is(
            "slct.u32.f32",
            &operands,
            Some(if c >= 0.0 { 7 } else { 9 }),
        );
        let flushed = if c.is_subnormal() { 0.0 } else { c };
        cases.is(
            "slct.ftz.u32.f32",
            &operands,
            Some(if flushed >= 0.0 { 7 } else { 9 }),
        );
        for d in floats().into_iter().map(|v| v as f32) {
            let wide =
                |low: f32, high: f32| u128::from(high.to_bits()) << 32 | u128::from(low.to_bits());
            let (sum, difference) = (c + d, d - c);
            let expected = (!sum.is_nan() && !difference.is_nan() && !(d + -c).is_nan())
                .then(|| wide(sum, difference));
            cases.is("add.rn.f32x2", &[wide(c, d), wide(d, -c)], expected);
            let half = |v: f32| run("cvt.rn.f16.f32", &[v.to_bits().into()], None).map(|f| f.value);
            if let (Some(x), Some(y)) = (half(c), half(d)) {
                let single = |bits: u128| {
                    f32::from_bits(run("cvt.f32.f16", &[bits], None).unwrap().value as u32)
                };
                cases.is("setp.lt.f16", &[x, y], Some((single(x) < single(y)).into()));
                if single(x) != single(y) {
                    cases.is(
                        "max.f16",
                        &[x, y],
                        Some(if single(x) < single(y) { y } else { x }),
                    );
                }
            }
        }
    }
}

/// Whatever is asked, there is an answer or none: no panic.
#[test]
fn nonsense_is_answered() {
    let words: Vec<Modifier> = Modifier::ALL
        .iter()
        .copied()
        .filter(|m| !m.text().starts_with(".m") || m.text() == ".max")
        .collect();
    let likely: Vec<Modifier> = ptx_isa::ScalarType::ALL
        .iter()
        .map(|t| t.modifier())
        .collect();
    let mut state = 1u64;
    let mut next = |n: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let values = [
        0,
        1,
        u128::MAX,
        1 << 127,
        0x7f80_0000,
        0x7ff0_0000_0000_0000,
        0xffff_ffff,
        33,
        64,
        200,
    ];
    let mut answered = 0;
    for &opcode in Opcode::ALL {
        // The words that some form takes, and some that none does.
        let mut fitting: Vec<Modifier> = opcode
            .instructions()
            .iter()
            .flat_map(|i| i.words())
            .copied()
            .collect();
        fitting.extend([
            Modifier::Sat,
            Modifier::Ftz,
            Modifier::Rn,
            Modifier::Rzi,
            Modifier::Lo,
            Modifier::Eq,
            Modifier::Clamp,
        ]);
        for _ in 0..3000 {
            let modifiers: Vec<Modifier> = (0..next(4))
                .map(|_| match next(6) {
                    0 => words[next(words.len())],
                    1 | 2 => fitting[next(fitting.len())],
                    _ => likely[next(likely.len())],
                })
                .collect();
            let operands: Vec<u128> = (0..next(6)).map(|_| values[next(values.len())]).collect();
            let carry = [None, Some(false), Some(true)][next(3)];
            answered += u32::from(
                fold(&Operation {
                    opcode,
                    modifiers: &modifiers,
                    operands: &operands,
                    carry,
                })
                .is_some(),
            );
        }
    }
    assert!(answered > 100, "{answered}");
}

fn parts(text: &str) -> (Opcode, Vec<Modifier>) {
    let mut words = text.split('.');
    let opcode = Opcode::from_text(words.next().unwrap().as_bytes()).unwrap();
    let modifier = |w: &str| Modifier::from_text(format!(".{w}").as_bytes()).unwrap();
    (opcode, words.map(modifier).collect())
}

#[test]
fn moves() {
    let cases = &mut Cases::default();
    for &x in &edges(64) {
        let low = u128::from(x as u32);
        cases.is("mov.u64", &[x.into()], Some(x.into()));
        cases.is("mov.b32", &[x.into()], Some(low));
        cases.is("mov.pred", &[(x & 1).into()], Some((x & 1).into()));
        cases.is("mov.b64", &[x.into(), 5], Some(low | 5 << 32));
        cases.is("mov.b32", &[x.into(), 5], Some(low & 0xffff | 5 << 16));
        cases.is(
            "mov.b32",
            &[1, 2, 3, x.into()],
            Some(0x30201 | (low & 0xff) << 24),
        );
        cases.is("mov.b128", &[x.into(), 5], Some(u128::from(x) | 5 << 64));
    }
}

/// What is said to commute does, and of the others some pair of operands shows that it does not.
#[test]
fn operands_that_change_places() {
    for text in [
        "add.u32",
        "add.cc.u32",
        "addc.u32",
        "addc.cc.s32",
        "sub.u32",
        "sub.cc.u32",
        "mul.lo.s32",
        "mul.hi.u32",
        "mul.wide.s16",
        "mad.lo.u32",
        "mad.hi.cc.u32",
        "madc.lo.u32",
        "mul24.hi.s32",
        "mad24.lo.u32",
        "sad.u32",
        "min.s32",
        "max.u64",
        "and.b32",
        "or.b64",
        "xor.b16",
        "shl.b32",
        "shr.s32",
        "div.u32",
        "rem.u32",
        "setp.eq.u32",
        "setp.ne.s32",
        "setp.lt.u32",
        "set.eq.u32.u32",
        "set.ge.u32.s32",
        "bfe.u32",
        "prmt.b32",
        "dp4a.u32.s32",
        "bmsk.clamp.b32",
    ] {
        let (opcode, modifiers) = parts(text);
        let mut same = true;
        let mut seen = false;
        for &a in &edges(32) {
            for &b in &edges(32) {
                for third in [None, Some(0u128), Some(9)] {
                    let mut both = [vec![a.into(), b.into()], vec![b.into(), a.into()]];
                    both.iter_mut().for_each(|o| o.extend(third));
                    let [x, y] = both.map(|o| run(text, &o, Some(true)));
                    seen |= x.is_some();
                    same &= x == y;
                }
            }
        }
        assert!(seen, "{text}");
        assert_eq!(commutes(opcode, &modifiers), same, "{text}");
    }
}

/// Whatever the unknown operand is, the result is the one that was given without it.
#[test]
fn operands_that_do_not_matter() {
    let mut settled = 0;
    for (text, count) in [
        ("and.b32", 2),
        ("mul.lo.u32", 2),
        ("mul.wide.s32", 2),
        ("mul.rn.f32", 2),
        ("or.b32", 2),
        ("selp.b32", 3),
        ("and.pred", 2),
        ("add.u32", 2),
        ("shl.b32", 2),
    ] {
        let (opcode, modifiers) = parts(text);
        let some: [u128; 5] = [0, 1, 2, 0x7fff_ffff, 0xffff_ffff];
        for hidden in 0..count {
            for &a in &some {
                for &b in &some {
                    let mut operands: Vec<Option<u128>> =
                        [a, b, a & 1][..count].iter().map(|&x| Some(x)).collect();
                    operands[hidden] = None;
                    let Some(found) = fold_partial(opcode, &modifiers, &operands, None) else {
                        continue;
                    };
                    settled += 1;
                    for &x in &some {
                        let all: Vec<u128> = operands.iter().map(|o| o.unwrap_or(x)).collect();
                        assert_eq!(
                            run(text, &all, None).map(|f| f.value),
                            Some(found.value),
                            "{text} {operands:?} {x}"
                        );
                    }
                }
            }
        }
    }
    assert!(settled > 60, "{settled}");
}

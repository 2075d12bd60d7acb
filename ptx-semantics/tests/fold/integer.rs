//! Integer arithmetic and carries.

use crate::common::{Cases, edges, run};

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
                    $cases.is(&name("selp"), &three, up(if z == 0 { b } else { a }));
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
        // The least number has no counterpart: ptxas computes the number itself.
        cases.is("abs.s32", &one, Some((s.wrapping_abs() as u32).into()));
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
                // After a subtraction the flag tells that there was no borrow.
                let (rest, under) = a.overflowing_sub(b);
                check("sub.cc.s32", &two, (rest, !under));
                let (sum, over) = a.overflowing_add(b);
                let (sum, more) = sum.overflowing_add(carry.into());
                check("addc.cc.u32", &two, (sum, over | more));
                let (rest, more) = rest.overflowing_sub((!carry).into());
                check("subc.cc.u32", &two, (rest, !(under | more)));
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

#[test]
fn constants_other_than_zero_are_true() {
    let set = |predicate| run("set.eq.and.u32.u32", &[7, 7, predicate], None).map(|f| f.value);
    assert_eq!(set(0), Some(0));
    assert_eq!(set(1), Some(0xffff_ffff));
    assert_eq!(set(16), Some(0xffff_ffff));
}

/// With 64-bit types all bits of position and length count, otherwise the low 8.
#[test]
fn positions_and_lengths_above_255() {
    let cases = &mut Cases::default();
    let minus = u128::from(u64::MAX);
    cases.is("bfe.u32", &[0xff, 0x100, 0x104], Some(0xf));
    cases.is("bfe.u64", &[0xff, 0x100, 4], Some(0));
    cases.is("bfe.u64", &[0xff, 4, 0x8000_0000], Some(0xf));
    cases.is("bfe.s64", &[1 << 63, 0x8000_0000, 1], Some(minus));
    cases.is("bfi.b32", &[1, 0, 0x104, 0x101], Some(0x10));
    cases.is("bfi.b64", &[1, 0, 0x104, 1], Some(0));
    cases.is("bfi.b64", &[minus, 0, 4, 0x100], Some(minus - 0xf));
}

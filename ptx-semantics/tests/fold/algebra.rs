//! Copies, operands that change places or do not matter.

use crate::common::{Cases, edges, parts, run};
use ptx_semantics::internals::{commutes, fold_partial};

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

/// Operations listed as commutative commute; for each of the others some pair of operands shows that it does not.
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

/// What the elements of a vector get from a scalar differs between versions of ptxas.
#[test]
fn scalars_in_vectors_are_undefined() {
    let mut cases = Cases::default();
    cases.is("mov.v2.u32", &[0x8765_4321], None);
    cases.is("mov.v4.b32", &[0x8765_4321], None);
}

/// Forms of PTX ISA 9.4 on packed numbers of two types, and comparisons of packed integers.
#[test]
fn packed_forms() {
    let mut cases = Cases::default();
    let f32x2 = |high: f32, low: f32| u128::from(high.to_bits()) << 32 | u128::from(low.to_bits());
    // 1.5 and -2 in half precision.
    let (half, c) = (0x3e00_c000, f32x2(0.25, 8.0));
    cases.is("add.f32x2.f16x2.f32x2", &[half, c], Some(f32x2(1.75, 6.0)));
    cases.is(
        "sub.f32x2.f16x2.f32x2",
        &[half, c],
        Some(f32x2(1.25, -10.0)),
    );
    let product = Some(f32x2(0.25 * 1.5 + 0.25, -8.0));
    cases.is("fma.rn.f32x2.f16x2.f32x2.f32x2", &[half, c, c], product);
    // One and a bit more than a unit in the last place is truncated.
    let one = f32x2(1.0, 1.0 + 1.9 / 1024.0);
    let truncated = Some(0x3c00_3c01);
    cases.is(
        "mul.rz.ftz.f16x2.f32x2.f32x2",
        &[one, f32x2(1.0, 1.0)],
        truncated,
    );
    let (a, b) = (0x0102_0304, 0x0201_05ff);
    cases.is("set.lt.u8x4", &[a, b], Some(0xff00_ffff));
    cases.is("set.lt.s8x4", &[a, b], Some(0xff00_ff00));
    cases.is("set.ge.s16x2", &[a, b], Some(0x0000_0000));
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

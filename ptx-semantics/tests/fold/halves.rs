//! Arithmetic of halves, of halves with single precision, and packed comparison.

use crate::common::{Cases, Dice, floats, run};
use crate::formats::Values;

/// A half in units of 2^-24, exactly.
fn units(half: f64) -> i128 {
    (half * 2f64.powi(24)) as i128
}

/// `units * 2^-48` to half precision, ties to even, among all its values.
fn nearest(half: &Values, units: i128, negative_zero: bool) -> Option<u128> {
    let size = units.unsigned_abs();
    let value = |v: f64| (v * 2f64.powi(48)) as u128;
    let below = half.all.partition_point(|&v| value(v) <= size) - 1;
    let above = half
        .all
        .get(below + 1)
        .map_or(value(65536.0), |&v| value(v));
    let middle = (value(half.all[below]) + above) / 2;
    let up = size > middle || size == middle && below % 2 == 1;
    let sign = if units < 0 || units == 0 && negative_zero {
        0x8000
    } else {
        0
    };
    Some((below + usize::from(up)) as u128 | sign)
}

#[test]
fn fused_halves() {
    let cases = &mut Cases::default();
    let half = Values::of("f16");
    let mut dice = Dice(4);
    let edges = [
        0u128, 1, 0x3ff, 0x400, 0x3c00, 0x3c01, 0x3555, 0x7bff, 0x4248, 0x0800,
    ];
    for _ in 0..6000 {
        let [a, b, c] = [(); 3].map(|()| {
            let any = dice.below(0x7c00) as u128;
            let magnitude = if dice.below(2) == 0 {
                any
            } else {
                dice.of(&edges)
            };
            magnitude | dice.of(&[0, 0x8000])
        });
        let [x, y, z] = [a, b, c].map(|bits| half.decode(bits));
        let exact = units(x) * units(y) + (units(z) << 24);
        let minus = |v: f64| v.is_sign_negative();
        let negative_zero = minus(z) && minus(x) != minus(y);
        // A zero that comes of two numbers is positive; of two zeros it has their sign.
        let zeros = units(x) * units(y) == 0 && z == 0.0;
        let plain = nearest(&half, exact, zeros && negative_zero).unwrap();
        let three = [a, b, c];
        cases.is("fma.rn.f16", &three, Some(plain));
        cases.is("fma.rn.oob.f16", &three, Some(plain));
        let relu = match plain {
            0x8000 => None,
            0x8001.. => Some(0),
            _ => Some(plain),
        };
        cases.is("fma.rn.relu.f16", &three, relu);
        cases.is("fma.rn.oob.relu.f16", &three, relu);
        let both = |one: Option<u128>| one.map(|v| v << 16 | 0x3c00);
        // The other half: one times one and zero.
        let packed = [a << 16 | 0x3c00, b << 16 | 0x3c00, c << 16];
        cases.is("fma.rn.f16x2", &packed, both(Some(plain)));
        cases.is("fma.rn.relu.f16x2", &packed, both(relu));
        let sat = match plain {
            0x8000.. => Some(0),
            _ => Some(plain.min(0x3c00)),
        };
        cases.is("fma.rn.sat.f16", &three, sat);
    }
    // No number: saturated to zero, of unknown bits otherwise.
    cases.is("fma.rn.sat.f16", &[0x7e00, 0, 0], Some(0));
    cases.is("fma.rn.sat.f16", &[0x7c00, 0, 0x3c00], Some(0));
    cases.is("fma.rn.relu.f16", &[0x7e00, 0, 0], None);
    cases.is("fma.rn.oob.bf16", &[0x7fff, 0x3f80, 0], None);
    cases.is("fma.rn.relu.bf16", &[0xbf80, 0x4000, 0x3f80], Some(0));
    cases.is("fma.rn.relu.bf16", &[0xbf80, 0x4000, 0x4040], Some(0x3f80));
}

/// The nearest value and the ones around it, by the sign of what the nearest leaves out.
fn directed(sum: f64, missing: f64, way: &str) -> f32 {
    let near = sum as f32;
    let order = f64::from(near)
        .partial_cmp(&sum)
        .unwrap()
        .then(0.0.partial_cmp(&missing).unwrap());
    let (down, up) = match order {
        std::cmp::Ordering::Greater => (near.next_down(), near),
        std::cmp::Ordering::Equal => (near, near),
        std::cmp::Ordering::Less => (near, near.next_up()),
    };
    match way {
        "rm" => down,
        "rp" => up,
        _ if sum < 0.0 => up,
        _ => down,
    }
}

#[test]
fn mixed_precision() {
    let cases = &mut Cases::default();
    for name in ["f16", "bf16"] {
        let half = Values::of(name);
        for bits in (0..=0xffffu128).step_by(523) {
            let a = half.decode(bits);
            for c in floats().into_iter().map(|v| v as f32) {
                let two = [bits, c.to_bits().into()];
                let known = |v: f32| (!v.is_nan()).then(|| u128::from(v.to_bits()));
                let single = a as f32;
                cases.is(&format!("add.f32.{name}"), &two, known(single + c));
                cases.is(&format!("sub.rn.f32.{name}"), &two, known(single - c));
                let b = half.decode(bits ^ 0x8123) as f32;
                let three = [bits, bits ^ 0x8123, c.to_bits().into()];
                cases.is(
                    &format!("fma.rn.f32.{name}"),
                    &three,
                    known(single.mul_add(b, c)),
                );
                let sum = single + c;
                let sat = if sum.is_nan() {
                    Some(0)
                } else {
                    known(sum.clamp(0.0, 1.0))
                };
                let sat = sat.filter(|_| sum != 0.0 || sum.is_sign_positive());
                cases.is(&format!("add.rn.sat.f32.{name}"), &two, sat);
                let (wide, other) = (f64::from(single), f64::from(c));
                let usual = |v: f32| v.is_finite() && v.abs() > 1e-30 && v.abs() < 1e35;
                if usual(single) && usual(c) && usual(sum) {
                    let sum = wide + other;
                    let part = sum - wide;
                    let missing = (wide - (sum - part)) + (other - part);
                    for way in ["rm", "rp", "rz"] {
                        let expected = known(directed(sum, missing, way));
                        cases.is(&format!("add.{way}.f32.{name}"), &two, expected);
                    }
                }
            }
        }
    }
}

#[test]
fn comparison_of_halves() {
    let cases = &mut Cases::default();
    for (name, one) in [("f16", 0x3c00u128), ("bf16", 0x3f80)] {
        let half = Values::of(name);
        let top = half.all.len() as u128;
        let mut all = vec![0, 1, 0x3c00, 0x3f80, top - 1, top, top + 1];
        all.extend(all.clone().into_iter().map(|b| b | 0x8000));
        for &a in &all {
            for &b in &all {
                let (x, y) = (half.decode(a), half.decode(b));
                let open = x.is_nan() || y.is_nan();
                for (test, value) in [
                    ("eq", x == y),
                    ("ne", !open && x != y),
                    ("lt", x < y),
                    ("ge", x >= y),
                    ("equ", x == y || open),
                    ("neu", x != y),
                    ("leu", x <= y || open),
                    ("gtu", x > y || open),
                    ("num", !open),
                    ("nan", open),
                ] {
                    let bit = u128::from(value);
                    let two = [a, b];
                    cases.is(&format!("set.{test}.{name}.{name}"), &two, Some(bit * one));
                    cases.is(&format!("set.{test}.u16.{name}"), &two, Some(bit * 0xffff));
                    cases.is(
                        &format!("set.{test}.s32.{name}"),
                        &two,
                        Some(bit * 0xffff_ffff),
                    );
                    // Low half: this pair; high half: zero with zero.
                    let zeros = ["eq", "ge", "equ", "leu", "num"].contains(&test);
                    let high = u128::from(zeros);
                    let packed = format!("{name}x2");
                    let text = format!("set.{test}.{packed}.{packed}");
                    cases.is(&text, &two, Some(bit * one + ((high * one) << 16)));
                    let text = format!("set.{test}.u32.{packed}");
                    cases.is(&text, &two, Some(bit * 0xffff + high * 0xffff_0000));
                    let text = format!("set.{test}.xor.u32.{packed}");
                    let turned = (1 - bit) * 0xffff + (1 - high) * 0xffff_0000;
                    cases.is(&text, &[a, b, 1], Some(turned));
                    for (word, third, p, q) in [
                        ("", None, value, zeros),
                        (".and", Some(0), false, false),
                        (".or", Some(0), value, zeros),
                        (".xor", Some(1), !value, !zeros),
                    ] {
                        let operands: Vec<u128> = two.into_iter().chain(third).collect();
                        let found = run(&format!("setp.{test}{word}.{packed}"), &operands, None);
                        let found = found.map(|f| (f.value, f.second));
                        assert_eq!(found, Some((p.into(), Some(q))), "{test}{word} {a:x} {b:x}");
                    }
                }
            }
        }
    }
}

/// Forms of old versions without a modifier, and modifiers that are redundant.
#[test]
fn double_precision_in_old_versions() {
    let cases = &mut Cases::default();
    for a in floats() {
        let known = |v: f64| (!v.is_nan()).then(|| u128::from(v.to_bits()));
        let one = [a.to_bits().into()];
        cases.is("sqrt.f64", &one, known(a.sqrt()));
        cases.is("rcp.rn.ftz.f64", &one, known(1.0 / a));
        for b in floats() {
            cases.is(
                "div.f64",
                &[a.to_bits().into(), b.to_bits().into()],
                known(a / b),
            );
        }
    }
}

#[test]
fn vectors_are_moved() {
    let cases = &mut Cases::default();
    cases.is("mov.v2.b16", &[0x1_2345, 7], Some(7 << 16 | 0x2345));
    cases.is(
        "mov.v4.u32",
        &[1, 2, 3, 4],
        Some(4 << 96 | 3 << 64 | 2 << 32 | 1),
    );
    cases.is("mov.v2.f64", &[5, 6], Some(6 << 64 | 5));
    cases.is("mov.v2.u32", &[5, 6, 7], None);
}

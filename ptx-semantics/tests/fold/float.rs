//! IEEE arithmetic.

use crate::common::{Cases, floats};

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
            if sum.is_nan() {
                cases.is("add.sat.f32", &two, Some(0));
            } else if sum != 0.0 {
                cases.is("add.sat.f32", &two, bits(sum.clamp(0.0, 1.0)));
            }
        }
    }
}

/// Numbers around the least normal one, as ptxas folds them: flushed if they are subnormal after rounding to 24 digits.
#[test]
fn rounding_before_flushing() {
    let cases = &mut Cases::default();
    let least = 0x0080_0000;
    cases.is("mul.ftz.f32", &[least, 0x3f7f_ffff], Some(0));
    cases.is("mul.ftz.f32", &[0x0080_0001, 0x3f7f_fffe], Some(least));
    cases.is(
        "mul.ftz.f32",
        &[0x8080_0001, 0x3f7f_fffe],
        Some(1 << 31 | least),
    );
    cases.is("mul.ftz.f32", &[0x00ff_ffff, 0x3f00_0000], Some(0));
    cases.is("mul.rz.ftz.f32", &[0x0080_0001, 0x3f7f_fffe], Some(0));
    // Rounding up to a power of two below the least normal number.
    cases.is("div.rn.ftz.f32", &[0xbf7f_ffff, 0x7f00_0000], Some(1 << 31));
    for halvings in 1..30 {
        let scale = 0x3f80_0000 - (halvings << 23);
        cases.is("mul.ftz.f32", &[0x00ff_ffff, scale], Some(0));
        cases.is("mul.rp.ftz.f32", &[0x00ff_ffff, scale], Some(0));
    }
    cases.is("mul.f32", &[least, 0x3f7f_ffff], Some(least));
    cases.is("add.sat.f32", &[1 << 31, 1 << 31], Some(0));
    cases.is("mul.sat.f32", &[1 << 31, 0x3f80_0000], Some(0));
}

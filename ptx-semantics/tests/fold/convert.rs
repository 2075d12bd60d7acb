//! Conversions between numbers of one part.

use crate::common::{Cases, edges, floats, run};

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
                // What a NaN becomes hangs on both types.
                let number = |bits: u32, v: u128| {
                    let zero = suffix == "f32" && bits < 64;
                    let nan = if zero { 0 } else { 1 << (bits - 1) };
                    Some(if value.is_nan() { nan } else { v })
                };
                cases.is(
                    &format!("cvt.{name}.s8.{suffix}"),
                    &one,
                    number(8, (whole as i8 as u8).into()),
                );
                cases.is(
                    &format!("cvt.{name}.u8.{suffix}"),
                    &one,
                    number(8, (whole as u8).into()),
                );
                cases.is(
                    &format!("cvt.{name}.s16.{suffix}"),
                    &one,
                    number(16, (whole as i16 as u16).into()),
                );
                cases.is(
                    &format!("cvt.{name}.s32.{suffix}"),
                    &one,
                    number(32, (whole as i32 as u32).into()),
                );
                cases.is(
                    &format!("cvt.{name}.u32.{suffix}"),
                    &one,
                    number(32, (whole as u32).into()),
                );
                cases.is(
                    &format!("cvt.{name}.s64.{suffix}"),
                    &one,
                    number(64, (whole as i64 as u64).into()),
                );
                cases.is(
                    &format!("cvt.{name}.u64.{suffix}"),
                    &one,
                    number(64, (whole as u64).into()),
                );
                let same = if suffix == "f64" {
                    u128::from(whole.to_bits())
                } else {
                    (whole as f32).to_bits().into()
                };
                let same = (!value.is_nan()).then_some(same);
                cases.is(&format!("cvt.{name}.{suffix}.{suffix}"), &one, same);
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
        // The number after the greatest is infinity when rounding to nearest.
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

//! The rule of sums compared with its definition, evaluated with integers of any length.

use super::dot::{Numbers, Rounding, Rule, dot};
use super::formats::Format;
use ptx_isa::ScalarType;

/// A format, by the widths of its exponent and its fraction, and what its greatest codes are: infinity and NaN, NaN alone or numbers.
struct Definition {
    ty: ScalarType,
    exponent: u32,
    fraction: u32,
    infinite: bool,
    nan: bool,
}

const FORMATS: [Definition; 8] = [
    Definition {
        ty: ScalarType::F16,
        exponent: 5,
        fraction: 10,
        infinite: true,
        nan: true,
    },
    Definition {
        ty: ScalarType::Bf16,
        exponent: 8,
        fraction: 7,
        infinite: true,
        nan: true,
    },
    Definition {
        ty: ScalarType::Tf32,
        exponent: 8,
        fraction: 10,
        infinite: true,
        nan: true,
    },
    Definition {
        ty: ScalarType::E5m2,
        exponent: 5,
        fraction: 2,
        infinite: true,
        nan: true,
    },
    Definition {
        ty: ScalarType::E4m3,
        exponent: 4,
        fraction: 3,
        infinite: false,
        nan: true,
    },
    Definition {
        ty: ScalarType::E3m2,
        exponent: 3,
        fraction: 2,
        infinite: false,
        nan: false,
    },
    Definition {
        ty: ScalarType::E2m3,
        exponent: 2,
        fraction: 3,
        infinite: false,
        nan: false,
    },
    Definition {
        ty: ScalarType::E2m1,
        exponent: 2,
        fraction: 1,
        infinite: false,
        nan: false,
    },
];

/// The value of a code, and its exponent.
fn value(of: &Definition, code: u32) -> (f64, i32) {
    let most = (1u32 << of.exponent) - 1;
    let (field, fraction) = (code >> of.fraction & most, code & ((1 << of.fraction) - 1));
    let sign = if code >> (of.exponent + of.fraction) & 1 == 1 {
        -1.0
    } else {
        1.0
    };
    let bias = (most / 2) as i32;
    if of.infinite && field == most {
        return (
            if fraction == 0 {
                sign * f64::INFINITY
            } else {
                f64::NAN
            },
            0,
        );
    }
    if !of.infinite && of.nan && field == most && fraction == (1 << of.fraction) - 1 {
        return (f64::NAN, 0);
    }
    let part = f64::from(fraction) / f64::from(1 << of.fraction);
    match field {
        0 => (sign * part * f64::from(1 - bias).exp2(), 1 - bias),
        field => {
            let exponent = field as i32 - bias;
            (sign * (1.0 + part) * f64::from(exponent).exp2(), exponent)
        }
    }
}

/// The number of binary32 nearest to zero from an exact value, or of binary16 nearest to it.
fn rounded(value: f64, rounding: Rounding) -> f32 {
    let exponent = |least: i32| value.abs().log2().floor().max(f64::from(least));
    let in_units = |digits: i32, least: i32| {
        let unit = (exponent(least) - f64::from(digits)).exp2();
        (value / unit, unit)
    };
    let (limit, result) = match rounding {
        Rounding::Half => {
            let (units, unit) = in_units(10, -14);
            (65536.0, units.round_ties_even() * unit)
        }
        other => {
            let (units, unit) = in_units(if other == Rounding::Short { 13 } else { 23 }, -126);
            (128f64.exp2(), units.trunc() * unit)
        }
    };
    match result.abs() >= limit {
        true => f32::INFINITY.copysign(value as f32),
        false => result as f32,
    }
}

/// The sum of a block by its definition. Values are exact in 64 bits.
fn defined(a: &[(f64, i32)], b: &[(f64, i32)], scale: i32, c: f32, rule: Rule) -> f32 {
    let power = f64::from(scale).exp2();
    let products = a
        .iter()
        .zip(b)
        .map(|(a, b)| (a.0 * b.0 * power, a.1 + b.1 + scale));
    let exponent = (c.to_bits() >> 23 & 0xff).max(1) as i32 - 127;
    let mut terms: Vec<(f64, i32)> = products.collect();
    terms.push((c.into(), exponent));
    let plain: f64 = terms
        .iter()
        .map(|t| if t.0.is_finite() { 0.0 } else { t.0 })
        .sum();
    if plain != 0.0 {
        return plain as f32;
    }
    let Some(greatest) = terms.iter().filter(|t| t.0 != 0.0).map(|t| t.1).max() else {
        return 0.0;
    };
    let greatest = greatest.max(rule.floor);
    // The unit is a power of two that may be below those of 64 bits.
    let up = f64::from(rule.bits as i32 - greatest) / 2.0;
    let units = |value: f64| (value * up.floor().exp2() * up.ceil().exp2()).trunc();
    let sum: f64 = terms.iter().map(|t| units(t.0)).sum();
    if sum == 0.0 {
        return 0.0;
    }
    rounded(sum / up.floor().exp2() / up.ceil().exp2(), rule.result)
}

#[test]
fn the_rule_agrees_with_its_definition() {
    let mut random = fastrand::Rng::with_seed(20_261_123);
    let units = [(23, i32::MIN), (24, -132), (25, -133), (13, -20), (25, -21)];
    let mut special = 0;
    for _ in 0..60_000 {
        let (first, second) = (&FORMATS[random.usize(0..8)], &FORMATS[random.usize(0..8)]);
        let (bits, floor) = units[random.usize(0..units.len())];
        let results = [Rounding::Single, Rounding::Short, Rounding::Half];
        let rule = Rule {
            block: [4, 8, 16, 32][random.usize(0..4)],
            bits,
            floor,
            result: results[random.usize(0..3)],
        };
        let length = rule.block * random.usize(1..3);
        // Codes of exponents that are near each other, or any codes.
        let near = random.bool();
        let middle = random.u32(..);
        let mut codes = |of: &Definition| -> Vec<u32> {
            let width = of.exponent + of.fraction;
            let all = (0..length).map(|_| {
                let code = random.u32(..) & ((1 << (width + 1)) - 1);
                match near {
                    true => {
                        (code & !(0x1c << of.fraction))
                            | (middle & ((1 << width) - 1) & (0x1c << of.fraction))
                    }
                    false => code,
                }
            });
            all.collect()
        };
        let (left, right) = (codes(first), codes(second));
        let scale = [0, 0, random.i32(-20..20)][random.usize(0..3)];
        let c = match random.u8(..4) {
            0 => 0.0,
            1 => f32::from_bits(random.u32(..)),
            _ => (random.f32() - 0.5) * f32::from(random.i8(-8..8)).exp2(),
        };
        let formats = [first, second].map(|of| Format::of(of.ty, false).unwrap());
        let decode = |of: &Definition, codes: &[u32]| {
            let format = Format::of(of.ty, false).unwrap();
            let shift = if of.ty == ScalarType::Tf32 { 13 } else { 0 };
            let mut numbers = Numbers::default();
            codes
                .iter()
                .for_each(|code| numbers.push(format.decode(code << shift)));
            numbers
        };
        let (a, b) = (decode(first, &left), decode(second, &right));
        let (a, b) = (a.line(0..length, formats[0]), b.line(0..length, formats[1]));
        let found = dot(a, b, scale, c.to_bits(), rule);
        let values = |of: &Definition, codes: &[u32]| -> Vec<(f64, i32)> {
            codes.iter().map(|&code| value(of, code)).collect()
        };
        let (x, y) = (values(first, &left), values(second, &right));
        let blocks = x.chunks(rule.block).zip(y.chunks(rule.block));
        let expected = blocks.fold(c, |sum, (x, y)| defined(x, y, scale, sum, rule));
        special += usize::from(!expected.is_finite());
        match expected.is_nan() {
            true => assert_eq!(found, 0x7fff_ffff),
            false => assert_eq!(
                f32::from_bits(found),
                expected,
                "{rule:?} {:?} {:?} {scale} {c:e}",
                x,
                y
            ),
        }
    }
    assert!(special > 1000 && special < 50_000, "{special}");
}

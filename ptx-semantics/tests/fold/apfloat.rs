//! Arithmetic and conversions against `rustc_apfloat`, on random numbers and on those near the limits of the formats.

use super::random::Random;
use crate::common::{Asked, codes, run};
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

const ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

/// Bits of a format: any, near another number, or with an exponent or a fraction at a limit.
pub(crate) fn number(random: &mut Random, bits: u32, fraction: u32, near: u128) -> u128 {
    let all = (1 << bits) - 1;
    let any = u128::from(random.next()) & all;
    match random.below(5) {
        0 => any,
        1 => (near ^ (random.below(4) as u128)) & all,
        2 => any & !((1 << fraction) - 1),
        3 => any | ((1 << (fraction - 1)) - 1),
        _ => {
            let exponents = [0, 1, all >> (fraction + 1), (all >> (fraction + 1)) - 1];
            let exponent = exponents[random.below(4) as usize];
            any & ((1 << fraction) - 1) | exponent << fraction | any & 1 << (bits - 1)
        }
    }
}

fn bits<F: Float>(value: F) -> Option<u128> {
    (!value.is_nan()).then(|| value.to_bits())
}

fn arithmetic<F: Float>(suffix: &str, fraction: u32, roundings: &[(&str, Round)]) {
    let mut random = Random::new(0x5eed);
    for _ in 0..4000 {
        let a = number(&mut random, F::BITS as u32, fraction, 0);
        let b = number(&mut random, F::BITS as u32, fraction, a);
        let c = number(&mut random, F::BITS as u32, fraction, b);
        let (x, y, z) = (F::from_bits(a), F::from_bits(b), F::from_bits(c));
        for &(name, round) in roundings {
            let is = |opcode: &str, operands: &[u128], expected: F| {
                let text = format!("{opcode}.{name}.{suffix}");
                let found = run(&text, operands, None).map(|f| f.value);
                assert_eq!(found, bits(expected), "{text} {operands:x?}");
            };
            is("add", &[a, b], x.add_r(y, round).value);
            is("sub", &[a, b], x.sub_r(y, round).value);
            is("mul", &[a, b], x.mul_r(y, round).value);
            is("fma", &[a, b, c], x.mul_add_r(y, z, round).value);
            if fraction >= 23 {
                let one = F::from_u128(1).value;
                is("div", &[a, b], x.div_r(y, round).value);
                is("rcp", &[a], one.div_r(x, round).value);
            }
        }
    }
}

#[test]
fn arithmetic_agrees() {
    arithmetic::<Single>("f32", 23, &ROUNDINGS);
    arithmetic::<Double>("f64", 52, &ROUNDINGS);
    arithmetic::<Half>("f16", 10, &ROUNDINGS[..1]);
    arithmetic::<BFloat>("bf16", 7, &ROUNDINGS[..1]);
}

fn narrowed<F, T: Float>(text: &str, fraction: u32, round: Round)
where
    F: Float + FloatConvert<T>,
{
    let mut random = Random::new(0xc0de);
    for _ in 0..4000 {
        let a = number(&mut random, F::BITS as u32, fraction, 0);
        let value: T = F::from_bits(a).convert_r(round, &mut false).value;
        let found = run(text, &[a], None).map(|f| f.value);
        assert_eq!(found, bits(value), "{text} {a:#x}");
    }
}

#[test]
fn conversions_agree() {
    for (name, round) in ROUNDINGS {
        narrowed::<Double, Single>(&format!("cvt.{name}.f32.f64"), 52, round);
    }
    for (name, round) in &ROUNDINGS[..2] {
        narrowed::<Single, Half>(&format!("cvt.{name}.f16.f32"), 23, *round);
        narrowed::<Single, BFloat>(&format!("cvt.{name}.bf16.f32"), 23, *round);
    }
}

/// Two numbers of single precision to a format of 8 bits with the greatest number `most`, and back.
fn eight_bits<T>(format: &str, most: u128)
where
    Single: FloatConvert<T>,
    T: Float + FloatConvert<Half>,
{
    let mut random = Random::new(0xf8);
    let greatest = T::from_bits(most);
    for _ in 0..20_000 {
        let raw = number(&mut random, 32, 23, 0x43e0_0000);
        let value = Single::from_bits(raw);
        let converted: T = value.convert_r(Round::NearestTiesToEven, &mut false).value;
        let sign = (raw >> 31) << 7;
        // Out of range is the greatest number of the same sign.
        let expected = match bits(converted) {
            _ if value.is_nan() => None,
            Some(bits) if bits & 0x7f <= most => Some(bits),
            _ => Some(most | sign),
        };
        let text = format!("cvt.rn.satfinite.{format}x2.f32");
        let found = run(&text, &[raw, 0], None).map(|f| f.value >> 8);
        assert_eq!(found, expected, "{text} {raw:#x}");
    }
    assert!(!greatest.is_nan() && !greatest.is_infinite());
    for code in 0..256u128 {
        let half: Half = T::from_bits(code)
            .convert_r(Round::NearestTiesToEven, &mut false)
            .value;
        let text = format!("cvt.rn.f16x2.{format}x2");
        let found = run(&text, &[code], None).map(|f| f.value & 0xffff);
        assert_eq!(found, bits(half), "{text} {code:#x}");
    }
}

/// All codes of two formats of 16 bits to a third one, by all directions.
fn halves<F, T: Float>(source: &str, target: &str)
where
    F: FloatConvert<T>,
{
    // A conversion that is always exact has no modifier.
    let exact = T::PRECISION >= F::PRECISION && T::MAX_EXP >= F::MAX_EXP;
    for (name, round) in ROUNDINGS {
        let asked = match (exact, round) {
            (false, _) => Asked::new(&format!("cvt.{name}.{target}.{source}")),
            (true, Round::TowardZero) => Asked::new(&format!("cvt.{target}.{source}")),
            (true, _) => continue,
        };
        for code in codes() {
            let value: T = F::from_bits(code).convert_r(round, &mut false).value;
            asked.is(&[code], bits(value));
        }
    }
}

#[test]
fn halves_agree() {
    halves::<Half, BFloat>("f16", "bf16");
    halves::<BFloat, Half>("bf16", "f16");
    halves::<Half, Single>("f16", "f32");
    halves::<BFloat, Single>("bf16", "f32");
    halves::<Half, Double>("f16", "f64");
    halves::<BFloat, Double>("bf16", "f64");
}

/// All codes of a format of 16 bits to one of 8 bits with the greatest number `most`.
fn halves_to_eight_bits<F, T: Float>(source: &str, target: &str, most: u128)
where
    F: FloatConvert<T>,
{
    let asked = Asked::new(&format!("cvt.rn.satfinite.{target}x2.{source}x2"));
    for code in codes() {
        let value = F::from_bits(code);
        let converted: T = value.convert_r(Round::NearestTiesToEven, &mut false).value;
        let expected = match bits(converted) {
            _ if value.is_nan() => None,
            Some(bits) if bits & 0x7f <= most => Some(bits),
            _ => Some(most | (code >> 15) << 7),
        };
        asked.is(&[code << 16], expected.map(|bits| bits << 8));
    }
}

#[test]
fn halves_to_eight_bits_agree() {
    halves_to_eight_bits::<Half, Float8E4M3FN>("f16", "e4m3", 0x7e);
    halves_to_eight_bits::<BFloat, Float8E4M3FN>("bf16", "e4m3", 0x7e);
    halves_to_eight_bits::<Half, Float8E5M2>("f16", "e5m2", 0x7b);
    halves_to_eight_bits::<BFloat, Float8E5M2>("bf16", "e5m2", 0x7b);
}

#[test]
fn eight_bit_formats_agree() {
    eight_bits::<Float8E4M3FN>("e4m3", 0x7e);
    eight_bits::<Float8E5M2>("e5m2", 0x7b);
}

//! Values of operands: edge cases of their type, and random values.

use fastrand::Rng;
use ptx_isa::{ScalarType, TypeKind};

use super::template::Register;

/// The widths of exponent and fraction of the formats of a width.
const FORMATS: [(u16, u32, u32); 6] = [
    (64, 11, 52),
    (32, 8, 23),
    (16, 5, 10),
    (16, 8, 7),
    (8, 4, 3),
    (8, 5, 2),
];

/// The bits of a register. Each element of its type is an edge case or, unless `edges_only` is set, a random value.
pub fn value(register: &Register, edges_only: bool, rng: &mut Rng) -> u128 {
    let ty = register.ty.unwrap_or(register.declared);
    let width = register.declared.bits();
    if ty.kind() == TypeKind::Predicate {
        return u128::from(rng.bool());
    }
    let element = ty.element().unwrap_or(ty);
    let element_width = element.bits().max(1);
    let mut bits = 0;
    for index in 0..width.div_ceil(element_width) {
        let value = if edges_only || rng.u8(..3) == 0 {
            edge(element, rng)
        } else {
            random(element, rng)
        };
        bits |= (value & mask(element_width)) << (index * element_width);
    }
    // The bits of the register above the value are arbitrary.
    bits & mask(width)
}

fn edge(ty: ScalarType, rng: &mut Rng) -> u128 {
    let is_float = match ty.kind() {
        TypeKind::Float => true,
        // The meaning of untyped bits depends on the instruction.
        TypeKind::Bits => rng.bool(),
        _ => false,
    };
    match format(ty, rng).filter(|_| is_float) {
        Some((exponent, fraction)) => float_edge(exponent, fraction, rng),
        None => integer_edge(ty.bits(), rng),
    }
}

fn integer_edge(width: u16, rng: &mut Rng) -> u128 {
    let ones = mask(width);
    let power = 1 << rng.u16(..width.max(1));
    let edges = [
        0,
        1,
        2,
        3,
        7,
        31,
        32,
        33,
        63,
        64,
        ones,
        ones - 1,
        ones >> 1,
        (ones >> 1) + 1,
        (ones >> 1) + 2,
        power,
        power - 1,
        ones ^ power,
        0x5555_5555_5555_5555,
        0xaaaa_aaaa_aaaa_aaaa,
        0x8080_7f7f_ff00_01fe,
        0x7fff_8000_ffff_0001,
    ];
    rng.choice(edges).unwrap_or(0)
}

/// The widths of exponent and fraction of a type.
fn format(ty: ScalarType, rng: &mut Rng) -> Option<(u32, u32)> {
    let formats: Vec<(u32, u32)> = FORMATS
        .iter()
        .filter(|(width, exponent, _)| {
            *width == ty.bits()
                && match ty {
                    ScalarType::F16 => *exponent == 5,
                    ScalarType::Bf16 => *exponent == 8,
                    _ => true,
                }
        })
        .map(|(_, exponent, fraction)| (*exponent, *fraction))
        .collect();
    rng.choice(formats)
}

/// Zero, subnormal numbers, the limits of the normal ones, numbers near one, infinity, NaNs, of either sign.
fn float_edge(exponent: u32, fraction: u32, rng: &mut Rng) -> u128 {
    let unit = 1u128 << fraction;
    let one = ((1u128 << (exponent - 1)) - 1) << fraction;
    let infinity = ((1u128 << exponent) - 1) << fraction;
    let edges = [
        0,
        1,
        2,
        unit - 1,
        unit,
        unit + 1,
        one - 1,
        one,
        one + 1,
        one + unit,
        one + unit / 2,
        one - unit,
        one + unit * 2,
        one + unit * 2 + unit / 4,
        infinity - unit,
        infinity - 1,
        infinity,
        infinity + unit / 2,
        infinity + 1,
    ];
    let sign = u128::from(rng.bool()) << (exponent + fraction);
    rng.choice(edges).unwrap_or(0) | sign
}

fn random(ty: ScalarType, rng: &mut Rng) -> u128 {
    let bits = rng.u128(..);
    let width = ty.bits();
    let is_float = ty.is_float() || ty.kind() == TypeKind::Bits && rng.bool();
    let Some((exponent, fraction)) = format(ty, rng).filter(|_| is_float && rng.u8(..4) > 0) else {
        // Small numbers are as likely as large ones.
        return bits & mask(rng.u16(1..=width.max(1)));
    };
    // A number between 2^-8 and 2^24, with few or many bits.
    let bias = (1u32 << (exponent - 1)) - 1;
    let min_exponent = bias.saturating_sub(8);
    let max_exponent = (bias + 24).min(2 * bias);
    let kept = mask(fraction as u16) & !mask(rng.u16(..=fraction as u16));
    let sign = u128::from(rng.bool()) << (exponent + fraction);
    bits & kept | u128::from(rng.u32(min_exponent..=max_exponent)) << fraction | sign
}

pub fn mask(bits: u16) -> u128 {
    match bits {
        128.. => u128::MAX,
        _ => (1 << bits) - 1,
    }
}

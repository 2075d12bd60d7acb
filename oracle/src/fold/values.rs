//! Values of operands: those at the edges of their type, and random ones.

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

/// The bits of a register: each element of its type at an edge, or also random.
pub(super) fn value(register: &Register, edges_only: bool, rng: &mut Rng) -> u128 {
    let ty = register.ty.unwrap_or(register.declared);
    let width = register.declared.bits();
    if ty.kind() == TypeKind::Predicate {
        return u128::from(rng.bool());
    }
    let element = ty.element().unwrap_or(ty);
    let each = element.bits().max(1);
    let mut bits = 0;
    for lane in 0..width.div_ceil(each) {
        let one = match edges_only || rng.u8(..3) == 0 {
            true => edge(element, rng),
            false => random(element, rng),
        };
        bits |= (one & mask(each)) << (lane * each);
    }
    // Above a value there may be anything.
    bits & mask(width)
}

fn edge(ty: ScalarType, rng: &mut Rng) -> u128 {
    let number = match ty.kind() {
        TypeKind::Float => true,
        // What untyped bits mean depends on the instruction.
        TypeKind::Bits => rng.bool(),
        _ => false,
    };
    match format(ty, rng).filter(|_| number) {
        Some((exponent, fraction)) => float_edge(exponent, fraction, rng),
        None => integer_edge(ty.bits(), rng),
    }
}

fn integer_edge(width: u16, rng: &mut Rng) -> u128 {
    let all = mask(width);
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
        all,
        all - 1,
        all >> 1,
        (all >> 1) + 1,
        (all >> 1) + 2,
        power,
        power - 1,
        all ^ power,
        0x5555_5555_5555_5555,
        0xaaaa_aaaa_aaaa_aaaa,
        0x8080_7f7f_ff00_01fe,
        0x7fff_8000_ffff_0001,
    ];
    rng.choice(edges).unwrap_or(0)
}

/// The widths of exponent and fraction of a type.
fn format(ty: ScalarType, rng: &mut Rng) -> Option<(u32, u32)> {
    let fits = |exponent: u32| match ty {
        ScalarType::F16 => exponent == 5,
        ScalarType::Bf16 => exponent == 8,
        _ => true,
    };
    let all = FORMATS.iter().filter(|f| f.0 == ty.bits() && fits(f.1));
    let found = rng.choice(all.collect::<Vec<_>>());
    found.map(|f| (f.1, f.2))
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
    let number = ty.is_float() || ty.kind() == TypeKind::Bits && rng.bool();
    let Some((exponent, fraction)) = format(ty, rng).filter(|_| number && rng.u8(..4) > 0) else {
        // Small numbers are as likely as large ones.
        return bits & mask(rng.u16(1..=width.max(1)));
    };
    // A number between 2^-8 and 2^24, with few or many bits.
    let bias = (1u32 << (exponent - 1)) - 1;
    let least = bias.saturating_sub(8);
    let most = (bias + 24).min(2 * bias);
    let kept = mask(fraction as u16) & !mask(rng.u16(..=fraction as u16));
    let sign = u128::from(rng.bool()) << (exponent + fraction);
    bits & kept | u128::from(rng.u32(least..=most)) << fraction | sign
}

pub(super) fn mask(bits: u16) -> u128 {
    match bits {
        128.. => u128::MAX,
        _ => (1 << bits) - 1,
    }
}

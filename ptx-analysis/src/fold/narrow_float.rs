//! Conversions of packed and short formats, saturated to finite numbers or to zero: section 9.7.9.21.

use super::exact_float::{Magnitude, Number};
use super::float_format::Format;
use super::modifiers::{RELU, SATFINITE, Words};
use super::rounding::Rounding;
use super::{Folded, element, mask};
use alloc::vec::Vec;
use core::cmp::Ordering;
use ptx_isa::{Modifier, ScalarType};

/// The operands, or the parts of one, become the parts of the result, the first highest.
pub(super) fn cvt(words: &Words, operands: &[u128]) -> Option<Folded> {
    words.flags_within(RELU | SATFINITE)?;
    let (to, from) = (words.ty(0)?, words.ty(1)?);
    if words.ty(2).is_some() || words.logic.is_some() {
        return None;
    }
    let count = u16::from(to.lanes().max(1));
    let sources = usize::from(count / u16::from(from.lanes().max(1)));
    let (values, random) = operands.split_at_checked(sources)?;
    let mode = match (words.rounding, words.choice, random) {
        (Some(modifier), [None, None], []) => Mode::To(Rounding::of(modifier)?.0),
        // How wide the random bits of four short results are, and where, is only drawn.
        (None, [Some(Modifier::Rs), None], &[bits]) if count <= 2 => Mode::Random(bits),
        _ => return None,
    };
    let (wide, narrow) = (
        from.bits() / u16::from(from.lanes().max(1)),
        to.bits() / count,
    );
    let parts = |&raw: &u128| {
        let lanes = (0..u16::from(from.lanes().max(1))).rev();
        lanes.map(move |lane| raw >> (lane * wide) & mask(wide))
    };
    let parts: Vec<u128> = values.iter().flat_map(parts).collect();
    let mut result = 0;
    for (raw, place) in parts.into_iter().zip((0..count).rev()) {
        let part = one(words, element(to), element(from), raw, mode.of(place))?;
        result |= part << (place * narrow);
    }
    Folded::new(result, to)
}

/// How a number that does not fit is rounded.
#[derive(Clone, Copy)]
enum Mode {
    To(Rounding),
    /// By the carry out of random bits added to what is cut off.
    Random(u128),
}

impl Mode {
    /// The random bits of a place.
    fn of(self, place: u16) -> Self {
        match self {
            Self::Random(bits) => Self::Random(bits >> (16 * place) & mask(16)),
            same => same,
        }
    }
}

fn one(words: &Words, to: ScalarType, from: ScalarType, raw: u128, mode: Mode) -> Option<u128> {
    if from == ScalarType::Ue8m0 {
        return widened_scale(to, raw);
    }
    let format = Format::stored(from)?;
    if to == ScalarType::Ue8m0 {
        return scale(words, format.decode(raw), mode);
    }
    let target = Format::stored(to)?;
    let Some(number) = format.decode(raw) else {
        // Elsewhere the result is a NaN, and which one is not said.
        let finite = words.has(SATFINITE) && target.is_all_numbers();
        return finite.then_some(target.infinity() - 1);
    };
    let greatest = target.infinity() - 1;
    let beyond = target.decode(greatest)?.compare(number.magnitude()) == Ordering::Less;
    let bits = match mode {
        _ if beyond && words.has(SATFINITE) => {
            greatest | if number.negative { target.sign() } else { 0 }
        }
        Mode::To(rounding) => target.encode(number, rounding),
        Mode::Random(random) if from == ScalarType::F32 => random_rounded(to, raw, random)?,
        Mode::Random(_) => return None,
    };
    match words.has(RELU) && bits & target.sign() != 0 {
        false => Some(bits),
        // Whether -0 counts as negative is not defined.
        true => (bits != target.sign()).then_some(0),
    }
}

/// Single precision to half as wide, where the cut-off bits of the input are those of the result.
fn random_rounded(to: ScalarType, raw: u128, random: u128) -> Option<u128> {
    // How many bits go, and the difference of the exponents of one.
    let (cut, bias) = match to {
        ScalarType::F16 => (13, 127 - 15),
        ScalarType::Bf16 => (16, 0),
        _ => return None,
    };
    let target = Format::of(to)?;
    let sign = raw >> 16 & target.sign();
    let magnitude = raw & mask(31);
    if magnitude == 0 || magnitude == 0x7f80_0000 {
        return Some(sign | if magnitude == 0 { 0 } else { target.infinity() });
    }
    let moved = magnitude.checked_sub(bias << 23)?;
    if bias != 0 && moved >> 23 == 0 {
        return None;
    }
    let rounded = (moved + (random & mask(cut))) >> cut;
    (rounded < target.infinity()).then_some(sign | rounded)
}

/// A power of two, its exponent alone. What has no sign, no zero and no infinity takes none of these.
fn scale(words: &Words, number: Option<Number>, mode: Mode) -> Option<u128> {
    const LEAST: i32 = -127;
    const MOST: i32 = 127;
    let Some(number) = number else {
        return Some(0xff);
    };
    if number.negative {
        return None;
    }
    let top = match number.size {
        Magnitude::Infinite => MOST + 1,
        Magnitude::Finite(0, _) => return None,
        Magnitude::Finite(mantissa, exponent) => {
            let whole = mantissa.is_power_of_two();
            let up = match mode {
                Mode::To(Rounding::Zero) => false,
                Mode::To(Rounding::Up) => !whole,
                _ => return None,
            };
            mantissa.ilog2() as i32 + exponent + i32::from(up)
        }
    };
    match top {
        ..LEAST => {
            // Upwards the least power is next.
            let up = matches!(mode, Mode::To(Rounding::Up));
            up.then_some(0)
        }
        LEAST..=MOST => Some((top - LEAST) as u128),
        _ => words.has(SATFINITE).then_some((MOST - LEAST) as u128),
    }
}

fn widened_scale(to: ScalarType, raw: u128) -> Option<u128> {
    if raw == 0xff {
        return None;
    }
    let number = Number {
        negative: false,
        size: Magnitude::Finite(1, raw as i32 - 127),
    };
    Some(Format::of(to)?.encode(number, Rounding::Zero))
}

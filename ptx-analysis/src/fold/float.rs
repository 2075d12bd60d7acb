//! Floating-point arithmetic where IEEE 754 fixes the result: sections 9.7.3 to 9.7.5.

use super::exact_float::{Magnitude, Number};
use super::float_format::Format;
use super::minmax::extreme;
use super::modifiers::{FTZ, NAN, RELU, SAT, Words};
use super::rounding::Rounding;
use super::{Folded, element};
use alloc::vec::Vec;
use ptx_isa::{Modifier, Opcode, ScalarType};

pub(super) fn arithmetic(opcode: Opcode, words: &Words, operands: &[u128]) -> Option<Folded> {
    words.flags_within(FTZ | SAT | NAN | RELU)?;
    let ty = words.ty(0)?;
    if words.ty(2).is_some() || words.logic.is_some() {
        return None;
    }
    let format = Format::of(element(ty))?;
    // All operands but the last may be of a narrower type.
    let first = match words.ty(1) {
        Some(short) => Format::of(short)?,
        None => format,
    };
    let width = element(ty).bits();
    let mut result = 0;
    for lane in 0..u16::from(ty.lanes().max(1)) {
        let shift = lane * width;
        let lane: Vec<u128> = (operands.iter())
            .map(|&raw| raw >> shift & super::mask(width))
            .collect();
        let value = match (opcode, lane.as_slice(), words.ty(1)) {
            (Opcode::Testp, &[a], None) => {
                return Folded::new(test(words, format, a)?.into(), ScalarType::Pred);
            }
            (Opcode::Abs | Opcode::Neg, &[a], None) => sign(opcode, words, format, a)?,
            (Opcode::Copysign, &[a, b], None) => {
                words.only(0)?;
                // The sign is that of the first operand, the rest that of the second.
                (!format.is_nan(b)).then_some((b & !format.sign()) | (a & format.sign()))?
            }
            (Opcode::Min | Opcode::Max, lane, None) => extreme(opcode, words, format, lane)?,
            (_, lane, _) => rounded(opcode, words, [first, format], lane)?,
        };
        result |= value << shift;
    }
    Folded::new(result, ty)
}

fn test(words: &Words, format: Format, a: u128) -> Option<bool> {
    let [Some(what), None] = words.choice else {
        return None;
    };
    let magnitude = a & (format.sign() - 1);
    let (nan, infinite) = (format.is_nan(a), magnitude == format.infinity());
    Some(match what {
        Modifier::Finite => !nan && !infinite,
        Modifier::Infinite => infinite,
        Modifier::Number => !nan,
        Modifier::Notanumber => nan,
        // Zero counts as normal.
        Modifier::Normal => !nan && !infinite && !format.is_subnormal(a),
        Modifier::Subnormal => format.is_subnormal(a),
        _ => return None,
    })
}

/// Changes only the sign. The result for a NaN is not defined.
fn sign(opcode: Opcode, words: &Words, format: Format, a: u128) -> Option<u128> {
    words.only(FTZ)?;
    if words.choice != [None, None] || format.is_nan(a) {
        return None;
    }
    let a = if words.has(FTZ) { format.flush(a) } else { a };
    Some(if opcode == Opcode::Abs {
        a & !format.sign()
    } else {
        a ^ format.sign()
    })
}

/// `formats` are those of the first operands and of the last, which is that of the result.
fn rounded(
    opcode: Opcode,
    words: &Words,
    [first, format]: [Format; 2],
    operands: &[u128],
) -> Option<u128> {
    words.flags_within(FTZ | SAT | RELU)?;
    let numbers = match words.choice {
        [None, None] => false,
        // The NaN for a value out of bounds is not defined; without one the modifier has no effect.
        [Some(Modifier::Oob), None] => true,
        _ => return None,
    };
    let rounding = match words.rounding {
        Some(modifier) => match Rounding::of(modifier)? {
            (rounding, false) => rounding,
            _ => return None,
        },
        // Without a modifier these may be fused or approximated on some targets.
        None if matches!(opcode, Opcode::Add | Opcode::Sub | Opcode::Mul) => Rounding::Nearest,
        // Old versions have these without a modifier; in single precision they are approximate.
        None if words.ty(0) == Some(ScalarType::F64) => Rounding::Nearest,
        None => return None,
    };
    // Double precision is never flushed.
    let ftz = words.has(FTZ) && Format::of(ScalarType::F64) != Some(format);
    let number = |i: usize| {
        let of = if i + 1 < operands.len() {
            first
        } else {
            format
        };
        let &bits = operands.get(i)?;
        of.decode(if ftz { of.flush(bits) } else { bits })
    };
    if numbers && (0..operands.len()).any(|i| number(i).is_none()) {
        return None;
    }
    let one = Number {
        negative: false,
        size: Magnitude::Finite(1, 0),
    };
    let exact = match (opcode, operands.len()) {
        (Opcode::Add, 2) => (|| number(0)?.add(number(1)?, rounding))(),
        (Opcode::Sub, 2) => (|| number(0)?.add(number(1)?.negate(), rounding))(),
        (Opcode::Mul, 2) => (|| number(0)?.mul(number(1)?))(),
        (Opcode::Fma | Opcode::Mad, 3) => {
            (|| number(0)?.mul(number(1)?)?.add(number(2)?, rounding))()
        }
        (Opcode::Div, 2) => (|| number(0)?.div(number(1)?))(),
        (Opcode::Rcp, 1) => number(0).and_then(|n| one.div(n)),
        (Opcode::Sqrt, 1) => number(0).and_then(Number::sqrt),
        _ => return None,
    };
    // A NaN is saturated to zero.
    let Some(exact) = exact else {
        return words.has(SAT).then_some(0);
    };
    let bits = finish(format, exact, rounding, ftz, words.has(SAT))?;
    match words.has(RELU) && bits & format.sign() != 0 {
        false => Some(bits),
        // Whether -0 counts as negative is not defined.
        true => (bits != format.sign()).then_some(0),
    }
}

/// Rounds, flushes and saturates.
pub(super) fn finish(
    format: Format,
    exact: Number,
    rounding: Rounding,
    ftz: bool,
    sat: bool,
) -> Option<u128> {
    let mut bits = format.encode(exact, rounding);
    if ftz && format.is_tiny(exact) {
        // Whether a number that is rounded up to the least normal one counts as subnormal is not defined.
        if !format.is_subnormal(bits) && bits & (format.sign() - 1) != 0 {
            return None;
        }
        bits &= format.sign();
    }
    if sat {
        let one = format.encode(
            Number {
                negative: false,
                size: Magnitude::Finite(1, 0),
            },
            Rounding::Zero,
        );
        if bits == format.sign() {
            // The sign of a saturated zero is not defined.
            return None;
        }
        bits = if bits & format.sign() != 0 {
            0
        } else {
            bits.min(one)
        };
    }
    Some(bits)
}

//! Floating-point arithmetic where IEEE 754 fixes the result: sections 9.7.3 and 9.7.4.

use super::soft::{Format, Number, Rounding, Size};
use super::words::{FTZ, NAN, SAT, Words};
use super::{Folded, element};
use core::cmp::Ordering;
use ptx_isa::{Modifier, Opcode, ScalarType};

pub(super) fn arithmetic(opcode: Opcode, words: &Words, operands: &[u128]) -> Option<Folded> {
    words.flags_within(FTZ | SAT | NAN)?;
    let ty = words.ty(0)?;
    if words.ty(1).is_some() || words.logic.is_some() {
        return None;
    }
    let format = Format::of(element(ty))?;
    let width = element(ty).bits();
    let mut result = 0;
    for lane in 0..u16::from(ty.lanes().max(1)) {
        let shift = lane * width;
        let at = |i: usize| {
            operands
                .get(i)
                .map(|&raw| raw >> shift & super::mask(width))
        };
        let lane = [at(0)?, at(1).unwrap_or(0), at(2).unwrap_or(0)];
        let value = match opcode {
            Opcode::Testp => {
                return Folded::new(test(words, format, lane[0])?.into(), ScalarType::Pred);
            }
            Opcode::Abs | Opcode::Neg | Opcode::Copysign => sign(opcode, words, format, lane)?,
            Opcode::Min | Opcode::Max => extreme(opcode, words, format, lane, operands.len())?,
            _ => rounded(opcode, words, format, lane)?,
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

/// Only the sign changes. What becomes of the bits of a NaN is left open, but for `copysign`.
fn sign(opcode: Opcode, words: &Words, format: Format, [a, b, _]: [u128; 3]) -> Option<u128> {
    words.only(FTZ)?;
    if opcode == Opcode::Copysign {
        // The sign is that of the first operand, the rest that of the second.
        return (!format.is_nan(b)).then_some((b & !format.sign()) | (a & format.sign()));
    }
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

/// The other operand in place of a NaN; -0 is below +0.
fn extreme(
    opcode: Opcode,
    words: &Words,
    format: Format,
    [a, b, _]: [u128; 3],
    count: usize,
) -> Option<u128> {
    words.only(FTZ | NAN)?;
    if words.choice != [None, None] || count != 2 {
        return None;
    }
    let flush = |x| if words.has(FTZ) { format.flush(x) } else { x };
    let (a, b) = (flush(a), flush(b));
    let (x, y) = match (format.decode(a), format.decode(b)) {
        (Some(x), Some(y)) => (x, y),
        _ if words.has(NAN) => return None,
        (Some(_), None) => return Some(a),
        (None, Some(_)) => return Some(b),
        (None, None) => return None,
    };
    let order = x.compare(y).then(y.negative.cmp(&x.negative));
    Some(if (order == Ordering::Less) == (opcode == Opcode::Min) {
        a
    } else {
        b
    })
}

fn rounded(opcode: Opcode, words: &Words, format: Format, lane: [u128; 3]) -> Option<u128> {
    words.flags_within(FTZ | SAT)?;
    if words.choice != [None, None] {
        return None;
    }
    let rounding = match words.rounding {
        Some(modifier) => match Rounding::of(modifier)? {
            (rounding, false) => rounding,
            _ => return None,
        },
        // Without a word these may be merged or approximated on some targets.
        None if matches!(opcode, Opcode::Add | Opcode::Sub | Opcode::Mul) => Rounding::Nearest,
        None => return None,
    };
    let flush = |x| if words.has(FTZ) { format.flush(x) } else { x };
    let number = |i: usize| format.decode(flush(lane[i]));
    let one = Number {
        negative: false,
        size: Size::Finite(1, 0),
    };
    let exact = match opcode {
        Opcode::Add => number(0)?.add(number(1)?, rounding)?,
        Opcode::Sub => number(0)?.add(number(1)?.negate(), rounding)?,
        Opcode::Mul => number(0)?.mul(number(1)?)?,
        Opcode::Fma | Opcode::Mad => number(0)?.mul(number(1)?)?.add(number(2)?, rounding)?,
        Opcode::Div => number(0)?.div(number(1)?)?,
        Opcode::Rcp => one.div(number(0)?)?,
        Opcode::Sqrt => number(0)?.sqrt()?,
        _ => return None,
    };
    finish(format, exact, rounding, words.has(FTZ), words.has(SAT))
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
        // Whether a number that is rounded up to the least normal one counts as subnormal is left open.
        if !format.is_subnormal(bits) && bits & (format.sign() - 1) != 0 {
            return None;
        }
        bits &= format.sign();
    }
    if sat {
        let one = format.encode(
            Number {
                negative: false,
                size: Size::Finite(1, 0),
            },
            Rounding::Zero,
        );
        if bits == format.sign() {
            // The sign of a saturated zero is left open.
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

//! Conversion: sections 9.7.9.21 and 9.7.9.22.

use super::exact_float::Number;
use super::float::finish;
use super::float_format::Format;
use super::integer::Int;
use super::modifiers::{FTZ, RELU, SAT, SATFINITE, Words};
use super::rounding::Rounding;
use super::{Folded, mask, narrow_float};
use ptx_isa::{Modifier, ScalarType};

pub(super) fn cvt(words: &Words, operands: &[u128]) -> Option<Folded> {
    if words.choice == [Some(Modifier::Pack), None] {
        return pack(words, operands);
    }
    let random = words.choice == [Some(Modifier::Rs), None];
    if random || words.has(RELU | SATFINITE) || words.types().any(|ty| ty.lanes() > 1) {
        return narrow_float::cvt(words, operands);
    }
    words.flags_within(FTZ | SAT)?;
    let (&[a], None, [None, None], None) = (operands, words.ty(2), words.choice, words.logic)
    else {
        return None;
    };
    let (to, from) = (words.ty(0)?, words.ty(1)?);
    let rounding = match words.rounding {
        Some(modifier) => Some(Rounding::of(modifier)?),
        None => None,
    };
    let a = a & mask(from.bits());
    // It is single precision alone that is flushed.
    let flushed = |ty: ScalarType| words.has(FTZ) && ty == ScalarType::F32;
    let finish =
        |format, number, rounding| finish(format, number, rounding, flushed(to), words.has(SAT));
    let decode = |format: Format| format.decode(if flushed(from) { format.flush(a) } else { a });
    let bits = match (
        Int::of(to),
        Int::of(from),
        Format::of(to),
        Format::of(from),
        rounding,
    ) {
        (Some(to), Some(from), _, _, None) => {
            let value = from.value(a);
            (if words.has(SAT) {
                to.clamp(value)
            } else {
                value
            }) as u128
        }
        (_, Some(from), Some(to), _, Some((rounding, false))) => {
            finish(to, Number::integer(from.value(a)), rounding)?
        }
        // What does not fit is clamped, with or without `.sat`.
        (Some(to), _, _, Some(format), Some((rounding, true))) => match decode(format) {
            Some(number) => to.clamp(number.to_integer(rounding).saturate()) as u128,
            None if from != ScalarType::F64 && to.bits < 64 => 0,
            None => 1 << (to.bits - 1),
        },
        (_, _, Some(_), Some(format), _) if words.has(SAT) && format.is_nan(a) => 0,
        (_, _, Some(to), Some(from), Some((rounding, integral))) => {
            let number = decode(from)?;
            finish(
                to,
                if integral {
                    number.to_integer(rounding)
                } else {
                    number
                },
                rounding,
            )?
        }
        // Widening, or the same format: exact, so that every direction gives the same.
        (_, _, Some(to), Some(from), None) => {
            let down = finish(to, decode(from)?, Rounding::Down)?;
            let up = finish(to, decode(from)?, Rounding::Up)?;
            (down == up).then_some(down)?
        }
        _ => return None,
    };
    Folded::new(bits, words.ty(0)?)
}

/// Two numbers saturated and put side by side, the second lowest; what is left is filled from the third operand.
fn pack(words: &Words, operands: &[u128]) -> Option<Folded> {
    words.only(SAT)?;
    let (to, from) = (Int::of(words.ty(0)?)?, Int::of(words.ty(1)?)?);
    let (&[a, b], rest) = operands.split_first_chunk()?;
    let filler = match (words.ty(2), rest) {
        (None, []) if 2 * to.bits == 32 => 0,
        (Some(_), &[c]) if 2 * to.bits < 32 => c,
        _ => return None,
    };
    let part = |raw| to.clamp(from.value(raw)) as u128 & mask(to.bits);
    Folded::new(
        filler << (2 * to.bits) | part(a) << to.bits | part(b),
        ScalarType::U32,
    )
}

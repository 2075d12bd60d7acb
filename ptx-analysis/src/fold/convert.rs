//! Conversion: section 9.7.9.21.

use super::float::finish;
use super::integer::Int;
use super::soft::{Format, Number, Rounding, Size, round};
use super::words::{FTZ, SAT, Words};
use super::{Folded, mask};

pub(super) fn cvt(words: &Words, operands: &[u128]) -> Option<Folded> {
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
            finish(words, to, Number::integer(from.value(a)), rounding)?
        }
        (Some(to), _, _, Some(from), Some((rounding, true))) => {
            let a = if words.has(FTZ) { from.flush(a) } else { a };
            let number = from.decode(a)?;
            let Size::Finite(mantissa, exponent) = number.size else {
                return None;
            };
            // Far too large: the manual clamps, and it is checked below that it fits.
            if exponent > 64 {
                return None;
            }
            let magnitude = round(mantissa, -exponent, number.negative, rounding) as i128;
            let value = if number.negative {
                -magnitude
            } else {
                magnitude
            };
            // Out of range: refused.
            if value != to.clamp(value) {
                return None;
            }
            value as u128
        }
        (_, _, Some(to), Some(from), rounding) => {
            let a = if words.has(FTZ) { from.flush(a) } else { a };
            let number = from.decode(a)?;
            match rounding {
                Some((rounding, true)) => finish(words, to, number.to_integer(rounding), rounding)?,
                Some((rounding, false)) => finish(words, to, number, rounding)?,
                // Widening, or the same format: exact in any direction; refused if not.
                None => {
                    let (down, up) = (Rounding::Down, Rounding::Up);
                    let bits = finish(words, to, number, down)?;
                    (bits == finish(words, to, number, up)?).then_some(bits)?
                }
            }
        }
        _ => return None,
    };
    Folded::new(bits, words.ty(0)?)
}

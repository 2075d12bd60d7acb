//! The bits of floating-point results.

use super::exact_float::{Magnitude, Number};
use super::float_format::Format;
use super::rounding::Rounding;

/// Rounds, flushes and saturates. As in ptxas, a number is flushed that is subnormal after it was rounded as if exponents had no limit, and a
/// saturated zero is positive.
pub(super) fn finish(
    format: Format,
    exact: Number,
    rounding: Rounding,
    ftz: bool,
    sat: bool,
) -> Option<u128> {
    let mut bits = match format.power(exact, rounding) {
        Some(bits) => bits,
        None => format.encode(exact, rounding)?,
    };
    if ftz && format.is_tiny(exact) && !becomes_normal(format, exact, rounding)? {
        bits &= format.sign();
    }
    if sat {
        let one = format.encode(
            Number {
                negative: false,
                size: Magnitude::Finite(1, 0),
            },
            Rounding::Zero,
        )?;
        bits = if bits & format.sign() != 0 {
            0
        } else {
            bits.min(one)
        };
    }
    Some(bits)
}

/// Whether a number below the normal ones is rounded up to one of them, with as many digits as those have.
fn becomes_normal(format: Format, exact: Number, rounding: Rounding) -> Option<bool> {
    let Magnitude::Finite(mantissa, exponent) = exact.size else {
        return Some(false);
    };
    if exact.exponent() != Some(format.least_exponent() - 1) {
        return Some(false);
    }
    // The double is a normal number, so it is rounded to all digits.
    let twice = Number {
        size: Magnitude::Finite(mantissa, exponent + 1),
        ..exact
    };
    let rounded = format.decode(format.encode(twice, rounding)?)?;
    Some(rounded.exponent() > Some(format.least_exponent()))
}

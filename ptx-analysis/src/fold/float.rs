//! The bits of floating-point results.

use super::exact_float::{Magnitude, Number};
use super::float_format::Format;
use super::rounding::Rounding;

/// Rounds, flushes and saturates.
pub(super) fn finish(
    format: Format,
    exact: Number,
    rounding: Rounding,
    ftz: bool,
    sat: bool,
) -> Option<u128> {
    let mut bits = format.encode(exact, rounding)?;
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
        )?;
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

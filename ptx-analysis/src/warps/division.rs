//! Divisions of the integers of the lanes of a warp.

use super::number::{Assumed, Number, ones, zip};

/// The quotient or the remainder of a division that is truncated towards zero.
pub(super) fn division(is_remainder: bool, a: Number, b: Number) -> Option<Number> {
    let (a, b) = (a.exact(), b.exact());
    let assumed = a.assumed.and(b.assumed);
    if a.is_known() && b.is_known() {
        if b.offsets.contains(&0) {
            return None;
        }
        let divide = if is_remainder {
            i128::wrapping_rem
        } else {
            i128::wrapping_div
        };
        let offsets = zip(&a.offsets, &b.offsets, divide);
        return Some(Number::known(offsets).assuming(assumed));
    }
    let divisor = b
        .single()
        .filter(|divisor| *divisor > 0 && divisor.count_ones() == 1);
    let is_positive = || {
        a.ranges()
            .is_some_and(|ranges| ranges.iter().all(|range| range.0 >= 0))
    };
    if let Some(divisor) = divisor
        && is_positive()
    {
        let length = divisor.trailing_zeros();
        let result = if is_remainder {
            Some(a.truncated(length, false))
        } else {
            a.shifted_right(length)
        };
        if let Some(result) = result {
            return Some(result.assuming(assumed));
        }
    }
    if a.is_uniform() && b.is_uniform() {
        return Some(Number::uniform(u128::MAX).assuming(assumed));
    }
    if !b.is_uniform() || a.inverted != 0 {
        return None;
    }
    likely_division(is_remainder, a, b)
}

/// The quotient or the remainder of a division by a number that is the same in all lanes, where the quotient is the same in all lanes, too. That is certain if all
/// lanes are in the same block of a size that divides the divisor, and else assumed.
pub(super) fn likely_division(is_remainder: bool, a: Number, b: Number) -> Option<Number> {
    let least = a.offsets.iter().min().copied()?;
    let greatest = a.offsets.iter().max().copied()?;
    if b.single()
        .is_some_and(|divisor| divisor <= greatest - least)
    {
        return None;
    }
    let common_zeros = a.base.trailing_zeros();
    let divisor_zeros = (b.base | b.offsets[0] as u128 | b.inverted).trailing_zeros();
    let block = common_zeros.min(divisor_zeros).min(64);
    let is_certain = least >= 0 && greatest < 1 << block;
    let assumed = a.assumed.and(b.assumed).and(Assumed {
        same_quotient: !is_certain,
        ..Assumed::NOTHING
    });
    let number = if is_remainder {
        Number {
            base: !ones(block),
            bits: 128,
            ..a
        }
    } else {
        Number::uniform(u128::MAX)
    };
    Some(number.assuming(assumed))
}

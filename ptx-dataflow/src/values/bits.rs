//! Bitwise operations and fields of integers that are not known.

use ptx_isa::ExprFunction as Function;
use ptx_isa::internals::Expr;

use super::affine::Need;
use super::alignment::Alignment;
use super::evaluate::{Scope, difference, sum};
use super::interval::Interval;
use super::number::Number;

impl Scope<'_, '_> {
    pub(super) fn bitwise(
        &mut self,
        function: Function,
        a: &Expr,
        b: &Expr,
        need: Need,
    ) -> Option<Number> {
        let (x, y) = (self.number(a, need)?, self.number(b, need)?);
        if let (Some(x), Some(y)) = (x.range.single(), y.range.single()) {
            return Some(Number::constant(match function {
                Function::And => x & y,
                Function::Or => x | y,
                _ => x ^ y,
            }));
        }
        if function == Function::And {
            return Some(match (x.range.single(), y.range.single()) {
                (Some(mask), _) => Self::masked(y, mask, need),
                (_, Some(mask)) => Self::masked(x, mask, need),
                _ => intersection(x, y),
            });
        }
        let disjoint = match (x.possible_bits(), y.possible_bits()) {
            (Some(x), Some(y)) => x & y == 0,
            _ => false,
        };
        if disjoint {
            return Some(sum(x, y, need));
        }
        if let (Function::Xor, Some(-1)) = (function, y.range.single()) {
            return Some(difference(y, x, need));
        }
        let range = match (x.possible_bits(), y.possible_bits()) {
            (Some(a), Some(b)) if (a | b) <= i128::MAX as u128 => {
                let least = match function {
                    Function::Or => x.range.min.max(y.range.min),
                    _ => 0,
                };
                Interval::new(least, (a | b) as i128)
            }
            _ => signed_range(x.range.join(y.range)),
        };
        let low = x.low.combined(y.low, |a, b| match function {
            Function::Or => a | b,
            _ => a ^ b,
        });
        Some(Number::new(None, range, low, need))
    }

    /// The bitwise and with a constant.
    fn masked(x: Number, mask: i128, need: Need) -> Number {
        let low = x.low.masked(mask as u64);
        let range = match (mask >= 0, x.range.min >= 0) {
            (true, true) => Interval::new(0, mask.min(x.range.max)),
            (true, false) => Interval::new(0, mask),
            (false, true) => Interval::new(0, x.range.max),
            (false, false) => signed_range(x.range.join(Interval::only(mask))),
        };
        // Where only low bits that are known are removed, the result is a difference.
        let zeros = mask.trailing_zeros();
        let only_low = match x.possible_bits() {
            Some(bits) => (bits & !(mask as u128)).checked_shr(zeros).unwrap_or(0) == 0,
            None => mask < 0 && (!mask as u128 + 1).is_power_of_two(),
        };
        if only_low && zeros < 64 && u32::from(x.low.bits) >= zeros {
            let removed = x.low.truncated(zeros).residue;
            return difference(x, Number::constant(removed.into()), need);
        }
        Number::new(None, range, low, need)
    }

    /// The low bits of an integer, with or without a sign.
    pub(super) fn low_field(
        &mut self,
        a: &Expr,
        bits: u16,
        signed: bool,
        need: Need,
    ) -> Option<Number> {
        let x = self.number(a, need)?;
        let all = Interval::of_bits(bits, signed);
        if all.includes(x.range) {
            return Some(x);
        }
        let enough = matches!(need, Need::Low(needed) if needed <= bits);
        let form = x.form.filter(|_| enough);
        let low = x.low.truncated(bits.into());
        Some(Number::new(
            form,
            x.range.truncated(bits, signed),
            low,
            need,
        ))
    }

    /// The value of an expression that is a constant number of bits.
    fn constant_bits(&mut self, expr: &Expr) -> Option<u16> {
        let number = self.number(expr, Need::Exact)?;
        u16::try_from(number.range.single()?).ok()
    }

    /// A bit field of an integer, with or without a sign.
    pub(super) fn field(
        &mut self,
        signed: bool,
        a: &Expr,
        position: &Expr,
        length: &Expr,
        need: Need,
    ) -> Option<Number> {
        let position = self.constant_bits(position);
        let length = self.constant_bits(length).filter(|n| *n <= 64);
        match (position, length) {
            (_, Some(0)) => Some(Number::constant(0)),
            (Some(0), Some(length)) => self.low_field(a, length, signed, need),
            (Some(position @ ..64), Some(length)) => {
                let x = self.number(a, Need::Exact)?;
                let all = Interval::of_bits(length, signed);
                let shifted = Interval::new(x.range.min >> position, x.range.max >> position);
                let low = x
                    .low
                    .shifted_right(position.into())
                    .truncated(length.into());
                if !all.includes(shifted) {
                    return Some(Number::new(None, all, low, need));
                }
                let form = x.form.and_then(|f| f.divided(position.into()));
                Some(Number::new(form, shifted, low, need))
            }
            _ => Some(Number::within(Interval::of_bits(64, signed))),
        }
    }
}

/// The bitwise and of two unknown integers.
fn intersection(x: Number, y: Number) -> Number {
    let range = match (x.range.min >= 0, y.range.min >= 0) {
        (true, true) => Interval::new(0, x.range.max.min(y.range.max)),
        (true, false) => Interval::new(0, x.range.max),
        (false, true) => Interval::new(0, y.range.max),
        _ => signed_range(x.range.join(y.range)),
    };
    let zeros = x.low.zeros().max(y.low.zeros());
    let low = x.low.combined(y.low, |a, b| a & b);
    Number {
        form: None,
        range,
        low: low.better(Alignment::new(zeros, 0)),
    }
}

/// The integers with a sign that have no more bits than those of an interval.
fn signed_range(range: Interval) -> Interval {
    let bits = [range.min, range.max].map(|value| 129 - (value ^ (value >> 127)).leading_zeros());
    Interval::of_bits(bits[0].max(bits[1]) as u16, true)
}

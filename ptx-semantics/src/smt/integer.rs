//! Exact integers as bit vectors with the range of their values.

use super::NotExpressible;
use super::term::{Bits, Term, Terms};
use crate::fold::value::{Exact, exact, low, ones};
use alloc::format;
use alloc::string::String;
use bnum::cast::CastFrom;

/// The width of the widest bit vector.
const MOST_BITS: u32 = 255;

/// A bit vector that holds an integer: in two's complement if the integer may be negative, otherwise without a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Integer {
    pub(super) bits: Bits,
    /// The least value.
    pub(super) low: Exact,
    /// The greatest value.
    pub(super) high: Exact,
}

impl Integer {
    pub(super) fn is_constant(self) -> bool {
        self.low == self.high
    }

    pub(super) fn is_signed(self) -> bool {
        self.low < exact(0)
    }

    /// The greatest absolute value.
    fn magnitude(self) -> Exact {
        self.high.max(self.low.wrapping_neg())
    }
}

/// The width of a bit vector for the integers of a range.
pub(super) fn width(low: Exact, high: Exact) -> u32 {
    let length = |x: Exact| 256 - x.leading_zeros();
    if low < exact(0) {
        1 + length(high.max(exact(0))).max(length(!low))
    } else {
        length(high).max(1)
    }
}

/// The value, unless the integer is too wide.
fn representable(value: Option<Exact>) -> Result<Exact, NotExpressible> {
    value.ok_or(NotExpressible::Wide)
}

/// Operations on exact integers.
impl Terms {
    /// A constant bit vector with the lowest bits of a value.
    pub(super) fn literal(&mut self, value: Exact, width: u32) -> Bits {
        let value = value & ones(width);
        let text = if width.is_multiple_of(4) {
            let digits: String = (0..width / 4)
                .rev()
                .map(|index| format!("{:x}", low(value.wrapping_shr(4 * index)) & 15))
                .collect();
            format!("#x{digits}")
        } else if width > 8 && value == Exact::cast_from(low(value)) {
            format!("(_ bv{} {width})", low(value))
        } else {
            let digits: String = (0..width)
                .rev()
                .map(|index| format!("{}", low(value.wrapping_shr(index)) & 1))
                .collect();
            format!("#b{digits}")
        };
        let term = self.leaf(text);
        Bits { term, width }
    }

    /// A constant integer.
    pub(super) fn constant(&mut self, value: Exact) -> Integer {
        let bits = self.literal(value, width(value, value));
        Integer {
            bits,
            low: value,
            high: value,
        }
    }

    /// 1 if a condition is true, and 0 otherwise.
    pub(super) fn zero_or_one(&mut self, condition: Term) -> Integer {
        let (one, zero) = (self.constant(exact(1)), self.constant(exact(0)));
        self.select(condition, one, zero)
    }

    /// The unsigned integer with these bits.
    pub(super) fn natural(bits: Bits) -> Integer {
        Integer {
            bits,
            low: exact(0),
            high: ones(bits.width),
        }
    }

    /// The integer with these bits in two's complement.
    pub(super) fn signed(bits: Bits) -> Integer {
        let high = ones(bits.width - 1);
        Integer {
            bits,
            low: !high,
            high,
        }
    }

    /// The lowest bits of an integer.
    pub(super) fn resize(&mut self, integer: Integer, width: u32) -> Bits {
        if integer.is_constant() {
            self.literal(integer.low, width)
        } else {
            self.extend(integer.bits, integer.is_signed(), width)
        }
    }

    /// The integer with these bits and the range from `low` to `high`, which may be smaller than that of the bits.
    pub(super) fn narrowed(&mut self, bits: Bits, low: Exact, high: Exact) -> Integer {
        if low == high {
            return self.constant(low);
        }
        let bits = self.extract(bits, 0, width(low, high).min(bits.width));
        Integer { bits, low, high }
    }

    /// An operation whose lowest bits only depend on the lowest bits of its operands.
    fn modular(
        &mut self,
        head: &'static str,
        operands: &[Integer],
        low: Exact,
        high: Exact,
    ) -> Result<Integer, NotExpressible> {
        let width = width(low, high);
        if width > MOST_BITS {
            return Err(NotExpressible::Wide);
        }
        if low == high {
            return Ok(self.constant(low));
        }
        let bits = match *operands {
            [a] => {
                let a = self.resize(a, width);
                self.bits(head, &[a], width)
            }
            [a, b] => {
                let (a, b) = (self.resize(a, width), self.resize(b, width));
                self.bits(head, &[a, b], width)
            }
            _ => return Err(NotExpressible::Wide),
        };
        Ok(Integer { bits, low, high })
    }

    pub(super) fn add(&mut self, a: Integer, b: Integer) -> Result<Integer, NotExpressible> {
        let low = representable(a.low.checked_add(b.low))?;
        let high = representable(a.high.checked_add(b.high))?;
        self.modular("bvadd", &[a, b], low, high)
    }

    pub(super) fn sub(&mut self, a: Integer, b: Integer) -> Result<Integer, NotExpressible> {
        let low = representable(a.low.checked_sub(b.high))?;
        let high = representable(a.high.checked_sub(b.low))?;
        self.modular("bvsub", &[a, b], low, high)
    }

    pub(super) fn mul(&mut self, a: Integer, b: Integer) -> Result<Integer, NotExpressible> {
        let (low, high) = corners(a, b, |x, y| x.checked_mul(y))?;
        self.modular("bvmul", &[a, b], low, high)
    }

    pub(super) fn negate(&mut self, a: Integer) -> Result<Integer, NotExpressible> {
        let (low, high) = (a.high.wrapping_neg(), a.low.wrapping_neg());
        self.modular("bvneg", &[a], low, high)
    }

    pub(super) fn invert(&mut self, a: Integer) -> Result<Integer, NotExpressible> {
        self.modular("bvnot", &[a], !a.high, !a.low)
    }

    /// A bitwise operation: `bvand`, `bvor` or `bvxor`.
    pub(super) fn bitwise(
        &mut self,
        head: &'static str,
        a: Integer,
        b: Integer,
    ) -> Result<Integer, NotExpressible> {
        let common_width = width(a.low.min(b.low), a.high.max(b.high));
        let (low, high) = match (a.is_signed(), b.is_signed(), head) {
            (false, false, "bvand") => (exact(0), a.high.min(b.high)),
            (false, true, "bvand") => (exact(0), a.high),
            (true, false, "bvand") => (exact(0), b.high),
            (false, false, _) => (exact(0), ones(common_width)),
            _ => (!ones(common_width - 1), ones(common_width - 1)),
        };
        if let (true, true) = (a.is_constant(), b.is_constant()) {
            return Ok(self.constant(match head {
                "bvand" => a.low & b.low,
                "bvor" => a.low | b.low,
                _ => a.low ^ b.low,
            }));
        }
        let mask = ones(width(low, high));
        for (constant, integer) in [(a, b), (b, a)] {
            if head == "bvand" && constant.is_constant() && constant.low & mask == mask {
                let bits = self.resize(integer, width(low, high));
                return Ok(Integer { bits, low, high });
            }
        }
        self.modular(head, &[a, b], low, high)
    }

    pub(super) fn shift_left(&mut self, a: Integer, n: Integer) -> Result<Integer, NotExpressible> {
        let n = self.amount(n)?;
        if n.high > exact(MOST_BITS.into()) {
            return Err(NotExpressible::Wide);
        }
        let (low, high) = corners(a, n, |x, n| {
            let power = exact(1).wrapping_shl(low(n) as u32);
            (n < exact(MOST_BITS.into()))
                .then(|| x.checked_mul(power))
                .flatten()
        })?;
        self.modular("bvshl", &[a, n], low, high)
    }

    pub(super) fn shift_right(
        &mut self,
        a: Integer,
        n: Integer,
    ) -> Result<Integer, NotExpressible> {
        let n = self.amount(n)?;
        let (low, high) = corners(a, n, |x, n| {
            let n = low(n.min(exact(MOST_BITS.into()))) as u32;
            Some(x.wrapping_shr(n))
        })?;
        if low == high {
            return Ok(self.constant(low));
        }
        let least_amount = crate::fold::value::low(n.low) as u32;
        if n.is_constant() && least_amount < a.bits.width {
            // A shift by a constant selects some of the bits.
            let bits = self.extract(a.bits, least_amount, a.bits.width - least_amount);
            return Ok(self.narrowed(bits, low, high));
        }
        let head = if a.is_signed() { "bvashr" } else { "bvlshr" };
        let common_width = a.bits.width.max(n.bits.width);
        let (a, n) = (self.resize(a, common_width), self.resize(n, common_width));
        let bits = self.bits(head, &[a, n], common_width);
        Ok(self.narrowed(bits, low, high))
    }

    /// The number of bits of a shift: 0 for negative numbers.
    pub(super) fn amount(&mut self, n: Integer) -> Result<Integer, NotExpressible> {
        let zero = self.constant(exact(0));
        Ok(self.greater_of(n, zero))
    }

    /// The quotient, truncated towards zero, or the remainder. The divisor is not zero.
    pub(super) fn divide(&mut self, quotient: bool, a: Integer, b: Integer) -> Integer {
        let is_signed = a.is_signed() || b.is_signed();
        let greatest = if quotient {
            a.magnitude()
        } else {
            let greatest_remainder = b.magnitude().max(exact(1)).wrapping_sub(exact(1));
            a.magnitude().min(greatest_remainder)
        };
        let least = if is_signed {
            greatest.wrapping_neg()
        } else {
            exact(0)
        };
        // The quotient of the least integer and -1 has one bit more.
        let width_with_carry = width(a.low.min(b.low), a.high.max(b.high)) + u32::from(is_signed);
        let head = match (quotient, is_signed) {
            (true, true) => "bvsdiv",
            (true, false) => "bvudiv",
            (false, true) => "bvsrem",
            (false, false) => "bvurem",
        };
        let (a, b) = (
            self.resize(a, width_with_carry),
            self.resize(b, width_with_carry),
        );
        let bits = self.bits(head, &[a, b], width_with_carry);
        self.narrowed(bits, least, greatest)
    }

    pub(super) fn absolute(&mut self, a: Integer) -> Result<Integer, NotExpressible> {
        let zero = self.constant(exact(0));
        let negative = self.less(a, zero);
        let negated = self.negate(a)?;
        let selected = self.select(negative, negated, a);
        Ok(self.narrowed(selected.bits, exact(0), a.magnitude()))
    }

    /// One of two integers, by a condition.
    pub(super) fn select(&mut self, condition: Term, then: Integer, otherwise: Integer) -> Integer {
        match self.decided(condition) {
            Some(true) => return then,
            Some(false) => return otherwise,
            None => {}
        }
        let (low, high) = (then.low.min(otherwise.low), then.high.max(otherwise.high));
        let common_width = width(low, high);
        let (then, otherwise) = (
            self.resize(then, common_width),
            self.resize(otherwise, common_width),
        );
        let bits = self.choose(condition, then, otherwise);
        Integer { bits, low, high }
    }

    pub(super) fn lesser_of(&mut self, a: Integer, b: Integer) -> Integer {
        let less = self.less(a, b);
        let selected = self.select(less, a, b);
        self.narrowed(selected.bits, a.low.min(b.low), a.high.min(b.high))
    }

    pub(super) fn greater_of(&mut self, a: Integer, b: Integer) -> Integer {
        // The term is unchanged if its range determines the result.
        if a.low >= b.high {
            return a;
        }
        let less = self.less(a, b);
        let selected = self.select(less, b, a);
        self.narrowed(selected.bits, a.low.max(b.low), a.high.max(b.high))
    }

    pub(super) fn clamped(&mut self, value: Integer, least: Exact, most: Exact) -> Integer {
        let (least, most) = (self.constant(least), self.constant(most));
        let at_least = self.greater_of(value, least);
        self.lesser_of(at_least, most)
    }

    pub(super) fn equal(&mut self, a: Integer, b: Integer) -> Term {
        if a.is_constant() && b.is_constant() || a.high < b.low || b.high < a.low {
            return self.truth(a.low == b.low);
        }
        let [a, b] = self.aligned(a, b);
        self.apply("=", &[a, b])
    }

    pub(super) fn less(&mut self, a: Integer, b: Integer) -> Term {
        if a.high < b.low || a.low >= b.high {
            return self.truth(a.high < b.low);
        }
        let head = if a.is_signed() || b.is_signed() {
            "bvslt"
        } else {
            "bvult"
        };
        let [a, b] = self.aligned(a, b);
        self.apply(head, &[a, b])
    }

    /// The bit vectors of two integers in the same width.
    fn aligned(&mut self, a: Integer, b: Integer) -> [Term; 2] {
        let common_width = width(a.low.min(b.low), a.high.max(b.high));
        [a, b].map(|x| self.resize(x, common_width).term)
    }
}

/// The least and the greatest value of a function that is monotonic in each argument.
fn corners(
    a: Integer,
    b: Integer,
    function: impl Fn(Exact, Exact) -> Option<Exact>,
) -> Result<(Exact, Exact), NotExpressible> {
    let first = representable(function(a.low, b.low))?;
    let (mut low, mut high) = (first, first);
    for (x, y) in [(a.low, b.high), (a.high, b.low), (a.high, b.high)] {
        let value = representable(function(x, y))?;
        (low, high) = (low.min(value), high.max(value));
    }
    Ok((low, high))
}

//! What happens to the bits of a number after it was rounded.

use super::float::Float;
use super::number::Rounded;
use super::term::{Bits, Terms};
use crate::fold::exact_float::Number;
use crate::fold::float_format::Format;
use crate::fold::rounding::Rounding;

/// A floating-point result.
#[derive(Clone, Copy, Debug)]
pub(super) struct FloatResult {
    pub(super) format: Format,
    pub(super) width: u32,
    /// The bits of what the PTX ISA manual leaves open.
    pub(super) open: Bits,
}

impl FloatResult {
    /// A NaN that is computed: quiet, with any sign and payload.
    pub(super) fn nan(self, terms: &mut Terms) -> Bits {
        let infinity = self.format.infinity();
        let quiet = terms.code(infinity | 1 << (self.format.fraction() - 1), self.width);
        terms.bits("bvor", &[self.open, quiet], self.width)
    }

    /// With zero of the same sign for a number that is less than the normal ones after it was rounded to as many digits as those have.
    pub(super) fn flushed(self, terms: &mut Terms, bits: Bits, rounded: Rounded) -> Bits {
        let sign = terms.code(self.format.sign(), self.width);
        let zero = terms.bits("bvand", &[bits, sign], self.width);
        let is_small = match rounded.unbounded {
            None => terms.apply("fp.isSubnormal", &[rounded.float.term]),
            Some(number) => {
                let magnitude = terms.apply("fp.abs", &[number.term]);
                let least = terms.code(1 << self.format.fraction(), self.width);
                let least = terms.number_of(rounded.float.sort, least);
                let least = terms.converted(least, number.sort);
                terms.apply("fp.lt", &[magnitude, least.term])
            }
        };
        terms.choose(is_small, zero, bits)
    }

    /// With the greatest finite number of the same sign for infinity.
    pub(super) fn finite(self, terms: &mut Terms, bits: Bits, number: Float) -> Bits {
        let sign = terms.code(self.format.sign(), self.width);
        let sign = terms.bits("bvand", &[bits, sign], self.width);
        let greatest = terms.code(self.format.greatest(), self.width);
        let greatest = terms.bits("bvor", &[sign, greatest], self.width);
        let infinite = terms.apply("fp.isInfinite", &[number.term]);
        terms.choose(infinite, greatest, bits)
    }

    /// From 0 to 1; -0 becomes 0.
    pub(super) fn saturated(self, terms: &mut Terms, bits: Bits) -> Bits {
        let one = self.format.encode(Number::integer(1), Rounding::Zero);
        let one = terms.code(one.unwrap_or(0), self.width);
        let above = terms.apply("bvult", &[one.term, bits.term]);
        let most = terms.choose(above, one, bits);
        let negative = terms.bit(bits, self.width - 1);
        let zero = terms.code(0, self.width);
        terms.choose(negative, zero, most)
    }

    /// With 0 for negative numbers. The sign of a zero that was negative is open.
    pub(super) fn not_negative(self, terms: &mut Terms, bits: Bits) -> Bits {
        self.with_zero_for_negative(terms, bits, bits)
    }

    fn with_zero_for_negative(self, terms: &mut Terms, bits: Bits, positive: Bits) -> Bits {
        let negative_zero = terms.code(self.format.sign(), self.width);
        let is_negative_zero = terms.apply("=", &[bits.term, negative_zero.term]);
        let any_zero = terms.bits("bvand", &[self.open, negative_zero], self.width);
        let negative = terms.bit(bits, self.width - 1);
        let zero = terms.code(0, self.width);
        let cut = terms.choose(negative, zero, positive);
        terms.choose(is_negative_zero, any_zero, cut)
    }
}

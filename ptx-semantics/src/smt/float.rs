//! Floating-point terms.

use super::NotExpressible;
use super::integer::Integer;
use super::term::{Bits, Term, Terms};
use crate::fold::float_format::Format;
use crate::fold::value::{Exact, exact, low};
use alloc::format;
use alloc::string::String;
use bnum::cast::CastFrom;
use ptx_isa::ScalarType;

/// A sort `(_ FloatingPoint exponent significand)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FloatSort {
    /// The width of the exponent.
    pub(super) exponent: u32,
    /// The width of the significand, including the hidden bit.
    pub(super) significand: u32,
}

impl FloatSort {
    /// Half precision, which all other formats of IEEE 754 contain.
    pub(super) const HALF: Self = Self {
        exponent: 5,
        significand: 11,
    };

    pub(super) fn of(ty: ScalarType) -> Result<Self, NotExpressible> {
        let format = ieee(ty)?;
        Ok(Self {
            exponent: format.exponent(),
            significand: format.fraction() + 1,
        })
    }

    /// A sort that has the numbers of both sorts.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            exponent: self.exponent.max(other.exponent),
            significand: self.significand.max(other.significand),
        }
    }

    /// The function that converts or reads numbers of this sort.
    fn conversion(self) -> String {
        format!("(_ to_fp {} {})", self.exponent, self.significand)
    }

    /// Whether an integer is a number of this sort.
    fn has_integer(self, value: Exact) -> bool {
        let magnitude = value.max(value.wrapping_neg());
        let length = 256 - magnitude.leading_zeros();
        let greatest_exponent = 1u32 << (self.exponent - 1).min(16);
        length.saturating_sub(magnitude.trailing_zeros()) <= self.significand
            && length <= greatest_exponent
    }
}

/// The format of a type, if SMT-LIB has it.
pub(super) fn ieee(ty: ScalarType) -> Result<Format, NotExpressible> {
    Format::of(ty)
        .filter(|format| format.is_ieee())
        .ok_or(NotExpressible::Construct(
            "a format of numbers that is not one of IEEE 754",
        ))
}

/// A floating-point term.
#[derive(Clone, Copy, Debug)]
pub(super) struct Float {
    pub(super) term: Term,
    pub(super) sort: FloatSort,
    /// The type and the bits of the operand, if the term is an operand.
    pub(super) operand: Option<(ScalarType, Bits)>,
}

impl Float {
    /// The number that bits of a type are. A subnormal number counts as zero if `flush`.
    pub(super) fn read(
        terms: &mut Terms,
        ty: ScalarType,
        bits: Bits,
        flush: bool,
    ) -> Result<Self, NotExpressible> {
        let sort = FloatSort::of(ty)?;
        let mut term = terms.apply(sort.conversion(), &[bits.term]);
        if flush {
            let zero = terms.sign_alone(bits, ty)?;
            let subnormal = terms.apply("fp.isSubnormal", &[term]);
            let flushed = terms.choose(subnormal, zero, bits);
            term = terms.apply(sort.conversion(), &[flushed.term]);
        }
        Ok(Self {
            term,
            sort,
            operand: Some((ty, bits)),
        })
    }

    /// A term of the same sort that is not an operand.
    pub(super) fn replaced(self, term: Term) -> Self {
        Self {
            term,
            operand: None,
            ..self
        }
    }
}

/// Operations on floating-point terms.
impl Terms {
    /// The sign bit of a number in its place. All other bits are zero.
    pub(super) fn sign_alone(
        &mut self,
        number: Bits,
        ty: ScalarType,
    ) -> Result<Bits, NotExpressible> {
        let format = ieee(ty)?;
        let sign_mask = self.code(format.sign(), number.width);
        Ok(self.bits("bvand", &[number, sign_mask], number.width))
    }

    /// The number of a sort that bits are.
    pub(super) fn number_of(&mut self, sort: FloatSort, bits: Bits) -> Float {
        Float {
            term: self.apply(sort.conversion(), &[bits.term]),
            sort,
            operand: None,
        }
    }

    /// A bit vector with this value.
    pub(super) fn code(&mut self, value: u128, width: u32) -> Bits {
        self.literal(Exact::cast_from(value), width)
    }

    /// Converts a number to a sort that has it.
    pub(super) fn converted(&mut self, number: Float, sort: FloatSort) -> Float {
        if number.sort == sort {
            number
        } else {
            self.rounded(number, sort, "RNE")
        }
    }

    /// Rounds a number to a sort.
    pub(super) fn rounded(&mut self, number: Float, sort: FloatSort, mode: &'static str) -> Float {
        let mode = self.leaf(mode);
        Float {
            term: self.apply(sort.conversion(), &[mode, number.term]),
            sort,
            operand: None,
        }
    }

    /// Rounds an integer to a sort.
    pub(super) fn rounded_integer(
        &mut self,
        integer: Integer,
        sort: FloatSort,
        mode: &'static str,
    ) -> Float {
        let mode = self.leaf(mode);
        let magnitude = integer.low.max(integer.low.wrapping_neg());
        let number = if integer.is_constant() && magnitude == Exact::cast_from(low(magnitude)) {
            let text = format!("{}.0", low(magnitude));
            let is_negative = integer.low < exact(0);
            self.leaf(if is_negative {
                format!("(- {text})")
            } else {
                text
            })
        } else {
            // The conversion takes two's complement, which has a bit for the sign.
            let signed_width = integer.bits.width + u32::from(!integer.is_signed());
            self.resize(integer, signed_width).term
        };
        Float {
            term: self.apply(sort.conversion(), &[mode, number]),
            sort,
            operand: None,
        }
    }

    /// Converts an integer to a sort that has all integers of its range, and all numbers of the sort `at_least`.
    pub(super) fn integer_as_float(&mut self, integer: Integer, at_least: FloatSort) -> Float {
        let mut sort = at_least;
        let bounds = [integer.low, integer.high];
        while !bounds.iter().all(|&bound| sort.has_integer(bound))
            || !integer.is_constant() && sort.significand < integer.bits.width
        {
            if sort.significand < integer.bits.width {
                sort.significand = integer.bits.width;
            } else {
                sort.exponent += 1;
            }
        }
        self.rounded_integer(integer, sort, "RNE")
    }

    /// A relation of numbers of one sort.
    pub(super) fn relation(&mut self, head: &'static str, a: Float, b: Float) -> Term {
        self.apply(head, &[a.term, b.term])
    }

    pub(super) fn is_nan(&mut self, a: Float) -> Term {
        self.apply("fp.isNaN", &[a.term])
    }

    /// The lesser number, or the greater one if not `lesser`. -0 is less than +0, and NaN is ignored unless `keep_nan`.
    pub(super) fn extreme(&mut self, a: Float, b: Float, lesser: bool, keep_nan: bool) -> Float {
        let (first, second) = if lesser { (a, b) } else { (b, a) };
        let is_less = self.relation("fp.lt", first, second);
        let is_equal = self.relation("fp.eq", a, b);
        let is_negative = self.apply("fp.isNegative", &[first.term]);
        let is_negative_zero = self.and(is_equal, is_negative);
        let selects_a = self.or(is_less, is_negative_zero);
        let number = self.ite(selects_a, a.term, b.term);
        let (a_is_nan, b_is_nan) = (self.is_nan(a), self.is_nan(b));
        let (if_a_is_nan, if_b_is_nan) = if keep_nan {
            (a.term, b.term)
        } else {
            (b.term, a.term)
        };
        let otherwise = self.ite(b_is_nan, if_b_is_nan, number);
        a.replaced(self.ite(a_is_nan, if_a_is_nan, otherwise))
    }

    /// The bits of a number; those of a NaN are undefined.
    pub(super) fn code_of(&mut self, number: Float, width: u32) -> Bits {
        Bits {
            term: self.apply("fp.to_ieee_bv", &[number.term]),
            width,
        }
    }

    /// The lowest `width` bits of `ones(count)`, for any `count`.
    pub(super) fn ones(&mut self, count: Integer, width: u32) -> Bits {
        if count.is_constant() {
            let count = low(count.low).min(255) as u32;
            return self.literal(crate::fold::value::ones(count), width);
        }
        let common_width = width.max(count.bits.width);
        let one = self.literal(exact(1), common_width);
        let count = self.resize(count, common_width);
        let power = self.bits("bvshl", &[one, count], common_width);
        let ones = self.bits("bvsub", &[power, one], common_width);
        self.extract(ones, 0, width)
    }
}

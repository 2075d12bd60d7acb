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
    pub(super) exponent: u32,
    /// With the hidden bit.
    pub(super) significand: u32,
}

impl FloatSort {
    pub(super) fn of(ty: ScalarType) -> Result<Self, NotExpressible> {
        let format = ieee(ty)?;
        Ok(Self {
            exponent: format.exponent(),
            significand: format.fraction() + 1,
        })
    }

    /// A sort that has the numbers of both.
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
    let format = Format::of(ty).filter(|format| format.is_ieee());
    format.ok_or(NotExpressible::Construct(
        "a format of numbers that is not one of IEEE 754",
    ))
}

/// A floating-point term.
#[derive(Clone, Copy, Debug)]
pub(super) struct Float {
    pub(super) term: Term,
    pub(super) sort: FloatSort,
    /// The type and the bits of the operand that it is.
    pub(super) operand: Option<(ScalarType, Bits)>,
}

impl Float {
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

    /// Another term of the same sort that is not an operand.
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
    /// The sign bit of a number in its place, all other bits zero.
    pub(super) fn sign_alone(&mut self, of: Bits, ty: ScalarType) -> Result<Bits, NotExpressible> {
        let format = ieee(ty)?;
        let sign = self.code(format.sign(), of.width);
        Ok(self.bits("bvand", &[of, sign], of.width))
    }

    /// The number that bits are in a sort.
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

    /// A number in a sort that has it.
    pub(super) fn converted(&mut self, from: Float, to: FloatSort) -> Float {
        match from.sort == to {
            true => from,
            false => self.rounded(from, to, "RNE"),
        }
    }

    /// A number rounded to a sort.
    pub(super) fn rounded(&mut self, from: Float, to: FloatSort, mode: &'static str) -> Float {
        let mode = self.leaf(mode);
        Float {
            term: self.apply(to.conversion(), &[mode, from.term]),
            sort: to,
            operand: None,
        }
    }

    /// An integer rounded to a sort.
    pub(super) fn rounded_integer(
        &mut self,
        from: Integer,
        to: FloatSort,
        mode: &'static str,
    ) -> Float {
        let mode = self.leaf(mode);
        let magnitude = from.low.max(from.low.wrapping_neg());
        let number = if from.is_constant() && magnitude == Exact::cast_from(low(magnitude)) {
            let text = format!("{}.0", low(magnitude));
            let negative = from.low < exact(0);
            self.leaf(if negative {
                format!("(- {text})")
            } else {
                text
            })
        } else {
            // In two's complement, with a bit for the sign.
            let wide = from.bits.width + u32::from(!from.is_signed());
            self.resize(from, wide).term
        };
        Float {
            term: self.apply(to.conversion(), &[mode, number]),
            sort: to,
            operand: None,
        }
    }

    /// An integer in a sort that has all integers of its range, and all numbers of another sort.
    pub(super) fn integer_as_float(&mut self, from: Integer, at_least: FloatSort) -> Float {
        let mut sort = at_least;
        let bounds = [from.low, from.high];
        while !bounds.iter().all(|&bound| sort.has_integer(bound))
            || !from.is_constant() && sort.significand < from.bits.width
        {
            match sort.significand < from.bits.width {
                true => sort.significand = from.bits.width,
                false => sort.exponent += 1,
            }
        }
        self.rounded_integer(from, sort, "RNE")
    }

    /// A relation of numbers of one sort.
    pub(super) fn relation(&mut self, head: &'static str, a: Float, b: Float) -> Term {
        self.apply(head, &[a.term, b.term])
    }

    pub(super) fn is_nan(&mut self, a: Float) -> Term {
        self.apply("fp.isNaN", &[a.term])
    }

    /// The lesser number, or the greater one: -0 is less than +0, and NaN is ignored unless `keep_nan`.
    pub(super) fn extreme(&mut self, a: Float, b: Float, lesser: bool, keep_nan: bool) -> Float {
        let (first, second) = if lesser { (a, b) } else { (b, a) };
        let less = self.relation("fp.lt", first, second);
        let equal = self.relation("fp.eq", a, b);
        let negative = self.apply("fp.isNegative", &[first.term]);
        let before = self.and(equal, negative);
        let first_is_less = self.or(less, before);
        let number = self.ite(first_is_less, a.term, b.term);
        let (a_is_nan, b_is_nan) = (self.is_nan(a), self.is_nan(b));
        let (of_a, of_b) = if keep_nan {
            (a.term, b.term)
        } else {
            (b.term, a.term)
        };
        let otherwise = self.ite(b_is_nan, of_b, number);
        a.replaced(self.ite(a_is_nan, of_a, otherwise))
    }

    /// The bits of a number; those of a NaN are open.
    pub(super) fn code_of(&mut self, number: Float, width: u32) -> Bits {
        Bits {
            term: self.apply("fp.to_ieee_bv", &[number.term]),
            width,
        }
    }

    /// `ones(n)` in a bit vector, however great `n` is.
    pub(super) fn ones(&mut self, n: Integer, width: u32) -> Bits {
        if n.is_constant() {
            let n = low(n.low).min(255) as u32;
            return self.literal(crate::fold::value::ones(n), width);
        }
        let wide = width.max(n.bits.width);
        let (one, n) = (self.literal(exact(1), wide), self.resize(n, wide));
        let power = self.bits("bvshl", &[one, n], wide);
        let ones = self.bits("bvsub", &[power, one], wide);
        self.extract(ones, 0, width)
    }
}

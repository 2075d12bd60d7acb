//! Binary floating-point formats: from bits to exact values and back, with one rounding.

use super::exact_float::{Magnitude, Number};
use super::rounding::{MagnitudeRounding, Rounding, round};
use ptx_isa::ScalarType;

/// A format: the widths of its exponent and of its fraction, and the meaning of its greatest codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Format {
    exponent: u32,
    fraction: u32,
    top: SpecialCodes,
}

/// The meaning of the greatest codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SpecialCodes {
    /// As in IEEE 754: infinity, and NaNs above it.
    Infinity,
    /// The greatest code is a NaN.
    Nan,
    /// All codes are numbers.
    Number,
}

impl Format {
    pub(super) fn of(ty: ScalarType) -> Option<Self> {
        let (exponent, fraction) = match ty {
            ScalarType::F16 => (5, 10),
            ScalarType::Bf16 => (8, 7),
            ScalarType::F32 => (8, 23),
            ScalarType::F64 => (11, 52),
            _ => return None,
        };
        Some(Self {
            exponent,
            fraction,
            top: SpecialCodes::Infinity,
        })
    }

    /// The formats of [`of`](Self::of), and those with a sign that are only stored.
    pub(super) fn stored(ty: ScalarType) -> Option<Self> {
        let (exponent, fraction, top) = match ty {
            ScalarType::E5m2 => (5, 2, SpecialCodes::Infinity),
            ScalarType::E4m3 => (4, 3, SpecialCodes::Nan),
            ScalarType::E3m2 => (3, 2, SpecialCodes::Number),
            ScalarType::E2m3 => (2, 3, SpecialCodes::Number),
            ScalarType::E2m1 => (2, 1, SpecialCodes::Number),
            _ => return Self::of(ty),
        };
        Some(Self {
            exponent,
            fraction,
            top,
        })
    }

    /// Whether all codes are numbers.
    pub(super) fn is_all_numbers(self) -> bool {
        self.top == SpecialCodes::Number
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The sign bit.
    pub(super) fn sign(self) -> u128 {
        1 << (self.exponent + self.fraction)
    }

    /// The least code above those of the finite numbers: in IEEE 754 that of +∞.
    pub(super) fn infinity(self) -> u128 {
        match self.top {
            SpecialCodes::Infinity => ((1 << self.exponent) - 1) << self.fraction,
            SpecialCodes::Nan => self.sign() - 1,
            SpecialCodes::Number => self.sign(),
        }
    }

    /// Whether the bits are a subnormal number.
    pub(super) fn is_subnormal(self, bits: u128) -> bool {
        let magnitude = bits & (self.sign() - 1);
        magnitude != 0 && magnitude >> self.fraction == 0
    }

    pub(super) fn is_nan(self, bits: u128) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// The bits, with a subnormal number replaced by zero of the same sign.
    pub(super) fn flush(self, bits: u128) -> u128 {
        if self.is_subnormal(bits) {
            bits & self.sign()
        } else {
            bits
        }
    }

    /// The value of bits; `None` for a NaN.
    pub(super) fn decode(self, bits: u128) -> Option<Number> {
        let negative = bits & self.sign() != 0;
        let magnitude = bits & (self.sign() - 1);
        let field = (magnitude >> self.fraction) as i32;
        let fraction = magnitude & ((1 << self.fraction) - 1);
        if magnitude == self.infinity() && self.top == SpecialCodes::Infinity {
            return Some(Number {
                negative,
                size: Magnitude::Infinite,
            });
        }
        if magnitude >= self.infinity() {
            return None;
        }
        let hidden = u128::from(field > 0) << self.fraction;
        let exponent = field.max(1) - self.bias() - self.fraction as i32;
        Some(Number {
            negative,
            size: Magnitude::Finite(fraction | hidden, exponent),
        })
    }

    /// The bits of a number, rounded.
    pub(super) fn encode(self, number: Number, rounding: Rounding) -> u128 {
        let sign = if number.negative { self.sign() } else { 0 };
        let (mantissa, exponent) = match number.size {
            Magnitude::Infinite => return sign | self.infinity(),
            Magnitude::Finite(0, _) => return sign,
            Magnitude::Finite(mantissa, exponent) => (mantissa, exponent),
        };
        let top = mantissa.ilog2() as i32 + exponent;
        let least = 1 - self.bias();
        let biased = top.max(least) + self.bias();
        let unit = top.max(least) - self.fraction as i32;
        let rounding = rounding.of_magnitude(number.negative);
        let kept = round(mantissa, unit - exponent, rounding);
        if biased >= 1 << self.exponent {
            return sign | self.overflow(rounding);
        }
        // A carry out of the fraction goes on into the exponent.
        let magnitude = (((biased - 1) as u128) << self.fraction) + kept;
        if magnitude >= self.infinity() {
            return sign | self.overflow(rounding);
        }
        sign | magnitude
    }

    /// Whether a number that is not zero is below the normal numbers before it is rounded.
    pub(super) fn is_tiny(self, number: Number) -> bool {
        match number.size {
            Magnitude::Infinite | Magnitude::Finite(0, _) => false,
            Magnitude::Finite(mantissa, exponent) => {
                (mantissa.ilog2() as i32 + exponent) < 1 - self.bias()
            }
        }
    }

    fn overflow(self, rounding: MagnitudeRounding) -> u128 {
        self.infinity() - u128::from(rounding == MagnitudeRounding::Down)
    }
}

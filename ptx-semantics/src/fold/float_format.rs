//! Binary floating-point formats: conversion of bits to exact numbers and back, with one rounding.

use super::exact_float::{Magnitude, Number};
use super::rounding::{MagnitudeRounding, Rounding, round};
use ptx_isa::ScalarType;

/// A format: the widths of the fields of its codes, and its special values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    /// The width of the exponent.
    exponent: u32,
    /// The width of the fraction.
    fraction: u32,
    /// The number of low bits of the fraction that are always zero.
    unused: u32,
    special: SpecialCodes,
    /// Whether it has negative numbers.
    signed: bool,
    /// Whether it has zero and subnormal numbers. Otherwise codes with the least exponent are numbers like others.
    has_zero: bool,
}

/// The meaning of the greatest codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SpecialCodes {
    /// Infinity, and NaNs above it, as in IEEE 754.
    Infinity,
    /// The greatest code is a NaN.
    Nan,
    /// All codes are numbers.
    Number,
}

impl Format {
    const fn new(exponent: u32, fraction: u32, special: SpecialCodes) -> Self {
        Self {
            exponent,
            fraction,
            unused: 0,
            special,
            signed: true,
            has_zero: true,
        }
    }

    /// The format of a floating-point type that is not packed.
    pub(crate) fn of(ty: ScalarType) -> Option<Self> {
        Some(match ty {
            ScalarType::F16 => Self::new(5, 10, SpecialCodes::Infinity),
            ScalarType::Bf16 => Self::new(8, 7, SpecialCodes::Infinity),
            ScalarType::F32 => Self::new(8, 23, SpecialCodes::Infinity),
            ScalarType::F64 => Self::new(11, 52, SpecialCodes::Infinity),
            ScalarType::Tf32 => Self {
                unused: 13,
                ..Self::new(8, 23, SpecialCodes::Infinity)
            },
            ScalarType::E5m2 => Self::new(5, 2, SpecialCodes::Infinity),
            ScalarType::E4m3 => Self::new(4, 3, SpecialCodes::Nan),
            ScalarType::E3m2 => Self::new(3, 2, SpecialCodes::Number),
            ScalarType::E2m3 => Self::new(2, 3, SpecialCodes::Number),
            ScalarType::E2m1 => Self::new(2, 1, SpecialCodes::Number),
            ScalarType::Ue8m0 => Self {
                signed: false,
                has_zero: false,
                ..Self::new(8, 0, SpecialCodes::Nan)
            },
            _ => return None,
        })
    }

    /// The bits of a NaN. If the format has none, and the result is saturated to `finite` numbers, the greatest number. `None` if the
    /// format has several NaNs.
    pub(super) fn nan(self, finite: bool) -> Option<u128> {
        match self.special {
            SpecialCodes::Number => finite.then_some(self.greatest()),
            SpecialCodes::Nan if !self.signed => Some(self.infinity()),
            SpecialCodes::Nan | SpecialCodes::Infinity => None,
        }
    }

    /// The bits of the NaN that instructions make, without a sign; `None` if there is none.
    pub(super) fn quiet_nan(self) -> Option<u128> {
        match self.special {
            SpecialCodes::Infinity => Some(self.infinity() | 1 << (self.fraction - 1)),
            SpecialCodes::Nan => Some(self.infinity()),
            SpecialCodes::Number => None,
        }
    }

    /// The width of the exponent.
    pub(crate) fn exponent(self) -> u32 {
        self.exponent
    }

    /// The width of the fraction, without the hidden bit.
    pub(crate) fn fraction(self) -> u32 {
        self.fraction
    }

    /// Whether this is a format of IEEE 754 that uses all bits of its type.
    pub(crate) fn is_ieee(self) -> bool {
        self.special == SpecialCodes::Infinity && self.unused == 0
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The least exponent of a number that is not subnormal.
    pub(super) fn least_exponent(self) -> i32 {
        i32::from(self.has_zero) - self.bias()
    }

    /// The sign bit, or the bit above all codes of a format without signs.
    pub(crate) fn sign(self) -> u128 {
        1 << (self.exponent + self.fraction)
    }

    /// The least code above those of the finite numbers, which is that of +∞ in IEEE 754.
    pub(crate) fn infinity(self) -> u128 {
        match self.special {
            SpecialCodes::Infinity => ((1 << self.exponent) - 1) << self.fraction,
            SpecialCodes::Nan => self.sign() - 1,
            SpecialCodes::Number => self.sign(),
        }
    }

    /// The code of the greatest finite number.
    pub(crate) fn greatest(self) -> u128 {
        self.infinity() - (1 << self.unused)
    }

    /// The number, or the greatest finite number with the same sign if that is exceeded.
    pub(super) fn saturated(self, number: Number) -> Number {
        match self.decode(self.greatest()) {
            Some(greatest) if self.is_exceeded(number) => Number {
                negative: number.negative,
                ..greatest
            },
            _ => number,
        }
    }

    /// Whether the bits are a subnormal number.
    pub(super) fn is_subnormal(self, bits: u128) -> bool {
        let magnitude = bits & (self.sign() - 1);
        self.has_zero && magnitude != 0 && magnitude >> self.fraction == 0
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
        let exponent_field = (magnitude >> self.fraction) as i32;
        let fraction = magnitude & ((1 << self.fraction) - 1);
        if magnitude == self.infinity() && self.special == SpecialCodes::Infinity {
            return Some(Number {
                negative,
                size: Magnitude::Infinite,
            });
        }
        if magnitude >= self.infinity() {
            return None;
        }
        let is_normal = exponent_field > 0 || !self.has_zero;
        let hidden_bit = u128::from(is_normal) << self.fraction;
        let exponent =
            (exponent_field - self.bias()).max(self.least_exponent()) - self.fraction as i32;
        Some(Number {
            negative,
            size: Magnitude::Finite(fraction | hidden_bit, exponent),
        })
    }

    /// The number of bits of the fraction that may be one.
    pub(super) fn digits(self) -> i32 {
        (self.fraction - self.unused) as i32
    }

    /// Whether the absolute value of a number is greater than the greatest finite number.
    pub(super) fn is_exceeded(self, number: Number) -> bool {
        let greatest = self.decode(self.greatest());
        greatest.is_some_and(|greatest| greatest.compare(number.magnitude()).is_lt())
    }

    /// The exponent of the lowest bit of the format for numbers as large as `number`; `None` for zero and infinity.
    pub(super) fn unit(self, number: Number) -> Option<i32> {
        Some(number.exponent()?.max(self.least_exponent()) - self.digits())
    }

    /// The bits of a rounded number; `None` if the format has no number in the direction of rounding.
    pub(crate) fn encode(self, number: Number, rounding: Rounding) -> Option<u128> {
        if number.negative && !self.signed {
            return None;
        }
        let sign = if number.negative { self.sign() } else { 0 };
        let (mantissa, exponent) = match number.size {
            Magnitude::Infinite => {
                return (self.special == SpecialCodes::Infinity).then_some(sign | self.infinity());
            }
            Magnitude::Finite(0, _) => return self.has_zero.then_some(sign),
            Magnitude::Finite(mantissa, exponent) => (mantissa, exponent),
        };
        let rounding = rounding.of_magnitude(number.negative);
        let unit = self.unit(number)?;
        let kept = round(mantissa, unit - exponent, rounding) << self.unused;
        // A carry out of the fraction increments the exponent.
        let exponent_field = unit + self.digits() + self.bias();
        if exponent_field >= 1 << self.exponent {
            return Some(sign | self.overflow(rounding)?);
        }
        let signed_magnitude = ((i128::from(exponent_field) - 1) << self.fraction) + kept as i128;
        // A negative value is below the least number of a format without zero.
        let magnitude = u128::try_from(signed_magnitude).ok()?;
        if magnitude >= self.infinity() {
            return Some(sign | self.overflow(rounding)?);
        }
        Some(sign | magnitude)
    }

    /// The code of a power of two in a format without signs and zero, as the functions of CUDA for the host compute it: the sign is ignored, a number that
    /// is too small becomes the least power, and one that is too large a NaN. `None` in other formats.
    pub(super) fn power(self, number: Number, rounding: Rounding) -> Option<u128> {
        if self.signed || self.has_zero {
            return None;
        }
        let positive = number.magnitude();
        Some(match positive.size {
            Magnitude::Infinite => self.infinity(),
            Magnitude::Finite(0, _) => 0,
            Magnitude::Finite(..) if self.is_tiny(positive) => 0,
            Magnitude::Finite(..) => self.encode(positive, rounding).unwrap_or(self.infinity()),
        })
    }

    /// Whether a number that is not zero is below the normal numbers before it is rounded.
    pub(super) fn is_tiny(self, number: Number) -> bool {
        number
            .exponent()
            .is_some_and(|exponent| exponent < self.least_exponent())
    }

    /// The bits of a number after rounding, flushing and saturation. As in ptxas, a number is flushed if it is subnormal after it was rounded as
    /// if exponents had no limit, and a saturated zero is positive.
    pub(super) fn finish(
        self,
        number: Number,
        rounding: Rounding,
        flushes: bool,
        saturates: bool,
    ) -> Option<u128> {
        let mut bits = match self.power(number, rounding) {
            Some(bits) => bits,
            None => self.encode(number, rounding)?,
        };
        if flushes && self.is_tiny(number) && !self.becomes_normal(number, rounding)? {
            bits &= self.sign();
        }
        if saturates {
            let one = self.encode(Number::integer(1), Rounding::Zero)?;
            bits = if bits & self.sign() != 0 {
                0
            } else {
                bits.min(one)
            };
        }
        Some(bits)
    }

    /// Whether a number below the normal numbers becomes a normal number if it is rounded to as many digits as they have.
    fn becomes_normal(self, number: Number, rounding: Rounding) -> Option<bool> {
        let Magnitude::Finite(mantissa, exponent) = number.size else {
            return Some(false);
        };
        if number.exponent() != Some(self.least_exponent() - 1) {
            return Some(false);
        }
        // Twice the number is a normal number, so it is rounded to all digits.
        let doubled = Number {
            size: Magnitude::Finite(mantissa, exponent + 1),
            ..number
        };
        Some(self.decode(self.encode(doubled, rounding)?)?.exponent() > Some(self.least_exponent()))
    }

    /// The bits of a number that is too large.
    fn overflow(self, rounding: MagnitudeRounding) -> Option<u128> {
        match (rounding, self.special) {
            (MagnitudeRounding::Down, _) => Some(self.greatest()),
            (_, SpecialCodes::Infinity) => Some(self.infinity()),
            _ => None,
        }
    }
}

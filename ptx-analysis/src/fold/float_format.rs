//! Formats of binary floating point: bits to exact values and back, rounded once.

use super::exact_float::{Magnitude, Number};
use ptx_isa::{Modifier, ScalarType};

/// A format: the widths of its exponent and of its fraction, and what its greatest codes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Format {
    exponent: u32,
    fraction: u32,
    top: SpecialCodes,
}

/// What the greatest codes stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SpecialCodes {
    /// As in IEEE 754: infinity, and above it no numbers.
    Infinity,
    /// The very greatest is no number.
    Nan,
    /// Numbers all.
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

    /// Those of [`of`](Self::of), and the ones with a sign that are only stored.
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

    /// Whether all its bits are of numbers.
    pub(super) fn is_all_numbers(self) -> bool {
        self.top == SpecialCodes::Number
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The bit of the sign.
    pub(super) fn sign(self) -> u128 {
        1 << (self.exponent + self.fraction)
    }

    /// The least bits above those of the finite numbers: in IEEE 754 those of +∞.
    pub(super) fn infinity(self) -> u128 {
        match self.top {
            SpecialCodes::Infinity => ((1 << self.exponent) - 1) << self.fraction,
            SpecialCodes::Nan => self.sign() - 1,
            SpecialCodes::Number => self.sign(),
        }
    }

    /// Whether the bits are of a number below the normal ones, zero not counted.
    pub(super) fn is_subnormal(self, bits: u128) -> bool {
        let magnitude = bits & (self.sign() - 1);
        magnitude != 0 && magnitude >> self.fraction == 0
    }

    pub(super) fn is_nan(self, bits: u128) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// The bits with a subnormal number made zero of the same sign.
    pub(super) fn flush(self, bits: u128) -> u128 {
        if self.is_subnormal(bits) {
            bits & self.sign()
        } else {
            bits
        }
    }

    /// What bits stand for; `None` for a NaN.
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

    /// The bits nearest to a number in the direction of rounding.
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
        let kept = round(mantissa, unit - exponent, number.negative, rounding);
        if biased >= 1 << self.exponent {
            return sign | self.overflow(number.negative, rounding);
        }
        // A carry out of the fraction goes on into the exponent.
        let magnitude = (((biased - 1) as u128) << self.fraction) + kept;
        if magnitude >= self.infinity() {
            return sign | self.overflow(number.negative, rounding);
        }
        sign | magnitude
    }

    /// Whether a number that is not zero lies below the normal ones before it is rounded.
    pub(super) fn is_tiny(self, number: Number) -> bool {
        match number.size {
            Magnitude::Infinite | Magnitude::Finite(0, _) => false,
            Magnitude::Finite(mantissa, exponent) => {
                (mantissa.ilog2() as i32 + exponent) < 1 - self.bias()
            }
        }
    }

    fn overflow(self, negative: bool, rounding: Rounding) -> u128 {
        let away = match rounding {
            Rounding::Nearest => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        self.infinity() - u128::from(!away)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    Zero,
    Down,
    Up,
}

impl Rounding {
    /// The direction of a modifier and whether it rounds to an integer.
    pub(super) fn of(modifier: Modifier) -> Option<(Self, bool)> {
        Some(match modifier {
            Modifier::Rn => (Self::Nearest, false),
            Modifier::Rz => (Self::Zero, false),
            Modifier::Rm => (Self::Down, false),
            Modifier::Rp => (Self::Up, false),
            Modifier::Rni => (Self::Nearest, true),
            Modifier::Rzi => (Self::Zero, true),
            Modifier::Rmi => (Self::Down, true),
            Modifier::Rpi => (Self::Up, true),
            _ => return None,
        })
    }
}

/// `mantissa` without its lowest `drop` bits (times a power of two if negative), rounded.
pub(super) fn round(mantissa: u128, drop: i32, negative: bool, rounding: Rounding) -> u128 {
    if drop <= 0 {
        return mantissa.checked_shl(drop.unsigned_abs()).unwrap_or(0);
    }
    let drop = drop as u32;
    let kept = mantissa.checked_shr(drop).unwrap_or(0);
    let lost = mantissa & 1u128.checked_shl(drop).map_or(u128::MAX, |bit| bit - 1);
    // From 129 on the lost part is less than half of a unit.
    let half = 1u128.checked_shl(drop - 1).unwrap_or(u128::MAX);
    let beyond = drop > 128;
    let up = match rounding {
        Rounding::Nearest => !beyond && (lost > half || (lost == half && kept & 1 == 1)),
        Rounding::Zero => false,
        Rounding::Down => negative && lost != 0,
        Rounding::Up => !negative && lost != 0,
    };
    kept + u128::from(up)
}

//! Floating-point numbers as integers with an exponent, exact or with all bits on which rounding depends.

use super::rounding::{Rounding, round};

/// The absolute value of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Magnitude {
    Infinite,
    /// A mantissa times two to the power of an exponent. If the mantissa is long enough, its lowest bit may be a sticky bit, which is
    /// set if any lower bit is.
    Finite(u128, i32),
}

/// A number, possibly infinite, but not a NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Number {
    pub(crate) negative: bool,
    pub(crate) size: Magnitude,
}

impl Number {
    pub(super) fn is_zero(self) -> bool {
        matches!(self.size, Magnitude::Finite(0, _))
    }

    /// The exponent of the highest bit; `None` for zero and infinity.
    pub(super) fn exponent(self) -> Option<i32> {
        match self.size {
            Magnitude::Infinite | Magnitude::Finite(0, _) => None,
            Magnitude::Finite(mantissa, exponent) => Some(mantissa.ilog2() as i32 + exponent),
        }
    }

    pub(super) fn magnitude(self) -> Self {
        Self {
            negative: false,
            ..self
        }
    }

    pub(super) fn negate(self) -> Self {
        Self {
            negative: !self.negative,
            ..self
        }
    }

    fn finite(negative: bool, mantissa: u128, exponent: i32) -> Self {
        Self {
            negative,
            size: Magnitude::Finite(mantissa, exponent),
        }
    }

    /// An integer.
    pub(crate) fn integer(value: i128) -> Self {
        Self::finite(value < 0, value.unsigned_abs(), 0)
    }

    /// The product, exact for mantissas of up to 64 bits; `None` for a NaN.
    pub(super) fn mul(self, other: Self) -> Option<Self> {
        let negative = self.negative != other.negative;
        match (self.size, other.size) {
            (Magnitude::Finite(a, x), Magnitude::Finite(b, y)) => {
                Some(Self::finite(negative, a.checked_mul(b)?, x + y))
            }
            _ if self.is_zero() || other.is_zero() => None,
            _ => Some(Self {
                negative,
                size: Magnitude::Infinite,
            }),
        }
    }

    /// The sum, exact or with a sticky bit; `None` for a NaN.
    pub(super) fn add(self, other: Self, rounding: Rounding) -> Option<Self> {
        let ((a, x), (b, y)) = match (self.size, other.size) {
            (Magnitude::Finite(a, x), Magnitude::Finite(b, y)) => ((a, x), (b, y)),
            (Magnitude::Infinite, Magnitude::Infinite) => {
                return (self.negative == other.negative).then_some(self);
            }
            (Magnitude::Infinite, _) => return Some(self),
            (_, Magnitude::Infinite) => return Some(other),
        };
        let zero = Self::finite(rounding == Rounding::Down, 0, 0);
        match (a, b) {
            (0, 0) => {
                return Some(if self.negative == other.negative {
                    self
                } else {
                    zero
                });
            }
            (0, _) => return Some(other),
            (_, 0) => return Some(self),
            _ => {}
        }
        // Both mantissas get their highest bit at 125: the sum fits, and lost bits are far below it.
        let normalize = |mantissa: u128, exponent: i32| {
            let shift = mantissa.leading_zeros().saturating_sub(2);
            (mantissa << shift, exponent - shift as i32)
        };
        let ((a, x), (b, y)) = (normalize(a, x), normalize(b, y));
        let exponent = x.max(y);
        let a = shift_right_sticky(a, exponent - x);
        let b = shift_right_sticky(b, exponent - y);
        Some(match (self.negative == other.negative, a.cmp(&b)) {
            (true, _) => Self::finite(self.negative, a + b, exponent),
            (false, core::cmp::Ordering::Greater) => Self::finite(self.negative, a - b, exponent),
            (false, core::cmp::Ordering::Less) => Self::finite(other.negative, b - a, exponent),
            (false, core::cmp::Ordering::Equal) => zero,
        })
    }

    /// The quotient with a sticky bit, for mantissas of up to 53 bits; `None` for a NaN.
    pub(super) fn div(self, other: Self) -> Option<Self> {
        let negative = self.negative != other.negative;
        match (self.size, other.size) {
            (Magnitude::Infinite, Magnitude::Infinite) => None,
            (Magnitude::Infinite, _) => Some(Self { negative, ..self }),
            (_, Magnitude::Infinite) => Some(Self::finite(negative, 0, 0)),
            (Magnitude::Finite(0, _), Magnitude::Finite(0, _)) => None,
            (_, Magnitude::Finite(0, _)) => Some(Self {
                negative,
                size: Magnitude::Infinite,
            }),
            (Magnitude::Finite(0, _), _) => Some(Self::finite(negative, 0, 0)),
            (Magnitude::Finite(a, x), Magnitude::Finite(b, y)) => {
                let shift = a.leading_zeros() - 1;
                let dividend = a << shift;
                let quotient = (dividend / b) | u128::from(dividend % b != 0);
                Some(Self::finite(negative, quotient, x - shift as i32 - y))
            }
        }
    }

    /// The square root with a sticky bit; `None` for a NaN.
    pub(super) fn sqrt(self) -> Option<Self> {
        match self.size {
            Magnitude::Finite(0, _) => Some(self),
            _ if self.negative => None,
            Magnitude::Infinite => Some(self),
            Magnitude::Finite(mantissa, exponent) => {
                // The exponent of the radicand has to be even.
                let mut shift = mantissa.leading_zeros() - 2;
                if (exponent - shift as i32) % 2 != 0 {
                    shift += 1;
                }
                let radicand = mantissa << shift;
                let root = radicand.isqrt();
                let is_inexact = root * root != radicand;
                let root_exponent = (exponent - shift as i32) / 2 - 1;
                let root_with_sticky = root << 1 | u128::from(is_inexact);
                Some(Self::finite(false, root_with_sticky, root_exponent))
            }
        }
    }

    /// Rounds to an integer.
    pub(super) fn to_integer(self, rounding: Rounding) -> Self {
        match self.size {
            Magnitude::Finite(mantissa, exponent) if exponent < 0 => Self::finite(
                self.negative,
                round(mantissa, -exponent, rounding.of_magnitude(self.negative)),
                0,
            ),
            _ => self,
        }
    }

    /// The value of an integer, saturated.
    pub(super) fn saturate(self) -> i128 {
        let magnitude = match self.size {
            Magnitude::Finite(mantissa, exponent) if exponent <= 0 => {
                mantissa.checked_shr(exponent.unsigned_abs()).unwrap_or(0)
            }
            Magnitude::Finite(mantissa, exponent)
                if mantissa == 0 || exponent.unsigned_abs() < mantissa.leading_zeros() =>
            {
                mantissa << exponent.unsigned_abs().min(127)
            }
            _ => u128::MAX,
        };
        let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
        if self.negative { -magnitude } else { magnitude }
    }

    /// The order by value, in which both zeros are equal.
    pub(super) fn compare(self, other: Self) -> core::cmp::Ordering {
        match self.signum().cmp(&other.signum()) {
            core::cmp::Ordering::Equal if self.signum() < 0 => {
                other.magnitude_key().cmp(&self.magnitude_key())
            }
            core::cmp::Ordering::Equal => self.magnitude_key().cmp(&other.magnitude_key()),
            order => order,
        }
    }

    /// -1, 0 or 1, as the number is negative, zero or positive.
    fn signum(self) -> i32 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// A key with the order of the absolute values.
    fn magnitude_key(self) -> (i32, i32, u128) {
        match self.size {
            _ if self.is_zero() => (0, 0, 0),
            Magnitude::Infinite => (1, i32::MAX, 0),
            Magnitude::Finite(mantissa, exponent) => {
                let zeros = mantissa.leading_zeros();
                (1, exponent - zeros as i32, mantissa << zeros)
            }
        }
    }
}

/// Shifts a mantissa to the right. The lowest bit of the result is also set if a lost bit was.
fn shift_right_sticky(mantissa: u128, amount: i32) -> u128 {
    let amount = amount.unsigned_abs();
    let kept = mantissa.checked_shr(amount).unwrap_or(0);
    let lost = mantissa & 1u128.checked_shl(amount).map_or(u128::MAX, |bit| bit - 1);
    kept | u128::from(lost != 0)
}

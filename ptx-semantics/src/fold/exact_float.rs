//! Floating-point numbers in integers, exact or with all bits that rounding depends on.

use super::rounding::{Rounding, round};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Magnitude {
    Infinite,
    /// Mantissa times two to the exponent. If the mantissa is long enough, its lowest bit may be a sticky bit: set if any
    /// lower bit is.
    Finite(u128, i32),
}

/// A number; not a NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Number {
    pub(crate) negative: bool,
    pub(crate) size: Magnitude,
}

impl Number {
    pub(super) fn is_zero(self) -> bool {
        matches!(self.size, Magnitude::Finite(0, _))
    }

    /// The exponent of its highest bit; `None` for zero and infinity.
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
        // Both with their highest bit at 125: the sum fits, and lost bits are far below.
        let raise = |m: u128, e: i32| {
            let up = m.leading_zeros().saturating_sub(2);
            (m << up, e - up as i32)
        };
        let ((a, x), (b, y)) = (raise(a, x), raise(b, y));
        let exponent = x.max(y);
        let (a, b) = (jam(a, exponent - x), jam(b, exponent - y));
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
                let up = a.leading_zeros() - 1;
                let a = a << up;
                let quotient = (a / b) | u128::from(a % b != 0);
                Some(Self::finite(negative, quotient, x - up as i32 - y))
            }
        }
    }

    /// The square root with a sticky bit; `None` for a NaN.
    pub(super) fn sqrt(self) -> Option<Self> {
        match self.size {
            Magnitude::Finite(0, _) => Some(self),
            _ if self.negative => None,
            Magnitude::Infinite => Some(self),
            Magnitude::Finite(m, e) => {
                let mut up = m.leading_zeros() - 2;
                if (e - up as i32) % 2 != 0 {
                    up += 1;
                }
                let m = m << up;
                let root = m.isqrt();
                let root = root << 1 | u128::from(root * root != m);
                Some(Self::finite(false, root, (e - up as i32) / 2 - 1))
            }
        }
    }

    /// Rounded to an integer.
    pub(super) fn to_integer(self, rounding: Rounding) -> Self {
        match self.size {
            Magnitude::Finite(m, e) if e < 0 => Self::finite(
                self.negative,
                round(m, -e, rounding.of_magnitude(self.negative)),
                0,
            ),
            _ => self,
        }
    }

    /// The value of an integer, saturated.
    pub(super) fn saturate(self) -> i128 {
        let magnitude = match self.size {
            Magnitude::Finite(m, e) if e <= 0 => m.checked_shr(e.unsigned_abs()).unwrap_or(0),
            Magnitude::Finite(m, e) if m == 0 || e.unsigned_abs() < m.leading_zeros() => {
                m << e.unsigned_abs().min(127)
            }
            _ => u128::MAX,
        };
        let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
        if self.negative { -magnitude } else { magnitude }
    }

    /// Order by value; both zeros are equal.
    pub(super) fn compare(self, other: Self) -> core::cmp::Ordering {
        let key = |n: Self| match n.size {
            _ if n.is_zero() => (0, 0, 0),
            Magnitude::Infinite => (1, i32::MAX, 0),
            Magnitude::Finite(m, e) => {
                let zeros = m.leading_zeros();
                (1, e - zeros as i32, m << zeros)
            }
        };
        let value = |n: Self| {
            if n.negative && !n.is_zero() {
                -1
            } else {
                key(n).0
            }
        };
        match value(self).cmp(&value(other)) {
            core::cmp::Ordering::Equal if self.negative && !self.is_zero() => {
                key(other).cmp(&key(self))
            }
            core::cmp::Ordering::Equal => key(self).cmp(&key(other)),
            different => different,
        }
    }
}

/// Shifted down, with a sticky bit.
fn jam(mantissa: u128, down: i32) -> u128 {
    let kept = mantissa.checked_shr(down.unsigned_abs()).unwrap_or(0);
    let lost = mantissa
        & 1u128
            .checked_shl(down.unsigned_abs())
            .map_or(u128::MAX, |bit| bit - 1);
    kept | u128::from(lost != 0)
}

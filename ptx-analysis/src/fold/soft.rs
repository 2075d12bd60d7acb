//! Binary floating point in integers: exact values, rounded once.

use ptx_isa::{Modifier, ScalarType};

/// A format: the widths of its exponent and of its fraction, and what its greatest codes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Format {
    exponent: u32,
    fraction: u32,
    top: Top,
}

/// What the greatest codes stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Top {
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
            top: Top::Infinity,
        })
    }

    /// Those of [`of`](Self::of), and the ones with a sign that are only stored.
    pub(super) fn stored(ty: ScalarType) -> Option<Self> {
        let (exponent, fraction, top) = match ty {
            ScalarType::E5m2 => (5, 2, Top::Infinity),
            ScalarType::E4m3 => (4, 3, Top::Nan),
            ScalarType::E3m2 => (3, 2, Top::Number),
            ScalarType::E2m3 => (2, 3, Top::Number),
            ScalarType::E2m1 => (2, 1, Top::Number),
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
        self.top == Top::Number
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
            Top::Infinity => ((1 << self.exponent) - 1) << self.fraction,
            Top::Nan => self.sign() - 1,
            Top::Number => self.sign(),
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
        if magnitude == self.infinity() && self.top == Top::Infinity {
            return Some(Number {
                negative,
                size: Size::Infinite,
            });
        }
        if magnitude >= self.infinity() {
            return None;
        }
        let hidden = u128::from(field > 0) << self.fraction;
        let exponent = field.max(1) - self.bias() - self.fraction as i32;
        Some(Number {
            negative,
            size: Size::Finite(fraction | hidden, exponent),
        })
    }

    /// The bits nearest to a number in the direction of rounding.
    pub(super) fn encode(self, number: Number, rounding: Rounding) -> u128 {
        let sign = if number.negative { self.sign() } else { 0 };
        let (mantissa, exponent) = match number.size {
            Size::Infinite => return sign | self.infinity(),
            Size::Finite(0, _) => return sign,
            Size::Finite(mantissa, exponent) => (mantissa, exponent),
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
            Size::Infinite | Size::Finite(0, _) => false,
            Size::Finite(mantissa, exponent) => {
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Size {
    Infinite,
    /// Mantissa times two to the exponent. The lowest bit may stand for all that lies below it, if far enough down.
    Finite(u128, i32),
}

/// A number that is no NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Number {
    pub(super) negative: bool,
    pub(super) size: Size,
}

impl Number {
    pub(super) fn is_zero(self) -> bool {
        matches!(self.size, Size::Finite(0, _))
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
            size: Size::Finite(mantissa, exponent),
        }
    }

    /// An integer.
    pub(super) fn integer(value: i128) -> Self {
        Self::finite(value < 0, value.unsigned_abs(), 0)
    }

    /// The product, exact for mantissas of up to 64 bits; `None` for a NaN.
    pub(super) fn mul(self, other: Self) -> Option<Self> {
        let negative = self.negative != other.negative;
        match (self.size, other.size) {
            (Size::Finite(a, x), Size::Finite(b, y)) => {
                Some(Self::finite(negative, a.checked_mul(b)?, x + y))
            }
            _ if self.is_zero() || other.is_zero() => None,
            _ => Some(Self {
                negative,
                size: Size::Infinite,
            }),
        }
    }

    /// The sum, exact or with its lowest bit standing for what is too far down; `None` for a NaN.
    pub(super) fn add(self, other: Self, rounding: Rounding) -> Option<Self> {
        let ((a, x), (b, y)) = match (self.size, other.size) {
            (Size::Finite(a, x), Size::Finite(b, y)) => ((a, x), (b, y)),
            (Size::Infinite, Size::Infinite) => {
                return (self.negative == other.negative).then_some(self);
            }
            (Size::Infinite, _) => return Some(self),
            (_, Size::Infinite) => return Some(other),
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
        // Both with their highest bit at 125, so that neither sum nor a shifted-out part gets lost.
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

    /// The quotient with its lowest bit standing for the rest, for mantissas of up to 53 bits; `None` for a NaN.
    pub(super) fn div(self, other: Self) -> Option<Self> {
        let negative = self.negative != other.negative;
        match (self.size, other.size) {
            (Size::Infinite, Size::Infinite) => None,
            (Size::Infinite, _) => Some(Self { negative, ..self }),
            (_, Size::Infinite) => Some(Self::finite(negative, 0, 0)),
            (Size::Finite(0, _), Size::Finite(0, _)) => None,
            (_, Size::Finite(0, _)) => Some(Self {
                negative,
                size: Size::Infinite,
            }),
            (Size::Finite(0, _), _) => Some(Self::finite(negative, 0, 0)),
            (Size::Finite(a, x), Size::Finite(b, y)) => {
                let up = a.leading_zeros() - 1;
                let a = a << up;
                let quotient = (a / b) | u128::from(a % b != 0);
                Some(Self::finite(negative, quotient, x - up as i32 - y))
            }
        }
    }

    /// The square root with its lowest bit standing for the rest; `None` for a NaN.
    pub(super) fn sqrt(self) -> Option<Self> {
        match self.size {
            Size::Finite(0, _) => Some(self),
            _ if self.negative => None,
            Size::Infinite => Some(self),
            Size::Finite(m, e) => {
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

    /// Rounded to an integer; exact, so that another rounding changes nothing.
    pub(super) fn to_integer(self, rounding: Rounding) -> Self {
        match self.size {
            Size::Finite(m, e) if e < 0 => {
                Self::finite(self.negative, round(m, -e, self.negative, rounding), 0)
            }
            _ => self,
        }
    }

    /// The value of an integer, or the outermost of its sign where it is too large to be of use.
    pub(super) fn saturate(self) -> i128 {
        let magnitude = match self.size {
            Size::Finite(m, e) if e <= 0 => m.checked_shr(e.unsigned_abs()).unwrap_or(0),
            Size::Finite(m, e) if m == 0 || e.unsigned_abs() < m.leading_zeros() => {
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
            Size::Infinite => (1, i32::MAX, 0),
            Size::Finite(m, e) => {
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

/// Shifted down; the lowest bit tells whether anything was lost.
fn jam(mantissa: u128, down: i32) -> u128 {
    let kept = mantissa.checked_shr(down.unsigned_abs()).unwrap_or(0);
    let lost = mantissa
        & 1u128
            .checked_shl(down.unsigned_abs())
            .map_or(u128::MAX, |bit| bit - 1);
    kept | u128::from(lost != 0)
}

//! Intervals of integers.

/// An interval of integers from a minimum to a maximum, both inclusive.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Interval {
    /// The minimum.
    pub min: i128,
    /// The maximum.
    pub max: i128,
}

impl Interval {
    /// All integers that an expression can evaluate to.
    pub(super) const ALL: Self = Self::new(i128::MIN, i128::MAX);

    /// The integers from `min` to `max`.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(min: i128, max: i128) -> Self {
        Self { min, max }
    }

    /// The interval of a single integer.
    pub(super) const fn only(value: i128) -> Self {
        Self::new(value, value)
    }

    /// The integers of a number of bits, at most 126.
    #[doc(hidden)]
    #[must_use]
    pub const fn of_bits(bits: u16, signed: bool) -> Self {
        match (signed, bits) {
            (_, 0) => Self::only(0),
            (_, 127..) => Self::ALL,
            (true, _) => Self::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (false, _) => Self::new(0, (1 << bits) - 1),
        }
    }

    /// Whether it contains an integer.
    #[must_use]
    pub const fn contains(self, value: i128) -> bool {
        self.min <= value && value <= self.max
    }

    /// Whether it contains another interval.
    #[doc(hidden)]
    #[must_use]
    pub const fn includes(self, other: Self) -> bool {
        self.min <= other.min && other.max <= self.max
    }

    /// The integer, if the interval has only one.
    #[must_use]
    pub fn single(self) -> Option<i128> {
        (self.min == self.max).then_some(self.min)
    }

    /// The smallest interval that contains both intervals.
    pub(super) fn join(self, other: Self) -> Self {
        Self::new(self.min.min(other.min), self.max.max(other.max))
    }

    /// The interval of the results of a function that is monotonic in each argument.
    pub(super) fn corners(self, other: Self, f: impl Fn(i128, i128) -> Option<i128>) -> Self {
        let mut interval: Option<Self> = None;
        for a in [self.min, self.max] {
            for b in [other.min, other.max] {
                let Some(corner) = f(a, b).map(Self::only) else {
                    return Self::ALL;
                };
                interval = Some(interval.map_or(corner, |interval| interval.join(corner)));
            }
        }
        interval.unwrap_or(Self::ALL)
    }

    /// The interval of the sums.
    pub(super) fn add(self, other: Self) -> Self {
        self.corners(other, i128::checked_add)
    }

    /// The interval of the differences.
    pub(super) fn sub(self, other: Self) -> Self {
        self.corners(other, i128::checked_sub)
    }

    /// The interval of the products.
    pub(super) fn mul(self, other: Self) -> Self {
        self.corners(other, i128::checked_mul)
    }

    /// The interval of the low bits, interpreted as a signed or unsigned integer.
    pub(super) fn truncated(self, bits: u16, signed: bool) -> Self {
        let all = Self::of_bits(bits, signed);
        if all.includes(self) || bits > 64 {
            return self;
        }
        let size = 1i128 << bits;
        for shift in [-size, size] {
            let moved = self.corners(Self::only(shift), i128::checked_add);
            if all.includes(moved) {
                return moved;
            }
        }
        all
    }
}

/// The integer that the low bits of a number are, with or without a sign.
pub(super) fn truncate(number: i128, bits: u16, signed: bool) -> i128 {
    let above = 128 - u32::from(bits.clamp(1, 127));
    if signed {
        number << above >> above
    } else {
        ((number as u128) << above >> above) as i128
    }
}

//! Ranges of integers.

use ptx_isa::{ScalarType, TypeKind};

/// The integers from a least to a greatest one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub(super) min: i128,
    pub(super) max: i128,
}

impl Range {
    pub(super) const fn new(min: i128, max: i128) -> Self {
        Self { min, max }
    }

    /// The integers of as many bits.
    pub(super) const fn of_bits(bits: u16, signed: bool) -> Self {
        if signed {
            Self::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            Self::new(0, (1 << bits) - 1)
        }
    }

    /// The integers of a type of at most 64 bits.
    pub(super) fn of_type(ty: ScalarType) -> Option<Self> {
        let bits = ty.bits();
        (1..=64)
            .contains(&bits)
            .then(|| Self::of_bits(bits, ty.kind() == TypeKind::Signed))
    }

    /// Whether integers of as many bits include it, signed ones if it has negative ones.
    pub(super) const fn fits(self, bits: u16) -> bool {
        let all = Self::of_bits(bits, self.min < 0);
        all.min <= self.min && self.max <= all.max
    }

    pub(super) const fn is_signed(self) -> bool {
        self.min < 0
    }

    /// Both ranges and what is between.
    pub(super) fn join(self, other: Self) -> Self {
        Self::new(self.min.min(other.min), self.max.max(other.max))
    }

    /// The results of a function that is monotonic in each argument.
    pub(super) fn corners(
        self,
        other: Self,
        f: impl Fn(i128, i128) -> Option<i128>,
    ) -> Option<Self> {
        let all = [
            f(self.min, other.min)?,
            f(self.min, other.max)?,
            f(self.max, other.min)?,
            f(self.max, other.max)?,
        ];
        let (min, max) = (all.iter().min()?, all.iter().max()?);
        Some(Self::new(*min, *max))
    }
}

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

    /// The integers of a number of bits.
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

    /// Whether integers of a number of bits include the range; the integers are signed if the range has negative ones.
    pub(super) const fn fits(self, bits: u16) -> bool {
        let limits = Self::of_bits(bits, self.min < 0);
        limits.min <= self.min && self.max <= limits.max
    }

    pub(super) const fn is_signed(self) -> bool {
        self.min < 0
    }

    /// The smallest range that includes both.
    pub(super) fn join(self, other: Self) -> Self {
        Self::new(self.min.min(other.min), self.max.max(other.max))
    }

    /// The smallest range that includes both, if 64 bits include it.
    pub(super) fn join_in_double(self, other: Self) -> Option<Self> {
        Some(self.join(other)).filter(|joined| joined.fits(64))
    }

    /// The results of a function that is monotonic in each argument.
    pub(super) fn corners(
        self,
        other: Self,
        function: impl Fn(i128, i128) -> Option<i128>,
    ) -> Option<Self> {
        let results = [
            function(self.min, other.min)?,
            function(self.min, other.max)?,
            function(self.max, other.min)?,
            function(self.max, other.max)?,
        ];
        let (min, max) = (results.iter().min()?, results.iter().max()?);
        Some(Self::new(*min, *max))
    }
}

//! Ranges of integers, and integers in registers with their ranges.

use ptx_isa::{ExprFunction as Function, ScalarType, TypeKind};

use crate::lanes::Place;

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

/// An integer in a word or a double.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Int {
    pub(super) place: Place,
    /// The values that it may have, if its bits, with a sign where the range has negative ones, are its value; `None` if only its low bits are
    /// right.
    pub(super) range: Option<Range>,
}

impl Int {
    pub(super) const fn exact(place: Place, range: Range) -> Self {
        Self {
            place,
            range: Some(range),
        }
    }

    pub(super) const fn low(place: Place) -> Self {
        Self { place, range: None }
    }
}

/// The values that an operation may have; `None` if they are not known.
pub(super) fn result_range(function: Function, a: Range, b: Range) -> Option<Range> {
    match function {
        Function::Add => a.corners(b, i128::checked_add),
        Function::Sub => a.corners(b, i128::checked_sub),
        Function::Mul => a.corners(b, i128::checked_mul),
        Function::And if a.min >= 0 && b.min >= 0 => Some(Range::new(0, a.max.min(b.max))),
        Function::And if b.min >= 0 => Some(Range::new(0, b.max)),
        Function::And if a.min >= 0 => Some(Range::new(0, a.max)),
        _ => {
            let joined = a.join(b);
            let bits = (1..=64).find(|&bits| joined.fits(bits))?;
            Some(Range::of_bits(bits, joined.is_signed()))
        }
    }
}

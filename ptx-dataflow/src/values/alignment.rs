//! Known low bits of integers.

/// The known low bits of an integer: it is congruent to `residue` modulo 2^`bits`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Alignment {
    /// The number of known low bits, at most 64.
    pub bits: u8,
    /// The values of these bits.
    pub residue: u64,
}

impl Alignment {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        bits: 0,
        residue: 0,
    };

    /// The low bits of a constant.
    #[doc(hidden)]
    #[must_use]
    pub fn new(bits: u32, residue: u64) -> Self {
        let bits = bits.min(64);
        Self {
            bits: bits as u8,
            residue: residue & low_bits(bits),
        }
    }

    /// The low bits of all multiples of a number.
    #[doc(hidden)]
    #[must_use]
    pub fn multiple_of(number: u64) -> Self {
        Self::new(number.trailing_zeros(), 0)
    }

    /// The largest power of two that certainly divides the integer.
    #[must_use]
    pub fn divisor(self) -> u64 {
        let zeros = match self.residue {
            0 => u32::from(self.bits),
            residue => residue.trailing_zeros(),
        };
        1 << zeros.min(63)
    }

    /// Whether an integer has these low bits.
    #[must_use]
    pub fn contains(self, value: u64) -> bool {
        value & low_bits(self.bits.into()) == self.residue
    }

    /// The number of low bits that are known to be zero.
    pub(super) fn zeros(self) -> u32 {
        match self.residue {
            0 => self.bits.into(),
            residue => residue.trailing_zeros(),
        }
    }

    /// The low bits that both have in common.
    pub(super) fn join(self, other: Self) -> Self {
        let equal_bits = (self.residue ^ other.residue).trailing_zeros();
        let bits = u32::from(self.bits.min(other.bits)).min(equal_bits);
        Self::new(bits, self.residue)
    }

    /// The more precise of two facts that both hold for an integer.
    pub(super) fn better(self, other: Self) -> Self {
        if other.bits > self.bits { other } else { self }
    }

    /// The low bits of the integer modulo a power of two.
    pub(super) fn truncated(self, bits: u32) -> Self {
        Self::new(bits.min(self.bits.into()), self.residue)
    }

    /// The low bits of a sum or a difference, which `f` computes modulo 2^64.
    pub(super) fn combined(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let bits = self.bits.min(other.bits);
        Self::new(bits.into(), f(self.residue, other.residue))
    }

    /// The low bits of the product.
    pub(super) fn mul(self, other: Self) -> Self {
        // (r + 2^m x)(s + 2^n y): unknown from the lowest power on.
        let unknown = |a: Self, b: Self| u32::from(a.bits) + b.zeros();
        let bits = unknown(self, other).min(unknown(other, self));
        Self::new(bits, self.residue.wrapping_mul(other.residue))
    }

    pub(super) fn shifted_left(self, by: u32) -> Self {
        Self::new(
            u32::from(self.bits) + by,
            self.residue.checked_shl(by).unwrap_or(0),
        )
    }

    pub(super) fn shifted_right(self, by: u32) -> Self {
        let residue = self.residue.checked_shr(by).unwrap_or(0);
        // All 64 known bits say nothing of those above.
        Self::new(u32::from(self.bits).saturating_sub(by), residue)
    }

    /// The low bits of the bitwise and with a constant.
    pub(super) fn masked(self, mask: u64) -> Self {
        let above = mask & !low_bits(self.bits.into());
        let bits = if above == 0 {
            // Bits of a constant that are zero are known.
            64
        } else {
            above.trailing_zeros()
        };
        Self::new(bits, self.residue & mask)
    }
}

/// The integer whose lowest bits are one.
pub(super) const fn low_bits(bits: u32) -> u64 {
    match bits {
        64.. => u64::MAX,
        _ => (1 << bits) - 1,
    }
}

//! Integers of the lanes of a warp.
//!
//! An integer is `base + (offset ^ inversion)`: the offset of each lane is known, and `base` and `inversion` are the same in all lanes but unknown.
//! Of these, the bits that may be one are known. All three are infinite integers in two's complement, of which 128 bits are stored.

use crate::memory_access::requests::LANES;

/// The integer of each lane.
pub(super) type Lanes = [i128; LANES];

/// The number of bits of an integer that is known exactly.
const EXACT: u32 = 128;

/// What a fact about lanes assumes.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Assumed {
    /// Dimension x of CTAs, of which no directive states the size, is a multiple of 32.
    pub(crate) shape: bool,
    /// No sum wraps around before it is extended.
    pub(crate) no_wrap: bool,
    /// Pointers that kernels get as parameters are aligned like allocations.
    pub(crate) alignment: bool,
    /// The quotient of a division is the same in all lanes of a warp.
    pub(crate) same_quotient: bool,
}

impl Assumed {
    pub(super) const NOTHING: Self = Self {
        shape: false,
        no_wrap: false,
        alignment: false,
        same_quotient: false,
    };

    pub(super) const fn and(self, other: Self) -> Self {
        Self {
            shape: self.shape || other.shape,
            no_wrap: self.no_wrap || other.no_wrap,
            alignment: self.alignment || other.alignment,
            same_quotient: self.same_quotient || other.same_quotient,
        }
    }
}

/// An integer of each lane of a warp.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Number {
    /// The known offset of each lane.
    pub(super) offsets: Lanes,
    /// The bits of the common summand that may be one.
    pub(super) base: u128,
    /// The bits that may be inverted in the offsets of all lanes.
    pub(super) inverted: u128,
    /// The number of low bits that are known without the assumption that nothing wraps around.
    pub(super) bits: u32,
    pub(super) assumed: Assumed,
}

impl Number {
    pub(super) const fn constant(value: i128) -> Self {
        Self::known([value; LANES])
    }

    pub(super) const fn known(offsets: Lanes) -> Self {
        Self {
            offsets,
            base: 0,
            inverted: 0,
            bits: EXACT,
            assumed: Assumed::NOTHING,
        }
    }

    /// An integer that is the same in all lanes, of which these bits may be one.
    pub(super) const fn uniform(base: u128) -> Self {
        Self {
            base,
            ..Self::constant(0)
        }
    }

    pub(super) const fn assuming(self, assumed: Assumed) -> Self {
        Self {
            assumed: self.assumed.and(assumed),
            ..self
        }
    }

    /// Returns whether the integer is the same in all lanes.
    pub(super) fn is_uniform(&self) -> bool {
        varying_bits(&self.offsets) == 0
    }

    /// Returns whether the integer of each lane is known.
    pub(super) const fn is_known(&self) -> bool {
        self.base == 0 && self.inverted == 0
    }

    /// The integer, if it is known and the same in all lanes.
    pub(super) fn single(&self) -> Option<i128> {
        (self.is_known() && self.is_uniform()).then_some(self.offsets[0])
    }

    /// The integer under the assumption that nothing wraps around.
    pub(super) const fn exact(mut self) -> Self {
        if self.bits < EXACT {
            self.bits = EXACT;
            self.assumed.no_wrap = true;
        }
        self
    }

    /// The bits that are unknown but the same in all lanes.
    pub(super) const fn unknown(&self) -> u128 {
        self.base | self.inverted
    }

    /// The bits that are one in the offset of a lane.
    fn offset_bits(&self) -> u128 {
        let bits = self.offsets.iter();
        bits.fold(0, |bits, offset| bits | *offset as u128)
    }

    /// Returns whether the sum with the base has no carries, so that each bit is known or unknown alone.
    fn is_without_carries(&self) -> bool {
        (self.offset_bits() | self.inverted) & self.base == 0
    }

    /// The integer as a sum without carries. The part of the offsets that all lanes have in common becomes a part of the base where that helps.
    pub(super) fn without_carries(mut self) -> Option<Self> {
        if self.is_without_carries() {
            return Some(self);
        }
        if self.inverted != 0 {
            return None;
        }
        let length = 128 - varying_bits(&self.offsets).leading_zeros();
        let low = ones(length);
        let common = self.offsets[0] as u128 & !low;
        self.base = sum_bits(self.base, common);
        for offset in &mut self.offsets {
            *offset &= low as i128;
        }
        self.is_without_carries().then_some(self)
    }

    /// Makes inverted bits that are the same in all lanes a part of the base.
    pub(super) fn simplified(mut self) -> Self {
        if self.inverted == 0 {
            return self;
        }
        let same = self.inverted & !varying_bits(&self.offsets);
        if same & self.base == 0 {
            for offset in &mut self.offsets {
                *offset &= !same as i128;
            }
            self.inverted &= !same;
            self.base |= same;
        }
        self
    }

    /// The sum; `None` if it is not a known offset from a common number.
    pub(super) fn sum(self, other: Self) -> Option<Self> {
        let assumed = self.assumed.and(other.assumed);
        let bits = self.bits.min(other.bits);
        let base = sum_bits(self.base, other.base);
        if self.inverted | other.inverted == 0 {
            let offsets = zip(&self.offsets, &other.offsets, i128::wrapping_add);
            return Some(Self {
                offsets,
                base,
                inverted: 0,
                bits,
                assumed,
            });
        }
        let occupied = |number: &Self| number.offset_bits() | number.inverted;
        if occupied(&self) & occupied(&other) == 0 {
            return Some(Self {
                offsets: zip(&self.offsets, &other.offsets, |a, b| a | b),
                base,
                inverted: self.inverted | other.inverted,
                bits,
                assumed,
            });
        }
        let (inverted, uniform) = if other.inverted == 0 && other.is_uniform() {
            (self, other)
        } else if self.inverted == 0 && self.is_uniform() {
            (other, self)
        } else {
            return None;
        };
        let base = sum_bits(base, uniform.offsets[0] as u128);
        Some(Self {
            base,
            bits,
            assumed,
            ..inverted
        })
    }

    /// The negated integer.
    pub(super) fn negated(self) -> Option<Self> {
        if self.inverted != 0 {
            return None;
        }
        Some(Self {
            offsets: self.offsets.map(i128::wrapping_neg),
            base: from_lowest(self.base),
            ..self
        })
    }

    /// The product; `None` if it is not a known offset from a common number.
    pub(super) fn product(self, other: Self) -> Option<Self> {
        let assumed = self.assumed.and(other.assumed);
        let bits = self.bits.min(other.bits);
        match (self.single(), other.single()) {
            (_, Some(factor)) => return self.times(factor).map(|n| n.assuming(other.assumed)),
            (Some(factor), _) => return other.times(factor).map(|n| n.assuming(self.assumed)),
            _ => {}
        }
        if self.is_known() && other.is_known() {
            let offsets = zip(&self.offsets, &other.offsets, i128::wrapping_mul);
            return Some(Self {
                bits,
                ..Self::known(offsets).assuming(assumed)
            });
        }
        if !self.is_uniform() || !other.is_uniform() {
            return None;
        }
        let zeros = |number: &Self| (number.possible_bits().trailing_zeros()).min(64);
        let length = |number: &Self| 128 - number.possible_bits().leading_zeros();
        let low = ones((zeros(&self) + zeros(&other)).min(127));
        let high = ones((length(&self) + length(&other)).min(128));
        Some(Self {
            bits,
            ..Self::uniform(high & !low).assuming(assumed)
        })
    }

    /// The bits that may be one in a lane.
    fn possible_bits(&self) -> u128 {
        if self.is_without_carries() {
            self.offset_bits() | self.unknown()
        } else {
            from_lowest(self.offset_bits() | self.unknown())
        }
    }

    fn times(self, factor: i128) -> Option<Self> {
        if factor > 0 && factor.count_ones() == 1 {
            return Some(self.shifted_left(factor.trailing_zeros()));
        }
        if self.inverted != 0 {
            return None;
        }
        let mut base = 0;
        if factor < 0 {
            base = from_lowest(
                self.base
                    .wrapping_mul(factor.unsigned_abs() & factor.unsigned_abs().wrapping_neg()),
            );
        } else if self.base != 0 {
            let mut remaining = factor as u128;
            while remaining != 0 {
                base = sum_bits(base, self.base.wrapping_shl(remaining.trailing_zeros()));
                remaining &= remaining - 1;
            }
        }
        let offsets = self.offsets.map(|offset| offset.wrapping_mul(factor));
        Some(Self {
            offsets,
            base,
            ..self
        })
    }

    /// The product with a power of two.
    pub(super) fn shifted_left(self, by: u32) -> Self {
        if by >= 128 {
            return Self::constant(0).assuming(self.assumed);
        }
        Self {
            offsets: self.offsets.map(|offset| offset << by),
            base: self.base << by,
            inverted: self.inverted << by,
            bits: (self.bits + by).min(EXACT),
            assumed: self.assumed,
        }
    }

    /// The quotient of the division by a power of two, rounded down; `None` if bits below the result carry into it.
    pub(super) fn shifted_right(self, by: u32) -> Option<Self> {
        let by = by.min(127);
        let number = match self.without_carries() {
            Some(number) => number,
            None if self.base.trailing_zeros() >= by => self,
            None => return None,
        };
        let number = number.exact();
        Some(Self {
            offsets: number.offsets.map(|offset| offset >> by),
            base: (number.base as i128 >> by) as u128,
            inverted: (number.inverted as i128 >> by) as u128,
            ..number
        })
    }

    /// The integer that the low bits are, with or without a sign. It is exact if there are no carries out of these bits.
    pub(super) fn truncated(self, length: u32, is_signed: bool) -> Self {
        if length >= EXACT || length == 0 {
            return if length == 0 { Self::constant(0) } else { self };
        }
        if self.bits >= EXACT && self.fits(length, is_signed) {
            return self;
        }
        let mask = ones(length);
        let low = Self {
            offsets: self.offsets.map(|offset| offset & mask as i128),
            base: self.base & mask,
            inverted: self.inverted & mask,
            bits: EXACT,
            // A sum that wraps around only loses bits that are removed here.
            assumed: self.assumed,
        };
        let sum_is_short = |number: &Self| {
            let most = number.offsets.iter().max().copied().unwrap_or(0);
            number.inverted == 0 && (number.base as i128).wrapping_add(most) <= mask as i128
        };
        let mut result = low;
        if self.bits < length {
            result.assumed.no_wrap = true;
        }
        if let Some(number) = result.without_carries() {
            let number = Self {
                offsets: number.offsets.map(|offset| offset & mask as i128),
                base: number.base & mask,
                ..number
            };
            if number.is_without_carries() {
                return if is_signed {
                    number.sign_extended(length)
                } else {
                    number
                };
            }
        }
        if !is_signed && sum_is_short(&result) {
            return result;
        }
        // The distances between lanes are short.
        result.bits = length;
        result.offsets = result.offsets.map(|offset| extended(offset, length));
        if is_signed {
            result.base = extend_bits(result.base, length);
        }
        result.inverted = extend_bits(result.inverted, length);
        result
    }

    /// Returns whether the integer has at most a number of bits.
    fn fits(&self, length: u32, is_signed: bool) -> bool {
        let Some(ranges) = self.ranges() else {
            return false;
        };
        let (least, greatest) = if is_signed {
            (-1 << (length - 1), ones(length - 1) as i128)
        } else {
            (0, ones(length) as i128)
        };
        let mut ranges = ranges.iter();
        ranges.all(|range| range.0 >= least && range.1 <= greatest)
    }

    fn sign_extended(self, length: u32) -> Self {
        Self {
            offsets: self.offsets.map(|offset| extended(offset, length)),
            base: extend_bits(self.base, length),
            inverted: extend_bits(self.inverted, length),
            ..self
        }
    }

    /// The least and the greatest integer of each lane; `None` if the base or an inversion may be negative.
    pub(super) fn ranges(&self) -> Option<[(i128, i128); LANES]> {
        let inverted = self.inverted as i128;
        if (self.base as i128) < 0 || inverted < 0 {
            return None;
        }
        let mut ranges = [(0, 0); LANES];
        for (range, &offset) in ranges.iter_mut().zip(&self.offsets) {
            let least = offset & !inverted;
            let greatest = (offset | inverted).checked_add(self.base as i128)?;
            *range = (least, greatest);
        }
        Some(ranges)
    }
}

/// The bits in which the integers of lanes differ.
pub(super) fn varying_bits(lanes: &Lanes) -> u128 {
    let differences = lanes.iter().map(|lane| (lane ^ lanes[0]) as u128);
    differences.fold(0, |bits, difference| bits | difference)
}

/// A function of the integers of each lane.
pub(super) fn zip(a: &Lanes, b: &Lanes, function: impl Fn(i128, i128) -> i128) -> Lanes {
    core::array::from_fn(|lane| function(a[lane], b[lane]))
}

/// The bits that may be one in the sum of two integers, of which these bits may be one.
pub(super) const fn sum_bits(a: u128, b: u128) -> u128 {
    if a == 0 || b == 0 {
        return a | b;
    }
    let greatest = a.wrapping_add(b);
    greatest | a | b
}

/// All bits from the lowest one bit on.
pub(super) const fn from_lowest(bits: u128) -> u128 {
    if bits == 0 {
        0
    } else {
        !ones(bits.trailing_zeros())
    }
}

/// The mask of a number of low bits.
pub(super) const fn ones(length: u32) -> u128 {
    match length {
        0 => 0,
        128.. => u128::MAX,
        _ => u128::MAX >> (128 - length),
    }
}

/// The integer that a number of low bits are in two's complement.
pub(super) const fn extended(value: i128, length: u32) -> i128 {
    if length == 0 || length >= 128 {
        return value;
    }
    let above = 128 - length;
    value << above >> above
}

/// The bits that may be one after the extension of the sign.
const fn extend_bits(bits: u128, length: u32) -> u128 {
    extended(bits as i128, length) as u128
}

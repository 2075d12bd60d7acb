//! The bits of a value that differ between threads, and the lanes of a warp between which they differ.
//!
//! Properties of the lanes of a warp hold for any two lanes that execute the same instance of the defining statement, whatever the other lanes do.

use alloc::vec::Vec;

use ptx_isa::Uniformity;

use super::context::Context;
use crate::ssa::ValueId;

/// The number of lanes of a warp.
pub(super) const LANES: u64 = 32;
/// The mask of the bits of the index of a lane.
const LANE_MASK: u8 = 0x1f;
/// The number of bits of the index of a lane.
const LANE_BITS: i16 = 5;

/// The bits and lanes in which a value may differ.
///
/// ```text
///   tid.x in CTAs of 128 threads            tid.x >> 5
///   bit    6 5 | 4 3 2 1 0                  bit    1 0
///          └┬┘   └───┬───┘                         └┬┘
///         cta only   warp and cta: lanes           cta only: the same in a warp
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct LaneBits {
    /// The bits that may differ between the lanes of a warp.
    warp: u64,
    /// The bits that may differ between the threads of a CTA.
    cta: u64,
    /// Lanes whose indices differ only in these bits hold the same value.
    same: u8,
    /// If it is `n`, bit `i` differs only between lanes of which bit `i + n` of the index differs.
    shift: Option<i16>,
    /// The uniformity of all other bits.
    rest: Uniformity,
}

/// The differing bits of the values of a function.
#[derive(Debug, Default)]
pub(super) struct LaneValues {
    /// The threads of a CTA in each dimension; `None` if CTAs are not known to consist of whole warps: then values are not followed.
    threads: Option<[u64; 3]>,
    /// The differing bits of each value, if it was evaluated. Empty if values are not followed.
    values: Vec<Option<LaneBits>>,
}

/// The differing bits of a value after a join.
pub(super) struct Joined {
    pub(super) bits: LaneBits,
    /// The join changed them.
    pub(super) is_changed: bool,
}

impl LaneValues {
    /// Creates a table for a number of values.
    pub(super) fn new(context: &Context, values: usize) -> Self {
        let threads = context.threads().filter(|threads| {
            !context.is_optimistic && threads.iter().product::<u64>().is_multiple_of(LANES)
        });
        Self {
            threads,
            values: vec![None; if threads.is_some() { values } else { 0 }],
        }
    }

    /// Returns whether values are followed.
    pub(super) const fn are_followed(&self) -> bool {
        self.threads.is_some()
    }

    /// The differing bits of a value that was evaluated.
    pub(super) fn get(&self, id: ValueId) -> Option<LaneBits> {
        self.values.get(id.as_u32() as usize).copied().flatten()
    }

    /// Joins the differing bits of a value with others; `None` if values are not followed.
    pub(super) fn raise(&mut self, id: ValueId, bits: LaneBits) -> Option<Joined> {
        let slot = self.values.get_mut(id.as_u32() as usize)?;
        let joined = slot.map_or(bits, |old| old.join(bits));
        Some(Joined {
            bits: joined,
            is_changed: slot.replace(joined) != Some(joined),
        })
    }

    /// All bits of a value may differ.
    pub(super) fn give_up(&mut self, id: ValueId) {
        if let Some(slot) = self.values.get_mut(id.as_u32() as usize) {
            *slot = Some(LaneBits::UNKNOWN);
        }
    }

    /// The differing bits of the index of a thread in a dimension.
    pub(super) fn thread_index(&self, dimension: usize) -> Option<LaneBits> {
        let threads = self.threads?;
        let size = *threads.get(dimension)?;
        // The linear index is the sum of the indices times the sizes of the dimensions before them.
        let stride: u64 = threads.iter().take(dimension).product();
        let mut later = threads.iter().skip(dimension + 1);
        let is_last = later.all(|size| *size == 1);
        let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
        let fills_warps =
            size.is_power_of_two() || is_last || size.is_multiple_of(LANES) && stride == 1;
        if stride.is_power_of_two() && fills_warps {
            Some(LaneBits::of_index(stride.trailing_zeros(), bits))
        } else if stride.is_multiple_of(LANES) {
            Some(LaneBits::of_index(u64::BITS, bits))
        } else {
            None
        }
    }
}

impl LaneBits {
    /// All bits may differ; there are no other bits.
    pub(super) const UNKNOWN: Self = Self {
        warp: u64::MAX,
        cta: u64::MAX,
        same: 0,
        shift: None,
        rest: Uniformity::Grid,
    };

    /// The differing bits of a value of which only the uniformity is known.
    pub(super) const fn uniform(uniformity: Uniformity) -> Self {
        match uniformity {
            Uniformity::Varying => Self::UNKNOWN,
            Uniformity::Warp => Self {
                warp: 0,
                cta: u64::MAX,
                same: LANE_MASK,
                shift: None,
                rest: Uniformity::Grid,
            },
            rest => Self {
                warp: 0,
                cta: 0,
                same: LANE_MASK,
                shift: None,
                rest,
            },
        }
    }

    /// A number of bits of the linear index of a thread in its CTA, from a position on.
    pub(super) fn of_index(position: u32, bits: u32) -> Self {
        let cta = ones(bits);
        let lanes = u64::from(LANE_MASK).checked_shr(position).unwrap_or(0);
        Self {
            warp: cta & lanes,
            cta,
            same: 0,
            shift: Some(position as i16),
            rest: Uniformity::Grid,
        }
        .settled()
    }

    /// The uniformity of the value.
    pub(super) fn uniformity(&self) -> Uniformity {
        match (self.cta, self.warp) {
            (0, _) => self.rest,
            (_, 0) => self.rest.join(Uniformity::Warp),
            _ => Uniformity::Varying,
        }
    }

    /// Returns whether all lanes of a warp hold the same value.
    pub(super) const fn is_same_in_warp(&self) -> bool {
        self.warp == 0
    }

    /// The bits of the index of a lane on which the value depends.
    pub(super) const fn lanes(&self) -> u8 {
        LANE_MASK & !self.same
    }

    /// Either of two values, the same one in all lanes of a warp.
    pub(super) fn join(self, other: Self) -> Self {
        Self {
            warp: self.warp | other.warp,
            cta: self.cta | other.cta,
            same: self.same & other.same,
            shift: self.common_shift(other),
            rest: self.rest.join(other.rest),
        }
    }

    /// An unknown function of two values.
    pub(super) fn mixed(self, other: Self) -> Self {
        let spread = |mask: u64| if mask == 0 { 0 } else { u64::MAX };
        let joined = self.join(other);
        Self {
            warp: spread(joined.warp),
            cta: spread(joined.cta),
            shift: None,
            ..joined
        }
    }

    /// The value of threads that chose it among others; `choice` is the uniformity of the choice.
    pub(super) fn chosen(self, choice: Uniformity) -> Self {
        match choice {
            Uniformity::Varying => Self::UNKNOWN,
            Uniformity::Warp => Self {
                cta: u64::MAX,
                ..self
            },
            choice => Self {
                rest: self.rest.join(choice),
                ..self
            },
        }
    }

    /// A bitwise function of two values: each bit of the result depends on the bits at its position.
    pub(super) fn bitwise(self, other: Self) -> Self {
        self.join(other).settled()
    }

    /// A sum, a difference or a product: a bit depends on those below it.
    pub(super) fn carried(self, other: Self) -> Self {
        let joined = self.join(other);
        Self {
            warp: upwards(joined.warp),
            cta: upwards(joined.cta),
            shift: None,
            ..joined
        }
    }

    /// The bitwise and of the value and a mask.
    pub(super) fn masked(self, mask: u64) -> Self {
        Self {
            warp: self.warp & mask,
            cta: self.cta & mask,
            ..self
        }
        .settled()
    }

    /// The value times a power of two.
    pub(super) fn shifted_left(self, by: u32) -> Self {
        // What is above 64 bits is kept in the highest one.
        let shifted = |mask: u64| {
            let is_lost = mask.leading_zeros() < by;
            mask.checked_shl(by).unwrap_or(0) | u64::from(is_lost) << 63
        };
        let is_exact = self.warp.leading_zeros() >= by;
        Self {
            warp: shifted(self.warp),
            cta: shifted(self.cta),
            shift: self.shift.filter(|_| is_exact).map(|n| n - by as i16),
            ..self
        }
        .settled()
    }

    /// The value divided by a power of two. The highest bit is that of all above it.
    pub(super) fn shifted_right(self, by: u32) -> Self {
        let shifted = |mask: u64| (mask as i64 >> by.min(63)) as u64;
        let is_exact = self.warp >> 63 == 0;
        Self {
            warp: shifted(self.warp),
            cta: shifted(self.cta),
            shift: self.shift.filter(|_| is_exact).map(|n| n + by as i16),
            ..self
        }
        .settled()
    }

    /// The value as an integer of a number of bits; the sign is extended to the bits above them.
    pub(super) fn fitted(self, bits: u32, sign: Sign) -> Self {
        let low = ones(bits);
        let is_extended =
            |mask: u64| sign == Sign::Signed && bits < u64::BITS && mask & low & !(low >> 1) != 0;
        let fit = |mask: u64| mask & low | if is_extended(mask) { !low } else { 0 };
        Self {
            warp: fit(self.warp),
            cta: fit(self.cta),
            shift: self.shift.filter(|_| !is_extended(self.warp)),
            ..self
        }
        .settled()
    }

    /// A commutative function of the value of a lane and that of the lane whose index differs in `bits`.
    pub(super) fn exchanged(self, bits: u8) -> Self {
        match bits & self.lanes() {
            bit if bit.is_power_of_two() => Self {
                same: self.same | bit,
                shift: None,
                ..self
            }
            .settled(),
            _ => self,
        }
    }

    /// The value of a lane whose index shares the bits of `segment` with the lane that reads it.
    pub(super) fn broadcast(self, segment: u8) -> Self {
        Self {
            same: self.same | LANE_MASK & !segment,
            shift: None,
            ..self
        }
        .settled()
    }

    fn common_shift(self, other: Self) -> Option<i16> {
        match (self.warp, other.warp) {
            (0, _) => other.shift,
            (_, 0) => self.shift,
            _ => self.shift.filter(|_| self.shift == other.shift),
        }
    }

    /// Restores the relations between the fields: `same` follows from `warp` if `shift` is known, and a value without differing bits is the same in all lanes.
    fn settled(mut self) -> Self {
        if let Some(shift) = self.shift {
            self.same = LANE_MASK;
            for lane_bit in 0..LANE_BITS {
                let bit = lane_bit - shift;
                if (0..64).contains(&bit) && self.warp >> bit & 1 == 1 {
                    self.same &= !(1 << lane_bit);
                }
            }
        }
        if self.warp == 0 || self.same == LANE_MASK {
            (self.warp, self.same, self.shift) = (0, LANE_MASK, None);
        }
        self
    }
}

/// The extension of an integer to more bits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Signed,
    Unsigned,
}

/// The mask of a number of low bits.
pub(super) const fn ones(bits: u32) -> u64 {
    match bits {
        0 => 0,
        64.. => u64::MAX,
        bits => u64::MAX >> (64 - bits),
    }
}

/// The mask of the bits from the lowest bit of a mask on.
const fn upwards(mask: u64) -> u64 {
    match mask {
        0 => 0,
        mask => u64::MAX << mask.trailing_zeros(),
    }
}

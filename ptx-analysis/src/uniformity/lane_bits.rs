//! Which bits of a value differ between threads, and between which lanes of a warp they differ.
//!
//! Properties of the lanes of a warp hold for any two lanes that execute the same instance of the defining statement, whatever the other lanes do.

use ptx_isa::Uniformity;

/// The bits of the index of a lane.
const LANE: u8 = 0x1f;
/// How many there are.
const LANE_BITS: i16 = 5;

/// What is known of a value.
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
    /// In which threads all other bits are the same.
    rest: Uniformity,
}

impl LaneBits {
    /// Nothing is known: there are no other bits.
    pub(super) const UNKNOWN: Self = Self {
        warp: u64::MAX,
        cta: u64::MAX,
        same: 0,
        shift: None,
        rest: Uniformity::Grid,
    };

    /// A value that is the same in a group.
    pub(super) const fn uniform(level: Uniformity) -> Self {
        match level {
            Uniformity::Varying => Self::UNKNOWN,
            Uniformity::Warp => Self {
                warp: 0,
                cta: u64::MAX,
                same: LANE,
                shift: None,
                rest: Uniformity::Grid,
            },
            rest => Self {
                warp: 0,
                cta: 0,
                same: LANE,
                shift: None,
                rest,
            },
        }
    }

    /// As many low bits of the index of the thread in its CTA as a number, after those below a position.
    pub(super) fn of_index(position: u32, bits: u32) -> Self {
        let cta = ones(bits);
        let lanes = u64::from(LANE).checked_shr(position).unwrap_or(0);
        Self {
            warp: cta & lanes,
            cta,
            same: 0,
            shift: Some(position as i16),
            rest: Uniformity::Grid,
        }
        .settled()
    }

    /// In which threads the value is the same.
    pub(super) fn level(&self) -> Uniformity {
        match (self.cta, self.warp) {
            (0, _) => self.rest,
            (_, 0) => self.rest.join(Uniformity::Warp),
            _ => Uniformity::Varying,
        }
    }

    /// Whether all lanes of a warp hold the same.
    pub(super) const fn is_same_in_warp(&self) -> bool {
        self.warp == 0
    }

    /// The bits of the index of a lane on which the value depends.
    pub(super) const fn depends(&self) -> u8 {
        LANE & !self.same
    }

    /// One of two values, in all lanes of a warp the same one.
    pub(super) fn join(self, other: Self) -> Self {
        Self {
            warp: self.warp | other.warp,
            cta: self.cta | other.cta,
            same: self.same & other.same,
            shift: self.common_shift(other),
            rest: self.rest.join(other.rest),
        }
    }

    /// What is computed of two values.
    pub(super) fn mixed(self, other: Self) -> Self {
        let all = |mask: u64| if mask == 0 { 0 } else { u64::MAX };
        let joined = self.join(other);
        Self {
            warp: all(joined.warp),
            cta: all(joined.cta),
            shift: None,
            ..joined
        }
    }

    /// The value for threads that chose it in a way that is the same in a group.
    pub(super) fn chosen(self, level: Uniformity) -> Self {
        match level {
            Uniformity::Varying => Self::UNKNOWN,
            Uniformity::Warp => Self {
                cta: u64::MAX,
                ..self
            },
            level => Self {
                rest: self.rest.join(level),
                ..self
            },
        }
    }

    /// Each bit of the result is a function of the bits of two values at its position.
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

    /// Only some of the bits.
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
            let lost = mask.leading_zeros() < by;
            mask.checked_shl(by).unwrap_or(0) | u64::from(lost) << 63
        };
        let (warp, cta) = (shifted(self.warp), shifted(self.cta));
        let is_exact = self.warp.leading_zeros() >= by;
        Self {
            warp,
            cta,
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

    /// The value as an integer of some bits; one with a sign has the highest of them above it, too.
    pub(super) fn fitted(self, bits: u32, signed: bool) -> Self {
        let low = ones(bits);
        let sign = |mask: u64| mask & low & !(low >> 1) != 0 && signed && bits < u64::BITS;
        let fit = |mask: u64| mask & low | if sign(mask) { !low } else { 0 };
        Self {
            warp: fit(self.warp),
            cta: fit(self.cta),
            shift: self.shift.filter(|_| !sign(self.warp)),
            ..self
        }
        .settled()
    }

    /// A commutative operation of the value of a lane and that of the lane whose index has other bits.
    pub(super) fn exchanged(self, bits: u8) -> Self {
        match bits & self.depends() {
            bit if bit.is_power_of_two() => Self {
                same: self.same | bit,
                shift: None,
                ..self
            }
            .settled(),
            _ => self,
        }
    }

    /// What all lanes get from one whose index has some bits of theirs.
    pub(super) fn read_from(self, segment: u8) -> Self {
        Self {
            same: self.same | LANE & !segment,
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

    /// What follows from one part for the others.
    fn settled(mut self) -> Self {
        if let Some(shift) = self.shift {
            let depends = |bit: i16| {
                let at = bit - shift;
                (0..64).contains(&at) && self.warp >> at & 1 == 1
            };
            let bits = (0..LANE_BITS).filter(|bit| depends(*bit));
            self.same = bits.fold(LANE, |same, bit| same & !(1 << bit));
        }
        if self.warp == 0 || self.same == LANE {
            (self.warp, self.same, self.shift) = (0, LANE, None);
        }
        self
    }
}

/// The lowest bits.
pub(super) const fn ones(bits: u32) -> u64 {
    match bits {
        0 => 0,
        64.. => u64::MAX,
        bits => u64::MAX >> (64 - bits),
    }
}

/// The bits from the lowest one of a mask on.
const fn upwards(mask: u64) -> u64 {
    match mask {
        0 => 0,
        mask => u64::MAX << mask.trailing_zeros(),
    }
}

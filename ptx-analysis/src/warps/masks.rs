//! Predicates of the lanes of a warp: the sets of lanes in which they may hold.

use super::number::{Assumed, Number, ones};
use crate::memory_access::requests::LANES;

/// The maximum number of sets.
const MAX_SETS: usize = 4;
/// The maximum number of unknown bits all of whose values are tried.
const MAX_UNKNOWN_BITS: u32 = 6;

/// The sets of lanes in which a predicate may hold. Which of them it is, is the same for all lanes of a warp, but unknown.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Masks {
    sets: [u32; MAX_SETS],
    len: u8,
    pub(crate) assumed: Assumed,
}

impl Masks {
    /// The predicate holds in these lanes.
    pub(crate) const fn known(set: u32) -> Self {
        Self {
            sets: [set, 0, 0, 0],
            len: 1,
            assumed: Assumed::NOTHING,
        }
    }

    /// The predicate holds in all lanes or in none.
    pub(super) const UNIFORM: Self = Self {
        sets: [u32::MAX, 0, 0, 0],
        len: 2,
        assumed: Assumed::NOTHING,
    };

    /// The sets.
    pub(crate) fn sets(&self) -> &[u32] {
        self.sets.get(..self.len.into()).unwrap_or_default()
    }

    pub(super) const fn assuming(self, assumed: Assumed) -> Self {
        Self {
            assumed: self.assumed.and(assumed),
            ..self
        }
    }

    /// The only set.
    pub(super) fn single(&self) -> Option<u32> {
        match *self.sets() {
            [set] => Some(set),
            _ => None,
        }
    }

    /// Returns whether the predicate is the same in all lanes.
    pub(super) fn is_uniform(&self) -> bool {
        self.sets().iter().all(|set| matches!(set, 0 | &u32::MAX))
    }

    /// Adds a set; `None` if there are too many.
    fn with(mut self, set: u32) -> Option<Self> {
        if self.sets().contains(&set) {
            return Some(self);
        }
        *self.sets.get_mut(usize::from(self.len))? = set;
        self.len += 1;
        Some(self)
    }

    fn collect(mut sets: impl Iterator<Item = u32>) -> Option<Self> {
        let first = Self::known(sets.next()?);
        sets.try_fold(first, Self::with)
    }

    /// Either of two predicates.
    pub(super) fn join(self, other: Self) -> Option<Self> {
        let joined = other
            .sets()
            .iter()
            .try_fold(self, |all, set| all.with(*set))?;
        Some(joined.assuming(other.assumed))
    }

    /// The predicate of which each lane is a function of those of two.
    pub(super) fn combined(self, other: Self, function: impl Fn(u32, u32) -> u32) -> Option<Self> {
        let sets = self.sets().iter();
        let pairs = sets.flat_map(|a| other.sets().iter().map(|b| function(*a, *b)));
        let combined = Self::collect(pairs)?;
        Some(combined.assuming(self.assumed).assuming(other.assumed))
    }

    /// The sets without the empty one: an instruction that is executed has an active lane. The only set stays if it is empty.
    pub(crate) fn without_empty(self) -> Self {
        let sets = self.sets().iter().copied().filter(|set| *set != 0);
        Self::collect(sets).map_or(self, |masks| masks.assuming(self.assumed))
    }

    /// The sets of lanes that are in sets of both, which are chosen independently; `None` if there are too many.
    pub(crate) fn intersection(self, other: Self) -> Option<Self> {
        self.combined(other, |a, b| a & b).map(Self::without_empty)
    }

    pub(super) fn negated(self) -> Self {
        Self {
            sets: self.sets.map(|set| !set),
            ..self
        }
    }

    /// The lanes in which a comparison holds.
    pub(super) fn compared(
        a: &Number,
        b: &Number,
        holds: fn(core::cmp::Ordering) -> bool,
    ) -> Option<Self> {
        let (a, b) = (a.exact(), b.exact());
        let assumed = a.assumed.and(b.assumed);
        let masks = if let Some(known) = decided(&a, &b, holds) {
            Self::known(known)
        } else if a.is_uniform() && b.is_uniform() {
            Self::UNIFORM
        } else {
            tried(&a, &b, holds)?
        };
        Some(masks.assuming(assumed))
    }
}

/// The lanes in which a comparison holds, if the ranges of the integers decide that.
fn decided(a: &Number, b: &Number, holds: fn(core::cmp::Ordering) -> bool) -> Option<u32> {
    let (a, b) = (a.ranges()?, b.ranges()?);
    let mut set = 0;
    for (lane, (a, b)) in a.iter().zip(&b).enumerate() {
        let least = a.0.cmp(&b.1);
        let greatest = a.1.cmp(&b.0);
        let is_decided = least == greatest && (least.is_ne() || a.0 == a.1 && b.0 == b.1)
            || holds(least) == holds(greatest) && is_monotonic(holds);
        if !is_decided {
            return None;
        }
        set |= u32::from(holds(least)) << lane;
    }
    Some(set)
}

/// Returns whether a comparison that holds for two differences of integers holds for those between them.
fn is_monotonic(holds: fn(core::cmp::Ordering) -> bool) -> bool {
    use core::cmp::Ordering::{Equal, Greater, Less};
    holds(Less) == holds(Equal) || holds(Equal) == holds(Greater)
}

/// The lanes in which a comparison holds, for each value of the unknown bits.
fn tried(a: &Number, b: &Number, holds: fn(core::cmp::Ordering) -> bool) -> Option<Masks> {
    let masks = [a.base, a.inverted, b.base, b.inverted];
    let count: u32 = masks.iter().map(|mask| mask.count_ones()).sum();
    if count > MAX_UNKNOWN_BITS || masks.iter().any(|mask| *mask > ones(126)) {
        return None;
    }
    Masks::collect((0..1u32 << count).map(|choice| {
        let mut choice = choice;
        let [a_base, a_inverted, b_base, b_inverted] = masks.map(|mask| chosen(mask, &mut choice));
        let mut set = 0;
        for lane in 0..LANES {
            let a = a_base.wrapping_add(a.offsets[lane] ^ a_inverted);
            let b = b_base.wrapping_add(b.offsets[lane] ^ b_inverted);
            set |= u32::from(holds(a.cmp(&b))) << lane;
        }
        set
    }))
}

/// The bits of a mask that the low bits of a choice select. Removes these bits from the choice.
fn chosen(mask: u128, choice: &mut u32) -> i128 {
    let (mut remaining, mut bits) = (mask, 0);
    while remaining != 0 {
        let lowest = remaining & remaining.wrapping_neg();
        if *choice & 1 == 1 {
            bits |= lowest;
        }
        *choice >>= 1;
        remaining ^= lowest;
    }
    bits as i128
}

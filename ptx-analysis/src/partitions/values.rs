//! Values of registers in the lanes of a warp.

use alloc::rc::Rc;

/// The lanes of a warp.
pub(super) const LANES: usize = 32;

/// A set of lanes: bit `i` is lane `i`.
pub(super) type LaneMask = u32;

/// The lanes of a set, in their order.
pub(super) fn lanes(mask: LaneMask) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

/// The value of a register in the lanes of a warp.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Value {
    /// It is not known in each lane.
    #[default]
    Unknown,
    /// The same number in all lanes.
    Uniform(u64),
    /// A number for each lane; 0 for lanes outside of the group.
    PerLane(Rc<[u64; LANES]>),
}

impl Value {
    pub(super) fn get(&self, lane: usize) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Uniform(number) => Some(*number),
            Self::PerLane(numbers) => numbers.get(lane).copied(),
        }
    }

    /// The value with these numbers in the lanes of a set; unknown if one of them is.
    pub(super) fn of_lanes(mask: LaneMask, number: impl Fn(usize) -> Option<u64>) -> Self {
        let mut numbers = [0; LANES];
        let mut first = None;
        let mut differs = false;
        for lane in lanes(mask) {
            let Some(number) = number(lane) else {
                return Self::Unknown;
            };
            numbers[lane] = number;
            differs |= *first.get_or_insert(number) != number;
        }
        if differs {
            Self::PerLane(Rc::new(numbers))
        } else {
            first.map_or(Self::Unknown, Self::Uniform)
        }
    }

    /// The number, if all lanes of a set have the same.
    pub(super) fn uniform(&self, mask: LaneMask) -> Option<u64> {
        let mut numbers = lanes(mask).map(|lane| self.get(lane));
        let first = numbers.next()??;
        numbers.all(|number| number == Some(first)).then_some(first)
    }

    /// The lanes of a set in which a predicate is true; `None` if it is unknown in one of them.
    pub(super) fn true_lanes(&self, mask: LaneMask) -> Option<LaneMask> {
        lanes(mask).try_fold(0, |set, lane| {
            Some(set | ((self.get(lane)? & 1) as u32) << lane)
        })
    }

    /// The value that is `self` in the lanes of one set, and `other` in those of another one.
    pub(super) fn joined(&self, mask: LaneMask, other: &Self, other_mask: LaneMask) -> Self {
        Self::of_lanes(mask | other_mask, |lane| {
            if mask >> lane & 1 == 1 {
                self.get(lane)
            } else {
                other.get(lane)
            }
        })
    }
}

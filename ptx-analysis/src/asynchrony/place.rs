//! Memory that is accessed, and whether two accesses have bytes in common.

use super::addresses::{Address, Dependence};
use alloc::vec::Vec;

use crate::ssa::ValueId;

/// What an offset is added to, if it is the same whenever it is evaluated.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Base {
    /// The variable itself.
    Root,
    /// A value that is computed once.
    Value(ValueId),
}

/// Memory that is accessed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The variable that contains it, by its number.
    pub(super) root: Option<u32>,
    pub(super) base: Option<Base>,
    pub(super) offset: Option<i64>,
    pub(super) bytes: Option<u64>,
    pub(super) address: Option<Address>,
}

/// Whether two places have bytes in common.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Overlap {
    Never,
    /// They are in one variable.
    Possible,
    Certain,
}

/// Which bytes of a variable an access reaches, compared with those of another one that all threads may make.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Share {
    /// None, as far as is known.
    Apart,
    /// Those that the same thread accesses.
    Own,
    /// Those that other threads access, perhaps.
    MaybeOthers,
    /// Those that other threads access.
    Others,
}

/// The fewest bytes of a block.
const LEAST: u64 = 16;
/// The threads of a warp.
const LANES: i64 = 32;
/// The greatest distance in bytes between elements of neighbouring threads.
const NEAR: i64 = 256;

impl Place {
    /// Whether two places have bytes in common. Places of which nothing is known do not.
    pub(super) fn overlap(self, other: Self) -> Overlap {
        let same_base = self.base.is_some() && self.base == other.base;
        let same_root = self.root.is_some() && self.root == other.root;
        let known = |place: Self| Some((place.offset?, place.bytes?));
        match (known(self), known(other)) {
            (Some(a), Some(b)) if same_base && self.root == other.root => ranges(a, b),
            _ if same_root => match self.by_sums(other) {
                Some(overlap) => overlap,
                None => Overlap::Possible,
            },
            _ => Overlap::Never,
        }
    }

    /// Whether two places of one variable have bytes in common, by their addresses; `None` if these cannot be compared.
    fn by_sums(self, other: Self) -> Option<Overlap> {
        let (a, b) = (self.address?, other.address?);
        let iteration = a.dependence.max(b.dependence) == Dependence::Iteration;
        if a.sum != b.sum || iteration {
            return None;
        }
        Some(ranges(
            (a.constant, self.bytes?),
            (b.constant, other.bytes?),
        ))
    }

    /// Whether both are surely the same address.
    pub(super) fn is_same_address(self, other: Self) -> bool {
        let same_base = self.base.is_some() && self.base == other.base;
        same_base && self.root == other.root && self.offset.is_some() && self.offset == other.offset
            || self.distance(other) == Some(0)
    }

    /// The same of two instructions of a block, between which no value changes.
    pub(super) fn is_same_in_block(self, other: Self) -> bool {
        let same_sum = || {
            let (a, b) = self.address.zip(other.address)?;
            Some(a.sum == b.sum && a.constant == b.constant && self.root == other.root)
        };
        self.is_same_address(other) || same_sum() == Some(true)
    }

    /// Whether both may be the same address, for objects that do not overlap otherwise.
    pub(super) fn may_be_same_address(self, other: Self) -> bool {
        let same_base = self.base.is_some() && self.base == other.base;
        match (self.root, other.root) {
            (Some(a), Some(b)) if a != b => return false,
            _ => {}
        }
        match (self.offset, other.offset) {
            (Some(a), Some(b)) if same_base && self.root == other.root => a == b,
            _ => match self.distance(other) {
                Some(distance) => distance == 0,
                None => !self.is_out_of_reach(other),
            },
        }
    }

    /// Whether the addresses that this place may have are all different from those of another one.
    fn is_out_of_reach(self, other: Self) -> bool {
        let reach = |place: Self| place.address.and_then(|address| address.reach);
        let (Some(a), Some(b)) = (reach(self), reach(other)) else {
            return false;
        };
        a.sum == b.sum && (a.max < b.min || b.max < a.min)
    }

    /// From the address of another place to this one, if both are the same whenever they are evaluated.
    pub(super) fn distance(self, other: Self) -> Option<i64> {
        let (a, b) = (self.address?, other.address?);
        let iteration = a.dependence.max(b.dependence) == Dependence::Iteration;
        (a.sum == b.sum && !iteration && self.root == other.root)
            .then(|| a.constant.wrapping_sub(b.constant))
    }

    /// Whether the address is the same for all threads whenever it is evaluated.
    pub(super) fn is_fixed(self) -> bool {
        self.address.map_or(self.base == Some(Base::Root), |a| {
            a.dependence == Dependence::Uniform
        })
    }

    /// Which bytes this access reaches of those that each thread accesses at `other`.
    pub(super) fn share(self, other: Self) -> Share {
        if self.root.is_none() || self.root != other.root {
            return Share::Apart;
        }
        let (Some(a), Some(b)) = (self.address, other.address) else {
            return Share::Apart;
        };
        let iteration = a.dependence.max(b.dependence) == Dependence::Iteration;
        let distance = a.constant.saturating_sub(b.constant);
        if a.sum == b.sum {
            return match self.is_inside(other, distance) {
                _ if iteration => Share::Own,
                true => Share::Own,
                false if a.differs && distance.saturating_abs() <= NEAR => Share::Others,
                false => Share::Apart,
            };
        }
        if !a.differs && !b.differs {
            return Share::Apart;
        }
        let bytes = |p: Self| i64::try_from(p.bytes.unwrap_or(16)).unwrap_or(i64::MAX);
        let near = bytes(self).max(bytes(other)).max(16);
        match distance {
            _ if self.surely_shares(other) => Share::Others,
            d if d.saturating_abs() < near && !iteration => Share::Others,
            d if d > -near => Share::MaybeOthers,
            _ => Share::Apart,
        }
    }

    /// Whether this access reaches, in some thread of the first warp, bytes that another thread of it accesses at `other`.
    pub(super) fn surely_shares(self, other: Self) -> bool {
        let (Some(a), Some(b)) = (self.address, other.address) else {
            return false;
        };
        let (Some((a_stride, a_rest)), Some((b_stride, b_rest))) = (a.stride, b.stride) else {
            return false;
        };
        let (Some(a_bytes), Some(b_bytes)) = (self.bytes, other.bytes) else {
            return false;
        };
        let iteration = a.dependence.max(b.dependence) == Dependence::Iteration;
        let at = |constant: i64, stride: i64, thread: i64| {
            constant.saturating_add(stride.saturating_mul(thread))
        };
        let meets = |first: i64, second: i64| {
            let a = (at(a.constant, a_stride, first), a_bytes);
            let b = (at(b.constant, b_stride, second), b_bytes);
            first != second && ranges(a, b) == Overlap::Certain
        };
        a_rest == b_rest
            && self.root == other.root
            && !iteration
            && (0..LANES).any(|first| (0..LANES).any(|second| meets(first, second)))
    }

    /// Whether the bytes that all threads access here have bytes in common with what one thread accesses at `other`. `None` if that is not known:
    /// it is possible if the ranges that both may reach meet. The number of bytes may be unknown.
    pub(super) fn meets(self, other: Self) -> Option<Overlap> {
        if self.root.is_none() || self.root != other.root {
            return Some(Overlap::Never);
        }
        match self.overlap(other) {
            Overlap::Possible => {}
            known => return Some(known),
        }
        if self.is_reached_by_lanes(other) {
            return Some(Overlap::Certain);
        }
        let (a, b) = (self.address?.reach?, other.address?.reach?);
        if a.sum != b.sum {
            return None;
        }
        let end =
            |max: i64, bytes: Option<u64>| max.saturating_add_unsigned(bytes.unwrap_or(LEAST));
        let is_apart = end(a.max, self.bytes) <= b.min || end(b.max, other.bytes) <= a.min;
        Some(match is_apart {
            true => Overlap::Never,
            false => Overlap::Possible,
        })
    }

    /// Whether some thread of the first warp accesses here bytes of a block that is the same for all threads.
    fn is_reached_by_lanes(self, block: Self) -> bool {
        let (Some(a), Some(b)) = (self.address, block.address) else {
            return false;
        };
        let (Some((stride, rest)), Some((0, of_block))) = (a.stride, b.stride) else {
            return false;
        };
        let iteration = a.dependence.max(b.dependence) == Dependence::Iteration;
        let (Some(bytes), at) = (self.bytes, (b.constant, block.bytes.unwrap_or(LEAST))) else {
            return false;
        };
        let begins = |lane: i64| a.constant.saturating_add(stride.saturating_mul(lane));
        rest == of_block
            && !iteration
            && (0..LANES).any(|lane| ranges((begins(lane), bytes), at) == Overlap::Certain)
    }

    /// Whether an access to different addresses begins in a block of bytes.
    pub(super) fn begins_in(self, block: Self) -> bool {
        let (Some(start), Some(at)) = (block.address, self.address) else {
            return false;
        };
        let fixed = start.dependence.max(at.dependence) != Dependence::Iteration;
        let distance = at.start.saturating_sub(start.constant);
        let bytes = block.bytes.unwrap_or(LEAST);
        let inside = u64::try_from(distance).is_ok_and(|d| d < bytes);
        block.root == self.root && fixed && inside
    }

    /// Whether the bytes at this distance from another place are in it.
    fn is_inside(self, other: Self, distance: i64) -> bool {
        let end = self
            .bytes
            .and_then(|bytes| distance.checked_add_unsigned(bytes));
        distance >= 0
            && match (end, other.bytes) {
                (Some(end), Some(bytes)) => u64::try_from(end).is_ok_and(|end| end <= bytes),
                _ => true,
            }
    }
}

/// The different places among some, in their order; `None` if there are more than `most`.
pub(super) fn distinct(all: impl Iterator<Item = Place>, most: usize) -> Option<Vec<Place>> {
    let mut found: Vec<Place> = Vec::new();
    for place in all {
        if found.contains(&place) {
            continue;
        }
        if found.len() == most {
            return None;
        }
        found.push(place);
    }
    Some(found)
}

fn ranges((a, a_bytes): (i64, u64), (b, b_bytes): (i64, u64)) -> Overlap {
    let apart = |from: i64, bytes: u64, to: i64| from.saturating_add_unsigned(bytes) <= to;
    match apart(a, a_bytes, b) || apart(b, b_bytes, a) {
        true => Overlap::Never,
        false => Overlap::Certain,
    }
}

//! Places in memory that instructions access, and whether two places have bytes in common.

use alloc::vec::Vec;

use super::addresses::{Address, Dependence};
use crate::ssa::ValueId;

/// The origin of an offset, if its address is the same whenever it is evaluated.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Base {
    /// The variable itself.
    Root,
    /// A value that is computed once.
    Value(ValueId),
}

/// The memory that an instruction accesses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The root: the number of the variable that contains the place, or of the parameter of the kernel that points to it.
    pub(super) root: Option<u32>,
    /// The origin of `offset`.
    pub(super) base: Option<Base>,
    /// The distance in bytes from the base.
    pub(super) offset: Option<i64>,
    /// The number of bytes.
    pub(super) bytes: Option<u64>,
    pub(super) address: Option<Address>,
}

/// Whether two places have bytes in common.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Overlap {
    Never,
    /// They are in one variable.
    Possible,
    Certain,
}

/// The threads whose bytes an access reaches, if each thread accesses separate bytes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Share {
    /// The bytes of no thread, as far as is known.
    Apart,
    /// The bytes of the thread itself.
    Own,
    /// Possibly the bytes of other threads.
    MaybeOthers,
    /// The bytes of other threads.
    Others,
}

/// The least number of bytes of a bulk copy or of a row of a matrix.
const LEAST_BLOCK_BYTES: u64 = 16;
/// The threads of a warp.
const LANES: i64 = 32;
/// The greatest distance in bytes between elements of neighboring threads.
const MOST_ELEMENT_DISTANCE: i64 = 256;

/// A range of bytes.
#[derive(Copy, Clone)]
struct ByteRange {
    start: i64,
    bytes: u64,
}

impl ByteRange {
    fn overlap(self, other: Self) -> Overlap {
        if self.is_before(other) || other.is_before(self) {
            Overlap::Never
        } else {
            Overlap::Certain
        }
    }

    fn is_before(self, other: Self) -> bool {
        self.start.saturating_add_unsigned(self.bytes) <= other.start
    }
}

/// Whether an iteration of a loop may change one of two addresses.
fn may_change_in_loops(a: Address, b: Address) -> bool {
    a.dependence.max(b.dependence) == Dependence::Iteration
}

impl Place {
    /// Whether two places have bytes in common. Places with unknown roots are assumed to be apart.
    pub(super) fn overlap(self, other: Self) -> Overlap {
        if self.has_same_origin(other)
            && let (Some(a), Some(b)) = (self.range_from_base(), other.range_from_base())
        {
            return a.overlap(b);
        }
        if self.root.is_some() && self.root == other.root {
            self.overlap_of_sums(other).unwrap_or(Overlap::Possible)
        } else {
            Overlap::Never
        }
    }

    /// Whether the offsets of two places are relative to one address.
    fn has_same_origin(self, other: Self) -> bool {
        self.base.is_some() && self.base == other.base && self.root == other.root
    }

    fn range_from_base(self) -> Option<ByteRange> {
        Some(ByteRange {
            start: self.offset?,
            bytes: self.bytes?,
        })
    }

    /// Whether two places of one variable have bytes in common, by their addresses; `None` if these cannot be compared.
    fn overlap_of_sums(self, other: Self) -> Option<Overlap> {
        let (a, b) = (self.address?, other.address?);
        if a.sum != b.sum || may_change_in_loops(a, b) {
            return None;
        }
        let range = ByteRange {
            start: a.constant,
            bytes: self.bytes?,
        };
        Some(range.overlap(ByteRange {
            start: b.constant,
            bytes: other.bytes?,
        }))
    }

    /// Whether the addresses of both places are certainly equal.
    pub(super) fn is_same_address(self, other: Self) -> bool {
        self.has_same_origin(other) && self.offset.is_some() && self.offset == other.offset
            || self.distance(other) == Some(0)
    }

    /// Whether the addresses of two instructions of one block are certainly the same. No value changes between the instructions.
    pub(super) fn is_same_in_block(self, other: Self) -> bool {
        let has_same_sum = self.address.zip(other.address).is_some_and(|(a, b)| {
            a.sum == b.sum && a.constant == b.constant && self.root == other.root
        });
        self.is_same_address(other) || has_same_sum
    }

    /// Whether the addresses of both places may be equal. They are addresses of objects that are either identical or disjoint.
    pub(super) fn may_be_same_address(self, other: Self) -> bool {
        if let (Some(a), Some(b)) = (self.root, other.root)
            && a != b
        {
            return false;
        }
        if self.has_same_origin(other)
            && let (Some(a), Some(b)) = (self.offset, other.offset)
        {
            return a == b;
        }
        match self.distance(other) {
            Some(distance) => distance == 0,
            None => !self.is_out_of_reach(other),
        }
    }

    /// Whether the addresses that this place may have are all different from those of another one.
    fn is_out_of_reach(self, other: Self) -> bool {
        let reach = self.address.and_then(|address| address.reach);
        let other_reach = other.address.and_then(|address| address.reach);
        reach
            .zip(other_reach)
            .is_some_and(|(a, b)| a.sum == b.sum && (a.max < b.min || b.max < a.min))
    }

    /// The distance in bytes from the address of another place to this one, if both are the same whenever they are evaluated.
    pub(super) fn distance(self, other: Self) -> Option<i64> {
        let (a, b) = (self.address?, other.address?);
        (a.sum == b.sum && !may_change_in_loops(a, b) && self.root == other.root)
            .then(|| a.constant.wrapping_sub(b.constant))
    }

    /// Whether the address is the same for all threads whenever it is evaluated.
    pub(super) fn is_fixed(self) -> bool {
        self.address
            .map_or(self.base == Some(Base::Root), |address| {
                address.dependence == Dependence::Uniform
            })
    }

    /// The threads whose bytes this access reaches, if each thread accesses its bytes at `other`.
    pub(super) fn share(self, other: Self) -> Share {
        if self.root.is_none() || self.root != other.root {
            return Share::Apart;
        }
        let (Some(a), Some(b)) = (self.address, other.address) else {
            return Share::Apart;
        };
        let may_change = may_change_in_loops(a, b);
        let distance = a.constant.saturating_sub(b.constant);
        if a.sum == b.sum {
            return if may_change || self.is_inside(other, distance) {
                Share::Own
            } else if a.differs_by_thread && distance.saturating_abs() <= MOST_ELEMENT_DISTANCE {
                Share::Others
            } else {
                Share::Apart
            };
        }
        if !a.differs_by_thread && !b.differs_by_thread {
            return Share::Apart;
        }
        let most_bytes = self.bytes.max(other.bytes).unwrap_or(0);
        let block_bytes = i64::try_from(most_bytes.max(LEAST_BLOCK_BYTES)).unwrap_or(i64::MAX);
        let is_near = distance.saturating_abs() < block_bytes && !may_change;
        if self.certainly_shares(other) || is_near {
            Share::Others
        } else if distance > -block_bytes {
            Share::MaybeOthers
        } else {
            Share::Apart
        }
    }

    /// Whether this access reaches, in some thread of the first warp, bytes that another thread of the warp accesses at `other`.
    pub(super) fn certainly_shares(self, other: Self) -> bool {
        let (Some(a), Some(b)) = (self.address, other.address) else {
            return false;
        };
        let (Some(a_lanes), Some(b_lanes)) = (a.by_lane, b.by_lane) else {
            return false;
        };
        let (Some(a_bytes), Some(b_bytes)) = (self.bytes, other.bytes) else {
            return false;
        };
        if a_lanes.sum != b_lanes.sum || self.root != other.root || may_change_in_loops(a, b) {
            return false;
        }
        (0..LANES).any(|a_lane| {
            let range = ByteRange {
                start: a_lanes.address(a.constant, a_lane),
                bytes: a_bytes,
            };
            (0..LANES).any(|b_lane| {
                let other_range = ByteRange {
                    start: b_lanes.address(b.constant, b_lane),
                    bytes: b_bytes,
                };
                a_lane != b_lane && range.overlap(other_range) == Overlap::Certain
            })
        })
    }

    /// Whether the bytes that all threads together access here have bytes in common with those that one thread accesses at `other`. It is possible
    /// if the ranges that the accesses may reach meet; `None` if these ranges are unknown. The number of bytes may be unknown.
    pub(super) fn meets(self, other: Self) -> Option<Overlap> {
        if self.root.is_none() || self.root != other.root {
            return Some(Overlap::Never);
        }
        match self.overlap(other) {
            Overlap::Possible => {}
            overlap => return Some(overlap),
        }
        if self.is_reached_by_lanes(other) {
            return Some(Overlap::Certain);
        }
        let (a, b) = (self.address?.reach?, other.address?.reach?);
        if a.sum != b.sum {
            return None;
        }
        let a_end = a.max.saturating_add_unsigned(self.block_bytes());
        let b_end = b.max.saturating_add_unsigned(other.block_bytes());
        Some(if a_end <= b.min || b_end <= a.min {
            Overlap::Never
        } else {
            Overlap::Possible
        })
    }

    /// The number of bytes, or the least that a block has.
    fn block_bytes(self) -> u64 {
        self.bytes.unwrap_or(LEAST_BLOCK_BYTES)
    }

    /// Whether some thread of the first warp accesses here bytes of a block that is the same for all threads.
    fn is_reached_by_lanes(self, block: Self) -> bool {
        let (Some(a), Some(b)) = (self.address, block.address) else {
            return false;
        };
        let (Some(lanes), Some(block_lanes), Some(bytes)) = (a.by_lane, b.by_lane, self.bytes)
        else {
            return false;
        };
        let block_range = ByteRange {
            start: b.constant,
            bytes: block.block_bytes(),
        };
        block_lanes.stride == 0
            && lanes.sum == block_lanes.sum
            && !may_change_in_loops(a, b)
            && (0..LANES).any(|lane| {
                let range = ByteRange {
                    start: lanes.address(a.constant, lane),
                    bytes,
                };
                range.overlap(block_range) == Overlap::Certain
            })
    }

    /// Whether this access begins in a block of bytes. The rest of its address may differ from that of the block.
    pub(super) fn begins_in(self, block: Self) -> bool {
        let (Some(address), Some(block_address)) = (self.address, block.address) else {
            return false;
        };
        let distance = address.start.saturating_sub(block_address.constant);
        block.root == self.root
            && !may_change_in_loops(address, block_address)
            && u64::try_from(distance).is_ok_and(|distance| distance < block.block_bytes())
    }

    /// Whether the bytes of this place, which begin `distance` bytes after another place, are all in that place.
    fn is_inside(self, other: Self, distance: i64) -> bool {
        let Ok(start) = u64::try_from(distance) else {
            return false;
        };
        let end = self.bytes.and_then(|bytes| start.checked_add(bytes));
        end.zip(other.bytes).is_none_or(|(end, bytes)| end <= bytes)
    }
}

/// The different places of an iterator, in its order; `None` if there are more than `most`.
pub(super) fn distinct(places: impl Iterator<Item = Place>, most: usize) -> Option<Vec<Place>> {
    let mut distinct: Vec<Place> = Vec::new();
    for place in places {
        if distinct.contains(&place) {
            continue;
        }
        if distinct.len() == most {
            return None;
        }
        distinct.push(place);
    }
    Some(distinct)
}

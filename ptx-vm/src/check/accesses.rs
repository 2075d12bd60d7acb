//! The last accesses to each memory location, and the race check of new accesses.

use super::clock::{Clock, FencedAccesses};
use super::locations::{AccessNumber, Records};
use super::published::Scope;
use crate::execute::Clusters;
use crate::lanes::lanes;

/// The maximum number of recorded accesses of a location besides the last write and the last read; older ones are dropped.
const MOST_OLDER: usize = 16;

/// A recorded access and the lanes that performed it.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct LaneAccess {
    pub(super) number: AccessNumber,
    pub(super) lanes: u32,
}

/// A new access by lanes with equal clocks.
#[derive(Copy, Clone)]
pub(super) struct NewAccess<'c> {
    pub(super) access: Access,
    pub(super) number: AccessNumber,
    pub(super) clusters: Clusters,
    /// The access is to shared memory.
    pub(super) is_shared: bool,
    /// The vector clock of the lanes.
    pub(super) clock: &'c Clock,
    /// The lanes may have acquired times of other warps since the last barrier of all threads of the CTA.
    pub(super) informed: bool,
    /// The proxy fence that a read through another than the generic proxy needs after earlier writes.
    pub(super) needed_fence: Option<FencedAccesses>,
}

/// The accesses of a location with which later ones may race.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    last_write: LaneAccess,
    last_read: LaneAccess,
    older: Vec<LaneAccess>,
    /// Some access may be other than strong in the widest scope.
    has_narrow: bool,
}

impl NewAccess<'_> {
    /// Whether an earlier access by `earlier_lanes` happens before this access by `lanes`.
    #[inline(always)]
    fn follows(&self, earlier: &Access, earlier_lanes: u32, lanes: u32) -> bool {
        let is_of_same_block = earlier.block == self.access.block && !self.access.is_asynchronous();
        if is_of_same_block && earlier.interval < self.access.interval {
            return true;
        }
        let are_different_warps =
            earlier.interval == self.access.interval && earlier.first != self.access.first;
        if is_of_same_block && are_different_warps && !self.informed {
            return false;
        }
        self.has_acquired(earlier, earlier_lanes, lanes)
    }

    /// Whether the clock of the lanes contains the times of the lanes of an earlier access. A single lane follows its own accesses.
    fn has_acquired(&self, earlier: &Access, earlier_lanes: u32, lanes_of_access: u32) -> bool {
        let same_lane = if lanes_of_access.is_power_of_two() && self.access.is_of_same_warp(earlier)
        {
            lanes_of_access
        } else {
            0
        };
        lanes(earlier_lanes & !same_lane).all(|lane| {
            let slot = u32::from(earlier.first) + lane as u32;
            self.clock.get(earlier.block.into(), slot) >= earlier.time
        })
    }

    /// Whether one of the accesses is an ordinary read that may only try whether an atomic operation, the other access, is needed: the value
    /// that is read does not matter then. In global memory, the read may also come after the operation of another thread.
    const fn is_attempt(&self, earlier: &Access) -> bool {
        match (earlier.kind, self.access.kind) {
            (Kind::Read, Kind::Atomic(_)) => true,
            (Kind::Atomic(_), Kind::Read) => !self.is_shared,
            _ => false,
        }
    }

    /// Whether this access races with an earlier one, if at least one of them writes.
    #[inline(always)]
    fn conflicts(&self, earlier: &Access, earlier_lanes: u32, lanes: u32) -> bool {
        earlier.bytes & self.access.bytes != 0
            && !self.access.is_strong_with(earlier, self.clusters)
            && !self.is_attempt(earlier)
            && !self.follows(earlier, earlier_lanes, lanes)
    }

    /// Whether each later access that races with an earlier access also races with this one, so that the earlier one need not be recorded any
    /// more. A write does not replace a read, since it does not race with writes of the same value.
    #[inline(always)]
    fn replaces(&self, earlier: &Access, earlier_lanes: u32, lanes: u32) -> bool {
        let (old, new) = (earlier.kind, self.access.kind);
        // Each lane follows its own access.
        let is_of_same_lanes =
            || earlier_lanes & !lanes == 0 && self.access.is_of_same_warp(earlier);
        earlier.bytes & !self.access.bytes == 0
            && new.writes() == old.writes()
            && match (old.strength(), new.strength()) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(old), Some(new)) => new <= old,
            }
            && (is_of_same_lanes() || self.follows(earlier, earlier_lanes, lanes))
    }
}

/// The earlier accesses with which a new access races.
#[derive(Copy, Clone)]
pub(super) struct EarlierAccesses {
    pub(super) first: LaneAccess,
    /// A read with which a write races as well, if `first` is a write: a second write of the same value does no harm, but a read may see the value
    /// before or after it.
    pub(super) read: Option<LaneAccess>,
}

impl Accesses {
    /// All recorded accesses.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut LaneAccess> {
        [&mut self.last_write, &mut self.last_read]
            .into_iter()
            .chain(&mut self.older)
    }

    /// Records an access of lanes and returns the accesses with which it races.
    #[inline]
    pub(super) fn add(
        &mut self,
        new: &NewAccess<'_>,
        lanes: u32,
        records: &Records,
    ) -> Option<EarlierAccesses> {
        let lane_access = LaneAccess {
            number: new.number,
            lanes,
        };
        let is_narrow = new.access.kind.strength() != Some(Scope::Device);
        let newest = self.last_write.number.max(self.last_read.number);
        if records.has_forgotten(newest) {
            (self.last_write, self.last_read) = if lane_access.number.writes() {
                (lane_access, LaneAccess::default())
            } else {
                (LaneAccess::default(), lane_access)
            };
            self.older.clear();
            self.has_narrow = is_narrow;
            return None;
        }
        self.has_narrow |= is_narrow;
        // Strong accesses in the widest scope do not race with each other.
        let race = if self.has_narrow {
            self.race(new, lane_access, records)
        } else {
            None
        };
        self.record(new, lane_access, records);
        race
    }

    /// Whether a new access of lanes races with an earlier one.
    pub(super) fn races(&self, new: &NewAccess<'_>, lanes: u32, records: &Records) -> bool {
        if !self.has_narrow && new.access.kind.strength() == Some(Scope::Device) {
            return false;
        }
        let lane_access = LaneAccess {
            number: new.number,
            lanes,
        };
        self.race(new, lane_access, records).is_some()
    }

    /// A write through the generic proxy that happens before a new read through another one, without the fence between the proxies that it needs.
    pub(super) fn unfenced_write(
        &self,
        new: &NewAccess<'_>,
        records: &Records,
    ) -> Option<LaneAccess> {
        let needed_fence = new.needed_fence?;
        let is_unfenced = |earlier: &&LaneAccess| {
            earlier.number.writes()
                && records.get(earlier.number).is_some_and(|access| {
                    access.bytes & new.access.bytes != 0
                        && !access.is_asynchronous()
                        && lanes(earlier.lanes).any(|lane| {
                            let slot = u32::from(access.first) + lane as u32;
                            let fenced = new.clock.fenced(access.block.into(), slot, needed_fence);
                            fenced < access.time
                        })
                })
        };
        let mut writes = [&self.last_write].into_iter().chain(&self.older);
        writes.find(is_unfenced).copied()
    }

    /// The memory of the older accesses in bytes.
    pub(super) fn older_bytes(&self) -> u64 {
        (self.older.capacity() * size_of::<LaneAccess>()) as u64
    }

    /// The earlier accesses with which a new access races.
    fn race(
        &self,
        new: &NewAccess<'_>,
        lane_access: LaneAccess,
        records: &Records,
    ) -> Option<EarlierAccesses> {
        let writes = lane_access.number.writes();
        // A thread that performed the last atomic operation follows all atomic operations before it.
        let follows_atomics = writes
            && lane_access.lanes.is_power_of_two()
            && self.last_write.lanes == lane_access.lanes
            && records.get(self.last_write.number).is_some_and(|earlier| {
                new.access.is_of_same_warp(earlier) && earlier.kind.strength().is_some()
            });
        let conflicts = |earlier: &LaneAccess| {
            (writes || earlier.number.writes())
                && records.get(earlier.number).is_some_and(|access| {
                    !(follows_atomics && access.kind.strength().is_some())
                        && new.conflicts(access, earlier.lanes, lane_access.lanes)
                })
        };
        let last = [self.last_write, self.last_read];
        let first = *last.iter().chain(&self.older).find(|e| conflicts(e))?;
        let read = if writes && first.number.writes() {
            last.into_iter()
                .chain(self.older.iter().copied())
                .find(|earlier| !earlier.number.writes() && conflicts(earlier))
        } else {
            None
        };
        Some(EarlierAccesses { first, read })
    }

    fn record(&mut self, new: &NewAccess<'_>, lane_access: LaneAccess, records: &Records) {
        let replaces = |earlier: &LaneAccess| {
            let access = records.get(earlier.number);
            access.is_none_or(|access| new.replaces(access, earlier.lanes, lane_access.lanes))
        };
        if !self.older.is_empty() {
            self.older.retain(|earlier| !replaces(earlier));
        }
        let last = if lane_access.number.writes() {
            &mut self.last_write
        } else {
            &mut self.last_read
        };
        if last.number == lane_access.number {
            last.lanes |= lane_access.lanes;
        } else if replaces(last) {
            *last = lane_access;
        } else {
            let replaced = core::mem::replace(last, lane_access);
            self.add_older(replaced);
        }
    }

    fn add_older(&mut self, access: LaneAccess) {
        if let Some(older) = self.older.iter_mut().find(|e| e.number == access.number) {
            older.lanes |= access.lanes;
            return;
        }
        if self.older.len() >= MOST_OLDER {
            self.older.remove(0);
        }
        self.older.push(access);
    }
}

/// The kind of an access.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Read,
    Write,
    /// A strong read. Strong accesses do not race with each other within their scopes.
    StrongRead(Scope),
    /// A strong write.
    StrongWrite(Scope),
    /// A read and a write in one operation.
    Atomic(Scope),
}

impl Kind {
    pub(super) const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::StrongWrite(_) | Self::Atomic(_))
    }

    /// The scope of a strong access.
    pub(super) const fn strength(self) -> Option<Scope> {
        match self {
            Self::StrongRead(scope) | Self::StrongWrite(scope) | Self::Atomic(scope) => Some(scope),
            _ => None,
        }
    }
}

/// An access of lanes of a warp with equal clock values.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Access {
    /// The linear index of the CTA.
    pub(super) block: u32,
    /// The index in the CTA of the first thread of the warp, or the slot of an asynchronous operation.
    pub(super) first: u16,
    /// The accessed bytes of the location: a bit for each.
    pub(super) bytes: u8,
    pub(super) kind: Kind,
    /// The time of the lanes.
    pub(super) time: u32,
    /// The number of the instruction.
    pub(super) site: u32,
    /// The number of barriers that all threads of the CTA had completed together; [`ASYNCHRONOUS`] for an asynchronous operation.
    pub(super) interval: u32,
}

/// The interval of accesses of asynchronous operations, which barriers do not order.
pub(super) const ASYNCHRONOUS: u32 = u32::MAX;

impl Access {
    /// Whether it is an access of an asynchronous operation.
    pub(super) const fn is_asynchronous(&self) -> bool {
        self.interval == ASYNCHRONOUS
    }

    /// Whether both are by the same warp.
    #[inline]
    pub(super) const fn is_of_same_warp(&self, other: &Self) -> bool {
        self.block == other.block && self.first == other.first
    }

    /// Whether both are strong and the scope of each includes the thread of the other.
    pub(super) fn is_strong_with(&self, other: &Self, clusters: Clusters) -> bool {
        let (Some(a), Some(b)) = (self.kind.strength(), other.kind.strength()) else {
            return false;
        };
        match a.min(b) {
            Scope::Device => true,
            Scope::Cluster => {
                clusters.of_linear(self.block.into()) == clusters.of_linear(other.block.into())
            }
            Scope::Cta => self.block == other.block,
        }
    }
}

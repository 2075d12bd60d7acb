//! The last accesses to each memory location, and the race check of new accesses.

use super::clock::Clock;
use super::places::{Number, Records};
use super::scope::Scope;
use crate::execute::Clusters;
use crate::lanes::lanes;

/// The maximum number of recorded accesses of a location besides the last one; older ones are dropped.
const MOST: usize = 16;

/// An access of lanes.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct ByLanes {
    pub(super) number: Number,
    pub(super) lanes: u32,
}

/// A new access: by lanes that know the same.
#[derive(Copy, Clone)]
pub(super) struct New<'c> {
    pub(super) access: Access,
    pub(super) number: Number,
    pub(super) clusters: Clusters,
    /// Whether it is in shared memory.
    pub(super) shared: bool,
    /// The vector clock of the lanes.
    pub(super) clock: &'c Clock,
    /// Whether they may know what other warps did since the last barrier of all threads of the CTA.
    pub(super) informed: bool,
}

/// The accesses of a location with which later ones may race.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    write: ByLanes,
    read: ByLanes,
    more: Vec<ByLanes>,
    /// Whether any may be other than strong in the widest scope.
    narrow: bool,
}

impl New<'_> {
    /// Whether an access of lanes happens before it.
    #[inline(always)]
    fn follows(&self, earlier: &Access, by: u32, own: u32) -> bool {
        let own_block = earlier.block == self.access.block && !self.access.is_asynchronous();
        if own_block && earlier.interval < self.access.interval {
            return true;
        }
        let are_different_warps =
            earlier.interval == self.access.interval && earlier.first != self.access.first;
        if own_block && are_different_warps && !self.informed {
            return false;
        }
        self.knows(earlier, by, own)
    }

    /// Whether the lanes know that an access of lanes happened, or it is their own.
    fn knows(&self, earlier: &Access, by: u32, own: u32) -> bool {
        let itself = if own.is_power_of_two() && self.access.is_of_same_warp(earlier) {
            own
        } else {
            0
        };
        lanes(by & !itself).all(|lane| {
            let slot = u32::from(earlier.first) + lane as u32;
            self.clock.get(earlier.block.into(), slot) >= earlier.time
        })
    }

    /// Whether one is an ordinary read before an atomic operation, which may be there to try the operation only where it is needed: the value
    /// does not matter then. In global memory it may also be after the operation of another thread.
    const fn is_attempt(&self, earlier: &Access) -> bool {
        match (earlier.kind, self.access.kind) {
            (Kind::Read, Kind::Atomic(_)) => true,
            (Kind::Atomic(_), Kind::Read) => !self.shared,
            _ => false,
        }
    }

    /// Whether an earlier access, of which at least one writes, is not ordered with it.
    #[inline(always)]
    fn conflicts(&self, earlier: &Access, by: u32, own: u32) -> bool {
        earlier.bytes & self.access.bytes != 0
            && !self.access.is_strong_with(earlier, self.clusters)
            && !self.is_attempt(earlier)
            && !self.follows(earlier, by, own)
    }

    /// Whether what races with an earlier access also races with this one. A write does not replace a read: it need not race with writes of the same value.
    #[inline(always)]
    fn replaces(&self, earlier: &Access, by: u32, own: u32) -> bool {
        let (old, new) = (earlier.kind, self.access.kind);
        // Each lane follows its own access.
        let own_lanes = || by & !own == 0 && self.access.is_of_same_warp(earlier);
        earlier.bytes & !self.access.bytes == 0
            && new.writes() == old.writes()
            && match (old.strength(), new.strength()) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(old), Some(new)) => new <= old,
            }
            && (own_lanes() || self.follows(earlier, by, own))
    }
}

/// An earlier access that a new one races with. If that is a write, also a read: a write of the same value as an earlier one does no harm, but a read
/// may see either.
type Earlier = (ByLanes, Option<ByLanes>);

impl Accesses {
    /// All that are known.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut ByLanes> {
        let last = [&mut self.write, &mut self.read].into_iter();
        last.chain(&mut self.more)
    }

    /// Adds an access and returns the access that it races with.
    #[inline]
    pub(super) fn add(&mut self, new: &New<'_>, lanes: u32, records: &Records) -> Option<Earlier> {
        let lanes_of_access = ByLanes {
            number: new.number,
            lanes,
        };
        let is_narrow = new.access.kind.strength() != Some(Scope::Device);
        let newest = self.write.number.max(self.read.number);
        if records.has_forgotten(newest) {
            (self.write, self.read) = if lanes_of_access.number.writes() {
                (lanes_of_access, ByLanes::default())
            } else {
                (ByLanes::default(), lanes_of_access)
            };
            self.more.clear();
            self.narrow = is_narrow;
            return None;
        }
        self.narrow |= is_narrow;
        // Strong accesses in the widest scope do not race with each other.
        let race = if self.narrow {
            self.race(new, lanes_of_access, records)
        } else {
            None
        };
        self.record(new, lanes_of_access, records);
        race
    }

    /// Whether lanes race with an earlier access.
    pub(super) fn races(&self, new: &New<'_>, lanes: u32, records: &Records) -> bool {
        if !self.narrow && new.access.kind.strength() == Some(Scope::Device) {
            return false;
        }
        let lanes_of_access = ByLanes {
            number: new.number,
            lanes,
        };
        self.race(new, lanes_of_access, records).is_some()
    }

    /// The memory that the accesses besides the last ones use.
    pub(super) fn more_bytes(&self) -> u64 {
        (self.more.capacity() * size_of::<ByLanes>()) as u64
    }

    /// The earlier access that a new access races with.
    fn race(&self, new: &New<'_>, own: ByLanes, records: &Records) -> Option<Earlier> {
        let writes = own.number.writes();
        // Atomic operations before one of the thread itself come before what it does next at the place.
        let followed = writes
            && own.lanes.is_power_of_two()
            && self.write.lanes == own.lanes
            && records.get(self.write.number).is_some_and(|earlier| {
                new.access.is_of_same_warp(earlier) && earlier.kind.strength().is_some()
            });
        let conflicts = |earlier: &ByLanes| {
            (writes || earlier.number.writes())
                && records.get(earlier.number).is_some_and(|access| {
                    !(followed && access.kind.strength().is_some())
                        && new.conflicts(access, earlier.lanes, own.lanes)
                })
        };
        let last = [self.write, self.read];
        let first = last.iter().chain(&self.more).find(|e| conflicts(e));
        let first = *first?;
        let all = last.into_iter().chain(self.more.iter().copied());
        let mut reads = all.filter(|earlier| first.number.writes() && !earlier.number.writes());
        let read = reads.find(|earlier| writes && conflicts(earlier));
        Some((first, read))
    }

    fn record(&mut self, new: &New<'_>, own: ByLanes, records: &Records) {
        let replaces = |earlier: &ByLanes| {
            let access = records.get(earlier.number);
            access.is_none_or(|access| new.replaces(access, earlier.lanes, own.lanes))
        };
        if !self.more.is_empty() {
            self.more.retain(|earlier| !replaces(earlier));
        }
        let last = if own.number.writes() {
            &mut self.write
        } else {
            &mut self.read
        };
        if last.number == own.number {
            last.lanes |= own.lanes;
        } else if replaces(last) {
            *last = own;
        } else {
            let old = core::mem::replace(last, own);
            self.keep(old);
        }
    }

    /// Keeps an access besides the last one.
    fn keep(&mut self, old: ByLanes) {
        let like = self.more.iter_mut().find(|e| e.number == old.number);
        if let Some(like) = like {
            like.lanes |= old.lanes;
            return;
        }
        if self.more.len() >= MOST {
            self.more.remove(0);
        }
        self.more.push(old);
    }
}

/// The kind of an access.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Read,
    Write,
    /// A strong read in a scope: no race with strong accesses.
    StrongRead(Scope),
    StrongWrite(Scope),
    /// A read and a write in one operation.
    Atomic(Scope),
}

impl Kind {
    pub(super) const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::StrongWrite(_) | Self::Atomic(_))
    }

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
    pub(super) block: u32,
    /// The first thread of the warp in its CTA, or an asynchronous operation.
    pub(super) first: u16,
    /// The accessed bytes of the place, as bits.
    pub(super) bytes: u8,
    pub(super) kind: Kind,
    pub(super) time: u32,
    /// The instruction.
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
        let cluster = |block: u32| clusters.of_linear(block.into());
        match a.min(b) {
            Scope::Device => true,
            Scope::Cluster => cluster(self.block) == cluster(other.block),
            Scope::Cta => self.block == other.block,
        }
    }
}

//! The last accesses to each memory location, and the race check of new accesses.

use super::access::{Access, Kind};
use super::clock::Clock;
use super::records::{Number, Records};
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
        let others = earlier.interval == self.access.interval && earlier.first != self.access.first;
        if own_block && others && !self.informed {
            return false;
        }
        self.knows(earlier, by, own)
    }

    /// Whether the lanes know that an access of lanes happened, or it is their own.
    fn knows(&self, earlier: &Access, by: u32, own: u32) -> bool {
        let itself = match own.is_power_of_two() && self.access.is_of_same_warp(earlier) {
            true => own,
            false => 0,
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
        let own = ByLanes {
            number: new.number,
            lanes,
        };
        let is_narrow = new.access.kind.strength() != Some(Scope::Device);
        let newest = self.write.number.max(self.read.number);
        if records.has_forgotten(newest) {
            (self.write, self.read) = match own.number.writes() {
                true => (own, ByLanes::default()),
                false => (ByLanes::default(), own),
            };
            self.more.clear();
            self.narrow = is_narrow;
            return None;
        }
        self.narrow |= is_narrow;
        // Strong accesses in the widest scope do not race with each other.
        let race = match self.narrow {
            true => self.race(new, own, records),
            false => None,
        };
        self.record(new, own, records);
        race
    }

    /// Whether lanes race with an earlier access.
    pub(super) fn races(&self, new: &New<'_>, lanes: u32, records: &Records) -> bool {
        if !self.narrow && new.access.kind.strength() == Some(Scope::Device) {
            return false;
        }
        let own = ByLanes {
            number: new.number,
            lanes,
        };
        self.race(new, own, records).is_some()
    }

    /// The memory that the accesses besides the last ones use.
    pub(super) fn more_bytes(&self) -> u64 {
        (self.more.capacity() * size_of::<ByLanes>()) as u64
    }

    /// What a new access races with.
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
        let last = match own.number.writes() {
            true => &mut self.write,
            false => &mut self.read,
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

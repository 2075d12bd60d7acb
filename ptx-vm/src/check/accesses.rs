//! The last accesses to each place in memory, and whether new ones race with them.

use super::clock::Clock;
use super::scope::Scope;
use crate::lanes::lanes;

/// The bytes that a place has.
pub(super) const PLACE: u64 = 4;

/// The most accesses of a place that are known besides the last one; older ones are forgotten.
const MOST: usize = 16;

/// What an access does.
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

    const fn strength(self) -> Option<Scope> {
        match self {
            Self::StrongRead(scope) | Self::StrongWrite(scope) | Self::Atomic(scope) => Some(scope),
            _ => None,
        }
    }
}

/// An access of lanes of a warp at the same time of each.
#[derive(Copy, Clone, Debug)]
pub(super) struct Recorded {
    pub(super) block: u32,
    /// The first thread of the warp in its CTA, or an asynchronous operation.
    pub(super) first: u16,
    /// The accessed bytes of the place, as bits.
    pub(super) bytes: u8,
    pub(super) kind: Kind,
    pub(super) lanes: u32,
    pub(super) time: u32,
    /// The instruction.
    pub(super) site: u32,
    /// Whether it is done by an asynchronous operation, not by the lanes.
    pub(super) asynchronous: bool,
}

/// A new access: by lanes that know the same.
#[derive(Copy, Clone)]
pub(super) struct New<'c> {
    pub(super) access: Recorded,
    pub(super) cluster: u64,
    /// Whether it is in shared memory.
    pub(super) shared: bool,
    pub(super) clock: &'c Clock,
}

/// The accesses of a place that later ones may race with.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    write: Option<Recorded>,
    read: Option<Recorded>,
    more: Vec<Recorded>,
}

impl Recorded {
    /// Whether it is another access of the same lanes or others of the warp, at the same instruction and the same time.
    fn is_like(&self, other: &Self) -> bool {
        (self.block, self.first, self.bytes, self.time, self.site)
            == (
                other.block,
                other.first,
                other.bytes,
                other.time,
                other.site,
            )
            && self.kind == other.kind
    }

    /// Whether both are strong and each one's scope has the thread of the other one.
    fn is_strong_with(&self, own_cluster: u64, other: &Self, cluster_size: u64) -> bool {
        let (Some(a), Some(b)) = (self.kind.strength(), other.kind.strength()) else {
            return false;
        };
        match a.min(b) {
            Scope::Device => true,
            Scope::Cluster => u64::from(other.block) / cluster_size == own_cluster,
            Scope::Cta => self.block == other.block,
        }
    }
}

impl New<'_> {
    #[inline]
    const fn is_of_same_warp(&self, earlier: &Recorded) -> bool {
        earlier.block == self.access.block && earlier.first == self.access.first
    }

    /// Whether an earlier access happened before it.
    #[inline]
    fn follows(&self, earlier: &Recorded) -> bool {
        let own = self.is_of_same_warp(earlier);
        let single = self.access.lanes.is_power_of_two();
        lanes(earlier.lanes).all(|lane| {
            let slot = u32::from(earlier.first) + lane as u32;
            (own && single && self.access.lanes == 1 << lane)
                || self.clock.get(earlier.block.into(), slot) >= earlier.time
        })
    }

    /// Whether one is an ordinary read before an atomic operation, which may be there to try the operation only where it is needed: the value
    /// does not matter then. In global memory it may also be after the operation of another thread.
    const fn is_attempt(&self, earlier: &Recorded) -> bool {
        match (earlier.kind, self.access.kind) {
            (Kind::Read, Kind::Atomic(_)) => true,
            (Kind::Atomic(_), Kind::Read) => !self.shared,
            _ => false,
        }
    }

    fn conflicts(&self, earlier: &Recorded, cluster_size: u64) -> bool {
        earlier.bytes & self.access.bytes != 0
            && (earlier.kind.writes() || self.access.kind.writes())
            && !self.is_attempt(earlier)
            && !self
                .access
                .is_strong_with(self.cluster, earlier, cluster_size)
            && !self.follows(earlier)
    }

    /// Whether what races with an earlier access also races with this one.
    fn replaces(&self, earlier: &Recorded) -> bool {
        let (old, new) = (earlier.kind, self.access.kind);
        earlier.bytes & !self.access.bytes == 0
            && (new.writes() || !old.writes())
            && match (old.strength(), new.strength()) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(old), Some(new)) => new <= old,
            }
            // Each lane follows its own access.
            && (self.is_of_same_warp(earlier) && earlier.lanes == self.access.lanes
                || self.follows(earlier))
    }
}

impl Accesses {
    /// Adds an access; gives an earlier one that it races with.
    pub(super) fn add(&mut self, new: &New<'_>, cluster_size: u64) -> Option<Recorded> {
        let writes = new.access.kind.writes();
        let mut race = None;
        // Atomic operations before one of the thread itself come before what it does next at the place.
        let is_own = |r: Recorded| {
            new.is_of_same_warp(&r) && r.lanes == new.access.lanes && r.kind.strength().is_some()
        };
        let followed = writes && self.write.is_some_and(is_own);
        let conflicts = |r: &&Recorded| {
            !(followed && r.kind.strength().is_some()) && new.conflicts(r, cluster_size)
        };
        race = race.or(self.write.as_ref().filter(conflicts).copied());
        if writes {
            race = race.or(self.read.as_ref().filter(conflicts).copied());
        }
        race = race.or_else(|| self.more.iter().find(|r| conflicts(r)).copied());
        self.record(new);
        race
    }

    fn record(&mut self, new: &New<'_>) {
        if !self.more.is_empty() {
            self.more.retain(|earlier| !new.replaces(earlier));
        }
        if new.access.kind.writes() && self.read.is_some_and(|r| new.replaces(&r)) {
            self.read = None;
        }
        let place = match new.access.kind.writes() {
            true => &mut self.write,
            false => &mut self.read,
        };
        match place {
            None => *place = Some(new.access),
            Some(earlier) if earlier.is_like(&new.access) => earlier.lanes |= new.access.lanes,
            Some(earlier) if new.replaces(earlier) => *earlier = new.access,
            Some(earlier) => {
                let old = core::mem::replace(earlier, new.access);
                self.keep(old);
            }
        }
    }

    /// Keeps an access besides the last one.
    fn keep(&mut self, old: Recorded) {
        if let Some(like) = self.more.iter_mut().find(|r| r.is_like(&old)) {
            like.lanes |= old.lanes;
            return;
        }
        if self.more.len() >= MOST {
            self.more.remove(0);
        }
        self.more.push(old);
    }
}

//! The order of initializations of objects, of reads of shared memory and of copies into it.
//!
//! Each warp has a *clock*: the epochs of all warps, and the phases of objects, that are known to be complete. An arrival ends an epoch of a warp and adds its
//! clock to the object or barrier; a wait adds the clocks of the arrivals of the complete phases to that of the waiting warp. What
//! a warp did in an epoch is ordered before what has this epoch in its clock, and a copy before what has its phase. The lanes of a warp count as ordered.
//!
//! Cost: each read is compared with all copies, each copy with all reads; [`MOST_RECORDS`] bounds both.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::StmtId;
use ptx_ir::facts::{Facts, Space};
use ptx_isa::StateSpace;

use super::machine::{Machine, WINDOW};
use super::memory::shared_read;
use super::slice::Step;
use super::values::{LaneMask, lanes};
use super::{Problem, ProblemKind, Relation};
use crate::work::matrix::lanes_with_rows;

/// The maximum number of reads and copies that are remembered. Further ones are not compared.
const MOST_RECORDS: usize = 1 << 10;

/// The least number of bytes of a copy of unknown size.
const LEAST_COPY: u64 = 16;

/// Where threads arrive and wait.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    /// The mbarrier object at an address.
    Object(u64),
    /// The named barrier of a number.
    Barrier(u64),
}

/// What is known to have happened.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// The last complete epoch of each warp.
    warps: Vec<u32>,
    /// The number of complete phases of objects, by their addresses.
    phases: BTreeMap<u64, u64>,
}

impl Clock {
    fn join(&mut self, other: &Self) {
        if self.warps.len() < other.warps.len() {
            self.warps.resize(other.warps.len(), 0);
        }
        for (epoch, other_epoch) in self.warps.iter_mut().zip(&other.warps) {
            *epoch = (*epoch).max(*other_epoch);
        }
        for (address, other_phases) in &other.phases {
            let phases = self.phases.entry(*address).or_default();
            *phases = (*phases).max(*other_phases);
        }
    }

    fn epoch(&self, warp: u32) -> u32 {
        self.warps.get(warp as usize).copied().unwrap_or(0)
    }
}

/// The clocks of an object or barrier.
#[derive(Clone, Debug, Default)]
struct PlaceClock {
    /// That of all arrivals.
    arrived: Clock,
    /// That of the arrivals of complete phases.
    complete: Clock,
}

/// A range of addresses: the first one, and the one after the last one.
type Range = (u64, u64);

/// The last reads of a warp at a statement.
#[derive(Clone, Debug)]
struct ReadRecord {
    epoch: u32,
    ranges: Vec<Range>,
}

/// A copy to shared memory.
#[derive(Copy, Clone, Debug)]
struct CopyRecord {
    stmt: StmtId,
    end: u64,
    /// The object to which it reports, and the phase of the object.
    object: u64,
    phase: u64,
}

/// The reads and copies of an execution.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    clocks: Vec<Clock>,
    places: BTreeMap<Place, PlaceClock>,
    /// The arrivals that ended the epochs of each warp.
    arrivals: Vec<Vec<(Place, StmtId)>>,
    /// By warp, statement and first address.
    reads: BTreeMap<(u32, StmtId, u64), ReadRecord>,
    /// The warps that initialized objects, and their epochs, by address.
    initializations: BTreeMap<u64, (u32, u32)>,
    /// By first address.
    copies: BTreeMap<u64, CopyRecord>,
    /// The copies that report to each object, by address.
    counts: BTreeMap<u64, CopyCount>,
}

/// The number of copies that report to an object in a phase, and in the phase before.
#[derive(Copy, Clone, Debug, Default)]
struct CopyCount {
    phase: u64,
    of_phase: u64,
    of_previous: u64,
}

impl Buffers {
    pub(super) fn new(warps: usize) -> Self {
        Self {
            clocks: vec![Clock::default(); warps],
            arrivals: vec![Vec::new(); warps],
            ..Self::default()
        }
    }

    /// Ends an epoch of a warp, which arrives.
    pub(super) fn arrive(&mut self, warp: u32, place: Place, stmt: StmtId) {
        let index = warp as usize;
        let (Some(clock), Some(arrivals)) =
            (self.clocks.get_mut(index), self.arrivals.get_mut(index))
        else {
            return;
        };
        arrivals.push((place, stmt));
        if clock.warps.len() <= index {
            clock.warps.resize(index + 1, 0);
        }
        clock.warps[index] += 1;
        self.places.entry(place).or_default().arrived.join(clock);
    }

    /// Completes a phase of an object or barrier.
    pub(super) fn complete(&mut self, place: Place, phases: u64) {
        let of_place = self.places.entry(place).or_default();
        of_place.complete.join(&of_place.arrived);
        if let Place::Object(address) = place {
            of_place.complete.phases.insert(address, phases);
        }
    }

    /// Lets a warp know what happened before the complete phases.
    pub(super) fn wait(&mut self, warp: u32, place: Place) {
        if let Some(clock) = self.clocks.get_mut(warp as usize)
            && let Some(of_place) = self.places.get(&place)
        {
            clock.join(&of_place.complete);
        }
    }

    /// Records that a warp initializes an object, which begins again.
    pub(super) fn initialize(&mut self, warp: u32, address: u64) {
        let epoch = self.epoch(warp);
        self.initializations.insert(address, (warp, epoch));
        self.places.remove(&Place::Object(address));
        self.copies.retain(|_, copy| copy.object != address);
        let of_places = self.places.values_mut();
        let of_places = of_places.flat_map(|place| [&mut place.arrived, &mut place.complete]);
        for clock in self.clocks.iter_mut().chain(of_places) {
            clock.phases.remove(&address);
        }
    }

    /// The epoch of a warp that is not complete.
    fn epoch(&self, warp: u32) -> u32 {
        let clock = self.clocks.get(warp as usize);
        clock.map_or(0, |clock| clock.epoch(warp)) + 1
    }

    /// Whether the initialization of an object is ordered before what a warp does now.
    pub(super) fn is_initialized_for(&self, warp: u32, address: u64) -> bool {
        let clock = self.clocks.get(warp as usize);
        let initialization = self.initializations.get(&address);
        initialization
            .zip(clock)
            .is_none_or(|((by, epoch), clock)| *by == warp || clock.epoch(*by) >= *epoch)
    }

    /// Records reads of a warp. Returns the problem if a copy to the memory may not be complete.
    fn read(&mut self, warp: u32, stmt: StmtId, ranges: Vec<Range>) -> Option<Problem> {
        let clock = self.clocks.get(warp as usize)?;
        let pending = self.copies.iter().find(|(start, copy)| {
            let is_complete = clock.phases.get(&copy.object).copied().unwrap_or(0) > copy.phase;
            !is_complete && overlaps(&ranges, (**start, copy.end))
        });
        if let Some((_, copy)) = pending {
            return Some(Problem {
                stmt,
                kind: ProblemKind::ReadOfPendingCopy,
                related: vec![(copy.stmt, Relation::Copies)],
            });
        }
        let key = (warp, stmt, ranges.first()?.0);
        if self.reads.len() < MOST_RECORDS || self.reads.contains_key(&key) {
            let epoch = self.epoch(warp);
            self.reads.insert(key, ReadRecord { epoch, ranges });
        }
        None
    }

    /// Counts a copy that reports to an object. Returns whether it is the first one of its phase, and was the only one of the previous phase.
    fn is_only_copy(&mut self, object: u64, phase: u64) -> bool {
        let count = self.counts.entry(object).or_default();
        if count.phase != phase {
            *count = CopyCount {
                phase,
                of_phase: 0,
                of_previous: count.of_phase,
            };
        }
        count.of_phase += 1;
        count.of_phase == 1 && count.of_previous == 1
    }

    /// Records a copy that a warp starts. Returns the problem if another warp may not have read the memory before.
    fn start_copy(&mut self, warp: u32, start: u64, copy: CopyRecord) -> Option<Problem> {
        let clock = self.clocks.get(warp as usize)?;
        let unordered = self.reads.iter().find(|((reader, ..), read)| {
            *reader != warp
                && clock.epoch(*reader) < read.epoch
                && overlaps(&read.ranges, (start, copy.end))
        });
        if let Some(((reader, read_stmt, _), _)) = unordered {
            let last = (clock.epoch(*reader) as usize).checked_sub(1);
            let arrival = last.and_then(|last| self.arrivals.get(*reader as usize)?.get(last));
            return Some(match arrival {
                Some((Place::Object(_), arrival)) => Problem {
                    stmt: *arrival,
                    kind: ProblemKind::ArrivalBeforeRead,
                    related: vec![(*read_stmt, Relation::Reads), (copy.stmt, Relation::Copies)],
                },
                _ => Problem {
                    stmt: copy.stmt,
                    kind: ProblemKind::CopyOverRead,
                    related: vec![(*read_stmt, Relation::Reads)],
                },
            });
        }
        if self.copies.len() < MOST_RECORDS || self.copies.contains_key(&start) {
            self.copies.insert(start, copy);
        }
        None
    }
}

fn overlaps(ranges: &[Range], (start, end): Range) -> bool {
    let mut ranges = ranges.iter();
    ranges.any(|(first, last)| *first < end && start < *last)
}

impl Machine<'_> {
    /// Records the reads of an instruction that loads from shared memory.
    pub(super) fn read_shared(
        &mut self,
        index: usize,
        Step { stmt, inst, .. }: Step,
        facts: Facts<'_>,
    ) -> Option<Problem> {
        let mut mask = self.guarded_lanes(index, facts)?;
        let access = shared_read(facts)?;
        let bytes = access.bytes?;
        if let Some(rows) = lanes_with_rows(self.function.facts(), inst) {
            mask &= LaneMask::MAX.checked_shr(LaneMask::BITS.checked_sub(rows)?)?;
        }
        let base = self.operand(index, facts, access.base?);
        let mut starts: Vec<u64> = lanes(mask)
            .map(|lane| Some(base.get(lane)?.wrapping_add_signed(access.offset?)))
            .collect::<Option<_>>()?;
        starts.sort_unstable();
        let mut ranges: Vec<Range> = Vec::new();
        for start in starts {
            let end = start.saturating_add(bytes);
            match ranges.last_mut() {
                Some((_, last)) if start <= *last => *last = end,
                _ => ranges.push((start, end)),
            }
        }
        let warp = self.groups.get(index)?.warp;
        self.buffers.read(warp, stmt, ranges)
    }

    /// Records a copy that reports to an object, in one lane.
    pub(super) fn write_buffer(
        &mut self,
        index: usize,
        stmt: StmtId,
        facts: Facts<'_>,
        lane: usize,
        object: u64,
    ) -> Option<Problem> {
        let of_object = self.objects.by_address.get(&object)?;
        let (phase, expected) = (of_object.phase, of_object.bytes);
        let is_shared =
            |space| matches!(space, Space::State(space) if space.base() == StateSpace::Shared);
        let written = facts
            .memory()
            .find(|access| !access.is_mbarrier && access.writes() && is_shared(access.space))?;
        let base = self.operand(index, facts, written.base?).get(lane)?;
        let address = base.wrapping_add_signed(written.offset?);
        let start = address.checked_sub(WINDOW).unwrap_or(address);
        let is_only = self.buffers.is_only_copy(object, phase);
        let expected = expected.and_then(|bytes| u64::try_from(bytes).ok());
        let bytes = self
            .copied_bytes(index, facts, lane)
            .or(expected.filter(|bytes| is_only && *bytes > 0))
            .unwrap_or(LEAST_COPY);
        let warp = self.groups.get(index)?.warp;
        let copy = CopyRecord {
            stmt,
            end: start.saturating_add(bytes),
            object,
            phase,
        };
        self.buffers.start_copy(warp, start, copy)
    }
}

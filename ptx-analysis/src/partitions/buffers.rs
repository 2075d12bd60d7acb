//! The order of initializations of objects, of reads of shared memory and of copies into it.
//!
//! Each warp has a *clock*: the epochs of all warps, and the phases of objects, that are known to be complete. An arrival ends an epoch of a warp and adds its
//! clock to the object or barrier; a wait adds the clocks of the arrivals of the complete phases to that of the waiting warp. What
//! a warp did in an epoch is ordered before what has this epoch in its clock, and a copy before what has its phase. The lanes of a warp count as ordered.
//!
//! Cost: each read is compared with all copies, each copy with all reads; [`MOST_RECORDS`] and [`MOST_COPIES`] bound both.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::StmtId;
use ptx_ir::facts::{Facts, MemoryAccess};

use super::machine::{Machine, WINDOW};
use super::memory::{shared_read, shared_write};
use super::slice::Step;
use super::values::{LaneMask, lanes};
use super::{Problem, ProblemKind, Relation};
use crate::asynchrony::mechanism::{Mechanism, Step as AsynchronousStep, steps};
use crate::work::matrix::lanes_with_rows;

/// The maximum numbers of reads and of copies that are remembered. Further ones are not compared.
const MOST_RECORDS: usize = 1 << 10;
const MOST_COPIES: usize = 1 << 12;

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
    completion: Completion,
}

/// What tells that a copy is complete.
#[derive(Copy, Clone, Debug)]
enum Completion {
    /// A phase of an mbarrier object.
    Phase { object: u64, phase: u64 },
    /// A wait of the warp that started it, for the group of this number. The epoch is that of the wait.
    Group {
        warp: u32,
        group: u32,
        epoch: Option<u32>,
    },
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
    longest_copy: u64,
    /// The groups of copies that each warp committed.
    groups: Vec<u32>,
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
            groups: vec![0; warps],
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
        self.copies.retain(|_, copy| {
            !matches!(copy.completion, Completion::Phase { object, .. } if object == address)
        });
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
        let is_complete = |completion| match completion {
            Completion::Phase { object, phase } => {
                clock.phases.get(&object).copied().unwrap_or(0) > phase
            }
            Completion::Group {
                warp: copying,
                epoch,
                ..
            } => epoch.is_some_and(|epoch| copying == warp || clock.epoch(copying) >= epoch),
        };
        let pending = ranges.iter().find_map(|(start, end)| {
            let first = start.saturating_sub(self.longest_copy);
            let mut copies = self.copies.range(first..*end);
            copies.find(|(_, copy)| copy.end > *start && !is_complete(copy.completion))
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
        if self.copies.len() < MOST_COPIES || self.copies.contains_key(&start) {
            self.copies.insert(start, copy);
            self.longest_copy = self.longest_copy.max(copy.end.saturating_sub(start));
        }
        None
    }

    /// Records copies of a group of a warp.
    fn start_group_copies(
        &mut self,
        warp: u32,
        stmt: StmtId,
        ranges: Vec<Range>,
    ) -> Option<Problem> {
        let completion = Completion::Group {
            warp,
            group: self.groups.get(warp as usize).copied()?,
            epoch: None,
        };
        ranges.into_iter().find_map(|(start, end)| {
            let copy = CopyRecord {
                stmt,
                end,
                completion,
            };
            self.start_copy(warp, start, copy)
        })
    }

    /// A warp waits for all groups but this number of the latest ones; `None`: for all copies.
    fn wait_for_groups(&mut self, waiting: u32, pending: Option<u32>) {
        let committed = self.groups.get(waiting as usize).copied().unwrap_or(0);
        let end = pending.map_or(u32::MAX, |pending| committed.saturating_sub(pending));
        let now = self.epoch(waiting);
        for copy in self.copies.values_mut() {
            if let Completion::Group { warp, group, epoch } = &mut copy.completion
                && *warp == waiting
                && *group < end
            {
                epoch.get_or_insert(now);
            }
        }
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
        let ranges = self.ranges(index, facts, &access, bytes, mask)?;
        let warp = self.groups.get(index)?.warp;
        self.buffers.read(warp, stmt, ranges)
    }

    /// The ranges of addresses that the lanes of a set access; `None` if they are not known.
    fn ranges(
        &self,
        index: usize,
        facts: Facts<'_>,
        access: &MemoryAccess,
        bytes: u64,
        mask: LaneMask,
    ) -> Option<Vec<Range>> {
        let base = self.operand(index, facts, access.base?);
        let start = |lane| {
            let address = base.get(lane)?.wrapping_add_signed(access.offset?);
            Some(address.checked_sub(WINDOW).unwrap_or(address))
        };
        let mut starts: Vec<u64> = lanes(mask).map(start).collect::<Option<_>>()?;
        starts.sort_unstable();
        let mut ranges: Vec<Range> = Vec::new();
        for start in starts {
            let end = start.saturating_add(bytes);
            match ranges.last_mut() {
                Some((_, last)) if start <= *last => *last = end,
                _ => ranges.push((start, end)),
            }
        }
        Some(ranges)
    }

    /// Starts, commits or awaits copies of the groups of a warp.
    pub(super) fn use_groups(
        &mut self,
        index: usize,
        stmt: StmtId,
        facts: Facts<'_>,
    ) -> Option<Problem> {
        let warp = self.groups.get(index)?.warp;
        let pool = self.function.body().pool();
        let of_groups: Vec<AsynchronousStep> = steps(facts, pool)
            .filter(|(mechanism, _)| *mechanism == Mechanism::Copies)
            .map(|(_, step)| step)
            .collect();
        for step in of_groups {
            match step {
                AsynchronousStep::Start => {
                    let mask = self.guarded_lanes(index, facts)?;
                    let access = shared_write(facts)?;
                    let ranges = self.ranges(index, facts, &access, access.bytes?, mask)?;
                    let problem = self.buffers.start_group_copies(warp, stmt, ranges);
                    if problem.is_some() {
                        return problem;
                    }
                }
                AsynchronousStep::Commit => {
                    if let Some(committed) = self.buffers.groups.get_mut(warp as usize) {
                        *committed += 1;
                    }
                }
                AsynchronousStep::Wait(pending) => self.buffers.wait_for_groups(warp, pending),
                AsynchronousStep::Report => self.buffers.wait_for_groups(warp, None),
            }
        }
        None
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
        let written = shared_write(facts)?;
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
            completion: Completion::Phase { object, phase },
        };
        self.buffers.start_copy(warp, start, copy)
    }
}

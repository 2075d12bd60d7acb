//! `racecheck`: unordered accesses of different threads to the same memory.

use ptx_ir::Code;
use ptx_isa::Action;

use super::Checker;
use super::accesses::{ASYNCHRONOUS, Access, Kind, LaneAccess, NewAccess};
use super::checkers::{Checkers, SyncLocation};
use super::clock::{Clock, FencedAccesses};
use super::locations::{LOCATION_BYTES, LocationMut, Locations, Records};
use super::memcheck::describe_access;
use super::published::{BlockInCluster, Scope};
use super::report::{Actor, Text};
use crate::execute::{Clusters, Execution, Grid, Memory, Touch, Use};
use crate::lanes::{LANES, lanes};
use crate::program::Step;

/// The mask of all bytes of a location.
const ALL_BYTES: u8 = (1 << LOCATION_BYTES) - 1;

/// A recorded access with which a new one races.
#[derive(Copy, Clone)]
pub(super) struct RacingAccess {
    pub(super) access: Access,
    pub(super) lanes: u32,
}

impl RacingAccess {
    fn new(lane_access: LaneAccess, records: &Records) -> Option<Self> {
        Some(Self {
            access: *records.get(lane_access.number)?,
            lanes: lane_access.lanes,
        })
    }
}

/// An access that is not ordered with an earlier one.
pub(super) struct Race {
    pub(super) lane: usize,
    /// The address of the first byte of the location.
    pub(super) address: u64,
    pub(super) earlier: RacingAccess,
    /// A read with which the access races as well, if the earlier access is a write.
    read: Option<RacingAccess>,
    kind: Kind,
    /// The accesses are ordered, but there is no fence between their proxies: the fence that is needed.
    unfenced: Option<FencedAccesses>,
}

/// The accesses of lanes with equal clocks.
struct LaneAccesses<'a> {
    lanes: u32,
    clock: Clock,
    /// The lanes may have acquired times of other warps since the last barrier of all threads of the CTA.
    informed: bool,
    /// The properties that all accesses share.
    common: Access,
    clusters: Clusters,
    touch: &'a Touch<'a>,
    /// The proxy fence that reads through another than the generic proxy need after earlier writes.
    needed_fence: Option<FencedAccesses>,
}

impl Checkers {
    /// Whether any checker needs the order of accesses.
    pub(super) const fn orders(&self) -> bool {
        self.has(Checker::Racecheck) || self.has(Checker::Synccheck)
    }

    /// Compares the accesses of the allowed lanes with earlier ones, and reports races.
    pub(super) fn racecheck(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, allowed: u32) {
        let (Memory::Global | Memory::Shared(_)) = touch.memory else {
            return;
        };
        let site_number = self
            .sites
            .number(execution.function_id, execution.step_index);
        let sites = std::sync::Arc::clone(&self.sites);
        let Some(site) = sites.get(site_number) else {
            return;
        };
        let asynchronous = site.starts.is_some();
        if !asynchronous && !self.has(Checker::Racecheck) && self.copies == 0 {
            return;
        }
        let strength = if asynchronous {
            let action = execution.action().map(|act| act.action);
            let reduces = matches!(
                action,
                Some(Action::BulkReduce | Action::ReduceAsync | Action::TensorReduce)
            );
            reduces.then_some(Scope::Device)
        } else {
            site.scope
        };
        let kind = match (touch.usage, strength) {
            (Use::Read, None) => Kind::Read,
            (Use::Read, Some(scope)) => Kind::StrongRead(scope),
            (_, None) => Kind::Write,
            (Use::Write, Some(scope)) => Kind::StrongWrite(scope),
            (Use::ReadWrite, Some(scope)) => Kind::Atomic(scope),
        };
        let mut races = Vec::new();
        let mut remaining = allowed;
        while remaining != 0 {
            let accesses =
                self.accesses_with_equal_clocks(execution, touch, remaining, site_number, kind);
            remaining &= !accesses.lanes;
            let first = races.len();
            self.compare(execution, &accesses, &mut races);
            races[first..].sort_by_key(|race| race.lane);
        }
        let repeats_value = asynchronous && self.repeats_value(touch);
        for mut race in races {
            let earlier = race.earlier.access;
            if repeats_value && earlier.is_asynchronous() && earlier.kind.writes() {
                match race.read.take() {
                    Some(read) => race.earlier = read,
                    None => continue,
                }
            }
            self.report_race(execution, touch, &race);
        }
        if let (Some(scope), false) = (strength, asynchronous) {
            self.communicate(execution, touch, allowed, scope);
        }
    }

    /// The accesses of those lanes of a mask whose clocks are equal to that of its first lane.
    fn accesses_with_equal_clocks<'a>(
        &mut self,
        execution: &Execution<'_>,
        touch: &'a Touch<'a>,
        mask: u32,
        site: u32,
        kind: Kind,
    ) -> LaneAccesses<'a> {
        let block = execution.grid.linear(execution.block.index);
        let operation = self.operation;
        let needed_fence = self.needed_fence(execution, touch, site);
        let state = self.block(execution.grid, block);
        let interval = state.interval;
        let warp = state.warp(execution.warp.first);
        let equal = warp.clock.equal_lanes(mask);
        let (lanes, mut clock) = (equal.lanes, equal.clock.clone());
        let mut common = Access {
            block: block as u32,
            first: execution.warp.first as u16,
            bytes: ALL_BYTES,
            kind,
            time: equal.time,
            site,
            interval,
        };
        if let Some(operation) = operation {
            common.block = operation.block as u32;
            common.first = operation.slot as u16;
            common.time = operation.time;
            common.interval = ASYNCHRONOUS;
            // The operation follows the earlier accesses of its thread.
            clock.set_lanes(execution.warp.first, lanes, &warp.clock.times);
        }
        LaneAccesses {
            lanes,
            clock,
            informed: warp.clock.informed,
            common,
            clusters: execution.grid.clusters(),
            touch,
            needed_fence,
        }
    }

    /// Adds the races of accesses with earlier ones, and records the accesses.
    fn compare(
        &mut self,
        execution: &Execution<'_>,
        accesses: &LaneAccesses<'_>,
        races: &mut Vec<Race>,
    ) {
        match accesses.touch.memory {
            Memory::Shared(rank) => {
                let state = self.block_of_rank(execution, rank).1;
                accesses.add(&mut state.locations, races);
                state.count();
            }
            _ => {
                accesses.add(&mut self.locations, races);
                let published = self.published.len() as u64 * self.clock_bytes;
                self.locations.count(published);
            }
        }
    }

    /// Reports a race, unless both accesses write the same value or the pair of instructions has a report.
    fn report_race(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, race: &Race) {
        if let Some(needed_fence) = race.unfenced {
            return self.report_unfenced(execution, touch, race, needed_fence);
        }
        let earlier = race.earlier.access;
        let earlier_lane = (race.earlier.lanes & !(1 << race.lane)).trailing_zeros();
        let is_own_warp = earlier.first == execution.warp.first as u16
            && u64::from(earlier.block) == execution.grid.linear(execution.block.index);
        let site = self
            .sites
            .number(execution.function_id, execution.step_index);
        let is_same_step = is_own_warp && earlier.site == site;
        let asynchronous = earlier.is_asynchronous() || self.operation.is_some();
        let both_write = earlier.kind.writes() && race.kind.writes();
        let storing_lane = is_same_step.then_some(earlier_lane as usize);
        if both_write && !asynchronous && stores_same_value(execution, touch, race, storing_lane) {
            if let Some(read) = race.read {
                let race = Race {
                    earlier: read,
                    read: None,
                    ..*race
                };
                self.report_race(execution, touch, &race);
            }
            return;
        }
        if asynchronous && self.has(Checker::Synccheck) {
            return self.report_pending_copy(
                execution,
                touch,
                race.lane,
                race.address,
                &race.earlier,
            );
        }
        let pair = (earlier.site.min(site), earlier.site.max(site));
        let has_report = self.reports.has(Code::DataRace, site);
        let is_reported = self.pairs.get(&pair);
        if !self.has(Checker::Racecheck)
            || is_reported.is_some_and(|reported| *reported || has_report)
        {
            return;
        }
        self.pairs.insert(pair, !has_report);
        let (access, address) = (describe_access(touch.usage, touch.bytes), race.address);
        let other = Actor {
            site: earlier.site,
            block: earlier.block.into(),
            thread: u32::from(earlier.first) + earlier_lane % LANES as u32,
        };
        let (memory, help) = advice(execution, touch.memory, &other, is_own_warp);
        let text = Text {
            message: format!(
                "{access} at {address:#x} in {memory} memory races with an earlier {} of another thread",
                if earlier.kind.writes() {
                    "write"
                } else {
                    "read"
                },
            ),
            other: Some((other, "the earlier access")),
            help,
        };
        if let (Kind::Atomic(_), Kind::Read) = (earlier.kind, race.kind) {
            let actor = self.actor(execution, race.lane);
            let block = execution.grid.linear(execution.block.index);
            let attempts = &mut self.block(execution.grid, block).attempts;
            attempts.insert((actor.thread, address), (actor, text));
            return;
        }
        self.report(execution, Code::DataRace, race.lane, || text);
    }

    /// Drops the race of a read of a lane that now performs an atomic operation at the location: the read only tried whether the operation is needed.
    fn drop_attempt(&mut self, execution: &Execution<'_>, lane: usize, address: u64) {
        let block = execution.grid.linear(execution.block.index);
        let thread = execution.warp.first + lane as u32;
        let attempts = &mut self.block(execution.grid, block).attempts;
        if !attempts.is_empty() {
            attempts.remove(&(thread, address - address % LOCATION_BYTES));
        }
    }

    /// Reports the races of reads that were not followed by an atomic operation.
    pub(super) fn report_attempts(&mut self, grid: &Grid<'_>, block: u64) {
        let attempts = core::mem::take(&mut self.block(grid, block).attempts);
        for (_, (actor, text)) in attempts {
            self.reports
                .add(grid, &self.sites, Code::DataRace, actor, || text);
        }
    }

    /// Releases the clocks of lanes to other threads by strong accesses in a scope, or acquires those of others.
    fn communicate(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
        scope: Scope,
    ) {
        let number = self
            .sites
            .number(execution.function_id, execution.step_index);
        let sites = std::sync::Arc::clone(&self.sites);
        let Some(site) = sites.get(number) else {
            return;
        };
        let block = execution.grid.linear(execution.block.index);
        let block_in_cluster = BlockInCluster {
            block,
            cluster: execution.grid.clusters().of_linear(block),
        };
        let memory_block = match touch.memory {
            Memory::Shared(rank) => Some(execution.grid.block_of_rank(execution.block.index, rank)),
            _ => None,
        };
        let state = self.block(execution.grid, block);
        let has_fenced = state.warp(execution.warp.first).clock.has_fenced();
        let has_nothing_to_acquire = state.attempts.is_empty() && self.published.is_empty();
        if has_nothing_to_acquire && !has_fenced && !site.releases {
            return;
        }
        for lane in lanes(allowed) {
            let location = SyncLocation {
                block: memory_block,
                address: touch.addresses[lane],
            };
            if touch.usage != Use::Write
                && let Some(published) = self.published.get(&location)
            {
                let clocks: Vec<(Scope, Clock)> = published
                    .get(block_in_cluster, scope)
                    .map(|(scope, clock)| (scope, clock.clone()))
                    .collect();
                let warp_clock = &mut self.own_warp(execution).clock;
                for (published_scope, clock) in clocks {
                    if site.acquires {
                        warp_clock.acquire(1 << lane, &clock)
                    } else {
                        warp_clock.note_read(lane, published_scope, &clock)
                    }
                }
            }
            if touch.usage == Use::Read {
                continue;
            }
            self.drop_attempt(execution, lane, location.address);
            if touch.usage == Use::Write {
                self.published.remove(&location);
            }
            let warp_clock = &mut self.own_warp(execution).clock;
            if site.releases {
                if let Some(clock) = warp_clock.release(1 << lane) {
                    let published = self.published.entry(location).or_default();
                    published.add(block_in_cluster, scope, &clock);
                }
                continue;
            }
            for (clock, fence_scope) in warp_clock.fenced(lane).clone().iter().zip(Scope::ALL) {
                if let Some(clock) = clock {
                    let published = self.published.entry(location).or_default();
                    published.add(block_in_cluster, scope.min(fence_scope), clock);
                }
            }
        }
    }
}

impl LaneAccesses<'_> {
    /// Records the accesses to the locations of a memory, and adds their races.
    fn add(&self, locations: &mut Locations, races: &mut Vec<Race>) {
        let mut remaining = self.lanes;
        let mut new = NewAccess {
            access: self.common,
            number: locations.record(self.common),
            clusters: self.clusters,
            is_shared: matches!(self.touch.memory, Memory::Shared(_)),
            clock: &self.clock,
            informed: self.informed,
            needed_fence: self.needed_fence,
        };
        while remaining != 0 {
            let first = remaining.trailing_zeros() as usize % LANES;
            let mask = self.lanes_without_races(remaining, first);
            remaining &= !mask;
            self.add_lanes(locations, &mut new, first, mask, races);
        }
    }

    /// The lanes of a mask that access the address of its first lane and do not race with each other.
    fn lanes_without_races(&self, mask: u32, first: usize) -> u32 {
        let addresses = self.touch.addresses;
        match self.common.kind {
            Kind::Write => 1 << first,
            Kind::Read | Kind::StrongRead(_) => lanes(mask)
                .take_while(|lane| addresses[*lane] == addresses[first])
                .fold(0, |mask, lane| mask | 1 << lane),
            Kind::StrongWrite(_) | Kind::Atomic(_) => lanes(mask)
                .filter(|lane| addresses[*lane] == addresses[first])
                .fold(0, |mask, lane| mask | 1 << lane),
        }
    }

    /// Adds the access of the lanes of a mask at the address of `first`, one of them.
    fn add_lanes(
        &self,
        locations: &mut Locations,
        new: &mut NewAccess<'_>,
        first: usize,
        mask: u32,
        races: &mut Vec<Race>,
    ) {
        let start = self.touch.addresses[first];
        let end = start.saturating_add(self.touch.bytes);
        let lanes = if self.common.is_asynchronous() {
            1
        } else {
            mask
        };
        for location in (start - start % LOCATION_BYTES..end).step_by(LOCATION_BYTES as usize) {
            let bytes = accessed_bytes(location, start, end);
            if bytes != new.access.bytes {
                new.access.bytes = bytes;
                new.number = locations.record(new.access);
            }
            let LocationMut {
                accesses,
                records,
                older_bytes,
            } = locations.location_mut(location);
            let bytes_before = accesses.older_bytes();
            let mut remaining = lanes;
            // The lanes that are added together: all, or one after the other if some race.
            let mut added = lanes;
            let may_differ = self.common.kind.writes() || mask != self.lanes;
            if may_differ && !lanes.is_power_of_two() && accesses.races(new, lanes, records) {
                added = remaining & remaining.wrapping_neg();
            }
            let unfenced = accesses.unfenced_write(new, records);
            while remaining != 0 {
                if let Some(earlier) = accesses.add(new, added, records)
                    && let Some(racing) = RacingAccess::new(earlier.first, records)
                {
                    let read = earlier
                        .read
                        .and_then(|read| RacingAccess::new(read, records));
                    races.push(Race {
                        lane: if added == lanes {
                            first
                        } else {
                            added.trailing_zeros() as usize % LANES
                        },
                        address: location,
                        earlier: racing,
                        read,
                        kind: self.common.kind,
                        unfenced: None,
                    });
                } else if let Some(racing) =
                    unfenced.and_then(|write| RacingAccess::new(write, records))
                {
                    races.push(Race {
                        lane: first,
                        address: location,
                        earlier: racing,
                        read: None,
                        kind: self.common.kind,
                        unfenced: self.needed_fence,
                    });
                }
                remaining &= !added;
                added = remaining & remaining.wrapping_neg();
            }
            *older_bytes = (*older_bytes + accesses.older_bytes()).saturating_sub(bytes_before);
        }
    }
}

/// The bytes of a location that are in a range: a bit for each.
const fn accessed_bytes(location: u64, start: u64, end: u64) -> u8 {
    let from_start = ALL_BYTES << start.saturating_sub(location);
    let bytes_before_end = end - location;
    if bytes_before_end < LOCATION_BYTES {
        from_start & !(ALL_BYTES << bytes_before_end) & ALL_BYTES
    } else {
        from_start & ALL_BYTES
    }
}

/// Whether a store leaves the same value as the earlier one: that of `storing_lane` by the same instruction, or the value in memory.
fn stores_same_value(
    execution: &Execution<'_>,
    touch: &Touch<'_>,
    race: &Race,
    storing_lane: Option<usize>,
) -> bool {
    let step = execution
        .function
        .steps
        .get(execution.step_index as usize)
        .map(|target| &target.step);
    let stored_byte = |lane: usize, address: u64| {
        let Some(Step::Store(access)) = step else {
            let offset = address.checked_sub(touch.addresses[lane])?;
            return Some(touch.value?.checked_shr(8 * offset as u32)? as u8);
        };
        let offset = address.checked_sub(touch.addresses[lane])?;
        let element_bytes = u64::from(access.bytes);
        let place = (*access.places.get((offset / element_bytes) as usize)?)?;
        Some((execution.get(place, lane) >> (8 * (offset % element_bytes))) as u8)
    };
    let start = touch.addresses[race.lane];
    let end = start.saturating_add(touch.bytes);
    (race.address.max(start)..(race.address + LOCATION_BYTES).min(end)).all(|address| {
        let earlier_byte = match storing_lane {
            Some(lane) if touch.value.is_none() => stored_byte(lane, address),
            // Earlier lanes have written accesses that are shown one by one.
            _ => execution.byte(touch.memory, address),
        };
        earlier_byte.is_some() && earlier_byte == stored_byte(race.lane, address)
    })
}

/// The name of a memory that several threads access.
pub(super) const fn memory_name(memory: Memory) -> &'static str {
    match memory {
        Memory::Shared(_) => "shared",
        _ => "global",
    }
}

/// The name of a memory, and the help text on ordering accesses to it.
fn advice(
    execution: &Execution<'_>,
    memory: Memory,
    other: &Actor,
    is_same_warp: bool,
) -> (&'static str, &'static str) {
    let memory = memory_name(memory);
    let is_same_block = other.block == execution.grid.linear(execution.block.index);
    let help = match (is_same_warp, is_same_block) {
        (true, _) => {
            "add `bar.warp.sync` between the accesses, or a CTA barrier where other warps access the memory as well"
        }
        (false, true) => "add a CTA barrier that all threads execute between the accesses",
        (false, false) => {
            "make the accesses atomic, or order them with release and acquire operations whose scope includes both CTAs"
        }
    };
    (memory, help)
}

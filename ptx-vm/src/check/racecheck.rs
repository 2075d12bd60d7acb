//! `racecheck`: unordered accesses of different threads to the same memory.

use ptx_ir::Code;
use ptx_isa::Action;

use super::Checker;
use super::accesses::New;
use super::accesses::{ASYNCHRONOUS, Access, Kind};
use super::checkers::{Checkers, Shared};
use super::clock::Clock;
use super::memcheck::access;
use super::order::Home;
use super::places::{PLACE, Places};
use super::report::{Actor, Text};
use super::scope::Scope;
use crate::execute::{Clusters, Execution, Grid, Memory, Touch, Use};
use crate::lanes::{LANES, lanes};
use crate::program::{Act, Step};

/// All bytes of a location.
const WHOLE: u8 = (1 << PLACE) - 1;

/// An access that is not ordered with an earlier one.
struct Race {
    lane: usize,
    /// The first byte of the place.
    at: u64,
    earlier: Access,
    /// The lanes of the earlier access.
    by: u32,
    /// A read that it races with, too, if the earlier access is a write.
    read: Option<(Access, u32)>,
    kind: Kind,
}

/// Lanes with equal clocks, and their accesses.
struct Accessing<'a> {
    lanes: u32,
    clock: Clock,
    informed: bool,
    /// The properties that all lanes share.
    common: Access,
    clusters: Clusters,
    touch: &'a Touch<'a>,
}

impl Checkers {
    /// Whether any checker needs the order of accesses.
    pub(super) const fn orders(&self) -> bool {
        self.has(Checker::Racecheck) || self.has(Checker::Synccheck)
    }

    /// Compares accesses with earlier ones.
    pub(super) fn racecheck(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, allowed: u32) {
        let (Memory::Global | Memory::Shared(_)) = touch.memory else {
            return;
        };
        let number = self.sites.number(execution.id, execution.at);
        let sites = std::sync::Arc::clone(&self.sites);
        let Some(site) = sites.get(number) else {
            return;
        };
        let asynchronous = site.starts.is_some();
        if !asynchronous && !self.has(Checker::Racecheck) && self.copies == 0 {
            return;
        }
        let reduces = |act: &Act| matches!(act.action, Action::BulkReduce | Action::ReduceAsync);
        let strong = if asynchronous {
            execution
                .action()
                .filter(|a| reduces(a))
                .map(|_| Scope::Device)
        } else {
            site.scope
        };
        let kind = match (touch.usage, strong) {
            (Use::Read, None) => Kind::Read,
            (Use::Read, Some(scope)) => Kind::StrongRead(scope),
            (_, None) => Kind::Write,
            (Use::Write, Some(scope)) => Kind::StrongWrite(scope),
            (Use::ReadWrite, Some(scope)) => Kind::Atomic(scope),
        };
        let mut races = Vec::new();
        let mut remaining = allowed;
        while remaining != 0 {
            let all = self.accessing(execution, touch, remaining, (number, kind));
            remaining &= !all.lanes;
            let first = races.len();
            self.compare(execution, &all, &mut races);
            races[first..].sort_by_key(|race| race.lane);
        }
        for race in races {
            self.race(execution, touch, &race);
        }
        if let (Some(scope), false) = (strong, asynchronous) {
            self.communicate(execution, touch, allowed, scope);
        }
    }

    /// The lanes of a mask that know the same as its first one.
    fn accessing<'a>(
        &mut self,
        execution: &Execution<'_>,
        touch: &'a Touch<'a>,
        mask: u32,
        (site, kind): (u32, Kind),
    ) -> Accessing<'a> {
        let block = execution.grid.linear(execution.block.index);
        let operation = self.operation;
        let state = self.block(execution.grid, block);
        let interval = state.interval;
        let warp = state.warp(execution.warp.first);
        let (lanes, time, clock) = warp.clock.alike(mask);
        let mut clock = clock.clone();
        let mut common = Access {
            block: block as u32,
            first: execution.warp.first as u16,
            bytes: WHOLE,
            kind,
            time,
            site,
            interval,
        };
        if let Some((owner, slot, time)) = operation {
            (common.block, common.first) = (owner as u32, slot as u16);
            (common.time, common.interval) = (time, ASYNCHRONOUS);
            // The operation comes after what its thread did before.
            clock.set_lanes(execution.warp.first, lanes, &warp.clock.times);
        }
        Accessing {
            lanes,
            clock,
            informed: warp.clock.informed,
            common,
            clusters: execution.grid.clusters(),
            touch,
        }
    }

    /// Compares the accesses of lanes that know the same with earlier ones.
    fn compare(&mut self, execution: &Execution<'_>, all: &Accessing<'_>, races: &mut Vec<Race>) {
        match all.touch.memory {
            Memory::Shared(rank) => {
                let state = self.of_rank(execution, rank).1;
                all.add(&mut state.places, races);
                state.count();
            }
            _ => {
                all.add(&mut self.places, races);
                let published = self.published.len() as u64 * self.clock_bytes;
                self.places.count(published);
            }
        }
    }

    fn race(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, race: &Race) {
        let earlier = race.earlier;
        let lane = (race.by & !(1 << race.lane)).trailing_zeros();
        let is_own = earlier.first == execution.warp.first as u16
            && u64::from(earlier.block) == execution.grid.linear(execution.block.index);
        let together = is_own && earlier.site == self.sites.number(execution.id, execution.at);
        let both = earlier.kind.writes() && race.kind.writes();
        if both
            && !earlier.is_asynchronous()
            && self.operation.is_none()
            && same_value(execution, touch, race, together.then_some(lane as usize))
        {
            if let Some((earlier, by)) = race.read {
                let race = Race {
                    earlier,
                    by,
                    read: None,
                    ..*race
                };
                self.race(execution, touch, &race);
            }
            return;
        }
        let asynchronous = earlier.is_asynchronous() || self.operation.is_some();
        if asynchronous && self.has(Checker::Synccheck) {
            return self.not_awaited(execution, touch, (race.lane, race.at), (&earlier, race.by));
        }
        let site = self.sites.number(execution.id, execution.at);
        let pair = (earlier.site.min(site), earlier.site.max(site));
        let has_report = self.reports.has(Code::DataRace, site);
        let is_reported = self.pairs.get(&pair);
        if !self.has(Checker::Racecheck) || is_reported.is_some_and(|shown| *shown || has_report) {
            return;
        }
        self.pairs.insert(pair, !has_report);
        let (what, at) = (access(touch.usage, touch.bytes), race.at);
        let other = Actor {
            site: earlier.site,
            block: earlier.block.into(),
            thread: u32::from(earlier.first) + lane % LANES as u32,
        };
        let (memory, help) = advice(execution, touch.memory, &other, is_own);
        let text = Text {
            message: format!(
                "{what} at {at:#x} in {memory} memory races with an earlier {} of another thread",
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
            attempts.insert((actor.thread, at), (actor, text));
            return;
        }
        self.report(execution, Code::DataRace, race.lane, || text);
    }

    /// A lane performs an atomic operation after it read the place: whether its read raced does not matter.
    fn attempted(&mut self, execution: &Execution<'_>, lane: usize, at: u64) {
        let block = execution.grid.linear(execution.block.index);
        let thread = execution.warp.first + lane as u32;
        let attempts = &mut self.block(execution.grid, block).attempts;
        if !attempts.is_empty() {
            attempts.remove(&(thread, at - at % PLACE));
        }
    }

    /// Reports the races of reads that were not followed by an atomic operation.
    pub(super) fn report_attempts(&mut self, grid: &Grid<'_>, block: u64) {
        let attempts = core::mem::take(&mut self.block(grid, block).attempts);
        for (_, (actor, text)) in attempts {
            let context = (grid, &*self.sites);
            self.reports.add(context, Code::DataRace, actor, || text);
        }
    }

    /// Strong accesses release clocks to other threads, or acquire them.
    fn communicate(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
        scope: Scope,
    ) {
        let number = self.sites.number(execution.id, execution.at);
        let sites = std::sync::Arc::clone(&self.sites);
        let Some(site) = sites.get(number) else {
            return;
        };
        let block = execution.grid.linear(execution.block.index);
        let home = Home {
            block,
            cluster: execution.grid.clusters().of_linear(block),
        };
        let owner = match touch.memory {
            Memory::Shared(rank) => Some(execution.grid.of_rank(execution.block.index, rank)),
            _ => None,
        };
        let state = self.block(execution.grid, block);
        let fenced = state.warp(execution.warp.first).clock.has_fenced();
        let alone = state.attempts.is_empty() && self.published.is_empty();
        if alone && !fenced && !site.releases {
            return;
        }
        for lane in lanes(allowed) {
            let key: Shared = (owner, touch.at[lane]);
            if touch.usage != Use::Write
                && let Some(known) = self.published.get(&key)
            {
                let clocks: Vec<Clock> = known.get(home, scope).cloned().collect();
                let clock = &mut self.own_warp(execution).clock;
                for known in clocks {
                    if site.acquires {
                        clock.acquire(1 << lane, &known)
                    } else {
                        clock.note_read(lane, &known)
                    }
                }
            }
            if touch.usage == Use::Read {
                continue;
            }
            self.attempted(execution, lane, touch.at[lane]);
            if touch.usage == Use::Write {
                self.published.remove(&key);
            }
            let clock = &mut self.own_warp(execution).clock;
            if site.releases {
                if let Some(known) = clock.release(1 << lane) {
                    self.published
                        .entry(key)
                        .or_default()
                        .add(home, scope, &known);
                }
                continue;
            }
            let fenced = clock.fenced(lane).clone();
            for (known, execution) in fenced.iter().zip(Scope::ALL) {
                if let Some(known) = known {
                    let published = self.published.entry(key).or_default();
                    published.add(home, scope.min(execution), known);
                }
            }
        }
    }
}

impl Accessing<'_> {
    /// Adds the accesses to the places of a memory.
    fn add(&self, places: &mut Places, races: &mut Vec<Race>) {
        let mut remaining = self.lanes;
        let mut new = New {
            access: self.common,
            number: places.number(self.common),
            clusters: self.clusters,
            shared: matches!(self.touch.memory, Memory::Shared(_)),
            clock: &self.clock,
            informed: self.informed,
        };
        while remaining != 0 {
            let first = remaining.trailing_zeros() as usize % LANES;
            let mask = self.together(remaining, first);
            remaining &= !mask;
            self.add_lanes(places, &mut new, (first, mask), races);
        }
    }

    /// Lanes of a mask that access the address of its first one and do not race with each other.
    fn together(&self, mask: u32, first: usize) -> u32 {
        let is_at_address = |lane: &usize| self.touch.at[*lane] == self.touch.at[first];
        let add = |found: u32, lane: usize| found | u32::from(is_at_address(&lane)) << lane;
        match self.common.kind {
            Kind::Write => 1 << first,
            Kind::Read | Kind::StrongRead(_) => lanes(mask).take_while(is_at_address).fold(0, add),
            Kind::StrongWrite(_) | Kind::Atomic(_) => (0..LANES).fold(0, add) & mask,
        }
    }

    /// Adds an access of lanes at the address of one of them.
    fn add_lanes(
        &self,
        places: &mut Places,
        new: &mut New<'_>,
        (lane, mask): (usize, u32),
        races: &mut Vec<Race>,
    ) {
        let at = self.touch.at[lane];
        let end = at.saturating_add(self.touch.bytes);
        let lanes = if self.common.is_asynchronous() {
            1
        } else {
            mask
        };
        for place in (at - at % PLACE..end).step_by(PLACE as usize) {
            let bytes = bytes_of(place, at, end);
            if bytes != new.access.bytes {
                new.access.bytes = bytes;
                new.number = places.number(new.access);
            }
            let (accesses, records, more) = places.at(place);
            let bytes_before = accesses.more_bytes();
            let mut remaining = lanes;
            let mut part = lanes;
            let apart = self.common.kind.writes() || mask != self.lanes;
            if apart && !lanes.is_power_of_two() && accesses.races(new, lanes, records) {
                part = remaining & remaining.wrapping_neg();
            }
            while remaining != 0 {
                if let Some((earlier, read)) = accesses.add(new, part, records)
                    && let Some(access) = records.get(earlier.number)
                {
                    let read = read.and_then(|r| Some((*records.get(r.number)?, r.lanes)));
                    let first = part.trailing_zeros() as usize % LANES;
                    races.push(Race {
                        lane: if part == lanes { lane } else { first },
                        at: place,
                        earlier: *access,
                        by: earlier.lanes,
                        read,
                        kind: self.common.kind,
                    });
                }
                remaining &= !part;
                part = remaining & remaining.wrapping_neg();
            }
            *more = (*more + accesses.more_bytes()).saturating_sub(bytes_before);
        }
    }
}

/// The bytes of a place that a range has, as bits.
const fn bytes_of(place: u64, start: u64, end: u64) -> u8 {
    let from_start = WHOLE << start.saturating_sub(place);
    let end_of_part = end - place;
    if end_of_part < PLACE {
        from_start & !(WHOLE << end_of_part) & WHOLE
    } else {
        from_start & WHOLE
    }
}

/// Whether a store leaves the same value as the earlier one, that of another lane or that in memory.
fn same_value(
    execution: &Execution<'_>,
    touch: &Touch<'_>,
    race: &Race,
    other: Option<usize>,
) -> bool {
    let step = execution
        .function
        .steps
        .get(execution.at as usize)
        .map(|s| &s.step);
    let Some(Step::Store(access)) = step else {
        return false;
    };
    let stored = |lane: usize, byte: u64| {
        let offset = byte.checked_sub(touch.at[lane])?;
        let each = u64::from(access.bytes);
        let place = (*access.places.get((offset / each) as usize)?)?;
        Some((execution.get(place, lane) >> (8 * (offset % each))) as u8)
    };
    let bytes = race.at.max(touch.at[race.lane])..race.at + PLACE;
    let end = touch.at[race.lane].saturating_add(touch.bytes);
    bytes.take_while(|byte| *byte < end).all(|byte| {
        let earlier_access = match other {
            Some(lane) => stored(lane, byte),
            None => execution.byte(touch.memory, byte),
        };
        earlier_access.is_some() && earlier_access == stored(race.lane, byte)
    })
}

/// The name of a memory, and the help text on ordering accesses to it.
fn advice(
    execution: &Execution<'_>,
    memory: Memory,
    other: &Actor,
    same_warp: bool,
) -> (&'static str, &'static str) {
    let memory = match memory {
        Memory::Shared(_) => "shared",
        _ => "global",
    };
    let same_block = other.block == execution.grid.linear(execution.block.index);
    let help = match (same_warp, same_block) {
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

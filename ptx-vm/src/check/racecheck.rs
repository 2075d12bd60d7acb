//! `racecheck`: unordered accesses of different threads to the same memory.

use ptx_ir::Code;
use ptx_isa::Action;

use super::Checker;
use super::access::{ASYNCHRONOUS, Access, Kind};
use super::accesses::New;
use super::checkers::{Checkers, Shared};
use super::clock::Clock;
use super::memcheck::access;
use super::places::{PLACE, Places};
use super::published::Home;
use super::reports::{Actor, Text};
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
    pub(super) fn racecheck(&mut self, of: &Execution<'_>, touch: &Touch<'_>, allowed: u32) {
        let (Memory::Global | Memory::Shared(_)) = touch.memory else {
            return;
        };
        let number = self.sites.number(of.id, of.at);
        let sites = std::sync::Arc::clone(&self.sites);
        let Some(site) = sites.get(number) else {
            return;
        };
        let asynchronous = site.starts.is_some();
        if !asynchronous && !self.has(Checker::Racecheck) && self.copies == 0 {
            return;
        }
        let reduces = |act: &Act| matches!(act.action, Action::BulkReduce | Action::ReduceAsync);
        let strong = match asynchronous {
            true => of.action().filter(|a| reduces(a)).map(|_| Scope::Device),
            false => site.scope,
        };
        let kind = match (touch.usage, strong) {
            (Use::Read, None) => Kind::Read,
            (Use::Read, Some(scope)) => Kind::StrongRead(scope),
            (_, None) => Kind::Write,
            (Use::Write, Some(scope)) => Kind::StrongWrite(scope),
            (Use::ReadWrite, Some(scope)) => Kind::Atomic(scope),
        };
        let mut races = Vec::new();
        let mut left = allowed;
        while left != 0 {
            let all = self.accessing(of, touch, left, (number, kind));
            left &= !all.lanes;
            let first = races.len();
            self.compare(of, &all, &mut races);
            races[first..].sort_by_key(|race| race.lane);
        }
        for race in races {
            self.race(of, touch, &race);
        }
        if let (Some(scope), false) = (strong, asynchronous) {
            self.communicate(of, touch, allowed, scope);
        }
    }

    /// The lanes of a mask that know the same as its first one.
    fn accessing<'a>(
        &mut self,
        of: &Execution<'_>,
        touch: &'a Touch<'a>,
        mask: u32,
        (site, kind): (u32, Kind),
    ) -> Accessing<'a> {
        let block = of.grid.linear(of.block.index);
        let operation = self.operation;
        let state = self.block(of.grid, block);
        let interval = state.interval;
        let warp = state.warp(of.warp.first);
        let (lanes, time, clock) = warp.clock.alike(mask);
        let mut clock = clock.clone();
        let mut common = Access {
            block: block as u32,
            first: of.warp.first as u16,
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
            clock.set_lanes(of.warp.first, lanes, &warp.clock.times);
        }
        Accessing {
            lanes,
            clock,
            informed: warp.clock.informed,
            common,
            clusters: of.grid.clusters(),
            touch,
        }
    }

    /// Compares the accesses of lanes that know the same with earlier ones.
    fn compare(&mut self, of: &Execution<'_>, all: &Accessing<'_>, races: &mut Vec<Race>) {
        match all.touch.memory {
            Memory::Shared(rank) => {
                let state = self.of_rank(of, rank).1;
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

    fn race(&mut self, of: &Execution<'_>, touch: &Touch<'_>, race: &Race) {
        let earlier = race.earlier;
        let lane = (race.by & !(1 << race.lane)).trailing_zeros();
        let own = earlier.first == of.warp.first as u16
            && u64::from(earlier.block) == of.grid.linear(of.block.index);
        let together = own && earlier.site == self.sites.number(of.id, of.at);
        let both = earlier.kind.writes() && race.kind.writes();
        if both
            && !earlier.is_asynchronous()
            && self.operation.is_none()
            && same_value(of, touch, race, together.then_some(lane as usize))
        {
            if let Some((earlier, by)) = race.read {
                let race = Race {
                    earlier,
                    by,
                    read: None,
                    ..*race
                };
                self.race(of, touch, &race);
            }
            return;
        }
        let asynchronous = earlier.is_asynchronous() || self.operation.is_some();
        if asynchronous && self.has(Checker::Synccheck) {
            return self.not_awaited(of, touch, (race.lane, race.at), (&earlier, race.by));
        }
        let site = self.sites.number(of.id, of.at);
        let pair = (earlier.site.min(site), earlier.site.max(site));
        let has_report = self.reports.has(Code::DataRace, site);
        let known = self.pairs.get(&pair);
        if !self.has(Checker::Racecheck) || known.is_some_and(|shown| *shown || has_report) {
            return;
        }
        self.pairs.insert(pair, !has_report);
        let (what, at) = (access(touch.usage, touch.bytes), race.at);
        let other = Actor {
            site: earlier.site,
            block: earlier.block.into(),
            thread: u32::from(earlier.first) + lane % LANES as u32,
        };
        let (memory, help) = advice(of, touch.memory, &other, own);
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
            let actor = self.actor(of, race.lane);
            let block = of.grid.linear(of.block.index);
            let attempts = &mut self.block(of.grid, block).attempts;
            attempts.insert((actor.thread, at), (actor, text));
            return;
        }
        self.report(of, Code::DataRace, race.lane, || text);
    }

    /// A lane performs an atomic operation after it read the place: whether its read raced does not matter.
    fn attempted(&mut self, of: &Execution<'_>, lane: usize, at: u64) {
        let block = of.grid.linear(of.block.index);
        let thread = of.warp.first + lane as u32;
        let attempts = &mut self.block(of.grid, block).attempts;
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
    fn communicate(&mut self, of: &Execution<'_>, touch: &Touch<'_>, allowed: u32, scope: Scope) {
        let number = self.sites.number(of.id, of.at);
        let sites = std::sync::Arc::clone(&self.sites);
        let Some(site) = sites.get(number) else {
            return;
        };
        let block = of.grid.linear(of.block.index);
        let home = Home {
            block,
            cluster: of.grid.clusters().of_linear(block),
        };
        let owner = match touch.memory {
            Memory::Shared(rank) => Some(of.grid.of_rank(of.block.index, rank)),
            _ => None,
        };
        let state = self.block(of.grid, block);
        let fenced = state.warp(of.warp.first).clock.has_fenced();
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
                let clock = &mut self.own_warp(of).clock;
                for known in clocks {
                    match site.acquires {
                        true => clock.acquire(1 << lane, &known),
                        false => clock.note_read(lane, &known),
                    }
                }
            }
            if touch.usage == Use::Read {
                continue;
            }
            self.attempted(of, lane, touch.at[lane]);
            if touch.usage == Use::Write {
                self.published.remove(&key);
            }
            let clock = &mut self.own_warp(of).clock;
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
            for (known, of) in fenced.iter().zip(Scope::ALL) {
                if let Some(known) = known {
                    let published = self.published.entry(key).or_default();
                    published.add(home, scope.min(of), known);
                }
            }
        }
    }
}

impl Accessing<'_> {
    /// Adds the accesses to the places of a memory.
    fn add(&self, places: &mut Places, races: &mut Vec<Race>) {
        let mut left = self.lanes;
        let mut new = New {
            access: self.common,
            number: places.number(self.common),
            clusters: self.clusters,
            shared: matches!(self.touch.memory, Memory::Shared(_)),
            clock: &self.clock,
            informed: self.informed,
        };
        while left != 0 {
            let first = left.trailing_zeros() as usize % LANES;
            let mask = self.together(left, first);
            left &= !mask;
            self.add_lanes(places, &mut new, (first, mask), races);
        }
    }

    /// Lanes of a mask that access the address of its first one and do not race with each other.
    fn together(&self, mask: u32, first: usize) -> u32 {
        let same = |lane: &usize| self.touch.at[*lane] == self.touch.at[first];
        let add = |found: u32, lane: usize| found | u32::from(same(&lane)) << lane;
        match self.common.kind {
            Kind::Write => 1 << first,
            Kind::Read | Kind::StrongRead(_) => lanes(mask).take_while(same).fold(0, add),
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
            let before = accesses.more_bytes();
            let mut left = lanes;
            let mut part = lanes;
            let apart = self.common.kind.writes() || mask != self.lanes;
            if apart && !lanes.is_power_of_two() && accesses.races(new, lanes, records) {
                part = left & left.wrapping_neg();
            }
            while left != 0 {
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
                left &= !part;
                part = left & left.wrapping_neg();
            }
            *more = (*more + accesses.more_bytes()).saturating_sub(before);
        }
    }
}

/// The bytes of a place that a range has, as bits.
const fn bytes_of(place: u64, start: u64, end: u64) -> u8 {
    let before = WHOLE << start.saturating_sub(place);
    let after = end - place;
    match after < PLACE {
        true => before & !(WHOLE << after) & WHOLE,
        false => before & WHOLE,
    }
}

/// Whether a store leaves the same value as the earlier one, that of another lane or that in memory.
fn same_value(of: &Execution<'_>, touch: &Touch<'_>, race: &Race, other: Option<usize>) -> bool {
    let step = of.function.steps.get(of.at as usize).map(|s| &s.step);
    let Some(Step::Store(access)) = step else {
        return false;
    };
    let stored = |lane: usize, byte: u64| {
        let offset = byte.checked_sub(touch.at[lane])?;
        let each = u64::from(access.bytes);
        let place = (*access.places.get((offset / each) as usize)?)?;
        Some((of.get(place, lane) >> (8 * (offset % each))) as u8)
    };
    let bytes = race.at.max(touch.at[race.lane])..race.at + PLACE;
    let end = touch.at[race.lane].saturating_add(touch.bytes);
    bytes.take_while(|byte| *byte < end).all(|byte| {
        let before = match other {
            Some(lane) => stored(lane, byte),
            None => of.byte(touch.memory, byte),
        };
        before.is_some() && before == stored(race.lane, byte)
    })
}

/// The name of a memory, and the help text on ordering accesses to it.
fn advice(
    of: &Execution<'_>,
    memory: Memory,
    other: &Actor,
    same_warp: bool,
) -> (&'static str, &'static str) {
    let memory = match memory {
        Memory::Shared(_) => "shared",
        _ => "global",
    };
    let same_block = other.block == of.grid.linear(of.block.index);
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

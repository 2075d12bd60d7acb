//! The vector clocks of the threads of a warp.

use super::clock::Clock;
use super::scope::Scope;
use crate::lanes::{LANES, lanes};

/// The clocks of the lanes of a warp. Lanes with equal knowledge share a clock.
#[derive(Debug)]
pub(super) struct WarpClock {
    /// The index of the first thread in the CTA.
    first: u32,
    /// The times of other threads that lanes know, by lanes.
    groups: Vec<(u32, Clock)>,
    /// Whether any lane may know what another warp did since the last barrier of all threads of the CTA.
    pub(super) informed: bool,
    /// The own time of each lane.
    pub(super) times: [u32; LANES],
    /// What each lane lets others know by a later store: its last fence of each scope or a wider one.
    fences: Vec<[Option<Clock>; 3]>,
    /// Whether any lane executed a fence.
    has_fenced: bool,
    /// What each lane read that others let it know, which counts from its next fence on.
    read: Vec<Option<Clock>>,
}

impl WarpClock {
    pub(super) fn new(block: u64, first: u32) -> Self {
        Self {
            first,
            groups: vec![(u32::MAX, Clock::new(block))],
            informed: false,
            times: [1; LANES],
            fences: vec![Default::default(); LANES],
            has_fenced: false,
            read: vec![None; LANES],
        }
    }

    /// The lanes that know the same, among those of a mask, and what they know about others.
    pub(super) fn groups(&self, mask: u32) -> impl Iterator<Item = (u32, &Clock)> {
        let groups = self.groups.iter();
        groups
            .map(move |(lanes, clock)| (lanes & mask, clock))
            .filter(|(lanes, _)| *lanes != 0)
    }

    /// Lanes of a mask that know the same and have the same time, the time, and what they know about others.
    pub(super) fn alike(&self, mask: u32) -> (u32, u32, &Clock) {
        let (group, clock) = self
            .groups(mask)
            .next()
            .unwrap_or((mask, &self.groups[0].1));
        let first = group.trailing_zeros() as usize % LANES;
        let time = self.times[first];
        let lanes_with_time =
            (0..LANES).fold(0, |all, l| all | u32::from(self.times[l] == time) << l);
        (group & lanes_with_time | 1 << first, time, clock)
    }

    /// The times of other threads that a lane knows.
    pub(super) fn of(&self, lane: usize) -> &Clock {
        self.alike(1 << lane).2
    }

    /// All that lanes know, with their own times, which then advance.
    pub(super) fn release(&mut self, mask: u32) -> Option<Clock> {
        let mut all: Option<Clock> = None;
        for (_, clock) in self.groups(mask) {
            match &mut all {
                None => all = Some(clock.clone()),
                Some(all) if all.is_same(clock) => {}
                Some(all) => all.join(clock),
            }
        }
        let mut all = all?;
        all.set_lanes(self.first, mask, &self.times);
        self.advance(mask);
        Some(all)
    }

    /// Adds all that lanes know, with their own times, which then advance.
    pub(super) fn release_into(&mut self, mask: u32, all: &mut Clock) {
        for (_, clock) in self.groups(mask) {
            all.join(clock);
        }
        all.set_lanes(self.first, mask, &self.times);
        self.advance(mask);
    }

    /// Lanes know that an asynchronous operation of their CTA has come to a time.
    pub(super) fn learn(&mut self, mask: u32, slot: u32, time: u32) {
        let Some((_, clock)) = self.groups(mask).next() else {
            return;
        };
        let mut joined = clock.clone();
        joined.set(slot, time);
        self.acquire(mask, &joined);
    }

    /// The own time of lanes goes on.
    pub(super) fn advance(&mut self, mask: u32) {
        for lane in lanes(mask) {
            self.times[lane] = self.times[lane].saturating_add(1);
        }
    }

    /// Lanes know what a clock knows, and nothing else that they did not know.
    pub(super) fn acquire(&mut self, mask: u32, from: &Clock) {
        self.informed = true;
        let mut changed: Vec<(u32, Clock)> = Vec::new();
        for (group, clock) in &mut self.groups {
            if *group & mask == 0 || clock.is_same(from) {
                continue;
            }
            if *group & !mask == 0 {
                clock.join(from);
                continue;
            }
            let mut joined = clock.clone();
            joined.join(from);
            changed.push((*group & mask, joined));
            *group &= !mask;
        }
        self.groups.extend(changed);
    }

    /// Lanes know exactly what a clock knows, which is all that they knew and more.
    pub(super) fn replace(&mut self, mask: u32, by: &Clock) {
        for (group, _) in &mut self.groups {
            *group &= !mask;
        }
        self.groups.retain(|(group, _)| *group != 0);
        self.groups.push((mask, by.clone()));
    }

    /// Lanes synchronize with each other.
    pub(super) fn synchronize(&mut self, mask: u32) {
        self.acquire_read(mask);
        // One group that is alone keeps its memory.
        if let [(group, clock)] = &mut self.groups[..]
            && *group & !mask == 0
        {
            clock.set_lanes(self.first, mask, &self.times);
            self.advance(mask);
            return;
        }
        if let Some(all) = self.release(mask) {
            self.replace(mask, &all);
        }
    }

    /// What lanes read counts now, as after a fence.
    pub(super) fn acquire_read(&mut self, mask: u32) {
        for lane in lanes(mask) {
            if let Some(clock) = self.read[lane].take() {
                self.acquire(1 << lane, &clock);
            }
        }
    }

    /// Lanes execute a fence.
    pub(super) fn fence(&mut self, mask: u32, scope: Scope) {
        self.acquire_read(mask);
        self.has_fenced = true;
        for lane in lanes(mask) {
            let mut clock = self.of(lane).clone();
            clock.set(self.first + lane as u32, self.times[lane]);
            for known in &mut self.fences[lane][..=scope as usize] {
                *known = Some(clock.clone());
            }
        }
        self.advance(mask);
    }

    /// Whether any lane executed a fence.
    pub(super) const fn has_fenced(&self) -> bool {
        self.has_fenced
    }

    /// What a store of a lane lets others know because of earlier fences, by scope.
    pub(super) fn fenced(&self, lane: usize) -> &[Option<Clock>; 3] {
        &self.fences[lane]
    }

    /// A lane read what others let it know.
    pub(super) fn note_read(&mut self, lane: usize, clock: &Clock) {
        match &mut self.read[lane] {
            Some(known) if known.is_same(clock) => {}
            Some(known) => known.join(clock),
            none => *none = Some(clock.clone()),
        }
    }
}

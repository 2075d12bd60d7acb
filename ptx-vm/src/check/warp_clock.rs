//! The vector clocks of the threads of a warp.

use super::clock::{Clock, FencedSpaces};
use super::published::Scope;
use crate::lanes::{LANES, lanes};

/// The clocks of the lanes of a warp. Lanes with equal clocks share one.
#[derive(Debug)]
pub(super) struct WarpClock {
    /// The index of the first thread in the CTA.
    first: u32,
    /// Disjoint sets of lanes with the times of other threads that they have acquired.
    groups: Vec<(u32, Clock)>,
    /// Some lane may have acquired times of other warps since the last barrier of all threads of the CTA.
    pub(super) informed: bool,
    /// The own time of each lane.
    pub(super) times: [u32; LANES],
    /// For each lane and scope, the clock at its last fence of that scope or a wider one. A later store publishes it.
    fences: Vec<[Option<Clock>; 3]>,
    /// Some lane executed a fence.
    has_fenced: bool,
    /// For each lane, the published clock that it read. The lane acquires it by its next fence.
    read: Vec<Option<Clock>>,
}

/// Lanes of a warp with equal clocks and equal own times.
pub(super) struct EqualLanes<'a> {
    pub(super) lanes: u32,
    /// The own time of the lanes.
    pub(super) time: u32,
    /// The times of other threads that the lanes have acquired.
    pub(super) clock: &'a Clock,
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

    /// The sets of lanes of a mask that share a clock, with the clocks.
    pub(super) fn groups(&self, mask: u32) -> impl Iterator<Item = (u32, &Clock)> {
        self.groups
            .iter()
            .map(move |(lanes, clock)| (lanes & mask, clock))
            .filter(|(lanes, _)| *lanes != 0)
    }

    /// Lanes of a mask, including its first one, with equal clocks.
    pub(super) fn equal_lanes(&self, mask: u32) -> EqualLanes<'_> {
        let (group, clock) = self
            .groups(mask)
            .next()
            .unwrap_or((mask, &self.groups[0].1));
        let first = group.trailing_zeros() as usize % LANES;
        let time = self.times[first];
        let lanes_with_time = (0..LANES).fold(0, |mask, lane| {
            mask | u32::from(self.times[lane] == time) << lane
        });
        EqualLanes {
            lanes: group & lanes_with_time | 1 << first,
            time,
            clock,
        }
    }

    /// The joined clocks of lanes with their own times, which then advance.
    pub(super) fn release(&mut self, mask: u32) -> Option<Clock> {
        let mut joined: Option<Clock> = None;
        for (_, clock) in self.groups(mask) {
            match &mut joined {
                None => joined = Some(clock.clone()),
                Some(joined) if joined.is_same(clock) => {}
                Some(joined) => joined.join(clock),
            }
        }
        let mut joined = joined?;
        joined.set_lanes(self.first, mask, &self.times);
        self.advance(mask);
        Some(joined)
    }

    /// Joins the clocks of lanes and their own times, which then advance, to a clock.
    pub(super) fn release_into(&mut self, mask: u32, joined: &mut Clock) {
        for (_, clock) in self.groups(mask) {
            joined.join(clock);
        }
        joined.set_lanes(self.first, mask, &self.times);
        self.advance(mask);
    }

    /// Adds the time of an asynchronous operation of the CTA to the clocks of lanes.
    pub(super) fn acquire_operation(&mut self, mask: u32, slot: u32, time: u32) {
        let Some((_, clock)) = self.groups(mask).next() else {
            return;
        };
        let mut joined = clock.clone();
        joined.set(slot, time);
        self.acquire(mask, &joined);
    }

    /// Advances the own times of lanes.
    pub(super) fn advance(&mut self, mask: u32) {
        for lane in lanes(mask) {
            self.times[lane] = self.times[lane].saturating_add(1);
        }
    }

    /// Joins a clock to the clocks of lanes.
    pub(super) fn acquire(&mut self, mask: u32, acquired: &Clock) {
        self.informed = true;
        let mut split_groups: Vec<(u32, Clock)> = Vec::new();
        for (group, clock) in &mut self.groups {
            if *group & mask == 0 || clock.is_same(acquired) {
                continue;
            }
            if *group & !mask == 0 {
                clock.join(acquired);
                continue;
            }
            let mut joined = clock.clone();
            joined.join(acquired);
            split_groups.push((*group & mask, joined));
            *group &= !mask;
        }
        self.groups.extend(split_groups);
    }

    /// Replaces the clocks of lanes by one that contains all their times.
    pub(super) fn replace(&mut self, mask: u32, clock: &Clock) {
        for (group, _) in &mut self.groups {
            *group &= !mask;
        }
        self.groups.retain(|(group, _)| *group != 0);
        self.groups.push((mask, clock.clone()));
    }

    /// Joins the clocks of lanes that synchronize with each other.
    pub(super) fn synchronize(&mut self, mask: u32) {
        self.acquire_read(mask);
        // The memory of the only group is reused.
        if let [(group, clock)] = &mut self.groups[..]
            && *group & !mask == 0
        {
            clock.set_lanes(self.first, mask, &self.times);
            self.advance(mask);
            return;
        }
        if let Some(joined) = self.release(mask) {
            self.replace(mask, &joined);
        }
    }

    /// Acquires the published clocks that lanes read before, as a fence does.
    pub(super) fn acquire_read(&mut self, mask: u32) {
        for lane in lanes(mask) {
            if let Some(clock) = self.read[lane].take() {
                self.acquire(1 << lane, &clock);
            }
        }
    }

    /// Executes a fence of lanes.
    pub(super) fn fence(&mut self, mask: u32, scope: Scope) {
        self.acquire_read(mask);
        self.has_fenced = true;
        for lane in lanes(mask) {
            let mut clock = self.equal_lanes(1 << lane).clock.clone();
            clock.set(self.first + lane as u32, self.times[lane]);
            for fence in &mut self.fences[lane][..=scope as usize] {
                *fence = Some(clock.clone());
            }
        }
        self.advance(mask);
    }

    /// Executes a fence of lanes between the generic and the asynchronous proxy.
    pub(super) fn fence_proxy(&mut self, mask: u32, spaces: FencedSpaces) {
        let mut fenced_groups: Vec<(u32, Clock)> = Vec::new();
        for (group, clock) in &mut self.groups {
            let fencing = *group & mask;
            if fencing == 0 {
                continue;
            }
            let mut fenced = clock.clone();
            fenced.set_lanes(self.first, fencing, &self.times);
            fenced.fence_proxy(spaces);
            fenced_groups.push((fencing, fenced));
            *group &= !mask;
        }
        self.groups.retain(|(group, _)| *group != 0);
        self.groups.extend(fenced_groups);
        self.informed = true;
        self.advance(mask);
    }

    /// Whether any lane executed a fence.
    pub(super) const fn has_fenced(&self) -> bool {
        self.has_fenced
    }

    /// The clocks that a store of a lane publishes because of earlier fences, by scope.
    pub(super) fn fenced(&self, lane: usize) -> &[Option<Clock>; 3] {
        &self.fences[lane]
    }

    /// Records that a lane read a published clock, which it acquires by its next fence.
    pub(super) fn note_read(&mut self, lane: usize, clock: &Clock) {
        match &mut self.read[lane] {
            Some(read) if read.is_same(clock) => {}
            Some(read) => read.join(clock),
            read => *read = Some(clock.clone()),
        }
    }
}

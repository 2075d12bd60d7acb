//! The vector clocks of the threads of a warp.

use super::clock::{Clock, FencedAccesses};
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
    /// For each lane and scope, the clocks published to the threads of this scope that strong reads of the lane saw, or of lanes with which it synchronized.
    /// The lane acquires them by its next fence of the scope or a wider one.
    read: Vec<[Option<Clock>; 3]>,
    /// Some lane may have such a clock.
    has_read: bool,
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
            read: vec![Default::default(); LANES],
            has_read: false,
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
        let read = self.read_before_barrier(mask);
        self.set_read(mask, &read);
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

    /// The clocks that lanes at a barrier read and may acquire by later fences, by scope. A barrier is not a fence in the memory model. But the last CTA of a
    /// grid that executes a fence, counts itself with an atomic operation and then a barrier is a usual idiom, without another fence before it reads what the
    /// other CTAs wrote: lanes that have executed a fence acquire the clocks here.
    pub(super) fn read_before_barrier(&mut self, mask: u32) -> [Option<Clock>; 3] {
        let mut joined = Default::default();
        if self.has_read {
            for lane in lanes(mask) {
                for index in 0..Scope::ALL.len() {
                    if self.fences[lane][index].is_some()
                        && let Some(clock) = self.read[lane][index].take()
                    {
                        self.acquire(1 << lane, &clock);
                    }
                }
                join_read(&mut joined, &self.read[lane]);
            }
        }
        joined
    }

    /// Adds the clocks that other threads read, with which lanes synchronize.
    pub(super) fn set_read(&mut self, mask: u32, read: &[Option<Clock>; 3]) {
        if read.iter().all(Option::is_none) {
            return;
        }
        self.has_read = true;
        for lane in lanes(mask) {
            join_read(&mut self.read[lane], read);
        }
    }

    /// Acquires the clocks that lanes read before, as a fence of a scope does.
    fn acquire_read(&mut self, mask: u32, scope: Scope) {
        if !self.has_read {
            return;
        }
        for lane in lanes(mask) {
            for index in 0..=scope as usize {
                if let Some(clock) = self.read[lane][index].take() {
                    self.acquire(1 << lane, &clock);
                }
            }
        }
        self.has_read = self.read.iter().flatten().any(Option::is_some);
    }

    /// Executes a fence of lanes.
    pub(super) fn fence(&mut self, mask: u32, scope: Scope) {
        self.acquire_read(mask, scope);
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

    /// Executes a proxy fence of lanes.
    pub(super) fn fence_proxy(&mut self, mask: u32, accesses: &[FencedAccesses]) {
        let mut fenced_groups: Vec<(u32, Clock)> = Vec::new();
        for (group, clock) in &mut self.groups {
            let fencing = *group & mask;
            if fencing == 0 {
                continue;
            }
            let mut fenced = clock.clone();
            fenced.set_lanes(self.first, fencing, &self.times);
            fenced.fence_proxy(accesses);
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

    /// Records that a lane read a clock that is published to the threads of a scope.
    pub(super) fn note_read(&mut self, lane: usize, scope: Scope, clock: &Clock) {
        self.has_read = true;
        join_into(&mut self.read[lane][scope as usize], clock);
    }
}

/// Joins clocks of each scope.
pub(super) fn join_read(joined: &mut [Option<Clock>; 3], read: &[Option<Clock>; 3]) {
    for (joined, read) in joined.iter_mut().zip(read) {
        if let Some(read) = read {
            join_into(joined, read);
        }
    }
}

fn join_into(joined: &mut Option<Clock>, clock: &Clock) {
    match joined {
        Some(joined) if joined.is_same(clock) => {}
        Some(joined) => joined.join(clock),
        None => *joined = Some(clock.clone()),
    }
}

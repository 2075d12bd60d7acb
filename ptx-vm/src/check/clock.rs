//! Vector clocks: the times of other threads and of asynchronous operations that a thread has acquired.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The times of the threads of a CTA, and after them those of its asynchronous operations.
pub(super) type Times = Arc<Vec<u32>>;

/// The last acquired time of each thread and each asynchronous operation, by CTA. Clones share memory.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// The CTA that has most of the times, by its linear index.
    block: u64,
    /// The times of `block`.
    own: Times,
    /// The times of the other CTAs.
    others: Option<Arc<BTreeMap<u64, Times>>>,
}

impl Clock {
    /// A clock without times.
    pub(super) fn new(block: u64) -> Self {
        Self {
            block,
            own: Times::default(),
            others: None,
        }
    }

    /// The last acquired time of a thread; 0 without one.
    #[inline]
    pub(super) fn get(&self, block: u64, slot: u32) -> u32 {
        let times = if block == self.block {
            Some(&self.own)
        } else {
            self.others.as_ref().and_then(|others| others.get(&block))
        };
        times.and_then(|t| t.get(slot as usize)).map_or(0, |t| *t)
    }

    /// Adds a time of `block`.
    pub(super) fn set(&mut self, slot: u32, time: u32) {
        let slot = slot as usize;
        let times = Arc::make_mut(&mut self.own);
        if times.len() <= slot {
            times.resize(slot + 1, 0);
        }
        times[slot] = times[slot].max(time);
    }

    /// Adds a time of any CTA.
    pub(super) fn note(&mut self, block: u64, slot: u32, time: u32) {
        if block == self.block {
            return self.set(slot, time);
        }
        let mut clock = Self::new(block);
        clock.set(slot, time);
        self.join(&clock);
    }

    /// Adds the times of lanes of a warp of `block`. `first` is the first thread of the warp.
    pub(super) fn set_lanes(&mut self, first: u32, mask: u32, times: &[u32; 32]) {
        let first = first as usize;
        let own_times = Arc::make_mut(&mut self.own);
        if own_times.len() < first + 32 {
            own_times.resize(first + 32, 0);
        }
        for lane in crate::lanes::lanes(mask) {
            own_times[first + lane] = own_times[first + lane].max(times[lane]);
        }
    }

    /// Adds all times of another clock.
    pub(super) fn join(&mut self, other: &Self) {
        if other.block == self.block {
            join_times(&mut self.own, &other.own);
        } else {
            self.join_other(other.block, &other.own);
        }
        let Some(others) = &other.others else { return };
        if let Some(joined) = &self.others
            && Arc::ptr_eq(joined, others)
        {
            return;
        }
        for (&block, times) in others.iter() {
            if block == self.block {
                join_times(&mut self.own, times)
            } else {
                self.join_other(block, times)
            }
        }
    }

    fn join_other(&mut self, block: u64, times: &Times) {
        if times.is_empty() {
            return;
        }
        let joined = self.others.as_ref().and_then(|others| others.get(&block));
        if joined.is_some_and(|joined| Arc::ptr_eq(joined, times)) {
            return;
        }
        let others = Arc::make_mut(self.others.get_or_insert_default());
        match others.entry(block) {
            Entry::Vacant(vacant) => {
                vacant.insert(Arc::clone(times));
            }
            Entry::Occupied(mut joined) => join_times(joined.get_mut(), times),
        }
    }

    /// Whether both are the same memory, so that joining them changes nothing.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let has_same_others = match (&self.others, &other.others) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        has_same_others && self.block == other.block && Arc::ptr_eq(&self.own, &other.own)
    }
}

fn join_times(joined: &mut Times, times: &Times) {
    if Arc::ptr_eq(joined, times) {
        return;
    }
    // A copy is only made if a time changes.
    let has_all =
        joined.len() >= times.len() && joined.iter().zip(times.iter()).all(|(a, b)| a >= b);
    if has_all {
        return;
    }
    let joined = Arc::make_mut(joined);
    if joined.len() < times.len() {
        joined.resize(times.len(), 0);
    }
    for (joined, time) in joined.iter_mut().zip(times.iter()) {
        *joined = (*joined).max(*time);
    }
}

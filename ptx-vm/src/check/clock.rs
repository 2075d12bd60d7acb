//! Vector clocks: the last known times of other threads.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The times of the threads of a CTA, and after them those of its asynchronous operations.
pub(super) type Times = Arc<Vec<u32>>;

/// The last time of each thread and each asynchronous operation that is known, by CTA. Clones share memory.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// The CTA that has most of the times, by its linear index.
    block: u64,
    own: Times,
    others: Option<Arc<BTreeMap<u64, Times>>>,
}

impl Clock {
    /// Nothing is known.
    pub(super) fn new(block: u64) -> Self {
        Self {
            block,
            own: Times::default(),
            others: None,
        }
    }

    /// The last time of a thread that is known; 0 if nothing is known.
    #[inline]
    pub(super) fn get(&self, block: u64, slot: u32) -> u32 {
        let times = if block == self.block {
            Some(&self.own)
        } else {
            self.others.as_ref().and_then(|o| o.get(&block))
        };
        times.and_then(|t| t.get(slot as usize)).map_or(0, |t| *t)
    }

    /// Notes a time of the own CTA.
    pub(super) fn set(&mut self, slot: u32, time: u32) {
        let slot = slot as usize;
        let times = Arc::make_mut(&mut self.own);
        if times.len() <= slot {
            times.resize(slot + 1, 0);
        }
        times[slot] = times[slot].max(time);
    }

    /// Notes a time of any CTA.
    pub(super) fn note(&mut self, block: u64, slot: u32, time: u32) {
        if block == self.block {
            return self.set(slot, time);
        }
        let mut other = Self::new(block);
        other.set(slot, time);
        self.join(&other);
    }

    /// Notes the times of a row of threads of the own CTA.
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

    /// Adds all that another clock knows.
    pub(super) fn join(&mut self, other: &Self) {
        if other.block == self.block {
            join_times(&mut self.own, &other.own);
        } else {
            self.join_other(other.block, &other.own);
        }
        let Some(others) = &other.others else { return };
        if let Some(own) = &self.others
            && Arc::ptr_eq(own, others)
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
        let times_of_block = self.others.as_ref().and_then(|o| o.get(&block));
        if times_of_block.is_some_and(|times_of_block| Arc::ptr_eq(times_of_block, times)) {
            return;
        }
        let other_times = Arc::make_mut(self.others.get_or_insert_default());
        match other_times.entry(block) {
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(Arc::clone(times));
            }
            std::collections::btree_map::Entry::Occupied(mut times_of_block) => {
                join_times(times_of_block.get_mut(), times);
            }
        }
    }

    /// Whether both are the same memory, so that joining them changes nothing.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let joined = match (&self.others, &other.others) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        joined && self.block == other.block && Arc::ptr_eq(&self.own, &other.own)
    }
}

fn join_times(into: &mut Times, from: &Times) {
    if Arc::ptr_eq(into, from) {
        return;
    }
    let behind = |(a, b): (&u32, &u32)| a < b;
    if into.len() >= from.len() && !into.iter().zip(from.iter()).any(behind) {
        return;
    }
    let into = Arc::make_mut(into);
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (a, b) in into.iter_mut().zip(from.iter()) {
        *a = (*a).max(*b);
    }
}

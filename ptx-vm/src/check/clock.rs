//! Vector clocks: the times of other threads and of asynchronous operations that a thread has acquired.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The times of the threads of a CTA, and after them those of its asynchronous operations.
pub(super) type Times = Arc<Vec<u32>>;

/// What accesses a proxy fence orders with earlier ones through the generic proxy.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum FencedAccesses {
    /// Those of the asynchronous proxy to shared memory.
    Shared,
    /// Those of the asynchronous proxy to global memory.
    Global,
    /// Reads of tensor maps.
    TensorMaps,
    /// Reads of data that does not change during the launch: there is no such fence.
    ReadOnly,
}

/// The last acquired time of each thread and each asynchronous operation, by CTA. Clones share memory.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// The CTA that has most of the times, by its linear index.
    block: u64,
    /// The times of `block`.
    block_times: Times,
    /// The times of the other CTAs.
    other_blocks: Option<Arc<BTreeMap<u64, Times>>>,
    /// For each of [`FencedAccesses`], the times that proxy fences separate from now. They have no such times themselves.
    fenced: [Option<Arc<Self>>; 4],
}

impl Clock {
    /// A clock without times.
    pub(super) fn new(block: u64) -> Self {
        Self {
            block,
            block_times: Times::default(),
            other_blocks: None,
            fenced: [const { None }; 4],
        }
    }

    /// Executes a proxy fence for some accesses: it comes after all acquired times.
    pub(super) fn fence_proxy(&mut self, accesses: &[FencedAccesses]) {
        let times = Arc::new(Self {
            fenced: [const { None }; 4],
            ..self.clone()
        });
        for kind in accesses {
            self.fenced[*kind as usize] = Some(Arc::clone(&times));
        }
    }

    /// The last acquired time of a thread before a proxy fence for some accesses; 0 without one.
    pub(super) fn fenced(&self, block: u64, slot: u32, accesses: FencedAccesses) -> u32 {
        let fenced = &self.fenced[accesses as usize];
        fenced.as_ref().map_or(0, |fenced| fenced.get(block, slot))
    }

    /// The last acquired time of a thread; 0 without one.
    #[inline]
    pub(super) fn get(&self, block: u64, slot: u32) -> u32 {
        let times = if block == self.block {
            Some(&self.block_times)
        } else {
            self.other_blocks
                .as_ref()
                .and_then(|blocks| blocks.get(&block))
        };
        times.and_then(|t| t.get(slot as usize)).map_or(0, |t| *t)
    }

    /// Adds a time of `block`.
    pub(super) fn set(&mut self, slot: u32, time: u32) {
        let slot = slot as usize;
        let times = Arc::make_mut(&mut self.block_times);
        if times.len() <= slot {
            times.resize(slot + 1, 0);
        }
        times[slot] = times[slot].max(time);
    }

    /// Adds a time of any CTA.
    pub(super) fn add(&mut self, block: u64, slot: u32, time: u32) {
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
        let block_times = Arc::make_mut(&mut self.block_times);
        if block_times.len() < first + 32 {
            block_times.resize(first + 32, 0);
        }
        for lane in crate::lanes::lanes(mask) {
            block_times[first + lane] = block_times[first + lane].max(times[lane]);
        }
    }

    /// Adds all times of another clock.
    pub(super) fn join(&mut self, other: &Self) {
        if other.block == self.block {
            join_times(&mut self.block_times, &other.block_times);
        } else {
            self.join_other(other.block, &other.block_times);
        }
        self.join_fenced(other);
        let Some(other_blocks) = &other.other_blocks else {
            return;
        };
        if let Some(joined) = &self.other_blocks
            && Arc::ptr_eq(joined, other_blocks)
        {
            return;
        }
        for (&block, times) in other_blocks.iter() {
            if block == self.block {
                join_times(&mut self.block_times, times)
            } else {
                self.join_other(block, times)
            }
        }
    }

    fn join_fenced(&mut self, other: &Self) {
        for (joined, other) in self.fenced.iter_mut().zip(&other.fenced) {
            match (joined, other) {
                (Some(joined), Some(other)) if !Arc::ptr_eq(joined, other) => {
                    Arc::make_mut(joined).join(other);
                }
                (joined @ None, Some(other)) => *joined = Some(Arc::clone(other)),
                _ => {}
            }
        }
    }

    fn join_other(&mut self, block: u64, times: &Times) {
        if times.is_empty() {
            return;
        }
        let joined = self
            .other_blocks
            .as_ref()
            .and_then(|blocks| blocks.get(&block));
        if joined.is_some_and(|joined| Arc::ptr_eq(joined, times)) {
            return;
        }
        let other_blocks = Arc::make_mut(self.other_blocks.get_or_insert_default());
        match other_blocks.entry(block) {
            Entry::Vacant(vacant) => {
                vacant.insert(Arc::clone(times));
            }
            Entry::Occupied(mut joined) => join_times(joined.get_mut(), times),
        }
    }

    /// Whether both are the same memory, so that joining them changes nothing.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let has_same_fences = self
            .fenced
            .iter()
            .zip(&other.fenced)
            .all(|(a, b)| is_same_memory(a.as_ref(), b.as_ref()));
        is_same_memory(self.other_blocks.as_ref(), other.other_blocks.as_ref())
            && has_same_fences
            && self.block == other.block
            && Arc::ptr_eq(&self.block_times, &other.block_times)
    }
}

fn is_same_memory<T>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
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

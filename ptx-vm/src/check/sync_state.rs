//! The state that checkers keep for the barriers, mbarrier objects and asynchronous copies of a CTA.

use std::collections::HashMap;

use super::clock::Clock;
use super::report::Actor;

/// The barriers of a CTA.
const BARRIERS: usize = 16;

/// An mbarrier object.
#[derive(Debug)]
pub(super) struct Mbarrier {
    /// Its number among the asynchronous operations of the CTA, whose time is its phase.
    pub(super) slot: u32,
    pub(super) phase: u32,
    /// The thread that initialized it.
    pub(super) by: Actor,
    /// The thread that invalidated it.
    pub(super) ended: Option<Actor>,
    /// The joined clocks of the threads that arrived in the current phase.
    pub(super) pending: Option<Clock>,
    /// The joined clocks of the threads that arrived in all complete phases.
    pub(super) complete: Option<Clock>,
}

/// The copies of a thread that are completed by groups.
#[derive(Debug)]
pub(super) struct Copies {
    /// Their number among the asynchronous operations of the CTA.
    pub(super) slot: u32,
    /// The number of copies that were started.
    pub(super) started: u32,
    /// The number of copies that were started when each group was committed.
    pub(super) groups: Vec<u32>,
}

impl Copies {
    /// The number of copies that are complete if at most some groups are not.
    pub(super) fn complete(&self, pending: usize) -> u32 {
        let last = self.groups.len().checked_sub(pending + 1);
        last.and_then(|l| self.groups.get(l)).map_or(0, |n| *n)
    }
}

/// The first thread that arrived at an aligned barrier, with the lanes of its warp that must also arrive.
#[derive(Copy, Clone, Debug)]
pub(super) struct Expected {
    pub(super) lanes: u32,
    pub(super) actor: Actor,
}

/// The synchronization of a CTA.
#[derive(Debug)]
pub(super) struct SyncState {
    /// The joined clocks of the threads that arrived at each barrier without waiting.
    pub(super) arrived: [Option<Clock>; BARRIERS],
    /// The mbarrier objects, by their offset.
    pub(super) mbarriers: HashMap<u64, Mbarrier>,
    /// By thread, and whether they are bulk copies.
    copies: HashMap<(u32, bool), Copies>,
    /// The lanes that each warp must bring to a barrier, by warp and barrier.
    pub(super) expected: HashMap<(u32, u32), Expected>,
    /// The first thread at each aligned instruction that does not wait, by warp and instruction, with the lanes that have not reached it yet.
    pub(super) missing: HashMap<(u32, u32), Expected>,
    next: u32,
    /// The number of groups of copies that were committed.
    pub(super) committed: u64,
}

/// The bytes of a group of copies that was committed, in lists that double.
const GROUP: u64 = 2 * size_of::<u32>() as u64;

impl SyncState {
    pub(super) fn new(threads: u32) -> Self {
        Self {
            arrived: [const { None }; BARRIERS],
            mbarriers: HashMap::new(),
            copies: HashMap::new(),
            expected: HashMap::new(),
            missing: HashMap::new(),
            next: threads.next_multiple_of(32),
            committed: 0,
        }
    }

    /// The memory of a clock of the threads and the asynchronous operations of the CTA.
    pub(super) const fn clock_bytes(&self) -> u64 {
        self.next as u64 * size_of::<u32>() as u64
    }

    /// The memory in use, in bytes: an mbarrier object may have two clocks.
    pub(super) fn memory(&self) -> u64 {
        let mbarrier = size_of::<(u64, Mbarrier)>() as u64 + 2 * self.clock_bytes();
        self.mbarriers.len() as u64 * mbarrier + self.committed * GROUP
    }

    /// The number of a new asynchronous operation.
    pub(super) const fn new_slot(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// The copies of a thread.
    pub(super) fn copies(&mut self, thread: u32, bulk: bool) -> &mut Copies {
        let next = &mut self.next;
        self.copies.entry((thread, bulk)).or_insert_with(|| {
            *next += 1;
            Copies {
                slot: *next - 1,
                started: 0,
                groups: Vec::new(),
            }
        })
    }

    /// The live mbarrier object that some bytes belong to.
    pub(super) fn mbarrier_at(&self, at: u64, bytes: u64) -> Option<&Mbarrier> {
        if self.mbarriers.is_empty() {
            return None;
        }
        let first = at.saturating_sub(7);
        let object = |offset: u64| self.mbarriers.get(&offset).filter(|m| m.ended.is_none());
        (first..at + bytes)
            .filter(|offset| offset % 8 == 0)
            .find_map(object)
    }
}

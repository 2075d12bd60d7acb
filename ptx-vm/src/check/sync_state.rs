//! The state that checkers keep for the barriers, mbarrier objects and asynchronous copies of a CTA.

use std::collections::HashMap;

use ptx_isa::Completion;

use super::clock::Clock;
use super::report::Actor;
use crate::execute::Use;

/// The number of barriers of a CTA.
const BARRIERS: usize = 16;

/// The state of an mbarrier object.
#[derive(Debug)]
pub(super) struct Mbarrier {
    /// Its slot in the clocks of the CTA. Its time there is its phase.
    pub(super) slot: u32,
    /// The number of complete phases.
    pub(super) phase: u32,
    /// The thread that initialized it.
    pub(super) initialized_by: Actor,
    /// The time of this thread then.
    pub(super) initialized_at: u32,
    /// The thread that invalidated it.
    pub(super) invalidated_by: Option<Actor>,
    /// The joined clocks of the threads that arrived in the current phase.
    pub(super) pending: Option<Clock>,
    /// The joined clocks of the threads that arrived in all complete phases.
    pub(super) complete: Option<Clock>,
}

impl Mbarrier {
    /// The state of an object that a thread has just initialized.
    pub(super) const fn new(slot: u32, initialized_by: Actor, initialized_at: u32) -> Self {
        Self {
            slot,
            phase: 0,
            initialized_by,
            initialized_at,
            invalidated_by: None,
            pending: None,
            complete: None,
        }
    }
}

/// The kind of asynchronous copies that are completed by groups.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum CopyKind {
    /// Copies by `cp.async`.
    Ordinary,
    /// Reads of the sources of bulk copies.
    BulkRead,
    /// Writes of the results of bulk copies.
    BulkWrite,
    /// Products of a warpgroup, which read shared memory. Those of a warp belong to its first thread.
    Products,
    /// Operations on tensor memory, which read shared memory.
    TensorMemory,
}

impl CopyKind {
    /// The kind of the accesses of copies with a completion mechanism. The reads of a bulk copy may be complete before its writes.
    pub(super) fn of(completion: Completion, usage: Use) -> Self {
        match (completion, usage) {
            (Completion::Bulk, Use::Read) => Self::BulkRead,
            (Completion::Bulk, Use::Write | Use::ReadWrite) => Self::BulkWrite,
            (Completion::Tcgen05, _) => Self::TensorMemory,
            (Completion::Wgmma, _) => Self::Products,
            _ => Self::Ordinary,
        }
    }

    /// The kinds of the accesses of copies with a completion mechanism.
    pub(super) const fn all_of(completion: Completion) -> &'static [Self] {
        match completion {
            Completion::Bulk => &[Self::BulkRead, Self::BulkWrite],
            Completion::Wgmma => &[Self::Products],
            Completion::Tcgen05 => &[Self::TensorMemory],
            _ => &[Self::Ordinary],
        }
    }
}

/// The copies of a thread that are completed by groups.
#[derive(Debug)]
pub(super) struct Copies {
    /// Their slot in the clocks of the CTA. Their time there is the number of copies.
    pub(super) slot: u32,
    /// The number of copies that were started.
    pub(super) started: u32,
    /// The number of copies that the thread awaited.
    pub(super) awaited: u32,
    /// The instruction that started the last one.
    pub(super) last_site: u32,
    /// The number of copies that were started when each group was committed.
    pub(super) groups: Vec<u32>,
}

impl Copies {
    /// The number of copies that are complete if at most `pending_groups` groups are not.
    pub(super) fn complete(&self, pending_groups: usize) -> u32 {
        self.complete_in(self.groups.len().saturating_sub(pending_groups))
    }

    /// The number of copies in the first groups.
    pub(super) fn complete_in(&self, groups: usize) -> u32 {
        let last = groups.checked_sub(1);
        last.and_then(|last| self.groups.get(last))
            .map_or(0, |copies| *copies)
    }
}

/// The lanes of a warp that must also arrive at an aligned instruction, and the first thread that arrived.
#[derive(Copy, Clone, Debug)]
pub(super) struct ExpectedLanes {
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
    /// The copies of each kind of each thread.
    copies: HashMap<(u32, CopyKind), Copies>,
    /// The lanes of each warp that must arrive at a barrier, by warp and barrier.
    pub(super) expected: HashMap<(u32, u32), ExpectedLanes>,
    /// The lanes that have not reached an aligned instruction at which the first lanes do not wait, by warp and instruction.
    pub(super) missing: HashMap<(u32, u32), ExpectedLanes>,
    /// The next free slot in the clocks: those of the threads come first.
    next_slot: u32,
    /// The number of groups of copies that were committed.
    pub(super) committed: u64,
}

/// The memory of a committed group of copies: lists double when they grow.
const GROUP_BYTES: u64 = 2 * size_of::<u32>() as u64;

impl SyncState {
    pub(super) fn new(threads: u32) -> Self {
        Self {
            arrived: [const { None }; BARRIERS],
            mbarriers: HashMap::new(),
            copies: HashMap::new(),
            expected: HashMap::new(),
            missing: HashMap::new(),
            next_slot: threads.next_multiple_of(32),
            committed: 0,
        }
    }

    /// The memory of a clock of the threads and the asynchronous operations of the CTA.
    pub(super) const fn clock_bytes(&self) -> u64 {
        self.next_slot as u64 * size_of::<u32>() as u64
    }

    /// The memory in use, in bytes. An mbarrier object may have two clocks.
    pub(super) fn memory(&self) -> u64 {
        let mbarrier = size_of::<(u64, Mbarrier)>() as u64 + 2 * self.clock_bytes();
        self.mbarriers.len() as u64 * mbarrier + self.committed * GROUP_BYTES
    }

    /// The slot in the clocks of a new asynchronous operation.
    pub(super) const fn new_slot(&mut self) -> u32 {
        self.next_slot += 1;
        self.next_slot - 1
    }

    /// The copies of a kind of a thread.
    pub(super) fn copies(&mut self, thread: u32, kind: CopyKind) -> &mut Copies {
        let next_slot = &mut self.next_slot;
        self.copies.entry((thread, kind)).or_insert_with(|| {
            *next_slot += 1;
            Copies {
                slot: *next_slot - 1,
                started: 0,
                awaited: 0,
                last_site: 0,
                groups: Vec::new(),
            }
        })
    }

    /// The threads whose bulk copies may still read shared memory, since they did not wait for them, with the instruction that started the last one.
    pub(super) fn pending_reads(&self) -> Vec<(u32, u32)> {
        let mut pending: Vec<(u32, u32)> = self
            .copies
            .iter()
            .filter(|((_, kind), copies)| {
                *kind == CopyKind::BulkRead && copies.awaited < copies.started
            })
            .map(|((thread, _), copies)| (*thread, copies.last_site))
            .collect();
        pending.sort_unstable();
        pending
    }

    /// The live mbarrier object that contains some of the bytes of a range.
    pub(super) fn mbarrier_at(&self, start: u64, bytes: u64) -> Option<&Mbarrier> {
        if self.mbarriers.is_empty() {
            return None;
        }
        (start.saturating_sub(7)..start + bytes)
            .filter(|offset| offset % 8 == 0)
            .filter_map(|offset| self.mbarriers.get(&offset))
            .find(|object| object.invalidated_by.is_none())
    }
}

//! The mbarrier objects of a CTA during an execution (9.7.13.15).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::StmtId;

use super::values::LaneMask;

/// An mbarrier object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// The statement that initialized it.
    pub(super) initialization: StmtId,
    /// The arrivals that complete a phase.
    pub(super) count: u64,
    /// The arrivals that are missing in the phase.
    pub(super) pending: i64,
    /// The bytes that the phase expects and that were not copied; `None` if copies of unknown sizes or unknown expectations belong to the phase.
    pub(super) bytes: Option<i64>,
    /// The copies that were started and have not reported: their bytes, if they are known.
    pub(super) copies: Vec<Option<u64>>,
    /// The phases that are complete.
    pub(super) phase: u64,
    /// The warps whose copies report to it: bit `i` is warp `i`.
    pub(super) copying_warps: u32,
    /// The last statement that expected bytes, and that arrived.
    pub(super) expectation: Option<StmtId>,
    pub(super) arrival: Option<StmtId>,
}

impl Object {
    pub(super) fn new(initialization: StmtId, count: u64) -> Self {
        Self {
            initialization,
            count,
            pending: i64::try_from(count).unwrap_or(i64::MAX),
            bytes: Some(0),
            copies: Vec::new(),
            phase: 0,
            copying_warps: 0,
            expectation: None,
            arrival: None,
        }
    }

    /// Completes the phase if nothing is missing. Returns whether it is complete.
    pub(super) fn complete(&mut self) -> bool {
        let is_complete = self.pending <= 0 && self.bytes == Some(0);
        if is_complete {
            self.phase += 1;
            self.pending = i64::try_from(self.count).unwrap_or(i64::MAX);
        }
        is_complete
    }

    /// Lets all copies report.
    pub(super) fn finish_copies(&mut self) {
        for bytes in core::mem::take(&mut self.copies) {
            self.bytes = match (self.bytes, bytes.map(i64::try_from)) {
                (Some(expected), Some(Ok(bytes))) => Some(expected.saturating_sub(bytes)),
                _ => None,
            };
        }
        // The sizes of the other copies are what the kernel expects.
        self.bytes = Some(self.bytes.unwrap_or(0));
    }

    /// The arrivals of the phase.
    pub(super) fn arrived(&self) -> u64 {
        self.count
            .saturating_sub(u64::try_from(self.pending).unwrap_or(0))
    }
}

/// The waits of a warp at one instruction for one object.
#[derive(Clone, Debug)]
pub(super) struct Waited {
    /// The complete phases when the last wait returned.
    phase: u64,
    /// The lanes that waited for this phase.
    lanes: LaneMask,
    /// The different phases for which the warp waited.
    pub(super) phases: u64,
    /// A lane waited twice for one phase.
    pub(super) is_repeated: bool,
    /// A wait returned before the first phase was complete.
    pub(super) is_early: bool,
}

/// A wait instruction of a warp, and the address of the object for which it waits.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct WaitKey {
    pub(super) warp: u32,
    pub(super) stmt: StmtId,
    pub(super) address: u64,
}

/// The objects by their addresses, and the waits for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    pub(super) by_address: BTreeMap<u64, Object>,
    pub(super) waits: BTreeMap<WaitKey, Waited>,
}

impl Objects {
    /// Records that a wait of some lanes returned.
    pub(super) fn record_wait(&mut self, key: WaitKey, lanes: LaneMask) {
        let Some(object) = self.by_address.get(&key.address) else {
            return;
        };
        let phase = object.phase;
        let waited = self.waits.entry(key).or_insert(Waited {
            phase,
            lanes: 0,
            phases: 1,
            is_repeated: false,
            is_early: phase == 0,
        });
        if waited.phase == phase {
            waited.is_repeated |= waited.lanes & lanes != 0;
            waited.lanes |= lanes;
        } else {
            waited.phase = phase;
            waited.lanes = lanes;
            waited.phases += 1;
        }
    }

    /// Lets all copies report. Returns the addresses of the objects that complete a phase then; `None` if there were no copies.
    pub(super) fn finish_copies(&mut self) -> Option<Vec<u64>> {
        let mut completed: Option<Vec<u64>> = None;
        for (address, object) in &mut self.by_address {
            if !object.copies.is_empty() {
                object.finish_copies();
                let completed = completed.get_or_insert_default();
                if object.complete() {
                    completed.push(*address);
                }
            }
        }
        completed
    }
}

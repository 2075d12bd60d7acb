//! The named barriers of a CTA, and the barrier of its cluster, during an execution (9.7.13.1, 9.7.13.3).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::StmtId;

use super::values::{LANES, LaneMask};

/// The number of the barrier of the cluster, which is greater than those of named barriers.
pub(super) const CLUSTER: u64 = u64::MAX;

/// A barrier at which threads have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    /// The threads that arrived, by warp.
    arrived: Vec<LaneMask>,
    /// The threads that have to arrive; `None`: all threads that have not exited.
    count: Option<u64>,
    /// The statement of the first arrival.
    pub(super) first: Option<StmtId>,
    /// How often it was complete.
    pub(super) completed: u64,
}

/// The barriers by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Barriers(pub(super) BTreeMap<u64, Barrier>);

impl Barrier {
    /// Adds threads of a warp. Returns whether one of them has already arrived.
    pub(super) fn arrive(
        &mut self,
        warp: u32,
        lanes: LaneMask,
        count: Option<u64>,
        stmt: StmtId,
    ) -> bool {
        let index = warp as usize;
        if self.arrived.len() <= index {
            self.arrived.resize(index + 1, 0);
        }
        self.first.get_or_insert(stmt);
        self.count = self.count.or(count);
        let Some(arrived) = self.arrived.get_mut(index) else {
            return false;
        };
        let is_second = *arrived & lanes != 0;
        *arrived |= lanes;
        is_second
    }

    /// Whether threads of a warp arrived, and wait for others.
    pub(super) fn has_arrived(&self, warp: u32, lanes: LaneMask) -> bool {
        let arrived = self.arrived.get(warp as usize).copied().unwrap_or(0);
        arrived & lanes != 0
    }

    /// The threads that arrived.
    pub(super) fn threads(&self) -> u64 {
        self.arrived
            .iter()
            .map(|lanes| u64::from(lanes.count_ones()))
            .sum()
    }

    /// The threads that have to arrive. `live` are the threads of each warp that have not exited.
    pub(super) fn expected(&self, live: &[LaneMask]) -> u64 {
        self.count
            .unwrap_or_else(|| live.iter().map(|lanes| u64::from(lanes.count_ones())).sum())
    }

    /// Completes the barrier if all threads arrived. With `by_warp`, a thread counts for its warp, as lanes do that have exited.
    pub(super) fn complete(&mut self, live: &[LaneMask], by_warp: bool) -> bool {
        let arrived = if by_warp {
            let warps = self.arrived.iter().filter(|lanes| **lanes != 0).count();
            (warps * LANES) as u64
        } else {
            self.threads()
        };
        let is_complete = match self.count {
            Some(count) => arrived >= count,
            None => live.iter().enumerate().all(|(warp, live)| {
                let arrived = self.arrived.get(warp).copied().unwrap_or(0);
                live & !arrived == 0
            }),
        };
        if self.first.is_none() || !is_complete {
            return false;
        }
        self.arrived.clear();
        self.count = None;
        self.first = None;
        self.completed += 1;
        true
    }
}

//! Requests of actions, whose accesses observers see lane by lane.

use std::collections::VecDeque;

use ptx_analysis::memory_access::requests::passes;
use ptx_isa::Action;

use super::MemoryProfile;
use super::profiler::Count;
use crate::execute::{Memory, Touch, Use};
use crate::lanes::{Double, LANES};

/// The bytes of a sector of global memory.
const SECTOR: u64 = 32;

/// The number of sectors of a request that are remembered: those that a warp can access in one step. A copy of a block accesses ascending addresses.
const RECENT_SECTORS: usize = 2 * LANES;

/// The accesses that are one request.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Unit {
    /// Those of all lanes of a warp.
    Warp,
    /// Those of one lane, which copies a block of memory.
    Lane,
}

impl Unit {
    /// The requests of an action; `None` if they are not counted.
    const fn of(action: Action) -> Option<Self> {
        match action {
            Action::CopyAsync | Action::MatrixLoad | Action::MatrixStore => Some(Self::Warp),
            Action::BulkCopy | Action::BulkReduce | Action::TensorCopy | Action::TensorReduce => {
                Some(Self::Lane)
            }
            _ => None,
        }
    }
}

/// A request to a memory whose accesses are being seen.
#[derive(Debug)]
struct OpenRequest {
    memory: Memory,
    usage: Use,
    /// The addresses of accesses of the same size that are not counted yet.
    addresses: Double,
    mask: u32,
    bytes: u64,
    recent_sectors: VecDeque<u64>,
}

impl OpenRequest {
    /// Counts the passes of the accesses that are not counted yet.
    fn count_passes(&mut self, counts: &mut MemoryProfile) {
        if let Memory::Shared(_) = self.memory
            && self.mask != 0
        {
            let counted = passes(&self.addresses, self.bytes, self.mask);
            counts.passes += counted.all;
            counts.least_passes += counted.least;
        }
        self.mask = 0;
    }

    /// Adds an access: at the position of the lane, or for a block of memory at the next position.
    fn add(&mut self, unit: Unit, lane: usize, touch: &Touch<'_>, counts: &mut MemoryProfile) {
        let address = touch.addresses[lane];
        if touch.memory == Memory::Global {
            return self.add_sectors(address, touch.bytes, counts);
        }
        let is_full = match unit {
            Unit::Warp => self.mask >> lane & 1 == 1,
            Unit::Lane => self.mask == u32::MAX,
        };
        if is_full || self.bytes != touch.bytes {
            self.count_passes(counts);
        }
        self.bytes = touch.bytes;
        let position = match unit {
            Unit::Warp => lane,
            Unit::Lane => self.mask.trailing_ones() as usize % LANES,
        };
        self.addresses[position] = address;
        self.mask |= 1 << position;
    }

    fn add_sectors(&mut self, address: u64, bytes: u64, counts: &mut MemoryProfile) {
        for sector in address / SECTOR..address.saturating_add(bytes).div_ceil(SECTOR) {
            if self.recent_sectors.contains(&sector) {
                continue;
            }
            counts.sectors += 1;
            if self.recent_sectors.len() == RECENT_SECTORS {
                self.recent_sectors.pop_front();
            }
            self.recent_sectors.push_back(sector);
        }
    }
}

/// The requests of the current step.
#[derive(Debug, Default)]
pub(super) struct OpenRequests {
    requests: Vec<OpenRequest>,
    /// The lane of requests of single lanes.
    lane: usize,
}

impl OpenRequests {
    /// Adds an access of an action to the counters of its step.
    pub(super) fn add(&mut self, action: Action, touch: &Touch<'_>, count: &mut Count) {
        let Some(unit) = Unit::of(action) else { return };
        let lane = touch.lanes.trailing_zeros() as usize % LANES;
        if unit == Unit::Lane && lane != self.lane {
            self.close(count);
            self.lane = lane;
        }
        let counts = count.memory_in(touch.memory.space());
        let position = self
            .requests
            .iter()
            .position(|request| (request.memory, request.usage) == (touch.memory, touch.usage));
        let index = position.unwrap_or_else(|| {
            counts.requests += 1;
            self.requests.push(OpenRequest {
                memory: touch.memory,
                usage: touch.usage,
                addresses: [0; LANES],
                mask: 0,
                bytes: touch.bytes,
                recent_sectors: VecDeque::new(),
            });
            self.requests.len() - 1
        });
        self.requests[index].add(unit, lane, touch, counts);
    }

    /// Ends the requests of a step.
    pub(super) fn close(&mut self, count: &mut Count) {
        for mut request in self.requests.drain(..) {
            request.count_passes(count.memory_in(request.memory.space()));
        }
    }
}

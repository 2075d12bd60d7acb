//! What checkers know about CTAs and warps that run.

use std::collections::BTreeMap;

use super::accesses::Accesses;
use super::reports::{Actor, Text};
use super::warp_clock::WarpClock;
use super::written_bytes::WrittenBytes;
use crate::lanes::LANES;

/// Bytes of a page of shared and local memory.
const PAGE: u64 = 1 << 12;

/// A warp.
#[derive(Debug)]
pub(super) struct WarpState {
    pub(super) clock: WarpClock,
    /// The written bytes of the stack of each lane.
    pub(super) stacks: Vec<WrittenBytes>,
    /// The lanes that wrote each variable that is followed, by call.
    registers: Vec<Vec<u32>>,
}

impl WarpState {
    fn new(block: u64, first: u32) -> Self {
        Self {
            clock: WarpClock::new(block, first),
            stacks: vec![WrittenBytes::new(0, PAGE); LANES],
            registers: Vec::new(),
        }
    }

    /// The lanes that wrote each variable in a call.
    pub(super) fn registers(&mut self, call: usize, count: usize) -> &mut [u32] {
        if self.registers.len() <= call {
            self.registers.resize_with(call + 1, Vec::new);
        }
        let of = &mut self.registers[call];
        if of.len() != count {
            *of = vec![0; count];
        }
        of
    }

    /// A call begins.
    pub(super) fn forget_registers(&mut self, call: usize) {
        if let Some(of) = self.registers.get_mut(call) {
            of.clear();
        }
    }
}

/// A CTA.
#[derive(Debug)]
pub(super) struct BlockState {
    /// The written bytes of shared memory.
    pub(super) written: WrittenBytes,
    /// The accesses to shared memory.
    pub(super) accesses: Vec<Accesses>,
    pub(super) warps: Vec<WarpState>,
    /// Reads that race with atomic operations, by thread and place: reported unless the thread performs such an operation there next.
    pub(super) attempts: BTreeMap<(u32, u64), (Actor, Text)>,
    pub(super) sync: super::sync_state::SyncState,
}

impl BlockState {
    pub(super) fn new(block: u64, threads: u32) -> Self {
        let warps = (0..threads).step_by(LANES);
        Self {
            written: WrittenBytes::new(0, PAGE),
            accesses: Vec::new(),
            attempts: BTreeMap::new(),
            warps: warps.map(|first| WarpState::new(block, first)).collect(),
            sync: super::sync_state::SyncState::new(threads),
        }
    }
}

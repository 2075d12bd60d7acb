//! The state that checkers keep for running CTAs and warps.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::locations::Locations;
use super::report::{Actor, Text};
use super::uninitialized::{TaintedBytes, TrackedRegister};
use super::unset::Variable;
use super::warp_clock::WarpClock;
use super::written_bytes::WrittenBytes;
use crate::account::Account;
use crate::lanes::{LANES, Place};

/// The bytes of a page of shared and local memory.
const PAGE_BYTES: u64 = 1 << 12;

/// The assumed number of different clocks of the lanes of a warp.
const CLOCKS_OF_WARP: u64 = 8;
/// The memory of a warp besides its clocks.
const WARP_BYTES: u64 = 1 << 12;
/// The memory of a call besides that of its registers. Calls that ended keep it.
const CALL_BYTES: u64 = size_of::<Vec<TrackedRegister>>() as u64;
/// The memory of a register that is only copied.
const COPIED_BYTES: u64 = 2 * size_of::<((usize, Place), [u16; LANES])>() as u64;
/// The memory of a read that is reported later.
const ATTEMPT_BYTES: u64 = 512;

/// The state of a warp.
#[derive(Debug)]
pub(super) struct WarpState {
    pub(super) clock: WarpClock,
    /// The written bytes of the stack of each lane.
    pub(super) stacks: Vec<WrittenBytes>,
    /// The bytes of the stack of each lane that contain uninitialized values.
    pub(super) tainted: Vec<TaintedBytes>,
    /// The unwritten bytes of registers that are loaded only to be stored, by call and register: a bit for each byte of each lane.
    copied: HashMap<(usize, Place), [u16; LANES]>,
    /// The tracked registers of each call.
    registers: Vec<Vec<TrackedRegister>>,
    /// The memory of `copied` and `registers` in bytes.
    tracking_bytes: u64,
}

impl WarpState {
    fn new(block: u64, first: u32) -> Self {
        Self {
            clock: WarpClock::new(block, first),
            stacks: vec![WrittenBytes::new(0, PAGE_BYTES); LANES],
            tainted: vec![TaintedBytes::default(); LANES],
            copied: HashMap::new(),
            registers: Vec::new(),
            tracking_bytes: 0,
        }
    }

    /// The tracked registers of a call.
    pub(super) fn registers(
        &mut self,
        call: usize,
        variables: &[Variable],
    ) -> &mut [TrackedRegister] {
        if self.registers.len() <= call {
            self.tracking_bytes += CALL_BYTES * (call + 1 - self.registers.len()) as u64;
            self.registers.resize_with(call + 1, Vec::new);
        }
        let registers = &mut self.registers[call];
        if registers.len() != variables.len() {
            let bytes_before = registers.capacity() * size_of::<TrackedRegister>();
            let states = variables
                .iter()
                .map(|variable| TrackedRegister::new(variable.depends_on_loads));
            *registers = states.collect();
            let bytes = registers.capacity() * size_of::<TrackedRegister>();
            self.tracking_bytes = self.tracking_bytes - bytes_before as u64 + bytes as u64;
        }
        registers
    }

    /// Records the unwritten bytes of a register that is only copied, in a lane.
    pub(super) fn set_copied(&mut self, call: usize, place: Place, lane: usize, unwritten: u16) {
        if unwritten == 0 && !self.copied.contains_key(&(call, place)) {
            return;
        }
        let count_before = self.copied.len() as u64;
        if let Some(unwritten_of_lane) = self.copied.entry((call, place)).or_default().get_mut(lane)
        {
            *unwritten_of_lane = unwritten;
        }
        self.tracking_bytes += (self.copied.len() as u64 - count_before) * COPIED_BYTES;
    }

    /// The unwritten bytes of a register that is only copied, in a lane.
    pub(super) fn copied(&self, call: usize, place: Place, lane: usize) -> u16 {
        let lanes = self.copied.get(&(call, place));
        lanes
            .and_then(|lanes| lanes.get(lane))
            .copied()
            .unwrap_or(0)
    }

    /// Forgets the registers of the last call with an index, since another call with it begins.
    pub(super) fn forget_registers(&mut self, call: usize) {
        if let Some(registers) = self.registers.get_mut(call) {
            registers.clear();
        }
    }
}

/// The state of a CTA.
#[derive(Debug)]
pub(super) struct BlockState {
    /// The written bytes of shared memory.
    pub(super) written: WrittenBytes,
    /// The bytes of shared memory that contain uninitialized values.
    pub(super) tainted: TaintedBytes,
    /// The locations of shared memory.
    pub(super) locations: Locations,
    /// The number of barriers that all threads left together.
    pub(super) interval: u32,
    pub(super) warps: Vec<WarpState>,
    /// Reads that race with atomic operations, by thread and location. They are reported unless the thread then performs such an operation there.
    pub(super) attempts: BTreeMap<(u32, u64), (Actor, Text)>,
    pub(super) sync: super::sync_state::SyncState,
    /// The memory of the sets of bytes of shared memory and stacks, in bytes.
    byte_set_bytes: u64,
}

impl BlockState {
    pub(super) fn new(block: u64, threads: u32, account: &Arc<Account>) -> Self {
        let warps = (0..threads).step_by(LANES);
        let mut state = Self {
            written: WrittenBytes::new(0, PAGE_BYTES),
            tainted: TaintedBytes::default(),
            locations: Locations::new(account),
            interval: 0,
            attempts: BTreeMap::new(),
            warps: warps.map(|first| WarpState::new(block, first)).collect(),
            sync: super::sync_state::SyncState::new(threads),
            byte_set_bytes: 0,
        };
        state.count();
        state
    }

    /// Counts the memory in use.
    pub(super) fn count(&mut self) {
        let warp_bytes = CLOCKS_OF_WARP * self.sync.clock_bytes() + WARP_BYTES;
        let warps = self.warps.len() as u64 * warp_bytes;
        let tracking: u64 = self.warps.iter().map(|warp| warp.tracking_bytes).sum();
        let attempts = self.attempts.len() as u64 * ATTEMPT_BYTES;
        self.locations
            .count(warps + tracking + attempts + self.byte_set_bytes + self.sync.memory());
    }

    /// Counts that the sets of bytes grew.
    pub(super) fn count_growth(&mut self, bytes: u64) {
        self.byte_set_bytes += bytes;
        self.count();
    }

    /// The tracked registers of a call of a warp.
    pub(super) fn registers(
        &mut self,
        warp: u32,
        call: usize,
        variables: &[Variable],
    ) -> &mut [TrackedRegister] {
        let bytes_before = self.warp(warp).tracking_bytes;
        self.warp(warp).registers(call, variables);
        if self.warp(warp).tracking_bytes != bytes_before {
            self.count();
        }
        self.warp(warp).registers(call, variables)
    }

    /// The state of a warp, given by its first thread.
    pub(super) fn warp(&mut self, first: u32) -> &mut WarpState {
        let index = (first as usize / LANES).min(self.warps.len() - 1);
        &mut self.warps[index]
    }
}

/// The states of the CTAs that run.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The states with the linear indices of the CTAs.
    blocks: Vec<(u64, BlockState)>,
    /// The index in `blocks` of the state that was used last.
    last: usize,
}

impl Blocks {
    /// The state of a CTA, which is created at its first use.
    #[inline]
    pub(super) fn get(&mut self, block: u64, new: impl FnOnce() -> BlockState) -> &mut BlockState {
        let has_index = |(index, _): &(u64, BlockState)| *index == block;
        if !self.blocks.get(self.last).is_some_and(has_index) {
            let index = self.blocks.iter().position(has_index);
            self.last = index.unwrap_or(self.blocks.len());
        }
        if self.last == self.blocks.len() {
            self.blocks.push((block, new()));
        }
        &mut self.blocks[self.last].1
    }

    /// Drops the state of a CTA.
    pub(super) fn remove(&mut self, block: u64) {
        self.blocks.retain(|(index, _)| *index != block);
    }
}

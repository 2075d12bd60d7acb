//! The state that checkers keep for running CTAs and warps.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::places::Places;
use super::report::{Actor, Text};
use super::taint::Tainted;
use super::warp_clock::WarpClock;
use super::written_bytes::WrittenBytes;
use crate::account::Account;
use crate::execute::{Memory, Use};
use crate::lanes::{LANES, Place};

/// Bytes of a page of shared and local memory.
const PAGE: u64 = 1 << 12;

/// The clocks of a warp that are different, of those of its lanes.
const CLOCKS: u64 = 8;
/// The memory of a warp besides its clocks.
const WARP: u64 = 1 << 12;
/// The memory of a call besides that of its variables; of calls that ended, too.
const CALL: u64 = size_of::<Vec<Followed>>() as u64;
/// The memory of a register that is only copied.
const COPIED: u64 = 2 * size_of::<((usize, Place), [u16; LANES])>() as u64;
/// The memory of a read that is reported later.
const ATTEMPT: u64 = 512;

/// The reason why a variable is uninitialized.
#[derive(Copy, Clone, Debug)]
pub(super) enum Origin {
    /// An instruction read this variable, which was never written.
    Register { site: u32, variable: u32 },
    /// An instruction read memory that was never written.
    Memory { site: u32, read: UnwrittenRead },
}

/// The origin of a value.
#[derive(Copy, Clone, Debug)]
pub(super) struct Traced {
    pub(super) origin: Origin,
    /// The thread that stored it in memory; `None` if it stayed in the registers of a thread.
    pub(super) thread: Option<u32>,
}

/// A read of memory that was never written.
#[derive(Copy, Clone, Debug)]
pub(super) struct UnwrittenRead {
    pub(super) usage: Use,
    pub(super) memory: Memory,
    pub(super) at: u64,
    pub(super) bytes: u64,
    /// The first byte that was never written.
    pub(super) missing: u64,
}

/// A variable that may be uninitialized.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Followed {
    /// The lanes in which it has one.
    pub(super) known: u32,
    /// The origin of the value in the other lanes; `None` if it was never written.
    pub(super) origin: Option<Traced>,
}

/// A warp.
#[derive(Debug)]
pub(super) struct WarpState {
    pub(super) clock: WarpClock,
    /// The written bytes of the stack of each lane.
    pub(super) stacks: Vec<WrittenBytes>,
    /// The bytes of the stack of each lane that hold no value.
    pub(super) tainted: Vec<Tainted>,
    /// The unwritten bytes of registers that are loaded only to be stored, by call: a bit for each byte of each lane.
    copied: HashMap<(usize, Place), [u16; LANES]>,
    /// The variables that are followed, by call.
    registers: Vec<Vec<Followed>>,
    /// The memory of the variables that are followed.
    followed: u64,
}

impl WarpState {
    fn new(block: u64, first: u32) -> Self {
        Self {
            clock: WarpClock::new(block, first),
            stacks: vec![WrittenBytes::new(0, PAGE); LANES],
            tainted: vec![Tainted::default(); LANES],
            copied: HashMap::new(),
            registers: Vec::new(),
            followed: 0,
        }
    }

    /// The variables that are followed in a call.
    pub(super) fn registers(&mut self, call: usize, count: usize) -> &mut [Followed] {
        if self.registers.len() <= call {
            self.followed += CALL * (call + 1 - self.registers.len()) as u64;
            self.registers.resize_with(call + 1, Vec::new);
        }
        let of = &mut self.registers[call];
        if of.len() != count {
            let bytes = |of: &Vec<Followed>| (of.capacity() * size_of::<Followed>()) as u64;
            self.followed -= bytes(of);
            *of = vec![Followed::default(); count];
            self.followed += bytes(of);
        }
        of
    }

    /// Records the unwritten bytes of a register that is only copied, in a lane.
    pub(super) fn set_copied(&mut self, (call, place): (usize, Place), lane: usize, bytes: u16) {
        if bytes == 0 && !self.copied.contains_key(&(call, place)) {
            return;
        }
        let count_before = self.copied.len() as u64;
        let lanes = self.copied.entry((call, place)).or_default();
        if let Some(known) = lanes.get_mut(lane) {
            *known = bytes;
        }
        self.followed += (self.copied.len() as u64 - count_before) * COPIED;
    }

    /// The unwritten bytes of a register that is only copied, in a lane.
    pub(super) fn copied(&self, call: usize, place: Place, lane: usize) -> u16 {
        let lanes = self.copied.get(&(call, place));
        lanes
            .and_then(|lanes| lanes.get(lane))
            .copied()
            .unwrap_or(0)
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
    /// The bytes of shared memory that hold no value.
    pub(super) tainted: Tainted,
    /// The accesses to shared memory.
    pub(super) places: Places,
    /// The number of barriers that all threads left together.
    pub(super) interval: u32,
    pub(super) warps: Vec<WarpState>,
    /// Reads that race with atomic operations, by thread and place: reported unless the thread performs such an operation there next.
    pub(super) attempts: BTreeMap<(u32, u64), (Actor, Text)>,
    pub(super) sync: super::sync_state::SyncState,
    /// The memory of sets of bytes of shared memory and stacks.
    more: u64,
}

impl BlockState {
    pub(super) fn new(block: u64, threads: u32, account: &Arc<Account>) -> Self {
        let warps = (0..threads).step_by(LANES);
        let mut state = Self {
            written: WrittenBytes::new(0, PAGE),
            tainted: Tainted::default(),
            places: Places::new(account),
            interval: 0,
            attempts: BTreeMap::new(),
            warps: warps.map(|first| WarpState::new(block, first)).collect(),
            sync: super::sync_state::SyncState::new(threads),
            more: 0,
        };
        state.count();
        state
    }

    /// Counts the memory in use: of each warp, the clocks of some of its lanes and the sets of written bytes.
    pub(super) fn count(&mut self) {
        let each = CLOCKS * self.sync.clock_bytes() + WARP;
        let attempts = self.attempts.len() as u64 * ATTEMPT;
        let followed: u64 = self.warps.iter().map(|warp| warp.followed).sum();
        let all = self.warps.len() as u64 * each + attempts;
        let sync = self.sync.memory();
        self.places.count(all + followed + self.more + sync);
    }

    /// Counts more memory of sets of bytes.
    pub(super) fn count_more(&mut self, bytes: u64) {
        self.more += bytes;
        self.count();
    }

    /// The variables that are followed in a call of a warp.
    pub(super) fn registers(&mut self, warp: u32, call: usize, count: usize) -> &mut [Followed] {
        let followed_before = self.warp(warp).followed;
        self.warp(warp).registers(call, count);
        if self.warp(warp).followed != followed_before {
            self.count();
        }
        self.warp(warp).registers(call, count)
    }

    /// A warp, by its first thread.
    pub(super) fn warp(&mut self, first: u32) -> &mut WarpState {
        let index = (first as usize / LANES).min(self.warps.len() - 1);
        &mut self.warps[index]
    }
}

/// The state of each CTA that runs, with its linear index.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    all: Vec<(u64, BlockState)>,
    /// The index of the state that was asked for last.
    last: usize,
}

impl Blocks {
    /// A CTA, whose state is made when it is first asked for.
    #[inline]
    pub(super) fn get(&mut self, block: u64, new: impl FnOnce() -> BlockState) -> &mut BlockState {
        if self.all.get(self.last).is_none_or(|(of, _)| *of != block) {
            let index = self.all.iter().position(|(of, _)| *of == block);
            self.last = index.unwrap_or(self.all.len());
        }
        if self.last == self.all.len() {
            self.all.push((block, new()));
        }
        &mut self.all[self.last].1
    }

    /// A CTA ended.
    pub(super) fn remove(&mut self, block: u64) {
        self.all.retain(|(of, _)| *of != block);
    }
}

//! The checkers of a launch, as an observer of it.

use ptx_ir::Code;
use std::collections::HashMap;
use std::sync::Arc;

use super::allocations::Allocations;
use super::clock::Clock;
use super::objects::Objects;
use super::order::Published;
use super::places::Places;
use super::report::{Actor, Reports, Text};
use super::sites::Sites;
use super::state::Blocks;
use super::state::{BlockState, WarpState};
use super::written_bytes::WrittenBytes;
use super::{Checker, Checks, Report};
use crate::account::{Account, Held, Purpose};
use crate::execute::{Execution, Grid, Memory};

/// A place in memory that threads synchronize by.
pub(super) type Shared = (Option<u64>, u64);

/// The results of the checkers of a launch.
pub(crate) struct CheckResults {
    pub(crate) reports: Vec<Report>,
    /// The bytes of global memory that were written; `None` if no checker follows them.
    pub(crate) written: Option<WrittenBytes>,
}

/// The state and the reports of the checkers.
#[derive(Debug)]
pub(crate) struct Checkers {
    pub(super) checks: Checks,
    pub(super) sites: Arc<Sites>,
    /// The variables that instructions access; only `memcheck` needs them.
    pub(super) objects: Option<Arc<Objects>>,
    pub(super) reports: Reports,
    pub(super) allocations: Allocations,
    /// The written bytes of global memory.
    pub(super) global: WrittenBytes,
    /// The lanes for which the current instruction read memory that was never written.
    pub(super) unwritten: u32,
    /// The CTAs that run.
    blocks: Blocks,
    /// The accesses to global memory.
    pub(super) places: Places,
    /// The pairs of instructions for which a race was found, and whether a report is about them: there is one for each instruction.
    pub(super) pairs: HashMap<(u32, u32), bool>,
    /// The asynchronous operation that the current instruction starts: its CTA, its number there and its time.
    pub(super) operation: Option<(u64, u32, u32)>,
    /// The number of asynchronous operations that were started.
    pub(super) copies: u64,
    /// For each cluster, the joined clocks of the threads that arrived at its barrier, in this phase and before it.
    pub(super) clusters: HashMap<u64, (Option<Clock>, Option<Clock>)>,
    /// The clocks that stores publish, by the CTA of the shared memory and the address.
    pub(super) published: HashMap<Shared, Published>,
    /// The memory of the clocks that a location publishes.
    pub(super) clock_bytes: u64,
    /// The memory of the sets of written bytes of global memory, and of the allocations.
    global_held: Held,
}

impl Checkers {
    pub(crate) fn new(
        (checks, account): (Checks, &Arc<Account>),
        sites: Arc<Sites>,
        objects: Option<Arc<Objects>>,
        allocations: Allocations,
        global: WrittenBytes,
    ) -> Self {
        Self {
            checks,
            sites,
            objects,
            reports: Reports::default(),
            allocations,
            global,
            unwritten: 0,
            blocks: Blocks::default(),
            places: Places::new(account),
            pairs: HashMap::new(),
            operation: None,
            copies: 0,
            clusters: HashMap::new(),
            published: HashMap::new(),
            clock_bytes: 0,
            global_held: Held::new(Arc::clone(account)),
        }
    }

    pub(super) const fn has(&self, checker: Checker) -> bool {
        self.checks.has(checker)
    }

    /// A lane that executes an instruction.
    pub(super) fn actor(&self, execution: &Execution<'_>, lane: usize) -> Actor {
        Actor {
            site: self.sites.number(execution.id, execution.at),
            block: execution.grid.linear(execution.block.index),
            thread: execution.warp.first + lane as u32,
        }
    }

    /// Reports something about a lane.
    pub(super) fn report(
        &mut self,
        execution: &Execution<'_>,
        code: Code,
        lane: usize,
        text: impl FnOnce() -> Text,
    ) {
        let actor = self.actor(execution, lane);
        let context = (execution.grid, &*self.sites);
        self.reports.add(context, code, actor, text);
    }

    /// Whether something was reported at the instruction.
    pub(super) fn reported(&self, execution: &Execution<'_>) -> bool {
        self.reports
            .any_at(self.sites.number(execution.id, execution.at))
    }

    /// A CTA.
    pub(super) fn block(&mut self, grid: &Grid<'_>, block: u64) -> &mut BlockState {
        let threads = grid.threads_per_block();
        self.clock_bytes = 3 * u64::from(threads) * 4 + 256;
        let new = || BlockState::new(block, threads, grid.account());
        self.blocks.get(block, new)
    }

    /// The CTA of a rank in the cluster of the one that executes an instruction; that one itself if there is none.
    pub(super) fn of_rank(
        &mut self,
        execution: &Execution<'_>,
        rank: usize,
    ) -> (u64, &mut BlockState) {
        let block = if rank == execution.block.rank || execution.block.shared(rank).is_none() {
            execution.grid.linear(execution.block.index)
        } else {
            execution.grid.of_rank(execution.block.index, rank)
        };
        (block, self.block(execution.grid, block))
    }

    /// A warp, by its first thread.
    pub(super) fn warp(&mut self, grid: &Grid<'_>, block: u64, first: u32) -> &mut WarpState {
        self.block(grid, block).warp(first)
    }

    /// The warp that executes an instruction.
    pub(super) fn own_warp(&mut self, execution: &Execution<'_>) -> &mut WarpState {
        let block = execution.grid.linear(execution.block.index);
        self.warp(execution.grid, block, execution.warp.first)
    }

    /// The written bytes of a memory that all lanes have, if it can have others.
    pub(super) fn written(
        &mut self,
        execution: &Execution<'_>,
        memory: Memory,
    ) -> Option<&mut WrittenBytes> {
        match memory {
            Memory::Global => Some(&mut self.global),
            Memory::Shared(rank) => Some(&mut self.of_rank(execution, rank).1.written),
            Memory::Local | Memory::Parameter => None,
        }
    }

    /// Counts the memory of the sets of written bytes of global memory, and of the allocations.
    pub(super) fn count_written(&mut self) {
        let bytes = self.global.memory() + self.allocations.memory();
        self.global_held.set(bytes, Purpose::Checkers);
    }

    /// A CTA ended.
    pub(super) fn end_block(&mut self, block: u64) {
        self.blocks.remove(block);
        self.published.retain(|(owner, _), _| *owner != Some(block));
    }
}

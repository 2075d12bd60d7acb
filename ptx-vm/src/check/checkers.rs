//! The checkers of a launch, as an observer of it.

use ptx_ir::Code;
use std::collections::HashMap;
use std::sync::Arc;

use super::allocations::Allocations;
use super::clock::Clock;
use super::dependency::{Dependency, EarlierWrites};
use super::locations::Locations;
use super::objects::Objects;
use super::published::Published;
use super::report::{Actor, Reports, Text};
use super::sites::Sites;
use super::state::{BlockState, Blocks, WarpState};
use super::written_bytes::WrittenBytes;
use super::{Checker, Checks, Report};
use crate::account::{Account, Held, Purpose};
use crate::execute::{Execution, Grid, Memory};

/// A location by which threads synchronize.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SyncLocation {
    /// The CTA in whose shared memory the location is; `None` for global memory.
    pub(super) block: Option<u64>,
    pub(super) address: u64,
}

/// The joined clocks of the threads that arrived at the barrier of a cluster.
#[derive(Debug, Default)]
pub(super) struct ClusterPhase {
    /// The threads that arrived in the current phase.
    pub(super) arrived: Option<Clock>,
    /// The threads that arrived in the last complete phase.
    pub(super) complete: Option<Clock>,
}

/// An asynchronous operation of a CTA.
#[derive(Copy, Clone, Debug)]
pub(super) struct AsyncOperation {
    /// The linear index of the CTA.
    pub(super) block: u64,
    /// The slot of the operation in the clocks of the CTA.
    pub(super) slot: u32,
    /// The time at which the operation is complete.
    pub(super) time: u32,
}

/// The results of the checkers of a launch.
pub(crate) struct CheckResults {
    pub(crate) reports: Vec<Report>,
    /// The bytes of global memory that were written; `None` if no checker records them.
    pub(crate) written: Option<WrittenBytes>,
    /// The bytes that later grids of a sequence of dependent launches have to wait for; `None` without such a sequence.
    pub(crate) writes_for_dependents: Option<Arc<EarlierWrites>>,
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
    /// A load of shared memory read bytes that were never written: the registers that may only be uninitialized because of such loads are followed from then on.
    pub(super) follows_loads: bool,
    /// The CTAs that run.
    blocks: Blocks,
    /// The locations of global memory.
    pub(super) locations: Locations,
    /// The pairs of instructions for which a race was found, and whether the report of the pair is that of its instruction: each instruction has one
    /// report.
    pub(super) pairs: HashMap<(u32, u32), bool>,
    /// The asynchronous operation that the current instruction starts.
    pub(super) operation: Option<AsyncOperation>,
    /// The number of asynchronous operations that were started.
    pub(super) copies: u64,
    /// The barrier of each cluster, by the number of the cluster.
    pub(super) clusters: HashMap<u64, ClusterPhase>,
    /// The clocks that stores publish at each location.
    pub(super) published: HashMap<SyncLocation, Published>,
    /// The memory of the clocks that are published at a location, in bytes.
    pub(super) clock_bytes: u64,
    /// The values that asynchronous operations wrote last to global memory, with the bytes of the access, by address.
    pub(super) values_of_operations: HashMap<u64, (u128, u64)>,
    /// The memory of these values.
    pub(super) values_held: Held,
    /// The accesses of a grid of a sequence of dependent launches.
    pub(super) dependency: Option<Dependency>,
    /// The memory of the sets of written bytes of global memory, and of the allocations.
    global_held: Held,
}

impl Checkers {
    pub(crate) fn new(
        checks: Checks,
        account: &Arc<Account>,
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
            follows_loads: false,
            blocks: Blocks::default(),
            locations: Locations::new(account),
            pairs: HashMap::new(),
            operation: None,
            copies: 0,
            clusters: HashMap::new(),
            published: HashMap::new(),
            clock_bytes: 0,
            values_of_operations: HashMap::new(),
            values_held: Held::new(Arc::clone(account)),
            dependency: None,
            global_held: Held::new(Arc::clone(account)),
        }
    }

    pub(super) const fn has(&self, checker: Checker) -> bool {
        self.checks.has(checker)
    }

    /// A lane that executes the instruction.
    pub(super) fn actor(&self, execution: &Execution<'_>, lane: usize) -> Actor {
        Actor {
            site: self
                .sites
                .number(execution.function_id, execution.step_index),
            block: execution.grid.linear(execution.block.index),
            thread: execution.warp.first + lane as u32,
        }
    }

    /// Adds a report about a lane.
    pub(super) fn report(
        &mut self,
        execution: &Execution<'_>,
        code: Code,
        lane: usize,
        text: impl FnOnce() -> Text,
    ) {
        let actor = self.actor(execution, lane);
        self.reports
            .add(execution.grid, &self.sites, code, actor, text);
    }

    /// Whether there is a report at the instruction.
    pub(super) fn has_report(&self, execution: &Execution<'_>) -> bool {
        self.reports.any_at(
            self.sites
                .number(execution.function_id, execution.step_index),
        )
    }

    /// The state of a CTA.
    pub(super) fn block(&mut self, grid: &Grid<'_>, block: u64) -> &mut BlockState {
        let threads = grid.threads_per_block();
        self.clock_bytes = 3 * u64::from(threads) * 4 + 256;
        self.blocks
            .get(block, || BlockState::new(block, threads, grid.account()))
    }

    /// The linear index and the state of the CTA of a rank in the cluster of the CTA that executes the instruction; that CTA itself if the cluster has
    /// no such rank.
    pub(super) fn block_of_rank(
        &mut self,
        execution: &Execution<'_>,
        rank: usize,
    ) -> (u64, &mut BlockState) {
        let block = if rank == execution.block.rank || execution.block.shared(rank).is_none() {
            execution.grid.linear(execution.block.index)
        } else {
            execution.grid.block_of_rank(execution.block.index, rank)
        };
        (block, self.block(execution.grid, block))
    }

    /// The state of a warp, given by its first thread.
    pub(super) fn warp(&mut self, grid: &Grid<'_>, block: u64, first: u32) -> &mut WarpState {
        self.block(grid, block).warp(first)
    }

    /// The state of the warp that executes the instruction.
    pub(super) fn own_warp(&mut self, execution: &Execution<'_>) -> &mut WarpState {
        let block = execution.grid.linear(execution.block.index);
        self.warp(execution.grid, block, execution.warp.first)
    }

    /// The written bytes of a memory that all lanes share; `None` for the other memories.
    pub(super) fn written(
        &mut self,
        execution: &Execution<'_>,
        memory: Memory,
    ) -> Option<&mut WrittenBytes> {
        match memory {
            Memory::Global => Some(&mut self.global),
            Memory::Shared(rank) => Some(&mut self.block_of_rank(execution, rank).1.written),
            Memory::Local | Memory::Parameter => None,
        }
    }

    /// Counts the memory of the sets of written bytes of global memory, and of the allocations.
    pub(super) fn count_written(&mut self) {
        let dependency = self.dependency.as_ref().map_or(0, Dependency::memory);
        let bytes = self.global.memory() + self.allocations.memory() + dependency;
        self.global_held.set(bytes, Purpose::Checkers);
    }

    /// Drops the state of a CTA that ended.
    pub(super) fn end_block(&mut self, block: u64) {
        self.blocks.remove(block);
        self.published
            .retain(|location, _| location.block != Some(block));
    }
}

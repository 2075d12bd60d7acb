//! A grid: all CTAs of a launch.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ptx_ir::{FuncId, InstId, Module, Span, Statement};

use super::block::Cluster;
use super::warp::Failure;
use crate::error::{Reason, RunError};
use crate::launch::Limits;
use crate::matrix::model::Model;
use crate::memory::Device;
use crate::program::Program;

/// What all threads of a launch share.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    pub(crate) program: &'a Program,
    pub(crate) module: &'a Module,
    pub(crate) device: &'a Device,
    pub(crate) kernel: FuncId,
    pub(crate) parameters: &'a [u8],
    /// CTAs in each dimension.
    pub(crate) blocks: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub(crate) threads: [u32; 3],
    /// CTAs of a cluster in each dimension.
    pub(crate) cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
    pub(crate) limits: Limits,
    /// The architecture whose tensor cores multiply matrices.
    pub(crate) model: Model,
    /// The steps of all warps so far.
    pub(crate) steps: AtomicU64,
    /// The next free byte of the heap, and its end.
    pub(crate) heap: (AtomicU64, u64),
    /// What `printf` wrote.
    pub(crate) output: Mutex<Vec<u8>>,
}

/// The steps that a cluster makes before another one gets its turn: enough that most clusters end before.
const TURN: u64 = 1 << 20;

impl Grid<'_> {
    /// The number of threads of a CTA.
    pub(crate) const fn threads_per_block(&self) -> u32 {
        self.threads[0] * self.threads[1] * self.threads[2]
    }

    /// The index of a thread in each dimension.
    pub(crate) const fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.threads;
        [linear % x, linear / x % y, linear / (x * y)]
    }

    /// The linear index of a CTA.
    pub(crate) const fn linear(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [width, height, _] = self.blocks;
        x as u64 + width as u64 * (y as u64 + height as u64 * z as u64)
    }

    /// `%ctaid` of a CTA, by its linear index.
    pub(crate) fn block(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.blocks.map(u64::from);
        [linear % x, linear / x % y, linear / (x * y)].map(|i| i as u32)
    }

    /// The linear index of the CTA of a rank in the cluster of another one.
    pub(crate) fn of_rank(&self, index: [u32; 3], rank: usize) -> u64 {
        let ([x, y, _], rank) = (self.cluster, rank as u32);
        let inner = [rank % x, rank / x % y, rank / (x * y)];
        let start = |i: usize| index[i] - index[i] % self.cluster[i];
        self.linear(core::array::from_fn(|i| start(i).saturating_add(inner[i])))
    }

    /// The number of CTAs of a cluster.
    pub(crate) fn cluster_size(&self) -> u64 {
        self.cluster.iter().map(|&n| u64::from(n)).product()
    }

    /// Where an instruction is in the source.
    pub(crate) fn span(&self, function: FuncId, inst: InstId) -> Option<Span> {
        let body = self.module.body(function)?;
        let is_inst = |s: &Statement| *s == Statement::Inst(inst);
        let (statement, _) = body.statements().find(|(_, s)| is_inst(s))?;
        Some(body.source_span(statement))
    }

    /// Memory of the heap; 0 if there is not enough.
    pub(crate) fn allocate(&self, bytes: u64) -> u64 {
        let (next, end) = &self.heap;
        // Allocations are apart, so that a checker finds accesses past their ends.
        let size = bytes.max(1).div_ceil(16).saturating_add(1);
        let size = size.saturating_mul(16);
        let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |at| {
            at.checked_add(size).filter(|after| after <= end)
        });
        taken.unwrap_or(0)
    }

    fn clusters(&self) -> [u32; 3] {
        core::array::from_fn(|i| self.blocks[i] / self.cluster[i].max(1))
    }

    /// The steps that are allowed.
    pub(crate) fn steps_left(&self) -> u64 {
        let steps = self.steps.load(Ordering::Relaxed);
        self.limits.steps.saturating_sub(steps)
    }

    /// Counts steps; an error if there were too many.
    pub(crate) fn count(&self, steps: u64) -> Result<(), Reason> {
        let all = self.steps.fetch_add(steps, Ordering::Relaxed) + steps;
        match all > self.limits.steps {
            true => Err(Reason::StepLimit),
            false => Ok(()),
        }
    }

    /// What happened, with the place in the module.
    pub(crate) fn error(&self, failure: Failure, block: [u32; 3], first: u32) -> RunError {
        let mut error = RunError::new(failure.reason);
        error.block = block;
        error.thread = self.thread(first + failure.lane as u32);
        let Some(id) = failure.function else {
            return error;
        };
        let function = self.program.function(id);
        let step = function.and_then(|f| f.steps.get(failure.at as usize));
        let (Some(function), Some(step)) = (function, step) else {
            return error;
        };
        error.function.clone_from(&function.name);
        if let Some(span) = self.span(id, step.inst) {
            error.span = Some(span);
            error.instruction = String::from_utf8_lossy(span.of(self.module.source())).into();
        }
        error
    }
}

/// Runs all CTAs. They begin in the order of their indices; one that waits for later ones lets these run.
pub(crate) fn run(
    grid: &Grid<'_>,
    observer: &mut Option<super::Observing>,
) -> Result<(), RunError> {
    let [x, y, z] = grid.clusters();
    let all = u64::from(x) * u64::from(y) * u64::from(z);
    let mut waiting: VecDeque<Cluster> = VecDeque::new();
    let mut next = 0;
    while next < all || !waiting.is_empty() {
        let mut cluster = match next < all && waiting.len() < grid.limits.resident_clusters {
            true => {
                next += 1;
                let n = next - 1;
                let (x, y) = (u64::from(x), u64::from(y));
                Cluster::new(grid, [n % x, n / x % y, n / (x * y)].map(|i| i as u32))?
            }
            false => match waiting.pop_front() {
                Some(cluster) => cluster,
                None => return Ok(()),
            },
        };
        let progress = cluster.run_observed(grid, TURN, observer)?;
        if cluster.is_done() {
            // Those that waited may depend on it.
            waiting.iter_mut().for_each(Cluster::wake);
            continue;
        }
        if progress {
            waiting.iter_mut().for_each(Cluster::wake);
            cluster.wake();
        }
        waiting.push_back(cluster);
        let stuck = waiting.iter().all(Cluster::is_stuck);
        if stuck && (next == all || waiting.len() >= grid.limits.resident_clusters) {
            for cluster in &mut waiting {
                cluster.show_stuck(grid, observer);
            }
            return Err(RunError::new(Reason::Deadlock));
        }
    }
    Ok(())
}

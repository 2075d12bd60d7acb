//! A grid: all CTAs of a launch.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ptx_ir::{FuncId, InstId, Module, Span, Statement};

use super::block::{Cluster, Look};
use super::clusters::Clusters;
use super::order::Order;
use super::warp::Failure;
use super::watch::{self, Watch};
use crate::account::{Account, Purpose};
use crate::error::{RunError, StopReason};
use crate::executor::{Executor, Progress};
use crate::launch::LaunchLimits;
use crate::matrix::model::Model;
use crate::memory::{Device, Heap};
use crate::program::Program;
use crate::schedule::Schedule;
use crate::trace::StepObserver;

/// The place of an instruction.
#[derive(Debug)]
pub(crate) struct InstPlace {
    /// The span in the source of the module; empty for an instruction that was inserted or built.
    pub(crate) span: Span,
    /// The text of the instruction as it is now.
    pub(crate) text: String,
}

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
    pub(crate) limits: LaunchLimits,
    /// When the launch has to end.
    pub(crate) deadline: Option<Instant>,
    /// The architecture whose tensor cores multiply matrices.
    pub(crate) model: Model,
    /// Counts the steps of all warps and the CTAs that ended.
    pub(crate) progress: &'a Progress,
    /// Sees the steps of warps.
    pub(crate) observer: Option<&'a dyn StepObserver>,
    /// The order of CTAs and warps.
    pub(crate) schedule: Option<Schedule>,
    /// The seed of what shared memory holds at first.
    pub(crate) shared_seed: Option<u64>,
    pub(crate) heap: &'a Heap,
    /// The address of what barriers of all CTAs are kept in; `%envreg1` and `%envreg2` are its halves.
    pub(crate) workspace: u64,
    /// What `printf` wrote in each cluster.
    pub(crate) output: Mutex<BTreeMap<u64, Vec<u8>>>,
}

/// The bytes of memory that a byte of output counts as: there are copies of it, lists that grow, and what shows it.
const COPIES: u64 = 16;
/// The bytes of memory that the first output of a cluster counts as besides.
const CLUSTER_OUTPUT: u64 = 128;
/// The steps of the launch between looks at the clock.
const CLOCK_STEPS: u64 = 1 << 12;
/// The steps that a cluster makes before another one gets its turn: enough that most clusters end before.
pub(super) const TURN: u64 = 1 << 20;
/// The same for clusters that may wait for others, before all have begun, and after that.
const DEPENDENT_TURNS: [u64; 2] = [1 << 16, 1 << 14];
/// The steps that a cluster makes before it is looked whether it waits for others.
pub(super) const FIRST_TURN: u64 = 1 << 13;
/// The steps of a launch whose CTAs may wait for each other before it is looked whether they only wait.
const FIRST_LOOK: u64 = 1 << 17;

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

    /// The shape of the clusters.
    pub(crate) const fn clusters(&self) -> Clusters {
        Clusters {
            blocks: self.blocks,
            cluster: self.cluster,
        }
    }

    /// The place of an instruction in the source and its text. Linear in the length of the function.
    pub(crate) fn place(&self, function: FuncId, inst: InstId) -> Option<InstPlace> {
        let body = self.module.body(function)?;
        let (statement, _) = body
            .statements()
            .find(|(_, statement)| *statement == Statement::Inst(inst))?;
        let text = ptx_print::verbatim_statement(self.module, body, statement);
        Some(InstPlace {
            span: body.source_span(statement),
            text: String::from_utf8_lossy(&text).into(),
        })
    }

    /// The memory of the host that is used.
    pub(crate) const fn account(&self) -> &Arc<Account> {
        self.device.account()
    }

    /// Adds to what the cluster of a CTA printed.
    pub(super) fn print(&self, block: [u32; 3], text: Vec<u8>) -> Result<(), StopReason> {
        let number = self.clusters().of_block(block);
        let Ok(mut output) = self.output.lock() else {
            return Ok(());
        };
        let is_first = !output.contains_key(&number);
        let bytes = COPIES * text.len() as u64 + if is_first { CLUSTER_OUTPUT } else { 0 };
        self.account().take(bytes, Purpose::Output)?;
        output.entry(number).or_default().extend(text);
        Ok(())
    }

    /// What was printed, in the order of clusters: of all, or up to the one of an error, where later ones may have run on other threads.
    pub(crate) fn printed(&self, error: Option<&RunError>) -> Vec<u8> {
        let error = error.filter(|_| self.is_independent());
        let last = error.map_or(u64::MAX, |error| self.clusters().of_block(error.block));
        let output = self.output.lock().map(|mut all| core::mem::take(&mut *all));
        let output = output.unwrap_or_default();
        let bytes: usize = output.values().map(Vec::len).sum();
        let clusters = output.len() as u64 * CLUSTER_OUTPUT;
        self.account().release(COPIES * bytes as u64 + clusters);
        let output = output.into_iter();
        let shown = output.filter(|(number, _)| *number <= last);
        shown.flat_map(|(_, text)| text).collect()
    }

    /// Whether the CTAs may run on several threads of the host.
    fn is_independent(&self) -> bool {
        self.schedule.is_none() && self.program.is_independent(self.kernel)
    }

    /// A cluster came to its end.
    pub(super) fn cluster_ended(&self) {
        self.progress.add_blocks(self.clusters().size());
    }

    /// The steps that are allowed.
    pub(crate) fn steps_left(&self) -> u64 {
        let steps = self.progress.steps();
        self.limits.steps.saturating_sub(steps)
    }

    /// Counts steps; an error if there were too many.
    pub(crate) fn count(&self, steps: u64) -> Result<(), StopReason> {
        let before = self.progress.add_steps(steps);
        let all = before.saturating_add(steps);
        if self.progress.is_cancelled() || all / CLOCK_STEPS != before / CLOCK_STEPS {
            self.interrupted()?;
        }
        match all > self.limits.steps {
            true => Err(StopReason::StepLimit),
            false => Ok(()),
        }
    }

    /// An error if the launch was cancelled, or has no time left.
    pub(crate) fn interrupted(&self) -> Result<(), StopReason> {
        if self.progress.is_cancelled() {
            return Err(StopReason::Cancelled);
        }
        let time = self.limits.time.unwrap_or_default();
        match self.deadline {
            Some(end) if Instant::now() >= end => Err(StopReason::TimeLimit(time)),
            _ => Ok(()),
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
        if let Some(place) = self.place(id, step.inst) {
            error.span = Some(place.span);
            error.instruction = place.text;
        }
        error
    }
}

/// Runs all CTAs: those that do not depend on each other and are not observed as the executor does.
pub(crate) fn run(
    grid: &Grid<'_>,
    executor: &dyn Executor,
    observer: &mut Option<super::Observing>,
) -> Result<(), RunError> {
    match observer.is_none() && grid.is_independent() {
        true => super::independent::run(grid, executor),
        false => run_in_order(grid, observer),
    }
}

/// Runs a cluster for its first turn, which ends early if it already waits for others.
fn begin(
    grid: &Grid<'_>,
    cluster: &mut Cluster,
    turn: u64,
    observer: &mut Option<super::Observing>,
) -> Result<bool, RunError> {
    let first = turn.min(FIRST_TURN);
    let progress = cluster.run_observed(grid, first, observer)?;
    if !progress
        || first == turn
        || cluster.is_done()
        || watch::waits_already(grid, cluster, observer)?
    {
        return Ok(progress);
    }
    match cluster.is_done() {
        true => Ok(true),
        false => cluster.run_observed(grid, turn - first, observer),
    }
}

/// Removes clusters that ended while they were looked at.
fn retain_running(grid: &Grid<'_>, waiting: &mut VecDeque<Cluster>) {
    let before = waiting.len();
    waiting.retain(|cluster| !cluster.is_done());
    (waiting.len()..before).for_each(|_| grid.cluster_ended());
}

/// Runs all CTAs on this thread. They begin in the order of their indices; one that waits for later ones lets these run.
fn run_in_order(grid: &Grid<'_>, observer: &mut Option<super::Observing>) -> Result<(), RunError> {
    run_from(grid, VecDeque::new(), 0, observer)
}

/// Runs clusters that began and wait for each other.
pub(super) fn run_waiting(
    grid: &Grid<'_>,
    waiting: VecDeque<Cluster>,
    observer: &mut Option<super::Observing>,
) -> Result<(), RunError> {
    run_from(grid, waiting, grid.clusters().count(), observer)
}

/// Runs clusters that began, and those from a position in their order on.
fn run_from(
    grid: &Grid<'_>,
    mut waiting: VecDeque<Cluster>,
    mut next: u64,
    observer: &mut Option<super::Observing>,
) -> Result<(), RunError> {
    let all = grid.clusters().count();
    let order = Order::of_clusters(grid, all);
    let mut watch = Watch::new(FIRST_LOOK);
    while next < all || !waiting.is_empty() {
        let begins = next < all && waiting.len() < grid.limits.resident_clusters;
        let mut cluster = match begins {
            true => {
                next += 1;
                Cluster::new(grid, grid.clusters().index(order.at(next - 1)))?
            }
            false => match waiting.pop_front() {
                Some(cluster) => cluster,
                None => return Ok(()),
            },
        };
        let turn = DEPENDENT_TURNS[usize::from(next == all)];
        let progress = match begins {
            true => begin(grid, &mut cluster, turn, observer),
            false => cluster.run_observed(grid, turn, observer),
        };
        let progress = match progress {
            Ok(progress) => progress,
            Err(error) => {
                waiting.push_front(cluster);
                return Err(watch::explain(grid, &mut waiting, observer, error));
            }
        };
        if cluster.is_done() {
            grid.cluster_ended();
            // Those that waited may depend on it.
            waiting.iter_mut().for_each(Cluster::wake);
            continue;
        }
        if progress {
            waiting.iter_mut().for_each(Cluster::wake);
            cluster.wake();
        }
        waiting.push_back(cluster);
        if next < all && waiting.len() < grid.limits.resident_clusters {
            continue;
        }
        let mut error = None;
        if waiting.iter().all(Cluster::is_stuck) {
            error = Some(watch::stuck(grid, &waiting));
        } else if watch.is_due(grid.progress.steps()) {
            let steps = grid.progress.steps();
            let found = watch.look(grid, &mut waiting, (steps, observer))?;
            error = (found.look == Look::Repeats).then(|| watch::deadlock(found.waits));
            waiting.iter_mut().for_each(Cluster::wake);
            retain_running(grid, &mut waiting);
        }
        if let Some(error) = error {
            for cluster in &mut waiting {
                cluster.show_stuck(grid, observer);
            }
            return Err(error);
        }
    }
    Ok(())
}

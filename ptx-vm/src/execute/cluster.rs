//! Clusters of CTAs, whose warps run in turns.

use std::sync::Arc;

use super::asynchronous::{AsyncQueue, perform_all, perform_old};
use super::block::{BARRIERS, Barrier, Block, ClusterState, ObserverCell};
use super::execution::Failed;
use super::grid::{Failure, Grid};
use super::groups::State;
use super::observer::Observer;
use super::order::{Starved, Turn, mix};
use super::probe::Probe;
use super::warp::Warp;
use super::warpgroup_order::ProductOrder;
use crate::account::{Held, Purpose};
use crate::error::{RunError, StopReason};
use crate::lanes::{LANES, lanes};
use crate::memory::tensor::TensorMemory;

/// The number of steps of a round.
#[derive(Copy, Clone)]
enum Pace {
    /// A number of steps of all warps, roughly.
    Run(u64),
    /// A number of steps of each warp, in the order of the warps.
    Look(u64),
}

impl Pace {
    /// The pace of the CTAs after one that made some steps.
    const fn after(self, steps: u64) -> Self {
        match self {
            Self::Run(remaining) => Self::Run(remaining.saturating_sub(steps)),
            look @ Self::Look(_) => look,
        }
    }
}

/// The result of a round, in which each warp of a cluster runs once.
struct Round {
    /// The number of steps of all warps.
    steps: u64,
    makes_progress: bool,
}

/// The result of a look at the threads of a cluster.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// Something changed.
    Changes,
    /// All threads wait at barriers or repeat loops, and nothing changed.
    Repeats,
    /// Nothing changed so far.
    Unknown,
}

/// The steps of each warp in the first round of looking; in each further one they double.
const FIRST_LOOK: u64 = 64;

/// A cluster of CTAs that run together.
#[derive(Debug)]
pub(crate) struct Cluster {
    blocks: Vec<(Block, Vec<Warp>)>,
    /// The memory that shared memory and the warps themselves use.
    _held: Held,
    cluster_state: ClusterState,
    stuck: bool,
    /// The number of turns of its CTAs.
    turns: u64,
}

/// The contents of the shared memory of a CTA before its first step.
fn shared_at_first(grid: &Grid<'_>, cluster: [u32; 3], rank: u32, bytes: usize) -> Vec<u8> {
    let Some(seed) = grid.shared_seed else {
        return vec![0; bytes];
    };
    let parts = cluster.into_iter().chain([rank]);
    let start = parts.fold(seed, |seed, part| mix(seed ^ u64::from(part)));
    let words = (0..bytes.div_ceil(8) as u64).map(|index| mix(start.wrapping_add(index)));
    let mut contents: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    contents.truncate(bytes);
    contents
}

/// The memory that a warp uses besides its registers and stacks.
const WARP: u64 = (size_of::<Warp>() + LANES * size_of::<Vec<u8>>()) as u64;

/// The error of a cluster that cannot begin.
fn at_start(grid: &Grid<'_>, cluster: [u32; 3], reason: StopReason) -> RunError {
    let mut error = RunError::new(reason);
    error.block = core::array::from_fn(|i| cluster[i].saturating_mul(grid.cluster[i]));
    error
}

impl Cluster {
    /// The CTAs of a cluster, before their first step.
    pub(crate) fn new(grid: &Grid<'_>, index: [u32; 3]) -> Result<Self, RunError> {
        let bytes = grid.program.variables.shared.end(grid.kernel, grid.shared);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let [x, y, z] = grid.cluster;
        let count = x * y * z;
        let mut held = Held::new(Arc::clone(grid.account()));
        let warps = u64::from(grid.threads_per_block().div_ceil(LANES as u32));
        let bytes_of_block = (bytes as u64).saturating_add(warps * WARP);
        held.take(
            bytes_of_block.saturating_mul(count.into()),
            Purpose::SharedMemory,
        )
        .map_err(|reason| at_start(grid, index, reason))?;
        let mut cluster = Self {
            blocks: Vec::new(),
            _held: held,
            cluster_state: ClusterState {
                shared: (0..count)
                    .map(|rank| shared_at_first(grid, index, rank, bytes))
                    .collect(),
                queue: AsyncQueue::new(
                    grid.asynchrony,
                    grid.clusters().number(index),
                    grid.account(),
                ),
                ..ClusterState::default()
            },
            stuck: false,
            turns: 0,
        };
        for rank in 0..count {
            let inner = [rank % x, rank / x % y, rank / (x * y)];
            let block = Block {
                index: core::array::from_fn(|i| index[i] * grid.cluster[i] + inner[i]),
                rank: rank as usize,
                cluster: index,
                barriers: [Barrier::default(); BARRIERS],
                products: ProductOrder::default(),
                turns: 0,
                cluster_state: ClusterState::default(),
                releases_dependents: false,
            };
            let threads = grid.threads_per_block();
            let mut warps = Vec::new();
            for first in (0..threads).step_by(LANES) {
                let mask = match threads - first {
                    n @ ..32 => (1 << n) - 1,
                    _ => u32::MAX,
                };
                let mut warp = Warp::new(first, grid.account());
                warp.start(grid.kernel, mask, &block, grid)
                    .map_err(|reason| at_start(grid, index, reason))?;
                warps.push(warp);
            }
            cluster.blocks.push((block, warps));
        }
        Ok(cluster)
    }

    pub(crate) fn is_done(&self) -> bool {
        let mut warps = self.blocks.iter().flat_map(|(_, warps)| warps);
        warps.all(Warp::is_done)
    }

    /// Calls the observer, if there is one, for each CTA.
    fn observe(&self, mut show: impl FnMut(&mut dyn Observer, &Block, &[Warp])) {
        let Some(observer) = &self.cluster_state.observer else {
            return;
        };
        for (block, warps) in &self.blocks {
            if let Ok(mut observer) = observer.try_borrow_mut() {
                show(&mut **observer, block, warps);
            }
        }
    }

    /// Calls `run` while the observer is attached, and notifies the observer if the cluster has ended.
    fn with_observer<R>(
        &mut self,
        grid: &Grid<'_>,
        observer: &mut Option<ObserverCell>,
        run: impl FnOnce(&mut Self) -> R,
    ) -> R {
        self.cluster_state.observer = observer.take();
        let result = run(self);
        if self.is_done() {
            self.observe(|observer, block, _| {
                let memory = self.cluster_state.tensor.get(block.rank);
                for allocation in memory.map_or(&[][..], TensorMemory::allocations) {
                    observer.kept_tensor_columns(grid, block, allocation);
                }
                observer.ended(grid, block);
            });
        }
        *observer = self.cluster_state.observer.take();
        result
    }

    /// Runs a number of steps, roughly, which an observer sees, and returns whether a thread made progress.
    pub(crate) fn run_observed(
        &mut self,
        grid: &Grid<'_>,
        steps: u64,
        observer: &mut Option<ObserverCell>,
    ) -> Result<bool, RunError> {
        self.with_observer(grid, observer, |cluster| cluster.run(grid, steps))
    }

    /// Shows to the observer that no thread of the launch can continue.
    pub(crate) fn show_stuck(&mut self, grid: &Grid<'_>, observer: &mut Option<ObserverCell>) {
        self.cluster_state.observer = observer.take();
        self.observe(|observer, block, warps| observer.stuck(grid, block, warps));
        *observer = self.cluster_state.observer.take();
    }

    /// The CTAs of the cluster with their warps.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (&Block, &[Warp])> {
        self.blocks.iter().map(|(block, warps)| (block, &warps[..]))
    }

    /// The shared memory of a CTA.
    pub(super) fn shared(&self, rank: usize) -> Option<&[u8]> {
        self.cluster_state.shared.get(rank).map(Vec::as_slice)
    }

    /// The tensor memory of a CTA, if it was used.
    pub(super) fn tensor(&self, rank: usize) -> Option<&TensorMemory> {
        self.cluster_state.tensor.get(rank)
    }

    /// The threads that arrived at the barrier of the cluster.
    pub(super) const fn arrived(&self) -> u32 {
        self.cluster_state.arrived
    }

    /// Runs while an observer looks whether threads only repeat loops, at most roughly `max_steps` steps more than it needs to find out.
    pub(super) fn look(
        &mut self,
        grid: &Grid<'_>,
        max_steps: u64,
        observer: &mut Option<ObserverCell>,
    ) -> Result<Look, RunError> {
        self.with_observer(grid, observer, |cluster| {
            cluster.look_observed(grid, max_steps)
        })
    }

    fn look_observed(&mut self, grid: &Grid<'_>, max_steps: u64) -> Result<Look, RunError> {
        let (mut steps, mut steps_of_warp) = (0, FIRST_LOOK);
        loop {
            let round = self.round(grid, Pace::Look(steps_of_warp))?;
            steps += round.steps;
            steps_of_warp = steps_of_warp.saturating_mul(2);
            let (mut changed, mut covered) = (false, true);
            self.observe(|observer, block, warps| {
                if let Some(probe) = Probe::of_observer(observer) {
                    changed |= probe.changed;
                    covered &= warps.iter().all(|warp| probe.covers(grid, block, warp));
                }
            });
            match (changed, covered) {
                (true, _) => return Ok(Look::Changes),
                (false, true) => return Ok(Look::Repeats),
                (false, false) if steps >= max_steps || !round.makes_progress => {
                    return Ok(Look::Unknown);
                }
                (false, false) => {}
            }
        }
    }

    /// Whether no thread could continue when it ran last.
    pub(crate) const fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Records that something happened that may let threads continue.
    pub(crate) const fn wake(&mut self) {
        self.stuck = false;
    }

    /// Runs a number of steps, roughly, and returns whether a thread made progress.
    fn run(&mut self, grid: &Grid<'_>, steps: u64) -> Result<bool, RunError> {
        let mut steps_left = steps;
        let mut progress = false;
        while steps_left > 0 && !self.is_done() {
            let round = self.round(grid, Pace::Run(steps_left))?;
            steps_left = steps_left.saturating_sub(round.steps);
            if !round.makes_progress {
                break;
            }
            progress = true;
        }
        self.stuck = !progress;
        Ok(progress)
    }

    /// Runs each warp once.
    fn round(&mut self, grid: &Grid<'_>, pace: Pace) -> Result<Round, RunError> {
        let (mut steps, mut completes_barrier) = (0u64, false);
        let mut pace = pace;
        self.turns += 1;
        let starved = match pace {
            Pace::Run(_) => Starved::blocks(grid, self.turns),
            Pace::Look(_) => Starved::none(),
        };
        let count = self.blocks.len();
        let turns = starved
            .passes()
            .flat_map(|pass| (0..count).map(move |rank| (pass, rank)));
        for (pass, rank) in turns {
            let Some((block, warps)) = self.blocks.get_mut(rank) else {
                continue;
            };
            let linear = grid.linear(block.index);
            if !starved.is_in(linear, pass) || starved.waits(linear, steps > 0) {
                continue;
            }
            block.cluster_state = core::mem::take(&mut self.cluster_state);
            let result = run_block(block, warps, grid, pace);
            completes_barrier |= result.is_ok() && block.complete_barriers(warps, grid);
            completes_barrier |= block.resume_warpgroups(warps);
            self.cluster_state = core::mem::take(&mut block.cluster_state);
            let executed_steps = result?;
            steps = steps.saturating_add(executed_steps);
            pace = pace.after(executed_steps);
        }
        completes_barrier |= self.complete_cluster_barrier(grid);
        completes_barrier |= self.resume_allocations();
        let performs_operations = self.perform_due_operations(grid)?;
        Ok(Round {
            steps,
            makes_progress: steps > 0 || completes_barrier || performs_operations,
        })
    }

    /// Lets the warps try again that wait for columns of tensor memory, if that may succeed; returns whether there were any.
    fn resume_allocations(&mut self) -> bool {
        core::mem::take(&mut self.cluster_state.tensor_changed)
            && self.resume_waiting(State::TensorColumns)
    }

    /// Lets the threads try again that wait for another grid.
    pub(super) fn resume_grid(&mut self) {
        if self.resume_waiting(State::OtherGrid) {
            self.wake();
        }
    }

    /// Lets the warps that wait in a state execute their instructions again; returns whether there were any.
    fn resume_waiting(&mut self, state: State) -> bool {
        let mut any_resumed = false;
        for warp in self.blocks.iter_mut().flat_map(|(_, warps)| warps) {
            for group in &mut warp.groups.all {
                if group.state == state {
                    group.state = State::Ready;
                    any_resumed = true;
                }
            }
        }
        any_resumed
    }

    /// Performs the asynchronous operations that are pending at the end of the cluster, or have been for long; returns whether there were any.
    fn perform_due_operations(&mut self, grid: &Grid<'_>) -> Result<bool, RunError> {
        if self.cluster_state.queue.is_none() {
            return Ok(false);
        }
        if self.is_done() {
            self.perform_operations(grid, perform_all)
        } else {
            self.perform_operations(grid, perform_old)
        }
    }

    /// Performs all pending asynchronous operations, so that threads which do not wait for their completion see their effects; returns whether there were
    /// any.
    pub(super) fn perform_all_operations(
        &mut self,
        grid: &Grid<'_>,
        observer: &mut Option<ObserverCell>,
    ) -> Result<bool, RunError> {
        self.with_observer(grid, observer, |cluster| {
            cluster.perform_operations(grid, perform_all)
        })
    }

    /// Calls a function that performs pending operations with the state of the cluster in its first CTA.
    fn perform_operations(
        &mut self,
        grid: &Grid<'_>,
        perform: impl FnOnce(&mut Block, &Grid<'_>) -> Result<bool, Failed>,
    ) -> Result<bool, RunError> {
        let Some((block, _)) = self.blocks.first_mut() else {
            return Ok(false);
        };
        block.cluster_state = core::mem::take(&mut self.cluster_state);
        let performed = perform(block, grid);
        self.cluster_state = core::mem::take(&mut block.cluster_state);
        performed.map_err(|failed| grid.error(Failure::without_step(failed), block.index, 0))
    }

    /// Completes the barrier of the cluster if all threads arrived.
    fn complete_cluster_barrier(&mut self, grid: &Grid<'_>) -> bool {
        let warps = self.blocks.iter().flat_map(|(_, warps)| warps);
        let live: u32 = warps.map(|warp| warp.groups.live().count_ones()).sum();
        if self.cluster_state.arrived == 0 || self.cluster_state.arrived < live {
            return false;
        }
        self.observe(|observer, block, warps| observer.cluster_barrier(grid, block, warps));
        self.cluster_state.arrived = 0;
        self.cluster_state.phase += 1;
        for warp in self.blocks.iter_mut().flat_map(|(_, warps)| warps) {
            for group in &mut warp.groups.all {
                if group.state == State::Cluster {
                    group.state = State::Ready;
                    group.step_index += 1;
                    lanes(group.mask).for_each(|lane| warp.arrived[lane] = None);
                }
            }
        }
        true
    }
}

/// Runs the warps of a CTA one after the other, and returns the number of steps.
fn run_block(
    block: &mut Block,
    warps: &mut [Warp],
    grid: &Grid<'_>,
    pace: Pace,
) -> Result<u64, RunError> {
    let mut executed_steps = 0;
    let turn = match pace {
        Pace::Run(max_steps) => Turn::new(grid, warps.len(), max_steps.min(1 << 14)),
        Pace::Look(max_steps) => Turn::in_order(warps.len(), max_steps),
    };
    block.turns += 1;
    let starved = match pace {
        Pace::Run(_) => Starved::warps(grid, block.turns),
        Pace::Look(_) => Starved::none(),
    };
    let count = warps.len();
    let turns = starved
        .passes()
        .flat_map(|pass| (0..count).map(move |position| (pass, position)));
    for (pass, position) in turns {
        let index = turn.warp(position);
        let Some(warp) = warps.get_mut(index) else {
            continue;
        };
        if !starved.is_in(index as u64, pass) || starved.waits(index as u64, executed_steps > 0) {
            continue;
        }
        let first = warp.first;
        let max_steps = match pace {
            Pace::Run(_) => turn
                .steps(position)
                .min(grid.steps_left().saturating_add(1)),
            Pace::Look(max_steps) => max_steps,
        };
        let steps = match warp.run(block, grid, max_steps) {
            Ok(steps) => steps,
            Err(failure) => return Err(grid.error(failure, block.index, first)),
        };
        executed_steps += steps;
        // Looking is bounded, and may be what follows the end of the steps.
        let counted: Result<(), StopReason> = match pace {
            Pace::Run(_) => grid.count(steps),
            Pace::Look(_) => {
                grid.progress.add_steps(steps);
                Ok(())
            }
        };
        counted
            .map_err(|reason| grid.error(Failure::without_step((reason, 0)), block.index, first))?;
        if matches!(pace, Pace::Look(_)) && has_changed(block) {
            break;
        }
    }
    Ok(executed_steps)
}

/// Whether an observer that looks whether threads only wait saw a change.
fn has_changed(block: &Block) -> bool {
    let mut changed = false;
    block.observe(|observer, _| {
        changed = Probe::of_observer(observer).is_some_and(|probe| probe.changed);
    });
    changed
}

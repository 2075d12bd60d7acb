//! Runs the clusters of a grid one after the other; those that wait for others run in turns.

use std::collections::VecDeque;

use super::block::ObserverCell;
use super::cluster::{Cluster, Look};
use super::grid::Grid;
use super::independent;
use super::watch::{self, Watch};
use crate::error::RunError;
use crate::executor::Executor;

/// The steps that a cluster makes before another one gets its turn: enough that most clusters end before.
pub(super) const TURN: u64 = 1 << 20;
/// The steps of a turn of clusters that may wait for others, before all have begun, and after that.
const DEPENDENT_TURNS: [u64; 2] = [1 << 16, 1 << 14];
/// The steps of the first turn of clusters that may cancel others: several of them begin before one has canceled all others.
const CANCELING_TURN: u64 = 1 << 8;
/// The steps that a cluster makes before it is looked whether it waits for others.
pub(super) const FIRST_TURN: u64 = 1 << 13;
/// The steps of a launch whose CTAs may wait for each other before it is looked whether they only wait.
const FIRST_LOOK: u64 = 1 << 17;

/// Runs all CTAs: on the threads of the executor if they do not depend on each other and are not observed, else in order.
pub(crate) fn run(
    grid: &Grid<'_>,
    executor: &dyn Executor,
    observer: &mut Option<ObserverCell>,
) -> Result<(), RunError> {
    if observer.is_none() && grid.is_independent() {
        independent::run(grid, executor)
    } else {
        // All CTAs run on this thread. They begin in the order of their indices; one that waits for later ones lets these run.
        run_from(grid, VecDeque::new(), observer)
    }
}

/// Runs a cluster for its first turn, which ends early if it already waits for others, and returns whether it made progress.
fn begin(
    grid: &Grid<'_>,
    cluster: &mut Cluster,
    turn: u64,
    observer: &mut Option<ObserverCell>,
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
    if cluster.is_done() {
        Ok(true)
    } else {
        cluster.run_observed(grid, turn - first, observer)
    }
}

/// Performs the pending asynchronous operations of all clusters, none of which can continue otherwise; returns whether there were any.
fn perform_operations(
    grid: &Grid<'_>,
    waiting: &mut VecDeque<Cluster>,
    observer: &mut Option<ObserverCell>,
) -> Result<bool, RunError> {
    let mut any = false;
    for cluster in waiting.iter_mut() {
        any |= cluster.perform_all_operations(grid, observer)?;
    }
    if any {
        waiting.iter_mut().for_each(Cluster::wake);
    }
    Ok(any)
}

/// Runs clusters that began and wait for each other.
pub(super) fn run_waiting(
    grid: &Grid<'_>,
    waiting: VecDeque<Cluster>,
    observer: &mut Option<ObserverCell>,
) -> Result<(), RunError> {
    grid.set_all_begun();
    run_from(grid, waiting, observer)
}

/// Runs clusters that began, and those that have not begun.
fn run_from(
    grid: &Grid<'_>,
    waiting: VecDeque<Cluster>,
    observer: &mut Option<ObserverCell>,
) -> Result<(), RunError> {
    let mut run = GridRun::new(grid, waiting);
    loop {
        match run.turn(observer)? {
            Turn::Ended => return Ok(()),
            Turn::Continues => {}
            Turn::Stuck(error) => {
                for cluster in &mut run.waiting {
                    cluster.show_stuck(grid, observer);
                }
                return Err(error);
            }
        }
    }
}

/// The result of a turn of a grid.
pub(super) enum Turn {
    /// All clusters have ended.
    Ended,
    Continues,
    /// No thread can continue, unless another grid changes something.
    Stuck(RunError),
}

/// A grid that runs on one thread, whose clusters have turns.
pub(super) struct GridRun<'g> {
    grid: &'g Grid<'g>,
    /// The clusters that began and have not ended.
    waiting: VecDeque<Cluster>,
    watch: Watch,
    /// The steps of a turn of a cluster before all have begun.
    first_turn: u64,
}

impl<'g> GridRun<'g> {
    pub(super) fn new(grid: &'g Grid<'g>, waiting: VecDeque<Cluster>) -> Self {
        let first_turn = if grid.program.may_cancel(grid.kernel) {
            CANCELING_TURN
        } else {
            DEPENDENT_TURNS[0]
        };
        Self {
            grid,
            waiting,
            watch: Watch::new(FIRST_LOOK),
            first_turn,
        }
    }

    /// Lets threads try again that wait for another grid.
    pub(super) fn resume(&mut self) {
        self.waiting.iter_mut().for_each(Cluster::resume_grid);
    }

    /// Runs the next cluster for some steps.
    pub(super) fn turn(&mut self, observer: &mut Option<ObserverCell>) -> Result<Turn, RunError> {
        let grid = self.grid;
        let may_begin = self.waiting.len() < grid.limits.resident_clusters;
        let begun = may_begin.then(|| grid.take_cluster()).flatten();
        let begins = begun.is_some();
        let mut cluster = if let Some(number) = begun {
            Cluster::new(grid, grid.clusters().index(number))?
        } else {
            match self.waiting.pop_front() {
                Some(cluster) => cluster,
                None => return Ok(Turn::Ended),
            }
        };
        let turn = if grid.have_all_begun() {
            DEPENDENT_TURNS[1]
        } else {
            self.first_turn
        };
        let progress = if begins {
            begin(grid, &mut cluster, turn, observer)
        } else {
            cluster.run_observed(grid, turn, observer)
        };
        let progress = match progress {
            Ok(progress) => progress,
            Err(error) => {
                self.waiting.push_front(cluster);
                return Err(watch::explain(grid, &mut self.waiting, observer, error));
            }
        };
        if cluster.is_done() {
            self.end(&cluster);
            // Those that waited may depend on it.
            self.waiting.iter_mut().for_each(Cluster::wake);
            return Ok(Turn::Continues);
        }
        if progress {
            self.waiting.iter_mut().for_each(Cluster::wake);
            cluster.wake();
        }
        self.waiting.push_back(cluster);
        if !grid.have_all_begun() && self.waiting.len() < grid.limits.resident_clusters {
            return Ok(Turn::Continues);
        }
        match self.stuck(observer)? {
            Some(_) if perform_operations(grid, &mut self.waiting, observer)? => {
                Ok(Turn::Continues)
            }
            Some(error) => Ok(Turn::Stuck(error)),
            None => Ok(Turn::Continues),
        }
    }

    /// The error of clusters none of which can continue; `None` if one may continue.
    fn stuck(&mut self, observer: &mut Option<ObserverCell>) -> Result<Option<RunError>, RunError> {
        let grid = self.grid;
        if self.waiting.iter().all(Cluster::is_stuck) {
            return Ok(Some(watch::stuck(grid, &self.waiting)));
        }
        let steps = grid.progress.steps();
        if !self.watch.is_due(steps) {
            return Ok(None);
        }
        let observation = self.watch.look(grid, &mut self.waiting, steps, observer)?;
        self.waiting.iter_mut().for_each(Cluster::wake);
        self.retain_running();
        Ok((observation.look == Look::Repeats).then(|| watch::deadlock(observation.waits)))
    }

    /// Removes clusters that ended while they were looked at.
    fn retain_running(&mut self) {
        let all = core::mem::take(&mut self.waiting);
        for cluster in all {
            if cluster.is_done() {
                self.end(&cluster);
            } else {
                self.waiting.push_back(cluster);
            }
        }
    }

    /// Counts the CTAs of a cluster that ended.
    fn end(&self, cluster: &Cluster) {
        self.grid.cluster_ended();
        let blocks = cluster.blocks();
        let unreleased = blocks.filter(|(block, _)| !block.releases_dependents);
        self.grid.dependency.release(unreleased.count() as u64);
    }
}

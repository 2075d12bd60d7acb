//! Looks from time to time whether the threads of a launch only wait for what nothing changes, and describes it.

use core::cell::RefCell;
use std::collections::VecDeque;

use super::block::Observing;
use super::cluster::{Cluster, Look};
use super::grid::Grid;
use super::probe::{Probe, ProbeEffort};
use super::waits::{add, waits};
use crate::error::{RunError, StopReason, Wait};

/// The steps that a look may take at least.
const LOOK: u64 = 1 << 12;
/// The steps that the look at a cluster that has just begun may take.
const FIRST: u64 = 1 << 10;
/// The number of steps of a launch for which a look may take one.
const PART: u64 = 1 << 12;
/// The steps after which changes of memory that only one loop accesses are followed.
const PATIENT_FROM: u64 = 1 << 19;
/// The most clusters that are described at the end of a launch.
const DESCRIBED: usize = 1024;

/// The time of the next look: after a number of steps, and then each time after twice as many, so that all looks together cost little.
#[derive(Debug)]
pub(super) struct Watch {
    next: u64,
}

/// The result of a look at clusters.
pub(super) struct Found {
    pub(super) look: Look,
    /// Whether the threads read memory that other clusters have as well.
    pub(super) reads_global: bool,
    pub(super) waits: Vec<Wait>,
}

impl Watch {
    pub(super) const fn new(first: u64) -> Self {
        Self { next: first }
    }

    /// Whether it is time to look, after a number of steps.
    pub(super) const fn is_due(&self, steps: u64) -> bool {
        steps >= self.next
    }

    /// Looks at clusters, after a number of steps.
    pub(super) fn look(
        &mut self,
        grid: &Grid<'_>,
        clusters: &mut VecDeque<Cluster>,
        (steps, observer): (u64, &mut Option<Observing>),
    ) -> Result<Found, RunError> {
        self.next = steps.saturating_mul(2).max(self.next);
        let most = (steps / PART).max(LOOK);
        let first_look = look(grid, clusters, (most, ProbeEffort::Quick, observer))?;
        if first_look.look != Look::Changes || steps < PATIENT_FROM {
            return Ok(first_look);
        }
        look(grid, clusters, (most, ProbeEffort::Thorough, observer))
    }
}

/// Whether all threads of a cluster wait for others.
pub(super) fn waits_already(
    grid: &Grid<'_>,
    cluster: &mut Cluster,
    observer: &mut Option<Observing>,
) -> Result<bool, RunError> {
    looking(observer, ProbeEffort::Quick, |observer| {
        let outcome = cluster.look(grid, FIRST, observer)?;
        with(observer, |probe| probe.is_enabled = false);
        Ok(outcome == Look::Repeats)
    })
}

/// Looks at clusters for about that many steps of each of them.
fn look(
    grid: &Grid<'_>,
    clusters: &mut VecDeque<Cluster>,
    (most, effort, observer): (u64, ProbeEffort, &mut Option<Observing>),
) -> Result<Found, RunError> {
    looking(observer, effort, |observer| {
        let mut outcome = Look::Repeats;
        for cluster in clusters.iter_mut() {
            outcome = cluster.look(grid, most, observer)?;
            if outcome != Look::Repeats {
                break;
            }
        }
        let described = with(observer, |probe| {
            probe.is_enabled = false;
            let shown = clusters.iter().take(DESCRIBED);
            let is_final = outcome == Look::Repeats;
            (
                probe.reads_global,
                waits(grid, shown, Some(probe), is_final),
            )
        });
        let (reads_global, waits) = described.unwrap_or_default();
        Ok(Found {
            look: outcome,
            reads_global,
            waits,
        })
    })
}

/// Does something with an observer that looks.
fn looking<R>(
    observer: &mut Option<Observing>,
    effort: ProbeEffort,
    with_it: impl FnOnce(&mut Option<Observing>) -> R,
) -> R {
    let mut own: Option<Observing>;
    let observer = match observer {
        Some(_) => observer,
        None => {
            own = Some(RefCell::new(Box::<Probe>::default() as Box<_>));
            &mut own
        }
    };
    with(observer, |probe| probe.start(effort));
    with_it(observer)
}

/// Calls a function with the part of the observer that looks.
fn with<R>(observer: &Option<Observing>, ask: impl FnOnce(&mut Probe) -> R) -> Option<R> {
    let mut observer = observer.as_ref()?.try_borrow_mut().ok()?;
    Probe::of_observer(&mut **observer).map(ask)
}

/// The error of a launch whose threads all wait.
pub(super) fn deadlock(waits: Vec<Wait>) -> RunError {
    let mut error = RunError::new(StopReason::Deadlock);
    add(&mut error, waits);
    error
}

/// The error of a launch whose threads all wait at barriers.
pub(super) fn stuck(grid: &Grid<'_>, clusters: &VecDeque<Cluster>) -> RunError {
    deadlock(waits(grid, clusters.iter().take(DESCRIBED), None, true))
}

/// Adds to an error what threads wait for, if the launch reached a limit of steps or time.
pub(super) fn explain(
    grid: &Grid<'_>,
    clusters: &mut VecDeque<Cluster>,
    observer: &mut Option<Observing>,
    mut error: RunError,
) -> RunError {
    if !matches!(
        error.reason,
        StopReason::StepLimit | StopReason::TimeLimit(_)
    ) {
        return error;
    }
    clusters.truncate(DESCRIBED);
    if let Ok(found) = look(grid, clusters, (LOOK, ProbeEffort::Quick, observer)) {
        add(&mut error, found.waits);
    }
    error
}

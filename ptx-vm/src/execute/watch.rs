//! Regular looks at the threads of a launch, which find out whether all of them wait for changes that cannot happen.

use core::cell::RefCell;
use std::collections::VecDeque;

use super::block::ObserverCell;
use super::cluster::{Cluster, Look};
use super::grid::Grid;
use super::probe::{Probe, ProbeEffort};
use super::waits::{add_waits, waits};
use crate::error::{RunError, StopReason, Wait};

/// The least number of steps that a look may take.
const LEAST_LOOK: u64 = 1 << 12;
/// The number of steps that the look at a cluster that has just begun may take.
const FIRST_LOOK: u64 = 1 << 10;
/// The number of steps of a launch for each step of a look.
const LAUNCH_STEPS_PER_STEP: u64 = 1 << 12;
/// The number of steps of a launch from which on looks are thorough.
const THOROUGH_FROM: u64 = 1 << 19;
/// The maximum number of clusters that are described at the end of a launch.
const MOST_DESCRIBED: usize = 1024;

/// The time of the next look. The number of steps between looks doubles, so that all looks together cost little.
#[derive(Debug)]
pub(super) struct Watch {
    /// The number of steps of the launch at the next look.
    next: u64,
}

/// The result of a look at clusters.
pub(super) struct Observation {
    pub(super) look: Look,
    /// The threads read global memory, which other clusters may change.
    pub(super) reads_global: bool,
    /// The descriptions of the waits.
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
        steps: u64,
        observer: &mut Option<ObserverCell>,
    ) -> Result<Observation, RunError> {
        self.next = steps.saturating_mul(2).max(self.next);
        let max_steps = (steps / LAUNCH_STEPS_PER_STEP).max(LEAST_LOOK);
        let first_look = look(grid, clusters, max_steps, ProbeEffort::Quick, observer)?;
        if first_look.look != Look::Changes || steps < THOROUGH_FROM {
            return Ok(first_look);
        }
        look(grid, clusters, max_steps, ProbeEffort::Thorough, observer)
    }
}

/// Whether all threads of a cluster wait for others.
pub(super) fn waits_already(
    grid: &Grid<'_>,
    cluster: &mut Cluster,
    observer: &mut Option<ObserverCell>,
) -> Result<bool, RunError> {
    with_probe(observer, ProbeEffort::Quick, |observer| {
        let outcome = cluster.look(grid, FIRST_LOOK, observer)?;
        use_probe(observer, |probe| probe.is_enabled = false);
        Ok(outcome == Look::Repeats)
    })
}

/// Looks at clusters for about `max_steps` steps of each of them.
fn look(
    grid: &Grid<'_>,
    clusters: &mut VecDeque<Cluster>,
    max_steps: u64,
    effort: ProbeEffort,
    observer: &mut Option<ObserverCell>,
) -> Result<Observation, RunError> {
    with_probe(observer, effort, |observer| {
        let mut outcome = Look::Repeats;
        for cluster in clusters.iter_mut() {
            outcome = cluster.look(grid, max_steps, observer)?;
            if outcome != Look::Repeats {
                break;
            }
        }
        let described = use_probe(observer, |probe| {
            probe.is_enabled = false;
            let described = clusters.iter().take(MOST_DESCRIBED);
            let is_final = outcome == Look::Repeats;
            let waits = waits(grid, described, Some(probe), is_final);
            (probe.reads_global, waits)
        });
        let (reads_global, waits) = described.unwrap_or_default();
        Ok(Observation {
            look: outcome,
            reads_global,
            waits,
        })
    })
}

/// Calls `look` with an observer that contains a probe: the observer of the launch, or a probe alone.
fn with_probe<R>(
    observer: &mut Option<ObserverCell>,
    effort: ProbeEffort,
    look: impl FnOnce(&mut Option<ObserverCell>) -> R,
) -> R {
    let mut probe_alone: Option<ObserverCell>;
    let observer = match observer {
        Some(_) => observer,
        None => {
            probe_alone = Some(RefCell::new(Box::<Probe>::default() as Box<_>));
            &mut probe_alone
        }
    };
    use_probe(observer, |probe| probe.start(effort));
    look(observer)
}

/// Calls a function with the probe of an observer.
fn use_probe<R>(
    observer: &Option<ObserverCell>,
    function: impl FnOnce(&mut Probe) -> R,
) -> Option<R> {
    let mut observer = observer.as_ref()?.try_borrow_mut().ok()?;
    Probe::of_observer(&mut **observer).map(function)
}

/// The error of a launch whose threads all wait.
pub(super) fn deadlock(waits: Vec<Wait>) -> RunError {
    let mut error = RunError::new(StopReason::Deadlock);
    add_waits(&mut error, waits);
    error
}

/// The error of a launch whose threads all wait at barriers.
pub(super) fn stuck(grid: &Grid<'_>, clusters: &VecDeque<Cluster>) -> RunError {
    deadlock(waits(
        grid,
        clusters.iter().take(MOST_DESCRIBED),
        None,
        true,
    ))
}

/// Adds the descriptions of waits to an error, if the launch reached a limit of steps or time.
pub(super) fn explain(
    grid: &Grid<'_>,
    clusters: &mut VecDeque<Cluster>,
    observer: &mut Option<ObserverCell>,
    mut error: RunError,
) -> RunError {
    if !matches!(
        error.reason,
        StopReason::StepLimit | StopReason::TimeLimit(_)
    ) {
        return error;
    }
    clusters.truncate(MOST_DESCRIBED);
    if let Ok(observation) = look(grid, clusters, LEAST_LOOK, ProbeEffort::Quick, observer) {
        add_waits(&mut error, observation.waits);
    }
    error
}

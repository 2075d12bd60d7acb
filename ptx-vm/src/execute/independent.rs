//! Clusters that do not depend on each other: they run on as many threads as the executor of the launch has.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cluster::{Cluster, Look};
use super::grid::Grid;
use super::run::{FIRST_TURN, TURN, run_waiting};
use super::watch::{self, Watch};
use crate::error::{RunError, Wait};
use crate::executor::Executor;

/// The clusters that the executor is given at a time: no more of them begin after one has failed.
const BATCH: u64 = 1 << 14;

/// Runs all clusters; the error is that of the first cluster that has one. Those that read memory that another cluster may change yet, and do nothing
/// else, go on after all others have ended.
pub(super) fn run(grid: &Grid<'_>, executor: &dyn Executor) -> Result<(), RunError> {
    let waiting: Mutex<BTreeMap<u64, Cluster>> = Mutex::default();
    // The least cluster that failed.
    let failed = AtomicU64::new(u64::MAX);
    let error: Mutex<Option<(u64, RunError)>> = Mutex::new(None);
    let run_number = |number: u64| {
        if number > failed.load(Ordering::Relaxed) {
            return;
        }
        let any_waits = waiting.lock().is_ok_and(|all| !all.is_empty());
        let failure = match run_cluster(grid, number, any_waits) {
            Ok(None) => return,
            Ok(Some((cluster, waits))) => match waiting.lock() {
                Ok(mut all) if all.len() < grid.limits.resident_clusters => {
                    all.insert(number, cluster);
                    return;
                }
                _ => watch::deadlock(waits),
            },
            Err(failure) => failure,
        };
        failed.fetch_min(number, Ordering::Relaxed);
        if let Ok(mut error) = error.lock()
            && error.as_ref().is_none_or(|(known, _)| number < *known)
        {
            *error = Some((number, failure));
        }
    };
    let count_of_clusters = grid.clusters().count();
    let mut start = 0;
    while start < count_of_clusters && failed.load(Ordering::Relaxed) == u64::MAX {
        let count = BATCH.min(count_of_clusters - start);
        executor.run(count, &|offset| run_number(start + offset));
        start += count;
    }
    match error.into_inner() {
        Ok(Some((_, error))) => Err(error),
        _ => {
            let waiting = waiting.into_inner().unwrap_or_default();
            run_waiting(grid, waiting.into_values().collect(), &mut None)
        }
    }
}

/// Runs a cluster to its end. If it reads memory that others may change yet, returns the cluster and the waits of its threads. `soon` says that this is
/// tried soon, because another cluster did it.
fn run_cluster(
    grid: &Grid<'_>,
    number: u64,
    soon: bool,
) -> Result<Option<(Cluster, Vec<Wait>)>, RunError> {
    let cluster = Cluster::new(grid, grid.clusters().index(number))?;
    let mut clusters = VecDeque::from([cluster]);
    let turn = if soon { FIRST_TURN } else { TURN };
    let (mut watch, mut steps) = (Watch::new(turn), 0);
    while let Some(cluster) = clusters.front_mut()
        && !cluster.is_done()
    {
        let turn = turn.max(steps).min(TURN);
        match cluster.run_observed(grid, turn, &mut None) {
            Ok(true) => {}
            Ok(false) => return Err(watch::stuck(grid, &clusters)),
            Err(error) => return Err(watch::explain(grid, &mut clusters, &mut None, error)),
        }
        steps += turn;
        if cluster.is_done() || !watch.is_due(steps) {
            continue;
        }
        let observation = watch.look(grid, &mut clusters, steps, &mut None)?;
        if observation.look == Look::Repeats {
            if observation.reads_global && grid.clusters().count() > 1 {
                return Ok(clusters
                    .pop_front()
                    .map(|cluster| (cluster, observation.waits)));
            }
            return Err(watch::deadlock(observation.waits));
        }
    }
    grid.cluster_ended();
    Ok(None)
}

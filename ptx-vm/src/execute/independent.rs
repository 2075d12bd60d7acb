//! Clusters that do not depend on each other: they run on as many threads as the executor of the launch has.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::block::Cluster;
use super::grid::{Grid, TURN};
use crate::error::{RunError, StopReason};
use crate::executor::Executor;

/// The clusters that the executor is given at a time: no more of them begin after one has failed.
const BATCH: u64 = 1 << 14;

/// Runs all clusters; the error is that of the first cluster that has one.
pub(super) fn run(grid: &Grid<'_>, executor: &dyn Executor) -> Result<(), RunError> {
    // The least cluster that failed.
    let failed = AtomicU64::new(u64::MAX);
    let error: Mutex<Option<(u64, RunError)>> = Mutex::new(None);
    let run = |number: u64| {
        if number > failed.load(Ordering::Relaxed) {
            return;
        }
        let Err(found) = run_cluster(grid, number) else {
            return;
        };
        failed.fetch_min(number, Ordering::Relaxed);
        if let Ok(mut error) = error.lock()
            && error.as_ref().is_none_or(|(of, _)| number < *of)
        {
            *error = Some((number, found));
        }
    };
    let all = grid.clusters().count();
    let mut start = 0;
    while start < all && failed.load(Ordering::Relaxed) == u64::MAX {
        let count = BATCH.min(all - start);
        executor.run(count, &|n| run(start + n));
        start += count;
    }
    match error.into_inner() {
        Ok(Some((_, error))) => Err(error),
        _ => Ok(()),
    }
}

/// Runs a cluster to its end.
fn run_cluster(grid: &Grid<'_>, number: u64) -> Result<(), RunError> {
    let mut cluster = Cluster::new(grid, grid.clusters().index(number))?;
    while !cluster.is_done() {
        if !cluster.run_observed(grid, TURN, &mut None)? {
            let mut error = RunError::new(StopReason::Deadlock);
            error.block = cluster.first_block();
            return Err(error);
        }
    }
    grid.cluster_ended();
    Ok(())
}

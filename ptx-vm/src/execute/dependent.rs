//! Dependent launches: grids that may begin before the one before them has ended (9.7.13.13).
//!
//! A grid may begin when all CTAs of the one before have issued `launch_dependents` or ended. The machine runs grids in the order that makes a missing wait
//! visible: a later grid runs as far as it can before an earlier one goes on. CTAs that have issued `launch_dependents` therefore wait until the next grid has
//! begun and cannot continue, unless the grid itself needs them.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::VecDeque;

use ptx_isa::Modifier;

use super::execution::{Control, Execution, Outcome};
use super::grid::Grid;
use super::groups::State;
use super::run::{GridRun, Turn};
use crate::error::RunError;
use crate::program::Act;

/// The number of turns of later grids before an earlier one has a turn that could go on.
const MOST_DELAY: u32 = 256;

/// The state of a grid that others depend on, or that depends on others.
#[derive(Debug, Default)]
pub(crate) struct Dependency {
    /// Earlier grids have not ended.
    is_pending: AtomicBool,
    /// CTAs that have issued `launch_dependents` wait.
    holds: AtomicBool,
    /// The number of CTAs that have issued `launch_dependents` or ended.
    released: AtomicU64,
}

impl Dependency {
    /// The state of a grid at a position in a sequence of launches, of which there are `count`.
    pub(crate) fn of_position(position: usize, count: usize) -> Self {
        Self {
            is_pending: AtomicBool::new(position > 0),
            holds: AtomicBool::new(position + 1 < count),
            released: AtomicU64::new(0),
        }
    }

    /// Counts CTAs that have issued `launch_dependents` or ended.
    pub(super) fn release(&self, blocks: u64) {
        self.released.fetch_add(blocks, Ordering::Relaxed);
    }
}

impl Execution<'_> {
    /// Waits for earlier grids, or lets later ones begin.
    pub(super) fn grid_dependency(&mut self, act: &Act) -> Outcome {
        let dependency = &self.grid.dependency;
        let waits = if act.has(Modifier::Wait) {
            dependency.is_pending.load(Ordering::Relaxed)
        } else {
            if !core::mem::replace(&mut self.block.releases_dependents, true) {
                dependency.release(1);
            }
            dependency.holds.load(Ordering::Relaxed)
        };
        Ok(if waits {
            Control::Wait(State::OtherGrid)
        } else {
            Control::Next
        })
    }
}

/// A grid of a sequence.
struct Member<'g> {
    grid: &'g Grid<'g>,
    run: GridRun<'g>,
    has_ended: bool,
    /// The error if no other grid changes anything; `None` if threads may continue.
    stuck: Option<RunError>,
    /// The number of steps.
    steps: u64,
}

impl Member<'_> {
    /// Whether the next grid may begin.
    fn releases_next(&self) -> bool {
        let blocks: u64 = self.grid.blocks.iter().map(|&n| u64::from(n)).product();
        self.has_ended || self.grid.dependency.released.load(Ordering::Relaxed) >= blocks
    }

    const fn can_run(&self) -> bool {
        !self.has_ended && self.stuck.is_none()
    }

    fn resume(&mut self) {
        self.run.resume();
        self.stuck = None;
    }

    /// Lets CTAs go on that wait after `launch_dependents`.
    fn let_go_on(&mut self) {
        self.grid.dependency.holds.store(false, Ordering::Relaxed);
        self.resume();
    }
}

/// Runs grids, each of which depends on the one before, and returns the number of steps of each. The error is that of the grid at a position.
pub(crate) fn run_dependent(grids: &[Grid<'_>]) -> Result<Vec<u64>, (usize, RunError)> {
    let mut members: Vec<Member<'_>> = grids
        .iter()
        .map(|grid| Member {
            grid,
            run: GridRun::new(grid, VecDeque::new()),
            has_ended: false,
            stuck: None,
            steps: 0,
        })
        .collect();
    // The number of turns since the first grid that has not ended had one.
    let mut delay = 0;
    loop {
        let begun = members.iter().take_while(|member| member.releases_next());
        let begun = (begun.count() + 1).min(members.len());
        let first = members.iter().position(|member| !member.has_ended);
        let latest = members[..begun].iter().rposition(Member::can_run);
        let position = match (first, latest) {
            // Later grids may wait for it in loops that change memory.
            (Some(first), Some(_)) if delay >= MOST_DELAY => {
                members[first].let_go_on();
                first
            }
            (_, Some(latest)) => latest,
            (_, None) => {
                if !continue_held(&mut members)? {
                    return Ok(members.iter().map(|member| member.steps).collect());
                }
                continue;
            }
        };
        delay = if first == Some(position) {
            0
        } else {
            delay + 1
        };
        let member = &mut members[position];
        let steps_before = member.grid.progress.steps();
        let turn = member.run.turn(&mut None);
        member.steps += member.grid.progress.steps() - steps_before;
        match turn.map_err(|error| (position, error))? {
            Turn::Ended => {
                member.has_ended = true;
                let ended = members.iter().take_while(|member| member.has_ended).count();
                if let Some(next) = members.get_mut(ended) {
                    next.grid
                        .dependency
                        .is_pending
                        .store(false, Ordering::Relaxed);
                }
                members.iter_mut().for_each(Member::resume);
            }
            Turn::Continues => {
                for (other, member) in members.iter_mut().enumerate() {
                    if other != position {
                        // The memory that they wait for may have changed.
                        member.stuck = None;
                    }
                }
            }
            Turn::Stuck(error) => member.stuck = Some(error),
        }
    }
}

/// Lets the first grid go on whose CTAs wait after `launch_dependents`; returns whether there is any grid that has not ended. The error is that of the first
/// grid that cannot continue.
fn continue_held(members: &mut [Member<'_>]) -> Result<bool, (usize, RunError)> {
    let mut unfinished = members.iter_mut().filter(|member| !member.has_ended);
    if let Some(member) = unfinished.find(|m| m.grid.dependency.holds.load(Ordering::Relaxed)) {
        member.let_go_on();
        return Ok(true);
    }
    for (position, member) in members.iter_mut().enumerate() {
        if !member.has_ended
            && let Some(error) = member.stuck.take()
        {
            return Err((position, error));
        }
    }
    Ok(false)
}

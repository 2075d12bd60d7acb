//! Launches from kernels: the grids and the copies that follow a grid, one after the other.

use std::collections::VecDeque;
use std::time::Instant;

use super::Device;
use super::running::{GridOfRun, Run};
use crate::error::{RunError, StopReason};
use crate::execute::{ChildLaunch, CopyOfRows, Launches, Source, Work};
use crate::launch::Launch;

/// The bytes of a copy between looks at the clock.
const PART: u64 = 1 << 16;
/// The bytes of a copy that count as a step, and the rows.
const BYTES_OF_STEP: u64 = 512;

/// The work that a grid left. Its tail begins when all other work is done, together with the work that that leaves.
struct Remaining {
    children: VecDeque<Work>,
    tail: VecDeque<Work>,
    /// The depth of the grid.
    depth: u32,
}

impl Remaining {
    fn new(launches: Launches, depth: u32) -> Self {
        Self {
            children: launches.children.into(),
            tail: launches.tail.into(),
            depth,
        }
    }

    /// The next work, and the depth of its grid. A tail launch replaces the grid, so it has the same depth.
    fn next(&mut self) -> Option<(Work, u32)> {
        match self.children.pop_front() {
            Some(work) => Some((work, self.depth + 1)),
            None => Some((self.tail.pop_front()?, self.depth)),
        }
    }

    fn is_empty(&self) -> bool {
        self.children.is_empty() && self.tail.is_empty()
    }
}

impl<'m> Device<'m> {
    /// Runs the first grid of a launch, and then all work that it and later grids request: the work of a grid is done when that of its children is done.
    pub(super) fn run_with_children(
        &mut self,
        run: &mut Run<'_, 'm>,
        first: &GridOfRun<'_>,
    ) -> Result<(), RunError> {
        let launches = self.run_grid(run, first)?;
        self.run_requested(run, launches)
    }

    /// Runs the work that the first grid of a launch requested, and all that later grids request.
    pub(super) fn run_requested(
        &mut self,
        run: &mut Run<'_, 'm>,
        launches: Launches,
    ) -> Result<(), RunError> {
        let mut unfinished = vec![Remaining::new(launches, 0)];
        while let Some(grid) = unfinished.last_mut() {
            let next = grid.next();
            // A chain of tail launches does not grow.
            if grid.is_empty() {
                unfinished.pop();
            }
            match next {
                None => {}
                Some((Work::Launch(child), depth)) => {
                    let launches = self.run_child(run, &child, depth)?;
                    unfinished.push(Remaining::new(launches, depth));
                }
                Some((Work::Copy(copy), _)) => self.copy_rows(run, &copy)?,
            }
        }
        Ok(())
    }

    /// Copies or fills rows of bytes.
    fn copy_rows(&mut self, run: &Run<'_, 'm>, copy: &CopyOfRows) -> Result<(), RunError> {
        for row in 0..copy.height {
            let target = copy.target.row(row);
            for offset in (0..copy.width.max(1)).step_by(PART as usize) {
                let bytes = (copy.width - offset.min(copy.width)).min(PART);
                run.count(1 + bytes / BYTES_OF_STEP)?;
                let mut part = vec![0; bytes as usize];
                let target = target.wrapping_add(offset);
                let copied = match copy.source {
                    Source::Byte(byte) => {
                        part.fill(byte);
                        Ok(())
                    }
                    Source::Memory(rows) => {
                        let source = rows.row(row).wrapping_add(offset);
                        self.memory.read_bytes(source, &mut part)
                    }
                };
                copied
                    .and_then(|()| self.memory.write_bytes(target, &part))
                    .map_err(|fault| RunError::new(self.memory.reason(fault)))?;
                self.set_written(target, bytes);
            }
        }
        Ok(())
    }

    fn run_child(
        &mut self,
        run: &mut Run<'_, 'm>,
        child: &ChildLaunch,
        depth: u32,
    ) -> Result<Launches, RunError> {
        let configuration = child.configuration;
        let function = run.loaded.program.function(configuration.kernel);
        let launch = Launch {
            kernel: function.map_or_else(String::new, |function| function.name.clone()),
            grid: configuration.grid,
            block: configuration.block,
            cluster: [1; 3],
            shared: configuration.shared,
            arguments: Vec::new(),
            cooperative: None,
            ..run.launch.clone()
        };
        let grid = GridOfRun {
            kernel: configuration.kernel,
            launch: &launch,
            parameters: &child.parameters,
            depth,
        };
        self.prepare(run, &grid)?;
        self.run_grid(run, &grid)
    }
}

impl Run<'_, '_> {
    /// Counts steps that are not those of a grid; an error if the launch has to end.
    fn count(&self, steps: u64) -> Result<(), RunError> {
        let limits = self.launch.limits;
        let all = self.progress.add_steps(steps).saturating_add(steps);
        let reason = if self.progress.is_canceled() {
            StopReason::Canceled
        } else if all > limits.steps {
            StopReason::StepLimit
        } else if self.deadline.is_some_and(|end| Instant::now() >= end) {
            StopReason::TimeLimit(limits.time.unwrap_or_default())
        } else {
            return Ok(());
        };
        Err(RunError::new(reason))
    }
}

//! Sequences of launches, each of which is a programmatic dependent of the one before.

use std::sync::Arc;

use super::Device;
use super::modules::{LoadedModule, ModuleId};
use super::running::{GridOfRun, Run, deadline, kernel, parameters};
use crate::account::Held;
use crate::check::EarlierWrites;
use crate::error::RunError;
use crate::execute::{Dependency, run_dependent};
use crate::executor::{Progress, RunOptions};
use crate::launch::{Launch, Outcome};

/// A launch of a sequence that may begin.
struct Prepared<'r, 'm> {
    run: Run<'r, 'm>,
    kernel: ptx_ir::FuncId,
    parameters: Vec<u8>,
    workspace: u64,
}

impl<'m> Device<'m> {
    /// Runs kernels to their ends, each of which (but the first) is a programmatic dependent launch: it may begin when all CTAs of the one before have issued
    /// `griddepcontrol.launch_dependents` or ended. `griddepcontrol.wait` waits until all earlier ones have ended.
    ///
    /// A kernel runs as far as it can before an earlier one goes on, so that a missing wait changes results. Sequences with checkers, a profile or an observer run
    /// one kernel after the other, and [`Checker::Racecheck`](crate::Checker::Racecheck) reports accesses without a wait. All kernels run on one thread of the
    /// host. Limits hold for all kernels together; of the limits of memory, the greatest one.
    ///
    /// ```
    /// use ptx_vm::{Device, Launch, RunOptions};
    ///
    /// let module = ptx_parse::parse_str(
    ///     ".version 8.0\n.target sm_90\n.address_size 64\n
    ///     .visible .entry first(.param .u64 data)\n{\n
    ///     .reg .b64 %rd1;\n
    ///     ld.param.u64 %rd1, [data];\n
    ///     griddepcontrol.launch_dependents;\n
    ///     st.global.u32 [%rd1], 5;\n
    ///     ret;\n}\n
    ///     .visible .entry second(.param .u64 data)\n{\n
    ///     .reg .b32 %r1;\n.reg .b64 %rd1;\n
    ///     ld.param.u64 %rd1, [data];\n
    ///     griddepcontrol.wait;\n
    ///     ld.global.u32 %r1, [%rd1];\n
    ///     st.global.u32 [%rd1+4], %r1;\n
    ///     ret;\n}\n",
    /// )
    /// .into_result()?;
    /// let mut device = Device::new();
    /// let id = device.load(&module)?;
    /// let data = device.allocate(8).ok_or("no memory")?;
    /// let launches = ["first", "second"].map(|kernel| Launch::new(kernel).argument(data.to_le_bytes()));
    /// let launches = launches.each_ref().map(|launch| (id, launch));
    /// device.launch_dependent(&launches, RunOptions::default())?;
    /// assert_eq!(device.read_slice::<u32>(data, 2)?, [5, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a module is not loaded, a launch is invalid or an instruction fails. No kernel runs if a launch is invalid.
    pub fn launch_dependent(
        &mut self,
        launches: &[(ModuleId, &Launch)],
        options: RunOptions<'_>,
    ) -> Result<Vec<Outcome>, RunError> {
        let is_observed = options.observer.is_some()
            || launches
                .iter()
                .any(|(_, launch)| !launch.checks.is_empty() || launch.profile);
        if !is_observed {
            return self.launch_overlapping(launches, options);
        }
        self.earlier_writes = Some(Arc::new(EarlierWrites::none(self.memory.start())));
        let mut reports = Vec::new();
        let mut outcomes = Vec::new();
        let mut failed = None;
        for (module, launch) in launches {
            let ended = self.launch_with(*module, launch, options);
            reports.append(&mut self.reports);
            match ended {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.earlier_writes = None;
        self.reports = reports;
        failed.map_or(Ok(outcomes), Err)
    }

    /// Runs a sequence without observers.
    fn launch_overlapping(
        &mut self,
        launches: &[(ModuleId, &Launch)],
        options: RunOptions<'_>,
    ) -> Result<Vec<Outcome>, RunError> {
        let loaded = launches.iter().map(|(module, _)| self.loaded(*module));
        let loaded: Vec<Arc<LoadedModule<'m>>> = loaded.collect::<Result<_, _>>()?;
        let default_progress = Progress::default();
        let progress = options.progress.unwrap_or(&default_progress);
        let mut members = Vec::new();
        for (loaded, (_, launch)) in loaded.iter().zip(launches) {
            members.push(self.prepare_member(loaded, launch, options, progress)?);
        }
        progress.start();
        let memory = launches
            .iter()
            .map(|(_, launch)| launch.limits.memory_bytes);
        if let Some(bytes) = memory.max() {
            self.memory.account().set_limit(bytes);
        }
        self.output.clear();
        self.reports.clear();
        self.profile = None;
        let count = members.len();
        let grids: Vec<_> = members
            .iter()
            .enumerate()
            .map(|(position, member)| {
                let grid = GridOfRun {
                    kernel: member.kernel,
                    launch: member.run.launch,
                    parameters: &member.parameters,
                    depth: 0,
                };
                let dependency = Dependency::of_position(position, count);
                self.grid(&member.run, &grid, member.workspace, dependency)
            })
            .collect();
        let (steps, failed) = match run_dependent(&grids) {
            Ok(steps) => (steps, None),
            Err(failed) => (vec![0; count], Some(failed)),
        };
        let mut ends = Vec::new();
        for (position, grid) in grids.into_iter().enumerate() {
            let error = failed.as_ref().filter(|(failed, _)| *failed == position);
            let output = grid.printed(error.map(|(_, error)| error));
            ends.push((output, grid.launches.into_inner().unwrap_or_default()));
        }
        let mut outcomes = Vec::new();
        let mut requested = Vec::new();
        for ((member, (output, launches)), steps) in members.iter_mut().zip(ends).zip(steps) {
            outcomes.push(Outcome {
                steps,
                output: output.clone(),
            });
            let kept_output = self.end_grid(&mut member.run, output);
            kept_output.map_err(RunError::new)?;
            requested.push(launches);
        }
        self.state.written = self.all_written();
        if let Some((_, error)) = failed {
            return Err(error);
        }
        for ((member, launches), outcome) in members.iter_mut().zip(requested).zip(&mut outcomes) {
            let (steps, output) = (progress.steps(), self.output.len());
            self.run_requested(&mut member.run, launches)?;
            outcome.steps += progress.steps() - steps;
            let new_output = self.output.get(output..);
            outcome
                .output
                .extend_from_slice(new_output.unwrap_or_default());
        }
        Ok(outcomes)
    }

    /// Checks a launch of a sequence, and allocates the memory that it needs besides its own.
    fn prepare_member<'r>(
        &mut self,
        loaded: &'r LoadedModule<'m>,
        launch: &'r Launch,
        options: RunOptions<'r>,
        progress: &'r Progress,
    ) -> Result<Prepared<'r, 'm>, RunError> {
        let kernel = kernel(loaded, launch)?;
        let parameters = parameters(loaded, kernel, launch)?;
        let run = Run {
            loaded,
            launch,
            options,
            progress,
            deadline: launch.limits.time.and_then(deadline),
            output_held: Held::new(Arc::clone(self.memory.account())),
            counts: None,
            grids: 0,
        };
        let grid = GridOfRun {
            kernel,
            launch,
            parameters: &parameters,
            depth: 0,
        };
        self.prepare(&run, &grid)?;
        let workspace = self.grid_workspace(loaded)?;
        Ok(Prepared {
            run,
            kernel,
            parameters,
            workspace,
        })
    }
}

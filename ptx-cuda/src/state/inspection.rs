//! What is done with launches besides running them: checkers, profiles, other schedules, and reports.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::LazyLock;

use ptx_report::demangle::FunctionPattern;
use ptx_vm::{
    Checker, Executor, Launch, ModuleId, Outcome, PAGE_BYTES, Progress, RunError, RunOptions,
    Schedule, StopReason,
};
use rayon::prelude::*;

use super::{AllocationKind, Driver};
use crate::config::Config;
use crate::handles::Raw;
use crate::report::Found;

/// The threads of a grid from which on its blocks run on several threads of the host: for fewer, waking the threads would take longer than the kernel.
const THREADS_FOR_PARALLEL_RUN: u64 = 4096;

/// The threads of the host.
#[derive(Debug)]
struct HostThreads;

impl Executor for HostThreads {
    fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync)) {
        (0..tasks).into_par_iter().for_each(task);
    }
}

/// Which launches are inspected: checked, profiled, recorded, and run under several schedules.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    /// Whether launches of a kernel are selected by its name, and the number of its launches that were inspected.
    kernels: HashMap<String, (bool, u64)>,
}

/// Whether a name is selected by patterns.
fn is_selected(config: &Config, kernel: &str) -> bool {
    let matches = |pattern: &FunctionPattern| !pattern.matching([kernel].into_iter()).is_empty();
    (config.only.is_empty() || config.only.iter().any(matches)) && !config.skip.iter().any(matches)
}

impl Inspection {
    /// Whether the next launch of a kernel is inspected.
    pub(crate) fn begin(&mut self, config: &Config, kernel: &str) -> bool {
        if config.only.is_empty() && config.skip.is_empty() && config.first.is_none() {
            return true;
        }
        let (selected, launches) = match self.kernels.entry(kernel.to_owned()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert((is_selected(config, kernel), 0)),
        };
        let inspected = *selected && config.first.is_none_or(|first| *launches < first);
        *launches += u64::from(inspected);
        inspected
    }
}

/// The progress of all launches of the process.
static PROGRESS: LazyLock<Progress> = LazyLock::new(Progress::default);

/// Ends the launch that another thread runs, and later ones.
pub(crate) fn cancel_launches() {
    PROGRESS.cancel();
}

/// The options of a launch: large grids run on several threads.
fn options(launch: &Launch) -> RunOptions<'static> {
    let sizes = launch.grid.iter().chain(&launch.block);
    let threads: u64 = sizes.fold(1, |all, size| all.saturating_mul((*size).into()));
    let options = RunOptions::default().with_progress(&PROGRESS);
    if threads >= THREADS_FOR_PARALLEL_RUN {
        options.with_executor(&HostThreads)
    } else {
        options
    }
}

impl Driver {
    /// Runs a launch, under several schedules if that is configured, and reports what is found.
    pub(crate) fn inspect(
        &mut self,
        module: Raw,
        id: ModuleId,
        mut request: Launch,
    ) -> Result<Outcome, RunError> {
        self.launches += 1;
        request.permissive = self.config.permissive;
        let inspected = self.inspection.begin(&self.config, &request.kernel);
        if inspected {
            request.checks = self.config.checks;
            if self.config.permissive {
                request.checks = request.checks.with(Checker::Synccheck);
            }
            request.profile = self.config.profile;
            self.run_other_schedules(module, id, &mut request)?;
        }
        let recording = self.modules.get(module).ok().filter(|_| inspected);
        let recording = recording.and_then(|loaded| {
            self.recorder
                .begin(&loaded.module, &request, &self.device, &self.memory)
        });
        let result = self.run_kernel(module, id, &request);
        if let Some(recording) = recording {
            recording.end(&self.device);
        }
        result
    }

    /// Runs a launch under the schedules before the usual one, each with the memory before the launch. An error under one of them is that of the launch.
    fn run_other_schedules(
        &mut self,
        module: Raw,
        id: ModuleId,
        request: &mut Launch,
    ) -> Result<(), RunError> {
        let others = self.config.schedules.saturating_sub(1);
        // A snapshot would also restore registered memory of the stack, which the functions that are running change.
        if others == 0 || self.memory.has_registered(stack_in_use()) {
            return Ok(());
        }
        let threads = request.block.iter().copied().fold(1, u32::saturating_mul);
        let blocks = request.grid.iter().map(|size| u64::from(*size)).product();
        self.access_pages();
        let snapshot = self.device.snapshot();
        for schedule in Schedule::several(threads, blocks).take(others) {
            request.schedule = Some(schedule);
            let result = {
                let options = RunOptions::default().with_progress(&PROGRESS);
                self.device.launch_with(id, request, options)
            };
            self.report(module, request, result.as_ref().err());
            result?;
            self.device.restore(&snapshot);
        }
        request.schedule = None;
        Ok(())
    }

    /// Makes the machine access each page of an allocation that has memory: a snapshot has only pages that it accessed, and the program and copies write to pages, too.
    fn access_pages(&self) {
        let page = PAGE_BYTES as u64;
        let used = self.memory.arena.used();
        for (start, allocation) in self.memory.iter() {
            let end = start + allocation.bytes;
            if matches!(allocation.kind, AllocationKind::Registered { .. }) {
                for number in start / page..=(end - 1) / page {
                    let _ = self.device.read((number * page).max(start), 1);
                }
                continue;
            }
            let first_range = used.partition_point(|range| range.end <= start);
            let ranges = used.iter().skip(first_range);
            for range in ranges.take_while(|range| range.start < end) {
                let first = range.start.max(start);
                let last = range.end.min(end) - 1;
                for number in first / page..=last / page {
                    let _ = self.device.read((number * page).max(first), 1);
                }
            }
        }
    }

    /// Runs a launch to its end.
    fn run_kernel(
        &mut self,
        module: Raw,
        id: ModuleId,
        request: &Launch,
    ) -> Result<Outcome, RunError> {
        let result = self.device.launch_with(id, request, options(request));
        self.output.extend_from_slice(self.device.output());
        self.report(module, request, result.as_ref().err());
        if let Ok(outcome) = &result {
            self.steps += outcome.steps;
            if let (Some(profile), Ok(loaded)) = (self.device.profile(), self.modules.get(module)) {
                let (kernel, steps) = (&request.kernel, outcome.steps);
                self.reporter
                    .add_profile(&loaded.module, kernel, steps, profile);
            }
        }
        result
    }

    /// Reports what the checkers found in a launch, and the error that ended it.
    fn report(&mut self, module: Raw, launch: &Launch, error: Option<&RunError>) {
        let reports = self.device.reports();
        // The end of the process is not an error of the launch.
        let error = error.filter(|error| error.reason != StopReason::Canceled);
        if reports.is_empty() && error.is_none() {
            return;
        }
        if let Ok(loaded) = self.modules.get(module) {
            self.reporter.add(&Found {
                module: &loaded.module,
                kernel: &launch.kernel,
                launch: self.launches,
                reports,
                error,
            });
        }
    }

    /// Writes what is known only at the end of the process.
    pub(crate) fn end(&mut self) {
        self.flush_output();
        self.reporter.end(self.launches, self.steps);
    }
}

/// Addresses of the stack that functions of this library use now, and those of the same pages.
fn stack_in_use() -> Range<usize> {
    const MOST: usize = 64 << 10;
    let marker = 0u8;
    let address = std::ptr::from_ref(&marker).addr();
    let page = crate::arena::page_bytes() as usize;
    address / page * page..address.saturating_add(MOST)
}

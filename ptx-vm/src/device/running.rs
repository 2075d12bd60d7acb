//! Launches on a device: the grids of a launch, their observers, and what stays after them.

use core::cell::RefCell;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ptx_ir::FuncId;
use ptx_isa::{SpecialReg, Target};

use super::Device;
use super::modules::{LoadedModule, ModuleId};
use super::residency;
use crate::account::{Held, Purpose};
use crate::check::{
    CheckResults, Checker, Checkers, Checks, Objects, Owner, Report, Sites, WrittenBytes,
};
use crate::error::{RunError, StopReason};
use crate::execute::{
    self, COPIES, Dependency, Grid, Launches, Observer, ObserverCell, ObserverPair,
    PARAMETER_BYTES, Probe, Results,
};
use crate::executor::{OneThread, Progress, RunOptions};
use crate::launch::{Launch, Outcome};
use crate::matrix::model::Model;
use crate::memory::{GlobalMemory, Heap};
use crate::profile::{Counts, Profile, Profiler};
use crate::program::MALLOC;
use crate::shape;
use crate::trace::Tracer;

/// The size in bytes of the workspace that the driver provides for grid barriers.
const WORKSPACE: usize = 8;

/// The time at which a launch that begins now has to end.
pub(super) fn deadline(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}

/// The state that the grids of a launch share: that of the kernel, and those of launches from kernels.
pub(super) struct Run<'r, 'm> {
    pub(super) loaded: &'r LoadedModule<'m>,
    /// The launch of the host. Launches from kernels have its limits and options.
    pub(super) launch: &'r Launch,
    pub(super) options: RunOptions<'r>,
    pub(super) progress: &'r Progress,
    /// The time at which the launch has to end.
    pub(super) deadline: Option<Instant>,
    /// The memory of the output.
    pub(super) output_held: Held,
    /// The counters of the profile of all grids.
    pub(super) counts: Option<Counts>,
    /// The number of grids that began.
    pub(super) grids: u64,
}

/// A grid of a launch.
pub(super) struct GridOfRun<'g> {
    pub(super) kernel: FuncId,
    pub(super) launch: &'g Launch,
    pub(super) parameters: &'g [u8],
    /// The number of launches from kernels that led to it.
    pub(super) depth: u32,
}

impl<'m> Device<'m> {
    /// Runs a kernel of a module to its end.
    ///
    /// # Errors
    ///
    /// If the module is not loaded, the launch is invalid or an instruction fails.
    pub fn launch(&mut self, module: ModuleId, launch: &Launch) -> Result<Outcome, RunError> {
        self.launch_with(module, launch, RunOptions::default())
    }

    /// Runs a kernel of a module to its end, on several host threads.
    ///
    /// CTAs run in parallel if they are independent: no function that the kernel can reach has atomic operations or ordered accesses to
    /// memory that CTAs share, allocates memory or reads a clock. Other kernels, and launches with checkers, a profile or an observer, run on one
    /// thread. The result is therefore the same on any number of threads, unless CTAs have a data race. The output is in the order of the CTAs, and
    /// the error is that of the first CTA that has one.
    ///
    /// # Errors
    ///
    /// If the module is not loaded, the launch is invalid or an instruction fails.
    pub fn launch_with(
        &mut self,
        module: ModuleId,
        launch: &Launch,
        options: RunOptions<'_>,
    ) -> Result<Outcome, RunError> {
        let loaded = self.loaded(module)?;
        let kernel = kernel(&loaded, launch)?;
        let parameters = parameters(&loaded, kernel, launch)?;
        let default_progress = Progress::default();
        let mut run = Run {
            loaded: &loaded,
            launch,
            options,
            progress: options.progress.unwrap_or(&default_progress),
            deadline: launch.limits.time.and_then(deadline),
            output_held: Held::new(Arc::clone(self.memory.account())),
            counts: None,
            grids: 0,
        };
        let first = GridOfRun {
            kernel,
            launch,
            parameters: &parameters,
            depth: 0,
        };
        self.prepare(&run, &first)?;
        run.progress.start();
        self.memory.account().set_limit(launch.limits.memory_bytes);
        self.output.clear();
        self.reports.clear();
        let ended = self.run_with_children(&mut run, &first);
        self.profile = run
            .counts
            .map(|counts| Profile::new(loaded.module(), &loaded.program, &counts));
        ended?;
        Ok(Outcome {
            steps: run.progress.steps(),
            output: self.output.clone(),
        })
    }

    /// Checks a grid, and allocates the memory that it needs besides its own.
    pub(super) fn prepare(
        &mut self,
        run: &Run<'_, 'm>,
        grid: &GridOfRun<'_>,
    ) -> Result<(), RunError> {
        let module = run.loaded.module();
        let cluster = shape::cluster(module, grid.kernel, grid.launch);
        shape::check(grid.launch, cluster)?;
        shape::check_declared(module, grid.kernel, grid.launch)?;
        check_memory_of_threads(run.loaded, grid.kernel, grid.launch)?;
        if let Some(cooperative) = grid.launch.cooperative {
            let sizes = &run.loaded.program.variables.shared;
            let shared = sizes.needed(grid.kernel, grid.launch.shared);
            let architecture = target(run.loaded, grid.launch).number().into();
            let (blocks, threads) = (grid.launch.grid, grid.launch.block);
            residency::check(cooperative, architecture, blocks, threads, shared)?;
        }
        self.reserve_heaps(run)
    }

    /// A grid before its first step.
    pub(super) fn grid<'g>(
        &'g self,
        run: &Run<'g, 'm>,
        of_run: &GridOfRun<'g>,
        workspace: u64,
        dependency: Dependency,
    ) -> Grid<'g> {
        let (loaded, launch) = (run.loaded, of_run.launch);
        let (module, program) = (loaded.module(), &loaded.program);
        let target = target(loaded, launch);
        let mut limits = launch.limits;
        if launch.cooperative.is_some() {
            limits.resident_clusters = usize::MAX;
        }
        Grid {
            heap: &self.state.heap,
            parameter_heap: &self.state.parameter_heap,
            textures: &self.state.textures,
            launches: Mutex::default(),
            depth: of_run.depth,
            architecture: target.number().into(),
            deadline: run.deadline,
            workspace,
            program,
            module,
            device: &self.memory,
            kernel: of_run.kernel,
            number: run.grids,
            parameters: of_run.parameters,
            blocks: launch.grid,
            threads: launch.block,
            cluster: shape::cluster(module, of_run.kernel, launch),
            shared: launch.shared,
            limits,
            model: Model::of(target),
            progress: run.progress,
            schedule: launch.schedule,
            asynchrony: launch.asynchrony,
            shared_seed: launch.shared_seed,
            permissive: launch.permissive,
            observer: run.options.observer,
            dependency,
            begun_clusters: AtomicU64::new(0),
            output: Mutex::default(),
        }
    }

    /// Runs a grid that was prepared, and returns the work that its threads requested.
    pub(super) fn run_grid(
        &mut self,
        run: &mut Run<'_, 'm>,
        of_run: &GridOfRun<'_>,
    ) -> Result<Launches, RunError> {
        let loaded = run.loaded;
        let workspace = self.grid_workspace(loaded)?;
        let grid = self.grid(run, of_run, workspace, Dependency::default());
        run.grids += 1;
        let mut observer = self.observer(run, of_run);
        let executor = run.options.executor.unwrap_or(&OneThread);
        let ended = execute::run(&grid, executor, &mut observer);
        let output = grid.printed(ended.as_ref().err());
        let launches = grid.launches.into_inner().unwrap_or_default();
        let mut results = Results::new();
        if let Some(observer) = observer {
            observer.into_inner().finish(&mut results);
        }
        let kept_output = self.end_grid(run, output);
        self.keep_results(run, results);
        ended?;
        kept_output.map_err(RunError::new)?;
        Ok(launches)
    }

    /// Keeps the output of a grid that has ended, and ends the use of the heaps.
    pub(super) fn end_grid(
        &mut self,
        run: &mut Run<'_, 'm>,
        output: Vec<u8>,
    ) -> Result<(), StopReason> {
        let kept_output = run
            .output_held
            .take(COPIES * output.len() as u64, Purpose::Output);
        self.output.extend(output);
        self.state.heap.end_launch();
        self.state.parameter_heap.clear();
        if self.state.heap.bytes() > 0 {
            let (start, end) = self.state.heap.used();
            self.state
                .allocations
                .insert(start, end - start, Owner::EarlierHeap);
        }
        kept_output
    }

    /// The observers of a launch: checkers, profiler and tracer, and with any of them the one that finds deadlocks.
    fn observer(&self, run: &Run<'_, 'm>, of_run: &GridOfRun<'_>) -> Option<ObserverCell> {
        let (loaded, launch) = (run.loaded, of_run.launch);
        let mut observers: Vec<Box<dyn Observer>> = Vec::new();
        if !launch.checks.is_empty() {
            let mut checkers = self.checkers(loaded, launch.checks);
            // Launches from kernels begin after the grid that requests them, which has waited.
            if let (Some(earlier), 0) = (&self.earlier_writes, of_run.depth) {
                checkers.depend_on(earlier);
            }
            observers.push(Box::new(checkers));
        }
        if launch.profile {
            observers.push(Box::<Profiler>::default());
        }
        if run.options.observer.is_some() {
            let tracer = Tracer::new(loaded.module(), run.progress.steps());
            observers.push(Box::new(tracer));
        }
        if !observers.is_empty() {
            observers.push(Box::<Probe>::default());
        }
        observers
            .into_iter()
            .reduce(|others, last| Box::new(ObserverPair(others, last)))
            .map(RefCell::new)
    }

    fn checkers(&self, loaded: &LoadedModule<'m>, checks: Checks) -> Checkers {
        let (module, program) = (loaded.module(), &loaded.program);
        let tracks_registers = checks.has(Checker::Initcheck);
        let sites = loaded.sites[usize::from(tracks_registers)]
            .get_or_init(|| Arc::new(Sites::new(module, program, tracks_registers)));
        let objects = checks.has(Checker::Memcheck).then(|| {
            let objects = loaded
                .objects
                .get_or_init(|| Arc::new(Objects::new(module, program)));
            Arc::clone(objects)
        });
        Checkers::new(
            checks,
            self.memory.account(),
            Arc::clone(sites),
            objects,
            self.state.allocations.clone(),
            self.state.written.clone(),
        )
    }

    /// Keeps the results of the observers of a grid.
    fn keep_results(&mut self, run: &mut Run<'_, 'm>, results: Results) {
        let mut written = None;
        for result in results {
            match result.downcast::<CheckResults>() {
                Ok(results) => {
                    Report::add_all(&mut self.reports, results.reports);
                    written = results.written;
                    if let Some(writes) = results.writes_for_dependents {
                        self.earlier_writes = Some(writes);
                    }
                }
                Err(other) => {
                    if let Ok(counts) = other.downcast::<Counts>() {
                        match &mut run.counts {
                            Some(sum) => sum.add(&counts),
                            None => run.counts = Some(*counts),
                        }
                    }
                }
            }
        }
        self.state.written = written.unwrap_or_else(|| self.all_written());
    }

    /// The bytes that count as written after a launch that did not track them: all but those of the heap that are free.
    pub(super) fn all_written(&self) -> WrittenBytes {
        let (memory, heap) = (&self.memory, &self.state.heap);
        let mut written = WrittenBytes::new(memory.start(), GlobalMemory::PAGE);
        written.insert(memory.start(), memory.end() - memory.start());
        if heap.bytes() > 0 {
            let (_, start_of_free) = heap.used();
            written.remove(start_of_free, heap.end() - start_of_free);
        }
        written
    }

    /// Allocates the heap, if the module uses it and it is smaller than the limit, and the memory for the parameters of launches from kernels.
    fn reserve_heaps(&mut self, run: &Run<'_, 'm>) -> Result<(), RunError> {
        let program = &run.loaded.program;
        let error = || RunError::impossible("not enough memory for the heap");
        let bytes = run.launch.limits.heap_bytes;
        let uses_heap = || program.calls_system(MALLOC) || execute::uses_heap(program);
        if bytes > self.state.heap.bytes() && uses_heap() {
            let start = self.memory.allocate(bytes, 1).ok_or_else(error)?;
            self.state.heap = Heap::new(start, bytes);
            self.state.written.remove(start, bytes);
        }
        if self.state.parameter_heap.bytes() == 0 && execute::uses_memory(program) {
            let bytes = PARAMETER_BYTES;
            let start = self.memory.allocate(bytes, 1).ok_or_else(error)?;
            self.state.parameter_heap = Heap::new(start, bytes);
        }
        Ok(())
    }

    /// The address of the zeroed workspace that the driver provides for grid barriers, if the module uses it; else 0.
    pub(super) fn grid_workspace(&mut self, loaded: &LoadedModule<'m>) -> Result<u64, RunError> {
        if !loaded.program.reads_special(SpecialReg::Envreg1) {
            return Ok(0);
        }
        let address = match self.state.workspace {
            Some(address) => address,
            None => self
                .allocate(WORKSPACE as u64)
                .ok_or_else(|| RunError::impossible("not enough memory for the grid barrier"))?,
        };
        self.state.workspace = Some(address);
        self.write(address, &[0; WORKSPACE])?;
        Ok(address)
    }
}

/// Checks the stack of a thread and the shared memory of a CTA against the limits.
fn check_memory_of_threads(
    loaded: &LoadedModule<'_>,
    kernel: FuncId,
    launch: &Launch,
) -> Result<(), RunError> {
    let program = &loaded.program;
    let frame = program.function(kernel).map_or(0, |f| f.frame.bytes);
    if frame > launch.limits.stack_bytes {
        return Err(RunError::new(StopReason::StackLimit));
    }
    let shared = &program.variables.shared;
    let needed = shared.needed(kernel, launch.shared);
    if needed > launch.limits.shared_bytes || !shared.fits(kernel, launch.shared) {
        return Err(RunError::impossible("not enough shared memory"));
    }
    Ok(())
}

/// The kernel of a launch.
pub(super) fn kernel(loaded: &LoadedModule<'_>, launch: &Launch) -> Result<FuncId, RunError> {
    loaded
        .module()
        .function(&launch.kernel)
        .filter(|id| loaded.program.function(*id).is_some_and(|f| f.is_entry))
        .ok_or_else(|| RunError::new(StopReason::NoKernel))
}

/// The architecture that a launch models.
fn target(loaded: &LoadedModule<'_>, launch: &Launch) -> Target {
    let declared_target = ptx_ir::raw::query::Environment::of(loaded.module()).target();
    launch.model.or(declared_target).unwrap_or(Target::Sm70)
}

/// The bytes of the parameters of a kernel.
pub(super) fn parameters(
    loaded: &LoadedModule<'_>,
    kernel: FuncId,
    launch: &Launch,
) -> Result<Vec<u8>, RunError> {
    let Some(function) = loaded.program.function(kernel) else {
        return Err(RunError::new(StopReason::NoKernel));
    };
    let expected = function.frame.parameters.iter();
    let sizes = expected.clone().map(|parameter| parameter.bytes);
    let lengths = launch.arguments.iter().map(|bytes| bytes.len() as u64);
    if !sizes.clone().eq(lengths) {
        let sizes: Vec<String> = sizes.map(|bytes| bytes.to_string()).collect();
        return Err(RunError::impossible(format!(
            "the kernel expects arguments of these sizes in bytes: [{}]",
            sizes.join(", ")
        )));
    }
    let mut bytes = Vec::new();
    for (parameter, argument) in expected.zip(&launch.arguments) {
        bytes.resize(parameter.offset() as usize, 0);
        bytes.extend_from_slice(argument);
    }
    Ok(bytes)
}

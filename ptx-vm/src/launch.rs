//! The interface to the machine: modules, memory and launches.

use core::borrow::Borrow;
use core::cell::RefCell;
use core::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use ptx_ir::{FuncId, FunctionKind, InstId, Module};
use ptx_isa::{SpecialReg, Target};

use crate::account::MEMORY;
use crate::asynchrony::Asynchrony;
use crate::check::{
    Allocations, CheckResults, Checker, Checkers, Checks, Objects, Owner, Report, Sites,
    WrittenBytes,
};
use crate::error::{RunError, StopReason};
use crate::execute::{self, Grid, Observer, ObserverCell, ObserverPair, Probe, Results};
use crate::executor::{OneThread, Progress, RunOptions};
use crate::matrix::model::Model;
use crate::memory::{Device, DeviceValue, Heap, bytes_of, values_of};
use crate::profile::{Counts, Profile, Profiler};
use crate::program::{MALLOC, Program};
use crate::schedule::Schedule;
use crate::shape;
use crate::trace::Tracer;

/// The size in bytes of the workspace that the driver provides for grid barriers.
const WORKSPACE: usize = 8;

/// The bytes of memory after the last allocation. As between allocations, only a checker finds accesses there.
const MARGIN: u64 = 64 << 10;

/// The resource limits of a launch.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LaunchLimits {
    /// The number of executed warp instructions; by default 2^40.
    pub steps: u64,
    /// The depth of nested calls; by default 4096.
    pub call_depth: u32,
    /// The stack size of a thread in bytes; by default 512 KiB, as on the hardware.
    pub stack_bytes: u64,
    /// The shared memory of a CTA in bytes; by default 227 KiB.
    pub shared_bytes: u64,
    /// The size of the `malloc` heap in bytes; by default 8 MiB, as in the driver. A machine has one heap, whose contents stay between launches.
    pub heap_bytes: u64,
    /// The number of clusters that run concurrently if they wait for each other; by default 1024.
    pub resident_clusters: usize,
    /// The memory of the host in bytes that the machine may use; by default 4 GiB.
    ///
    /// It counts pages of global memory that were written, shared memory, stacks and registers of the clusters that run, the state of checkers, and 16
    /// bytes for each byte of output, which is copied. Loaded modules and files do not count.
    pub memory_bytes: u64,
    /// The time that the launch may take; by default without limit. Results of a launch that ends by it depend on the host.
    pub time: Option<core::time::Duration>,
    /// The value of `%nsmid`; by default 1.
    pub multiprocessors: u32,
}

impl Default for LaunchLimits {
    fn default() -> Self {
        Self {
            steps: 1 << 40,
            call_depth: 4096,
            stack_bytes: 512 << 10,
            shared_bytes: 227 << 10,
            heap_bytes: 8 << 20,
            resident_clusters: 1024,
            memory_bytes: MEMORY,
            time: None,
            multiprocessors: 1,
        }
    }
}

/// The configuration of a kernel launch.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Launch {
    /// The name of the kernel.
    pub kernel: String,
    /// The number of CTAs in each dimension.
    pub grid: [u32; 3],
    /// The number of threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// The number of CTAs of a cluster in each dimension. If all are 1, the declaration of the kernel applies (`.reqnctapercluster`).
    pub cluster: [u32; 3],
    /// The size of dynamic shared memory in bytes.
    pub shared: u32,
    /// The bytes of each argument.
    pub arguments: Vec<Vec<u8>>,
    /// The architecture whose tensor cores are modeled for the rounding of matrix products; by default the target of the module.
    pub model: Option<Target>,
    /// The resource limits.
    pub limits: LaunchLimits,
    /// The enabled checkers.
    pub checks: Checks,
    /// Whether to collect a profile, which [`Machine::profile`] returns.
    pub profile: bool,
    /// The order in which CTAs start and warps run, on one host thread; `None` for the order of their indices.
    pub schedule: Option<Schedule>,
    /// The time at which asynchronous operations are performed: later times make missing waits visible.
    pub asynchrony: Asynchrony,
    /// The seed of the random initial contents of shared memory, which the hardware leaves undefined; `None` for zeros.
    pub shared_seed: Option<u64>,
}

impl Launch {
    /// A launch of one CTA with one thread, without arguments.
    #[must_use]
    pub fn new(kernel: impl Into<String>) -> Self {
        Self {
            kernel: kernel.into(),
            grid: [1; 3],
            block: [1; 3],
            cluster: [1; 3],
            shared: 0,
            arguments: Vec::new(),
            model: None,
            limits: LaunchLimits::default(),
            checks: Checks::NONE,
            profile: false,
            schedule: None,
            asynchrony: Asynchrony::Immediate,
            shared_seed: None,
        }
    }

    /// Sets a one-dimensional number of CTAs and of threads per CTA.
    #[must_use]
    pub fn shape(mut self, grid: u32, block: u32) -> Self {
        (self.grid, self.block) = ([grid, 1, 1], [block, 1, 1]);
        self
    }

    /// Enables a checker.
    #[must_use]
    pub const fn check(mut self, checker: Checker) -> Self {
        self.checks = self.checks.with(checker);
        self
    }

    /// Adds an argument, in little-endian byte order.
    #[must_use]
    pub fn argument(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.arguments.push(bytes.into());
        self
    }
}

/// The result of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The number of executed warp instructions.
    pub steps: u64,
    /// The output of the kernel.
    pub output: Vec<u8>,
}

/// An instruction that the machine does not support.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UnsupportedInstruction {
    /// The function.
    pub function: FuncId,
    /// The instruction.
    pub instruction: InstId,
    /// The reason, as in [`StopReason::Unsupported`].
    pub reason: String,
}

/// The time at which a launch that begins now has to end.
fn deadline(time: core::time::Duration) -> Option<std::time::Instant> {
    std::time::Instant::now().checked_add(time)
}

/// The module of a machine, borrowed, owned or shared.
struct LoadedModule<'m>(Box<dyn Borrow<Module> + Send + Sync + 'm>);

impl LoadedModule<'_> {
    fn get(&self) -> &Module {
        (*self.0).borrow()
    }
}

impl fmt::Debug for LoadedModule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A module, borrowed, owned or shared as `Arc<Module>`, and the memory of a device.
#[derive(Debug)]
pub struct Machine<'m> {
    module: LoadedModule<'m>,
    program: Program,
    device: Device,
    heap: Heap,
    /// The end of the memory with its margin.
    margin: u64,
    output: Vec<u8>,
    allocations: Allocations,
    /// The bytes of global memory that were written.
    written: WrittenBytes,
    /// The facts about instructions that checkers need, without and with registers.
    sites: [OnceLock<Arc<Sites>>; 2],
    /// The variables that instructions access.
    objects: OnceLock<Arc<Objects>>,
    /// The reports of the checkers of the last launch.
    reports: Vec<Report>,
    profile: Option<Profile>,
    /// The address of the workspace of grid barriers, once a launch needed it.
    workspace: Option<u64>,
}

impl<'m> Machine<'m> {
    /// Decodes a module and initializes its variables. Linear.
    ///
    /// The module should be accepted by `ptx-verify`. A launch that executes an unknown instruction ends with an error.
    #[must_use]
    pub fn new(module: impl Borrow<Module> + Send + Sync + 'm) -> Self {
        let module = LoadedModule(Box::new(module));
        let program = Program::new(module.get());
        let device = Device::new(program.variables.end);
        for initial in &program.variables.initial {
            let _ = device.write_bytes(initial.address, &initial.bytes);
        }
        let mut allocations = Allocations::default();
        // A variable without an initial value is zero.
        let written = WrittenBytes::new(program.variables.end, Device::PAGE);
        for (name, start, end) in &program.variables.ranges {
            allocations.insert(*start, end - start, Owner::Variable(name.clone()));
        }
        Self {
            module,
            program,
            device,
            heap: Heap::default(),
            margin: 0,
            output: Vec::new(),
            allocations,
            written,
            sites: Default::default(),
            objects: OnceLock::new(),
            reports: Vec::new(),
            profile: None,
            workspace: None,
        }
    }

    /// Allocates zeroed global memory and returns its address, a multiple of 256. Returns `None` beyond 1 TiB in total.
    ///
    /// [`Checker::Initcheck`] treats the memory as uninitialized; [`set_written`](Self::set_written) marks it as initialized.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let start = self.device.allocate(bytes)?;
        self.allocations.insert(start, bytes, Owner::Host);
        Some(start)
    }

    /// Marks memory as written by the host, so that [`Checker::Initcheck`] does not report reads of it.
    pub fn set_written(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes).min(self.device.end());
        self.written.insert(address, end.saturating_sub(address));
    }

    /// The address of a variable in `.global` or `.const`, and its size in bytes.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let mut ranges = self.program.variables.ranges.iter();
        let (_, start, end) = ranges.find(|(n, ..)| **n == *name)?;
        Some((*start, end - start))
    }

    /// Copies bytes from memory.
    ///
    /// # Errors
    ///
    /// If the range is not within allocated memory.
    pub fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, RunError> {
        let checked = self.device.check(address, bytes);
        checked.map_err(|fault| RunError::new(fault.into()))?;
        let mut copy = vec![0; bytes];
        let read = self.device.read_bytes(address, &mut copy);
        read.map_err(|fault| RunError::new(fault.into()))?;
        Ok(copy)
    }

    /// Copies bytes to memory.
    ///
    /// # Errors
    ///
    /// If the range is not within allocated memory.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), RunError> {
        let written = self.device.write_bytes(address, bytes);
        written.map_err(|fault| RunError::new(self.device.reason(fault)))?;
        self.set_written(address, bytes.len() as u64);
        Ok(())
    }

    /// Copies numbers from memory.
    ///
    /// ```
    /// let module = ptx_parse::parse_str(".version 8.0\n.target sm_80\n").module;
    /// let mut machine = ptx_vm::Machine::new(&module);
    /// let data = machine.allocate(16).ok_or("no memory")?;
    /// machine.write_slice(data, &[1.5f32, -2.0])?;
    /// assert_eq!(machine.read_slice::<f32>(data, 2)?, [1.5, -2.0]);
    /// assert_eq!(machine.read(data, 4)?, 1.5f32.to_le_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the range is not within allocated memory.
    pub fn read_slice<T: DeviceValue>(&self, address: u64, len: usize) -> Result<Vec<T>, RunError> {
        let bytes = self.read(address, len.saturating_mul(size_of::<T>()))?;
        Ok(values_of(&bytes))
    }

    /// Copies numbers to memory: see [`read_slice`](Self::read_slice).
    ///
    /// # Errors
    ///
    /// If the range is not within allocated memory.
    pub fn write_slice<T: DeviceValue>(
        &mut self,
        address: u64,
        values: &[T],
    ) -> Result<(), RunError> {
        self.write(address, &bytes_of(values))
    }

    /// Sets the memory of the host in bytes that the machine may use until the next launch, which has its own limit
    /// ([`LaunchLimits::memory_bytes`]); at first 4 GiB.
    pub fn limit_memory(&mut self, bytes: u64) {
        self.device.account().set_limit(bytes);
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    ///
    /// If the launch is invalid or an instruction fails.
    pub fn launch(&mut self, launch: &Launch) -> Result<Outcome, RunError> {
        self.launch_with(launch, RunOptions::default())
    }

    /// Runs a kernel to its end, on several host threads.
    ///
    /// CTAs run in parallel if they are independent: no function that the kernel can reach has atomic operations or ordered accesses to
    /// memory that CTAs share, allocates memory or reads a clock. Other kernels, and launches with checkers, a profile or an observer, run on one
    /// thread. The result is therefore the same on any number of threads, unless CTAs have a data race. The output is in the order of the CTAs, and
    /// the error is that of the first CTA that has one.
    ///
    /// # Errors
    ///
    /// If the launch is invalid or an instruction fails.
    pub fn launch_with(
        &mut self,
        launch: &Launch,
        options: RunOptions<'_>,
    ) -> Result<Outcome, RunError> {
        let kernel = self.module.get().function(&launch.kernel);
        let kernel = kernel
            .filter(|id| self.program.function(*id).is_some_and(|f| f.is_entry))
            .ok_or_else(|| RunError::new(StopReason::NoKernel))?;
        let parameters = self.parameters(kernel, launch)?;
        let cluster = shape::cluster(self.module.get(), kernel, launch);
        shape::check(launch, cluster)?;
        shape::check_declared(self.module.get(), kernel, launch)?;
        if self.program.variables.end > Device::LAST {
            return Err(RunError::impossible("the variables need more than 1 TiB"));
        }
        let frame = self.program.function(kernel).map_or(0, |f| f.frame.bytes);
        if frame > launch.limits.stack_bytes {
            return Err(RunError::new(StopReason::StackLimit));
        }
        let shared = &self.program.variables.shared;
        let needed = shared.needed(kernel, launch.shared);
        if needed > launch.limits.shared_bytes || !shared.fits(kernel, launch.shared) {
            return Err(RunError::impossible("not enough shared memory"));
        }
        let workspace = self.grid_workspace()?;
        self.reserve_heap(launch.limits.heap_bytes)?;
        if self.margin != self.device.end() {
            // Beyond 1 TiB, memory ends with the last allocation.
            let _ = self.device.allocate(MARGIN);
            self.margin = self.device.end();
        }
        let declared_target = ptx_ir::raw::query::Environment::of(self.module.get()).target();
        let model = launch.model.or(declared_target).unwrap_or(Target::Sm70);
        let default_progress = Progress::default();
        let progress = options.progress.unwrap_or(&default_progress);
        progress.start();
        self.device.account().set_limit(launch.limits.memory_bytes);
        let grid = Grid {
            heap: &self.heap,
            deadline: launch.limits.time.and_then(deadline),
            workspace,
            program: &self.program,
            module: self.module.get(),
            device: &self.device,
            kernel,
            parameters: &parameters,
            blocks: launch.grid,
            threads: launch.block,
            cluster,
            shared: launch.shared,
            limits: launch.limits,
            model: Model::of(model),
            progress,
            schedule: launch.schedule,
            asynchrony: launch.asynchrony,
            shared_seed: launch.shared_seed,
            observer: options.observer,
            output: Mutex::default(),
        };
        let mut observer = self.observer(launch, options.observer.is_some());
        let executor = options.executor.unwrap_or(&OneThread);
        let ended = execute::run(&grid, executor, &mut observer);
        let output = grid.printed(ended.as_ref().err());
        let mut results = Results::new();
        if let Some(observer) = observer {
            observer.into_inner().finish(&mut results);
        }
        self.output.clone_from(&output);
        self.heap.end_launch();
        self.keep_results(results);
        if self.heap.bytes() > 0 {
            let (start, end) = self.heap.used();
            self.allocations
                .insert(start, end - start, Owner::EarlierHeap);
        }
        ended?;
        let steps = progress.steps();
        Ok(Outcome { steps, output })
    }

    /// The output of the kernel of the last launch, even if the launch failed.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// The profile of the last launch, even if it failed; `None` if no profile was collected.
    #[must_use]
    pub const fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// The reports of the checkers of the last launch, even if it failed: at most 100, one for each code and instruction.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// The observers of a launch: checkers, profiler and tracer, and with any of them the one that finds deadlocks.
    fn observer(&self, launch: &Launch, shows_steps: bool) -> Option<ObserverCell> {
        let mut observers: Vec<Box<dyn Observer>> = Vec::new();
        if !launch.checks.is_empty() {
            observers.push(Box::new(self.checkers(launch.checks)));
        }
        if launch.profile {
            observers.push(Box::<Profiler>::default());
        }
        if shows_steps {
            observers.push(Box::new(Tracer::new(self.module.get())));
        }
        if !observers.is_empty() {
            observers.push(Box::<Probe>::default());
        }
        observers
            .into_iter()
            .reduce(|others, last| Box::new(ObserverPair(others, last)))
            .map(RefCell::new)
    }

    fn checkers(&self, checks: Checks) -> Checkers {
        let tracks_registers = checks.has(Checker::Initcheck);
        let sites = &self.sites[usize::from(tracks_registers)];
        let sites = sites.get_or_init(|| {
            Arc::new(Sites::new(
                self.module.get(),
                &self.program,
                tracks_registers,
            ))
        });
        let objects = checks.has(Checker::Memcheck).then(|| {
            let objects = self
                .objects
                .get_or_init(|| Arc::new(Objects::new(self.module.get(), &self.program)));
            Arc::clone(objects)
        });
        Checkers::new(
            checks,
            self.device.account(),
            Arc::clone(sites),
            objects,
            self.allocations.clone(),
            self.written.clone(),
        )
    }

    /// Keeps the results of the observers of a launch.
    fn keep_results(&mut self, results: Results) {
        self.profile = None;
        self.reports.clear();
        let mut written = None;
        for result in results {
            match result.downcast::<CheckResults>() {
                Ok(results) => {
                    self.reports = results.reports;
                    written = results.written;
                }
                Err(other) => {
                    let counts = other.downcast_ref::<Counts>();
                    self.profile =
                        counts.map(|counts| Profile::new(self.module.get(), &self.program, counts));
                }
            }
        }
        self.keep_written(written);
    }

    /// Records the written bytes for the next launch; after a launch that did not track them, all bytes but those of the heap that are free.
    fn keep_written(&mut self, written: Option<WrittenBytes>) {
        self.written = match written {
            Some(written) => written,
            None if self.heap.bytes() == 0 => WrittenBytes::new(self.device.end(), Device::PAGE),
            None => {
                let (_, start_of_free) = self.heap.used();
                let mut written = WrittenBytes::new(start_of_free, Device::PAGE);
                written.insert(self.heap.end(), self.device.end() - self.heap.end());
                written
            }
        };
    }

    /// Allocates the heap, if the module uses it and it is smaller than the limit.
    fn reserve_heap(&mut self, bytes: u64) -> Result<(), RunError> {
        if bytes <= self.heap.bytes() || !self.program.calls_system(MALLOC) {
            return Ok(());
        }
        let start = self
            .device
            .allocate(bytes)
            .ok_or_else(|| RunError::impossible("not enough memory for the heap"))?;
        self.heap = Heap::new(start, bytes);
        Ok(())
    }

    /// The address of the zeroed workspace that the driver provides for grid barriers, if the module uses it; else 0.
    fn grid_workspace(&mut self) -> Result<u64, RunError> {
        if !self.program.reads_special(SpecialReg::Envreg1) {
            return Ok(0);
        }
        let address = match self.workspace {
            Some(address) => address,
            None => self
                .allocate(WORKSPACE as u64)
                .ok_or_else(|| RunError::impossible("not enough memory for the grid barrier"))?,
        };
        self.workspace = Some(address);
        self.write(address, &[0; WORKSPACE])?;
        Ok(address)
    }

    /// The bytes of the parameters of a kernel.
    fn parameters(&self, kernel: ptx_ir::FuncId, launch: &Launch) -> Result<Vec<u8>, RunError> {
        let Some(function) = self.program.function(kernel) else {
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

    /// The instructions of the module that the machine does not support, in the order of the text. A run that reaches one of them ends with
    /// [`StopReason::Unsupported`].
    pub fn unsupported(&self) -> impl Iterator<Item = UnsupportedInstruction> {
        let functions = self.module.get().functions().iter();
        functions.flat_map(|(function, _)| {
            let decoded = self.program.function(function);
            let steps = decoded.map_or(&[][..], |decoded| &decoded.steps);
            steps.iter().filter_map(move |target| {
                Some(UnsupportedInstruction {
                    function,
                    instruction: target.inst,
                    reason: execute::unsupported(&target.step)?,
                })
            })
        })
    }

    /// The names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let functions = self.module.get().functions().iter();
        functions
            .filter(|(_, f)| f.kind == FunctionKind::Entry && f.body.is_some())
            .map(|(_, f)| self.module.get().name(f.name))
    }
}

//! The interface to the machine: modules, memory and launches.

use core::borrow::Borrow;
use core::cell::RefCell;
use core::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use ptx_ir::{FunctionKind, Module};
use ptx_isa::{SpecialReg, Target};

use crate::check::{
    Allocations, Checker, Checkers, Checks, Objects, Owner, Report, Sites, WrittenBytes,
};
use crate::error::{RunError, StopReason};
use crate::execute::{self, Both, Grid, Observed, Observer, Observing};
use crate::executor::{OneThread, Progress, RunOptions};
use crate::matrix::model::Model;
use crate::memory::Device;
use crate::profile::{Profile, Profiler};
use crate::program::Program;
use crate::shape;
use crate::trace::Tracer;

/// Bytes of what the driver provides for barriers of all CTAs.
const WORKSPACE: usize = 8;

/// What a launch may use at most.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LaunchLimits {
    /// Executed instructions of warps: 2^40.
    pub steps: u64,
    /// Nested calls: 4096.
    pub call_depth: u32,
    /// Bytes of the stack of a thread: 512 KiB, as on the hardware.
    pub stack_bytes: u64,
    /// Bytes of shared memory of a CTA: 227 KiB.
    pub shared_bytes: u64,
    /// Bytes of the heap of `malloc` in a launch: 8 MiB, as of the driver.
    pub heap_bytes: u64,
    /// Clusters that run at the same time if they wait for each other: 1024.
    pub resident_clusters: usize,
    /// `%nsmid`: 1.
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
            multiprocessors: 1,
        }
    }
}

/// A launch of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Launch {
    /// The name of the kernel.
    pub kernel: String,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// CTAs of a cluster in each dimension; where these are all 1, the kernel may declare them (`.reqnctapercluster`).
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The bytes of each argument.
    pub arguments: Vec<Vec<u8>>,
    /// The architecture whose tensor cores the sums of matrix products are like; without it, the first target of the module.
    pub model: Option<Target>,
    /// What it may use.
    pub limits: LaunchLimits,
    /// What is checked meanwhile.
    pub checks: Checks,
    /// Whether [`Machine::profile`] counts what is executed.
    pub profile: bool,
    /// The seed of a random order in which CTAs begin and warps run, on one thread of the host; `None` for the order of their indices.
    pub schedule: Option<u64>,
    /// The seed of random bytes that the shared memory of each CTA holds at first, which the hardware leaves undefined; `None` for zeros.
    pub shared_seed: Option<u64>,
}

impl Launch {
    /// One CTA with one thread, without arguments.
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
            shared_seed: None,
        }
    }

    /// Sets the number of CTAs and of threads of each, in one dimension.
    #[must_use]
    pub fn shape(mut self, grid: u32, block: u32) -> Self {
        (self.grid, self.block) = ([grid, 1, 1], [block, 1, 1]);
        self
    }

    /// Adds a checker.
    #[must_use]
    pub const fn check(mut self, checker: Checker) -> Self {
        self.checks = self.checks.with(checker);
        self
    }

    /// Adds an argument, in the byte order of the machine: little-endian.
    #[must_use]
    pub fn argument(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.arguments.push(bytes.into());
        self
    }
}

/// What a launch did.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Executed instructions of warps.
    pub steps: u64,
    /// What the kernel printed.
    pub output: Vec<u8>,
}

/// The module of a machine, borrowed or not.
struct Loaded<'m>(Box<dyn Borrow<Module> + Send + Sync + 'm>);

impl Loaded<'_> {
    fn get(&self) -> &Module {
        (*self.0).borrow()
    }
}

impl fmt::Debug for Loaded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A module, borrowed, owned or shared as `Arc<Module>`, and the memory of a device.
#[derive(Debug)]
pub struct Machine<'m> {
    module: Loaded<'m>,
    program: Program,
    device: Device,
    output: Vec<u8>,
    allocations: Allocations,
    /// The bytes of global memory that were written.
    written: WrittenBytes,
    /// What the checkers have to know about instructions, without and with registers.
    sites: [OnceLock<Arc<Sites>>; 2],
    /// The variables that instructions access.
    objects: OnceLock<Arc<Objects>>,
    /// What the checkers of the last launch found.
    reports: Vec<Report>,
    profile: Option<Profile>,
    /// What barriers of all CTAs are kept in, once a launch needed it.
    workspace: Option<u64>,
}

impl<'m> Machine<'m> {
    /// Decodes a module and initializes its variables. Linear.
    ///
    /// The module should be accepted by `ptx-verify`; an instruction that the tables do not know ends the launch that executes it.
    #[must_use]
    pub fn new(module: impl Borrow<Module> + Send + Sync + 'm) -> Self {
        let module = Loaded(Box::new(module));
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

    /// Allocates bytes of global memory, all zero; gives their address, a multiple of 256. `None` beyond 1 TiB in total.
    ///
    /// For [`Checker::Initcheck`] they were never written: [`set_written`](Self::set_written) says that zero is their value.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let start = self.device.allocate(bytes)?;
        self.allocations.insert(start, bytes, Owner::Host);
        Some(start)
    }

    /// Takes what is in memory as written by the host: [`Checker::Initcheck`] does not report that it is read.
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
    /// If memory does not have all of these addresses.
    pub fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, RunError> {
        let mut all = vec![0; bytes];
        let read = self.device.read_bytes(address, &mut all);
        read.map_err(|fault| RunError::new(fault.into()))?;
        Ok(all)
    }

    /// Copies bytes to memory.
    ///
    /// # Errors
    ///
    /// If memory does not have all of these addresses.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), RunError> {
        let written = self.device.write_bytes(address, bytes);
        written.map_err(|fault| RunError::new(fault.into()))?;
        self.set_written(address, bytes.len() as u64);
        Ok(())
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    ///
    /// If the launch is impossible, or an instruction fails.
    pub fn launch(&mut self, launch: &Launch) -> Result<Outcome, RunError> {
        self.launch_with(launch, RunOptions::new())
    }

    /// Runs a kernel to its end, on several threads of the host.
    ///
    /// These run CTAs that do not depend on each other: no function that the kernel can reach has atomic operations or ordered accesses to
    /// memory that CTAs share, allocates memory or reads a clock. Other kernels, and those that are checked, counted or observed, run on one thread. So the result is the same on any number of threads,
    /// unless CTAs have a data race. What they print is in the order of CTAs, and an error is that of the first CTA that has one.
    ///
    /// # Errors
    ///
    /// If the launch is impossible, or an instruction fails.
    pub fn launch_with(
        &mut self,
        launch: &Launch,
        options: RunOptions<'_>,
    ) -> Result<Outcome, RunError> {
        let impossible = |why: &str| RunError::new(StopReason::Launch(why.into()));
        let kernel = self.module.get().function(&launch.kernel);
        let kernel = kernel.filter(|id| self.program.function(*id).is_some_and(|f| f.is_entry));
        let kernel = kernel.ok_or_else(|| RunError::new(StopReason::NoKernel))?;
        let parameters = self.parameters(kernel, launch)?;
        let cluster = shape::cluster(self.module.get(), kernel, launch);
        shape::check(launch, cluster)?;
        shape::check_declared(self.module.get(), kernel, launch)?;
        if self.program.variables.end > Device::LAST {
            return Err(impossible("the variables take more than 1 TiB"));
        }
        let frame = self.program.function(kernel).map_or(0, |f| f.frame.bytes);
        if frame > launch.limits.stack_bytes {
            return Err(RunError::new(StopReason::StackLimit));
        }
        let shared = &self.program.variables.shared;
        let needed = shared.needed(kernel, launch.shared);
        if needed > launch.limits.shared_bytes || !shared.fits(kernel, launch.shared) {
            return Err(impossible("there is not as much shared memory"));
        }
        let workspace = self.grid_workspace()?;
        let heap = self.device.allocate(launch.limits.heap_bytes);
        let heap = heap.ok_or_else(|| impossible("there is not as much memory for the heap"))?;
        let target = || ptx_ir::query::Environment::of(self.module.get()).target();
        let model = launch.model.or_else(target).unwrap_or(Target::Sm70);
        let own = Progress::default();
        let progress = options.progress.unwrap_or(&own);
        progress.start();
        let grid = Grid {
            heap: (AtomicU64::new(heap), heap + launch.limits.heap_bytes),
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
            shared_seed: launch.shared_seed,
            observer: options.observer,
            output: Mutex::default(),
        };
        let mut observer = self.observer(launch, options.observer.is_some());
        let executor = options.executor.unwrap_or(&OneThread);
        let ended = execute::run(&grid, executor, &mut observer);
        let used = grid.heap.0.load(Ordering::Relaxed) - heap;
        let output = grid.printed(ended.as_ref().err());
        let observed = observer.map(|o| o.into_inner().finish());
        let Observed {
            reports,
            written,
            counts,
        } = observed.unwrap_or_default();
        let profile = |counts| Profile::new(self.module.get(), &self.program, &counts);
        self.profile = counts.map(profile);
        self.output.clone_from(&output);
        self.reports = reports;
        self.keep_written(written);
        self.allocations.insert(heap, used, Owner::EarlierHeap);
        ended?;
        let steps = progress.steps();
        Ok(Outcome { steps, output })
    }

    /// What the kernel of the last launch printed, also if it ended with an error.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// What the last launch executed, also if it failed; `None` if it was not counted.
    #[must_use]
    pub const fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// What the checkers of the last launch found, also if it failed: at most 100 reports, one for each kind and instruction.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// What checks the steps of a launch, counts them and shows them.
    fn observer(&self, launch: &Launch, shows: bool) -> Option<Observing> {
        let mut all: Option<Box<dyn Observer>> = None;
        let mut add = |one: Box<dyn Observer>| {
            all = Some(match all.take() {
                Some(others) => Box::new(Both(others, one)),
                None => one,
            });
        };
        let checks = launch.checks;
        if !checks.is_empty() {
            let registers = checks.has(Checker::Initcheck);
            let new = || Sites::new(self.module.get(), &self.program, registers).into();
            let sites = self.sites[usize::from(registers)].get_or_init(new).clone();
            let (allocations, written) = (self.allocations.clone(), self.written.clone());
            let new = || Objects::new(self.module.get(), &self.program).into();
            let objects = checks.has(Checker::Memcheck);
            let objects = objects.then(|| self.objects.get_or_init(new).clone());
            let checkers = Checkers::new(checks, sites, objects, allocations, written);
            add(Box::new(checkers));
        }
        if launch.profile {
            add(Box::<Profiler>::default());
        }
        if shows {
            add(Box::new(Tracer::new(self.module.get())));
        }
        all.map(RefCell::new)
    }

    /// Keeps which bytes were written, for the next launch; all of them after a launch that did not note it.
    fn keep_written(&mut self, written: Option<WrittenBytes>) {
        match written {
            Some(written) => self.written = written,
            None => self.written = WrittenBytes::new(self.device.end(), Device::PAGE),
        }
    }

    /// The address of the zeros that the driver provides for barriers of all CTAs, if the module asks for it; else 0.
    fn grid_workspace(&mut self) -> Result<u64, RunError> {
        if !self.program.reads_special(SpecialReg::Envreg1) {
            return Ok(0);
        }
        let none = || {
            RunError::new(StopReason::Launch(
                "there is no memory for its barrier".into(),
            ))
        };
        let address = match self.workspace {
            Some(address) => address,
            None => self.allocate(WORKSPACE as u64).ok_or_else(none)?,
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
        let wanted = &function.frame.parameters;
        let fits = |(p, a): (&crate::program::Parameter, &Vec<u8>)| p.bytes == a.len() as u64;
        let same = wanted.len() == launch.arguments.len();
        if !same || !wanted.iter().zip(&launch.arguments).all(fits) {
            let sizes: Vec<String> = wanted.iter().map(|p| p.bytes.to_string()).collect();
            let why = format!("its arguments have {} bytes", sizes.join(", "));
            return Err(RunError::new(StopReason::Launch(why)));
        }
        let mut bytes = Vec::new();
        for (parameter, argument) in wanted.iter().zip(&launch.arguments) {
            bytes.resize(parameter.offset as usize, 0);
            bytes.extend_from_slice(argument);
        }
        Ok(bytes)
    }

    /// The names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let functions = self.module.get().functions().iter();
        functions
            .filter(|(_, f)| f.kind == FunctionKind::Entry && f.body.is_some())
            .map(|(_, f)| self.module.get().name(f.name))
    }
}

//! Launches of kernels.

use ptx_vm::{Cooperative, Executor, Launch, RunError, RunOptions, StopReason};
use rayon::prelude::*;

use super::Driver;
use super::attributes::{HEAP_BYTES, shared_of_block};
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// A launch, as a program requests it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KernelLaunch {
    pub(crate) kernel: Raw,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: [u32; 3],
    /// The dynamic shared memory in bytes.
    pub(crate) shared: u32,
    pub(crate) cooperative: bool,
    /// The bytes of each parameter.
    pub(crate) arguments: Vec<Vec<u8>>,
}

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

/// The threads that any block may have.
pub(crate) const BLOCK_THREADS: u64 = 1024;
/// The largest block and the largest grid in each dimension.
pub(crate) const BLOCK_LIMITS: [u32; 3] = [1024, 1024, 64];
pub(crate) const GRID_LIMITS: [u32; 3] = [i32::MAX as u32, 65535, 65535];

impl KernelLaunch {
    /// Whether the sizes of the grid and of blocks are within the limits of the device, and of blocks with a number of threads.
    pub(crate) fn has_valid_sizes(&self, block_threads: u64) -> bool {
        let within = |sizes: [u32; 3], limits: [u32; 3]| {
            let mut each = sizes.iter().zip(limits);
            each.all(|(size, limit)| (1..=limit).contains(size))
        };
        let threads: u64 = self.block.iter().map(|size| u64::from(*size)).product();
        within(self.grid, GRID_LIMITS)
            && within(self.block, BLOCK_LIMITS)
            && threads <= block_threads
    }
}

impl Driver {
    /// Checks a launch, as the driver does before it accepts one.
    pub(crate) fn check_launch(&self, launch: &KernelLaunch) -> Outcome<()> {
        let kernel = self.kernels.get(launch.kernel)?;
        if !launch.has_valid_sizes(kernel.block_threads) {
            return Err(Status::INVALID_VALUE);
        }
        if launch.shared > kernel.dynamic_shared_limit
            || launch.arguments.len() != kernel.parameters.len()
        {
            return Err(Status::INVALID_VALUE);
        }
        Ok(())
    }

    /// Runs a kernel to its end. An error of the kernel becomes that of the context, so that later functions return it, as on a GPU.
    pub(crate) fn launch(&mut self, launch: &KernelLaunch) -> Outcome<()> {
        self.check_launch(launch)?;
        self.bind_changed_references()?;
        let kernel = self.kernels.get(launch.kernel)?;
        let (module, id) = (kernel.module, kernel.id);
        let mut request = Launch::new(&*kernel.name);
        request.grid = launch.grid;
        request.block = launch.block;
        request.cluster = launch.cluster;
        request.shared = launch.shared;
        request.arguments.clone_from(&launch.arguments);
        request.cooperative = launch
            .cooperative
            .then(|| Cooperative::new(self.config.multiprocessors));
        request.model = Some(self.config.target);
        request.checks = self.config.checks;
        request.asynchrony = self.config.asynchrony;
        request.limits.time = self.config.timeout;
        request.limits.memory_bytes = self.config.memory;
        request.limits.heap_bytes = self.limit(HEAP_BYTES)? as u64;
        request.limits.shared_bytes = shared_of_block(self.config.capability).into();
        request.limits.multiprocessors = self.config.multiprocessors;
        self.launches += 1;
        let sizes = launch.grid.iter().chain(&launch.block);
        let threads: u64 = sizes.fold(1, |all, size| all.saturating_mul((*size).into()));
        let options = if threads >= THREADS_FOR_PARALLEL_RUN {
            RunOptions::default().with_executor(&HostThreads)
        } else {
            RunOptions::default()
        };
        let result = self.device.launch_with(id, &request, options);
        self.output.extend_from_slice(self.device.output());
        self.report(module, &request, result.as_ref().err());
        match result {
            Ok(_) => Ok(()),
            Err(error) => match fault(&error) {
                (status, true) => {
                    self.fail_context(status);
                    Ok(())
                }
                (Status::LAUNCH_OUT_OF_RESOURCES, _) if launch.cooperative => {
                    Err(Status::COOPERATIVE_LAUNCH_TOO_LARGE)
                }
                (status, false) => Err(status),
            },
        }
    }

    /// Prints what the checkers found in a launch, and the error that ended it, to the standard error.
    fn report(&self, module: Raw, launch: &Launch, error: Option<&RunError>) {
        let Ok(loaded) = self.modules.get(module) else {
            return;
        };
        let source = loaded.module.source();
        let function = loaded.module.function(&launch.kernel);
        let header = function.and_then(|function| loaded.module.interface_spans(function));
        let kernel_span = header.map(|header| header.name);
        let found = self.device.reports().iter().map(ptx_vm::Report::diagnostic);
        let ended = error.and_then(|error| error.diagnostic(kernel_span.unwrap_or_default()));
        for diagnostic in found.chain(ended) {
            eprintln!("{}", diagnostic.render(&launch.kernel, source));
        }
        if let Some(error) = error.filter(|error| error.reason.code().is_none()) {
            eprintln!(
                "ptxkit: the launch of {} is not possible: {error}",
                launch.kernel
            );
        }
    }
}

/// The result for an error of a run, and whether it stays in the context.
fn fault(error: &RunError) -> (Status, bool) {
    match &error.reason {
        StopReason::OutOfBounds(_) | StopReason::OutsideSurface(_) => {
            (Status::ILLEGAL_ADDRESS, true)
        }
        StopReason::Misaligned(_) => (Status::MISALIGNED_ADDRESS, true),
        StopReason::Assertion(_) => (Status::ASSERT, true),
        StopReason::StackLimit => (Status::HARDWARE_STACK_ERROR, true),
        StopReason::BadTarget => (Status::INVALID_PC, true),
        StopReason::TimeLimit(_) | StopReason::StepLimit | StopReason::Deadlock => {
            (Status::LAUNCH_TIMEOUT, true)
        }
        StopReason::NoKernel => (Status::NOT_FOUND, false),
        StopReason::Launch(_) => (Status::LAUNCH_OUT_OF_RESOURCES, false),
        _ => (Status::LAUNCH_FAILED, true),
    }
}

//! Launches of kernels.

use ptx_vm::{Cooperative, Launch, RunError, StopReason};

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
        request.asynchrony = self.config.asynchrony;
        request.limits.time = self.config.timeout;
        request.limits.memory_bytes = self.config.memory;
        request.limits.heap_bytes = self.limit(HEAP_BYTES)? as u64;
        request.limits.shared_bytes = shared_of_block(self.config.capability).into();
        request.limits.multiprocessors = self.config.multiprocessors;
        let result = self.inspect(module, id, request);
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
        StopReason::Canceled => (Status::DEINITIALIZED, true),
        _ => (Status::LAUNCH_FAILED, true),
    }
}

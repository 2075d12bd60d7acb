//! Launches: the configuration, the limits and the outcome.

use ptx_ir::{FuncId, InstId};
use ptx_isa::Target;

use crate::account::MEMORY;
use crate::asynchrony::Asynchrony;
use crate::check::{Checker, Checks};
use crate::schedule::Schedule;

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
    /// The size of the `malloc` heap in bytes; by default 8 MiB, as in the driver. A device has one heap, whose contents stay between launches.
    pub heap_bytes: u64,
    /// The number of launches, copies and fills that kernels request and that have not begun; by default 65536. A GPU has 2048 by default, but performs them at the same time.
    pub pending_launches: u32,
    /// The depth of nested launches from kernels; by default 24, as on the hardware.
    pub nested_launches: u32,
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
            pending_launches: 1 << 16,
            nested_launches: 24,
            resident_clusters: 1024,
            memory_bytes: MEMORY,
            time: None,
            multiprocessors: 1,
        }
    }
}

/// The device that all CTAs of a cooperative launch have to fit on at the same time.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Cooperative {
    /// The number of multiprocessors; by default 132, as on an H100.
    pub multiprocessors: u32,
}

impl Default for Cooperative {
    fn default() -> Self {
        Self {
            multiprocessors: 132,
        }
    }
}

impl Cooperative {
    /// A device with a number of multiprocessors.
    #[must_use]
    pub const fn new(multiprocessors: u32) -> Self {
        Self { multiprocessors }
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
    /// Whether the launch is cooperative: all CTAs have to be resident at the same time, so that they can wait for each other (`grid.sync()`). The number of CTAs that
    /// fit on the device is known from the threads and the shared memory of a CTA, but not from its registers. [`LaunchLimits::resident_clusters`] does not limit
    /// such a launch.
    pub cooperative: Option<Cooperative>,
    /// The architecture whose tensor cores are modeled for the rounding of matrix products; by default the target of the module.
    pub model: Option<Target>,
    /// The resource limits.
    pub limits: LaunchLimits,
    /// The enabled checkers.
    pub checks: Checks,
    /// Whether to collect a profile, which [`Device::profile`](crate::Device::profile) returns.
    pub profile: bool,
    /// The order in which CTAs start and warps run, on one host thread; `None` for the order of their indices.
    pub schedule: Option<Schedule>,
    /// The time at which asynchronous operations are performed: later times make missing waits visible.
    pub asynchrony: Asynchrony,
    /// The seed of the random initial contents of shared memory, which the hardware leaves undefined; `None` for zeros.
    pub shared_seed: Option<u64>,
    /// Whether the launch goes on as on a GPU where the PTX ISA manual leaves the behavior undefined and GPUs tolerate it: the member mask of a lane always includes the lane, and
    /// if masks do not, the lanes of a warp that execute the instruction together all take part in it.
    /// [`Checker::Synccheck`] reports such masks. By default, they end the launch.
    pub permissive: bool,
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
            cooperative: None,
            model: None,
            limits: LaunchLimits::default(),
            checks: Checks::NONE,
            profile: false,
            schedule: None,
            asynchrony: Asynchrony::Immediate,
            shared_seed: None,
            permissive: false,
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
    /// The reason, as in [`StopReason::Unsupported`](crate::StopReason::Unsupported).
    pub reason: String,
}

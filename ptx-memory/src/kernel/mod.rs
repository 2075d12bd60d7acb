//! Kernels as programs of the explorer: each thread of a small launch executes the instructions of the kernel.
//!
//! Arithmetic is that of `ptx-semantics`, so that an instruction computes here what it computes everywhere in the project. What cannot be explored
//! is reported: calls, matrix instructions, textures and surfaces, and copies of tensors.

mod asynchronous;
mod code;
mod condition;
mod drawing;
mod exchange;
mod failures;
mod mbarrier;
mod memory;
mod repair;
mod step;
mod story;
mod synchronize;
mod thread;
mod variables;

use std::fmt;

use ptx_ir::facts::FunctionFacts;

use crate::event::ThreadPlace;
use code::Code;
use variables::Variables;

pub use condition::KernelCondition;
pub use failures::{Counterexample, Failure, KernelOutcome, KernelReport, MemoryValue};
pub use repair::{Repair, RepairEdit};
pub use story::{Story, StoryStep};
pub use thread::KernelThread;

/// An argument of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KernelArgument {
    /// The bytes of the argument, the lowest byte first.
    Bytes(Vec<u8>),
    /// The address of a buffer in global memory.
    Buffer(KernelBuffer),
}

/// A buffer in global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelBuffer {
    /// The number of bytes.
    pub bytes: u64,
    /// The initial contents of the first bytes; `None` for bytes that were never written.
    pub initial: Vec<Option<u8>>,
}

impl KernelBuffer {
    /// A buffer of zeros.
    #[must_use]
    pub fn zeros(bytes: u64) -> Self {
        Self {
            bytes,
            initial: vec![Some(0); usize::try_from(bytes).unwrap_or(0)],
        }
    }
}

/// A launch of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelLaunch {
    /// The number of CTAs.
    pub ctas: u32,
    /// The number of threads of each CTA.
    pub threads: u32,
    /// The number of CTAs of each cluster.
    pub cluster: u32,
    /// The arguments.
    pub arguments: Vec<KernelArgument>,
    /// The bytes of dynamic shared memory.
    pub dynamic_shared_bytes: u64,
    /// Whether data-races are ignored. The values of racing reads are those that the axioms allow.
    pub ignores_races: bool,
}

impl KernelLaunch {
    /// A launch of this number of CTAs and of threads in each.
    #[must_use]
    pub fn new(ctas: u32, threads: u32, arguments: Vec<KernelArgument>) -> Self {
        Self {
            ctas,
            threads,
            cluster: 1,
            arguments,
            dynamic_shared_bytes: 1 << 16,
            ignores_races: false,
        }
    }
}

/// The largest number of threads of a launch.
pub const MAX_THREADS: u32 = 64;

/// A launch that cannot be explored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelError(pub String);

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KernelError {}

/// A kernel with a launch.
#[derive(Debug)]
pub struct Kernel<'m> {
    facts: FunctionFacts<'m>,
    launch: KernelLaunch,
    places: Vec<ThreadPlace>,
    code: Code,
    variables: Variables,
}

impl<'m> Kernel<'m> {
    /// Prepares a launch of a kernel.
    ///
    /// # Errors
    ///
    /// If the launch has no threads or too many, or if the arguments do not fit the parameters.
    pub fn new(facts: FunctionFacts<'m>, launch: KernelLaunch) -> Result<Self, KernelError> {
        let count = u64::from(launch.ctas) * u64::from(launch.threads);
        if count == 0 || count > u64::from(MAX_THREADS) || launch.cluster == 0 {
            return Err(KernelError(format!(
                "a launch has 1 to {MAX_THREADS} threads"
            )));
        }
        let places = (0..launch.ctas)
            .flat_map(|cta| {
                std::iter::repeat_n(
                    ThreadPlace {
                        cta,
                        cluster: cta / launch.cluster,
                        gpu: 0,
                    },
                    launch.threads as usize,
                )
            })
            .collect();
        let variables = Variables::new(facts, &launch)?;
        Ok(Self {
            code: Code::new(facts),
            facts,
            launch,
            places,
            variables,
        })
    }

    /// The address of the buffer that an argument is.
    #[must_use]
    pub fn buffer_address(&self, argument: usize) -> Option<u64> {
        self.variables.buffers.get(argument).copied().flatten()
    }

    /// The name of a physical address, such as `flag` or `data+8`.
    #[must_use]
    pub fn location_name(&self, address: u64) -> String {
        let (variables, address, suffix) = match Variables::shared_offset(address) {
            Some((cta, offset)) if self.launch.ctas > 1 => (
                &self.variables.shared_named,
                offset,
                format!(" of CTA {cta}"),
            ),
            Some((_, offset)) => (&self.variables.shared_named, offset, String::new()),
            None => (&self.variables.named, address, String::new()),
        };
        let variable = variables
            .iter()
            .find(|named| named.address <= address && address - named.address < named.bytes);
        match variable {
            Some(named) if named.address == address => format!("{}{suffix}", named.name),
            Some(named) => format!("{}+{}{suffix}", named.name, address - named.address),
            None => format!("{address:#x}{suffix}"),
        }
    }

    /// The CTA of a thread, and its number in the CTA.
    #[must_use]
    pub fn place_of_thread(&self, thread: usize) -> (u32, u32) {
        let threads = self.launch.threads.max(1);
        (thread as u32 / threads, thread as u32 % threads)
    }

    /// The source of the module.
    #[must_use]
    pub fn module_source(&self) -> &[u8] {
        self.facts.module().source()
    }

    /// The statement of the instruction with a number in events.
    #[must_use]
    pub fn statement(&self, instruction: u32) -> Option<ptx_ir::StmtId> {
        self.code.statements.get(instruction as usize).copied()
    }
}

//! Observation of the executed steps of warps: active lanes, values of registers, and memory accesses.

mod described;
mod tracer;

use core::fmt::Debug;

use ptx_ir::facts::RegisterComponent;
use ptx_ir::{FuncId, InstId};
use ptx_isa::{ScalarType, SpecialReg, StateSpace};

pub(crate) use tracer::Tracer;

pub use crate::execute::AccessUse;
use crate::lanes::LANES;

/// Observes the instructions that warps execute, in execution order. A launch with an observer runs on one host thread.
///
/// ```
/// use std::sync::Mutex;
/// use ptx_vm::{ExecutedStep, Launch, Machine, RunOptions, StepObserver};
///
/// /// Records the results of lane 3.
/// #[derive(Debug, Default)]
/// struct Lane(Mutex<Vec<u128>>);
///
/// impl StepObserver for Lane {
///     fn step(&self, step: &ExecutedStep<'_>) {
///         if step.lanes >> 3 & 1 == 1 {
///             self.0.lock().unwrap().extend(step.writes.iter().map(|value| value.bits(3)));
///         }
///     }
/// }
///
/// let module = ptx_parse::parse_str(
///     ".version 8.0\n.target sm_90\n.address_size 64\n
///     .visible .entry k()\n{\n
///     .reg .u32 %r<3>;\n
///     mov.u32 %r1, %tid.x;\n
///     mad.lo.u32 %r2, %r1, %r1, 5;\n
///     ret;\n}\n",
/// )
/// .into_result()?;
/// let seen = Lane::default();
/// let options = RunOptions::default().with_observer(&seen);
/// Machine::new(&module).launch_with(&Launch::new("k").shape(1, 32), options)?;
/// assert_eq!(*seen.0.lock().unwrap(), [3, 14]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait StepObserver: Debug + Sync {
    /// Selects the lanes at the instruction whose values [`step`](Self::step) shows; all lanes by default. If it returns 0, the step is not
    /// shown and has little overhead.
    fn lanes(&self, place: &StepPlace) -> u32 {
        place.mask
    }

    /// Called when lanes of a warp executed an instruction, or started to.
    fn step(&self, step: &ExecutedStep<'_>);
}

/// A grid of a launch.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct StepGrid {
    /// 0 for the grid that was launched. The grids that kernels launch have the numbers 1, 2, … in the order in which they begin.
    pub number: u64,
    /// The number of CTAs in each dimension.
    pub blocks: [u32; 3],
    /// The number of threads of a CTA in each dimension.
    pub threads: [u32; 3],
}

/// The position of an executed instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StepPlace {
    /// The number of steps of the launch before this one.
    pub number: u64,
    /// The grid of the CTA.
    pub grid: StepGrid,
    /// The function.
    pub function: FuncId,
    /// The instruction in the body of the function.
    pub inst: InstId,
    /// `%ctaid` of the CTA.
    pub block: [u32; 3],
    /// The index of the first thread of the warp in its CTA.
    pub first_thread: u32,
    /// The lanes at the instruction.
    pub mask: u32,
    /// The active lanes: those for which the guard holds. The others skip the instruction.
    pub active: u32,
    /// The call depth of the lanes; 0 in a kernel.
    pub depth: u32,
}

/// The state of an executed instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StepState {
    /// The lanes continue.
    Done,
    /// The lanes wait for other threads. When they continue, the step is shown again as [`Resumed`](Self::Resumed) if it has results.
    Waits,
    /// The lanes called a function. When it returns, the step is shown again as [`Resumed`](Self::Resumed) if it has results.
    Calls,
    /// The lanes received the results of a step that was shown before.
    Resumed,
    /// The instruction failed for this lane; the launch ends, or a checker reports the error.
    Failed(usize, String),
}

/// An executed instruction of lanes of a warp, with the values that it read and wrote.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExecutedStep<'a> {
    /// The position of the instruction.
    pub place: StepPlace,
    /// The shown lanes, as selected by [`StepObserver::lanes`]. They need not be active.
    pub lanes: u32,
    /// The state of the instruction.
    pub state: StepState,
    /// The registers that it read, with their values before the step.
    pub reads: &'a [RegisterValues],
    /// The registers that it wrote, with their values after the step; inactive lanes keep their values. Empty if lanes
    /// wait, or are in the called function.
    pub writes: &'a [RegisterValues],
    /// The memory accesses of the active shown lanes, in the order of the accesses.
    pub accesses: &'a [StepAccess],
}

/// A register in an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum StepRegister {
    /// A register, or an element of a vector register.
    Register(RegisterComponent),
    /// A special register, and the index of its element, such as 1 for `%tid.y`.
    Special(SpecialReg, u8),
}

/// The values of a register in the lanes of a warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterValues {
    register: StepRegister,
    ty: ScalarType,
    values: Box<[u128; LANES]>,
}

impl RegisterValues {
    /// The register.
    #[must_use]
    pub const fn register(&self) -> StepRegister {
        self.register
    }

    /// The type of the value: that of the operand, or that of the declaration if the instruction specifies less.
    #[must_use]
    pub const fn ty(&self) -> ScalarType {
        self.ty
    }

    /// The bits of the value in a lane, as many as the type has; 0 or 1 for a predicate.
    #[must_use]
    pub fn bits(&self, lane: usize) -> u128 {
        let bits = self.values.get(lane).copied().unwrap_or(0);
        bits & u128::MAX >> (128 - u32::from(self.ty.bits().clamp(1, 128)))
    }
}

/// A memory access of a lane.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StepAccess {
    /// The lane.
    pub lane: usize,
    /// Whether it reads, writes or does both.
    pub usage: AccessUse,
    /// `.global` (including constants and the heap), `.shared`, `.local` or `.param`.
    pub space: StateSpace,
    /// For shared memory, the rank of its CTA in the cluster.
    pub rank: usize,
    /// The address in global memory, or the offset in other memories.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The type of the elements, if the instruction specifies it.
    pub ty: Option<ScalarType>,
    /// For a read or an atomic operation, the contents of memory before the step; at most the first 64 bytes.
    pub before: Vec<u8>,
    /// For a write or an atomic operation, the contents of memory after the step, including the accesses of all lanes; likewise.
    pub after: Vec<u8>,
}

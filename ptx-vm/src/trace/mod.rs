//! What warps execute, step by step, for those who want to see it: which lanes, the values of registers, and accesses to memory.

mod described;
mod tracer;

use core::fmt::Debug;

use ptx_ir::facts::RegLane;
use ptx_ir::{FuncId, InstId};
use ptx_isa::{ScalarType, SpecialReg, StateSpace};

pub(crate) use tracer::Tracer;

pub use crate::execute::AccessUse;
use crate::lanes::LANES;

/// Sees the instructions that warps execute, in the order in which they do. A launch that has one runs on one thread of the host.
///
/// ```
/// use std::sync::Mutex;
/// use ptx_vm::{ExecutedStep, Launch, Machine, RunOptions, StepObserver};
///
/// /// Notes what lane 3 computes.
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
/// let options = RunOptions::new().observed_by(&seen);
/// Machine::new(&module).launch_with(&Launch::new("k").shape(1, 32), options)?;
/// assert_eq!(*seen.0.lock().unwrap(), [3, 14]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait StepObserver: Debug + Sync {
    /// The lanes whose values [`step`](Self::step) shows, of those that are at the instruction: all of them, unless this says
    /// otherwise. With 0 the step is not shown, and costs little.
    fn lanes(&self, place: &StepPlace) -> u32 {
        place.mask
    }

    /// Lanes of a warp executed an instruction, or began to.
    fn step(&self, step: &ExecutedStep<'_>);
}

/// Which instruction lanes of a warp execute.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StepPlace {
    /// How many instructions warps executed before, in the whole launch.
    pub number: u64,
    /// The function.
    pub function: FuncId,
    /// The instruction in the body of the function.
    pub inst: InstId,
    /// `%ctaid` of the CTA.
    pub block: [u32; 3],
    /// The index of the first thread of the warp in its CTA.
    pub first_thread: u32,
    /// The lanes that are at the instruction.
    pub mask: u32,
    /// Those for which its guard holds. The others only go on.
    pub active: u32,
    /// How many calls the lanes are in; 0 in a kernel.
    pub depth: u32,
}

/// What became of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StepState {
    /// The lanes go on.
    Done,
    /// The lanes wait for other threads. When they go on, the step is shown again as [`Resumed`](Self::Resumed) if it has results.
    Waits,
    /// The lanes called a function. When it returned, the step is shown again as [`Resumed`](Self::Resumed) if it has results.
    Calls,
    /// The lanes have the results of a step that was shown before.
    Resumed,
    /// It failed for the lane of this number; the launch ends, or a checker reports it.
    Failed(usize, String),
}

/// An instruction that lanes of a warp executed, with the values that it read and wrote.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExecutedStep<'a> {
    /// Which instruction.
    pub place: StepPlace,
    /// The lanes that are shown: those that [`StepObserver::lanes`] asked for. Their guard need not hold.
    pub lanes: u32,
    /// What became of it.
    pub state: StepState,
    /// The registers that it read, with their values before.
    pub reads: &'a [RegisterValues],
    /// The registers that it wrote, with their values after it; those of lanes whose guard does not hold kept theirs. Empty if lanes
    /// wait, or are in the function that they called.
    pub writes: &'a [RegisterValues],
    /// The memory that active lanes of those that are shown accessed, in the order of the accesses.
    pub accesses: &'a [StepAccess],
}

/// A register in an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum StepRegister {
    /// A register, or an element of a vector register.
    Register(RegLane),
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
    /// Which register.
    #[must_use]
    pub const fn register(&self) -> StepRegister {
        self.register
    }

    /// The type of the value: as the instruction takes it, or as the register is declared if the instruction says less.
    #[must_use]
    pub const fn ty(&self) -> ScalarType {
        self.ty
    }

    /// The bits of the value in a lane, of which there are as many as the type has; 0 or 1 for a predicate.
    #[must_use]
    pub fn bits(&self, lane: usize) -> u128 {
        let bits = self.values.get(lane).copied().unwrap_or(0);
        bits & u128::MAX >> (128 - u32::from(self.ty.bits().clamp(1, 128)))
    }
}

/// An access of a lane to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StepAccess {
    /// The lane.
    pub lane: usize,
    /// Whether it read, wrote or did both.
    pub usage: AccessUse,
    /// `.global`, also for constants and the heap, `.shared`, `.local` or `.param`.
    pub space: StateSpace,
    /// Of shared memory, the rank of its CTA in the cluster.
    pub rank: usize,
    /// The address in global memory, the offset in others.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The type of the elements, if the instruction says it.
    pub ty: Option<ScalarType>,
    /// Of a read or an atomic operation, what was in memory before the step; at most the first 64 bytes.
    pub before: Vec<u8>,
    /// Of a write or an atomic operation, what was in memory after the step, with the accesses of all lanes; likewise.
    pub after: Vec<u8>,
}

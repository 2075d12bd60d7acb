//! Classes of instructions by the unit of the hardware that executes them.

use ptx_ir::facts::{Facts, Flow, Space};
use ptx_isa::{Action, StateSpace};

use super::operations::Operations;

/// The class of an instruction.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Class {
    /// Multiplies matrices on tensor cores.
    Tensor,
    /// Floating-point arithmetic.
    Floating,
    /// Integer and bitwise arithmetic.
    Integer,
    /// Accesses global memory, including accesses through generic addresses, textures and surfaces.
    Global,
    /// Accesses shared memory, or moves matrices between registers and memory.
    Shared,
    /// Accesses local memory, parameters or constants.
    OtherMemory,
    /// Starts, commits or waits for asynchronous operations.
    Asynchronous,
    /// Synchronizes threads or orders memory accesses.
    Synchronization,
    /// Control flow: branches, calls, returns.
    Control,
    /// Copies, conversions, comparisons, selections, and exchanges between lanes.
    Other,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 10] = [
        Self::Tensor,
        Self::Floating,
        Self::Integer,
        Self::Global,
        Self::Shared,
        Self::OtherMemory,
        Self::Asynchronous,
        Self::Synchronization,
        Self::Control,
        Self::Other,
    ];

    /// The name of the class.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Floating => "floating",
            Self::Integer => "integer",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::OtherMemory => "other_memory",
            Self::Asynchronous => "asynchronous",
            Self::Synchronization => "synchronization",
            Self::Control => "control",
            Self::Other => "other",
        }
    }

    /// The class of an instruction with these operations, whose first memory access is to `space`.
    pub(super) fn of(facts: &Facts<'_>, operations: &Operations, space: Option<Space>) -> Self {
        if facts.is_matrix_multiply() {
            return Self::Tensor;
        }
        if !facts.asynchronous().is_empty() || facts.action() == Some(Action::MbarrierTest) {
            return Self::Asynchronous;
        }
        if facts.is_barrier() || facts.is_fence() {
            return Self::Synchronization;
        }
        if facts.flow() != Flow::Next {
            return Self::Control;
        }
        match space {
            Some(Space::State(space)) => match space.base() {
                StateSpace::Shared => Self::Shared,
                StateSpace::Global => Self::Global,
                _ => Self::OtherMemory,
            },
            Some(Space::Tensor) => Self::Shared,
            Some(_) => Self::Global,
            None if facts.is_matrix_move() => Self::Shared,
            None if operations.floating() > 0 => Self::Floating,
            None if operations.integer > 0 => Self::Integer,
            None => Self::Other,
        }
    }
}

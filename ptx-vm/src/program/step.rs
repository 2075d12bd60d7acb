//! The decoded steps of a function.

use std::sync::Arc;

use ptx_ir::{FuncId, InstId};
use ptx_isa::{Action, Modifier, Opcode, ScalarType, SpecialReg, StateSpace};

use crate::lanes::Place;

/// An instruction with its guard.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) guard: Option<Guard>,
    pub(crate) step: Step,
    /// Operations that compute operands of the step, by their first and one past their last.
    pub(crate) operand_ops: (u32, u32),
    pub(crate) inst: InstId,
    /// The number of steps from this one on that are operations on all lanes, without a guard, in its block.
    pub(crate) run: u32,
    /// The position of its block in an order in which a block comes before those that post-dominate it.
    pub(crate) rank: u32,
}

/// A predicate that guards an instruction.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Guard {
    /// The index of the predicate.
    pub(crate) predicate: u32,
    pub(crate) is_negated: bool,
}

/// An instruction.
#[derive(Debug)]
pub(crate) enum Step {
    /// Operations on all lanes, by their first and one past their last.
    Lanes(u32, u32),
    /// An instruction that is evaluated lane by lane.
    Fold(Box<Fold>),
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atomic>),
    /// Reads a special register whose value changes, and does operations, by their first and one past their last.
    Special(SpecialReg, Place, (u32, u32)),
    Jump(u32),
    /// Goes to one of several steps, by the value of an index.
    Table(Place, Arc<[u32]>),
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Act(Box<Act>),
    /// An instruction that cannot be executed, with the reason.
    Unsupported(Box<str>),
}

impl Step {
    /// Whether the step may read memory that other threads change.
    pub(crate) fn reads_shared(&self) -> bool {
        match self {
            Self::Load(access) => !matches!(
                access.address.window,
                Window::Local | Window::KernelParameters
            ),
            Self::Atomic(_) | Self::Act(_) | Self::Special(..) => true,
            _ => false,
        }
    }
}

/// An instruction that [`ptx_semantics::fold`] evaluates.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) opcode: Opcode,
    pub(crate) modifiers: Vec<Modifier>,
    pub(crate) video: ptx_semantics::fold::Video,
    pub(crate) sources: Vec<Place>,
    /// The place of the result; of a vector, those of its elements.
    pub(crate) results: Vec<Place>,
    pub(crate) second: Option<Place>,
    /// The type of the result.
    pub(crate) ty: Option<ScalarType>,
    pub(crate) reads_carry: bool,
    pub(crate) writes_carry: bool,
}

/// The memory that an address is in.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Window {
    /// The memory that the address itself says.
    Generic,
    State(StateSpace),
    /// The parameters of the kernel.
    KernelParameters,
    /// The stack of the thread.
    Local,
}

/// The base of an address, which an offset is added to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    Register(Place),
    /// The beginning of the frame of the function.
    Frame,
    Zero,
}

/// An address of each lane.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    pub(crate) window: Window,
    pub(crate) base: Base,
    pub(crate) offset: u64,
}

impl Address {
    pub(super) const fn new(window: Window, base: Base, offset: u64) -> Self {
        Self {
            window,
            base,
            offset,
        }
    }
}

/// A load or a store.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) address: Address,
    /// The bytes of an element.
    pub(crate) bytes: u8,
    /// The places of the elements; `None` where an element is dropped.
    pub(crate) places: Vec<Option<Place>>,
    /// The type of the elements, which fills registers that are wider.
    pub(crate) ty: ScalarType,
}

/// An atomic operation on the elements of a vector, one after the other.
#[derive(Debug)]
pub(crate) struct Atomic {
    pub(crate) address: Address,
    pub(crate) elements: Vec<ChangedElement>,
    /// The first operation of the first element.
    pub(crate) start: u32,
}

/// The change of an element in memory.
#[derive(Clone, Debug)]
pub(crate) struct ChangedElement {
    pub(crate) bytes: u8,
    /// The places of the value at the changed address, and then of the values at the other addresses.
    pub(crate) loaded: Vec<Place>,
    /// The operations that compute the new value.
    pub(crate) ops: (u32, u32),
    pub(crate) new: Place,
}

/// The function that a call calls.
#[derive(Debug)]
pub(crate) enum Callee {
    Function(FuncId),
    /// A function of the system, by its name.
    System(Box<str>),
    /// The register that has the address.
    Indirect(Place),
}

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) arguments: Vec<Argument>,
    /// The bytes of the last argument, if it is in memory.
    pub(crate) last_bytes: u64,
    pub(crate) results: Vec<Argument>,
}

/// An argument or a result of a call, in the caller or in the function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Argument {
    /// A register or a constant; of a vector register, its elements.
    Registers(Vec<Place>),
    /// The bytes of the frame from here on.
    Memory(u64),
    /// A result that is dropped.
    None,
}

/// An element of an argument.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Passed {
    Register(Place),
    /// The bytes of the frame from here on.
    Memory(u64),
    None,
}

impl Argument {
    /// The number of registers of the argument; 1 if it is in memory.
    pub(crate) fn elements(&self) -> usize {
        match self {
            Self::Registers(places) => places.len(),
            Self::Memory(_) | Self::None => 1,
        }
    }

    /// An element of the argument. In memory, each element has `bytes` bytes.
    pub(crate) fn element(&self, index: usize, bytes: u64) -> Passed {
        match self {
            Self::Registers(places) => places
                .get(index)
                .map_or(Passed::None, |place| Passed::Register(*place)),
            Self::Memory(offset) => Passed::Memory(offset + index as u64 * bytes),
            Self::None => Passed::None,
        }
    }
}

/// An action of the machine.
#[derive(Debug)]
pub(crate) struct Act {
    pub(crate) action: Action,
    pub(crate) modifiers: Vec<Modifier>,
    /// The operands of the form, in its order.
    pub(crate) operands: Vec<Option<ActOperand>>,
    /// The change of each element of a vector in memory.
    pub(crate) elements: Vec<ChangedElement>,
    /// The first address may be a multimem address.
    pub(crate) is_multimem: bool,
}

/// An operand of an action.
#[derive(Debug)]
pub(crate) enum ActOperand {
    /// A register, a constant, or the elements of a vector.
    Places(Vec<Place>),
    Address(Address),
}

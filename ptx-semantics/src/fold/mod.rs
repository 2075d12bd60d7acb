//! Exact results of instructions whose operands are constants, by the semantics of the PTX ISA manual.
//!
//! [`fold`] has no result (`None`) if the PTX ISA manual leaves it undefined: division by zero, the bits of a NaN that an instruction
//! computes, approximations.
//!
//! The tables state what instructions compute ([`ptx_isa::Form::computation`]). It is evaluated here.

pub(crate) mod algebra;
pub(crate) mod columns;
pub(crate) mod computation;
pub(crate) mod exact_float;
pub(crate) mod float_format;
mod float_functions;
mod functions;
mod integer_functions;
mod number_bits;
mod parts;
pub(crate) mod rounding;
pub(crate) mod value;

pub use columns::PerThread;
pub use number_bits::{number, number_bits};
pub use parts::Video;

use alloc::vec::Vec;
use ptx_isa::{Modifier, Opcode, ScalarType, find_instruction};

/// An instruction with the values that it reads.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// The opcode.
    pub opcode: Opcode,
    /// All words after the opcode, as written.
    pub modifiers: &'a [Modifier],
    /// The bits of the source operands, in their order, a predicate as 0 or 1 with its `!` applied. Bits above the width of an
    /// operand's type are ignored.
    pub operands: &'a [u128],
    /// The carry register, for instructions that read it.
    pub carry: Option<bool>,
    /// Selected parts and signs of the operands of video instructions; the default for all other instructions.
    pub video: Video,
}

/// The results of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Folded {
    /// The bits of the destination, in the width of `ty`. [`extended`](crate::internals::extended) extends them to a wider register.
    pub value: u128,
    /// The type of the destination.
    pub ty: ScalarType,
    /// The second destination: `q` of `setp`, `p` of `lop3`.
    pub second: Option<bool>,
    /// The carry flag, for instructions that write it.
    pub carry: Option<bool>,
}

impl Folded {
    fn new(value: u128, ty: ScalarType) -> Option<Self> {
        Some(Self {
            value: value & mask(ty.bits()),
            ty,
            second: None,
            carry: None,
        })
    }
}

/// The results of `operation`, if its form is known and the PTX ISA manual defines each bit of the first result. Constant time.
#[must_use]
pub fn fold(operation: &Operation<'_>) -> Option<Folded> {
    let operands: Vec<_> = operation.operands.iter().copied().map(Some).collect();
    computed(operation, &operands)
}

/// The results of `operation`, as of [`fold`], but with the bits that GPUs write if the PTX ISA manual leaves them open: all bits but the sign of a
/// NaN are ones, `.relu` makes 0 of -0, and other values are all ones. `None` if they depend on more than the operation, as in 64 bits. This holds
/// for each element of a packed type. Constant time.
///
/// ```
/// use ptx_semantics::fold::{Operation, Video, fold};
/// use ptx_semantics::internals::fold_with_choices;
/// use ptx_isa::{Modifier, Opcode};
/// let nan = Operation {
///     opcode: Opcode::Add,
///     modifiers: &[Modifier::F16x2],
///     operands: &[0x3c00_7c00, 0x3c00_fc00],
///     carry: None,
///     video: Video::default(),
/// };
/// assert_eq!(fold(&nan), None);
/// assert_eq!(fold_with_choices(&nan).map(|f| f.value), Some(0x4000_7fff));
/// ```
#[doc(hidden)]
#[must_use]
pub fn fold_with_choices(operation: &Operation<'_>) -> Option<Folded> {
    let operands: Vec<_> = operation.operands.iter().copied().map(Some).collect();
    let sources = Sources {
        operands: &operands,
        carry: operation.carry,
        video: operation.video,
    };
    with_form(operation.opcode, operation.modifiers, sources, |inputs| {
        let inputs = computation::Inputs {
            choose: true,
            ..*inputs
        };
        inputs.evaluate()
    })
}

/// The results of an instruction some operands of which are unknown (`None`), if the first result does not depend on these: a selection
/// whose predicate is known, a product with zero, a conjunction with a false predicate. Other results that depend on unknown operands are
/// `None`. If all operands are known, this is [`fold`].
#[doc(hidden)]
#[must_use]
pub fn fold_partial(
    opcode: Opcode,
    modifiers: &[Modifier],
    operands: &[Option<u128>],
    carry: Option<bool>,
) -> Option<Folded> {
    let known_operands: Vec<u128> = operands.iter().copied().flatten().collect();
    let operation = Operation {
        opcode,
        modifiers,
        operands: &known_operands,
        carry,
        video: Video::default(),
    };
    computed(&operation, operands)
}

/// The bits that an atomic operation or reduction writes to memory where it reads the bits `old`; `None` if an operand that matters is unknown,
/// or for another instruction. Constant time.
#[doc(hidden)]
#[must_use]
pub fn fold_update(
    opcode: Opcode,
    modifiers: &[Modifier],
    operands: &[Option<u128>],
    old: u128,
) -> Option<u128> {
    let sources = Sources {
        operands,
        carry: None,
        video: Video::default(),
    };
    with_form(opcode, modifiers, sources, |inputs| {
        inputs.evaluate_update(old)
    })
}

/// The results of an operation with other operands.
fn computed(operation: &Operation<'_>, operands: &[Option<u128>]) -> Option<Folded> {
    let sources = Sources {
        operands,
        carry: operation.carry,
        video: operation.video,
    };
    with_form(operation.opcode, operation.modifiers, sources, |inputs| {
        inputs.evaluate()
    })
}

/// The values that an instruction reads.
#[derive(Clone, Copy)]
struct Sources<'a> {
    operands: &'a [Option<u128>],
    carry: Option<bool>,
    video: Video,
}

/// Calls `evaluate` for the form of an instruction.
fn with_form<T>(
    opcode: Opcode,
    modifiers: &[Modifier],
    sources: Sources<'_>,
    evaluate: impl FnOnce(&computation::Inputs<'_>) -> Option<T>,
) -> Option<T> {
    let instruction = find_instruction(opcode, modifiers)?;
    let choices = modifiers.get(instruction.words().len()..)?;
    for form in instruction.forms() {
        let Some(slots) = form.computation().and(form.match_modifiers(choices)) else {
            continue;
        };
        let inputs = computation::Inputs {
            form,
            slots: &slots,
            modifiers,
            operands: sources.operands,
            carry: sources.carry,
            video: sources.video,
            choose: false,
        };
        if inputs.fit() && inputs.are_legal() {
            return evaluate(&inputs);
        }
    }
    None
}

/// The type of the elements of a packed type; other types have one element.
pub(crate) fn element(ty: ScalarType) -> ScalarType {
    ty.element().unwrap_or(ty)
}

/// A mask of the lowest `bits` bits.
fn mask(bits: u16) -> u128 {
    match bits {
        128.. => u128::MAX,
        _ => (1 << bits) - 1,
    }
}

/// The integer that the lowest `bits` bits of a value are in two's complement.
fn signed(value: u128, bits: u16) -> i128 {
    let shift = 128u32.saturating_sub(bits.into()).min(127);
    ((value << shift) as i128) >> shift
}

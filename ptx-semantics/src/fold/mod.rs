//! Exact results of instructions whose operands are constants, by the semantics of the PTX ISA manual.
//!
//! [`fold`] refuses (`None`) whatever the PTX ISA manual leaves undefined: division by zero, the bits of a NaN that an instruction
//! makes, approximations.
//!
//! What instructions compute is stated by the tables ([`ptx_isa::Form::computation`]) and evaluated here.

mod algebra;
mod columns;
mod commutativity;
pub(crate) mod computation;
pub(crate) mod exact_float;
mod float;
pub(crate) mod float_format;
mod floats;
mod functions;
mod integers;
mod number_bits;
mod parts;
pub(crate) mod rounding;
pub(crate) mod value;

pub use algebra::{COPY, Conversion, TO_SPACE, conversion, is_copy, selection};
pub use columns::{FoldedColumns, PerThread, fold_columns};
pub use commutativity::commutes;
pub use number_bits::{number, number_bits};
pub use parts::Video;

use alloc::vec::Vec;
use ptx_isa::{Modifier, Opcode, ScalarType, find_instruction};

/// An instruction with the values it reads.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// Its first word.
    pub opcode: Opcode,
    /// All words after it, as written.
    pub modifiers: &'a [Modifier],
    /// The bits of the source operands, in their order, a predicate as 0 or 1 with its `!` applied. What lies above the
    /// width of an operand's type is ignored.
    pub operands: &'a [u128],
    /// The carry register, for instructions that read it.
    pub carry: Option<bool>,
    /// Selected parts and signs of operands, for video instructions. Everywhere else nothing.
    pub video: Video,
}

/// What an instruction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Folded {
    /// The bits of the destination, in the width of `ty`; in a wider register the client extends them by `ty`.
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

/// The result of `operation`, if its form is known and the PTX ISA manual defines the result to the bit. Constant time.
#[must_use]
pub fn fold(operation: &Operation<'_>) -> Option<Folded> {
    let operands: Vec<_> = operation.operands.iter().copied().map(Some).collect();
    computed(operation, &operands)
}

/// As [`fold`], with the bits that GPUs give where the PTX ISA manual leaves them open: of a NaN all but the sign, 0 for -0 with `.relu`, and
/// all ones for other values. `None` where these depend on more than the operation, as in 64 bits. Each element of a packed type is
/// decided by itself. Constant time.
///
/// ```
/// use ptx_semantics::fold::{Operation, Video, fold, fold_with_choices};
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
#[must_use]
pub fn fold_with_choices(operation: &Operation<'_>) -> Option<Folded> {
    let operands: Vec<_> = operation.operands.iter().copied().map(Some).collect();
    let sources = (&*operands, operation.carry, operation.video);
    with_form(operation.opcode, operation.modifiers, sources, |inputs| {
        let inputs = computation::Inputs {
            choose: true,
            ..*inputs
        };
        inputs.evaluate()
    })
}

/// The result of an instruction some operands of which are unknown (`None`), if those do not matter: a selection whose
/// predicate is known, a product with zero, a conjunction with a false predicate. With all operands known it is
/// [`fold`]. The first result alone is given where the unknown operands may change the others.
#[must_use]
pub fn fold_partial(
    opcode: Opcode,
    modifiers: &[Modifier],
    operands: &[Option<u128>],
    carry: Option<bool>,
) -> Option<Folded> {
    let known: Vec<u128> = operands.iter().copied().flatten().collect();
    let operation = Operation {
        opcode,
        modifiers,
        operands: &known,
        carry,
        video: Video::default(),
    };
    computed(&operation, operands)
}

/// The result by what the tables state ([`ptx_isa::Form::computation`]).
fn computed(operation: &Operation<'_>, operands: &[Option<u128>]) -> Option<Folded> {
    let sources = (operands, operation.carry, operation.video);
    with_form(operation.opcode, operation.modifiers, sources, |inputs| {
        inputs.evaluate()
    })
}

/// Evaluates the form that an instruction has.
fn with_form<T>(
    opcode: Opcode,
    modifiers: &[Modifier],
    (operands, carry, video): (&[Option<u128>], Option<bool>, Video),
    evaluate: impl FnOnce(&computation::Inputs<'_>) -> Option<T>,
) -> Option<T> {
    let instruction = find_instruction(opcode, modifiers)?;
    let free = modifiers.get(instruction.words().len()..)?;
    for form in instruction.forms() {
        let Some(slots) = form.computation().and(form.match_modifiers(free)) else {
            continue;
        };
        let inputs = computation::Inputs {
            form,
            slots: &slots,
            modifiers,
            operands,
            carry,
            video,
            choose: false,
        };
        if inputs.fit() && inputs.are_legal() {
            return evaluate(&inputs);
        }
    }
    None
}

pub(crate) fn element(ty: ScalarType) -> ScalarType {
    ty.element().unwrap_or(ty)
}

/// The lowest `bits` bits.
fn mask(bits: u16) -> u128 {
    match bits {
        128.. => u128::MAX,
        _ => (1 << bits) - 1,
    }
}

/// The value of `bits` bits in two's complement.
fn signed(value: u128, bits: u16) -> i128 {
    let above = 128u32.saturating_sub(bits.into()).min(127);
    ((value << above) as i128) >> above
}

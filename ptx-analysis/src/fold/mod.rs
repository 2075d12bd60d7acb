//! Exact results of instructions whose operands are constants, by the semantics of the PTX ISA manual.
//!
//! [`fold`] refuses (`None`) whatever the PTX ISA manual leaves undefined: division by zero, the bits of a NaN that an instruction
//! makes, approximations. Opcodes are named in this folder and nowhere else: what an instruction computes is code.

mod algebra;
mod bits;
mod compare;
mod convert;
mod exact_float;
mod float;
mod float_format;
mod integer;
mod minmax;
mod modifiers;
mod narrow_float;
mod partial;
mod rounding;
mod simd;
mod video;

pub use algebra::{COPY, Conversion, commutes, conversion, is_copy};
pub use partial::fold_partial;
pub use video::Video;

use modifiers::Words;
use ptx_isa::{Modifier, Opcode, ScalarType, find_instruction};

/// The section of the PTX ISA manual on video instructions.
const VIDEO: &str = "9.7.18.";

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
    let (opcode, modifiers) = (operation.opcode, operation.modifiers);
    let instruction = find_instruction(opcode, modifiers)?;
    let free = modifiers.get(instruction.words().len()..)?;
    // Only forms with these modifiers: invalid instructions are not folded.
    let mut forms = instruction.forms().iter();
    let form = forms.find(|form| form.match_modifiers(free).is_some())?;
    let section = form.section();
    if operation.video != Video::default() && !section.starts_with(VIDEO) {
        return None;
    }
    evaluate(operation, section, &Words::read(modifiers)?)
}

/// Selects the evaluator of an instruction.
fn evaluate(operation: &Operation<'_>, section: &str, words: &Words) -> Option<Folded> {
    let Operation {
        opcode,
        modifiers,
        operands,
        carry,
        video,
    } = *operation;
    match opcode {
        Opcode::Mov => convert::mov(words, operands),
        Opcode::Cvt => convert::cvt(words, operands),
        Opcode::Set | Opcode::Setp => compare::compare(opcode, words, operands),
        Opcode::Selp | Opcode::Slct => compare::select(opcode, words, operands),
        Opcode::Addc | Opcode::Subc | Opcode::Madc => {
            integer::carried(opcode, words, operands, carry)
        }
        Opcode::Add | Opcode::Sub | Opcode::Mad if words.has(modifiers::CC) => {
            integer::carried(opcode, words, operands, None)
        }
        Opcode::Dp4a | Opcode::Dp2a => integer::dot(opcode, words, operands),
        Opcode::Vmad => video::multiply(modifiers, operands, &video),
        _ if section.starts_with(VIDEO) => video::scalar(opcode, modifiers, operands, &video)
            .or_else(|| simd::evaluate(opcode, modifiers, operands, &video)),
        _ if words.types().any(|ty| element(ty).is_float()) => {
            float::arithmetic(opcode, words, operands)
        }
        _ => integer::arithmetic(opcode, words, operands)
            .or_else(|| bits::evaluate(opcode, words, operands)),
    }
}

fn element(ty: ScalarType) -> ScalarType {
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

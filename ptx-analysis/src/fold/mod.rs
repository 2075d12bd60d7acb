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
    instruction
        .forms()
        .iter()
        .find(|form| form.match_modifiers(free).is_some())?;
    if operation.video != Video::default() && !instruction.section().starts_with("9.7.18.") {
        return None;
    }
    evaluate(operation, &Words::read(modifiers)?)
}

/// The one place that says which evaluator an instruction has.
fn evaluate(operation: &Operation<'_>, words: &Words) -> Option<Folded> {
    let Operation {
        opcode,
        modifiers,
        operands,
        carry,
        video,
    } = *operation;
    let float = words.types().any(|ty| element(ty).is_float());
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
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Fma
        | Opcode::Mad
        | Opcode::Div
        | Opcode::Rcp
        | Opcode::Sqrt
        | Opcode::Abs
        | Opcode::Neg
        | Opcode::Min
        | Opcode::Max
        | Opcode::Copysign
        | Opcode::Testp
            if float =>
        {
            float::arithmetic(opcode, words, operands)
        }
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Mad
        | Opcode::Mul24
        | Opcode::Mad24
        | Opcode::Sad
        | Opcode::Div
        | Opcode::Rem
        | Opcode::Abs
        | Opcode::Neg
        | Opcode::Min
        | Opcode::Max => integer::arithmetic(opcode, words, operands),
        Opcode::Dp4a | Opcode::Dp2a => integer::dot(opcode, words, operands),
        Opcode::Popc
        | Opcode::Clz
        | Opcode::Brev
        | Opcode::Bfind
        | Opcode::Bfe
        | Opcode::Bfi
        | Opcode::Fns
        | Opcode::Szext
        | Opcode::Bmsk
        | Opcode::Prmt
        | Opcode::Shf
        | Opcode::Shl
        | Opcode::Shr
        | Opcode::Lop3
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Cnot => bits::evaluate(opcode, words, operands),
        Opcode::Vadd
        | Opcode::Vsub
        | Opcode::Vabsdiff
        | Opcode::Vmin
        | Opcode::Vmax
        | Opcode::Vshl
        | Opcode::Vshr
        | Opcode::Vset => video::scalar(opcode, modifiers, operands, &video),
        Opcode::Vmad => video::multiply(modifiers, operands, &video),
        Opcode::Vadd2
        | Opcode::Vsub2
        | Opcode::Vavrg2
        | Opcode::Vabsdiff2
        | Opcode::Vmin2
        | Opcode::Vmax2
        | Opcode::Vset2 => simd::evaluate(opcode, 2, modifiers, operands, &video),
        Opcode::Vadd4
        | Opcode::Vsub4
        | Opcode::Vavrg4
        | Opcode::Vabsdiff4
        | Opcode::Vmin4
        | Opcode::Vmax4
        | Opcode::Vset4 => simd::evaluate(opcode, 4, modifiers, operands, &video),
        _ => None,
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

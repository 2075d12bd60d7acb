//! The operands of a form: what each is, and what may stand for it.

use crate::{Cond, Marks, Modifier, ScalarType};

/// What an operand is to its instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Role {
    /// A register that is written.
    Def,
    /// A register that is read, or a constant.
    Use,
    /// A register that is read and written.
    ReadWrite,
    /// An address.
    Addr,
    /// A constant.
    Imm,
    /// A label.
    Label,
    /// A function or a register with its address.
    Func,
    /// The name of a variable.
    Symbol,
    /// The arguments of a call.
    Args,
    /// The results of a call.
    Rets,
    /// The label of a list of targets or of a prototype.
    LabelTable,
    /// A special register.
    Sreg,
}

/// The type of an operand.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TypeExpr {
    /// It has none.
    None,
    /// A fixed type.
    Scalar(ScalarType),
    /// The type in a slot.
    Slot(u8),
    /// Bits as wide as the type in a slot.
    Bits(u8),
    /// Twice as wide as the type in a slot.
    DoubleWidth(u8),
    /// The register that holds the short type in a slot, in pairs.
    Container(u8),
}

impl TypeExpr {
    /// The slot it depends on.
    pub const fn slot(self) -> Option<u8> {
        match self {
            Self::None | Self::Scalar(_) => None,
            Self::Slot(slot)
            | Self::Bits(slot)
            | Self::DoubleWidth(slot)
            | Self::Container(slot) => Some(slot),
        }
    }
}

/// How many elements the vector of an operand has.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Length {
    /// It is no vector.
    Scalar,
    /// So many.
    Fixed(u16),
    /// As many as the vector length in a slot says; a scalar when the slot is empty.
    Slot(u8),
    /// As the first condition that holds says.
    Cases(&'static [(Cond, u16)]),
    /// As the row of a table says that matches.
    Table,
    /// As many registers as a thread of four warps holds of the result whose shape is in the slot: 64 rows, and as many
    /// columns as the number after the `n`.
    Fragment(u8),
}

/// Where in its comma-separated place an operand stands.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Nesting {
    /// Alone.
    Whole,
    /// A part of an address in brackets.
    Bracket(u8),
    /// In parentheses.
    Parentheses,
    /// An element of a vector in braces.
    Vector(u8),
    /// After the bar of a pair.
    Pair,
}

/// What is done to the memory at an address.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Access {
    /// Nothing: it is only an address.
    None,
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written.
    ReadWrite,
    /// It is read and written, indivisibly.
    ReadModifyWrite,
}

/// The state spaces an address may lie in.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Spaces {
    /// Any, or it is not said.
    Any,
    /// What a slot says; generic when it is empty.
    Slot(u8),
    /// One of these.
    OneOf(&'static [Modifier]),
    /// One of these, or a generic address.
    GenericOr(&'static [Modifier]),
}

/// How many bytes of memory are reached at an address.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Size {
    /// It is not said, or depends on more than the instruction.
    Unknown,
    /// So many.
    Fixed(u16),
    /// As many as the operand of this index holds with all its elements.
    Like(u8),
    /// The value of the operand of this index.
    Value(u8),
}

/// The constants an operand may be: from a lowest to a highest in steps.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct ImmRange {
    /// The lowest.
    pub low: i64,
    /// The highest.
    pub high: i64,
    /// The distance from one to the next; 0 for powers of two.
    pub step: i64,
}

impl ImmRange {
    /// Whether the constant is one of them.
    pub const fn contains(&self, value: i64) -> bool {
        // Within the limits first: beyond them the distance may not fit.
        self.low <= value
            && value <= self.high
            && match self.step {
                0 => value > 0 && value.count_ones() == 1,
                step => (value - self.low) % step == 0,
            }
    }
}

/// An operand of a form.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// As the manual calls it.
    pub name: &'static str,
    /// The comma-separated place it stands in, from zero, all optional places counted.
    pub position: u8,
    /// Where in its place.
    pub nesting: Nesting,
    /// Whether it may be left out.
    pub optional: bool,
    /// What it is to its instruction.
    pub role: Role,
    /// Its type.
    pub ty: TypeExpr,
    /// How many elements it has.
    pub length: Length,
    /// What else is said of it.
    pub marks: Marks,
    /// The constants it may be.
    pub range: Option<ImmRange>,
    /// What is done to the memory at it.
    pub access: Access,
    /// Where the memory may lie.
    pub spaces: Spaces,
    /// Bytes its address must be a multiple of; 0 when that is not said.
    pub align: u16,
    /// How many bytes are reached.
    pub size: Size,
    /// Exactly when an optional operand is there.
    pub iff: Option<Cond>,
}

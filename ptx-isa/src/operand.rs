//! The operands of a form.

use crate::{Cond, Marks, Modifier, ScalarType};

/// The role of an operand.
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
    /// No type.
    None,
    /// A fixed type.
    Scalar(ScalarType),
    /// The type in a slot.
    Slot(u8),
    /// Any type with the width of the type in a slot.
    Bits(u8),
    /// The type in a slot with twice the width.
    DoubleWidth(u8),
    /// The register that holds a pair of the type in a slot.
    Container(u8),
}

impl TypeExpr {
    /// The slot that determines the type.
    #[must_use]
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

/// The number of elements of a vector operand.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Length {
    /// Not a vector.
    Scalar,
    /// A fixed number.
    Fixed(u16),
    /// The vector length in a slot; a scalar if the slot is empty.
    Slot(u8),
    /// The number of the first condition that holds.
    Cases(&'static [(Cond, u16)]),
    /// The length in the matching row of a table.
    Table,
    /// The registers that one thread of four warps holds of the matrix whose shape is in the slot: 64 rows and the
    /// number of columns after the `n`.
    Fragment(u8),
    /// The product of the numbers in the modifiers of slots, divided by a number and rounded up.
    Product(&'static [(u8, Digits)], u16),
}

/// The position of a number in the text of a modifier.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Digits {
    /// The first one: 2 of `.sp::2:4`.
    First,
    /// The last one: 4 of `.sp::2:4`.
    Last,
}

/// The nesting of an operand in its comma-separated position.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Nesting {
    /// The operand is the whole position.
    Whole,
    /// A part of an address in brackets.
    Bracket(u8),
    /// A list in parentheses.
    Parentheses,
    /// An element of a vector in braces.
    Vector(u8),
    /// The part of a pair after the bar.
    Pair,
}

/// The access to the memory at an address.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Access {
    /// None: the address is only computed.
    None,
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written.
    ReadWrite,
    /// It is read and written atomically.
    ReadModifyWrite,
}

/// The state spaces that are legal for an address.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Spaces {
    /// Any, or unspecified.
    Any,
    /// The one in a slot; generic if the slot is empty.
    Slot(u8),
    /// One of these.
    OneOf(&'static [Modifier]),
    /// One of these, or a generic address.
    GenericOr(&'static [Modifier]),
}

/// The number of bytes accessed at an address.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Size {
    /// Unknown, or not determined by the instruction alone.
    Unknown,
    /// A fixed number.
    Fixed(u16),
    /// The size of the operand of this index with all its elements.
    Like(u8),
    /// The value of the operand of this index.
    Value(u8),
}

record! {
    /// The range of a constant operand.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct ImmRange {
        /// The least value.
        low: i64,
        /// The greatest value.
        high: i64,
        /// The distance between values; 0 for powers of two.
        step: i64,
    }
}

impl ImmRange {
    /// Whether a value is in the range.
    #[must_use]
    pub const fn contains(&self, value: i64) -> bool {
        // The limits are checked first: otherwise the difference may overflow.
        self.low <= value
            && value <= self.high
            && match self.step {
                0 => value > 0 && value.count_ones() == 1,
                step => (value - self.low) % step == 0,
            }
    }
}

record! {
    /// An operand of a form.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct FormOperand {
        /// The name in the PTX ISA manual.
        name: &'static str,
        /// The index of its comma-separated position, counting all optional ones.
        position: u8,
        /// The nesting of the operand in its position.
        nesting: Nesting,
        /// Whether the operand is optional.
        is_optional: bool,
        /// Its role.
        role: Role,
        /// Its type.
        ty: TypeExpr,
        /// Its number of elements.
        length: Length,
        /// Its other properties.
        marks: Marks,
        /// The legal constants.
        range: Option<ImmRange>,
        /// The access to the memory at the address.
        access: Access,
        /// The legal state spaces.
        spaces: Spaces,
        /// The required alignment in bytes; 0 if unspecified.
        align: u16,
        /// The number of bytes accessed.
        size: Size,
        /// The condition under which an optional operand must be present; otherwise it must be absent.
        condition: Option<Cond>,
    }
}

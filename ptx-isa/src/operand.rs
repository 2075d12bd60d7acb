//! The operands of a form: what each is, and what may stand for it.

use crate::{Cond, Modifier, ScalarType};

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
    /// One of these; the flag allows generic addresses too.
    Words(&'static [Modifier], bool),
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

macro_rules! marks {
    ($($(#[doc = $doc:literal])* $name:ident = $bit:literal;)*) => {
        /// Properties of an operand that are there or not.
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Default, Debug)]
        pub struct Marks(pub(crate) u32);

        impl Marks {
            $($(#[doc = $doc])* pub const $name: Self = Self(1 << $bit);)*
        }
    };
}

marks! {
    /// `_` may stand for it.
    SINK = 0;
    /// Only `_` may stand for it.
    SINK_ONLY = 1;
    /// It may be inverted with `!`.
    NOT = 2;
    /// It may be negated with `-`.
    NEG = 3;
    /// It is a register; constants are refused.
    REG = 4;
    /// The register may be wider than the type.
    WIDEN = 5;
    /// Bytes or half words of it may be selected with a suffix.
    LANES = 6;
    /// The address may carry `.unified`.
    UNIFIED = 7;
    /// It may be a pair `p|q`.
    PAIR = 8;
    /// The address lies in tensor memory.
    TMEM = 9;
    /// It addresses an mbarrier object.
    MBARRIER = 10;
    /// It addresses a tensor map.
    TENSORMAP = 11;
    /// It is a matrix or instruction descriptor.
    DESCRIPTOR = 12;
    /// It is a multimem address.
    MULTIMEM = 13;
    /// It names a texture.
    TEXTURE = 14;
    /// It names a sampler.
    SAMPLER = 15;
    /// It names a surface.
    SURFACE = 16;
    /// A vector of one element needs its braces.
    BRACED = 17;
    /// It is the register of another operand.
    TIED = 18;
    /// The vector may be longer than it needs to be.
    LONGER = 19;
    /// A vector whose elements are as wide together as the type may stand for it.
    PARTS = 20;
    /// The brackets around the address may be missing.
    BARE = 21;
    /// Two half words of it or of two registers may be selected; of a result, those that are written.
    HALVES = 22;
    /// Four bytes of it or of two registers may be selected; of a result, those that are written.
    BYTES = 23;
    /// An element of an array may stand in the place of the brackets: `a[4]`.
    INDEXED = 24;
    /// A predicate may stand for it: the assembler does not refuse it.
    LAX = 25;
    /// The elements of the vector are of the type itself, not only as wide.
    EXACT = 26;
    /// The address is not that of a handle; the elements of the vector are no predicates, special registers or parts
    /// of registers.
    PLAIN = 27;
    /// A register with the address has 32 or 64 bits.
    LONG = 28;
    /// As that, and no handle, where no word names the state space.
    LONG_GENERIC = 29;
    /// A constant is above 0, and at most 1.
    FRACTION = 30;
    /// A vector that may begin with a layer: an integer among coordinates of floating point.
    LAYER = 31;
}

impl Marks {
    /// Both.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all marks of `other` are there.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
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
    pub place: u8,
    /// Where in its place.
    pub within: Nesting,
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

impl Operand {
    pub(crate) const fn new(name: &'static str, place: u8, within: Nesting, role: Role) -> Self {
        Self {
            name,
            place,
            within,
            optional: false,
            role,
            ty: TypeExpr::None,
            length: Length::Scalar,
            marks: Marks(0),
            range: None,
            access: Access::None,
            spaces: Spaces::Any,
            align: 0,
            size: Size::Unknown,
            iff: None,
        }
    }

    pub(crate) const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    pub(crate) const fn ty(mut self, ty: TypeExpr) -> Self {
        self.ty = ty;
        self
    }

    pub(crate) const fn length(mut self, length: Length) -> Self {
        self.length = length;
        self
    }

    pub(crate) const fn mark(mut self, mark: Marks) -> Self {
        self.marks = self.marks.with(mark);
        self
    }

    pub(crate) const fn range(mut self, low: i64, high: i64, step: i64) -> Self {
        self.range = Some(ImmRange { low, high, step });
        self
    }

    pub(crate) const fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    pub(crate) const fn spaces(mut self, spaces: Spaces) -> Self {
        self.spaces = spaces;
        self
    }

    pub(crate) const fn align(mut self, align: u16) -> Self {
        self.align = align;
        self
    }

    pub(crate) const fn size(mut self, size: Size) -> Self {
        self.size = size;
        self
    }

    pub(crate) const fn iff(mut self, cond: Cond) -> Self {
        self.iff = Some(cond);
        self
    }
}

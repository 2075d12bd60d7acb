//! The description of an actual instruction, reduced to the properties that legality depends on.

use crate::{
    Directive, Modifier, Opcode, OperandTest, ScalarType, Selector, SpecialReg, StateSpace,
    TypeKind,
};

/// The shape of an operand without signs and suffixes.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum OperandShape<'a> {
    /// A register of this declared type, or one component of a vector register.
    Register(ScalarType),
    /// A whole register that was declared as a vector, with its number of components.
    RegisterVector(ScalarType, u8),
    /// An integer constant, as 64 bits.
    Integer(i64),
    /// A floating-point constant, rounded to single precision; 0 if its value does not matter.
    F64(f32),
    /// A floating-point constant in the notation of single-precision bits: `0f3F800000`.
    F32Bits(f32),
    /// A variable or its address, with or without an offset: its state space and its type.
    Variable(StateSpace, ScalarType),
    /// A special register, or one component of it.
    Special(SpecialReg),
    /// A whole special register of several components.
    SpecialVector(SpecialReg),
    /// A label of code.
    Label,
    /// The label of a list of labels, of functions, or of a prototype.
    Table(TableKind),
    /// A function.
    Function,
    /// A kernel.
    Kernel,
    /// `_`
    Discard,
    /// `[a, b]`: an address and the other parts in its brackets.
    Bracket(&'a [ActualOperand<'a>]),
    /// `{a, b}`
    Vector(&'a [ActualOperand<'a>]),
    /// `(a, b)`
    List(&'a [ActualOperand<'a>]),
    /// `a|b`
    Pair(&'a [ActualOperand<'a>; 2]),
}

/// The notation of a constant.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConstantKind {
    /// An integer.
    Integer,
    /// Floating point in decimal, or in the notation of double-precision bits: `1.0`, `0d3FF0000000000000`.
    F64,
    /// Floating point in the notation of single-precision bits: `0f3F800000`.
    F32Bits,
}

impl ConstantKind {
    pub(crate) fn is_float(self) -> bool {
        self != Self::Integer
    }
}

impl OperandShape<'_> {
    /// The notation, if it is a constant.
    #[must_use]
    pub const fn constant_kind(&self) -> Option<ConstantKind> {
        match self {
            Self::Integer(_) => Some(ConstantKind::Integer),
            Self::F64(_) => Some(ConstantKind::F64),
            Self::F32Bits(_) => Some(ConstantKind::F32Bits),
            _ => None,
        }
    }

    fn is_bits(self) -> bool {
        match self {
            Self::Register(ty) | Self::RegisterVector(ty, _) => ty.kind() == TypeKind::Bits,
            _ => false,
        }
    }

    fn is_float(self) -> bool {
        match self {
            Self::Register(ty) | Self::RegisterVector(ty, _) => ty.is_float(),
            shape => matches!(shape, Self::F64(_) | Self::F32Bits(_)),
        }
    }

    fn is_integer(self) -> bool {
        match self {
            Self::Register(ty) | Self::RegisterVector(ty, _) => ty.is_integer(),
            shape => matches!(shape, Self::Integer(_)),
        }
    }
}

/// The contents of a labeled list.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TableKind {
    /// Labels to branch to.
    Branches,
    /// Functions to call.
    Calls,
    /// The parameters and results of a function.
    Prototype,
}

/// An actual operand.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ActualOperand<'a> {
    /// Its shape.
    pub shape: OperandShape<'a>,
    /// It is preceded by `-` that is not part of a constant.
    pub negated: bool,
    /// It is preceded by `!`.
    pub inverted: bool,
    /// The selector after it.
    pub lanes: Option<Selector>,
    /// It is followed by `.unified`, and is not a variable declared with it.
    pub unified: bool,
    /// It is an element of an array: `a[4]`.
    pub indexed: bool,
    /// A number is added: `[r+4]`, `r+4`; to a variable only where it is not in brackets.
    pub offset: bool,
    /// It is one component of a vector register: `v.x`.
    pub component: bool,
}

impl<'a> ActualOperand<'a> {
    /// An operand without signs and suffixes.
    #[must_use]
    pub const fn new(shape: OperandShape<'a>) -> Self {
        Self {
            shape,
            negated: false,
            inverted: false,
            lanes: None,
            unified: false,
            indexed: false,
            offset: false,
            component: false,
        }
    }

    /// Its shape, or that of the first element of a vector.
    fn first(&self) -> OperandShape<'a> {
        match self.shape {
            OperandShape::Vector([first, ..]) => first.shape,
            shape => shape,
        }
    }

    /// Whether the operand, or every element of a vector, is of a kind.
    fn every(&self, kind: impl Fn(OperandShape<'_>) -> bool) -> bool {
        match self.shape {
            OperandShape::Vector(elements) => elements.iter().all(|e| kind(e.shape)),
            OperandShape::RegisterVector(ty, _) => kind(OperandShape::Register(ty)),
            shape => kind(shape),
        }
    }

    /// Whether the operand, or an element of a vector, is of a kind.
    fn any(&self, kind: impl Fn(OperandShape<'_>) -> bool) -> bool {
        match self.shape {
            OperandShape::Vector(elements) => elements.iter().any(|e| kind(e.shape)),
            shape => kind(shape),
        }
    }

    /// Whether the operand is one component: of a vector register, or of a special register such as `%tid`.
    pub(crate) fn is_component(&self) -> bool {
        self.component || matches!(self.shape, OperandShape::Special(r) if r.is_vector())
    }

    /// Whether the operand passes the test. An absent operand has no `ActualOperand`.
    #[must_use]
    pub fn is(&self, test: OperandTest) -> bool {
        match test {
            OperandTest::Absent => false,
            OperandTest::Present => true,
            OperandTest::Immediate => self.shape.constant_kind().is_some(),
            OperandTest::Register => {
                matches!(
                    self.shape,
                    OperandShape::Register(_) | OperandShape::RegisterVector(..)
                )
            }
            OperandTest::Predicate => {
                self.inverted || matches!(self.shape, OperandShape::Register(ScalarType::Pred))
            }
            OperandTest::Variable => matches!(self.shape, OperandShape::Variable(..)),
            OperandTest::SpecialRegister => {
                matches!(
                    self.shape,
                    OperandShape::Special(_) | OperandShape::SpecialVector(_)
                )
            }
            OperandTest::Function => {
                matches!(self.shape, OperandShape::Function | OperandShape::Kernel)
            }
            OperandTest::Discard => matches!(self.shape, OperandShape::Discard),
            OperandTest::Negated => self.negated,
            OperandTest::Inverted => self.inverted,
            OperandTest::Unified => self.unified,
            OperandTest::Pair => matches!(self.shape, OperandShape::Pair(_)),
            OperandTest::HasDiscard => match self.shape {
                OperandShape::Vector(elements) => {
                    elements.iter().any(|e| e.shape == OperandShape::Discard)
                }
                _ => false,
            },
            OperandTest::Floating => self.first().is_float(),
            OperandTest::NotF32Bits => match self.shape {
                OperandShape::Vector([.., last]) => last.is(test),
                shape => matches!(shape, OperandShape::F64(_)),
            },
            OperandTest::Bits => self.any(|shape| shape.is_bits()),
            OperandTest::Constant => match self.shape {
                OperandShape::Vector(elements) => {
                    elements.iter().all(|e| e.is(OperandTest::Immediate))
                }
                _ => self.is(OperandTest::Immediate),
            },
            OperandTest::Integer => match self.shape {
                OperandShape::Vector(elements) => elements.iter().all(|e| e.shape.is_integer()),
                shape => shape.is_integer(),
            },
            OperandTest::IntThenFloat => match self.shape {
                OperandShape::Vector([first, coordinates @ ..]) => {
                    first.shape.is_integer() && coordinates.iter().any(|e| e.shape.is_float())
                }
                _ => false,
            },
            OperandTest::Handle => {
                matches!(self.shape, OperandShape::Variable(_, ty) if ty.kind() == TypeKind::Opaque)
            }
            OperandTest::Texture => {
                matches!(self.shape, OperandShape::Variable(_, ScalarType::Texref))
            }
            OperandTest::B128 => self.shape == OperandShape::Register(ScalarType::B128),
            OperandTest::Unsigned => self.every(|shape| {
                matches!(shape, OperandShape::Register(ty) if ty.kind() == TypeKind::Unsigned)
            }),
            OperandTest::Nonzero => {
                self.any(|shape| matches!(shape, OperandShape::Integer(value) if value != 0))
            }
            OperandTest::Below(n) => self.every(|shape| match shape {
                OperandShape::Register(ty) => ty.bits() < n,
                OperandShape::Special(register) => register.scalar_type().bits() < n,
                _ => false,
            }),
            OperandTest::Vector(n) => match self.shape {
                OperandShape::Vector(elements) => elements.len() == usize::from(n),
                OperandShape::RegisterVector(_, count) => u16::from(count) == n,
                _ => false,
            },
        }
    }
}

/// An instruction to be looked up and checked.
#[derive(Copy, Clone, Debug)]
pub struct InstQuery<'a> {
    pub(crate) opcode: Opcode,
    pub(crate) modifiers: &'a [Modifier],
    pub(crate) operands: &'a [ActualOperand<'a>],
    pub(crate) in_entry: bool,
    pub(crate) unified_textures: bool,
    /// A directive that the kernel does not have.
    pub(crate) missing_directive: Option<Directive>,
}

impl<'a> InstQuery<'a> {
    /// An instruction in a kernel, with all its modifiers and its comma-separated operands.
    #[must_use]
    pub const fn new(
        opcode: Opcode,
        modifiers: &'a [Modifier],
        operands: &'a [ActualOperand<'a>],
    ) -> Self {
        Self {
            opcode,
            modifiers,
            operands,
            in_entry: true,
            unified_textures: true,
            missing_directive: None,
        }
    }

    getters! {
        const;
        /// Its opcode.
        opcode: Opcode = opcode;
        /// All its modifiers.
        modifiers: &'a [Modifier] = modifiers;
        /// Its comma-separated operands.
        operands: &'a [ActualOperand<'a>] = operands;
    }

    /// Returns the query with other operands.
    #[must_use]
    pub const fn with_operands<'b>(self, operands: &'b [ActualOperand<'b>]) -> InstQuery<'b>
    where
        'a: 'b,
    {
        InstQuery { operands, ..self }
    }

    /// Returns the query with another opcode.
    #[must_use]
    pub const fn with_opcode(self, opcode: Opcode) -> Self {
        Self { opcode, ..self }
    }

    /// Returns the query with other modifiers.
    #[must_use]
    pub const fn with_modifiers<'b>(self, modifiers: &'b [Modifier]) -> InstQuery<'b>
    where
        'a: 'b,
    {
        InstQuery { modifiers, ..self }
    }

    /// Returns the query for a kernel without a directive that [special registers need](SpecialReg::needs).
    #[must_use]
    pub const fn without(self, directive: Directive) -> Self {
        Self {
            missing_directive: Some(directive),
            ..self
        }
    }

    /// Returns the query for a module with the target option `texmode_independent`, where a register holds the address of a
    /// sampler. Manual 11.1.2.
    ///
    /// ```
    /// use ptx_isa::{Modifier, Opcode, PtxVersion, ScalarType, Target};
    /// use ptx_isa::internals::ActualOperand;
    /// use ptx_isa::internals::InstQuery;
    /// use ptx_isa::internals::OperandShape;
    /// let float = [ActualOperand::new(OperandShape::Register(ScalarType::F32)); 4];
    /// let handle = ActualOperand::new(OperandShape::Register(ScalarType::B64));
    /// let vector = ActualOperand::new(OperandShape::Vector(&float));
    /// let address = [handle, handle, vector];
    /// let operands = [vector, ActualOperand::new(OperandShape::Bracket(&address))];
    /// let modifiers = [Modifier::Cube, Modifier::V4, Modifier::F32, Modifier::F32];
    /// let query = InstQuery::new(Opcode::Tex, &modifiers, &operands);
    /// let is_legal = |query: InstQuery<'_>| {
    ///     query.select(PtxVersion::CURRENT, Target::Sm90).is_ok_and(|form| form.violations().is_empty())
    /// };
    /// assert!(!is_legal(query));
    /// assert!(is_legal(query.with_independent_textures()));
    /// ```
    #[must_use]
    pub const fn with_independent_textures(self) -> Self {
        Self {
            unified_textures: false,
            ..self
        }
    }

    /// Returns the query for a function that is not a kernel.
    #[must_use]
    pub const fn in_func(self) -> Self {
        Self {
            in_entry: false,
            ..self
        }
    }
}

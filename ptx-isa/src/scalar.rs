//! Facts about types.

use crate::version::PtxVersion;
use crate::{Modifier, ScalarType, Target};

/// The kind of values of a type.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum TypeKind {
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// Floating-point numbers, the short formats included.
    Float,
    /// Fixed-point numbers.
    Fixed,
    /// Untyped bits.
    Bits,
    /// Predicates.
    Predicate,
    /// Handles of textures, samplers and surfaces.
    Opaque,
    /// Several elements of one type in one register.
    Packed,
    /// A data layout, not a type of values.
    Format,
}

/// The class of register that holds a value.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum RegisterClass {
    /// Predicate registers.
    Predicate,
    /// Registers of 8 bits, which ptxas widens.
    Bits8,
    /// Registers of 16 bits.
    Bits16,
    /// Registers of 32 bits.
    Bits32,
    /// Registers of 64 bits.
    Bits64,
    /// Registers of 128 bits.
    Bits128,
}

impl RegisterClass {
    /// The width of such a register; 1 for a predicate.
    #[must_use]
    pub const fn bits(self) -> u16 {
        match self {
            Self::Predicate => 1,
            Self::Bits8 => 8,
            Self::Bits16 => 16,
            Self::Bits32 => 32,
            Self::Bits64 => 64,
            Self::Bits128 => 128,
        }
    }
}

facts! {
    /// Facts about a type.
    TypeFacts of ScalarType in scalar {
        /// One sentence that says what it is.
        summary: &'static str,
        /// An instruction with the type, or with a type that has it as element; [`describe::example_module`](crate::describe::example_module)
        /// adds the declarations of its names. `None` for layouts that no instruction takes.
        example: Option<&'static str>,
        /// The kind of its values.
        kind: TypeKind,
        /// The width in bits; of a data layout, the bits it describes; 1 for a predicate.
        bits: u16,
        /// The number of elements: 1 unless the type is packed.
        ///
        /// ```
        /// use ptx_isa::ScalarType;
        /// let packed: ScalarType = ".f16x2".parse()?;
        /// assert_eq!((packed.bits(), packed.elements(), packed.element()), (32, 2, Some(ScalarType::F16)));
        /// # Ok::<(), ptx_isa::UnknownKeyword>(())
        /// ```
        elements: u8,
        /// The type of an element of a packed type.
        element: Option<ScalarType>,
        /// The modifier with the same spelling.
        modifier: Modifier,
        /// The first version that supports it.
        since: PtxVersion,
        /// The first target where it may be declared; `None` for all targets.
        target: Option<Target>,
    }
    named {
        /// The class of the registers that hold a value of the type; `None` for types that registers cannot hold alone.
        register_class = register: Option<RegisterClass>,
        /// Whether registers may be declared with it.
        is_register_type = in_register: bool,
        /// Whether variables in memory may be declared with it.
        is_variable_type = in_memory: bool,
        /// Whether parameters of kernels and functions may be declared with it.
        is_parameter_type = in_parameter: bool,
    }
}

impl From<ScalarType> for Modifier {
    fn from(ty: ScalarType) -> Self {
        ty.modifier()
    }
}

impl ScalarType {
    /// The prefix that compilers give to the names of registers of the type: `%rd` of `.b64`. `None` for types without a customary
    /// prefix.
    ///
    /// ```
    /// use ptx_isa::ScalarType;
    /// assert_eq!(ScalarType::B64.register_prefix(), Some("%rd"));
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub const fn register_prefix(self) -> Option<&'static str> {
        Some(match self {
            Self::Pred => "%p",
            Self::B16 => "%rs",
            Self::B32 => "%r",
            Self::B64 => "%rd",
            Self::B128 => "%rq",
            Self::F16 => "%h",
            Self::F32 => "%f",
            Self::F64 => "%fd",
            _ => return None,
        })
    }

    /// Whether the values are signed or unsigned integers, not packed ones.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), TypeKind::Signed | TypeKind::Unsigned)
    }

    /// Whether the values are integers or packed integers.
    #[doc(hidden)]
    pub fn holds_integers(self) -> bool {
        self.is_integer() || self.element().is_some_and(Self::is_integer)
    }

    /// Whether the values are packed elements of a floating-point or fixed-point format of at most eight bits.
    pub(crate) fn holds_short_formats(self) -> bool {
        self.element()
            .is_some_and(|e| !e.is_integer() && e.bits() <= 8)
    }

    /// Whether the values are floating-point numbers, the short formats included, not packed ones.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), TypeKind::Float)
    }
}

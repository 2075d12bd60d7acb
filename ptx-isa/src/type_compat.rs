//! The compatibility of registers and constants with the type of an operand.

use core::fmt;

use crate::{ConstantKind, Form, ScalarType, SlotAssignment, TypeExpr, TypeKind};

/// The registers that are wide enough for an operand.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegisterWidth {
    /// Registers of the width of the operand.
    Exact,
    /// Registers of at least this width (section 9.4.1 of the PTX ISA manual).
    OrWider,
    /// All registers but those of eight bits.
    Any,
}

/// The type an operand must have.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Expected {
    /// Any type.
    Any,
    /// This type.
    Type(ScalarType),
    /// Any type of this width in bits.
    Width(u16),
}

impl Expected {
    /// The type of an expression, given the modifiers in the slots.
    pub(crate) fn of(expr: TypeExpr, assignment: &SlotAssignment, form: &Form) -> Self {
        let slot_type = |slot: u8| {
            let slot = usize::from(slot);
            assignment
                .word(slot)
                .or_else(|| form.slot(slot)?.default())?
                .scalar_type()
        };
        let ty = match expr {
            TypeExpr::None => None,
            TypeExpr::Scalar(ty) => Some(ty),
            TypeExpr::Slot(slot) => slot_type(slot),
            TypeExpr::Bits(slot) => {
                return slot_type(slot).map_or(Self::Any, |ty| Self::Width(ty.bits()));
            }
            TypeExpr::DoubleWidth(slot) => {
                slot_type(slot).and_then(|ty| register_type(ty.kind(), ty.bits() * 2))
            }
            TypeExpr::Container(slot) => slot_type(slot).map(|ty| match ty.bits() {
                ..32 if ty.is_integer() => ScalarType::U32,
                ..32 => packed_pair(ty).unwrap_or(ScalarType::B32),
                _ => ty,
            }),
        };
        ty.map_or(Self::Any, Self::Type)
    }

    /// Whether the expected type may be a predicate.
    #[must_use]
    pub fn is_predicate(self) -> bool {
        matches!(self, Self::Any | Self::Type(ScalarType::Pred))
    }

    /// Whether the expected type is an integer.
    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Self::Type(ty) if ty.is_integer())
    }

    /// Whether the expected type is a half-precision type or a pair of one.
    pub(crate) fn is_half(self) -> bool {
        let Self::Type(ty) = self else { return false };
        let element = ty.element().unwrap_or(ty);
        element.is_float() && element.bits() == 16
    }

    /// Whether registers can be declared with it.
    pub(crate) fn is_declared(self) -> bool {
        matches!(self, Self::Type(ty) if ty.is_register_type())
    }

    /// The width in bits.
    #[must_use]
    pub fn bits(self) -> Option<u16> {
        match self {
            Self::Any => None,
            Self::Type(ty) => Some(ty.bits()),
            Self::Width(bits) => Some(bits),
        }
    }

    /// Whether a register of the declared type is compatible. A wider bits register is compatible with every type, a wider
    /// integer register with integers and bits, a wider floating-point register only with bits.
    ///
    /// ```
    /// use ptx_isa::{ScalarType as T};
    /// use ptx_isa::internals::Expected;
    /// use ptx_isa::internals::RegisterWidth;
    ///
    /// let expected = Expected::Type(T::U16);
    /// assert!(expected.takes_register(T::B16, RegisterWidth::Exact));
    /// assert!(!expected.takes_register(T::U32, RegisterWidth::Exact));
    /// assert!(expected.takes_register(T::U32, RegisterWidth::OrWider));
    /// ```
    #[must_use]
    pub fn takes_register(self, register: ScalarType, width: RegisterWidth) -> bool {
        let ty = match self {
            Self::Any => return true,
            Self::Width(bits) => {
                let fits = register.bits() == bits || width == RegisterWidth::Any;
                return fits && register != ScalarType::Pred;
            }
            Self::Type(ty) => ty,
        };
        if ty == ScalarType::Pred || register == ScalarType::Pred {
            return ty == register;
        }
        let register_kind = register.kind();
        let ty_kind = ty.kind();
        if register.bits() == ty.bits() {
            return ty == register && ty.elements() != 4
                || ty_kind == TypeKind::Bits
                || match register_kind {
                    TypeKind::Bits => true,
                    TypeKind::Signed | TypeKind::Unsigned => ty.is_integer(),
                    // A packed type of four elements counts as bits, except where elements of a short format are expected.
                    TypeKind::Packed if register.elements() == 4 => !ty.holds_short_formats(),
                    TypeKind::Packed => ty.holds_integers(),
                    _ => false,
                };
        }
        let wide_enough = match width {
            RegisterWidth::Exact => false,
            // A type that registers cannot have is not widened.
            RegisterWidth::OrWider => ty.is_register_type() && register.bits() > ty.bits(),
            RegisterWidth::Any => register.bits() > 8,
        };
        wide_enough
            && match register_kind {
                TypeKind::Bits => true,
                TypeKind::Signed | TypeKind::Unsigned | TypeKind::Packed => {
                    ty_kind == TypeKind::Bits || ty.is_integer()
                }
                TypeKind::Float => {
                    ty_kind == TypeKind::Bits
                        || width == RegisterWidth::Any && ty_kind == TypeKind::Float
                }
                _ => false,
            }
    }

    /// Whether an element of a vector may have the type: integers count as bits there, if the operand has a type
    /// that registers can have and that is not packed.
    #[must_use]
    pub fn takes_element(self, register: ScalarType, width: RegisterWidth) -> bool {
        let counts_as_bits = match self {
            Self::Type(ty) if ty.element().unwrap_or(ty).bits() == 8 => true,
            Self::Type(ty) => ty.is_register_type() && ty.kind() != TypeKind::Packed,
            _ => true,
        };
        let is_integer_of_width = register.is_integer() && Some(register.bits()) == self.bits();
        counts_as_bits && is_integer_of_width || self.takes_register(register, width)
    }

    /// Whether a vector of only such constants is legal where the elements must have exactly the
    /// type: there a constant has a width.
    pub(crate) fn accepts_bare_constant(self, constant: ConstantKind) -> bool {
        let Self::Type(ty) = self else { return false };
        match (ty.bits(), constant) {
            (64, ConstantKind::Integer) => !ty.is_float(),
            (64, _) => true,
            (32, ConstantKind::Integer) => ty.is_integer(),
            (32, ConstantKind::F32Bits) => matches!(ty, ScalarType::B32 | ScalarType::F32),
            _ => false,
        }
    }

    /// Whether a constant is legal: an integer for integer, bits and predicate types; floating point for floating-point
    /// types, and for bits types of the width of the constant, which is 32 only in the notation `0f…`.
    #[must_use]
    pub fn takes_constant(self, constant: ConstantKind) -> bool {
        let bits = match constant {
            ConstantKind::Integer => {
                return match self {
                    Self::Any | Self::Width(_) => true,
                    Self::Type(ty) => matches!(
                        ty.kind(),
                        TypeKind::Signed
                            | TypeKind::Unsigned
                            | TypeKind::Bits
                            | TypeKind::Predicate
                    ),
                };
            }
            ConstantKind::F32Bits => ScalarType::B32,
            ConstantKind::F64 => ScalarType::B64,
        };
        match self {
            Self::Any => true,
            Self::Width(_) => false,
            // No constant has eight bits.
            Self::Type(ty) => ty.is_float() && ty.bits() > 8 || ty == bits,
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any type"),
            Self::Type(ty) => write!(f, "`{ty}`"),
            Self::Width(bits) => write!(f, "any of {bits} bits"),
        }
    }
}

/// The packed 32-bit type of two elements of a type.
fn packed_pair(ty: ScalarType) -> Option<ScalarType> {
    ScalarType::ALL
        .iter()
        .copied()
        .find(|t| t.element() == Some(ty) && t.elements() == 2 && t.bits() == 32)
}

/// The register type of a kind and a width.
fn register_type(kind: TypeKind, bits: u16) -> Option<ScalarType> {
    ScalarType::ALL
        .iter()
        .copied()
        .find(|t| t.kind() == kind && t.bits() == bits && t.is_register_type())
}

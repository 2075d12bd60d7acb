//! The values of expressions.

use super::exact_float::Number;
use super::float_format::Format;
use bnum::cast::CastFrom;
use ptx_isa::{ScalarType, TypeKind};

/// An exact integer. The longest ones are products of two numbers of 64 bits, and fields of up to 255 bits.
pub(crate) type Exact = bnum::types::I256;

/// The exact integer with this value.
pub(crate) fn exact(value: i64) -> Exact {
    Exact::cast_from(value)
}

/// The lowest 128 bits in two's complement.
pub(crate) fn low(value: Exact) -> u128 {
    u128::cast_from(value)
}

/// The value of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Integer(Exact),
    Predicate(bool),
    Float(Float),
}

/// A floating-point value, exact or with all bits on which rounding depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Float {
    /// The number; `None` for a NaN.
    pub(super) number: Option<Number>,
    /// The type and the bits of the operand, if the value is an operand.
    pub(super) operand: Option<(ScalarType, u128)>,
}

impl Float {
    pub(super) const fn new(number: Option<Number>) -> Self {
        Self {
            number,
            operand: None,
        }
    }

    /// Whether the sign bit is set; `None` for a NaN that was computed.
    pub(super) fn is_negative(self) -> Option<bool> {
        match self.operand {
            Some((ty, bits)) => Some(bits & Format::of(ty)?.sign() != 0),
            None => Some(self.number?.negative),
        }
    }
}

impl Value {
    /// The value of the lowest bits, interpreted as a type. A subnormal number counts as zero if `flush`.
    pub(super) fn read(ty: ScalarType, bits: u128, flush: bool) -> Option<Self> {
        if ty.kind() == TypeKind::Predicate {
            // A constant counts as true unless it is zero.
            return Some(Self::Predicate(bits != 0));
        }
        let bits = bits & super::mask(ty.bits());
        Some(match ty.kind() {
            TypeKind::Signed | TypeKind::Fixed => {
                Self::Integer(Exact::cast_from(super::signed(bits, ty.bits())))
            }
            TypeKind::Unsigned | TypeKind::Bits => Self::Integer(Exact::cast_from(bits)),
            _ => {
                let format = Format::of(ty)?;
                let number = format.decode(if flush { format.flush(bits) } else { bits });
                Self::Float(Float {
                    number,
                    operand: Some((ty, bits)),
                })
            }
        })
    }

    pub(super) fn integer(self) -> Option<Exact> {
        match self {
            Self::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// The floating-point value; an integer is converted.
    pub(super) fn float(self) -> Option<Float> {
        match self {
            Self::Float(float) => Some(float),
            Self::Integer(value) => {
                let number = i128::cast_from(value);
                let fits = Exact::cast_from(number) == value;
                fits.then(|| Float::new(Some(Number::integer(number))))
            }
            Self::Predicate(_) => None,
        }
    }
}

/// The least and the greatest integer of a number of bits.
pub(crate) fn limits(signed: bool, bits: u32) -> (Exact, Exact) {
    let most = ones(bits.saturating_sub(signed.into()));
    (if signed { !most } else { exact(0) }, most)
}

fn type_limits(ty: ScalarType) -> (Exact, Exact) {
    limits(ty.kind() == TypeKind::Signed, ty.bits().into())
}

/// The greatest integer of a type.
pub(crate) fn highest(ty: ScalarType) -> Exact {
    type_limits(ty).1
}

/// The nearest integer of a type.
pub(super) fn clamped(ty: ScalarType, value: Exact) -> Exact {
    let (least, greatest) = type_limits(ty);
    value.clamp(least, greatest)
}

/// The integer whose lowest `count` bits are one, and the others zero.
pub(crate) fn ones(count: u32) -> Exact {
    match count {
        ..256 => exact(1).wrapping_shl(count).wrapping_sub(exact(1)),
        _ => exact(-1),
    }
}

//! Facts about an integer or a condition during the evaluation of an expression.

use alloc::vec::Vec;

use ptx_isa::internals::Expr;
use ptx_isa::{ScalarType, SpecialReg, TypeKind};

use super::affine::{Affine, Need};
use super::alignment::{Alignment, low_bits};
use super::interval::Interval;
use super::symbol::VariableRef;
use crate::conditions::Condition;
use crate::reg_lanes::VariableId;
use crate::ssa::ValueId;

/// The facts about an integer.
#[derive(Copy, Clone, Debug)]
pub(super) struct Number {
    /// A form that equals the integer, modulo the power of two that the evaluation needs.
    pub(super) form: Option<Affine>,
    pub(super) range: Interval,
    pub(super) low: Alignment,
}

impl Number {
    pub(super) fn constant(value: i128) -> Self {
        Self {
            form: Some(Affine::number(value as i64)).filter(|_| i64::try_from(value).is_ok()),
            range: Interval::only(value),
            low: Alignment::new(64, value as u64),
        }
    }

    /// An integer of which only the range is known.
    pub(super) const fn within(range: Interval) -> Self {
        Self {
            form: None,
            range,
            low: Alignment::UNKNOWN,
        }
    }

    /// An integer with a form and further facts. If the range is a single integer, it is a constant.
    pub(super) fn new(form: Option<Affine>, range: Interval, low: Alignment, need: Need) -> Self {
        let Some(value) = range.single() else {
            return Self { form, range, low };
        };
        let mut number = Self::constant(value);
        if need != Need::Exact {
            number.form = Some(Affine::number(value as i64));
        }
        number
    }

    /// The facts that are true of both.
    pub(super) fn join(self, other: Self) -> Self {
        Self {
            form: self.form.filter(|a| other.form == Some(*a)),
            range: self.range.join(other.range),
            low: self.low.join(other.low),
        }
    }

    /// The bits that may be one; `None` if the integer may be negative.
    pub(super) fn possible_bits(self) -> Option<u128> {
        if self.range.min < 0 {
            return None;
        }
        let leading_zeros = (self.range.max as u128).leading_zeros();
        let bits_of_range = u128::MAX.checked_shr(leading_zeros).unwrap_or(0);
        let known_bits = u128::from(low_bits(self.low.bits.into()));
        Some(bits_of_range & (!known_bits | u128::from(self.low.residue)))
    }
}

/// The truth of a condition, as far as it is known.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Truth {
    Unknown,
    Known(bool),
    /// A comparison, or its inverse.
    Compare(u32, bool),
}

impl Condition for Truth {
    const UNKNOWN: Self = Self::Unknown;

    fn known(holds: bool) -> Self {
        Self::Known(holds)
    }

    fn holds(self) -> Option<bool> {
        match self {
            Self::Known(holds) => Some(holds),
            _ => None,
        }
    }

    fn inverted(self) -> Self {
        // The method of the type has precedence over this one of the trait.
        Self::inverted(self)
    }
}

impl Truth {
    pub(super) const fn inverted(self) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Known(holds) => Self::Known(!holds),
            Self::Compare(index, inverted) => Self::Compare(index, !inverted),
        }
    }

    pub(super) fn join(self, other: Self) -> Self {
        if self == other { self } else { Self::Unknown }
    }
}

/// A result of an instruction.
#[derive(Copy, Clone, Debug)]
pub(super) enum Abstract {
    Number(Number),
    Truth(Truth),
    Unknown,
}

impl Abstract {
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Self::Number(a.join(b)),
            (Self::Truth(a), Self::Truth(b)) => Self::Truth(a.join(b)),
            _ => Self::Unknown,
        }
    }
}

/// A source of an instruction.
#[derive(Copy, Clone, Debug)]
pub(super) enum Source {
    /// A value, inverted if it is a predicate.
    Value(ValueId, bool),
    Constant(i128),
    Special(SpecialReg, u8),
    /// The address of a variable with an offset.
    Address(VariableRef, i64),
    Unknown,
}

/// The variables that an instruction writes, with the facts about their values.
pub(super) type Results = Vec<(VariableId, Abstract)>;

/// The value of an assignment.
#[derive(Copy, Clone, Debug)]
pub(super) enum Assigned {
    /// It is evaluated where it is used.
    Expr(Expr),
    /// An integer of a number of bits.
    Number(Number, u16),
    Truth(Truth),
    Unknown,
}

pub(super) fn element(ty: ScalarType) -> ScalarType {
    ty.element().unwrap_or(ty)
}

/// Whether values of a type are integers of at most 64 bits.
pub(super) fn is_integer(ty: ScalarType) -> bool {
    let is_integer_kind = matches!(
        ty.kind(),
        TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits
    );
    is_integer_kind && ty.elements() <= 1 && ty.bits() <= 64
}

pub(super) fn is_signed(ty: ScalarType) -> bool {
    element(ty).kind() == TypeKind::Signed
}

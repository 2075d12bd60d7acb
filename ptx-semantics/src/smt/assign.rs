//! The bits of results: values after rounding, flushing and saturation.

use super::NotExpressible;
use super::float::{Float, FloatSort, ieee};
use super::number::{Number, Rounded};
use super::term::{Bits, Term, Terms};
use super::translate::{Kind, Translation, Value};
use crate::fold::element;
use crate::fold::exact_float;
use crate::fold::float_format::Format;
use crate::fold::rounding::Rounding;
use crate::fold::value::{exact, limits};
use ptx_isa::internals::Expr;
use ptx_isa::{Modifier, ScalarType, TypeKind};

impl Translation<'_> {
    /// The term and the value of a result after an assignment. The term is a bit vector or a `Bool`.
    pub(super) fn assign(
        &mut self,
        operand: usize,
        expr: &Expr,
    ) -> Result<(Term, Value), NotExpressible> {
        let result_type = self.result_type(operand)?;
        if result_type == ScalarType::Pred {
            let holds = self.predicate(expr)?;
            return Ok((holds, Value::Predicate(holds)));
        }
        let bits = self.assigned_bits(result_type, expr)?;
        Ok((bits.term, self.read(element(result_type), bits, false)?))
    }

    /// The bits of an expression that is assigned to a result of this type, or to an element of it.
    fn assigned_bits(
        &mut self,
        result_type: ScalarType,
        expr: &Expr,
    ) -> Result<Bits, NotExpressible> {
        let ty = element(result_type);
        let width = u32::from(ty.bits());
        match *expr {
            Expr::Undefined => return Ok(self.undefined(result_type)),
            Expr::If([condition, then, otherwise]) => {
                let condition = self.predicate(condition)?;
                return self.branch(condition, width, |translation, holds| {
                    translation.assigned_bits(result_type, if holds { then } else { otherwise })
                });
            }
            Expr::Assigned(index) => {
                if let Some(local) = self.local(index) {
                    return self.assigned_bits(result_type, &local);
                }
            }
            _ => {}
        }
        match (ty.is_float(), self.kind(expr)?) {
            (false, Kind::Integer) => self.integer_bits(ty, expr),
            (true, Kind::Integer | Kind::Number) => {
                let number = self.number(expr)?;
                self.number_bits(result_type, &number)
            }
            (false, Kind::Number) => match self.number(expr)? {
                Number::Exact(Float {
                    operand: Some((operand_type, bits)),
                    ..
                }) if operand_type == ty => Ok(bits),
                _ => Err(NotExpressible::Construct("a number as an integer")),
            },
            _ => Err(NotExpressible::Construct("a predicate as a number")),
        }
    }

    /// The lowest bits of an integer. With `.sat`, the bits of the nearest integer of the type.
    fn integer_bits(&mut self, ty: ScalarType, expr: &Expr) -> Result<Bits, NotExpressible> {
        let saturates = self.inputs.has(Modifier::Sat) && !self.inputs.states_saturation();
        let is_relu = self.inputs.has(Modifier::Relu);
        if !saturates && !is_relu {
            return self.low_bits(expr, ty.bits().into());
        }
        let mut value = self.integer(expr)?;
        if is_relu {
            let zero = self.terms.constant(exact(0));
            value = self.terms.greater_of(value, zero);
        }
        if saturates {
            let (least, most) = limits(ty.kind() == TypeKind::Signed, ty.bits().into());
            value = self.terms.clamped(value, least, most);
        }
        Ok(self.terms.resize(value, ty.bits().into()))
    }

    /// The bits of a number in a floating-point type.
    fn number_bits(
        &mut self,
        result_type: ScalarType,
        number: &Number,
    ) -> Result<Bits, NotExpressible> {
        let ty = element(result_type);
        if let Number::Exact(Float {
            operand: Some((operand_type, bits)),
            ..
        }) = number
            && *operand_type == ty
        {
            return Ok(*bits);
        }
        let format = ieee(ty)?;
        let rounding = self.inputs.rounding();
        let rounded = self.terms.round(number, FloatSort::of(ty)?, rounding)?;
        let undefined = self.undefined(result_type);
        let result = FloatResult {
            format,
            width: u32::from(ty.bits()),
            undefined,
        };
        let mut bits = self.terms.code_of(rounded.float, result.width);
        if self.inputs.has(Modifier::Satfinite) {
            bits = result.finite(&mut self.terms, bits, rounded.float);
        }
        if self.inputs.flushes(ty) {
            bits = result.flushed(&mut self.terms, bits, rounded);
        }
        let saturates = self.inputs.has(Modifier::Sat);
        if saturates {
            bits = result.saturated(&mut self.terms, bits);
        }
        if self.inputs.has(Modifier::Relu) {
            bits = result.not_negative(&mut self.terms, bits);
        }
        let nan = if saturates {
            self.terms.code(0, result.width)
        } else {
            result.nan(&mut self.terms)
        };
        let is_nan = self.terms.is_nan(rounded.float);
        Ok(self.terms.choose(is_nan, nan, bits))
    }
}

/// A floating-point result.
#[derive(Clone, Copy, Debug)]
pub(super) struct FloatResult {
    pub(super) format: Format,
    pub(super) width: u32,
    /// Bits that the PTX ISA manual does not define.
    pub(super) undefined: Bits,
}

impl FloatResult {
    /// The bits of a NaN that is computed: a quiet NaN with any sign and payload.
    pub(super) fn nan(self, terms: &mut Terms) -> Bits {
        let infinity = self.format.infinity();
        let quiet = terms.code(infinity | 1 << (self.format.fraction() - 1), self.width);
        terms.bits("bvor", &[self.undefined, quiet], self.width)
    }

    /// Replaces a number by zero of the same sign if it is less than the normal numbers after it was rounded to as many digits as they have.
    pub(super) fn flushed(self, terms: &mut Terms, bits: Bits, rounded: Rounded) -> Bits {
        let sign = terms.code(self.format.sign(), self.width);
        let zero = terms.bits("bvand", &[bits, sign], self.width);
        let is_small = match rounded.unbounded {
            None => terms.apply("fp.isSubnormal", &[rounded.float.term]),
            Some(number) => {
                let magnitude = terms.apply("fp.abs", &[number.term]);
                let least_bits = terms.code(1 << self.format.fraction(), self.width);
                let least_normal = terms.number_of(rounded.float.sort, least_bits);
                let least_normal = terms.converted(least_normal, number.sort);
                terms.apply("fp.lt", &[magnitude, least_normal.term])
            }
        };
        terms.choose(is_small, zero, bits)
    }

    /// Replaces infinity by the greatest finite number with the same sign.
    pub(super) fn finite(self, terms: &mut Terms, bits: Bits, number: Float) -> Bits {
        let sign_mask = terms.code(self.format.sign(), self.width);
        let sign = terms.bits("bvand", &[bits, sign_mask], self.width);
        let greatest = terms.code(self.format.greatest(), self.width);
        let signed_greatest = terms.bits("bvor", &[sign, greatest], self.width);
        let is_infinite = terms.apply("fp.isInfinite", &[number.term]);
        terms.choose(is_infinite, signed_greatest, bits)
    }

    /// Limits a number to the range from 0 to 1. -0 becomes 0.
    pub(super) fn saturated(self, terms: &mut Terms, bits: Bits) -> Bits {
        let one_bits = self
            .format
            .encode(exact_float::Number::integer(1), Rounding::Zero);
        let one = terms.code(one_bits.unwrap_or(0), self.width);
        let is_greater = terms.apply("bvult", &[one.term, bits.term]);
        let lesser = terms.choose(is_greater, one, bits);
        let is_negative = terms.bit(bits, self.width - 1);
        let zero = terms.code(0, self.width);
        terms.choose(is_negative, zero, lesser)
    }

    /// Replaces negative numbers by 0. The sign of a zero that was negative is undefined.
    pub(super) fn not_negative(self, terms: &mut Terms, bits: Bits) -> Bits {
        let negative_zero = terms.code(self.format.sign(), self.width);
        let is_negative_zero = terms.apply("=", &[bits.term, negative_zero.term]);
        let any_zero = terms.bits("bvand", &[self.undefined, negative_zero], self.width);
        let is_negative = terms.bit(bits, self.width - 1);
        let zero = terms.code(0, self.width);
        let not_negative = terms.choose(is_negative, zero, bits);
        terms.choose(is_negative_zero, any_zero, not_negative)
    }
}

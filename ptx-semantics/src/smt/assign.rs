//! Values as the bits of results: rounded, flushed, saturated.

use super::NotExpressible;
use super::float::{Float, FloatSort, ieee};
use super::float_result::FloatResult;
use super::number::Number;
use super::term::{Bits, Term};
use super::translate::{Kind, Translation, Value};
use crate::fold::element;
use crate::fold::value::{exact, limits};
use ptx_isa::{Expr, Modifier, ScalarType, TypeKind};

impl Translation<'_> {
    /// What a result is after an assignment, as bits or a `Bool`, and as a value.
    pub(super) fn assign(
        &mut self,
        operand: usize,
        expr: &Expr,
    ) -> Result<(Term, Value), NotExpressible> {
        let whole = self.result_type(operand)?;
        if whole == ScalarType::Pred {
            let holds = self.predicate(expr)?;
            return Ok((holds, Value::Predicate(holds)));
        }
        let bits = self.assigned_bits(whole, expr)?;
        Ok((bits.term, self.read(element(whole), bits, false)?))
    }

    /// The bits that an expression is in a result of this type, or in an element of it.
    fn assigned_bits(&mut self, whole: ScalarType, expr: &Expr) -> Result<Bits, NotExpressible> {
        let ty = element(whole);
        let width = u32::from(ty.bits());
        match *expr {
            Expr::Undefined => return Ok(self.undefined(whole)),
            Expr::If([when, then, otherwise]) => {
                let when = self.predicate(when)?;
                return self.branch(when, width, |this, taken| {
                    this.assigned_bits(whole, if taken { then } else { otherwise })
                });
            }
            Expr::Assigned(at) => {
                if let Some(local) = self.local(at) {
                    return self.assigned_bits(whole, &local);
                }
            }
            _ => {}
        }
        match (ty.is_float(), self.kind(expr)?) {
            (false, Kind::Integer) => self.integer_bits(ty, expr),
            (true, Kind::Integer | Kind::Number) => {
                let number = self.number(expr)?;
                self.number_bits(whole, &number)
            }
            (false, Kind::Number) => match self.number(expr)? {
                Number::Exact(Float {
                    operand: Some((from, bits)),
                    ..
                }) if from == ty => Ok(bits),
                _ => Err(NotExpressible::Construct("a number as an integer")),
            },
            _ => Err(NotExpressible::Construct("a predicate as a number")),
        }
    }

    /// The lowest bits of an integer, or, saturated, the nearest integer of the type.
    fn integer_bits(&mut self, ty: ScalarType, expr: &Expr) -> Result<Bits, NotExpressible> {
        let sat = self.inputs.has(Modifier::Sat) && !self.inputs.states_saturation();
        let relu = self.inputs.has(Modifier::Relu);
        if !sat && !relu {
            return self.low_bits(expr, ty.bits().into());
        }
        let mut value = self.integer(expr)?;
        if relu {
            let zero = self.terms.constant(exact(0));
            value = self.terms.greater_of(value, zero);
        }
        if sat {
            let (least, most) = limits(ty.kind() == TypeKind::Signed, ty.bits().into());
            value = self.terms.clamped(value, least, most);
        }
        Ok(self.terms.resize(value, ty.bits().into()))
    }

    /// The bits of a number in a floating-point type.
    fn number_bits(&mut self, whole: ScalarType, number: &Number) -> Result<Bits, NotExpressible> {
        let ty = element(whole);
        if let Number::Exact(Float {
            operand: Some((from, bits)),
            ..
        }) = number
            && *from == ty
        {
            return Ok(*bits);
        }
        let format = ieee(ty)?;
        let rounding = self.inputs.rounding();
        let rounded = self.terms.round(number, FloatSort::of(ty)?, rounding)?;
        let open = self.undefined(whole);
        let result = FloatResult {
            format,
            width: u32::from(ty.bits()),
            open,
        };
        let mut bits = self.terms.code_of(rounded.float, result.width);
        if self.inputs.has(Modifier::Satfinite) {
            bits = result.finite(&mut self.terms, bits, rounded.float);
        }
        if self.inputs.flushes(ty) {
            bits = result.flushed(&mut self.terms, bits, rounded);
        }
        let sat = self.inputs.has(Modifier::Sat);
        if sat {
            bits = result.saturated(&mut self.terms, bits);
        }
        if self.inputs.has(Modifier::Relu) {
            bits = result.not_negative(&mut self.terms, bits);
        }
        let nan = match sat {
            true => self.terms.code(0, result.width),
            false => result.nan(&mut self.terms),
        };
        let is_nan = self.terms.is_nan(rounded.float);
        Ok(self.terms.choose(is_nan, nan, bits))
    }
}

//! Evaluates the semantics of instructions ([`ptx_isa::internals::Computation`]) for unknown integers.
//!
//! Integers of the notation are exact. Their forms are computed modulo the power of two that is relevant: a sum that wraps around in
//! 32 bits has a form modulo 2^32, and becomes a symbol where 64 bits are needed, unless intervals prove that it does not wrap.

use alloc::vec::Vec;

use ptx_ir::Signature;
use ptx_ir::facts::Facts;
use ptx_isa::internals::{Expr, SlotAssignment};
use ptx_isa::{ExprFunction as Function, Form, Modifier, ScalarType};

use super::affine::Need;
use super::alignment::Alignment;
use super::comparisons::{Comparison, Order};
use super::interval::Interval;
use super::number::{Assigned, Number, Source, Truth, element, is_signed};
use super::pass::Pass;
use crate::conditions::Conditions;

/// An instruction whose results are evaluated.
pub(super) struct Scope<'p, 'a> {
    pub(super) pass: &'p mut Pass<'a>,
    pub(super) facts: &'p Facts<'a>,
    pub(super) form: &'static Form,
    pub(super) slots: &'p SlotAssignment,
    pub(super) signature: Signature<'a>,
    /// The operands of the form.
    pub(super) operands: &'p [Source],
    /// The number of the element of vectors that is evaluated, and how many elements there are.
    pub(super) element: usize,
    pub(super) elements: usize,
    /// The values of the assignments.
    pub(super) assigned: Vec<Assigned>,
}

impl Scope<'_, '_> {
    pub(super) fn has(&self, modifier: Modifier) -> bool {
        self.signature.has(modifier)
    }

    pub(super) fn operand_type(&self, at: usize) -> Option<ScalarType> {
        let operand = self.form.operands().get(at)?;
        operand.ty().scalar_type(self.slots, self.form)
    }

    fn ty(&self, argument: Option<&Expr>) -> Option<ScalarType> {
        match argument? {
            Expr::Type(ty) => ty.scalar_type(self.slots, self.form),
            _ => None,
        }
    }

    /// The facts about an integer; `None` if nothing is known of it.
    pub(super) fn number(&mut self, expr: &Expr, need: Need) -> Option<Number> {
        match *expr {
            Expr::Operand(at) => {
                let source = *self.operands.get(usize::from(at))?;
                let ty = self.operand_type(at.into());
                self.pass.read(source, ty, need)
            }
            Expr::Memory(_) => {
                let (number, bits) = self.loaded()?;
                Some(self.with_form(number, bits, need))
            }
            Expr::Assigned(at) => match *self.assigned.get(usize::from(at))? {
                Assigned::Expr(expr) => self.number(&expr, need),
                Assigned::Number(number, bits) => Some(self.with_form(number, bits, need)),
                _ => None,
            },
            Expr::Carry => Some(Number::within(Interval::new(0, 1))),
            Expr::Integer(value) => Some(Number::constant(value.into())),
            Expr::If([when, then, otherwise]) => match (self.truth(when), then, otherwise) {
                (Truth::Known(true), then, _) => self.number(then, need),
                (Truth::Known(false), _, otherwise) => self.number(otherwise, need),
                (_, Expr::Undefined, other) | (_, other, Expr::Undefined) => {
                    self.number(other, need)
                }
                (_, then, otherwise) => {
                    let then = self.number(then, need)?;
                    Some(then.join(self.number(otherwise, need)?))
                }
            },
            Expr::Call(function, arguments) => self.function(function, arguments, need),
            _ => None,
        }
    }

    /// An integer whose form is that of some bits, without it where that is not enough.
    fn with_form(&self, number: Number, bits: u16, need: Need) -> Number {
        let has_needed_bits = matches!(need, Need::Low(needed) if needed <= bits);
        let form = number
            .form
            .filter(|f| has_needed_bits || self.pass.is_exact(f, number.range, bits));
        Number::new(form, number.range, number.low, need)
    }

    /// The truth of a condition, as far as it is known.
    pub(super) fn truth(&mut self, expr: &Expr) -> Truth {
        let signature = self.signature;
        let conditions = Conditions {
            form: self.form,
            slots: self.slots,
            has: |modifier| signature.has(modifier),
        };
        conditions.evaluate(expr, &mut |expr| self.undecided(expr))
    }

    /// The truth of a condition that modifiers and types do not decide.
    fn undecided(&mut self, expr: &Expr) -> Truth {
        match *expr {
            Expr::Operand(at) => match self.operands.get(usize::from(at)) {
                Some(&Source::Value(value, inverted)) => match self.pass.truth(value) {
                    truth if inverted => truth.inverted(),
                    truth => truth,
                },
                Some(&Source::Constant(value)) => Truth::Known(value != 0),
                _ => Truth::Unknown,
            },
            Expr::Assigned(at) => match self.assigned.get(usize::from(at)) {
                Some(&Assigned::Expr(expr)) => self.truth(&expr),
                Some(&Assigned::Truth(truth)) => truth,
                _ => Truth::Unknown,
            },
            Expr::If([when, then, otherwise]) => match self.truth(when) {
                Truth::Known(true) => self.truth(then),
                Truth::Known(false) => self.truth(otherwise),
                _ => self.truth(then).join(self.truth(otherwise)),
            },
            Expr::Call(function, arguments) => self
                .comparison(function, arguments)
                .unwrap_or(Truth::Unknown),
            _ => Truth::Unknown,
        }
    }

    fn comparison(&mut self, function: Function, arguments: &'static [Expr]) -> Option<Truth> {
        let first = arguments.first()?;
        Some(match function {
            Function::Compare => {
                let Expr::Slot(slot) = *first else {
                    return None;
                };
                let (order, unsigned) = order_of(self.slots.word(slot.into())?)?;
                self.compare(order, unsigned, arguments.get(1)?, arguments.get(2)?)?
            }
            Function::Equal => self.compare(Order::Equal, false, first, arguments.get(1)?)?,
            Function::NotEqual => self.compare(Order::NotEqual, false, first, arguments.get(1)?)?,
            Function::Less => self.compare(Order::Less, false, first, arguments.get(1)?)?,
            Function::LessEqual => {
                self.compare(Order::LessEqual, false, first, arguments.get(1)?)?
            }
            Function::Greater => self.compare(Order::Greater, false, first, arguments.get(1)?)?,
            Function::GreaterEqual => {
                self.compare(Order::GreaterEqual, false, first, arguments.get(1)?)?
            }
            _ => return None,
        })
    }

    /// The truth of a comparison of two integers. A comparison of two operands of a type is kept, for the conditions of loops.
    fn compare(&mut self, order: Order, unsigned: bool, a: &Expr, b: &Expr) -> Option<Truth> {
        let operand = |e: &Expr| match *e {
            Expr::Operand(at) => Some(usize::from(at)),
            _ => None,
        };
        let types = (
            operand(a).and_then(|at| self.operand_type(at)),
            operand(b).and_then(|at| self.operand_type(at)),
        );
        let kept = match types {
            (Some(a), Some(b)) if a == b && a.elements() <= 1 && a.bits() <= 64 => Some(a),
            _ => None,
        };
        let signed = kept.is_some_and(is_signed) && !unsigned;
        if unsigned && kept.is_none_or(is_signed) {
            return None;
        }
        let need = kept.map_or(Need::Exact, |ty| Need::Low(ty.bits()));
        let (x, y) = (self.number(a, need)?, self.number(b, need)?);
        if let Some(decided) = order.decided(x.range, y.range) {
            return Some(Truth::Known(decided));
        }
        let (Some(ty), Some(a), Some(b)) = (kept, x.form, y.form) else {
            return None;
        };
        if a == b {
            let holds = matches!(order, Order::Equal | Order::LessEqual | Order::GreaterEqual);
            return Some(Truth::Known(holds));
        }
        let comparison = Comparison {
            order,
            bits: ty.bits(),
            signed,
            a,
            b,
            ranges: [x.range, y.range],
        };
        Some(self.pass.keep_comparison(comparison))
    }

    fn function(
        &mut self,
        function: Function,
        arguments: &'static [Expr],
        need: Need,
    ) -> Option<Number> {
        let first = arguments.first();
        match function {
            Function::Width => Some(Number::constant(element(self.ty(first)?).bits().into())),
            Function::Highest => {
                let ty = element(self.ty(first)?);
                Some(Number::constant(
                    Interval::of_bits(ty.bits(), is_signed(ty)).max,
                ))
            }
            Function::Add | Function::Sub | Function::Mul => {
                self.arithmetic(function, first?, arguments.get(1)?, need)
            }
            Function::Negate => {
                let zero = Number::constant(0);
                let a = self.number(first?, need)?;
                Some(difference(zero, a, need))
            }
            Function::Not => {
                let a = self.number(first?, need)?;
                Some(difference(Number::constant(-1), a, need))
            }
            Function::ShiftLeft => self.shift_left(first?, arguments.get(1)?, need),
            Function::ShiftRight => self.shift_right(first?, arguments.get(1)?, need),
            Function::And | Function::Or | Function::Xor => {
                self.bitwise(function, first?, arguments.get(1)?, need)
            }
            Function::Min | Function::Max => {
                self.extremum(function == Function::Min, first?, arguments.get(1)?, need)
            }
            Function::Abs => {
                let a = self.number(first?, need)?;
                Some(match (a.range.min >= 0, a.range.max <= 0) {
                    (true, _) => a,
                    (_, true) => difference(Number::constant(0), a, need),
                    _ => {
                        let most = a.range.max.max(a.range.min.checked_neg()?);
                        let low = Alignment::new(a.low.zeros(), 0);
                        Number::new(None, Interval::new(0, most), low, need)
                    }
                })
            }
            Function::Div | Function::Rem => {
                self.division(function == Function::Rem, first?, arguments.get(1)?, need)
            }
            Function::Unsigned | Function::Field | Function::Convert | Function::Saturate => {
                self.fitting(function, arguments, need)
            }
            Function::Ones => {
                let n = self.number(first?, Need::Exact)?.range.single()?;
                let all = Interval::of_bits(u16::try_from(n).ok().filter(|n| *n <= 64)?, false);
                Some(Number::constant(all.max))
            }
            Function::Popcount | Function::BitLength => Some(Number::within(Interval::new(0, 64))),
            Function::FindNth => Some(Number::within(Interval::new(-1, 31))),
            Function::Byte => Some(Number::within(Interval::new(0, 255))),
            _ => None,
        }
    }

    /// The functions that return integers of some bits.
    fn fitting(
        &mut self,
        function: Function,
        arguments: &'static [Expr],
        need: Need,
    ) -> Option<Number> {
        let first = arguments.first();
        match function {
            Function::Unsigned => {
                let bits = self.ty(first)?.bits();
                self.low_field(arguments.get(1)?, bits, false, need)
            }
            Function::Field => {
                let signed = is_signed(element(self.ty(first)?));
                let [_, a, position, length] = arguments else {
                    return None;
                };
                self.field(signed, a, position, length, need)
            }
            Function::Convert => {
                let ty = element(self.ty(first)?);
                let range = Interval::of_bits(ty.bits(), is_signed(ty));
                match self.number(arguments.get(1)?, need) {
                    Some(number) => Some(clamped(number, range, need)),
                    None => Some(Number::within(range)),
                }
            }
            Function::Saturate => {
                let signed = is_signed(element(self.ty(first)?));
                let length = self
                    .number(arguments.get(1)?, Need::Exact)?
                    .range
                    .single()?;
                let range = Interval::of_bits(u16::try_from(length).ok()?, signed);
                Some(clamped(self.number(arguments.get(2)?, need)?, range, need))
            }
            _ => None,
        }
    }

    fn arithmetic(&mut self, function: Function, a: &Expr, b: &Expr, need: Need) -> Option<Number> {
        let (x, y) = (self.number(a, need)?, self.number(b, need)?);
        Some(match function {
            Function::Add => sum(x, y, need),
            Function::Sub => difference(x, y, need),
            _ => {
                let form = match (x.form, y.form) {
                    (Some(x), Some(y)) => self.pass.product(&x, &y, need),
                    _ => None,
                };
                Number::new(form, x.range.mul(y.range), x.low.mul(y.low), need)
            }
        })
    }

    fn shift_left(&mut self, a: &Expr, n: &Expr, need: Need) -> Option<Number> {
        let n = self.number(n, Need::Exact)?;
        let a = self.number(a, need)?;
        let Some(by) = n.range.single() else {
            let power = |n: i128| u32::try_from(n).ok().and_then(|n| 1i128.checked_shl(n));
            let factor = match (power(n.range.min), power(n.range.max)) {
                (Some(least), Some(most)) if most > 0 => Interval::new(least, most),
                _ => Interval::ALL,
            };
            let zeros = Alignment::new(a.low.zeros(), 0);
            return Some(Number::new(None, a.range.mul(factor), zeros, need));
        };
        let by = u32::try_from(by).ok()?;
        if by >= 64 {
            return Some(Number::new(
                None,
                Interval::ALL,
                Alignment::new(64, 0),
                need,
            ));
        }
        let factor = 1i128 << by;
        let form = a.form.and_then(|f| match i64::try_from(factor) {
            Ok(factor) => f.times(factor, need),
            Err(_) => f.times(i64::MIN, need).filter(|_| need != Need::Exact),
        });
        let range = a.range.mul(Interval::only(factor));
        Some(Number::new(form, range, a.low.shifted_left(by), need))
    }

    fn shift_right(&mut self, a: &Expr, n: &Expr, need: Need) -> Option<Number> {
        let n = self.number(n, Need::Exact)?;
        let a = self.number(a, Need::Exact)?;
        let Some(by) = n.range.single() else {
            let range = Interval::new(a.range.min.min(0), a.range.max.max(0));
            return Some(Number::new(None, range, Alignment::UNKNOWN, need));
        };
        let by = u32::try_from(by).ok()?.min(127);
        let range = Interval::new(a.range.min >> by, a.range.max >> by);
        let form = a.form.and_then(|f| f.divided(by));
        Some(Number::new(form, range, a.low.shifted_right(by), need))
    }

    fn extremum(&mut self, least: bool, a: &Expr, b: &Expr, need: Need) -> Option<Number> {
        let (x, y) = (self.number(a, need)?, self.number(b, need)?);
        if x.range.max <= y.range.min {
            return Some(if least { x } else { y });
        }
        if y.range.max <= x.range.min {
            return Some(if least { y } else { x });
        }
        let mut joined = x.join(y);
        joined.range = if least {
            Interval::new(joined.range.min, x.range.max.min(y.range.max))
        } else {
            Interval::new(x.range.min.max(y.range.min), joined.range.max)
        };
        Some(Number::new(joined.form, joined.range, joined.low, need))
    }

    fn division(&mut self, remainder: bool, a: &Expr, b: &Expr, need: Need) -> Option<Number> {
        let (x, y) = (self.number(a, Need::Exact)?, self.number(b, Need::Exact)?);
        let divisor = y.range.single().filter(|d| *d > 0);
        let Some(divisor) = divisor else {
            let most = x.range.max.max(x.range.min.checked_neg()?).max(0);
            let may_be_negative = x.range.min < 0 || y.range.min < 0;
            let least = if may_be_negative { -most } else { 0 };
            return Some(Number::within(Interval::new(least, most)));
        };
        let power = (divisor as u128)
            .is_power_of_two()
            .then(|| divisor.trailing_zeros());
        if !remainder {
            let range = Interval::new(x.range.min / divisor, x.range.max / divisor);
            let exact = power.filter(|n| x.range.min >= 0 || x.low.zeros() >= *n);
            let form = exact.and_then(|n| x.form?.divided(n));
            let low = exact.map_or(Alignment::UNKNOWN, |n| x.low.shifted_right(n));
            return Some(Number::new(form, range, low, need));
        }
        if x.range.min >= 0 && x.range.max < divisor {
            return Some(x);
        }
        let least = if x.range.min < 0 { 1 - divisor } else { 0 };
        let range = Interval::new(least, (divisor - 1).min(x.range.max.max(0)));
        let low = power.map_or(Alignment::UNKNOWN, |n| x.low.truncated(n));
        Some(Number::new(None, range, low, need))
    }
}

pub(super) fn sum(x: Number, y: Number, need: Need) -> Number {
    let form = x.form.and_then(|f| f.add(y.form.as_ref()?, need));
    let low = x.low.combined(y.low, u64::wrapping_add);
    Number::new(form, x.range.add(y.range), low, need)
}

pub(super) fn difference(x: Number, y: Number, need: Need) -> Number {
    let form = x.form.and_then(|f| f.sub(y.form.as_ref()?, need));
    let low = x.low.combined(y.low, u64::wrapping_sub);
    Number::new(form, x.range.sub(y.range), low, need)
}

/// The nearest integer of an interval.
pub(super) fn clamped(number: Number, range: Interval, need: Need) -> Number {
    if range.includes(number.range) {
        return number;
    }
    let clamp = |value: i128| value.clamp(range.min, range.max);
    let within = Interval::new(clamp(number.range.min), clamp(number.range.max));
    Number::new(None, within, Alignment::UNKNOWN, need)
}

/// The order that a modifier states, and whether it is one of unsigned integers.
fn order_of(modifier: Modifier) -> Option<(Order, bool)> {
    Some(match modifier {
        Modifier::Eq => (Order::Equal, false),
        Modifier::Ne => (Order::NotEqual, false),
        Modifier::Lt => (Order::Less, false),
        Modifier::Le => (Order::LessEqual, false),
        Modifier::Gt => (Order::Greater, false),
        Modifier::Ge => (Order::GreaterEqual, false),
        Modifier::Lo => (Order::Less, true),
        Modifier::Ls => (Order::LessEqual, true),
        Modifier::Hi => (Order::Greater, true),
        Modifier::Hs => (Order::GreaterEqual, true),
        _ => return None,
    })
}

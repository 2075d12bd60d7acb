//! Numbers: exact ones, and results of one operation of IEEE 754 that are not rounded yet.

use super::NotExpressible;
use super::float::{Float, FloatSort};
use super::integer::Integer;
use super::term::{Bits, Term, Terms};
use super::translate::{Translation, Value};
use crate::fold::rounding::Rounding;
use crate::fold::value::{exact, limits};
use alloc::vec;
use alloc::vec::Vec;
use ptx_isa::{ExprFunction as Function, Modifier, ScalarType, TypeKind};

/// A number before it is assigned.
#[derive(Clone, Debug)]
pub(super) enum Number {
    /// A floating-point term.
    Exact(Float),
    /// An integer.
    Integer(Integer),
    /// The exact result of an operation.
    Operation(Operation),
}

/// An operation of IEEE 754 that rounds its result.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    head: &'static str,
    arguments: Vec<Float>,
}

/// A number after rounding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounded {
    pub(super) float: Float,
    /// The number rounded in a sort with a greater range of exponents, if the exact number may be less than the normal numbers and inexact.
    pub(super) unbounded: Option<Float>,
}

const PRODUCT: &str = "fp.mul";
const SUM: &str = "fp.add";
const DIFFERENCE: &str = "fp.sub";

impl Number {
    /// The factors of a number that is an exact product.
    fn factors(&self) -> Option<[Float; 2]> {
        match self {
            Self::Operation(Operation {
                head: PRODUCT,
                arguments,
            }) => arguments.as_slice().try_into().ok(),
            _ => None,
        }
    }
}

/// The rounding mode of SMT-LIB for a direction.
pub(super) fn mode(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::Nearest => "RNE",
        Rounding::NearestAway => "RNA",
        Rounding::Zero => "RTZ",
        Rounding::Down => "RTN",
        Rounding::Up => "RTP",
    }
}

impl Terms {
    /// The term of a number. An integer is converted to a sort that has all numbers of the sort `at_least`.
    fn float(&mut self, number: &Number, at_least: FloatSort) -> Result<Float, NotExpressible> {
        match number {
            Number::Exact(float) => Ok(*float),
            Number::Integer(value) => Ok(self.integer_as_float(*value, at_least)),
            Number::Operation(_) => {
                let [a, b] = number.factors().ok_or(NotExpressible::Construct(
                    "an operation on the exact result of another one",
                ))?;
                // A product has twice as many digits, and twice the range of exponents.
                let sort = FloatSort {
                    exponent: a.sort.exponent.max(b.sort.exponent) + 1,
                    significand: a.sort.significand + b.sort.significand,
                };
                let (a, b) = (self.converted(a, sort), self.converted(b, sort));
                let nearest = self.leaf("RNE");
                Ok(a.replaced(self.apply(PRODUCT, &[nearest, a.term, b.term])))
            }
        }
    }

    /// Two numbers as terms of one sort.
    pub(super) fn aligned_floats(
        &mut self,
        a: Number,
        b: Number,
    ) -> Result<[Float; 2], NotExpressible> {
        let least = match (&a, &b) {
            (Number::Exact(a), Number::Exact(b)) => a.sort.with(b.sort),
            (Number::Exact(float), _) | (_, Number::Exact(float)) => float.sort,
            _ => FloatSort::HALF,
        };
        let (a, b) = (self.float(&a, least)?, self.float(&b, least)?);
        let sort = a.sort.with(b.sort);
        Ok([self.converted(a, sort), self.converted(b, sort)])
    }

    /// The value of a function of two numbers.
    pub(super) fn arithmetic(
        &mut self,
        function: Function,
        a: Number,
        b: Number,
        keep_nan: bool,
    ) -> Result<Value, NotExpressible> {
        if let (Function::Add | Function::Sub, Some([x, y]), None) =
            (function, a.factors(), b.factors())
        {
            let c = self.float(&b, x.sort)?;
            let c = self.signed_term(function, c);
            return Ok(operation("fp.fma", vec![x, y, c]));
        }
        if let (Function::Add | Function::Sub, Some([x, y]), None) =
            (function, b.factors(), a.factors())
        {
            let c = self.float(&a, x.sort)?;
            let x = self.signed_term(function, x);
            return Ok(operation("fp.fma", vec![x, y, c]));
        }
        let [a, b] = self.aligned_floats(a, b)?;
        Ok(match function {
            Function::Add => operation(SUM, vec![a, b]),
            Function::Sub => operation(DIFFERENCE, vec![a, b]),
            Function::Mul => operation(PRODUCT, vec![a, b]),
            Function::Div => operation("fp.div", vec![a, b]),
            Function::Min | Function::Max => {
                let lesser = function == Function::Min;
                Value::Number(Number::Exact(self.extreme(a, b, lesser, keep_nan)))
            }
            Function::Equal => Value::Predicate(self.relation("fp.eq", a, b)),
            Function::NotEqual => {
                let equal = self.relation("fp.eq", a, b);
                Value::Predicate(self.not(equal))
            }
            Function::Less => Value::Predicate(self.relation("fp.lt", a, b)),
            Function::LessEqual => Value::Predicate(self.relation("fp.leq", a, b)),
            Function::Greater => Value::Predicate(self.relation("fp.gt", a, b)),
            Function::GreaterEqual => Value::Predicate(self.relation("fp.geq", a, b)),
            _ => return Err(NotExpressible::Function(function)),
        })
    }

    /// The number that is added instead of the operand of a sum or a difference.
    fn signed_term(&mut self, function: Function, operand: Float) -> Float {
        match function {
            Function::Sub => operand.replaced(self.apply("fp.neg", &[operand.term])),
            _ => operand,
        }
    }

    /// Whether a comparison of two numbers holds. One whose name ends with `u` also holds for a NaN.
    pub(super) fn compared(
        &mut self,
        test: Modifier,
        a: Number,
        b: Number,
    ) -> Result<Term, NotExpressible> {
        let [a, b] = self.aligned_floats(a, b)?;
        let (a_is_nan, b_is_nan) = (self.is_nan(a), self.is_nan(b));
        let is_unordered = self.or(a_is_nan, b_is_nan);
        let (head, holds_for_nan) = match test {
            Modifier::Num => return Ok(self.not(is_unordered)),
            Modifier::Nan => return Ok(is_unordered),
            Modifier::Eq => ("fp.eq", false),
            Modifier::Lt => ("fp.lt", false),
            Modifier::Le => ("fp.leq", false),
            Modifier::Gt => ("fp.gt", false),
            Modifier::Ge => ("fp.geq", false),
            Modifier::Equ => ("fp.eq", true),
            Modifier::Ltu => ("fp.lt", true),
            Modifier::Leu => ("fp.leq", true),
            Modifier::Gtu => ("fp.gt", true),
            Modifier::Geu => ("fp.geq", true),
            Modifier::Ne => {
                let is_equal = self.relation("fp.eq", a, b);
                let (is_different, is_ordered) = (self.not(is_equal), self.not(is_unordered));
                return Ok(self.and(is_ordered, is_different));
            }
            Modifier::Neu => {
                let equal = self.relation("fp.eq", a, b);
                return Ok(self.not(equal));
            }
            _ => return Err(NotExpressible::Construct("a comparison of numbers")),
        };
        let holds = self.relation(head, a, b);
        Ok(if holds_for_nan {
            self.or(is_unordered, holds)
        } else {
            holds
        })
    }

    /// Rounds a number once.
    pub(super) fn round(
        &mut self,
        number: &Number,
        sort: FloatSort,
        rounding: Rounding,
    ) -> Result<Rounded, NotExpressible> {
        let (float, may_be_inexact) = match number {
            Number::Integer(value) => (self.rounded_integer(*value, sort, mode(rounding)), false),
            Number::Exact(float) if float.sort == sort => (*float, false),
            Number::Exact(float) => {
                let is_wider = float.sort.with(sort) != sort;
                (self.rounded(*float, sort, mode(rounding)), is_wider)
            }
            Number::Operation(operation) => {
                let float = self.rounded_operation(operation, sort, rounding)?;
                // Small sums are exact, and roots are never small.
                (
                    float,
                    matches!(operation.head, PRODUCT | "fp.fma" | "fp.div"),
                )
            }
        };
        let wider_sort = FloatSort {
            exponent: sort.exponent + 1,
            ..sort
        };
        let unbounded = match (may_be_inexact && rounding != Rounding::Zero, number) {
            (false, _) | (true, Number::Integer(_)) => None,
            (true, Number::Operation(operation)) => {
                Some(self.rounded_operation(operation, wider_sort, rounding)?)
            }
            (true, Number::Exact(exact)) => Some(self.rounded(*exact, wider_sort, mode(rounding))),
        };
        Ok(Rounded { float, unbounded })
    }

    fn rounded_operation(
        &mut self,
        operation: &Operation,
        sort: FloatSort,
        rounding: Rounding,
    ) -> Result<Float, NotExpressible> {
        let has_wider_arguments = operation
            .arguments
            .iter()
            .any(|argument| argument.sort.with(sort) != sort);
        if has_wider_arguments {
            // The arguments must not be rounded before the operation.
            let exact = self.float(&Number::Operation(operation.clone()), sort)?;
            return Ok(self.rounded(exact, sort, mode(rounding)));
        }
        let mut arguments = vec![self.leaf(mode(rounding))];
        for argument in &operation.arguments {
            arguments.push(self.converted(*argument, sort).term);
        }
        Ok(Float {
            term: self.apply(operation.head, &arguments),
            sort,
            operand: None,
        })
    }
}

fn operation(head: &'static str, arguments: Vec<Float>) -> Value {
    Value::Number(Number::Operation(Operation { head, arguments }))
}

impl Translation<'_> {
    /// The value of a function of one number.
    pub(super) fn unary(&mut self, function: Function, a: Number) -> Result<Value, NotExpressible> {
        if let (Function::Number, Number::Exact(a)) = (function, &a) {
            return Ok(Value::Number(Number::Exact(a.replaced(a.term))));
        }
        Ok(match function {
            Function::Number => Value::Number(a),
            Function::Sqrt => operation("fp.sqrt", vec![self.terms.float(&a, FloatSort::HALF)?]),
            Function::Abs | Function::Negate | Function::Integral => {
                let a = self.terms.float(&a, FloatSort::HALF)?;
                let term = match function {
                    Function::Abs => self.terms.apply("fp.abs", &[a.term]),
                    Function::Negate => self.terms.apply("fp.neg", &[a.term]),
                    _ => {
                        let mode = self.terms.leaf(mode(self.inputs.rounding()));
                        self.terms.apply("fp.roundToIntegral", &[mode, a.term])
                    }
                };
                Value::Number(Number::Exact(a.replaced(term)))
            }
            _ => return Err(NotExpressible::Function(function)),
        })
    }

    /// The nearest integer of a type. A number is rounded by the rounding modifier.
    pub(super) fn converted(
        &mut self,
        ty: ScalarType,
        a: Value,
    ) -> Result<Integer, NotExpressible> {
        let (least, most) = limits(ty.kind() == TypeKind::Signed, ty.bits().into());
        let number = match a {
            Value::Integer(a) => return Ok(self.terms.clamped(a, least, most)),
            Value::Number(number) => number,
            Value::Predicate(_) => return Err(NotExpressible::Function(Function::Convert)),
        };
        let [a, _] = self.terms.aligned_floats(number.clone(), number)?;
        let is_number = self.terms.relation("fp.eq", a, a);
        if self.decided(is_number) != Some(true) {
            return Err(NotExpressible::Construct(
                "a NaN that no condition excludes as an integer",
            ));
        }
        let rounding = self.terms.leaf(mode(self.inputs.rounding()));
        let rounded = self.terms.apply("fp.roundToIntegral", &[rounding, a.term]);
        let integral = a.replaced(rounded);
        // The limits are powers of two, which all wider sorts have.
        let limits = [most.wrapping_add(exact(1)), least].map(|limit| self.terms.constant(limit));
        let [upper_limit, lower_limit] =
            limits.map(|limit| self.terms.integer_as_float(limit, a.sort));
        let sort = upper_limit.sort.with(lower_limit.sort);
        let [number, upper_limit, lower_limit] =
            [integral, upper_limit, lower_limit].map(|x| self.terms.converted(x, sort));
        let is_too_large = self.terms.relation("fp.geq", number, upper_limit);
        let is_too_small = self.terms.relation("fp.leq", number, lower_limit);
        let width = u32::from(ty.bits()) + 1;
        let function = alloc::format!("(_ fp.to_sbv {width})");
        let toward_zero = self.terms.leaf("RTZ");
        let term = self.terms.apply(function, &[toward_zero, integral.term]);
        let bits = self.terms.extract(Bits { term, width }, 0, width - 1);
        let converted = match ty.kind() {
            TypeKind::Signed => Terms::signed(bits),
            _ => Terms::natural(bits),
        };
        let (least, most) = (self.terms.constant(least), self.terms.constant(most));
        let at_most = self.terms.select(is_too_large, most, converted);
        Ok(self.terms.select(is_too_small, least, at_most))
    }
}

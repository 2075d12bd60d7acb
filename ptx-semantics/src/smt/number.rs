//! Numbers: exact, or one operation of IEEE 754 that is not rounded yet.

use super::NotExpressible;
use super::float::{Float, FloatSort};
use super::integer::Integer;
use super::term::{Term, Terms};
use super::translate::{Translation, Value};
use crate::fold::rounding::Rounding;
use alloc::vec;
use alloc::vec::Vec;
use ptx_isa::{ExprFunction as Function, Modifier};

/// A number before it is assigned.
#[derive(Clone, Debug)]
pub(super) enum Number {
    /// A floating-point term.
    Exact(Float),
    /// An integer.
    Integer(Integer),
    /// The result of an operation, exact.
    Operation(Operation),
}

/// An operation of IEEE 754 that rounds its result.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    head: &'static str,
    arguments: Vec<Float>,
}

/// A number that was rounded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounded {
    pub(super) float: Float,
    /// The same with a greater range of exponents, if the exact number may be less than the normal numbers and was changed by rounding.
    pub(super) unbounded: Option<Float>,
}

const PRODUCT: &str = "fp.mul";
const SUM: &str = "fp.add";
const DIFFERENCE: &str = "fp.sub";

impl Number {
    /// The exact product that a number is.
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

/// The rounding mode of a direction.
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
    /// The same number as a term, in a sort that has at least the numbers of another.
    fn float(&mut self, number: &Number, at_least: FloatSort) -> Result<Float, NotExpressible> {
        match number {
            Number::Exact(float) => Ok(*float),
            Number::Integer(value) => Ok(self.integer_as_float(*value, at_least)),
            Number::Operation(_) => {
                let [a, b] = number.factors().ok_or(NotExpressible::Construct(
                    "an operation on the exact result of another one",
                ))?;
                // Twice the digits, and twice the exponents.
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
            (Number::Exact(one), _) | (_, Number::Exact(one)) => one.sort,
            _ => FloatSort {
                exponent: 5,
                significand: 11,
            },
        };
        let (a, b) = (self.float(&a, least)?, self.float(&b, least)?);
        let sort = a.sort.with(b.sort);
        Ok([self.converted(a, sort), self.converted(b, sort)])
    }

    /// A function of two numbers.
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

    /// The term of a sum, or the negative of that of a difference.
    fn signed_term(&mut self, function: Function, of: Float) -> Float {
        match function {
            Function::Sub => of.replaced(self.apply("fp.neg", &[of.term])),
            _ => of,
        }
    }

    /// Whether a comparison of two numbers holds; the last letter `u` of its name: also for a NaN.
    pub(super) fn compared(
        &mut self,
        test: Modifier,
        a: Number,
        b: Number,
    ) -> Result<Term, NotExpressible> {
        let [a, b] = self.aligned_floats(a, b)?;
        let nan = [self.is_nan(a), self.is_nan(b)];
        let unordered = self.or(nan[0], nan[1]);
        let (head, of_nan) = match test {
            Modifier::Num => return Ok(self.not(unordered)),
            Modifier::Nan => return Ok(unordered),
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
                let other = self.relation("fp.eq", a, b);
                let (other, ordered) = (self.not(other), self.not(unordered));
                return Ok(self.and(ordered, other));
            }
            Modifier::Neu => {
                let equal = self.relation("fp.eq", a, b);
                return Ok(self.not(equal));
            }
            _ => return Err(NotExpressible::Construct("a comparison of numbers")),
        };
        let holds = self.relation(head, a, b);
        Ok(if of_nan {
            self.or(unordered, holds)
        } else {
            holds
        })
    }

    /// A number rounded once.
    pub(super) fn round(
        &mut self,
        number: &Number,
        to: FloatSort,
        rounding: Rounding,
    ) -> Result<Rounded, NotExpressible> {
        let (float, may_grow) = match number {
            Number::Integer(value) => (self.rounded_integer(*value, to, mode(rounding)), false),
            Number::Exact(float) if float.sort == to => (*float, false),
            Number::Exact(float) => {
                let is_wider = float.sort.with(to) != to;
                (self.rounded(*float, to, mode(rounding)), is_wider)
            }
            Number::Operation(operation) => {
                let float = self.rounded_operation(operation, to, rounding)?;
                // Sums are exact where they are small, and roots are never small.
                (
                    float,
                    matches!(operation.head, PRODUCT | "fp.fma" | "fp.div"),
                )
            }
        };
        let wide = FloatSort {
            exponent: to.exponent + 1,
            ..to
        };
        let unbounded = match (may_grow && rounding != Rounding::Zero, number) {
            (false, _) | (true, Number::Integer(_)) => None,
            (true, Number::Operation(operation)) => {
                Some(self.rounded_operation(operation, wide, rounding)?)
            }
            (true, Number::Exact(exact)) => Some(self.rounded(*exact, wide, mode(rounding))),
        };
        Ok(Rounded { float, unbounded })
    }

    fn rounded_operation(
        &mut self,
        operation: &Operation,
        to: FloatSort,
        rounding: Rounding,
    ) -> Result<Float, NotExpressible> {
        let is_wider = |a: &Float| a.sort.with(to) != to;
        if operation.arguments.iter().any(is_wider) {
            // Rounded twice it would be another number.
            let exact = self.float(&Number::Operation(operation.clone()), to)?;
            return Ok(self.rounded(exact, to, mode(rounding)));
        }
        let mut arguments = vec![self.leaf(mode(rounding))];
        for argument in &operation.arguments {
            arguments.push(self.converted(*argument, to).term);
        }
        Ok(Float {
            term: self.apply(operation.head, &arguments),
            sort: to,
            operand: None,
        })
    }
}

fn operation(head: &'static str, arguments: Vec<Float>) -> Value {
    Value::Number(Number::Operation(Operation { head, arguments }))
}

impl Translation<'_> {
    /// A function of one number.
    pub(super) fn unary(&mut self, function: Function, a: Number) -> Result<Value, NotExpressible> {
        if let (Function::Number, Number::Exact(a)) = (function, &a) {
            return Ok(Value::Number(Number::Exact(a.replaced(a.term))));
        }
        let half = FloatSort {
            exponent: 5,
            significand: 11,
        };
        Ok(match function {
            Function::Number => Value::Number(a),
            Function::Sqrt => operation("fp.sqrt", vec![self.terms.float(&a, half)?]),
            Function::Abs | Function::Negate | Function::Integral => {
                let a = self.terms.float(&a, half)?;
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
}

//! Evaluation of the functions of expressions ([`ptx_isa::ExprFunction`]).

use super::computation::Scope;
use super::exact_float::Number;
use super::value::{Exact, Float, Value, clamped, exact, highest, limits, low, ones};
use super::{float_functions, integer_functions};
use bnum::cast::CastFrom;
use core::cmp::Ordering;
use ptx_isa::internals::Expr;
use ptx_isa::{ExprFunction as Function, Modifier, ScalarType, TypeKind};

/// The arguments of a function.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) list: &'a [Expr],
}

impl Arguments<'_> {
    fn value(&self, index: usize) -> Option<Value> {
        self.scope.value(self.list.get(index)?)
    }

    fn integer(&self, index: usize) -> Option<Exact> {
        self.value(index)?.integer()
    }

    fn small(&self, index: usize) -> Option<u32> {
        u32::try_from(low(self.integer(index)?)).ok()
    }

    fn float(&self, index: usize) -> Option<Float> {
        self.value(index)?.float()
    }

    fn ty(&self, index: usize) -> Option<ScalarType> {
        self.scope.ty(self.list.get(index)?)
    }

    fn bits(&self, index: usize) -> Option<u32> {
        Some(super::element(self.ty(index)?).bits().into())
    }

    fn operand(&self, index: usize) -> Option<usize> {
        Scope::operand(self.list.get(index)?)
    }

    fn modifier(&self, index: usize) -> Option<Modifier> {
        self.scope.modifier(self.list.get(index)?)
    }
}

/// The value of a function; `None` if it is undefined or depends on an unknown operand.
pub(super) fn call(function: Function, arguments: Arguments<'_>) -> Option<Value> {
    match function {
        Function::Width
        | Function::Highest
        | Function::Signed
        | Function::Saturate
        | Function::Floating
        | Function::Packed
        | Function::Unsigned
        | Function::Field
        | Function::Reverse
        | Function::Convert => with_type(function, arguments),
        Function::Ones
        | Function::Popcount
        | Function::BitLength
        | Function::FindNth
        | Function::Carryless
        | Function::Lookup
        | Function::Byte
        | Function::ShiftLeft
        | Function::ShiftRight => of_integers(function, arguments).map(Value::Integer),
        Function::Test | Function::Copysign | Function::Xorsign | Function::Stochastic => {
            of_floats(function, arguments)
        }
        Function::Sqrt
        | Function::Number
        | Function::Integral
        | Function::Abs
        | Function::Negate => unary(function, arguments.value(0)?, arguments.scope),
        Function::Not => match arguments.value(0)? {
            Value::Predicate(bit) => Some(Value::Predicate(!bit)),
            value => Some(Value::Integer(!value.integer()?)),
        },
        Function::Element => match (arguments.list.first()?, arguments.integer(1)?) {
            (&Expr::Operand(operand), index) => {
                let index = u16::try_from(low(index)).ok()?;
                arguments.scope.element(operand.into(), index)
            }
            _ => None,
        },
        Function::Bits => match *arguments.list.first()? {
            Expr::Operand(operand) => arguments.scope.bits(operand.into()).map(Value::Integer),
            _ => None,
        },
        Function::Length | Function::Sign | Function::Merge | Function::Sum => {
            with_operand(function, arguments).map(Value::Integer)
        }
        Function::Combine => combine(
            arguments.modifier(0)?,
            arguments.value(1),
            arguments.value(2),
        ),
        Function::Compare => compare(
            arguments.modifier(0)?,
            arguments.value(1)?,
            arguments.value(2)?,
        ),
        Function::And | Function::Or | Function::Xor => {
            logical(function, arguments.value(0), arguments.value(1))
        }
        Function::Mul => product(arguments.value(0), arguments.value(1), arguments.scope),
        _ => arithmetic(
            function,
            arguments.value(0)?,
            arguments.value(1)?,
            arguments.scope,
        ),
    }
}

/// The value of a function of floating-point numbers whose arguments have separate meanings.
fn of_floats(function: Function, arguments: Arguments<'_>) -> Option<Value> {
    match function {
        Function::Test => {
            float_functions::test(arguments.modifier(0)?, arguments.float(1)?).map(Value::Predicate)
        }
        Function::Copysign => {
            float_functions::with_sign(arguments.float(1)?, arguments.float(0)?.is_negative()?)
        }
        Function::Xorsign => {
            let [a, b] = [
                arguments.float(1)?.is_negative()?,
                arguments.float(2)?.is_negative()?,
            ];
            float_functions::with_sign(arguments.float(0)?, a != b)
        }
        Function::Stochastic => {
            let ty = super::element(arguments.ty(0)?);
            let finite = arguments.scope.has(Modifier::Satfinite);
            let rounded =
                float_functions::stochastic(ty, arguments.float(1)?, arguments.integer(2), finite)?;
            Some(Value::Float(rounded))
        }
        _ => None,
    }
}

/// The value of a function whose first argument is a type.
fn with_type(function: Function, arguments: Arguments<'_>) -> Option<Value> {
    let ty = arguments.ty(0)?;
    let is_signed = super::element(ty).kind() == TypeKind::Signed;
    Some(match function {
        Function::Width => Value::Integer(Exact::cast_from(arguments.bits(0)?)),
        Function::Highest => Value::Integer(highest(super::element(ty))),
        Function::Signed => Value::Predicate(is_signed),
        Function::Saturate => {
            let (length, a) = (arguments.small(1)?, arguments.integer(2)?);
            let (least, most) = limits(is_signed, length);
            Value::Integer(a.clamp(least, most))
        }
        Function::Floating => Value::Predicate(super::element(ty).is_float()),
        Function::Packed => Value::Predicate(ty.elements() > 1),
        Function::Unsigned => Value::Integer(arguments.integer(1)? & ones(arguments.bits(0)?)),
        Function::Field => {
            let (a, position, length) = (
                arguments.integer(1)?,
                arguments.small(2)?,
                arguments.small(3)?,
            );
            Value::Integer(integer_functions::field(is_signed, a, position, length))
        }
        Function::Reverse => {
            let bits = low(arguments.integer(1)?).reverse_bits() >> (128 - arguments.bits(0)?);
            Value::Integer(Exact::cast_from(bits))
        }
        Function::Convert => {
            let integer = match arguments.value(1)? {
                Value::Float(a) => {
                    let rounded = a.number?.to_integer(arguments.scope.rounding());
                    Exact::cast_from(rounded.saturate())
                }
                value => value.integer()?,
            };
            Value::Integer(clamped(super::element(ty), integer))
        }
        _ => return None,
    })
}

/// The value of a function whose first argument is an operand, and which does not depend on the operand's value.
fn with_operand(function: Function, arguments: Arguments<'_>) -> Option<Exact> {
    let (scope, operand) = (arguments.scope, arguments.operand(0)?);
    let part_values = |index: usize| scope.for_parts(operand, arguments.list.get(index)?);
    Some(match function {
        Function::Length => Exact::cast_from(scope.part_length(operand)?),
        Function::Sign if scope.is_negated(operand) => exact(-1),
        Function::Sign => exact(1),
        Function::Merge => {
            let mut merged = arguments.integer(1)?;
            for (part, value) in part_values(2)? {
                merged = part.replaced(merged, value);
            }
            merged
        }
        Function::Sum => part_values(1)?
            .into_iter()
            .fold(exact(0), |sum, (_, value)| sum.wrapping_add(value)),
        _ => return None,
    })
}

/// The value of a function of integers.
fn of_integers(function: Function, arguments: Arguments<'_>) -> Option<Exact> {
    let a = arguments.integer(0)?;
    Some(match function {
        Function::Ones => ones(arguments.small(0)?),
        Function::Popcount => Exact::cast_from(low(a).count_ones()),
        Function::BitLength => Exact::cast_from(128 - low(a).leading_zeros()),
        Function::FindNth => {
            integer_functions::find_nth(a, arguments.integer(1)?, arguments.integer(2)?)
        }
        Function::Carryless => integer_functions::carryless(a, arguments.integer(1)?),
        Function::Lookup => integer_functions::lookup(
            a,
            [
                arguments.integer(1)?,
                arguments.integer(2)?,
                arguments.integer(3)?,
            ],
        ),
        Function::Byte => integer_functions::byte(a, arguments.integer(1)?),
        Function::ShiftLeft => integer_functions::shift_left(a, arguments.integer(1)?),
        Function::ShiftRight => integer_functions::shift_right(a, arguments.integer(1)?),
        _ => return None,
    })
}

/// The value of a function of one number.
fn unary(function: Function, a: Value, scope: &Scope<'_>) -> Option<Value> {
    if let (Value::Integer(a), Function::Abs | Function::Negate) = (a, function) {
        return Some(Value::Integer(match function {
            Function::Abs => a.wrapping_abs(),
            _ => a.wrapping_neg(),
        }));
    }
    let number = a.float()?.number;
    Some(Value::Float(Float::new(match function {
        Function::Abs => number.map(Number::magnitude),
        Function::Negate => number.map(Number::negate),
        Function::Sqrt => number.and_then(Number::sqrt),
        Function::Integral => number.map(|n| n.to_integer(scope.rounding())),
        _ => number,
    })))
}

/// The value of a function of two numbers.
fn arithmetic(function: Function, a: Value, b: Value, scope: &Scope<'_>) -> Option<Value> {
    let selected = match function {
        Function::Min => Some(Ordering::Less),
        Function::Max => Some(Ordering::Greater),
        _ => None,
    };
    let (Value::Integer(a), Value::Integer(b)) = (a, b) else {
        let (a, b) = (a.float()?, b.float()?);
        return match selected {
            Some(selected) => {
                let keep_nan = scope.has(Modifier::NaN);
                Some(Value::Float(float_functions::extreme(
                    a, b, selected, keep_nan,
                )))
            }
            None => float_functions::arithmetic(function, a, b, scope.rounding()),
        };
    };
    Some(match function {
        Function::Add => Value::Integer(a.wrapping_add(b)),
        Function::Sub => Value::Integer(a.wrapping_sub(b)),
        Function::Mul => Value::Integer(a.wrapping_mul(b)),
        Function::Div => Value::Integer(a.checked_div(b)?),
        Function::Rem => Value::Integer(a.checked_rem(b)?),
        Function::Min => Value::Integer(a.min(b)),
        Function::Max => Value::Integer(a.max(b)),
        Function::Equal => Value::Predicate(a == b),
        Function::NotEqual => Value::Predicate(a != b),
        Function::Less => Value::Predicate(a < b),
        Function::LessEqual => Value::Predicate(a <= b),
        Function::Greater => Value::Predicate(a > b),
        Function::GreaterEqual => Value::Predicate(a >= b),
        _ => return None,
    })
}

/// The product. A product with the integer zero is zero even if the other factor is unknown.
fn product(a: Option<Value>, b: Option<Value>, scope: &Scope<'_>) -> Option<Value> {
    let zero = Value::Integer(exact(0));
    match (a, b) {
        (Some(a), Some(b)) => arithmetic(Function::Mul, a, b, scope),
        (Some(factor), None) | (None, Some(factor)) => (factor == zero).then_some(zero),
        (None, None) => None,
    }
}

/// The value of a bitwise or logical operation, which one operand may determine.
fn logical(function: Function, a: Option<Value>, b: Option<Value>) -> Option<Value> {
    let dominant_values = match function {
        Function::And => [Value::Predicate(false), Value::Integer(exact(0))],
        Function::Or => [Value::Predicate(true), Value::Integer(exact(-1))],
        _ => {
            return Some(match (a?, b?) {
                (Value::Predicate(a), Value::Predicate(b)) => Value::Predicate(a != b),
                (a, b) => Value::Integer(a.integer()? ^ b.integer()?),
            });
        }
    };
    let dominant = dominant_values
        .into_iter()
        .find(|value| a == Some(*value) || b == Some(*value));
    if dominant.is_some() {
        return dominant;
    }
    Some(match (function, a?, b?) {
        (Function::And, Value::Predicate(a), Value::Predicate(b)) => Value::Predicate(a && b),
        (_, Value::Predicate(a), Value::Predicate(b)) => Value::Predicate(a || b),
        (Function::And, a, b) => Value::Integer(a.integer()? & b.integer()?),
        (_, a, b) => Value::Integer(a.integer()? | b.integer()?),
    })
}

fn combine(operation: Modifier, a: Option<Value>, b: Option<Value>) -> Option<Value> {
    let function = match operation {
        Modifier::And => Function::And,
        Modifier::Or => Function::Or,
        Modifier::Xor => Function::Xor,
        _ => return None,
    };
    logical(function, a, b)
}

fn compare(test: Modifier, a: Value, b: Value) -> Option<Value> {
    let holds = match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => float_functions::ordered(test, a.cmp(&b)),
        _ => float_functions::compare(test, a.float()?, b.float()?),
    };
    holds.map(Value::Predicate)
}

//! The functions of expressions ([`ptx_isa::ExprFunction`]).

use super::computation::Scope;
use super::exact_float::Number;
use super::parts::Part;
use super::value::{Exact, Float, Value, clamped, exact, highest, limits, low, ones};
use super::{floats, integers};
use bnum::cast::CastFrom;
use core::cmp::Ordering;
use ptx_isa::{Expr, ExprFunction as Function, Modifier, ScalarType, TypeKind};

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

/// The value of a function; `None` where it is undefined or depends on what is unknown.
pub(super) fn call(function: Function, of: Arguments<'_>) -> Option<Value> {
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
        | Function::Convert => with_type(function, of),
        Function::Ones
        | Function::Popcount
        | Function::BitLength
        | Function::FindNth
        | Function::Carryless
        | Function::Lookup
        | Function::Byte
        | Function::ShiftLeft
        | Function::ShiftRight => on_bits(function, of).map(Value::Integer),
        Function::Test => floats::test(of.modifier(0)?, of.float(1)?).map(Value::Predicate),
        Function::Copysign => floats::with_sign(of.float(1)?, of.float(0)?.is_negative()?),
        Function::Xorsign => {
            let [a, b] = [of.float(1)?.is_negative()?, of.float(2)?.is_negative()?];
            floats::with_sign(of.float(0)?, a != b)
        }
        Function::Stochastic => {
            let ty = super::element(of.ty(0)?);
            let finite = of.scope.has(Modifier::Satfinite);
            let rounded = floats::stochastic(ty, of.float(1)?, of.integer(2), finite)?;
            Some(Value::Float(rounded))
        }
        Function::Sqrt
        | Function::Number
        | Function::Integral
        | Function::Abs
        | Function::Negate => unary(function, of.value(0)?, of.scope),
        Function::Not => match of.value(0)? {
            Value::Predicate(bit) => Some(Value::Predicate(!bit)),
            value => Some(Value::Integer(!value.integer()?)),
        },
        Function::Element => match (of.list.first()?, of.integer(1)?) {
            (&Expr::Operand(at), n) => of.scope.element(at.into(), u16::try_from(low(n)).ok()?),
            _ => None,
        },
        Function::Bits => match *of.list.first()? {
            Expr::Operand(at) => of.scope.bits(at.into()).map(Value::Integer),
            _ => None,
        },
        Function::Length | Function::Sign | Function::Merge | Function::Sum => {
            with_operand(function, of).map(Value::Integer)
        }
        Function::Combine => combine(of.modifier(0)?, of.value(1), of.value(2)),
        Function::Compare => compare(of.modifier(0)?, of.value(1)?, of.value(2)?),
        Function::And | Function::Or | Function::Xor => logical(function, of.value(0), of.value(1)),
        Function::Mul => product(of.value(0), of.value(1), of.scope),
        _ => arithmetic(function, of.value(0)?, of.value(1)?, of.scope),
    }
}

/// The functions whose first argument is a type.
fn with_type(function: Function, of: Arguments<'_>) -> Option<Value> {
    let ty = of.ty(0)?;
    let signed = super::element(ty).kind() == TypeKind::Signed;
    Some(match function {
        Function::Width => Value::Integer(Exact::cast_from(of.bits(0)?)),
        Function::Highest => Value::Integer(highest(super::element(ty))),
        Function::Signed => Value::Predicate(signed),
        Function::Saturate => {
            let (length, a) = (of.small(1)?, of.integer(2)?);
            let (least, most) = limits(signed, length);
            Value::Integer(a.clamp(least, most))
        }
        Function::Floating => Value::Predicate(super::element(ty).is_float()),
        Function::Packed => Value::Predicate(ty.lanes() > 1),
        Function::Unsigned => Value::Integer(of.integer(1)? & ones(of.bits(0)?)),
        Function::Field => {
            let (a, position, length) = (of.integer(1)?, of.small(2)?, of.small(3)?);
            Value::Integer(integers::field(signed, a, position, length))
        }
        Function::Reverse => {
            let bits = low(of.integer(1)?).reverse_bits() >> (128 - of.bits(0)?);
            Value::Integer(Exact::cast_from(bits))
        }
        Function::Convert => {
            let integer = match of.value(1)? {
                Value::Float(a) => {
                    let rounded = a.number?.to_integer(of.scope.rounding());
                    Exact::cast_from(rounded.saturate())
                }
                value => value.integer()?,
            };
            Value::Integer(clamped(super::element(ty), integer))
        }
        _ => return None,
    })
}

/// The functions whose first argument is an operand, whatever its value is.
fn with_operand(function: Function, of: Arguments<'_>) -> Option<Exact> {
    let (scope, operand) = (of.scope, of.operand(0)?);
    let parts = |argument: usize| scope.for_parts(operand, of.list.get(argument)?);
    Some(match function {
        Function::Length => Exact::cast_from(scope.part_length(operand)?),
        Function::Sign if scope.is_negated(operand) => exact(-1),
        Function::Sign => exact(1),
        Function::Merge => {
            let replace = |c, (part, a): (Part, Exact)| part.replaced(c, a);
            parts(2)?.into_iter().fold(of.integer(1)?, replace)
        }
        Function::Sum => {
            let add = |sum: Exact, (_, a): (Part, Exact)| sum.wrapping_add(a);
            parts(1)?.into_iter().fold(exact(0), add)
        }
        _ => return None,
    })
}

/// The functions of integers alone.
fn on_bits(function: Function, of: Arguments<'_>) -> Option<Exact> {
    let a = of.integer(0)?;
    Some(match function {
        Function::Ones => ones(of.small(0)?),
        Function::Popcount => Exact::cast_from(low(a).count_ones()),
        Function::BitLength => Exact::cast_from(128 - low(a).leading_zeros()),
        Function::FindNth => integers::find_nth(a, of.integer(1)?, of.integer(2)?),
        Function::Carryless => integers::carryless(a, of.integer(1)?),
        Function::Lookup => integers::lookup(a, [of.integer(1)?, of.integer(2)?, of.integer(3)?]),
        Function::Byte => integers::byte(a, of.integer(1)?),
        Function::ShiftLeft => integers::shift_left(a, of.integer(1)?),
        Function::ShiftRight => integers::shift_right(a, of.integer(1)?),
        _ => return None,
    })
}

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

/// The functions of two numbers.
fn arithmetic(function: Function, a: Value, b: Value, scope: &Scope<'_>) -> Option<Value> {
    let wanted = match function {
        Function::Min => Some(Ordering::Less),
        Function::Max => Some(Ordering::Greater),
        _ => None,
    };
    let (Value::Integer(a), Value::Integer(b)) = (a, b) else {
        let (a, b) = (a.float()?, b.float()?);
        return match wanted {
            Some(wanted) => {
                let keep_nan = scope.has(Modifier::NaN);
                Some(Value::Float(floats::extreme(a, b, wanted, keep_nan)))
            }
            None => floats::arithmetic(function, a, b, scope.rounding()),
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

/// The product. That with the integer zero is zero whatever the other integer is.
fn product(a: Option<Value>, b: Option<Value>, scope: &Scope<'_>) -> Option<Value> {
    let zero = Value::Integer(exact(0));
    match (a, b) {
        (Some(a), Some(b)) => arithmetic(Function::Mul, a, b, scope),
        (Some(known), None) | (None, Some(known)) => (known == zero).then_some(zero),
        (None, None) => None,
    }
}

/// A bitwise or logical operation, which one operand may decide.
fn logical(function: Function, a: Option<Value>, b: Option<Value>) -> Option<Value> {
    let decisive = match function {
        Function::And => [Value::Predicate(false), Value::Integer(exact(0))],
        Function::Or => [Value::Predicate(true), Value::Integer(exact(-1))],
        _ => {
            return Some(match (a?, b?) {
                (Value::Predicate(a), Value::Predicate(b)) => Value::Predicate(a != b),
                (a, b) => Value::Integer(a.integer()? ^ b.integer()?),
            });
        }
    };
    let decided = decisive
        .into_iter()
        .find(|d| a == Some(*d) || b == Some(*d));
    if decided.is_some() {
        return decided;
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
        (Value::Integer(a), Value::Integer(b)) => floats::ordered(test, a.cmp(&b)),
        _ => floats::compare(test, a.float()?, b.float()?),
    };
    holds.map(Value::Predicate)
}

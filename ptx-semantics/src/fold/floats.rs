//! The functions of expressions on floating-point values.

use super::exact_float::{Magnitude, Number};
use super::float_format::Format;
use super::rounding::Rounding;
use super::value::{Exact, Float, Value, low, ones};
use core::cmp::Ordering;
use ptx_isa::{ExprFunction as Function, Modifier, ScalarType};

/// The functions of two values, one of which is not an integer. The rounding decides the sign of a sum that is zero.
pub(super) fn arithmetic(
    function: Function,
    a: Float,
    b: Float,
    rounding: Rounding,
) -> Option<Value> {
    let both = a.number.zip(b.number);
    let exact = |of: fn(Number, Number) -> Option<Number>| {
        Value::Float(Float::new(both.and_then(|(a, b)| of(a, b))))
    };
    let order = both.map(|(a, b)| a.compare(b));
    let holds = |test: fn(Ordering) -> bool| Value::Predicate(order.is_some_and(test));
    Some(match function {
        Function::Add => {
            let sum = both.and_then(|(a, b)| a.add(b, rounding));
            Value::Float(Float::new(sum))
        }
        Function::Sub => {
            let difference = both.and_then(|(a, b)| a.add(b.negate(), rounding));
            Value::Float(Float::new(difference))
        }
        Function::Mul => exact(Number::mul),
        Function::Div => exact(Number::div),
        Function::Equal => holds(Ordering::is_eq),
        Function::NotEqual => Value::Predicate(order.is_none_or(Ordering::is_ne)),
        Function::Less => holds(Ordering::is_lt),
        Function::LessEqual => holds(Ordering::is_le),
        Function::Greater => holds(Ordering::is_gt),
        Function::GreaterEqual => holds(Ordering::is_ge),
        _ => return None,
    })
}

/// The lesser value, or the greater one: -0 is less than +0, and NaN is ignored unless `keep_nan`.
pub(super) fn extreme(a: Float, b: Float, wanted: Ordering, keep_nan: bool) -> Float {
    let number = match (a.number, b.number) {
        (Some(a), Some(b)) => {
            let order = a.compare(b).then(b.negative.cmp(&a.negative));
            Some(if order == wanted { a } else { b })
        }
        _ if keep_nan => None,
        (a, b) => a.or(b),
    };
    Float::new(number)
}

/// Whether a comparison holds; the last letter `u` of its name: also for a NaN.
pub(super) fn compare(test: Modifier, a: Float, b: Float) -> Option<bool> {
    let order = a.number.zip(b.number).map(|(a, b)| a.compare(b));
    let (test, of_nan) = match test {
        Modifier::Num => return Some(order.is_some()),
        Modifier::Nan => return Some(order.is_none()),
        Modifier::Equ => (Modifier::Eq, true),
        Modifier::Neu => (Modifier::Ne, true),
        Modifier::Ltu => (Modifier::Lt, true),
        Modifier::Leu => (Modifier::Le, true),
        Modifier::Gtu => (Modifier::Gt, true),
        Modifier::Geu => (Modifier::Ge, true),
        test => (test, false),
    };
    let of_numbers = ordered(test, order.unwrap_or(Ordering::Equal))?;
    Some(order.map_or(of_nan, |_| of_numbers))
}

/// Whether a comparison of two values holds; `None` for a modifier that is not a comparison.
pub(super) fn ordered(test: Modifier, order: Ordering) -> Option<bool> {
    Some(match test {
        Modifier::Eq => order.is_eq(),
        Modifier::Ne => order.is_ne(),
        Modifier::Lt | Modifier::Lo => order.is_lt(),
        Modifier::Le | Modifier::Ls => order.is_le(),
        Modifier::Gt | Modifier::Hi => order.is_gt(),
        Modifier::Ge | Modifier::Hs => order.is_ge(),
        _ => return None,
    })
}

/// A property of an operand; zero counts as normal.
pub(super) fn test(property: Modifier, a: Float) -> Option<bool> {
    let (ty, bits) = a.operand?;
    let format = Format::of(ty)?;
    let infinite = a.number.is_some_and(|n| n.size == Magnitude::Infinite);
    Some(match property {
        Modifier::Finite => a.number.is_some() && !infinite,
        Modifier::Infinite => infinite,
        Modifier::Number => a.number.is_some(),
        Modifier::Notanumber => a.number.is_none(),
        Modifier::Normal => a.number.is_some() && !infinite && !format.is_subnormal(bits),
        Modifier::Subnormal => format.is_subnormal(bits),
        _ => return None,
    })
}

/// The number with a sign; `None` for a NaN.
pub(super) fn with_sign(number: Float, negative: bool) -> Option<Value> {
    let number = number.number?;
    Some(Value::Float(Float::new(Some(Number {
        negative,
        ..number
    }))))
}

/// A number of a wider format without the low bits of its significand that a format has no place for; a carry out of them, when `random` is
/// added, goes into the rest. A number that loses nothing does not depend on `random`. One that is too large for the format is only known if
/// it is saturated to `finite` numbers.
pub(super) fn stochastic(
    ty: ScalarType,
    a: Float,
    random: Option<Exact>,
    finite: bool,
) -> Option<Float> {
    let Some(number) = a.number else {
        return Some(a);
    };
    let (target, source) = (Format::of(ty)?, Format::of(a.operand?.0)?);
    let unsaturated = !(finite && target.is_exceeded(number));
    let (true, Some(unit), Magnitude::Finite(mantissa, exponent)) =
        (unsaturated, target.unit(number), number.size)
    else {
        // Zero, infinity, or what is beyond the greatest number.
        return Some(Float::new(Some(number)));
    };
    let cut = unit - exponent;
    let lost = low(ones(u32::try_from(cut).unwrap_or(0)));
    let mantissa = match mantissa & lost {
        0 => mantissa,
        // How many bits of a number that becomes subnormal are added is not defined.
        _ if cut != source.digits() - target.digits() => return None,
        _ => (mantissa + (low(random?) & lost)) & !lost,
    };
    let size = Magnitude::Finite(mantissa, exponent);
    let rounded = Number { size, ..number };
    let known = finite || !target.is_exceeded(rounded);
    known.then_some(Float::new(Some(rounded)))
}

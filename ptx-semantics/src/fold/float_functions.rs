//! Evaluation of the functions of expressions ([`ptx_isa::ExprFunction`]) on floating-point values.

use super::exact_float::{Magnitude, Number};
use super::float_format::Format;
use super::rounding::Rounding;
use super::value::{Exact, Float, Value, low, ones};
use core::cmp::Ordering;
use ptx_isa::{ExprFunction as Function, Modifier, ScalarType};

/// The value of a function of two values, at least one of which is not an integer. The rounding selects the sign of a sum that is zero.
pub(super) fn arithmetic(
    function: Function,
    a: Float,
    b: Float,
    rounding: Rounding,
) -> Option<Value> {
    let numbers = a.number.zip(b.number);
    let order = numbers.map(|(a, b)| a.compare(b));
    let holds = |test: fn(Ordering) -> bool| Value::Predicate(order.is_some_and(test));
    let number = |number: Option<Number>| Value::Float(Float::new(number));
    Some(match function {
        Function::Add => number(numbers.and_then(|(a, b)| a.add(b, rounding))),
        Function::Sub => number(numbers.and_then(|(a, b)| a.add(b.negate(), rounding))),
        Function::Mul => number(numbers.and_then(|(a, b)| a.mul(b))),
        Function::Div => number(numbers.and_then(|(a, b)| a.div(b))),
        Function::Equal => holds(Ordering::is_eq),
        Function::NotEqual => Value::Predicate(order.is_none_or(Ordering::is_ne)),
        Function::Less => holds(Ordering::is_lt),
        Function::LessEqual => holds(Ordering::is_le),
        Function::Greater => holds(Ordering::is_gt),
        Function::GreaterEqual => holds(Ordering::is_ge),
        _ => return None,
    })
}

/// The value that has the order `selected` to the other value: the lesser or the greater one. -0 is less than +0, and NaN is ignored unless
/// `keep_nan`.
pub(super) fn extreme(a: Float, b: Float, selected: Ordering, keep_nan: bool) -> Float {
    let number = match (a.number, b.number) {
        (Some(a), Some(b)) => {
            let order = a.compare(b).then(b.negative.cmp(&a.negative));
            Some(if order == selected { a } else { b })
        }
        _ if keep_nan => None,
        (a, b) => a.or(b),
    };
    Float::new(number)
}

/// Whether a comparison holds. One whose name ends with `u` also holds for a NaN.
pub(super) fn compare(test: Modifier, a: Float, b: Float) -> Option<bool> {
    let order = a.number.zip(b.number).map(|(a, b)| a.compare(b));
    let (test, holds_for_nan) = match test {
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
    let holds_for_numbers = ordered(test, order.unwrap_or(Ordering::Equal))?;
    Some(order.map_or(holds_for_nan, |_| holds_for_numbers))
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

/// Whether an operand has a property. Zero counts as normal.
pub(super) fn test(property: Modifier, operand: Float) -> Option<bool> {
    let (ty, bits) = operand.operand?;
    let format = Format::of(ty)?;
    let is_infinite = operand
        .number
        .is_some_and(|n| n.size == Magnitude::Infinite);
    Some(match property {
        Modifier::Finite => operand.number.is_some() && !is_infinite,
        Modifier::Infinite => is_infinite,
        Modifier::Number => operand.number.is_some(),
        Modifier::Notanumber => operand.number.is_none(),
        Modifier::Normal => operand.number.is_some() && !is_infinite && !format.is_subnormal(bits),
        Modifier::Subnormal => format.is_subnormal(bits),
        _ => return None,
    })
}

/// The number with a sign; `None` for a NaN.
pub(super) fn with_sign(value: Float, negative: bool) -> Option<Value> {
    let number = value.number?;
    Some(Value::Float(Float::new(Some(Number {
        negative,
        ..number
    }))))
}

/// Rounds an operand of a wider format to the type `ty`: `random` is added to the low bits of the significand that the type lacks, and the carry
/// increments the other bits. A number without such bits does not depend on `random`. A number that is too large for the type only has a result
/// if it is saturated to `finite` numbers.
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
    let is_in_range = !(finite && target.is_exceeded(number));
    let (true, Some(unit), Magnitude::Finite(mantissa, exponent)) =
        (is_in_range, target.unit(number), number.size)
    else {
        // The number is zero, infinite, or beyond the greatest number.
        return Some(Float::new(Some(number)));
    };
    let lost_count = unit - exponent;
    let lost_mask = low(ones(u32::try_from(lost_count).unwrap_or(0)));
    let mantissa = match mantissa & lost_mask {
        0 => mantissa,
        // The number of bits that are added to a number that becomes subnormal is not defined.
        _ if lost_count != source.digits() - target.digits() => return None,
        _ => (mantissa + (low(random?) & lost_mask)) & !lost_mask,
    };
    let rounded = Number {
        size: Magnitude::Finite(mantissa, exponent),
        ..number
    };
    let has_result = finite || !target.is_exceeded(rounded);
    has_result.then_some(Float::new(Some(rounded)))
}

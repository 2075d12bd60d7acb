//! How far approximations may be from those of the virtual machine.

use ptx_isa::ScalarType;
use ptx_isa::internals::ErrorLimit;
use ptx_semantics::fold::number;

use crate::template::Template;

/// Whether a result, perhaps packed, is within the bounds that the tables state; `None` if they state none for these sources.
///
/// What the virtual machine gives is at most two units in the last place from the exact value, so that much is added to the bounds.
pub(crate) fn is_close(
    template: &Template,
    sources: &[u128],
    ty: ScalarType,
    device: u128,
    machine: u128,
) -> Option<bool> {
    let computation = template.form.computation()?;
    let element = ty.element().unwrap_or(ty);
    let width = u32::from(element.bits());
    let part = |bits: u128, lane: u32| bits >> (lane * width) & ((1 << width) - 1);
    for lane in 0..u32::from(ty.elements().max(1)) {
        let magnitude = |operand: u8| {
            let mut all = template.sources.iter().zip(sources);
            let found = all.find(|(r, _)| r.operand == usize::from(operand));
            let value = found.and_then(|(_, bits)| number(element, part(*bits, lane)));
            value.map_or(f64::NAN, f64::abs)
        };
        let limit = computation.error_limit(&template.slots, magnitude)?;
        let (device, machine) = (part(device, lane), part(machine, lane));
        if !within(element, limit, device, machine) {
            return Some(false);
        }
    }
    Some(true)
}

/// Whether two numbers differ by no more than a limit and two units in the last place.
pub(crate) fn within(ty: ScalarType, limit: ErrorLimit, device: u128, machine: u128) -> bool {
    let (Some(a), Some(b)) = (number(ty, device), number(ty, machine)) else {
        return false;
    };
    if a.is_nan() || b.is_nan() {
        return a.is_nan() && b.is_nan();
    }
    if a.is_infinite() && b.is_infinite() {
        return a == b;
    }
    let steps = position(ty, device).abs_diff(position(ty, machine));
    let beyond = match limit {
        ErrorLimit::Ulp(ulps) => return steps <= u128::from(ulps) + 2,
        ErrorLimit::Absolute(thousandths) => 2f64.powf(f64::from(thousandths) / 1000.0),
        ErrorLimit::Relative(thousandths) => b.abs() * 2f64.powf(f64::from(thousandths) / 1000.0),
        _ => return false,
    };
    steps <= 2 || (a - b).abs() <= beyond + 2.0 * unit(ty, machine)
}

/// The position of a number among all of its format.
fn position(ty: ScalarType, bits: u128) -> i128 {
    let sign = 1 << (ty.bits() - 1);
    let magnitude = (bits & (sign - 1)) as i128;
    match bits & sign {
        0 => magnitude,
        _ => -magnitude,
    }
}

/// The distance to the next number with a greater magnitude.
fn unit(ty: ScalarType, bits: u128) -> f64 {
    let number = |bits| number(ty, bits).map_or(0.0, f64::abs);
    let distance = number(bits + 1) - number(bits);
    if distance.is_finite() { distance } else { 0.0 }
}

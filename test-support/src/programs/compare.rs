//! Compares results with those of the CPU.

use super::case::{Allowed, Type};

/// Where results differ by more than is allowed: the first element, and how many.
pub fn compare(found: &[u8], expected: &[u8], ty: Type, allowed: Allowed) -> Result<(), String> {
    let each = match ty {
        Type::F16 => 2,
        Type::Bytes | Type::F32 => 4,
        Type::F64 => 8,
    };
    let pairs = found.chunks(each).zip(expected.chunks(each)).enumerate();
    let wrong: Vec<_> = pairs
        .filter(|(_, (a, b))| !equal(a, b, ty, allowed))
        .collect();
    match wrong.first() {
        None => Ok(()),
        Some((index, (a, b))) => Err(format!(
            "{} of {} elements differ; at {index} {} was expected and {} found",
            wrong.len(),
            expected.len() / each,
            show(b, ty),
            show(a, ty)
        )),
    }
}

fn equal(found: &[u8], expected: &[u8], ty: Type, allowed: Allowed) -> bool {
    if found == expected {
        return true;
    }
    let (Some(a), Some(b)) = (number(found, ty), number(expected, ty)) else {
        return false;
    };
    match allowed {
        Allowed::Exact => a.is_nan() && b.is_nan(),
        _ if a.is_nan() && b.is_nan() || a == b => true,
        Allowed::Relative(error) => (a - b).abs() <= error * b.abs(),
        Allowed::Absolute(error) => (a - b).abs() <= error,
        Allowed::Ulps(most) => order(found, ty).abs_diff(order(expected, ty)) <= most,
    }
}

fn number(bytes: &[u8], ty: Type) -> Option<f64> {
    match ty {
        Type::Bytes => None,
        Type::F16 => Some(half(u16::from_le_bytes(bytes.try_into().ok()?))),
        Type::F32 => Some(f32::from_le_bytes(bytes.try_into().ok()?).into()),
        Type::F64 => Some(f64::from_le_bytes(bytes.try_into().ok()?)),
    }
}

/// A number of 16 bits.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    match bits >> 15 {
        0 => magnitude,
        _ => -magnitude,
    }
}

/// The position of a number among all of its format.
fn order(bytes: &[u8], ty: Type) -> i64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let sign = match ty {
        Type::F16 => 1 << 15,
        Type::F64 => 1 << 63,
        _ => 1 << 31,
    };
    let magnitude = (bits & (sign - 1)) as i64;
    match bits & sign {
        0 => magnitude,
        _ => -magnitude,
    }
}

fn show(bytes: &[u8], ty: Type) -> String {
    match number(bytes, ty) {
        Some(number) => format!("{number:?}"),
        None => {
            let digits: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
            digits.join(" ")
        }
    }
}

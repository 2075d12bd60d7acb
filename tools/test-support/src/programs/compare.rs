//! Compares results with those of the CPU.

use super::case::{Allowed, Type};

/// Compares results with the expected ones. The error describes the first element that differs by more than is allowed, and the
/// number of these.
pub fn compare(found: &[u8], expected: &[u8], ty: Type, allowed: Allowed) -> Result<(), String> {
    let element_size = match ty {
        Type::F16 => 2,
        Type::Bytes | Type::F32 => 4,
        Type::F64 => 8,
    };
    let found = found.chunks(element_size);
    let differences: Vec<_> = found
        .zip(expected.chunks(element_size))
        .enumerate()
        .filter(|(_, (found, expected))| !equal(found, expected, ty, allowed))
        .collect();
    match differences.first() {
        None => Ok(()),
        Some((index, (found, expected_element))) => Err(format!(
            "{} of {} elements differ; at {index} {} was expected and {} found",
            differences.len(),
            expected.len() / element_size,
            show(expected_element, ty),
            show(found, ty)
        )),
    }
}

fn equal(found: &[u8], expected: &[u8], ty: Type, allowed: Allowed) -> bool {
    if found == expected {
        return true;
    }
    let (Some(x), Some(y)) = (number(found, ty), number(expected, ty)) else {
        return false;
    };
    match allowed {
        Allowed::Exact => x.is_nan() && y.is_nan(),
        _ if x.is_nan() && y.is_nan() || x == y => true,
        Allowed::Relative(error) => (x - y).abs() <= error * y.abs(),
        Allowed::Absolute(error) => (x - y).abs() <= error,
        Allowed::Ulps(error) => order(found, ty).abs_diff(order(expected, ty)) <= error,
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
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f64::from(bits & 1023) / 1024.0;
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

/// The position of a number among all numbers of its format.
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

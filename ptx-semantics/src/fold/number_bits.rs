//! Conversion between numbers and the bits of floating-point and fixed-point types.

use ptx_isa::{ScalarType, TypeKind};

use super::exact_float::Magnitude;
use super::float_format::Format;
use super::rounding::{MagnitudeRounding, Rounding, round};

/// The bits of the value of a floating-point or fixed-point type that is nearest to a number. `None` for other types, and if the type lacks
/// the value: it may lack infinity, NaN, negative numbers, or numbers that large.
///
/// ```
/// use ptx_semantics::fold::number_bits;
/// use ptx_isa::ScalarType;
/// assert_eq!(number_bits(ScalarType::F16, 1.5), Some(0x3e00));
/// assert_eq!(number_bits(ScalarType::E2m1, 100.0), None);
/// ```
#[must_use]
pub fn number_bits(ty: ScalarType, number: f64) -> Option<u64> {
    let wide = Format::of(ScalarType::F64)?;
    let exact = wide.decode(number.to_bits().into());
    if ty.kind() == TypeKind::Fixed {
        return fixed(exact?, ty);
    }
    let format = Format::of(ty)?;
    let bits = match exact {
        Some(number) => format.encode(number, Rounding::Nearest)?,
        None => format.quiet_nan()?,
    };
    u64::try_from(bits).ok()
}

/// The number with these bits in a floating-point or fixed-point type. `None` for other types and packed types.
///
/// ```
/// use ptx_semantics::fold::number;
/// use ptx_isa::ScalarType;
/// assert_eq!(number(ScalarType::F16, 0x3e00), Some(1.5));
/// assert!(number(ScalarType::E4m3, 0x7f).is_some_and(f64::is_nan));
/// ```
#[must_use]
pub fn number(ty: ScalarType, bits: u128) -> Option<f64> {
    if ty.element().is_some() {
        return None;
    }
    if ty.kind() == TypeKind::Fixed {
        let unused = 64 - u32::from(ty.bits());
        let value = (bits as u64) << unused;
        return Some((value as i64 >> unused) as f64 / 64.0);
    }
    let wide = Format::of(ScalarType::F64)?;
    match Format::of(ty)?.decode(bits) {
        None => Some(f64::NAN),
        Some(number) => {
            let bits = wide.encode(number, Rounding::Nearest)?;
            Some(f64::from_bits(u64::try_from(bits).ok()?))
        }
    }
}

/// The bits of a number in the only fixed-point type, which has eight bits, six of them after the point.
fn fixed(number: super::exact_float::Number, ty: ScalarType) -> Option<u64> {
    let Magnitude::Finite(mantissa, exponent) = number.size else {
        return None;
    };
    let rounded = round(mantissa, -exponent - 6, MagnitudeRounding::Nearest);
    let magnitude = i64::try_from(rounded).ok()?;
    let value = if number.negative {
        -magnitude
    } else {
        magnitude
    };
    let half = 1i64 << (ty.bits() - 1);
    (-half..half)
        .contains(&value)
        .then_some(value as u64 & (2 * half as u64 - 1))
}

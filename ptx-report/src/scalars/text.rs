//! The text of values of scalar types.

use ptx_isa::{ScalarType, TypeKind};
use ptx_semantics::fold::{number, number_bits};

/// The largest number of decimal digits that distinguish the values of a type of 64 bits.
const MAX_DIGITS: usize = 17;

/// The text of a value with its bits. An integer is decimal, and also hexadecimal if it has more than one digit. A floating-point number has the
/// fewest digits that distinguish it from the other numbers of its type. A predicate is `true` or `false`. The elements of a packed type are in
/// braces, the lowest first.
///
/// ```
/// use ptx_isa::ScalarType;
/// use ptx_report::scalars::text;
/// assert_eq!(text(ScalarType::S32, 0xffff_ffff), "-1");
/// assert_eq!(text(ScalarType::U32, 300), "300 (0x12c)");
/// assert_eq!(text(ScalarType::F32, 0x3dcc_cccd), "0.1 (0x3dcccccd)");
/// ```
#[must_use]
pub fn text(ty: ScalarType, bits: u128) -> String {
    let plain = plain(ty, bits);
    let width = usize::from(ty.bits()).div_ceil(4);
    match ty.kind() {
        TypeKind::Predicate => plain,
        _ if ty.element().is_some() => format!("{plain} (0x{bits:0width$x})"),
        TypeKind::Float | TypeKind::Fixed => format!("{plain} (0x{bits:0width$x})"),
        _ if plain.trim_start_matches('-').len() <= 1 => plain,
        _ => format!("{plain} (0x{bits:x})"),
    }
}

/// The text of a value without its bits.
#[must_use]
pub fn plain(ty: ScalarType, bits: u128) -> String {
    if let Some(element) = ty.element() {
        let count = ty.elements().max(1);
        let width = u32::from(ty.bits()) / u32::from(count);
        let elements: Vec<String> = (0..count)
            .map(|index| {
                let shifted = bits.checked_shr(u32::from(index) * width).unwrap_or(0);
                plain(element, shifted & ((1u128 << width) - 1))
            })
            .collect();
        return format!("{{{}}}", elements.join(", "));
    }
    match ty.kind() {
        TypeKind::Predicate => (bits & 1 == 1).to_string(),
        TypeKind::Float | TypeKind::Fixed => match number(ty, bits) {
            Some(value) => decimal(ty, bits, value),
            None => format!("{bits:#x}"),
        },
        TypeKind::Signed => {
            let unused = 128 - u32::from(ty.bits());
            ((bits << unused) as i128 >> unused).to_string()
        }
        _ => bits.to_string(),
    }
}

/// The shortest decimal number that is rounded to the bits.
fn decimal(ty: ScalarType, bits: u128, value: f64) -> String {
    let shortest = (0..MAX_DIGITS)
        .filter_map(|digits| format!("{value:.digits$e}").parse::<f64>().ok())
        .find(|number| number_bits(ty, *number).map(u128::from) == Some(bits));
    let number = shortest.unwrap_or(value);
    if number == 0.0 || (1e-5..1e16).contains(&number.abs()) || !number.is_finite() {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_all_kinds_of_types() {
        let cases = [
            (ScalarType::Pred, 1, "true"),
            (ScalarType::U8, 9, "9"),
            (ScalarType::S8, 0x80, "-128 (0x80)"),
            (
                ScalarType::B64,
                u128::from(u64::MAX),
                "18446744073709551615 (0xffffffffffffffff)",
            ),
            (ScalarType::F16, 0x2e66, "0.1 (0x2e66)"),
            (ScalarType::F16, 0x7bff, "65500 (0x7bff)"),
            (ScalarType::Bf16, 0x3dcd, "0.1 (0x3dcd)"),
            (ScalarType::F32, 0, "0 (0x00000000)"),
            (ScalarType::F32, 0x8000_0000, "-0 (0x80000000)"),
            (ScalarType::F32, 0x7f80_0000, "inf (0x7f800000)"),
            (ScalarType::F32, 0x7fc0_0000, "NaN (0x7fc00000)"),
            (ScalarType::F32, 1, "1e-45 (0x00000001)"),
            (
                ScalarType::F64,
                0x3fb9_9999_9999_999a,
                "0.1 (0x3fb999999999999a)",
            ),
            (ScalarType::F16x2, 0xc000_3c00, "{1, -2} (0xc0003c00)"),
            (ScalarType::E2m1x2, 0x71, "{0.5, 6} (0x71)"),
        ];
        for (ty, bits, expected) in cases {
            assert_eq!(text(ty, bits), expected, "{ty} {bits:#x}");
        }
    }

    /// All values of the short types are read again as they were written.
    #[test]
    fn numbers_are_read_again() {
        let is_short = |ty: &&ScalarType| {
            matches!(ty.kind(), TypeKind::Float | TypeKind::Fixed)
                && ty.element().is_none()
                && ty.bits() <= 16
        };
        let types: Vec<&ScalarType> = ScalarType::ALL.iter().filter(is_short).collect();
        assert!(types.len() >= 8, "{types:?}");
        for &&ty in &types {
            for bits in 0..1u128 << ty.bits() {
                let Some(value) = number(ty, bits).filter(|value| value.is_finite()) else {
                    continue;
                };
                let written: f64 = plain(ty, bits).parse().unwrap();
                assert_eq!(
                    number_bits(ty, written).map(u128::from),
                    Some(bits),
                    "{ty} {value}"
                );
            }
        }
    }
}

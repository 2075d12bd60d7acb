//! Parses values of scalar types.

use ptx_isa::{ScalarType, TypeKind};
use ptx_semantics::fold::number_bits;

use crate::clean;

/// The type of a name without its dot, such as `f32`.
///
/// # Errors
///
/// There is no such type, or it has no values that can be written.
pub fn scalar_type(name: &str) -> Result<ScalarType, String> {
    format!(".{name}")
        .parse()
        .ok()
        .filter(|ty: &ScalarType| {
            let kind = ty.element().unwrap_or(*ty).kind();
            !matches!(
                kind,
                TypeKind::Predicate | TypeKind::Opaque | TypeKind::Format
            )
        })
        .ok_or_else(|| format!("`{}` is not a type of values", clean(name)))
}

/// The bytes of a list of values of a type, which commas separate. Each element of a packed type is a value; the lowest element is first.
///
/// # Errors
///
/// A text of the list is not a value of the type, or an element is missing.
pub fn bytes(ty: ScalarType, text: &str) -> Result<Vec<u8>, String> {
    let element = ty.element().unwrap_or(ty);
    let elements = usize::from(ty.elements().max(1));
    let values = text
        .split(',')
        .map(|value| bits(element, value.trim()))
        .collect::<Result<Vec<u128>, _>>()?;
    if values.len() % elements != 0 {
        return Err(format!(
            "`{ty}` has {elements} elements, such as `{}:{}`",
            name(ty),
            vec!["1"; elements].join(",")
        ));
    }
    let mut bytes = Vec::new();
    for packed in values.chunks(elements) {
        let width = u32::from(ty.bits()) / elements as u32;
        let register = (0..).zip(packed).fold(0, |register, (index, bits)| {
            register | bits << (index * width)
        });
        bytes.extend_from_slice(&register.to_le_bytes()[..usize::from(ty.bits() / 8)]);
    }
    Ok(bytes)
}

/// The name of a type without its dot.
#[must_use]
pub fn name(ty: ScalarType) -> &'static str {
    ty.text().trim_start_matches('.')
}

/// The bits of one value.
fn bits(ty: ScalarType, text: &str) -> Result<u128, String> {
    let cleaned = clean(text);
    let hex_bits = hexadecimal(text);
    if matches!(ty.kind(), TypeKind::Float | TypeKind::Fixed) {
        if let Some(bits) = hex_bits {
            return bits
                .filter(|bits| bits >> ty.bits() == 0)
                .ok_or_else(|| format!("`{cleaned}` has more bits than `{ty}`"));
        }
        let number: f64 = text
            .parse()
            .map_err(|_| format!("`{cleaned}` is not a number"))?;
        return number_bits(ty, number)
            .map(u128::from)
            .ok_or_else(|| format!("`{ty}` has no value near `{cleaned}`"));
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = hexadecimal(digits)
        .unwrap_or_else(|| digits.parse().ok())
        .ok_or_else(|| format!("`{cleaned}` is not an integer"))?;
    let width = u32::from(ty.bits());
    let mask = u128::MAX >> (128 - width);
    let half = 1u128 << (width - 1);
    let fits = match (negative, ty.kind()) {
        (true, TypeKind::Unsigned) => magnitude == 0,
        (true, _) => magnitude <= half,
        // Hexadecimal digits are bits.
        (false, TypeKind::Signed) if hexadecimal(digits).is_none() => magnitude < half,
        (false, _) => magnitude <= mask,
    };
    if !fits {
        return Err(format!("`{cleaned}` is not a value of `{ty}`"));
    }
    let value = if negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    };
    Ok(value & mask)
}

/// The value of hexadecimal digits after `0x`; `None` without this prefix, and `Some(None)` if the text after it is not the digits of at most 128 bits.
fn hexadecimal(text: &str) -> Option<Option<u128>> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"))?;
    let is_number = digits.bytes().all(|b| b.is_ascii_hexdigit());
    Some(u128::from_str_radix(digits, 16).ok().filter(|_| is_number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_all_kinds_of_types() {
        let cases: [(&str, &str, &[u8]); 16] = [
            ("s32", "-5", &[0xfb, 0xff, 0xff, 0xff]),
            ("u64", "0x10", &[16, 0, 0, 0, 0, 0, 0, 0]),
            ("u8", "255", &[255]),
            ("s8", "-128", &[128]),
            ("s8", "0xff", &[255]),
            ("b16", "-1", &[255, 255]),
            ("f32", "2.5", &[0, 0, 0x20, 0x40]),
            ("f32", "0x40200000", &[0, 0, 0x20, 0x40]),
            ("f64", "-inf", &[0, 0, 0, 0, 0, 0, 0xf0, 0xff]),
            ("f16", "1", &[0, 0x3c]),
            ("bf16", "1,2", &[0x80, 0x3f, 0, 0x40]),
            ("f16x2", "1, 2", &[0, 0x3c, 0, 0x40]),
            ("u8x4", "1,2,3,4", &[1, 2, 3, 4]),
            ("e4m3x2", "448,-1", &[0x7e, 0xb8]),
            ("e2m1x4", "1,6,0.5,-6", &[0x72, 0xf1]),
            ("s2f6x2", "1,-2", &[64, 0x80]),
        ];
        for (ty, text, expected) in cases {
            let ty = scalar_type(ty).unwrap();
            assert_eq!(bytes(ty, text).as_deref(), Ok(expected), "{ty} {text}");
        }
        assert_eq!(bytes(ScalarType::B128, "-1").unwrap(), [255; 16]);
    }

    #[test]
    fn what_is_not_a_value() {
        let cases = [
            ("u8", "256", "`256` is not a value of `.u8`"),
            ("u8", "-1", "`-1` is not a value of `.u8`"),
            ("s8", "128", "`128` is not a value of `.s8`"),
            ("s32", "1.5", "`1.5` is not an integer"),
            ("s32", "", "`` is not an integer"),
            ("u32", "0x+1", "`0x+1` is not an integer"),
            ("f32", "one", "`one` is not a number"),
            ("f16", "0x12345", "`0x12345` has more bits than `.f16`"),
            ("e2m1x2", "7e9,1", "`.e2m1` has no value near `7e9`"),
            ("f16x2", "1", "`.f16x2` has 2 elements, such as `f16x2:1,1`"),
        ];
        for (ty, text, message) in cases {
            let ty = scalar_type(ty).unwrap();
            assert_eq!(bytes(ty, text).unwrap_err(), message);
        }
        for name in ["pred", "texref", "x", ""] {
            assert!(scalar_type(name).is_err(), "{name}");
        }
    }
}

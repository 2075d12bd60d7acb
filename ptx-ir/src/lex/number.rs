//! Number literals: their spellings and values.

use super::scan::{self, class, peek};

/// The reason for which a number is invalid.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NumberError {
    /// Characters that are not part of a number follow the digits.
    Malformed,
    /// `0f` needs exactly eight hexadecimal digits, `0d` sixteen.
    ExactDigits,
    /// The value does not fit 64 bits, as an integer or as a double.
    Overflow,
}

/// The kind of the literal of a number.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NumberKind {
    /// A decimal, octal, binary or hexadecimal integer, perhaps with the suffix `U`.
    Integer,
    /// A decimal floating-point number; always of double precision.
    Decimal,
    /// `0f` with eight hexadecimal digits: the bits of a single.
    Single,
    /// `0d` with sixteen hexadecimal digits: the bits of a double.
    Double,
    /// Text that begins like a number but is malformed.
    Bad,
}

/// The value of a literal.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum NumberValue {
    /// An integer: its 64 bits, and whether it is unsigned (suffix `U`, or too large for a signed one).
    Integer(u64, bool),
    /// The bits of a double.
    Double(u64),
    /// The bits of a single.
    Single(u32),
}

/// The end and kind of the number that begins at `pos` (a digit, or a dot before a digit).
#[must_use]
pub fn scan_number(src: &[u8], pos: usize) -> (usize, NumberKind) {
    let second = peek(src, pos + 1);
    if peek(src, pos) == b'0' && second.is_ascii_alphabetic() {
        let digits = pos + 2;
        match second {
            b'x' | b'X' => return integer_end(src, digits, scan::run(src, digits, class::HEX)),
            b'b' | b'B' => {
                let mut digits_end = digits;
                while matches!(peek(src, digits_end), b'0' | b'1') {
                    digits_end += 1;
                }
                return integer_end(src, digits, digits_end);
            }
            b'f' | b'F' => return scan_float_bits(src, digits, 8, NumberKind::Single),
            b'd' | b'D' => return scan_float_bits(src, digits, 16, NumberKind::Double),
            _ => {}
        }
    }
    let integer_part_end = scan::run(src, pos, class::DIGIT);
    let mut end = integer_part_end;
    if peek(src, end) == b'.' {
        end = scan::run(src, end + 1, class::DIGIT);
    }
    if matches!(peek(src, end), b'e' | b'E') {
        let has_sign = matches!(peek(src, end + 1), b'+' | b'-');
        let exponent = end + 1 + usize::from(has_sign);
        if peek(src, exponent).is_ascii_digit() {
            end = scan::run(src, exponent, class::DIGIT);
        }
    }
    if end == integer_part_end {
        let digits = &src[pos..integer_part_end];
        let is_octal = digits.len() > 1 && digits[0] == b'0';
        let (end, kind) = integer_end(src, pos, integer_part_end);
        if is_octal && digits.iter().any(|&digit| digit > b'7') {
            return (end, NumberKind::Bad);
        }
        return (end, kind);
    }
    let word_end = scan::word_end(src, end);
    if word_end > end {
        (word_end, NumberKind::Bad)
    } else {
        (end, NumberKind::Decimal)
    }
}

/// The end and kind of a number that must have `count` hexadecimal digits from `digits` on.
fn scan_float_bits(
    src: &[u8],
    digits: usize,
    count: usize,
    kind: NumberKind,
) -> (usize, NumberKind) {
    let end = scan::word_end(src, digits);
    if end - digits == count && scan::run(src, digits, class::HEX) == end {
        (end, kind)
    } else {
        (end, NumberKind::Bad)
    }
}

/// The end and kind of an integer with these digits: includes the suffix `U`, and word characters that make it malformed.
fn integer_end(src: &[u8], digits: usize, digits_end: usize) -> (usize, NumberKind) {
    let has_suffix = peek(src, digits_end) == b'U';
    let end = digits_end + usize::from(has_suffix);
    let word_end = scan::word_end(src, end);
    if digits_end == digits || word_end > end {
        (word_end, NumberKind::Bad)
    } else {
        (end, NumberKind::Integer)
    }
}

/// The lowest 64 bits of a hexadecimal number.
fn hex_value(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |value, &digit| {
        value << 4 | (digit as char).to_digit(16).unwrap_or(0) as u64
    })
}

/// The value of a literal, which is the whole of `text`.
///
/// An integer keeps its low 64 bits. See sections 4.5.1 and 4.5.2 of the PTX ISA manual.
///
/// # Errors
///
/// The text is not a number, or its value is out of range: for an integer, if the digits before the last do not fit 63
/// bits, as in ptxas; for a floating-point number, above the largest double and below the smallest normal one.
pub fn number_value(text: &[u8]) -> Result<NumberValue, NumberError> {
    let (end, kind) = scan_number(text, 0);
    if end != text.len() {
        return Err(NumberError::Malformed);
    }
    match kind {
        NumberKind::Bad => match text {
            [b'0', b'f' | b'F' | b'd' | b'D', ..] => Err(NumberError::ExactDigits),
            _ => Err(NumberError::Malformed),
        },
        NumberKind::Single => Ok(NumberValue::Single(hex_value(&text[2..]) as u32)),
        NumberKind::Double => Ok(NumberValue::Double(hex_value(&text[2..]))),
        NumberKind::Decimal => {
            let text = core::str::from_utf8(text).map_err(|_| NumberError::Malformed)?;
            let value: f64 = text.parse().map_err(|_| NumberError::Malformed)?;
            let is_zero = !text
                .bytes()
                .take_while(|b| !b"eE".contains(b))
                .any(|b| b > b'0');
            if value.is_normal() || is_zero {
                Ok(NumberValue::Double(value.to_bits()))
            } else {
                Err(NumberError::Overflow)
            }
        }
        NumberKind::Integer => {
            let (number, has_suffix) = match text {
                [number @ .., b'U'] => (number, true),
                _ => (text, false),
            };
            let (digits, radix) = match number {
                [b'0', b'x' | b'X', digits @ ..] => (digits, 16u64),
                [b'0', b'b' | b'B', digits @ ..] => (digits, 2),
                [b'0', digits @ ..] if !digits.is_empty() => (digits, 8),
                _ => (number, 10),
            };
            let mut value = 0u64;
            for &b in digits {
                if value > i64::MAX as u64 {
                    return Err(NumberError::Overflow);
                }
                let digit = (b as char).to_digit(16).unwrap_or(0) as u64;
                value = value.wrapping_mul(radix).wrapping_add(digit);
            }
            Ok(NumberValue::Integer(
                value,
                has_suffix || value > i64::MAX as u64,
            ))
        }
    }
}

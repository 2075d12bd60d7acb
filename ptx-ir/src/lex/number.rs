//! Number literals: every spelling PTX knows, and what each is worth.

use super::NumberError;
use super::scan::{self, class, peek};

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
        let digits = |mask: u8| {
            let mut p = pos + 2;
            while scan::is(peek(src, p), mask) {
                p += 1;
            }
            p
        };
        match second {
            b'x' | b'X' => return integer_tail(src, digits(class::HEX), pos + 2),
            b'b' | b'B' => {
                let mut p = pos + 2;
                while matches!(peek(src, p), b'0' | b'1') {
                    p += 1;
                }
                return integer_tail(src, p, pos + 2);
            }
            b'f' | b'F' | b'd' | b'D' => {
                let single = matches!(second, b'f' | b'F');
                let end = scan::word_end(src, pos + 2);
                let want = if single { 8 } else { 16 };
                let ok = end - pos - 2 == want && digits(class::HEX) == end;
                let kind = match (ok, single) {
                    (true, true) => NumberKind::Single,
                    (true, false) => NumberKind::Double,
                    (false, _) => NumberKind::Bad,
                };
                return (end, kind);
            }
            _ => {}
        }
    }
    let digits = |mut p: usize| {
        while peek(src, p).is_ascii_digit() {
            p += 1;
        }
        p
    };
    let whole = digits(pos);
    let mut end = whole;
    if peek(src, end) == b'.' {
        end = digits(end + 1);
    }
    if matches!(peek(src, end), b'e' | b'E') {
        let mut p = end + 1;
        if matches!(peek(src, p), b'+' | b'-') {
            p += 1;
        }
        if peek(src, p).is_ascii_digit() {
            end = digits(p);
        }
    }
    if end == whole {
        let octal = peek(src, pos) == b'0' && whole - pos > 1;
        let (tail, kind) = integer_tail(src, whole, pos);
        let bad = octal && src[pos..whole].iter().any(|&b| b > b'7');
        return (tail, if bad { NumberKind::Bad } else { kind });
    }
    match scan::word_end(src, end) {
        tail if tail > end => (tail, NumberKind::Bad),
        _ => (end, NumberKind::Decimal),
    }
}

/// An integer's digits end at `end` and began at `first`: takes the suffix `U` and anything glued on.
fn integer_tail(src: &[u8], mut end: usize, first: usize) -> (usize, NumberKind) {
    let empty = end == first;
    if peek(src, end) == b'U' {
        end += 1;
    }
    let tail = scan::word_end(src, end);
    let bad = empty || tail > end;
    (
        tail,
        if bad {
            NumberKind::Bad
        } else {
            NumberKind::Integer
        },
    )
}

/// The value of a whole literal `text`.
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
    let hex = |digits: &[u8]| {
        digits.iter().fold(0u64, |v, &b| {
            v << 4 | (b as char).to_digit(16).unwrap_or(0) as u64
        })
    };
    match kind {
        NumberKind::Bad => match text {
            [b'0', b'f' | b'F' | b'd' | b'D', ..] => Err(NumberError::ExactDigits),
            _ => Err(NumberError::Malformed),
        },
        NumberKind::Single => Ok(NumberValue::Single(hex(&text[2..]) as u32)),
        NumberKind::Double => Ok(NumberValue::Double(hex(&text[2..]))),
        NumberKind::Decimal => {
            let text = core::str::from_utf8(text).map_err(|_| NumberError::Malformed)?;
            let value: f64 = text.parse().map_err(|_| NumberError::Malformed)?;
            let zero = !text
                .bytes()
                .take_while(|b| !b"eE".contains(b))
                .any(|b| b > b'0');
            if value.is_normal() || zero {
                Ok(NumberValue::Double(value.to_bits()))
            } else {
                Err(NumberError::Overflow)
            }
        }
        NumberKind::Integer => {
            let (digits, suffix) = match text {
                [digits @ .., b'U'] => (digits, true),
                _ => (text, false),
            };
            let (digits, radix) = match digits {
                [b'0', b'x' | b'X', rest @ ..] => (rest, 16u64),
                [b'0', b'b' | b'B', rest @ ..] => (rest, 2),
                [b'0', rest @ ..] if !rest.is_empty() => (rest, 8),
                _ => (digits, 10),
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
                suffix || value > i64::MAX as u64,
            ))
        }
    }
}

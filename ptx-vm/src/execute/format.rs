//! The format strings of `printf`.

use crate::error::StopReason;

/// The maximum width and precision of a conversion in bytes, which C guarantees. Greater numbers count as this.
const WIDEST: usize = 4095;
/// The maximum number of bytes of the text of a call: the size of the buffer of the driver.
const LONGEST: usize = 1 << 20;

/// A conversion such as `%-8.3lf`.
#[derive(Clone, Default)]
struct Conversion {
    /// The value is left-justified.
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Whether an integer has 64 bits.
    long: bool,
    /// The number of `h` that were written: an integer is converted to 16 bits, or to 8.
    short: u8,
}

/// The arguments, one after the other at multiples of their size.
struct Arguments<R> {
    /// The offset of the next one.
    offset: u64,
    read: R,
}

impl<R: Fn(u64, u8) -> Result<u64, StopReason>> Arguments<R> {
    fn next(&mut self, bytes: u8) -> Result<u64, StopReason> {
        let size = u64::from(bytes);
        let start = self.offset.div_ceil(size) * size;
        self.offset = start + size;
        (self.read)(start, bytes)
    }
}

/// Formats a text: returns its bytes and the number of arguments. `read_argument` reads bytes at an offset of the arguments, `read_string` at most a number of
/// bytes of the string at an address.
pub(super) fn format(
    format: &[u8],
    read_argument: impl Fn(u64, u8) -> Result<u64, StopReason>,
    read_string: impl Fn(u64, u64) -> Result<Vec<u8>, StopReason>,
) -> Result<(Vec<u8>, u64), StopReason> {
    let mut arguments = Arguments {
        offset: 0,
        read: read_argument,
    };
    let (mut output, mut count) = (Vec::new(), 0);
    let mut remaining = format;
    while let Some((&byte, tail)) = remaining.split_first() {
        remaining = tail;
        check_length(&output)?;
        if byte != b'%' {
            output.push(byte);
            continue;
        }
        let mut conversion = Conversion::default();
        remaining = conversion.flags(remaining, &mut arguments)?;
        let Some((&kind, tail)) = remaining.split_first() else {
            break;
        };
        remaining = tail;
        count += u64::from(kind != b'%');
        let text = match kind {
            b'%' => "%".into(),
            b'c' => {
                let byte = arguments.next(4)? as u8;
                conversion.pad(&mut output, &[byte], 0);
                continue;
            }
            b's' => {
                let precision = conversion.precision.unwrap_or(usize::MAX);
                let mut text = match arguments.next(8)? {
                    0 => b"(null)".to_vec(),
                    address => read_string(address, precision as u64)?,
                };
                text.truncate(precision);
                conversion.pad(&mut output, &text, 0);
                continue;
            }
            b'p' => match arguments.next(8)? {
                0 => "(nil)".into(),
                address => format!("{address:#x}"),
            },
            b'd' | b'i' => {
                let value = if conversion.long {
                    arguments.next(8)? as i64
                } else {
                    i64::from(arguments.next(4)? as i32)
                };
                let value = conversion.shorten(value);
                conversion.signed(
                    value < 0,
                    conversion.digits(value.unsigned_abs().to_string()),
                )
            }
            b'u' | b'x' | b'X' | b'o' => {
                let value = arguments.next(if conversion.long { 8 } else { 4 })?;
                let value = match conversion.short {
                    0 => value,
                    1 => value & 0xffff,
                    _ => value & 0xff,
                };
                conversion.unsigned(kind, value)
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(arguments.next(8)?);
                conversion.signed(
                    value.is_sign_negative(),
                    conversion.number(kind, value.abs()),
                )
            }
            _ => {
                return Err(StopReason::Invalid(format!(
                    "`printf` does not support the conversion `%{}`",
                    char::from(kind)
                )));
            }
        };
        conversion.pad_value(&mut output, kind, &text);
    }
    Ok((output, count))
}

/// An error if a text is too long.
fn check_length(text: &[u8]) -> Result<(), StopReason> {
    if text.len() > LONGEST {
        let reason = "the text of one call of `printf` is longer than 1 MiB";
        return Err(StopReason::MemoryLimit(reason.into()));
    }
    Ok(())
}

impl Conversion {
    /// The part of an integer that the conversion prints, with its sign.
    fn shorten(&self, value: i64) -> i64 {
        match self.short {
            0 => value,
            1 => i64::from(value as i16),
            _ => i64::from(value as i8),
        }
    }

    /// Reads flags, width, precision and length, and returns the remaining bytes of the format.
    fn flags<'f, R: Fn(u64, u8) -> Result<u64, StopReason>>(
        &mut self,
        mut format: &'f [u8],
        arguments: &mut Arguments<R>,
    ) -> Result<&'f [u8], StopReason> {
        let mut in_precision = false;
        while let Some((&byte, tail)) = format.split_first() {
            match byte {
                b'-' => self.left = true,
                b'+' => self.plus = true,
                b' ' => self.space = true,
                b'#' => self.alternate = true,
                b'0' if !in_precision && self.width == 0 => self.zero = true,
                b'.' => {
                    in_precision = true;
                    self.precision = Some(0);
                }
                b'*' => {
                    let value = arguments.next(4)? as i32;
                    if in_precision {
                        let precision = usize::try_from(value).ok();
                        self.precision = precision.map(|n| n.min(WIDEST));
                    } else {
                        self.left |= value < 0;
                        self.width = (value.unsigned_abs() as usize).min(WIDEST);
                    }
                }
                b'0'..=b'9' => {
                    let digit = usize::from(byte - b'0');
                    let number = if in_precision {
                        self.precision.get_or_insert(0)
                    } else {
                        &mut self.width
                    };
                    *number = (*number * 10 + digit).min(WIDEST);
                }
                b'l' | b'j' | b'z' | b't' => self.long = true,
                b'h' => self.short = self.short.saturating_add(1),
                b'L' => {}
                _ => break,
            }
            format = tail;
        }
        Ok(format)
    }

    /// Adds zeros before digits, up to the number that the precision says.
    fn digits(&self, digits: String) -> String {
        match self.precision {
            Some(0) if digits == "0" => String::new(),
            Some(precision) => format!("{digits:0>precision$}"),
            None => digits,
        }
    }

    fn unsigned(&self, kind: u8, value: u64) -> String {
        let (digits, prefix) = match kind {
            b'x' => (format!("{value:x}"), "0x"),
            b'X' => (format!("{value:X}"), "0X"),
            b'o' => (format!("{value:o}"), "0"),
            _ => (value.to_string(), ""),
        };
        let prefix = if self.alternate && value != 0 {
            prefix
        } else {
            ""
        };
        format!("{prefix}{}", self.digits(digits))
    }

    fn signed(&self, negative: bool, magnitude: String) -> String {
        let sign = if negative {
            "-"
        } else if self.plus {
            "+"
        } else if self.space {
            " "
        } else {
            ""
        };
        format!("{sign}{magnitude}")
    }

    /// The text of a number that is not negative.
    fn number(&self, kind: u8, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let text = match kind.to_ascii_lowercase() {
            _ if value.is_nan() => "nan".into(),
            _ if value.is_infinite() => "inf".into(),
            b'f' => format!("{value:.precision$}"),
            b'e' => exponential(value, precision),
            b'a' => hexadecimal(value, self.precision),
            _ => general(value, precision.max(1), self.alternate),
        };
        if kind.is_ascii_uppercase() {
            text.to_ascii_uppercase()
        } else {
            text
        }
    }

    /// Appends the text of a value other than a string.
    fn pad_value(&mut self, output: &mut Vec<u8>, kind: u8, text: &str) {
        let integer = matches!(kind, b'd' | b'i' | b'u' | b'x' | b'X' | b'o');
        // Infinity and NaN are filled with spaces.
        let finite = !text.to_ascii_lowercase().ends_with(['n', 'f']);
        let is_number = integer || finite && !matches!(kind, b'%' | b'p');
        let digits = text.trim_start_matches(['-', '+', ' ']);
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        let digits = digits.strip_prefix("0X").unwrap_or(digits);
        self.zero &= is_number && !(integer && self.precision.is_some());
        self.pad(output, text.as_bytes(), text.len() - digits.len());
    }

    /// Appends a text of at least the width. Zeros are put after the sign.
    fn pad(&self, output: &mut Vec<u8>, text: &[u8], sign: usize) {
        let missing = self.width.saturating_sub(text.len());
        let (sign, digits) = text.split_at(sign);
        if self.left {
            output.extend_from_slice(text);
            output.extend(core::iter::repeat_n(b' ', missing));
        } else if self.zero {
            output.extend_from_slice(sign);
            output.extend(core::iter::repeat_n(b'0', missing));
            output.extend_from_slice(digits);
        } else {
            output.extend(core::iter::repeat_n(b' ', missing));
            output.extend_from_slice(text);
        }
    }
}

/// A digit, a fraction, and an exponent of at least two digits.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// `0x1.8p+3`: a hexadecimal digit and a fraction, of as many digits as needed if there is no precision, and the exponent of two.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
    let (mut digits, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, fraction) => (fraction, -1022),
        (exponent, fraction) => (fraction | 1 << 52, exponent - 1023),
    };
    if let Some(precision @ 0..13) = precision {
        // To nearest, a tie to the even digit.
        let unit = 1u64 << (4 * (13 - precision));
        let (rounded_down, remainder) = (digits / unit, digits % unit);
        let rounds_up = remainder > unit / 2 || remainder == unit / 2 && rounded_down % 2 == 1;
        digits = (rounded_down + u64::from(rounds_up)) * unit;
    }
    let (first, fraction) = (digits >> 52, digits & ((1 << 52) - 1));
    let fraction = format!("{fraction:013x}");
    let fraction = match precision {
        None => fraction.trim_end_matches('0').to_owned(),
        Some(precision) => format!("{fraction:0<precision$}")[..precision].to_owned(),
    };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("0x{first}{point}{fraction}p{exponent:+}")
}

/// The shorter one of the notations with and without exponent, by C's rule.
fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let text = format!("{value:.*e}", precision - 1);
    let exponent = text.split_once('e').and_then(|(_, e)| e.parse().ok());
    let exponent: i64 = exponent.unwrap_or(0);
    if exponent < -4 || exponent >= precision as i64 {
        let text = exponential(value, precision - 1);
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        let digits = if keep_zeros {
            digits
        } else {
            without_zeros(digits)
        };
        return format!("{digits}e{exponent}");
    }
    let decimals = usize::try_from(precision as i64 - 1 - exponent).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if keep_zeros {
        text
    } else {
        without_zeros(&text).into()
    }
}

/// A number without the zeros at the end of its fraction.
fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

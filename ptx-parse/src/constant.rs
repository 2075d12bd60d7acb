//! Constants: literals and constant expressions.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::ConstValue;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::scan::{self, Trivia, class, is};
use ptx_ir::raw::{self, ConstError, continues_expression};
use ptx_ir::raw::{RawModule, number::NumberError};
use ptx_ir::{Code, Diagnostic, Immediate, NameId, Operand, Span};

use crate::cursor::ParseResult;
use crate::parser::Parser;
use crate::record::Record;

impl Parser<'_> {
    /// A literal or a constant expression.
    #[inline]
    pub(crate) fn constant(&mut self) -> ParseResult<Operand> {
        self.cursor.skip_trivia();
        if let Some((value, len)) = self.small_integer() {
            self.cursor.advance(len);
            return Ok(Operand::Small(value));
        }
        self.expression()
    }

    /// A decimal integer in plain spelling that is the whole expression, and its length.
    #[inline(always)]
    fn small_integer(&self) -> Option<(i32, usize)> {
        let negative = self.cursor.peek() == b'-';
        let digits_start = negative as usize;
        let mut len = digits_start;
        let mut value = 0i32;
        loop {
            let byte = self.cursor.peek_at(len);
            if !is(byte, class::DIGIT) {
                if is(byte, class::IDENT) || byte == b'.' {
                    return None;
                }
                break;
            }
            if len - digits_start == 9 {
                return None;
            }
            value = value * 10 + (byte - b'0') as i32;
            len += 1;
        }
        if len == digits_start
            || (self.cursor.peek_at(digits_start) == b'0' && (len - digits_start > 1 || negative))
        {
            return None;
        }
        // The next token decides whether the expression continues.
        let mut next = self.cursor.peek_at(len);
        if next == b' ' || next == b'\t' {
            next = self.cursor.peek_at(len + 1);
        }
        if matches!(next, b',' | b';' | b']' | b'}') {
            return Some((if negative { -value } else { value }, len));
        }
        let mut trivia = Trivia::default();
        let next_token = scan::skip_trivia(self.cursor.src, self.cursor.pos + len, &mut trivia);
        let next = scan::peek(self.cursor.src, next_token);
        let is_name = next == b'%' && is(scan::peek(self.cursor.src, next_token + 1), class::IDENT);
        (is_name || !continues_expression(next))
            .then_some((if negative { -value } else { value }, len))
    }

    #[inline(never)]
    fn expression(&mut self) -> ParseResult<Operand> {
        let start = self.cursor.pos;
        let read = raw::read_expression(self.cursor.src, start, self.limits.nesting);
        let value = match read.value {
            Ok(value) => value,
            Err((error, span)) => {
                let record = self.constant_error(error, span);
                if matches!(
                    error,
                    ConstError::ExpectedOperand | ConstError::Unclosed | ConstError::TooDeep
                ) {
                    self.cursor.pos = read.end.max(start);
                    return Err(record);
                }
                // The expression is well formed and is kept, without a value.
                self.report(*record);
                ConstValue::INVALID
            }
        };
        self.cursor.pos = read.end;
        self.cursor.last = read.end;
        self.cursor.trivia.comment |=
            read.spaced && has_comments(&self.cursor.src[start..read.end]);
        Ok(if read.spaced {
            self.spaced_immediate(start, read.end, value)
        } else {
            self.immediate(start, read.end, value)
        })
    }

    /// Adds an expression without trivia between its tokens.
    fn immediate(&mut self, start: usize, end: usize, value: ConstValue) -> Operand {
        let text = self.intern(start, end);
        if let Some(small) = plain_decimal(&self.cursor.src[start..end]) {
            return Operand::Small(small);
        }
        Operand::Imm(self.out.pool().add_immediate(Immediate::new(text, value)))
    }

    /// Adds an expression with trivia between its tokens. The trivia are not kept.
    fn spaced_immediate(&mut self, start: usize, end: usize, value: ConstValue) -> Operand {
        let joined = join_tokens(&self.cursor.src[start..end]);
        if let Some(small) = plain_decimal(&joined) {
            return Operand::Small(small);
        }
        let text = NameId::new(self.out.module.names_mut().intern(&joined).0);
        Operand::Imm(self.out.pool().add_immediate(Immediate::new(text, value)))
    }

    /// The error of a constant, whose part at `span` is wrong.
    #[cold]
    pub(crate) fn constant_error(&mut self, error: ConstError, span: Span) -> Box<Record> {
        let text = String::from_utf8_lossy(span.of(self.cursor.src));
        let (code, message, help) = match error {
            ConstError::ExpectedOperand => {
                self.cursor.pos = span.start as usize;
                return self.cursor.unexpected("a constant");
            }
            ConstError::Unclosed => (
                Code::UnexpectedToken,
                format!("expected a `)` that closes this `{text}`"),
                None,
            ),
            ConstError::Number(NumberError::Overflow) => (
                Code::NumberOverflow,
                format!("expected an integer of at most 64 bits, found `{text}`"),
                None,
            ),
            ConstError::Number(NumberError::ExactDigits) => (
                Code::MalformedNumber,
                format!(
                    "expected 8 hexadecimal digits after `0f`, or 16 after `0d`, found `{text}`"
                ),
                Some("leading zeros are not optional"),
            ),
            ConstError::DivisionByZero => (
                Code::DivisionByZero,
                format!("expected a divisor other than zero in `{text}`"),
                None,
            ),
            ConstError::Types => (
                Code::ConstantTypes,
                format!("expected operands of types that the operator takes in `{text}`"),
                Some(
                    "integers and floating-point numbers cannot be combined; `0f…` and `0d…` cannot be operands",
                ),
            ),
            ConstError::TooDeep => (
                Code::NestingTooDeep,
                format!("nested deeper than {}", self.limits.nesting),
                None,
            ),
            _ => (
                Code::MalformedNumber,
                format!("expected a number, found `{text}`"),
                Some(
                    "numbers are decimal, `0x…`, `0b…` or octal `0…` with an optional `U`, or `1.5e3`, `0f…`, `0d…`",
                ),
            ),
        };
        let mut diagnostic = Diagnostic::error(code, span, message);
        if let Some(help) = help {
            diagnostic = diagnostic.with_help(help);
        }
        Box::new(if code == Code::MalformedNumber {
            with_likely_number(diagnostic, &text).into()
        } else {
            diagnostic.into()
        })
    }
}

/// Adds the number that `text` most likely means to the error of a malformed number.
fn with_likely_number(error: Diagnostic, text: &str) -> Diagnostic {
    let span = error.span;
    let float = text.trim_end_matches(['f', 'F', 'l', 'L']);
    let has_suffix = float.len() + 1 == text.len();
    if has_suffix
        && float.contains('.')
        && let Ok(value) = float.parse::<f64>()
    {
        let bits = (value as f32).to_bits();
        let help = format!("write `{float}` or `0f{bits:08X}`: numbers have no such suffix");
        return error.with_help(help).with_fix(span, float);
    }
    if let Some(number) = hexadecimal(text) {
        let help = format!("a hexadecimal number begins with `0x`: write `{number}`");
        return error.with_help(help).with_fix(span, number);
    }
    let integer = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let read = raw::read_expression(integer.as_bytes(), 0, 1);
    if read.value.is_ok() && read.end == integer.len() {
        let help = format!("write `{integer}`: numbers have no suffix but `U`");
        return error
            .with_help(help)
            .with_fix(span, integer)
            .machine_applicable();
    }
    match likely_number(text) {
        Some(number) => {
            let help = error.help.clone().unwrap_or_default();
            error
                .with_help(format!("{help}; perhaps `{number}` is meant"))
                .with_fix(span, number)
        }
        None => error,
    }
}

/// A hexadecimal number as other assemblers write it: `0FFh`.
fn hexadecimal(text: &str) -> Option<String> {
    let digits = text.strip_suffix(['h', 'H'])?;
    let is_number = digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_number.then(|| format!("0x{digits}"))
}

/// The number that a malformed one most likely means. Letters other than digits are removed, and the digits after `0f` and `0d`
/// are cut off or filled up with zeros.
fn likely_number(text: &str) -> Option<String> {
    let (prefix, digits) = match text.split_at_checked(2)? {
        (prefix, digits) if prefix.ends_with(|c: char| c.is_ascii_alphabetic()) => (prefix, digits),
        _ => ("", text),
    };
    let digit_count = match prefix {
        "0f" | "0F" => Some(8),
        "0d" | "0D" => Some(16),
        _ => None,
    };
    let mut number: String = digits
        .chars()
        .filter(|c| c.is_ascii_digit() || !prefix.is_empty() && c.is_ascii_hexdigit())
        .collect();
    if let Some(len) = digit_count {
        number.truncate(len);
        number.extend(core::iter::repeat_n('0', len - number.len()));
    }
    let number = format!("{prefix}{number}");
    let read = raw::read_expression(number.as_bytes(), 0, 1);
    (read.value.is_ok() && read.end == number.len()).then_some(number)
}

/// The value of a decimal spelling that [`Operand::Small`] prints back.
fn plain_decimal(text: &[u8]) -> Option<i32> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let has_plain_start = matches!(digits, [b'1'..=b'9', ..]) || text == b"0";
    if !has_plain_start || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether there are comments or line markers between the tokens of an expression.
fn has_comments(text: &[u8]) -> bool {
    Lexer::fragment(text).any(|t| t.kind.is_trivia() && t.kind != TokenKind::Whitespace)
}

/// The tokens of an expression without the whitespace between them; `%` keeps the whitespace around it, as it
/// would else begin a name.
fn join_tokens(text: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(text.len());
    for token in Lexer::fragment(text).filter(|t| !t.kind.is_trivia()) {
        let token_text = token.span.of(text);
        if token.kind == TokenKind::Punct && token_text == b"%" {
            joined.extend_from_slice(b" % ");
        } else {
            joined.extend_from_slice(token_text);
        }
    }
    joined
}

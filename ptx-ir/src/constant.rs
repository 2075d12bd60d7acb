//! Constant expressions: the operators of manual 4.5.4–4.5.6 with their precedence and the rules
//! of 64-bit signed, unsigned and floating-point arithmetic.
//!
//! Reading and evaluating is one pass with explicit stacks, so that depth of nesting costs memory,
//! not stack.

use alloc::vec::Vec;
use core::fmt;

use crate::Span;
use crate::lex::number::NumberError;
use crate::lex::number::{NumberValue, number_value, scan_number};
use crate::lex::scan::{self, Trivia, peek};

/// The kind of a constant's value.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ConstKind {
    /// A signed 64-bit integer.
    Signed,
    /// An unsigned 64-bit integer.
    Unsigned,
    /// A double.
    Double,
    /// A single, spelled by its bits.
    Single,
    /// No value: the expression is wrong, and a diagnostic says how.
    Invalid,
}

/// The value of a constant: 64 bits and how to read them.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct ConstValue {
    low: u32,
    high: u32,
    kind: ConstKind,
}

impl ConstValue {
    /// The value of a wrong expression.
    pub const INVALID: Self = Self::new(0, ConstKind::Invalid);

    /// A value from its bits.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(bits: u64, kind: ConstKind) -> Self {
        Self {
            low: bits as u32,
            high: (bits >> 32) as u32,
            kind,
        }
    }

    /// A signed integer.
    #[doc(hidden)]
    #[must_use]
    pub const fn signed(value: i64) -> Self {
        Self::new(value as u64, ConstKind::Signed)
    }

    /// The kind of the value.
    #[must_use]
    pub const fn kind(self) -> ConstKind {
        self.kind
    }

    /// The bits: of the integer, the double, or (low half) the single.
    #[must_use]
    pub const fn bits(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }

    /// The integer, if it is one; unsigned values keep their bits.
    #[must_use]
    pub const fn as_int(self) -> Option<i64> {
        match self.kind {
            ConstKind::Signed | ConstKind::Unsigned => Some(self.bits() as i64),
            _ => None,
        }
    }

    /// The number, if it is a floating-point one.
    #[must_use]
    pub const fn as_float(self) -> Option<f64> {
        match self.kind {
            ConstKind::Double => Some(f64::from_bits(self.bits())),
            ConstKind::Single => Some(f32::from_bits(self.low) as f64),
            _ => None,
        }
    }

    fn double(value: f64) -> Self {
        Self::new(value.to_bits(), ConstKind::Double)
    }

    fn boolean(value: bool) -> Self {
        Self::signed(value as i64)
    }

    fn is_int(self) -> bool {
        matches!(self.kind, ConstKind::Signed | ConstKind::Unsigned)
    }
}

impl fmt::Debug for ConstValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ConstKind::Signed => write!(f, "{}", self.bits() as i64),
            ConstKind::Unsigned => write!(f, "{}U", self.bits()),
            ConstKind::Double => write!(f, "{:?}", f64::from_bits(self.bits())),
            ConstKind::Single => write!(f, "{:?}f", f32::from_bits(self.low)),
            ConstKind::Invalid => f.write_str("invalid"),
        }
    }
}

#[doc(hidden)]
impl From<NumberValue> for ConstValue {
    fn from(value: NumberValue) -> Self {
        match value {
            NumberValue::Integer(bits, true) => Self::new(bits, ConstKind::Unsigned),
            NumberValue::Integer(bits, false) => Self::new(bits, ConstKind::Signed),
            NumberValue::Double(bits) => Self::new(bits, ConstKind::Double),
            NumberValue::Single(bits) => Self::new(bits as u64, ConstKind::Single),
        }
    }
}

/// The reason for which an expression has no value.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ConstError {
    /// A number, a parenthesis or a unary operator was expected here.
    ExpectedOperand,
    /// A parenthesis or a `?` is not closed.
    Unclosed,
    /// The literal is wrong.
    Number(NumberError),
    /// Division or remainder by zero.
    DivisionByZero,
    /// The operator does not take operands of these types.
    Types,
    /// Nested deeper than [`Limits::nesting`](crate::Limits::nesting).
    TooDeep,
}

/// An expression read from a text.
#[doc(hidden)]
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Expression {
    /// One past its last token, or the position where reading stopped, if it is malformed.
    pub end: usize,
    /// Its value, or the error and its place.
    pub value: Result<ConstValue, (ConstError, Span)>,
    /// Whether there is whitespace or a comment between its tokens.
    pub spaced: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
enum Op {
    Paren,
    Question,
    /// `?:` whose third operand is being read.
    Choose,
    Plus,
    Minus,
    Not,
    Complement,
    CastSigned,
    CastUnsigned,
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    ShiftLeft,
    ShiftRight,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

impl Op {
    /// The precedence. An operator with a higher level binds more tightly; brackets have level 0.
    fn level(self) -> u8 {
        match self {
            Op::Paren | Op::Question => 0,
            Op::Choose => 1,
            Op::Or => 2,
            Op::And => 3,
            Op::BitOr => 4,
            Op::BitXor => 5,
            Op::BitAnd => 6,
            Op::Equal | Op::NotEqual => 7,
            Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => 8,
            Op::ShiftLeft | Op::ShiftRight => 9,
            Op::Add | Op::Subtract => 10,
            Op::Multiply | Op::Divide | Op::Remainder => 11,
            _ => 12,
        }
    }

    fn binary(src: &[u8], pos: usize) -> Option<(Op, usize)> {
        Some(match (peek(src, pos), peek(src, pos + 1)) {
            (b'<', b'<') => (Op::ShiftLeft, 2),
            (b'>', b'>') => (Op::ShiftRight, 2),
            (b'<', b'=') => (Op::LessEqual, 2),
            (b'>', b'=') => (Op::GreaterEqual, 2),
            (b'=', b'=') => (Op::Equal, 2),
            (b'!', b'=') => (Op::NotEqual, 2),
            (b'&', b'&') => (Op::And, 2),
            (b'|', b'|') => (Op::Or, 2),
            (b'<', _) => (Op::Less, 1),
            (b'>', _) => (Op::Greater, 1),
            (b'&', _) => (Op::BitAnd, 1),
            (b'|', _) => (Op::BitOr, 1),
            (b'^', _) => (Op::BitXor, 1),
            (b'+', _) => (Op::Add, 1),
            (b'-', _) => (Op::Subtract, 1),
            (b'*', _) => (Op::Multiply, 1),
            (b'/', _) => (Op::Divide, 1),
            // `7%2` is the number 7 and the name `%2`.
            (b'%', c) if !scan::is(c, scan::class::IDENT) => (Op::Remainder, 1),
            _ => return None,
        })
    }
}

/// Whether `byte` can continue an expression after a complete operand.
#[doc(hidden)]
#[inline]
#[must_use]
pub fn continues_expression(byte: u8) -> bool {
    matches!(
        byte,
        b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|' | b'^' | b'?'
    )
}

/// Reads and evaluates the longest constant expression at `pos`.
///
/// ```
/// let e = ptx_ir::raw::read_expression(b"(1 + 2) * -3, 4", 0, 100);
/// assert_eq!(e.end, 12);
/// assert_eq!(e.value.unwrap().as_int(), Some(-9));
/// ```
#[doc(hidden)]
#[must_use]
pub fn read_expression(src: &[u8], pos: usize, nesting: usize) -> Expression {
    if let Some(literal) = lone_literal(src, pos) {
        return literal;
    }
    let mut reader = Reader {
        src,
        start: pos,
        pos,
        end: pos,
        spaced: false,
        ops: Vec::new(),
        values: Vec::new(),
        depth: 0,
        error: None,
    };
    let read = reader.run(nesting);
    let value = match (read, reader.error) {
        (Err(e), _) | (Ok(_), Some(e)) => Err(e),
        (Ok(value), None) => Ok(value),
    };
    Expression {
        end: reader.end,
        value,
        spaced: reader.spaced,
    }
}

/// Reads a literal, possibly negative, that no operator follows. Most expressions are of this kind, and they need no stack.
fn lone_literal(src: &[u8], pos: usize) -> Option<Expression> {
    let start = pos + (peek(src, pos) == b'-') as usize;
    if !peek(src, start).is_ascii_digit() {
        return None;
    }
    let (end, _) = scan_number(src, start);
    let mut trivia = Trivia::default();
    let next = scan::skip_trivia(src, end, &mut trivia);
    if peek(src, next) == b'?' || Op::binary(src, next).is_some() {
        return None;
    }
    let span = Span::at(start, end);
    let value = match number_value(span.of(src)) {
        Err(e) => Err((ConstError::Number(e), span)),
        Ok(value) if start == pos => Ok(value.into()),
        Ok(NumberValue::Single(_)) => return None,
        Ok(value) => unary(Op::Minus, value.into()).map_err(|e| (e, span)),
    };
    Some(Expression {
        end,
        value,
        spaced: false,
    })
}

/// An error and its place.
type Failure = (ConstError, Span);

struct Reader<'s> {
    src: &'s [u8],
    start: usize,
    pos: usize,
    /// The end of the last token.
    end: usize,
    /// There is whitespace or a comment between two tokens.
    spaced: bool,
    /// The operators that are not applied yet, with their offsets.
    ops: Vec<(Op, u32)>,
    /// The operands that no operator was applied to yet.
    values: Vec<ConstValue>,
    /// The number of open parentheses and of `?` whose `:` was not read yet.
    depth: usize,
    /// The first error other than one of syntax: after it, the rest of the expression is still read.
    error: Option<Failure>,
}

impl Reader<'_> {
    fn run(&mut self, nesting: usize) -> Result<ConstValue, Failure> {
        loop {
            self.operand(nesting)?;
            if !self.operator_or_end(nesting)? {
                break;
            }
        }
        while let Some((op, start)) = self.ops.pop() {
            if matches!(op, Op::Paren | Op::Question) {
                return Err((ConstError::Unclosed, Span::new(start, start + 1)));
            }
            self.apply(op, start);
        }
        Ok(self.values.pop().unwrap_or(ConstValue::INVALID))
    }

    fn skip_whitespace(&mut self) {
        let mut trivia = Trivia::default();
        self.pos = scan::skip_trivia(self.src, self.pos, &mut trivia);
    }

    fn advance(&mut self, len: usize) {
        if self.pos != self.end && self.end != self.start {
            self.spaced = true;
        }
        self.pos += len;
        self.end = self.pos;
    }

    fn push(&mut self, op: Op, len: usize, nesting: usize) -> Result<(), Failure> {
        if self.ops.len() >= nesting {
            return Err((ConstError::TooDeep, Span::at(self.pos, self.pos + len)));
        }
        self.ops.push((op, self.pos as u32));
        self.advance(len);
        Ok(())
    }

    /// Reads prefix operators and one primary.
    fn operand(&mut self, nesting: usize) -> Result<(), Failure> {
        loop {
            self.skip_whitespace();
            let (src, pos) = (self.src, self.pos);
            match peek(src, pos) {
                b'+' => self.push(Op::Plus, 1, nesting)?,
                b'-' => self.push(Op::Minus, 1, nesting)?,
                b'~' => self.push(Op::Complement, 1, nesting)?,
                b'!' => self.push(Op::Not, 1, nesting)?,
                b'(' => match self.cast() {
                    Some((op, len)) => {
                        self.spaced |= len > "(.s64)".len();
                        self.push(op, len, nesting)?;
                    }
                    None => {
                        self.push(Op::Paren, 1, nesting)?;
                        self.depth += 1;
                    }
                },
                b'0'..=b'9' => return self.number(),
                b'.' if peek(src, pos + 1).is_ascii_digit() => return self.number(),
                b'W' if &src[pos..scan::ident_end(src, pos)] == b"WARP_SZ" => {
                    self.advance(7);
                    self.values.push(ConstValue::signed(32));
                    return Ok(());
                }
                _ => {
                    let end = (pos + 1).min(src.len());
                    return Err((ConstError::ExpectedOperand, Span::at(pos, end)));
                }
            }
        }
    }

    /// The length of `(.s64)` or `(.u64)` at the current parenthesis, including whitespace in it.
    fn cast(&self) -> Option<(Op, usize)> {
        let mut trivia = Trivia::default();
        let word = scan::skip_trivia(self.src, self.pos + 1, &mut trivia);
        let word_end = scan::dot_word_end(self.src, word);
        let close = scan::skip_trivia(self.src, word_end, &mut trivia);
        let op = match self.src.get(word..word_end)? {
            b".s64" => Op::CastSigned,
            b".u64" => Op::CastUnsigned,
            _ => return None,
        };
        (peek(self.src, close) == b')').then_some((op, close + 1 - self.pos))
    }

    fn number(&mut self) -> Result<(), Failure> {
        let (end, _) = scan_number(self.src, self.pos);
        let span = Span::at(self.pos, end);
        self.advance(end - self.pos);
        let value = match number_value(span.of(self.src)) {
            Ok(NumberValue::Single(bits)) => self.single(bits),
            Ok(value) => Ok(value.into()),
            Err(e) => Err(ConstError::Number(e)),
        };
        self.values.push(value.unwrap_or(ConstValue::INVALID));
        if let Err(e) = value {
            self.fail(e, span);
        }
        Ok(())
    }

    /// `0f…` takes no operator: it is the whole expression, or alone in its parentheses.
    fn single(&self, bits: u32) -> Result<ConstValue, ConstError> {
        let mut trivia = Trivia::default();
        let next = scan::skip_trivia(self.src, self.pos, &mut trivia);
        match self.ops.last() {
            None if peek(self.src, next) != b'?' && Op::binary(self.src, next).is_none() => {
                Ok(NumberValue::Single(bits).into())
            }
            Some((Op::Paren, _)) if peek(self.src, next) == b')' => {
                Ok(NumberValue::Single(bits).into())
            }
            _ => Err(ConstError::Types),
        }
    }

    /// Closes parentheses after an operand and takes a binary operator. Returns false at the end of the expression.
    fn operator_or_end(&mut self, nesting: usize) -> Result<bool, Failure> {
        loop {
            let start = self.pos;
            self.skip_whitespace();
            let (src, pos) = (self.src, self.pos);
            if self.depth > 0 && peek(src, pos) == b')' {
                self.reduce(0);
                match self.ops.pop() {
                    Some((Op::Paren, _)) => self.depth -= 1,
                    Some((_, opening)) => {
                        return Err((ConstError::Unclosed, Span::new(opening, opening + 1)));
                    }
                    None => return Ok(false),
                }
                self.advance(1);
                continue;
            }
            if self.depth > 0 && peek(src, pos) == b':' {
                self.reduce(0);
                if let Some(last @ (Op::Question, _)) = self.ops.last_mut() {
                    last.0 = Op::Choose;
                    self.depth -= 1;
                    self.advance(1);
                    return Ok(true);
                }
            }
            if peek(src, pos) == b'?' {
                self.reduce(Op::Choose.level() + 1);
                self.push(Op::Question, 1, nesting)?;
                self.depth += 1;
                return Ok(true);
            }
            if let Some((op, len)) = Op::binary(src, pos) {
                self.reduce(op.level());
                self.push(op, len, nesting)?;
                return Ok(true);
            }
            self.pos = start;
            return Ok(false);
        }
    }

    /// Applies the pending operators that bind at least as tightly as `level`, down to a bracket.
    fn reduce(&mut self, level: u8) {
        while let Some(&(op, start)) = self.ops.last() {
            if op.level() == 0 || op.level() < level {
                break;
            }
            self.ops.pop();
            self.apply(op, start);
        }
    }

    fn fail(&mut self, error: ConstError, span: Span) {
        self.error.get_or_insert((error, span));
    }

    fn apply(&mut self, op: Op, start: u32) {
        let right = operand(self.values.pop().unwrap_or(ConstValue::INVALID));
        let result = match op {
            Op::Plus | Op::Minus | Op::Not | Op::Complement | Op::CastSigned | Op::CastUnsigned => {
                unary(op, right)
            }
            Op::Choose => {
                let middle = self.values.pop().unwrap_or(ConstValue::INVALID);
                let condition = self.values.pop().unwrap_or(ConstValue::INVALID);
                choose(condition, middle, right)
            }
            _ => {
                let left = operand(self.values.pop().unwrap_or(ConstValue::INVALID));
                binary(op, left, right)
            }
        };
        self.values.push(result.unwrap_or(ConstValue::INVALID));
        if let Err(e) = result {
            self.fail(e, Span::new(start, self.end.max(start as usize + 1) as u32));
        }
    }
}

/// The operand of an operator: the bits of a single count as those of a double, as they do
/// for ptxas.
fn operand(value: ConstValue) -> ConstValue {
    match value.kind {
        ConstKind::Single => ConstValue::new(value.bits(), ConstKind::Double),
        _ => value,
    }
}

fn unary(op: Op, operand: ConstValue) -> Result<ConstValue, ConstError> {
    if let (ConstKind::Double, Op::Plus | Op::Minus) = (operand.kind, op) {
        let number = f64::from_bits(operand.bits());
        return Ok(ConstValue::double(if op == Op::Minus {
            -number
        } else {
            number
        }));
    }
    if !operand.is_int() {
        return Err(ConstError::Types);
    }
    Ok(match op {
        Op::Minus => ConstValue::new(operand.bits().wrapping_neg(), operand.kind),
        Op::Not => ConstValue::boolean(operand.bits() == 0),
        Op::Complement => ConstValue::new(!operand.bits(), ConstKind::Unsigned),
        Op::CastSigned => ConstValue::new(operand.bits(), ConstKind::Signed),
        Op::CastUnsigned => ConstValue::new(operand.bits(), ConstKind::Unsigned),
        _ => operand,
    })
}

fn choose(
    condition: ConstValue,
    then: ConstValue,
    otherwise: ConstValue,
) -> Result<ConstValue, ConstError> {
    if !(condition.is_int() && then.is_int() && otherwise.is_int()) {
        return Err(ConstError::Types);
    }
    Ok(if condition.bits() != 0 {
        then
    } else {
        otherwise
    })
}

/// The type of the result of an operator on integers: unsigned if one of the operands is.
fn common_kind(left: ConstValue, right: ConstValue) -> ConstKind {
    if left.kind == ConstKind::Unsigned || right.kind == ConstKind::Unsigned {
        ConstKind::Unsigned
    } else {
        ConstKind::Signed
    }
}

fn binary(op: Op, left: ConstValue, right: ConstValue) -> Result<ConstValue, ConstError> {
    if left.kind == ConstKind::Double && right.kind == ConstKind::Double {
        return float(
            op,
            f64::from_bits(left.bits()),
            f64::from_bits(right.bits()),
        );
    }
    if !(left.is_int() && right.is_int()) {
        return Err(ConstError::Types);
    }
    let kind = common_kind(left, right);
    let unsigned = kind == ConstKind::Unsigned;
    let (left_bits, right_bits) = (left.bits(), right.bits());
    let (left_signed, right_signed) = (left_bits as i64, right_bits as i64);
    let order = if unsigned {
        left_bits.cmp(&right_bits)
    } else {
        left_signed.cmp(&right_signed)
    };
    Ok(match op {
        Op::Multiply => ConstValue::new(left_bits.wrapping_mul(right_bits), kind),
        Op::Divide | Op::Remainder if right_bits == 0 => return Err(ConstError::DivisionByZero),
        Op::Divide if unsigned => ConstValue::new(left_bits / right_bits, kind),
        Op::Divide => ConstValue::new(left_signed.wrapping_div(right_signed) as u64, kind),
        Op::Remainder => ConstValue::new(left_bits % right_bits, ConstKind::Unsigned),
        Op::Add => ConstValue::new(left_bits.wrapping_add(right_bits), kind),
        Op::Subtract => ConstValue::new(left_bits.wrapping_sub(right_bits), kind),
        // The count is taken modulo 64.
        Op::ShiftLeft => ConstValue::new(left_bits.wrapping_shl(right_bits as u32), left.kind),
        Op::ShiftRight if left.kind == ConstKind::Signed => ConstValue::new(
            left_signed.wrapping_shr(right_bits as u32) as u64,
            left.kind,
        ),
        Op::ShiftRight => ConstValue::new(left_bits.wrapping_shr(right_bits as u32), left.kind),
        Op::Less => ConstValue::boolean(order.is_lt()),
        Op::LessEqual => ConstValue::boolean(order.is_le()),
        Op::Greater => ConstValue::boolean(order.is_gt()),
        Op::GreaterEqual => ConstValue::boolean(order.is_ge()),
        Op::Equal => ConstValue::boolean(left_bits == right_bits),
        Op::NotEqual => ConstValue::boolean(left_bits != right_bits),
        Op::BitAnd => ConstValue::new(left_bits & right_bits, kind),
        Op::BitXor => ConstValue::new(left_bits ^ right_bits, kind),
        Op::BitOr => ConstValue::new(left_bits | right_bits, kind),
        Op::And => ConstValue::boolean(left_bits != 0 && right_bits != 0),
        Op::Or => ConstValue::boolean(left_bits != 0 || right_bits != 0),
        _ => return Err(ConstError::Types),
    })
}

fn float(op: Op, left: f64, right: f64) -> Result<ConstValue, ConstError> {
    Ok(match op {
        Op::Multiply => ConstValue::double(left * right),
        Op::Divide if right == 0.0 => return Err(ConstError::DivisionByZero),
        Op::Divide => ConstValue::double(left / right),
        Op::Add => ConstValue::double(left + right),
        Op::Subtract => ConstValue::double(left - right),
        Op::Less => ConstValue::boolean(left < right),
        Op::LessEqual => ConstValue::boolean(left <= right),
        Op::Greater => ConstValue::boolean(left > right),
        Op::GreaterEqual => ConstValue::boolean(left >= right),
        Op::Equal => ConstValue::boolean(left == right),
        Op::NotEqual => ConstValue::boolean(left != right),
        _ => return Err(ConstError::Types),
    })
}

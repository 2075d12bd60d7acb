//! Operands of instructions, of every shape.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::constant::{self, ConstError, ConstValue, continues_expression};
use ptx_ir::lex::scan::{self, class, is};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Address, AddressForm, Code, Immediate, NameId, Operand, Selector};
use ptx_isa::Opcode;

use crate::parser::{ParseResult, Parser};

impl Parser<'_> {
    /// One operand of an instruction. `lists` says whether the instruction takes argument lists in
    /// parentheses, which otherwise open a constant expression; only the `first` operand can be `_`.
    #[inline]
    pub(crate) fn operand(&mut self, lists: bool, first: bool) -> ParseResult<Operand> {
        if let Some(register) = self.numbered_name() {
            return match self.peek() {
                b',' | b';' => Ok(register),
                _ => self.named_rest(register),
            };
        }
        let b = self.peek();
        if is(b, class::START) && self.at_ident() {
            let (start, end) = self.take_ident();
            if b == b'W' && self.is_constant_name(start, end) {
                self.pos = start;
                return self.constant();
            }
            let name = self.name_operand(start, end);
            return match self.peek() {
                b',' | b';' => Ok(name),
                _ => self.named_rest(name),
            };
        }
        match b {
            b'[' => self.bracket(),
            b'{' => self.vector(),
            b'(' if lists => self.list(),
            b'!' | b'-' => self.negated(),
            b'_' if !first => Err(self.unexpected("an operand that has a value")),
            _ => self.element(),
        }
    }

    /// `!p`, `-a`, or a constant with such a sign.
    fn negated(&mut self) -> ParseResult<Operand> {
        let negation = if self.peek() == b'!' {
            Operand::Not
        } else {
            Operand::Neg
        };
        let before = (self.pos, self.last);
        self.take(1);
        self.blanks();
        let named = self.at_ident() && {
            let end = scan::ident_end(self.src, self.pos);
            !self.is_constant_name(self.pos, end)
        };
        if named {
            let inner = self.named_element()?;
            let at = self.pool().extend(&[inner]).at(0);
            return Ok(negation(at));
        }
        (self.pos, self.last) = before;
        self.constant()
    }

    /// A name, a number or `_`: what may stand in a vector or list.
    pub(crate) fn element(&mut self) -> ParseResult<Operand> {
        self.blanks();
        if let Some(register) = self.numbered_name() {
            return match self.peek() {
                b',' | b'}' => Ok(register),
                _ => self.named_rest(register),
            };
        }
        if self.at_ident() {
            return self.named_element();
        }
        match self.peek() {
            b'_' => {
                self.take(1);
                Ok(Operand::Sink)
            }
            b'0'..=b'9' | b'.' | b'(' | b'+' | b'-' | b'~' | b'!' => self.constant(),
            _ => Err(self.unexpected("an operand")),
        }
    }

    fn named_element(&mut self) -> ParseResult<Operand> {
        let (start, end) = self.take_ident();
        if self.is_constant_name(start, end) {
            self.pos = start;
            return self.constant();
        }
        let name = self.name_operand(start, end);
        self.named_rest(name)
    }

    fn named_rest(&mut self, name: Operand) -> ParseResult<Operand> {
        let name = self.component(name)?;
        self.blanks();
        match self.peek() {
            b'+' => self.offset(name, AddressForm::Bare),
            b'[' => self.index(name),
            _ => Ok(name),
        }
    }

    fn is_constant_name(&self, start: usize, end: usize) -> bool {
        &self.src[start..end] == b"WARP_SZ"
    }

    /// `.x`, `.b0` behind a name.
    #[inline]
    fn component(&mut self, operand: Operand) -> ParseResult<Operand> {
        let b = self.peek();
        if b != b'.' && b > b' ' && b != b'/' {
            return Ok(operand);
        }
        match self.dot_word() {
            Some(word) => self.selected(operand, word),
            None => Ok(operand),
        }
    }

    #[inline(never)]
    fn selected(&mut self, operand: Operand, word: &[u8]) -> ParseResult<Operand> {
        match Selector::from_text(&word[1..]) {
            Some(selector) => {
                self.take(word.len());
                Ok(self.lane(selector, operand))
            }
            None => {
                let text = String::from_utf8_lossy(word);
                let message = format!("`{text}` is no component of a vector or register");
                let help = "components are `.x .y .z .w`, `.r .g .b .a`; video instructions take `.b0` to `.b3210` and `.h0` to `.h32`";
                let mut d = self.error(
                    Code::UnknownSelector,
                    self.pos,
                    self.pos + word.len(),
                    message,
                );
                d.help = Some(String::from(help));
                Err(d)
            }
        }
    }

    /// `p|q`: the bar is next. Only the first operand of an instruction can be a pair, of a name,
    /// `_` or a vector with a name or `_`.
    pub(crate) fn pair(&mut self, first: Operand) -> ParseResult<Operand> {
        let paired = matches!(
            first,
            Operand::Reg(_)
                | Operand::Name(_)
                | Operand::Label(_)
                | Operand::Symbol(_)
                | Operand::Var(_)
                | Operand::Special(_)
                | Operand::Sink
                | Operand::Vector(_)
        );
        if !paired {
            return Err(self.unexpected("`,` or `;`"));
        }
        self.take(1);
        self.blanks();
        let second = if self.at_ident() {
            let (start, end) = self.take_ident();
            self.name_operand(start, end)
        } else if self.peek() == b'_' {
            self.take(1);
            Operand::Sink
        } else {
            return Err(self.unexpected("a register or `_` behind `|`"));
        };
        Ok(Operand::Pair(self.pool().extend(&[first, second]).at(0)))
    }

    /// `{a, b, c}`
    fn vector(&mut self) -> ParseResult<Operand> {
        let mark = self.scratch.len();
        self.take(1);
        loop {
            let element = self.element()?;
            self.scratch.push(element);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b'}', "`,` or `}` in a vector")?;
        Ok(Operand::Vector(self.list_from(mark)))
    }

    /// `(a, b)`
    fn list(&mut self) -> ParseResult<Operand> {
        let mark = self.scratch.len();
        self.take(1);
        if !self.eat(b')') {
            loop {
                let element = self.element()?;
                self.scratch.push(element);
                if self.eat(b',') {
                    continue;
                }
                self.expect(b')', "`,` or `)` in a list")?;
                break;
            }
        }
        Ok(Operand::List(self.list_from(mark)))
    }

    /// `[a]`, `[a+4]`, `[map, {c0, c1}]`, with what may follow it.
    fn bracket(&mut self) -> ParseResult<Operand> {
        self.take(1);
        let first = self.bracket_part()?;
        let operand = if self.eat(b']') {
            let (base, offset) = match first {
                Operand::Address(id) => match self.pool().address(id) {
                    Some(a) if a.form == AddressForm::Bare => {
                        let unified = self.unified()?;
                        let form = if unified {
                            AddressForm::Unified
                        } else {
                            AddressForm::Bracketed
                        };
                        self.pool().set_form(id, form);
                        return Ok(first);
                    }
                    _ => (first, Operand::Absent),
                },
                _ => (first, Operand::Absent),
            };
            let unified = self.unified()?;
            let form = if unified {
                AddressForm::Unified
            } else {
                AddressForm::Bracketed
            };
            Operand::Address(self.pool().add_address(Address { base, offset, form }))
        } else {
            let mark = self.scratch.len();
            self.scratch.push(first);
            // Only an address alone in its brackets has an offset.
            let mut part = first;
            while self.peek() == b',' {
                if matches!(part, Operand::Address(_)) {
                    return Err(self.unexpected("`]` behind an offset"));
                }
                self.take(1);
                part = self.bracket_part()?;
                self.scratch.push(part);
            }
            self.expect(b']', "`+`, `,` or `]` in an address")?;
            Operand::Bracket(self.list_from(mark))
        };
        Ok(operand)
    }

    fn unified(&mut self) -> ParseResult<bool> {
        let b = self.peek();
        if b == b';' || b == b',' {
            return Ok(false);
        }
        match self.dot_word() {
            Some(b".unified") => {
                self.take(8);
                Ok(true)
            }
            Some(_) => Err(self.unexpected("`,`, `;` or `.unified` behind an address")),
            None => Ok(false),
        }
    }

    #[inline]
    fn bracket_part(&mut self) -> ParseResult<Operand> {
        self.blanks();
        let named = match self.numbered_name() {
            None if self.at_ident() => {
                let (start, end) = self.take_ident();
                if self.is_constant_name(start, end) {
                    self.pos = start;
                    return self.constant();
                }
                Some(self.name_operand(start, end))
            }
            other => other,
        };
        if let Some(base) = named {
            return match self.peek() {
                b']' => Ok(base),
                b'+' => self.offset(base, AddressForm::Bare),
                _ => self.bracket_part_rest(base),
            };
        }
        match self.peek() {
            b'{' => self.vector(),
            b'0'..=b'9' | b'+' | b'-' | b'~' | b'!' | b'(' => self.constant(),
            _ => Err(self.unexpected("an address")),
        }
    }

    fn bracket_part_rest(&mut self, base: Operand) -> ParseResult<Operand> {
        let base = self.component(base)?;
        self.blanks();
        match self.peek() {
            b'+' => self.offset(base, AddressForm::Bare),
            b'-' => Err(self.negative_offset()),
            _ => Ok(base),
        }
    }

    /// `+ constant` behind a base.
    #[inline]
    fn offset(&mut self, base: Operand, form: AddressForm) -> ParseResult<Operand> {
        self.take(1);
        self.blanks();
        if self.at_ident() && self.peek() != b'W' {
            return Err(self.unexpected("a constant offset"));
        }
        let offset = self.constant()?;
        Ok(Operand::Address(self.pool().add_address(Address {
            base,
            offset,
            form,
        })))
    }

    #[cold]
    fn negative_offset(&mut self) -> alloc::boxed::Box<ptx_ir::Diagnostic> {
        let start = self.pos;
        self.take(1);
        let found = constant::read_expression(self.src, self.pos, 64);
        let end = if found.value.is_ok() {
            found.end
        } else {
            start + 1
        };
        let number = String::from_utf8_lossy(&self.src[start + 1..end.max(start + 1)]);
        let mut d = self.error(
            Code::NegativeOffset,
            start,
            end,
            String::from("an address takes only a sum"),
        );
        d.help = Some(format!("write `+-{}`", number.trim()));
        d
    }

    /// `a[4]`, `a[r]`, `a[r+4]`: the bracket is next.
    fn index(&mut self, base: Operand) -> ParseResult<Operand> {
        self.take(1);
        let offset = self.bracket_part()?;
        self.expect(b']', "`]` behind an index")?;
        let form = AddressForm::Indexed;
        Ok(Operand::Address(self.pool().add_address(Address {
            base,
            offset,
            form,
        })))
    }

    // --- constants ---

    /// A literal or a constant expression.
    #[inline]
    pub(crate) fn constant(&mut self) -> ParseResult<Operand> {
        self.blanks();
        if let Some((value, len)) = self.small_integer() {
            self.take(len);
            return Ok(Operand::Small(value));
        }
        self.expression()
    }

    /// A decimal integer that stands alone, in plain spelling.
    #[inline(always)]
    fn small_integer(&self) -> Option<(i32, usize)> {
        let negative = self.peek() == b'-';
        let first = negative as usize;
        let mut len = first;
        let mut value = 0i32;
        loop {
            let b = self.peek_at(len);
            if !is(b, class::DIGIT) {
                if is(b, class::IDENT) || b == b'.' {
                    return None;
                }
                break;
            }
            if len - first == 9 {
                return None;
            }
            value = value * 10 + (b - b'0') as i32;
            len += 1;
        }
        if len == first || (self.peek_at(first) == b'0' && (len - first > 1 || negative)) {
            return None;
        }
        // What follows decides whether more of an expression comes.
        let mut next = self.peek_at(len);
        if next == b' ' || next == b'\t' {
            next = self.peek_at(len + 1);
        }
        if matches!(next, b',' | b';' | b']' | b'}') {
            return Some((if negative { -value } else { value }, len));
        }
        let mut seen = scan::Trivia::default();
        let after = scan::skip_trivia(self.src, self.pos + len, &mut seen);
        let next = scan::peek(self.src, after);
        let name = next == b'%' && is(scan::peek(self.src, after + 1), class::IDENT);
        (name || !continues_expression(next))
            .then_some((if negative { -value } else { value }, len))
    }

    #[inline(never)]
    fn expression(&mut self) -> ParseResult<Operand> {
        let start = self.pos;
        let read = constant::read_expression(self.src, start, self.limits.nesting);
        let value = match read.value {
            Ok(value) => value,
            Err((error, span)) => {
                let d = self.constant_error(error, span);
                if matches!(
                    error,
                    ConstError::ExpectedOperand | ConstError::Unclosed | ConstError::TooDeep
                ) {
                    self.pos = read.end.max(start);
                    return Err(d);
                }
                // The expression is well formed: it stays, without a value.
                self.report(*d);
                ConstValue::INVALID
            }
        };
        self.pos = read.end;
        self.last = read.end;
        self.trivia.comment |= read.spaced && has_comments(&self.src[start..read.end]);
        Ok(self.immediate(start, read.end, value, read.spaced))
    }

    fn immediate(&mut self, start: usize, end: usize, value: ConstValue, spaced: bool) -> Operand {
        let text = if spaced {
            let joined = join_tokens(&self.src[start..end]);
            if let Some(small) = plain_decimal(&joined) {
                return Operand::Small(small);
            }
            NameId::new(self.module.names.intern(&joined).0)
        } else {
            self.intern(start, end)
        };
        if !spaced && let Some(small) = plain_decimal(&self.src[start..end]) {
            return Operand::Small(small);
        }
        Operand::Imm(self.pool().add_immediate(Immediate { text, value }))
    }

    #[cold]
    pub(crate) fn constant_error(
        &mut self,
        error: ConstError,
        span: ptx_ir::Span,
    ) -> alloc::boxed::Box<ptx_ir::Diagnostic> {
        use ptx_ir::lex::number::NumberError;
        let text = String::from_utf8_lossy(span.of(self.src));
        let (code, message, help) = match error {
            ConstError::ExpectedOperand => {
                self.pos = span.start as usize;
                return self.unexpected("a constant");
            }
            ConstError::Unclosed => (
                Code::UnexpectedToken,
                format!("this `{text}` is not closed"),
                None,
            ),
            ConstError::Number(NumberError::Overflow) => (
                Code::NumberOverflow,
                format!("`{text}` does not fit 64 bits"),
                None,
            ),
            ConstError::Number(NumberError::ExactDigits) => (
                Code::MalformedNumber,
                format!("`{text}` has the wrong number of digits"),
                Some("`0f` takes exactly 8 hexadecimal digits, `0d` exactly 16"),
            ),
            ConstError::DivisionByZero => (
                Code::DivisionByZero,
                format!("`{text}` divides by zero"),
                None,
            ),
            ConstError::Types => (
                Code::ConstantTypes,
                format!("`{text}` applies an operator to constants it does not take"),
                Some("integers and floating-point numbers do not mix; `0f…` and `0d…` stand alone"),
            ),
            ConstError::TooDeep => (
                Code::NestingTooDeep,
                format!("nested deeper than {}", self.limits.nesting),
                None,
            ),
            _ => (
                Code::MalformedNumber,
                format!("`{text}` is no number"),
                Some(
                    "numbers are decimal, `0x…`, `0b…` or octal `0…` with an optional `U`, or `1.5e3`, `0f…`, `0d…`",
                ),
            ),
        };
        let mut d = self.error(code, span.start as usize, span.end as usize, message);
        d.help = help.map(String::from);
        d
    }

    /// Whether the word `text` is an opcode that could begin a statement.
    pub(crate) fn is_opcode(text: &[u8]) -> bool {
        Opcode::from_text(text).is_some()
    }
}

/// The value of a decimal spelling that [`Operand::Small`] prints back.
fn plain_decimal(text: &[u8]) -> Option<i32> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let plain = matches!(digits, [b'1'..=b'9', ..]) || text == b"0";
    if !plain || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether comments or line markers stand between the tokens of an expression.
fn has_comments(text: &[u8]) -> bool {
    Lexer::fragment(text).any(|t| t.kind.is_trivia() && t.kind != TokenKind::Whitespace)
}

/// The tokens of an expression without the blanks between them; `%` keeps blanks around it, as it
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

//! Parses operands of instructions.

use alloc::boxed::Box;
use alloc::string::String;
use ptx_ir::raw;
use ptx_ir::raw::scan::{self, class, is};
use ptx_ir::{Address, AddressForm, Code, Operand, Selector, Span};
use ptx_isa::Directive;
use ptx_isa::internals::ForeignWord;

use crate::cursor::ParseResult;
use crate::parser::Parser;
use crate::record::Record;

/// The meaning of parentheses around an operand: an instruction takes argument lists or expressions.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Parentheses {
    List,
    Expression,
}

/// The position of an operand. Only the first one of an instruction can be `_`.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Position {
    First,
    Later,
}

impl Parser<'_> {
    /// Parses an operand of an instruction.
    #[inline]
    pub(crate) fn operand(
        &mut self,
        parentheses: Parentheses,
        position: Position,
    ) -> ParseResult<Operand> {
        if let Some(register) = self.numbered_name() {
            return match self.cursor.peek() {
                b',' | b';' => Ok(register),
                _ => self.name_suffix(register),
            };
        }
        let first_byte = self.cursor.peek();
        if is(first_byte, class::START) && self.cursor.at_ident() {
            let (start, end) = self.cursor.take_ident();
            if first_byte == b'W' && self.is_constant_name(start, end) {
                self.cursor.pos = start;
                return self.constant();
            }
            let name = self.name_operand(start, end);
            return match self.cursor.peek() {
                b',' | b';' => Ok(name),
                _ => self.name_suffix(name),
            };
        }
        match first_byte {
            b'[' => self.bracket(),
            b'{' => self.vector(),
            b'(' if parentheses == Parentheses::List => self.list(),
            b'!' | b'-' => self.negated(),
            b'_' if position == Position::Later => {
                Err(self.cursor.unexpected("an operand that has a value"))
            }
            _ => self.element(),
        }
    }

    /// Parses `!p`, `-a`, or a constant with such a sign.
    fn negated(&mut self) -> ParseResult<Operand> {
        let negation = if self.cursor.peek() == b'!' {
            Operand::Not
        } else {
            Operand::Neg
        };
        let (start, previous_end) = (self.cursor.pos, self.cursor.last);
        self.cursor.advance(1);
        self.cursor.skip_trivia();
        let is_name = self.cursor.at_ident() && {
            let end = scan::ident_end(self.cursor.src, self.cursor.pos);
            !self.is_constant_name(self.cursor.pos, end)
        };
        if is_name {
            let inner = self.named_element()?;
            let inner_ref = self.out.pool().extend(&[inner]).at(0);
            return Ok(negation(inner_ref));
        }
        (self.cursor.pos, self.cursor.last) = (start, previous_end);
        self.constant()
    }

    /// Parses an element of a vector or list: a name, a number or `_`.
    pub(crate) fn element(&mut self) -> ParseResult<Operand> {
        self.cursor.skip_trivia();
        if let Some(register) = self.numbered_name() {
            return match self.cursor.peek() {
                b',' | b'}' => Ok(register),
                _ => self.name_suffix(register),
            };
        }
        if self.cursor.at_ident() {
            return self.named_element();
        }
        match self.cursor.peek() {
            b'_' => {
                self.cursor.advance(1);
                Ok(Operand::Sink)
            }
            b'0'..=b'9' | b'.' | b'(' | b'+' | b'-' | b'~' | b'!' => self.constant(),
            _ => Err(self.cursor.unexpected("an operand")),
        }
    }

    fn named_element(&mut self) -> ParseResult<Operand> {
        let (start, end) = self.cursor.take_ident();
        if self.is_constant_name(start, end) {
            self.cursor.pos = start;
            return self.constant();
        }
        let name = self.name_operand(start, end);
        self.name_suffix(name)
    }

    /// Parses the component, offset or index that may follow a name.
    fn name_suffix(&mut self, name: Operand) -> ParseResult<Operand> {
        let name = self.component(name)?;
        self.cursor.skip_trivia();
        match self.cursor.peek() {
            b'+' if matches!(name, Operand::Component(..)) => {
                Err(self.cursor.unexpected("`,` or `;` after a component"))
            }
            b'+' => self.offset(name, AddressForm::Bare),
            b'[' => self.index(name),
            _ => Ok(name),
        }
    }

    fn is_constant_name(&self, start: usize, end: usize) -> bool {
        &self.cursor.src[start..end] == b"WARP_SZ"
    }

    /// Parses a component such as `.x` or `.b0`, if one follows the operand.
    #[inline]
    fn component(&mut self, operand: Operand) -> ParseResult<Operand> {
        let byte = self.cursor.peek();
        if byte != b'.' && byte > b' ' && byte != b'/' {
            return Ok(operand);
        }
        match self.cursor.dot_word() {
            Some(word) => self.selected_component(operand, word),
            None => Ok(operand),
        }
    }

    /// Parses the component `word` of an operand.
    #[inline(never)]
    fn selected_component(&mut self, operand: Operand, word: &[u8]) -> ParseResult<Operand> {
        let is_glued = self.cursor.pos == self.cursor.last;
        let is_other = matches!(operand, Operand::Symbol(_) | Operand::Var(_));
        // An undeclared name may be that of a vector register.
        let is_unknown = matches!(operand, Operand::Name(_) | Operand::Label(_));
        let selector = Selector::from_text(&word[1..]).filter(|_| !(is_other && is_glued));
        match selector {
            None if is_glued && (is_other || is_unknown) => {
                let (start, end) = (self.cursor.pos, self.cursor.pos + word.len());
                let message = "a name cannot contain `.`";
                Err(self.cursor.error(Code::DottedName, start, end, message))
            }
            Some(selector) => {
                self.cursor.advance(word.len());
                Ok(self.select_component(selector, operand))
            }
            // The `;` before a directive is missing.
            None if self.cursor.pos > self.cursor.last && Directive::from_text(word).is_some() => {
                Ok(operand)
            }
            None => {
                let text = String::from_utf8_lossy(word);
                let message =
                    format!("expected a component of a vector or register, found `{text}`");
                let help = "components are `.x .y .z .w` and `.r .g .b .a`; video instructions take `.b0` to `.b3210` and `.h0` to `.h32`";
                let error = self.cursor.error(
                    Code::UnknownSelector,
                    self.cursor.pos,
                    self.cursor.pos + word.len(),
                    message,
                );
                let lower = text.to_ascii_lowercase();
                let span = error.error.span;
                if Selector::from_text(&lower.as_bytes()[1..]).is_some() {
                    let help = format!("components are written in lower case: `{lower}`");
                    return Err(Box::new(
                        error
                            .with_help(help)
                            .with_fix(span, lower)
                            .machine_applicable(),
                    ));
                }
                let is_special = matches!(operand, Operand::Special(_));
                let likely = likely_component(&lower).filter(|_| is_special);
                Err(Box::new(match likely {
                    Some(likely) => error
                        .with_help(format!("{help}; perhaps `{likely}` is meant"))
                        .with_fix(span, likely),
                    None => error.with_help(help),
                }))
            }
        }
    }

    /// Parses `p|q`, whose bar is next. Only the first operand of an instruction can be a pair. Its first part is a name,
    /// `_` or a vector, its second part a name or `_`.
    pub(crate) fn pair(&mut self, first: Operand) -> ParseResult<Operand> {
        let can_be_first = matches!(
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
        if !can_be_first {
            return Err(self.cursor.unexpected("`,` or `;`"));
        }
        self.cursor.advance(1);
        self.cursor.skip_trivia();
        let second = if self.cursor.at_ident() {
            let (start, end) = self.cursor.take_ident();
            self.name_operand(start, end)
        } else if self.cursor.peek() == b'_' {
            self.cursor.advance(1);
            Operand::Sink
        } else {
            return Err(self.cursor.unexpected("a register or `_` after `|`"));
        };
        Ok(Operand::Pair(
            self.out.pool().extend(&[first, second]).at(0),
        ))
    }

    /// Parses `{a, b, c}`.
    fn vector(&mut self) -> ParseResult<Operand> {
        let mark = self.out.scratch.len();
        self.cursor.advance(1);
        loop {
            let element = self.element()?;
            self.out.scratch.push(element);
            if !self.cursor.eat(b',') {
                break;
            }
        }
        self.cursor.expect(b'}', "`,` or `}` in a vector")?;
        Ok(Operand::Vector(self.out.list_from(mark)))
    }

    /// Parses `(a, b)`.
    fn list(&mut self) -> ParseResult<Operand> {
        let mark = self.out.scratch.len();
        self.cursor.advance(1);
        if !self.cursor.eat(b')') {
            loop {
                let element = self.element()?;
                self.out.scratch.push(element);
                if self.cursor.eat(b',') {
                    continue;
                }
                self.cursor.expect(b')', "`,` or `)` in a list")?;
                break;
            }
        }
        Ok(Operand::List(self.out.list_from(mark)))
    }

    /// Parses `[a]`, `[a+4]` or `[map, {c0, c1}]`, and the modifier that may follow it.
    fn bracket(&mut self) -> ParseResult<Operand> {
        self.cursor.advance(1);
        let first = self.bracket_part()?;
        if self.cursor.eat(b']') {
            return self.bracketed_address(first);
        }
        let mark = self.out.scratch.len();
        self.out.scratch.push(first);
        // Only an address that is the sole part in its brackets has an offset.
        let mut part = first;
        while self.cursor.peek() == b',' {
            if matches!(part, Operand::Address(_)) {
                return Err(self.cursor.unexpected("`]` after an offset"));
            }
            self.cursor.advance(1);
            part = self.bracket_part()?;
            self.out.scratch.push(part);
        }
        self.cursor.expect(b']', "`+`, `,` or `]` in an address")?;
        Ok(Operand::Bracket(self.out.list_from(mark)))
    }

    /// The address whose only part is `part` and whose `]` was taken.
    #[inline]
    fn bracketed_address(&mut self, part: Operand) -> ParseResult<Operand> {
        let form = self.address_form()?;
        if let Operand::Address(id) = part {
            let address = self.out.pool().address(id);
            if address.is_some_and(|address| address.form == AddressForm::Bare) {
                self.out.pool().set_form(id, form);
                return Ok(part);
            }
        }
        Ok(self.address(part, Operand::Absent, form))
    }

    fn address(&mut self, base: Operand, offset: Operand, form: AddressForm) -> Operand {
        let address = Address::new(base, offset, form);
        Operand::Address(self.out.pool().add_address(address))
    }

    /// The form of an address in brackets. Takes `.unified`, which may follow the brackets.
    fn address_form(&mut self) -> ParseResult<AddressForm> {
        let byte = self.cursor.peek();
        if byte == b';' || byte == b',' {
            return Ok(AddressForm::Bracketed);
        }
        match self.cursor.dot_word() {
            Some(word @ b".unified") => {
                self.cursor.advance(word.len());
                Ok(AddressForm::Unified)
            }
            Some(_) => Err(self
                .cursor
                .unexpected("`,`, `;` or `.unified` after an address")),
            None => Ok(AddressForm::Bracketed),
        }
    }

    /// Parses a part of an address in brackets: a name with an offset, a constant or a vector.
    #[inline]
    fn bracket_part(&mut self) -> ParseResult<Operand> {
        self.cursor.skip_trivia();
        let name = match self.numbered_name() {
            None if self.cursor.at_ident() => {
                let (start, end) = self.cursor.take_ident();
                if self.is_constant_name(start, end) {
                    self.cursor.pos = start;
                    return self.constant();
                }
                Some(self.name_operand(start, end))
            }
            other => other,
        };
        if let Some(base) = name {
            return match self.cursor.peek() {
                b']' => Ok(base),
                b'+' => self.offset(base, AddressForm::Bare),
                _ => self.bracket_part_suffix(base),
            };
        }
        match self.cursor.peek() {
            b'{' => self.vector(),
            b'0'..=b'9' | b'+' | b'-' | b'~' | b'!' | b'(' => self.constant(),
            _ => Err(self.cursor.unexpected("an address")),
        }
    }

    /// Parses the offset that may follow a name in brackets.
    fn bracket_part_suffix(&mut self, base: Operand) -> ParseResult<Operand> {
        self.cursor.skip_trivia();
        match self.cursor.peek() {
            b'+' => self.offset(base, AddressForm::Bare),
            b'-' => Err(self.negative_offset()),
            _ => Ok(base),
        }
    }

    /// Parses `+ constant` after a base.
    #[inline]
    fn offset(&mut self, base: Operand, form: AddressForm) -> ParseResult<Operand> {
        self.cursor.advance(1);
        self.cursor.skip_trivia();
        if self.cursor.at_ident() && self.cursor.peek() != b'W' {
            let error = self.cursor.unexpected("a constant offset");
            let add = ForeignWord::from_text("+").and_then(ForeignWord::instead);
            let help = format!(
                "add registers first with `{}`: an operand or an address has one register, and perhaps a constant",
                add.unwrap_or_default()
            );
            return Err(Box::new(error.with_help(help)));
        }
        let offset = self.constant()?;
        Ok(self.address(base, offset, form))
    }

    /// The error of a `-` after the base of an address.
    #[cold]
    fn negative_offset(&mut self) -> Box<Record> {
        let start = self.cursor.pos;
        self.cursor.advance(1);
        let offset = raw::read_expression(self.cursor.src, self.cursor.pos, 64);
        if offset.value.is_err() {
            self.cursor.pos = start;
            let mut error = *self.cursor.unexpected("a constant offset");
            let subtract = ForeignWord::from_text("-").and_then(ForeignWord::instead);
            let help = format!(
                "subtract registers first with `{}`: an address is one register and a constant",
                subtract.unwrap_or_default()
            );
            error.error.code = Code::NegativeOffset;
            return Box::new(error.with_help(help));
        }
        let end = offset.end;
        let text = String::from_utf8_lossy(&self.cursor.src[start + 1..end.max(start + 1)]);
        let number = text.trim();
        let message = "expected `+` in an address, found `-`";
        let error = self.cursor.error(Code::NegativeOffset, start, end, message);
        let sign = Span::at(start, start + 1);
        Box::new(
            error
                .with_help(format!("write `+-{number}`"))
                .with_fix(sign, "+-")
                .machine_applicable(),
        )
    }

    /// Parses the index of `a[4]`, `a[r]` or `a[r+4]`, whose bracket is next.
    fn index(&mut self, base: Operand) -> ParseResult<Operand> {
        self.cursor.advance(1);
        let offset = self.bracket_part()?;
        self.cursor.expect(b']', "`]` after an index")?;
        Ok(self.address(base, offset, AddressForm::Indexed))
    }
}

/// The component that an unknown word most likely means: the one that the word begins with, or the one with its number.
fn likely_component(word: &str) -> Option<&'static str> {
    const COMPONENTS: [(&str, char); 3] = [(".x", '0'), (".y", '1'), (".z", '2')];
    let first = word.chars().nth(1)?;
    let likely = COMPONENTS
        .iter()
        .find(|(text, digit)| word.starts_with(text) || first == *digit);
    Some(likely.map_or(".x", |(text, _)| text))
}

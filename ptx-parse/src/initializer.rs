//! Initializers of variables.

use alloc::vec::Vec;
use ptx_ir::{Address, AddressForm, Code, Operand};

use crate::cursor::ParseResult;
use crate::name_use::Expected;
use crate::parser::Parser;

impl Parser<'_> {
    /// Parses the value after `=`. Nested braces are parsed without recursion.
    pub(crate) fn initializer(&mut self) -> ParseResult<Operand> {
        let limit = self.limits.nesting;
        let mut open: Vec<usize> = Vec::new();
        loop {
            self.cursor.skip_trivia();
            if self.cursor.peek() == b'{' {
                if open.len() >= limit {
                    let message = format!("expected at most {limit} nested braces, found more");
                    return Err(self.cursor.error(
                        Code::NestingTooDeep,
                        self.cursor.pos,
                        self.cursor.pos + 1,
                        message,
                    ));
                }
                self.cursor.advance(1);
                open.push(self.out.scratch.len());
                if !self.cursor.eat(b'}') {
                    continue;
                }
                let mark = open.pop().unwrap_or_default();
                let list = self.out.list_from(mark);
                self.out.scratch.push(Operand::Vector(list));
            } else {
                let value = self.initial_value()?;
                self.out.scratch.push(value);
            }
            loop {
                let Some(&mark) = open.last() else {
                    return Ok(self.out.scratch.pop().unwrap_or(Operand::Absent));
                };
                if self.cursor.eat(b',') {
                    break;
                }
                self.cursor.expect(b'}', "`,` or `}` in an initializer")?;
                open.pop();
                let list = self.out.list_from(mark);
                self.out.scratch.push(Operand::Vector(list));
            }
        }
    }

    /// Parses one value: a constant, a symbol with an offset, `generic(x)`, `0xFF(x)`, or `field = value`.
    #[inline]
    fn initial_value(&mut self) -> ParseResult<Operand> {
        let begins_with_digit = self.cursor.peek().is_ascii_digit();
        if begins_with_digit || !self.cursor.at_ident() {
            let value = self.constant()?;
            if matches!(self.cursor.peek(), b',' | b'}' | b';') {
                return Ok(value);
            }
            self.cursor.skip_trivia();
            if self.cursor.peek() == b'(' && begins_with_digit {
                self.cursor.advance(1);
                let inner = if self.at_name() {
                    self.symbol_value()?
                } else {
                    self.constant()?
                };
                self.cursor.expect(b')', "`)` after the masked value")?;
                return Ok(Operand::Masked(
                    self.out.pool().extend(&[value, inner]).at(0),
                ));
            }
            return Ok(value);
        }
        if !self.at_name() {
            return self.constant();
        }
        self.symbol_value()
    }

    /// Skips trivia. Returns whether a name other than that of a constant is next.
    pub(crate) fn at_name(&mut self) -> bool {
        self.cursor.skip_trivia();
        self.cursor.at_ident()
            && &self.cursor.src[self.cursor.pos..self.cursor.token_end()] != b"WARP_SZ"
    }

    /// Parses a value that begins with a name.
    fn symbol_value(&mut self) -> ParseResult<Operand> {
        let (start, end) = self.cursor.take_ident();
        self.cursor.skip_trivia();
        let base = match self.cursor.peek() {
            b'(' if &self.cursor.src[start..end] == b"generic" => {
                self.cursor.advance(1);
                let (variable_start, variable_end) = self.cursor.expect_ident("a variable")?;
                let inner = self.initial_name(variable_start, variable_end);
                self.cursor.expect(b')', "`)` after the variable")?;
                Operand::Generic(self.out.pool().extend(&[inner]).at(0))
            }
            b'=' => {
                self.cursor.advance(1);
                let name = self.intern(start, end);
                let value = self.field_value()?;
                let field = self.out.pool().extend(&[Operand::Name(name), value]);
                return Ok(Operand::Field(field.at(0)));
            }
            _ => self.initial_name(start, end),
        };
        if self.cursor.eat(b'+') {
            let offset = self.constant()?;
            let form = AddressForm::Bare;
            return Ok(Operand::Address(
                self.out
                    .pool()
                    .add_address(Address::new(base, offset, form)),
            ));
        }
        Ok(base)
    }

    /// Parses the value of a field of an opaque type: a number or a keyword.
    fn field_value(&mut self) -> ParseResult<Operand> {
        if self.at_name() {
            let (start, end) = self.cursor.take_ident();
            return Ok(Operand::Name(self.intern(start, end)));
        }
        self.constant()
    }

    /// The operand for a name in an initializer, which is reported if it is undeclared.
    fn initial_name(&mut self, start: usize, end: usize) -> Operand {
        let operand = self.name_operand(start, end);
        if let Operand::Name(name) = operand
            && !self.suppressed.suppresses(&self.cursor.src[start..end])
        {
            self.report_undeclared_symbol(name, start, Expected::Variable);
        }
        operand
    }
}

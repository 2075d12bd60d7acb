//! Directives with plain arguments: numbers, names, strings.

use alloc::format;
use alloc::string::String;
use ptx_ir::constant;
use ptx_ir::lex::scan;
use ptx_ir::{
    Address, AddressForm, Code, Diagnostic, DirectiveStmt, Immediate, NameId, Operand, Prototype,
    Span, Statement,
};
use ptx_isa::{Directive, DirectivePosition, Ending};

use crate::parser::{ParseResult, Parser};

impl Parser<'_> {
    /// The directive that begins at this dot, without taking it.
    pub(crate) fn directive_here(&mut self) -> Option<Directive> {
        self.dot_word().and_then(Directive::from_text)
    }

    /// A directive that begins at this dot and is none, or does not belong here.
    #[cold]
    pub(crate) fn wrong_directive(&mut self, place: &str) -> alloc::boxed::Box<Diagnostic> {
        let Some(word) = self.dot_word() else {
            return self.unexpected("a directive");
        };
        let text = String::from_utf8_lossy(word);
        let (start, end) = (self.pos, self.pos + word.len());
        if Directive::from_text(word).is_some() || ptx_isa::StateSpace::from_text(word).is_some() {
            let message = format!("`{text}` does not belong {place}");
            return self.error(Code::MisplacedDirective, start, end, message);
        }
        let mut d = self.error(
            Code::UnknownDirective,
            start,
            end,
            format!("`{text}` is no directive of PTX"),
        );
        d.severity = self.unknown;
        d.help = crate::suggest::directive(&text).map(|n| format!("did you mean `{n}`?"));
        d
    }

    /// A directive statement of a body.
    pub(crate) fn body_directive(&mut self, start: usize) -> ParseResult<()> {
        // Line information is every other line of some files: it is tried first.
        let loc = Directive::Loc.text().as_bytes();
        if self.src[start..].starts_with(loc) && matches!(self.peek_at(loc.len()), b' ' | b'\t') {
            self.take(loc.len());
            return self.loc(start);
        }
        let Some(directive) = self.directive_here() else {
            return Err(self.wrong_directive("in a function"));
        };
        if directive.is_allowed_in(DirectivePosition::Label) && !self.behind_label() {
            let message = format!("`{directive}` needs a label before it, which names it");
            let end = self.pos + directive.text().len();
            return Err(self.error(Code::MisplacedDirective, self.pos, end, message));
        }
        match directive {
            Directive::Loc => {
                self.take(directive.text().len());
                self.loc(start)
            }
            Directive::Callprototype => {
                self.take(directive.text().len());
                let interface = self.prototype()?;
                self.end_directive(directive)?;
                let id = self.body.prototypes.push(Prototype { interface });
                self.push(Statement::Prototype(id), start, self.last);
                Ok(())
            }
            _ if Self::begins_declaration(directive) => {
                let id = self.declaration()?;
                self.push(Statement::Decl(id), start, self.last);
                Ok(())
            }
            _ if directive.is_allowed_in(DirectivePosition::Body)
                || directive.is_allowed_in(DirectivePosition::Label) =>
            {
                self.take(directive.text().len());
                let stmt = self.directive_args(directive)?;
                self.end_directive(directive)?;
                let id = self.body.directives.push(stmt);
                self.push(Statement::Directive(id), start, self.last);
                Ok(())
            }
            _ => Err(self.wrong_directive("in a function")),
        }
    }

    fn behind_label(&self) -> bool {
        matches!(
            self.body.statements.values().next_back(),
            Some(Statement::Label(_))
        )
    }

    /// The end of a directive as the language wants it.
    pub(crate) fn end_directive(&mut self, directive: Directive) -> ParseResult<()> {
        if directive.ending() != Ending::Semicolon {
            return Ok(());
        }
        if self.eat(b';') {
            Ok(())
        } else {
            self.missing_semicolon("`;`")
        }
    }

    /// The arguments of a directive other than `.loc`, up to its end.
    pub(crate) fn directive_args(&mut self, directive: Directive) -> ParseResult<DirectiveStmt> {
        let mark = self.scratch.len();
        match directive {
            Directive::Version => self.version_args()?,
            Directive::Target => self.name_args()?,
            Directive::Alias | Directive::Branchtargets | Directive::Calltargets => {
                self.table_args()?;
            }
            Directive::Pragma => {
                self.string_arg()?;
                while self.eat_ahead(b',') {
                    self.string_arg()?;
                }
            }
            Directive::File => {
                self.number_arg()?;
                self.string_arg()?;
                while self.eat_ahead(b',') {
                    self.number_arg()?;
                }
            }
            _ => match directive.integers() {
                Some((_, 0)) => {}
                Some((least, most)) => {
                    self.number_arg()?;
                    let mut count = 1;
                    while count < least || (count < most && self.eat_ahead(b',')) {
                        self.number_arg()?;
                        count += 1;
                    }
                }
                None => self.mixed_args()?,
            },
        }
        Ok(DirectiveStmt {
            directive,
            args: self.range_from(mark),
        })
    }

    /// Integers and strings, as many as there are: for directives newer than those known whole.
    fn mixed_args(&mut self) -> ParseResult<()> {
        let mut seen = self.trivia;
        let next = scan::skip_trivia(self.src, self.pos, &mut seen);
        if !matches!(scan::peek(self.src, next), b'0'..=b'9' | b'"') {
            return Ok(());
        }
        loop {
            self.blanks();
            if self.peek() == b'"' {
                self.string_arg()?;
            } else {
                self.number_arg()?;
            }
            if !self.eat_ahead(b',') {
                return Ok(());
            }
        }
    }

    /// An integer literal pushed as an argument.
    pub(crate) fn number_arg(&mut self) -> ParseResult<()> {
        let number = self.integer()?;
        self.scratch.push(number);
        Ok(())
    }

    /// An integer literal or `WARP_SZ`; no expression, as directives and dimensions take none.
    pub(crate) fn integer(&mut self) -> ParseResult<Operand> {
        self.blanks();
        let mut len = 0;
        let mut value = 0i32;
        while self.peek_at(len).is_ascii_digit() && len < 9 {
            value = value * 10 + (self.peek_at(len) - b'0') as i32;
            len += 1;
        }
        let next = self.peek_at(len);
        let plain = len > 0
            && !(len > 1 && self.peek() == b'0')
            && !scan::is(next, scan::class::IDENT)
            && next != b'.';
        if plain {
            self.take(len);
            return Ok(Operand::Small(value));
        }
        if self.peek().is_ascii_digit() {
            let end = self.token_end();
            return self.integer_literal(self.pos, end);
        }
        if self.at_ident() && !self.at_name() {
            let start = self.pos;
            let (_, end) = self.take_ident();
            return self.integer_literal(start, end);
        }
        Err(self.unexpected("a whole number"))
    }

    /// The literal at `start..end`, which may have a sign before it.
    pub(crate) fn integer_literal(&mut self, start: usize, end: usize) -> ParseResult<Operand> {
        let read = constant::read_expression(&self.src[..end], start, 1);
        match read.value {
            Ok(value) if read.end == end && value.as_int().is_some() => {
                let text = self.intern(start, end);
                self.pos = end;
                self.last = end;
                Ok(Operand::Imm(
                    self.pool().add_immediate(Immediate { text, value }),
                ))
            }
            Err((error, span)) => Err(self.constant_error(error, span)),
            Ok(_) => {
                self.pos = start;
                Err(self.unexpected("a whole number"))
            }
        }
    }

    fn string_arg(&mut self) -> ParseResult<()> {
        self.blanks();
        if self.peek() == b'"' {
            let (end, closed) = scan::string_end(self.src, self.pos);
            if closed {
                let name = self.intern(self.pos, end);
                self.take(end - self.pos);
                self.scratch.push(Operand::Str(name));
                return Ok(());
            }
        }
        Err(self.unexpected("a string"))
    }

    fn name_arg(&mut self, expected: &str) -> ParseResult<NameId> {
        let (start, end) = self.ident(expected)?;
        Ok(self.intern(start, end))
    }

    fn name_args(&mut self) -> ParseResult<()> {
        loop {
            let name = self.name_arg("a target")?;
            self.scratch.push(Operand::Name(name));
            if !self.eat_ahead(b',') {
                return Ok(());
            }
        }
    }

    /// Names that mean something, `N<5>` for five of them.
    fn table_args(&mut self) -> ParseResult<()> {
        loop {
            let (start, end) = self.ident("a name")?;
            if self.eat_ahead(b'<') {
                let name = self.intern(start, end);
                let count = self.integer()?;
                self.expect(b'>', "`>`")?;
                let at = self.pool().extend(&[Operand::Name(name), count]).at(0);
                self.scratch.push(Operand::Range(at));
            } else {
                let operand = self.name_operand(start, end);
                self.scratch.push(operand);
            }
            if !self.eat_ahead(b',') {
                return Ok(());
            }
        }
    }

    /// `major.minor`
    fn version_args(&mut self) -> ParseResult<()> {
        self.blanks();
        let start = self.pos;
        let digits = |mut at: usize| {
            while scan::peek(self.src, at).is_ascii_digit() {
                at += 1;
            }
            at
        };
        let major_end = digits(start);
        let minor_end = digits(major_end + 1);
        let text = |a: usize, b: usize| {
            core::str::from_utf8(self.src.get(a..b)?)
                .ok()?
                .parse::<i32>()
                .ok()
        };
        let numbers = (scan::peek(self.src, major_end) == b'.')
            .then(|| Some((text(start, major_end)?, text(major_end + 1, minor_end)?)))
            .flatten();
        match numbers {
            Some((major, minor)) => {
                self.take(minor_end - start);
                self.scratch.push(Operand::Small(major));
                self.scratch.push(Operand::Small(minor));
                Ok(())
            }
            None => Err(self.unexpected("a version such as `8.0`")),
        }
    }

    /// `.loc file line column [, function_name label[+n], inlined_at file line column]`
    fn loc(&mut self, start: usize) -> ParseResult<()> {
        let mark = self.scratch.len();
        for _ in 0..3 {
            self.number_arg()?;
        }
        if self.eat_ahead(b',') {
            self.keyword("function_name")?;
            let place = self.debug_name()?;
            self.scratch.push(place);
            self.expect(b',', "`,` before `inlined_at`")?;
            self.keyword("inlined_at")?;
            for _ in 0..3 {
                self.number_arg()?;
            }
        }
        let args = self.range_from(mark);
        let id = self.body.directives.push(DirectiveStmt {
            directive: Directive::Loc,
            args,
        });
        self.push(Statement::Directive(id), start, self.last);
        Ok(())
    }

    fn keyword(&mut self, word: &str) -> ParseResult<()> {
        self.blanks();
        if self.at_ident() {
            let (start, end) = self.take_ident();
            if &self.src[start..end] == word.as_bytes() {
                return Ok(());
            }
            self.pos = start;
        }
        let expected = format!("`{word}`");
        Err(self.unexpected(&expected))
    }

    /// A label of a debug section, or a section, with an offset: its name is not looked up, as it
    /// may stand anywhere in the file.
    pub(crate) fn debug_name(&mut self) -> ParseResult<Operand> {
        self.blanks();
        let base = match self.dot_word() {
            Some(word) => {
                let start = self.pos;
                self.take(word.len());
                Operand::Section(self.intern(start, self.pos))
            }
            None => {
                let (start, end) = self.ident("a label or a section")?;
                Operand::Name(self.intern(start, end))
            }
        };
        if self.eat_ahead(b'+') {
            let offset = self.integer()?;
            let form = AddressForm::Bare;
            return Ok(Operand::Address(self.pool().add_address(Address {
                base,
                offset,
                form,
            })));
        }
        if self.eat_ahead(b'-') {
            let (start, end) = self.ident("a label")?;
            let other = Operand::Name(self.intern(start, end));
            return Ok(Operand::Difference(
                self.pool().extend(&[base, other]).at(0),
            ));
        }
        Ok(base)
    }

    /// Reports a `;` that belongs to nothing; `before` is the statement before it.
    #[cold]
    pub(crate) fn lone_semicolon(&mut self, before: Option<Directive>) {
        let (start, end) = (self.pos, self.pos + 1);
        let (code, message) = match before.filter(|d| d.ending() == Ending::Open) {
            Some(d) => (Code::StraySemicolon, format!("`{d}` ends without a `;`")),
            None => (
                Code::EmptyStatement,
                String::from("a `;` stands here without a statement"),
            ),
        };
        let d = Diagnostic::error(code, Span::at(start, end), message);
        if !self.is_cascading(start) {
            self.forget_statement_before(start);
            self.report(d.with_help("remove it"));
        }
        // A `}` before it may not be the end.
        if !self.in_body {
            self.trouble.desync();
        }
        self.take(1);
    }
}

//! Directives with plain arguments: numbers, names, strings.

use alloc::boxed::Box;
use alloc::string::String;
use ptx_ir::raw::{self, RawBody, scan};
use ptx_ir::{
    Address, AddressForm, Code, Diagnostic, DirectiveStmt, Immediate, LabelId, NameId, Operand,
    Prototype, Span, Statement,
};
use ptx_isa::internals::{DirectivePosition, Ending};
use ptx_isa::{Directive, PtxVersion, ScalarType, StateSpace, TypeKind};

use crate::cursor::ParseResult;
use crate::labels::LabelRange;
use crate::parser::Parser;
use crate::record::{Cause, Record};
use crate::scope::OUTERMOST;
use crate::statement_extent::{begins_declaration, line_end};

impl Parser<'_> {
    /// The directive at the cursor, which is not taken.
    pub(crate) fn directive_here(&mut self) -> Option<Directive> {
        self.cursor.dot_word().and_then(Directive::from_text)
    }

    /// The error of an unknown directive at the cursor, or of one that is not allowed `place`.
    #[cold]
    pub(crate) fn wrong_directive(&mut self, place: &str) -> Box<Record> {
        let Some(word) = self.cursor.dot_word() else {
            return self.cursor.unexpected("a directive");
        };
        let text = String::from_utf8_lossy(word);
        let (start, end) = (self.cursor.pos, self.cursor.pos + word.len());
        if Directive::from_text(word).is_some() || StateSpace::from_text(word).is_some() {
            let message = format!("expected a directive that is allowed {place}, found `{text}`");
            return self
                .cursor
                .error(Code::MisplacedDirective, start, end, message);
        }
        if ScalarType::from_text(word).is_some_and(|t| t.kind() != TypeKind::Opaque) {
            return self.missing_space();
        }
        let message = format!("unknown directive `{text}`; expected one that is allowed {place}");
        let span = Span::at(start, end);
        let mut diagnostic = Diagnostic::error(Code::UnknownDirective, span, message);
        diagnostic.severity = self.header.unknown;
        Box::new(Record::new(diagnostic, Cause::UnknownDirective))
    }

    /// Parses a directive, declaration or prototype in a body.
    pub(crate) fn body_directive(&mut self, start: usize) -> ParseResult<()> {
        // In some files, every other line is a `.loc` directive.
        let loc = Directive::Loc.text().as_bytes();
        if self.cursor.src[start..].starts_with(loc)
            && matches!(self.cursor.peek_at(loc.len()), b' ' | b'\t')
        {
            self.cursor.advance(loc.len());
            return self.loc(start);
        }
        let Some(directive) = self.directive_here() else {
            return Err(self.wrong_directive("in a function"));
        };
        let needs_label = directive.is_allowed_in(DirectivePosition::Label);
        if let Some(label) = self.label_before().filter(|_| needs_label) {
            self.scopes.labels.tables.push(label);
        } else if needs_label {
            let message = format!("expected a label before `{directive}`, which names it");
            let end = self.cursor.pos + directive.text().len();
            return Err(self
                .cursor
                .error(Code::MisplacedDirective, self.cursor.pos, end, message));
        }
        match directive {
            Directive::Loc => {
                self.cursor.advance(directive.text().len());
                self.loc(start)
            }
            Directive::Callprototype => {
                self.cursor.advance(directive.text().len());
                let interface = self.prototype()?;
                self.end_directive(directive)?;
                let id = self
                    .out
                    .body
                    .prototypes_mut()
                    .push(Prototype::new(interface));
                self.push(Statement::Prototype(id), start);
                Ok(())
            }
            _ if begins_declaration(directive) => {
                let id = self.declaration()?;
                self.push(Statement::Decl(id), start);
                Ok(())
            }
            _ if needs_label || directive.is_allowed_in(DirectivePosition::Body) => {
                self.cursor.advance(directive.text().len());
                let stmt = self.directive_args(directive)?;
                self.end_directive(directive)?;
                let id = self.out.body.directives_mut().push(stmt);
                self.push(Statement::Directive(id), start);
                Ok(())
            }
            _ => Err(self.misplaced_in_body(directive, start)),
        }
    }

    /// The error of a directive that is not allowed in a body: the body may lack its `}`.
    #[cold]
    fn misplaced_in_body(&mut self, directive: Directive, start: usize) -> Box<Record> {
        let is_item = directive.is_allowed_in(DirectivePosition::Module);
        if !is_item || self.is_cascading(start) || self.closes_later(start) {
            return self.wrong_directive("in a function");
        }
        let open = self.out.body.base();
        let end = self.out.end_of_previous();
        let span = Span::at(start, start + directive.text().len());
        let message = format!("expected a `}}` that closes the function before `{directive}`");
        let error = Diagnostic::error(Code::UnclosedBrace, span, message)
            .with_label(Span::new(open, open + 1), "this `{` is not closed")
            .with_help("add `}` at the end of the function");
        let has_fix = self.scopes.current == OUTERMOST;
        Box::new(if has_fix {
            error.with_fix(Span::at(end, end), "\n}").into()
        } else {
            error.into()
        })
    }

    /// The label that the last statement is.
    fn label_before(&self) -> Option<LabelId> {
        match self.out.body.statement_table().values().next_back() {
            Some(Statement::Label(id)) => Some(*id),
            _ => None,
        }
    }

    /// Takes the `;` of a directive that ends with one.
    pub(crate) fn end_directive(&mut self, directive: Directive) -> ParseResult<()> {
        if directive.ending() != Ending::Semicolon {
            return Ok(());
        }
        if self.cursor.eat(b';') {
            Ok(())
        } else {
            self.missing_semicolon("`;`")
        }
    }

    /// Parses the arguments of a directive other than `.loc`, up to its end.
    pub(crate) fn directive_args(&mut self, directive: Directive) -> ParseResult<DirectiveStmt> {
        let mark = self.out.scratch.len();
        match directive {
            Directive::Version => self.version_args()?,
            Directive::Target => self.target_args()?,
            Directive::Alias => {
                self.resolved_name("an alias")?;
                self.cursor.expect(b',', "`,` after the alias")?;
                self.resolved_name("a function")?;
            }
            Directive::Branchtargets | Directive::Calltargets => self.table_args(directive)?,
            Directive::Pragma => {
                self.string_arg()?;
                while self.cursor.eat_optional(b',') {
                    self.string_arg()?;
                }
            }
            Directive::File => {
                self.number_arg()?;
                self.string_arg()?;
                // The time of the last change, and the size.
                for _ in 0..2 {
                    if self.cursor.eat_optional(b',') {
                        self.number_arg()?;
                    }
                }
            }
            Directive::NvIntermediateSourceSection => self.source_section()?,
            _ => match directive.integers() {
                Some((_, 0)) => {}
                Some((least, most)) => {
                    self.number_arg()?;
                    let mut count = 1;
                    while count < least || (count < most && self.cursor.eat_optional(b',')) {
                        self.number_arg()?;
                        count += 1;
                    }
                }
                None => self.mixed_args()?,
            },
        }
        Ok(DirectiveStmt::new(directive, self.out.range_from(mark)))
    }

    /// Parses `{ .code_block { .ir_name: "…" .sourceFileName: 1 .source_begin … .source_end } … }`. The arguments are the text of
    /// all of it, and then the numbers of the files. Any text can be between the lines `.source_begin` and `.source_end`.
    fn source_section(&mut self) -> ParseResult<()> {
        self.cursor.skip_trivia();
        let start = self.cursor.pos;
        self.cursor.expect(b'{', "`{` before the code blocks")?;
        let section_mark = self.out.scratch.len();
        while !self.cursor.eat(b'}') {
            self.keyword(".code_block")?;
            self.cursor
                .expect(b'{', "`{` before the parts of a code block")?;
            let block_mark = self.out.scratch.len();
            self.keyword(".ir_name:")?;
            self.string_arg()?;
            self.out.scratch.truncate(block_mark);
            self.keyword(".sourceFileName:")?;
            self.number_arg()?;
            self.keyword(".source_begin")?;
            self.source_text()?;
            self.cursor.expect(b'}', "`}` after a code block")?;
        }
        let text = self.intern(start, self.cursor.last);
        self.out.scratch.insert(section_mark, Operand::Str(text));
        Ok(())
    }

    /// Skips lines up to one that is `.source_end`.
    fn source_text(&mut self) -> ParseResult<()> {
        let start = self.cursor.pos;
        if let Some(end) = scan::source_text_end(self.cursor.src, start) {
            self.cursor.pos = end;
            self.cursor.last = end;
            return Ok(());
        }
        let following = self.cursor.src.get(start..).unwrap_or_default();
        let line_break_or_text = following
            .iter()
            .find(|b| **b == b'\n' || !b.is_ascii_whitespace());
        if line_break_or_text.is_none_or(|b| *b == b'\n') {
            let expected = "`.source_end` on a line without other text";
            return Err(self.cursor.unexpected(expected));
        }
        let error = self.cursor.unexpected("a new line after `.source_begin`");
        let gap = Span::at(start, self.cursor.pos);
        Err(Box::new(error.with_fix(gap, "\n")))
    }

    /// Parses integers and strings, the arguments of directives without a fixed argument list.
    fn mixed_args(&mut self) -> ParseResult<()> {
        loop {
            self.cursor.skip_trivia();
            if self.cursor.peek() == b'"' {
                self.string_arg()?;
            } else {
                self.number_arg()?;
            }
            if !self.cursor.eat_optional(b',') {
                return Ok(());
            }
        }
    }

    /// Parses an integer literal, and pushes it as an argument.
    pub(crate) fn number_arg(&mut self) -> ParseResult<()> {
        let number = self.integer()?;
        self.out.scratch.push(number);
        Ok(())
    }

    /// Parses an integer literal or `WARP_SZ`. Directives and dimensions take no expressions.
    pub(crate) fn integer(&mut self) -> ParseResult<Operand> {
        self.cursor.skip_trivia();
        let mut len = 0;
        let mut value = 0i32;
        while self.cursor.peek_at(len).is_ascii_digit() && len < 9 {
            value = value * 10 + (self.cursor.peek_at(len) - b'0') as i32;
            len += 1;
        }
        let next = self.cursor.peek_at(len);
        let is_small_decimal = len > 0
            && !(len > 1 && self.cursor.peek() == b'0')
            && !scan::is(next, scan::class::IDENT)
            && next != b'.';
        if is_small_decimal {
            self.cursor.advance(len);
            return Ok(Operand::Small(value));
        }
        if self.cursor.peek().is_ascii_digit() {
            let end = self.cursor.token_end();
            return self.integer_literal(self.cursor.pos, end);
        }
        if self.cursor.at_ident() && !self.at_name() {
            let start = self.cursor.pos;
            let (_, end) = self.cursor.take_ident();
            return self.integer_literal(start, end);
        }
        Err(self.cursor.unexpected("a whole number"))
    }

    /// Parses the literal at `start..end`, which may have a sign before it.
    pub(crate) fn integer_literal(&mut self, start: usize, end: usize) -> ParseResult<Operand> {
        let read = raw::read_expression(&self.cursor.src[..end], start, 1);
        match read.value {
            Ok(value) if read.end == end && value.as_int().is_some() => {
                let text = self.intern(start, end);
                self.cursor.pos = end;
                self.cursor.last = end;
                Ok(Operand::Imm(
                    self.out.pool().add_immediate(Immediate::new(text, value)),
                ))
            }
            Err((error, span)) => Err(self.constant_error(error, span)),
            Ok(_) => {
                self.cursor.pos = start;
                Err(self.cursor.unexpected("a whole number"))
            }
        }
    }

    fn string_arg(&mut self) -> ParseResult<()> {
        self.cursor.skip_trivia();
        if self.cursor.peek() == b'"' {
            let (end, closed) = scan::string_end(self.cursor.src, self.cursor.pos);
            if closed {
                let name = self.intern(self.cursor.pos, end);
                self.cursor.advance(end - self.cursor.pos);
                self.out.scratch.push(Operand::Str(name));
                return Ok(());
            }
        }
        let error = self.cursor.unexpected("a string");
        if !self.cursor.at_ident() {
            return Err(error);
        }
        let Span { start, end } = error.error.span;
        Err(Box::new(
            error
                .with_help("strings are in quotes")
                .with_fix(Span::new(start, start), "\"")
                .with_fix(Span::new(end, end), "\""),
        ))
    }

    /// Parses a name that is not resolved.
    fn name_arg(&mut self, expected: &str) -> ParseResult<NameId> {
        let (start, end) = self.cursor.expect_ident(expected)?;
        Ok(self.intern(start, end))
    }

    /// Parses a name, and pushes its operand as an argument.
    fn resolved_name(&mut self, expected: &str) -> ParseResult<()> {
        let (start, end) = self.cursor.expect_ident(expected)?;
        let operand = self.name_operand(start, end);
        self.out.scratch.push(operand);
        Ok(())
    }

    /// Parses the names of targets.
    fn target_args(&mut self) -> ParseResult<()> {
        loop {
            self.cursor.skip_trivia();
            if self.cursor.peek().is_ascii_digit() {
                return Err(Box::new(self.unknown_target(self.cursor.pos)));
            }
            let name = self.name_arg("a target")?;
            self.out.scratch.push(Operand::Name(name));
            if !self.cursor.eat_optional(b',') {
                return Ok(());
            }
        }
    }

    /// Parses names that are resolved. `N<5>` means the five names from `N0` to `N4`.
    fn table_args(&mut self, directive: Directive) -> ParseResult<()> {
        loop {
            let (start, end) = self.cursor.expect_ident("a name")?;
            if self.cursor.eat_optional(b'<') {
                let name = self.intern(start, end);
                let count = self.integer()?;
                self.cursor.expect(b'>', "`>`")?;
                if directive == Directive::Branchtargets {
                    let range = LabelRange {
                        prefix: name,
                        count: self.out.pool().integer(count).unwrap_or(0),
                        offset: start as u32,
                    };
                    self.scopes.labels.ranges.push(range);
                }
                let range = self.out.pool().extend(&[Operand::Name(name), count]);
                self.out.scratch.push(Operand::Range(range.at(0)));
            } else {
                let operand = self.name_operand(start, end);
                self.out.scratch.push(operand);
            }
            if !self.cursor.eat_optional(b',') {
                return Ok(());
            }
        }
    }

    /// Parses `major.minor`.
    fn version_args(&mut self) -> ParseResult<()> {
        self.cursor.skip_trivia();
        let start = self.cursor.pos;
        let digits_end = |mut end: usize| {
            while scan::peek(self.cursor.src, end).is_ascii_digit() {
                end += 1;
            }
            end
        };
        let major_end = digits_end(start);
        let minor_end = digits_end(major_end + 1);
        let number = |start: usize, end: usize| {
            core::str::from_utf8(self.cursor.src.get(start..end)?)
                .ok()?
                .parse::<i32>()
                .ok()
        };
        let numbers = (scan::peek(self.cursor.src, major_end) == b'.')
            .then(|| Some((number(start, major_end)?, number(major_end + 1, minor_end)?)))
            .flatten();
        match numbers {
            Some((major, minor)) => {
                self.cursor.advance(minor_end - start);
                self.out.scratch.push(Operand::Small(major));
                self.out.scratch.push(Operand::Small(minor));
                Ok(())
            }
            None => Err(self.malformed_version()),
        }
    }

    /// The error of a version that is not two numbers with a `.` between them.
    #[cold]
    fn malformed_version(&mut self) -> Box<Record> {
        let error = self.cursor.unexpected("a version such as `8.0`");
        let (src, start) = (self.cursor.src, self.cursor.pos);
        let line = &src[start..line_end(src, start)];
        let text = line
            .split(u8::is_ascii_whitespace)
            .next()
            .unwrap_or_default();
        let mut numbers = text
            .split(|b| !b.is_ascii_digit())
            .filter(|n| !n.is_empty());
        let number = |text: &[u8]| core::str::from_utf8(text).ok()?.parse::<u8>().ok();
        let major_and_minor = match (numbers.next(), numbers.next()) {
            (Some(&[major, minor]), None) => Some((major - b'0', minor - b'0')),
            (Some(major), None) => number(major).map(|major| (major, 0)),
            (Some(major), Some(minor)) => number(major).zip(number(minor)),
            _ => None,
        };
        let version = major_and_minor.map(|(major, minor)| PtxVersion::new(major, minor));
        match version.filter(|v| v.is_known()) {
            Some(version) => {
                let span = Span::at(start, start + text.len());
                let help = format!("did you mean `{version}`?");
                Box::new(error.with_help(help).with_fix(span, format!("{version}")))
            }
            None => error,
        }
    }

    /// Parses the arguments of `.loc file line column [, function_name label[+n], inlined_at file line column]`.
    fn loc(&mut self, start: usize) -> ParseResult<()> {
        let mark = self.out.scratch.len();
        for _ in 0..3 {
            self.number_arg()?;
        }
        if self.cursor.eat_optional(b',') {
            self.keyword("function_name")?;
            let function_name = self.debug_name()?;
            self.out.scratch.push(function_name);
            self.cursor.expect(b',', "`,` before `inlined_at`")?;
            self.keyword("inlined_at")?;
            for _ in 0..3 {
                self.number_arg()?;
            }
        }
        let args = self.out.range_from(mark);
        let id = self
            .out
            .body
            .directives_mut()
            .push(DirectiveStmt::new(Directive::Loc, args));
        self.push(Statement::Directive(id), start);
        Ok(())
    }

    /// Takes the word `word`, or fails.
    fn keyword(&mut self, word: &str) -> ParseResult<()> {
        self.cursor.skip_trivia();
        let (src, start) = (self.cursor.src, self.cursor.pos);
        let end = start + word.len();
        let is_word = word.ends_with(':') || scan::word_end(src, end) == end;
        if is_word && src.get(start..end) == Some(word.as_bytes()) {
            self.cursor.advance(word.len());
            self.cursor.last = self.cursor.pos;
            return Ok(());
        }
        let expected = format!("`{word}`");
        Err(self.cursor.unexpected(&expected))
    }

    /// Parses a label of a debug section, or a section, with an offset. The name is not resolved, as it may be
    /// defined anywhere in the file.
    pub(crate) fn debug_name(&mut self) -> ParseResult<Operand> {
        self.cursor.skip_trivia();
        let base = match self.cursor.dot_word() {
            Some(word) => {
                let start = self.cursor.pos;
                self.cursor.advance(word.len());
                Operand::Section(self.intern(start, self.cursor.pos))
            }
            None => {
                let (start, end) = self.cursor.expect_ident("a label or a section")?;
                self.check_reserved(start, end);
                Operand::Name(self.intern(start, end))
            }
        };
        if self.cursor.eat_optional(b'+') {
            self.cursor.skip_trivia();
            if !self.cursor.peek().is_ascii_digit() {
                return Err(self.cursor.unexpected("a whole number"));
            }
            let offset = self.integer()?;
            let form = AddressForm::Bare;
            return Ok(Operand::Address(
                self.out
                    .pool()
                    .add_address(Address::new(base, offset, form)),
            ));
        }
        if self.cursor.eat_optional(b'-') {
            let (start, end) = self.cursor.expect_ident("a label")?;
            self.check_reserved(start, end);
            let subtrahend = Operand::Name(self.intern(start, end));
            return Ok(Operand::Difference(
                self.out.pool().extend(&[base, subtrahend]).at(0),
            ));
        }
        Ok(base)
    }

    /// Reports and takes a `;` without a statement. `previous` is the directive before it.
    #[cold]
    pub(crate) fn lone_semicolon(&mut self, previous: Option<Directive>) {
        let (start, end) = (self.cursor.pos, self.cursor.pos + 1);
        let (code, message) = match previous.filter(|d| d.ending() == Ending::Open) {
            Some(directive) => (
                Code::StraySemicolon,
                format!("expected no `;` after `{directive}`, found one"),
            ),
            None => (
                Code::EmptyStatement,
                String::from("expected a statement before this `;`, found none"),
            ),
        };
        if !self.is_cascading(start) {
            self.forget_statement_before(start);
            let error = Diagnostic::error(code, Span::at(start, end), message)
                .with_help("remove the `;`")
                .with_fix(Span::at(start, end), "");
            // If no statement ends before the `;` on its line, a statement may be missing.
            let preceding = self.cursor.src[..start].trim_ascii_end();
            let gap = &self.cursor.src[preceding.len()..start];
            let is_doubled = preceding.ends_with(b";") && !gap.contains(&b'\n');
            let is_certain = code == Code::StraySemicolon || is_doubled;
            self.report(if is_certain {
                error.machine_applicable()
            } else {
                error
            });
        }
        // A `}` before the `;` may not be the end of the function.
        if !self.out.in_body() {
            self.reporter.cascade.desync();
        }
        self.cursor.advance(1);
    }
}

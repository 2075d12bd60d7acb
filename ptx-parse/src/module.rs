//! The module level: header, declarations, functions, sections.

use alloc::boxed::Box;
use alloc::string::String;
use ptx_ir::lex::Lexer;
use ptx_ir::raw::RawModule;
use ptx_ir::raw::scan::{class, is};
use ptx_ir::{Code, DirectiveStmt, Item, Linkage, Operand, Severity, Span};
use ptx_isa::internals::{DirectivePosition, ForeignWord};
use ptx_isa::{Directive, StateSpace};

use crate::cursor::ParseResult;
use crate::header_state::HeaderPart;
use crate::name_use::Expected;
use crate::output::Level;
use crate::parser::Parser;
use crate::record::Record;
use crate::statement_extent::{begins_declaration, lacks_name, statement_end};

impl Parser<'_> {
    /// Parses the whole source.
    pub(crate) fn module(&mut self) {
        self.byte_order_mark();
        while self.next_item() {
            self.item();
            self.charge();
        }
        self.end_of_module();
    }

    /// Moves to the next item. Returns `false` at the end of the source.
    pub(crate) fn next_item(&mut self) -> bool {
        self.cursor.skip_trivia();
        if self.cursor.trivia.unterminated.is_some() {
            self.unterminated_comment();
        }
        self.cursor.trivia.comment = false;
        !self.cursor.at_end()
    }

    /// Reports directives of the header that are missing at the end of the source.
    pub(crate) fn end_of_module(&mut self) {
        if self.header.state < HeaderPart::Target && !self.header.reported {
            self.missing_header(self.cursor.src.len());
        }
    }

    pub(crate) fn byte_order_mark(&mut self) {
        if self.cursor.src.starts_with(b"\xEF\xBB\xBF") {
            self.cursor.pos = 3;
            let message = "expected ASCII text, found a byte order mark";
            let error = self.cursor.error(Code::ByteOrderMark, 0, 3, message);
            self.report(
                error
                    .with_help("save the file as ASCII without it")
                    .with_fix(Span::at(0, 3), "")
                    .machine_applicable(),
            );
        }
    }

    pub(crate) fn item(&mut self) {
        let start = self.cursor.pos;
        let header_part = self.header.state;
        let result = match self.cursor.peek() {
            b'.' => self.item_directive(start),
            b';' => {
                self.empty_item(start);
                Ok(())
            }
            b'}' => {
                let message = "expected a directive, found a `}` without its `{`";
                let error = self
                    .cursor
                    .error(Code::StrayBrace, start, start + 1, message);
                let span = error.error.span;
                Err(Box::new(
                    error.with_help("remove this `}`").with_fix(span, ""),
                ))
            }
            b'{' if header_part < HeaderPart::Target || self.is_before_item() => {
                Err(self.cursor.unexpected("a directive"))
            }
            b'{' => {
                if !self.reporter.cascade.is_desynced() {
                    let error = self
                        .semicolon_before_body(start)
                        .unwrap_or_else(|| self.cursor.unexpected("a directive before the block"));
                    self.report(*error);
                }
                self.reporter.cascade.brace_mismatch();
                self.headless_function(start);
                Ok(())
            }
            b'@' if self.at_dwarf() => self.item_directive(start),
            byte if is(byte, class::START) && header_part >= HeaderPart::Target => {
                Err(self.outside_function())
            }
            _ => Err(self.cursor.unexpected("a directive")),
        };
        if let Err(error) = result {
            // The header of the module may continue after the item.
            if header_part >= HeaderPart::Target {
                self.header.state = header_part;
            }
            self.fail_item(start, error);
            return;
        }
        let cascade = &mut self.reporter.cascade;
        match self.out.module.item_table().values().next_back() {
            Some(&Item::Function(function)) => {
                if self.out.module.body(function).is_some() {
                    cascade.definition_ended();
                } else {
                    cascade.declaration_ended();
                }
            }
            Some(Item::Section(_)) => cascade.definition_ended(),
            _ => {}
        }
    }

    /// The error of a `;` between the header of a function and the `{` of its body at `start`.
    #[cold]
    fn semicolon_before_body(&self, start: usize) -> Option<Box<Record>> {
        let Some(Item::Function(function)) = self.out.module.item_table().values().next_back()
        else {
            return None;
        };
        let preceding = self.cursor.src.get(..start)?.trim_ascii_end();
        let semicolon = preceding.strip_suffix(b";")?.len();
        self.out.module.body(*function).is_none().then(|| {
            let message = "expected the body of the function, found `;` before its `{`";
            let error = self
                .cursor
                .error(Code::UnexpectedToken, semicolon, semicolon + 1, message);
            let span = error.error.span;
            // The header of the block may be missing instead.
            Box::new(error.with_help("remove this `;`").with_fix(span, ""))
        })
    }

    #[cold]
    fn empty_item(&mut self, start: usize) {
        let previous = match self.out.module.item_table().values().next_back() {
            Some(Item::Directive(id)) => Some(self.out.module.directives()[*id].directive),
            _ => None,
        };
        self.lone_semicolon(previous);
        self.header.reported |= self.header.state < HeaderPart::Target;
        self.opaque_item(start, self.cursor.pos);
    }

    /// Reports an item that begins at `start` and cannot be parsed. The text after such an item at module
    /// level, or after a `}` without its `{`, mostly belongs to it and is not reported again.
    #[cold]
    #[allow(clippy::boxed_local, reason = "errors are boxed where they arise")]
    fn fail_item(&mut self, start: usize, record: Box<Record>) {
        if self.header.state >= HeaderPart::Target && self.empty_declaration(start) {
            self.out.scratch.clear();
            self.header.state = HeaderPart::Closed;
            return self.opaque_item(start, self.cursor.last);
        }
        let src = self.cursor.src;
        let error_start = record.error.span.start as usize;
        let is_syntax = record.error.code.number() < Code::UndefinedName.number();
        let is_error = record.error.severity == Severity::Error;
        let is_header_missing = self.header.state == HeaderPart::Empty && !self.header.reported;
        if is_header_missing && record.error.code == Code::UnexpectedToken {
            self.missing_header(start);
        } else if !(is_syntax && self.is_cascading(start)) {
            self.report(self.in_statement(start, *record));
        }
        // The item is most likely the missing part of the header.
        self.header.reported |= is_error && self.header.state < HeaderPart::Target;
        self.reporter.cascade.desync();
        self.out.scratch.clear();
        let end = match src[start] {
            b'{' => start + 1,
            _ => statement_end(src, start),
        };
        self.suppress_names(start, end);
        let examined_end = if error_start > start {
            error_start
        } else {
            end
        };
        if lacks_name(&src[start..examined_end]) {
            self.lost_declaration(Level::Module);
        }
        self.reporter.cascade.poison(end);
        self.opaque_item(start, end);
    }

    /// Whether a directive of the module level follows the brace at the cursor: the brace is superfluous.
    #[cold]
    fn is_before_item(&self) -> bool {
        let following = &self.cursor.src[self.cursor.pos + 1..];
        let next = Lexer::fragment(following).find(|t| !t.kind.is_trivia());
        let directive = next.and_then(|t| Directive::from_text(t.span.of(following)));
        directive.is_some_and(|d| {
            d.is_allowed_in(DirectivePosition::Module) && !d.is_allowed_in(DirectivePosition::Body)
        })
    }

    /// `@@DWARF` is the one directive without a dot.
    fn at_dwarf(&self) -> bool {
        self.cursor.src[self.cursor.pos..].starts_with(Directive::Dwarf.text().as_bytes())
    }

    /// The error of a statement outside of functions. The function before it may have ended too early.
    #[cold]
    fn outside_function(&mut self) -> Box<Record> {
        let (end, next_token) = self.cursor.describe_token();
        let message = format!("expected a directive outside of functions, found {next_token}");
        let (src, start) = (self.cursor.src, self.cursor.pos);
        let error = self
            .cursor
            .error(Code::UnexpectedToken, start, end, message);
        let word = String::from_utf8_lossy(&src[start..end]);
        if let Some(directive) = Directive::from_text(format!(".{word}").as_bytes()) {
            let help = format!("did you mean the directive `{directive}`?");
            let error = error.with_help(help).with_fix(Span::at(start, start), ".");
            return Box::new(error.machine_applicable());
        }
        let foreign = ForeignWord::from_text(&word).and_then(ForeignWord::help);
        if let Some(help) = foreign.filter(|_| !self.closes_later(start)) {
            return Box::new(error.with_help(help));
        }
        let previous_end = self.out.end_of_previous();
        let brace = Span::at(previous_end.saturating_sub(1), previous_end);
        let last_item = self.out.module.item_table().values().next_back();
        let follows_function =
            matches!(last_item, Some(Item::Function(_))) && brace.of(src) == b"}";
        if !follows_function || self.is_cascading(start) {
            return error;
        }
        let error = error
            .with_label(brace, "this `}` ends the function")
            .with_help("if this belongs to the function, remove the `}` before it");
        Box::new(if self.closes_later(start) {
            error.with_fix(brace, "")
        } else {
            error
        })
    }

    fn opaque_item(&mut self, start: usize, end: usize) {
        self.cursor.pos = end;
        self.cursor.last = end;
        let mentions = self.mentions(start, end);
        self.out.push_opaque_item(mentions, start, end);
    }

    /// The section at `start` cannot be parsed and ends at `end`.
    #[cold]
    pub(crate) fn opaque_section(&mut self, start: usize, end: usize) {
        self.reporter.cascade.desync();
        self.opaque_item(start, end);
    }

    fn item_directive(&mut self, start: usize) -> ParseResult<()> {
        if self.at_dwarf() {
            let text = Directive::Dwarf.text();
            let message = format!("expected `.section`, found `{text}`, which PTX 2.0 removed");
            let end = start + text.len();
            return Err(self
                .cursor
                .error(Code::MisplacedDirective, start, end, message));
        }
        let Some(directive) = self.directive_here() else {
            return Err(self.wrong_directive("at module level"));
        };
        if let Directive::Version | Directive::Target | Directive::AddressSize = directive {
            self.cursor.advance(directive.text().len());
            let args = self
                .directive_args(directive)
                .map_err(|error| match directive {
                    Directive::AddressSize => self.wrong_address_size(*error),
                    _ => error,
                });
            self.check_header_order(directive, start);
            let stmt = args?;
            self.header_directive(stmt, start);
            self.push_directive(stmt, start);
            return Ok(());
        }
        if self.header.state < HeaderPart::Target && !self.header.reported {
            self.missing_header(start);
        }
        self.header.state = HeaderPart::Closed;
        match directive {
            Directive::Entry | Directive::Func => {
                self.function(start);
                Ok(())
            }
            Directive::Section => {
                self.cursor.advance(directive.text().len());
                self.section(start);
                Ok(())
            }
            _ if Linkage::from_directive(directive).is_some() && self.cursor.is_function() => {
                self.function(start);
                Ok(())
            }
            _ if begins_declaration(directive) => self.item_declaration(start),
            _ if directive.is_allowed_in(DirectivePosition::Module) => {
                self.cursor.advance(directive.text().len());
                let stmt = self.directive_args(directive)?;
                self.end_directive(directive)?;
                if directive == Directive::Alias {
                    self.check_alias(stmt);
                }
                self.push_directive(stmt, start);
                Ok(())
            }
            _ => Err(self.wrong_directive("at module level")),
        }
    }

    fn item_declaration(&mut self, start: usize) -> ParseResult<()> {
        let id = self.declaration()?;
        let (end, comments) = (self.cursor.last, self.cursor.trivia.comment);
        let space = self.out.module.declarations().decls[id].space;
        if self.reporter.cascade.is_desynced() && space == StateSpace::Reg {
            // Registers are declared in functions: the header of their function was not parsed.
            self.opaque_item(start, end);
        } else {
            self.out.push_item(Item::Decl(id), start, end, comments);
        }
        Ok(())
    }

    fn push_directive(&mut self, stmt: DirectiveStmt, start: usize) {
        let id = self.out.module.directives_mut().push(stmt);
        let (end, comments) = (self.cursor.last, self.cursor.trivia.comment);
        self.out
            .push_item(Item::Directive(id), start, end, comments);
    }

    /// Reports names of an alias that are not declared.
    fn check_alias(&mut self, stmt: DirectiveStmt) {
        let end = self.cursor.last;
        for i in 0..stmt.args.len() as u32 {
            let Operand::Name(name) = self.out.module.pool().get(stmt.args.at(i)) else {
                continue;
            };
            let text = self.out.module.name(name);
            if self.suppressed.contains(text.as_bytes()) {
                continue;
            }
            let mut candidates = self.cursor.src[..end].windows(text.len().max(1));
            if let Some(offset) = candidates.rposition(|w| w == text.as_bytes()) {
                self.report_undeclared_symbol(name, offset, Expected::Function);
            }
        }
    }
}

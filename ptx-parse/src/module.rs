//! The module level: header, declarations, functions, sections.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use ptx_ir::lex::Lexer;
use ptx_ir::lex::scan::{class, is};
use ptx_ir::{Code, Diagnostic, DirectiveStmt, Item, Opaque, Operand, Severity, Span, StmtSpan};
use ptx_isa::{Directive, DirectivePosition, PtxVersion, StateSpace, Target, TargetOption};

use crate::parser::{ParseResult, Parser};

/// What the header has so far: directives stand in this order.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HeaderState {
    Empty,
    Version,
    Target,
    AddressSize,
    Closed,
}

impl Parser<'_> {
    /// Reads the whole source.
    pub(crate) fn module(&mut self) {
        self.byte_order_mark();
        loop {
            self.blanks();
            if self.trivia.unterminated.is_some() {
                self.unterminated_comment();
            }
            self.trivia.comment = false;
            if self.at_end() {
                break;
            }
            self.item();
        }
        if self.header < HeaderState::Target && !self.header_reported {
            self.missing_header(self.src.len());
        }
    }

    fn byte_order_mark(&mut self) {
        if self.src.starts_with(b"\xEF\xBB\xBF") {
            self.pos = 3;
            let message = String::from("the text begins with a byte order mark");
            let d = self.error(Code::ByteOrderMark, 0, 3, message);
            self.report(d.with_help("save the file as ASCII without it"));
        }
    }

    fn item(&mut self) {
        let start = self.pos;
        let header = self.header;
        let step = match self.peek() {
            b'.' => self.item_directive(start),
            b';' => {
                let before = self.module.items.values().next_back();
                let before = match before {
                    Some(Item::Directive(id)) => Some(self.module.directives[*id].directive),
                    _ => None,
                };
                self.lone_semicolon(before);
                self.header_reported |= self.header < HeaderState::Target;
                self.opaque_item(start, self.pos);
                Ok(())
            }
            b'}' => {
                let message = String::from("this `}` closes nothing");
                Err(self.error(Code::StrayBrace, start, start + 1, message))
            }
            b'{' if self.header < HeaderState::Target || self.is_before_item() => {
                Err(self.unexpected("a directive"))
            }
            b'{' => {
                if !self.trouble.is_adrift() {
                    let d = self.unexpected("a directive before the block");
                    self.report(*d);
                }
                self.trouble.brace_mismatch();
                self.headless_function(start);
                Ok(())
            }
            b'@' if self.directive_here_at() => self.item_directive(start),
            b if is(b, class::START) && self.header >= HeaderState::Target => {
                Err(self.outside_function())
            }
            _ => Err(self.unexpected("a directive")),
        };
        if let Err(d) = step {
            // The header may still go on behind it.
            if header >= HeaderState::Target {
                self.header = header;
            }
            self.fail_item(start, *d);
            return;
        }
        match self.module.items.values().next_back() {
            Some(&Item::Function(f)) => {
                let declared = self.module.body(f).is_none();
                self.trouble.end_item(declared);
            }
            Some(Item::Section(_)) => self.trouble.end_item(false),
            _ => {}
        }
    }

    /// An item that begins at `start` cannot be understood. What drifts at module level behind such
    /// an item, or behind a `}` too many, mostly belongs to it and is not reported again.
    #[cold]
    fn fail_item(&mut self, start: usize, d: Diagnostic) {
        if self.header >= HeaderState::Target && self.empty_declaration(start) {
            self.scratch.clear();
            self.header = HeaderState::Closed;
            return self.opaque_item(start, self.last);
        }
        let at = d.span.start as usize;
        let drifting = d.code.number() < Code::UndefinedName.number();
        let error = d.severity == Severity::Error;
        let no_header = self.header == HeaderState::Empty && !self.header_reported;
        if no_header && d.code == Code::UnexpectedToken {
            self.missing_header(start);
        } else if !(drifting && self.is_cascading(start)) {
            self.report(d);
        }
        // What is missing in the header is most likely this.
        self.header_reported |= error && self.header < HeaderState::Target;
        self.trouble.desync();
        self.scratch.clear();
        let end = match self.src[start] {
            b'{' => start + 1,
            _ => self.statement_end(start),
        };
        self.excuse_names(start, end);
        if self.lacks_name(start, if at > start { at } else { end }) {
            self.note_lost_decl(false);
        }
        self.trouble.poison(end);
        self.opaque_item(start, end);
    }

    /// Whether what follows the brace here stands at module level only: the brace is one too many.
    #[cold]
    fn is_before_item(&self) -> bool {
        let rest = &self.src[self.pos + 1..];
        let next = Lexer::fragment(rest).find(|t| !t.kind.is_trivia());
        let directive = next.and_then(|t| Directive::from_text(t.span.of(rest)));
        directive.is_some_and(|d| {
            d.is_allowed_in(DirectivePosition::Module) && !d.is_allowed_in(DirectivePosition::Body)
        })
    }

    /// `@@DWARF` is the one directive without a dot.
    fn directive_here_at(&self) -> bool {
        self.src[self.pos..].starts_with(Directive::Dwarf.text().as_bytes())
    }

    #[cold]
    fn outside_function(&mut self) -> Box<Diagnostic> {
        let (end, found) = self.found();
        let message = format!("expected a directive, found {found}: statements stand in functions");
        self.error(Code::UnexpectedToken, self.pos, end, message)
    }

    pub(crate) fn opaque_item(&mut self, start: usize, end: usize) {
        self.pos = end;
        self.last = end;
        let mentions = self.mentions(start, end);
        let id = self.module.opaques.push(Opaque { mentions });
        let origin = StmtSpan::new(Span::at(start, end), false);
        self.module.push_item(Item::Opaque(id), origin);
    }

    fn item_directive(&mut self, start: usize) -> ParseResult<()> {
        if self.directive_here_at() {
            let text = Directive::Dwarf.text();
            let message = format!("`{text}` is refused since PTX 2.0");
            let mut d = self.error(Code::MisplacedDirective, start, start + text.len(), message);
            d.help = Some(String::from("use `.section`"));
            return Err(d);
        }
        let Some(directive) = self.directive_here() else {
            return Err(self.wrong_directive("at module level"));
        };
        match directive {
            Directive::Version | Directive::Target | Directive::AddressSize => {
                self.take(directive.text().len());
                let step = self.directive_args(directive);
                self.header_place(directive, start);
                let stmt = step?;
                self.header_value(stmt, start);
                self.push_directive(stmt, start);
                return Ok(());
            }
            _ => {}
        }
        if self.header < HeaderState::Target && !self.header_reported {
            self.missing_header(start);
        }
        self.header = HeaderState::Closed;
        match directive {
            Directive::Entry | Directive::Func => {
                self.function(start);
                Ok(())
            }
            Directive::Section => {
                self.take(directive.text().len());
                self.section(start);
                Ok(())
            }
            _ if ptx_ir::Linkage::from_directive(directive).is_some() && self.is_function() => {
                self.function(start);
                Ok(())
            }
            _ if Self::begins_declaration(directive) => {
                let id = self.declaration()?;
                if self.trouble.is_adrift()
                    && self.module.declarations.decls[id].space == StateSpace::Reg
                {
                    // Registers stand in functions: these lost theirs.
                    self.opaque_item(start, self.last);
                    return Ok(());
                }
                let origin = StmtSpan::new(Span::at(start, self.last), self.trivia.comment);
                self.module.push_item(Item::Decl(id), origin);
                Ok(())
            }
            _ if directive.is_allowed_in(DirectivePosition::Module) => {
                self.take(directive.text().len());
                let stmt = self.directive_args(directive)?;
                self.end_directive(directive)?;
                if directive == Directive::Alias {
                    self.alias(stmt);
                }
                self.push_directive(stmt, start);
                Ok(())
            }
            _ => Err(self.wrong_directive("at module level")),
        }
    }

    fn push_directive(&mut self, stmt: DirectiveStmt, start: usize) {
        let id = self.module.directives.push(stmt);
        let origin = StmtSpan::new(Span::at(start, self.last), self.trivia.comment);
        self.module.push_item(Item::Directive(id), origin);
    }

    /// Whether a function follows the linkage that begins here.
    fn is_function(&mut self) -> bool {
        let mark = (self.pos, self.trivia);
        let mut function = false;
        while let Some(word) = self.dot_word() {
            match Directive::from_text(word) {
                Some(Directive::Entry | Directive::Func) => {
                    function = true;
                    break;
                }
                Some(d) if ptx_ir::Linkage::from_directive(d).is_some() => self.pos += word.len(),
                _ => break,
            }
        }
        (self.pos, self.trivia) = mark;
        function
    }

    /// Both names of an alias have to be declared.
    fn alias(&mut self, stmt: DirectiveStmt) {
        for i in 0..stmt.args.len() as u32 {
            if let Operand::Name(name) = self.module.pool.get(stmt.args.at(i)) {
                let text = self.module.name(name);
                if self.is_excused(text.as_bytes()) {
                    continue;
                }
                let span = self.src[..self.last]
                    .windows(text.len().max(1))
                    .rposition(|w| w == text.as_bytes())
                    .map_or(Span::at(self.last, self.last), |at| {
                        Span::at(at, at + text.len())
                    });
                let message = format!("nothing declares `{text}` before this alias");
                self.report(Diagnostic::error(Code::UndefinedName, span, message));
            }
        }
    }

    // --- the header ---

    #[cold]
    fn missing_header(&mut self, at: usize) {
        let (code, directive, example) = match self.header {
            HeaderState::Empty => (Code::MissingVersion, Directive::Version, "8.0"),
            _ => (Code::MissingTarget, Directive::Target, "sm_90"),
        };
        let end = if at < self.src.len() {
            self.token_end().max(at + 1)
        } else {
            at
        };
        let message = format!("`{directive}` is missing before this");
        let d = Diagnostic::error(code, Span::at(at, end.min(self.src.len())), message);
        self.report(d.with_help(format!(
            "a module begins with `.version`, then `.target`: add `{directive} {example}`"
        )));
        // The rest of the header is judged as if it had been there.
        self.header = HeaderState::Target.min(match self.header {
            HeaderState::Empty => HeaderState::Version,
            _ => HeaderState::Target,
        });
        self.header_reported = true;
    }

    /// Checks that a header directive stands where it belongs.
    fn header_place(&mut self, directive: Directive, start: usize) {
        let place = match directive {
            Directive::Version => HeaderState::Version,
            Directive::Target => HeaderState::Target,
            _ => HeaderState::AddressSize,
        };
        if place as u8 > self.header as u8 + 1 && place <= HeaderState::AddressSize {
            let optional = place == HeaderState::AddressSize && self.header == HeaderState::Target;
            if !optional {
                if !self.header_reported {
                    self.missing_header(start);
                }
                self.header = self.header.max(place);
                return;
            }
        }
        // A `.target` may be repeated right behind the first.
        let again = place == HeaderState::Target && self.header == HeaderState::Target;
        if place <= self.header && !again && !self.header_reported {
            let message = format!("`{directive}` does not belong here");
            let d = self.error(Code::MisplacedHeader, start, self.last, message);
            self.report(d.with_help(
                "`.version`, `.target`, `.address_size` stand once, in this order, before everything else",
            ));
        }
        self.header = self.header.max(place);
    }

    fn header_value(&mut self, stmt: DirectiveStmt, start: usize) {
        match stmt.directive {
            Directive::Version => self.version(stmt, start),
            Directive::Target => self.target(stmt, start),
            _ => self.address_size(stmt, start),
        }
    }

    fn version(&mut self, stmt: DirectiveStmt, start: usize) {
        let number = |i| match self.module.pool.get(stmt.args.at(i)) {
            Operand::Small(n) => u8::try_from(n).unwrap_or(u8::MAX),
            _ => u8::MAX,
        };
        let version = PtxVersion::new(number(0), number(1));
        self.module.header.version.get_or_insert(version);
        let text = String::from_utf8_lossy(&self.src[start..self.last]).into_owned();
        if !version.is_known() {
            let message = format!("`{text}` names a PTX version that does not exist");
            let d = self.error(Code::UnknownVersion, start, self.last, message);
            self.report(d.with_help(format!(
                "the newest known version is {}",
                PtxVersion::NEWEST
            )));
        } else if !version.is_judged() {
            self.unknown = Severity::Warning;
            let message = format!(
                "`{text}` is newer than {}, up to which PTX is known whole",
                PtxVersion::CURRENT
            );
            let d = Diagnostic::warning(Code::NewerVersion, Span::at(start, self.last), message);
            self.report(d.with_help("words that are not known are warnings under this version"));
        }
    }

    fn target(&mut self, stmt: DirectiveStmt, start: usize) {
        for i in 0..stmt.args.len() as u32 {
            let Operand::Name(name) = self.module.pool.get(stmt.args.at(i)) else {
                continue;
            };
            let text = self.module.name(name);
            match Target::from_name(text.as_bytes()) {
                Some(target) => {
                    self.module.header.target.get_or_insert(target);
                }
                None if TargetOption::from_text(text.as_bytes()).is_some() => {}
                None => {
                    let at = self.src[start..self.last]
                        .windows(text.len())
                        .position(|w| w == text.as_bytes())
                        .map_or(start, |i| start + i);
                    let message = format!("`{text}` is no target of PTX");
                    let mut d = self.error(Code::UnknownTarget, at, at + text.len(), message);
                    d.severity = self.unknown;
                    d.help = Some(String::from(
                        "targets are `sm_75`, `sm_90a`, `sm_100f` and their like; options are `texmode_unified`, `texmode_independent`, `debug`, `map_f64_to_f32`",
                    ));
                    self.report(*d);
                }
            }
        }
    }

    fn address_size(&mut self, stmt: DirectiveStmt, start: usize) {
        match self.module.pool.get(stmt.args.at(0)) {
            Operand::Small(n @ (32 | 64)) => {
                self.module.header.address_size.get_or_insert(n as u8);
            }
            _ => {
                let message = String::from("the address size is 32 or 64");
                self.report(*self.error(Code::BadAddressSize, start, self.last, message));
            }
        }
    }
}

//! Functions and kernels: their headers and bodies.

use alloc::boxed::Box;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::scan::{self, Trivia};
use ptx_ir::raw::{self, RawModule};
use ptx_ir::{
    BodyId, Code, Diagnostic, FuncId, Function, FunctionKind, Item, Linkage, NameId, Span,
    Statement, Symbol, SymbolId, SymbolKind, TableRange,
};
use ptx_isa::internals::DirectivePosition;
use ptx_isa::{Directive, StateSpace};

use crate::cursor::{Checkpoint, ParseResult};
use crate::interface::{ParamName, ParamNames};
use crate::output::Level;
use crate::parser::Parser;
use crate::record::{Place, Record};
use crate::scope::Meaning;
use crate::statement_extent::declared_space;

/// A function whose header is being parsed.
struct Header {
    id: FuncId,
    function: Function,
    name_span: Span,
    param_names: ParamNames,
}

impl Header {
    fn new(id: FuncId, start: usize, param_names: ParamNames) -> Self {
        Self {
            id,
            function: Function::EMPTY,
            name_span: Span::at(start, start),
            param_names,
        }
    }
}

impl Parser<'_> {
    /// Parses a function or kernel, which begins at `start` with its linkage, if it has any.
    pub(crate) fn function(&mut self, start: usize) {
        // The function comes before the functions that are declared in its body.
        let id = self.out.module.functions_mut().push(Function::EMPTY);
        let depth = self.scopes.depth();
        let mut header = Header::new(id, start, ParamNames::Bind);
        if let Err(error) = self.function_header(&mut header) {
            self.report_unless_cascading(start, in_header(start, *error));
            self.out.scratch.clear();
            header.function.raw_header = true;
            self.skip_malformed_header(start);
        }
        if self.scopes.depth() == depth {
            self.scopes.open_scope();
        }
        let defines = self.cursor.skip_to(b'{');
        self.check_redefinition(&header, defines);
        self.define(id, start, header.function);
    }

    /// Parses the statements of a block without a header.
    pub(crate) fn headless_function(&mut self, start: usize) {
        self.suppressed.suppress_function();
        self.reporter.cascade.poison(start + 1);
        self.scopes.open_scope();
        let id = self.out.module.functions_mut().push(Function::EMPTY);
        let mut function = Function::EMPTY;
        function.raw_header = true;
        self.define(id, start, function);
    }

    /// Whether the function at the cursor is only declared: its `;` comes before a brace.
    pub(crate) fn is_declaration(&self) -> bool {
        let following = &self.cursor.src[self.cursor.pos..];
        let entry = Directive::Entry.text().as_bytes();
        Lexer::fragment(following)
            .map(|t| t.span.of(following))
            .find(|t| matches!(*t, b";" | b"{" | b"}") || *t == entry)
            .is_some_and(|t| t == b";")
    }

    /// Parses the declaration of a function in a body. It belongs to the tables of the module.
    pub(crate) fn inner_function(&mut self, start: usize) -> ParseResult<()> {
        let id = self.out.module.functions().next_id();
        let depth = self.scopes.depth();
        let mut header = Header::new(id, start, ParamNames::Ignore);
        self.out.level = Level::Module;
        let result = self.function_header(&mut header);
        self.out.level = Level::Body;
        if self.scopes.depth() > depth {
            self.scopes.close_scope();
        }
        result?;
        if !self.cursor.eat(b';') {
            self.missing_semicolon("`;`")?;
        }
        self.out.module.functions_mut().push(header.function);
        self.push(Statement::Function(id), start);
        Ok(())
    }

    /// Parses the body, or the `;` in its place, and adds the function. The scope of the parameters is open.
    fn define(&mut self, id: FuncId, start: usize, mut function: Function) {
        let is_declaration = !function.raw_header && self.cursor.eat_optional(b';');
        if !is_declaration
            && !self.cursor.skip_to(b'{')
            && !function.raw_header
            && let Err(error) = self.missing_end(function.kind)
        {
            self.report(in_header(start, *error));
            function.raw_header = true;
            self.skip_malformed_header(start);
        }
        let comments = self.cursor.trivia.comment;
        // A block after the `;` of a declaration does not belong to it.
        if !is_declaration && self.cursor.skip_to(b'{') {
            self.function = Some(id);
            let body = self.visited_body(id);
            function.body = Some(body.unwrap_or_else(|| self.kept_body()));
            self.scopes.bind_exported();
        } else {
            self.end_scope();
        }
        if let Some(slot) = self.out.module.functions_mut().get_mut(id) {
            *slot = function;
        }
        let end = self.cursor.last.max(start);
        self.out.push_item(Item::Function(id), start, end, comments);
    }

    /// Parses the body at the cursor and keeps it.
    fn kept_body(&mut self) -> BodyId {
        let body = self.body();
        self.out.keep_body(body, self.cursor.pos)
    }

    /// Closes the scope of a function whose body is not parsed. Later text cannot use its parameters.
    pub(crate) fn end_scope(&mut self) {
        self.scopes.close_scope();
        self.resolve_labels();
        raw::clear(&mut self.out.body);
    }

    /// Parses the header of the function at `start`, where the cursor is, and returns the offset of the `{` after it.
    pub(crate) fn header_before_body(&mut self, start: usize, id: FuncId) -> Option<usize> {
        let mut header = Header::new(id, start, ParamNames::Bind);
        self.function_header(&mut header).ok()?;
        self.cursor.skip_to(b'{').then_some(self.cursor.pos)
    }

    /// Handles a declaration without its `;`, which ptxas does not require after a `.func` if the next item
    /// follows.
    fn missing_end(&mut self, kind: FunctionKind) -> ParseResult<()> {
        let checkpoint = self.cursor.checkpoint();
        self.cursor.skip_trivia();
        if let Some(error) = self.missing_opening(checkpoint) {
            return Err(error);
        }
        if kind == FunctionKind::Func && (self.cursor.peek() == b'.' || self.cursor.at_end()) {
            self.cursor.reset(checkpoint);
            return Ok(());
        }
        if self.is_before_body() {
            return Err(self.cursor.unexpected("`{` or `;`"));
        }
        self.missing_semicolon("`{` or `;`")?;
        // The next statements may belong to the body.
        self.reporter.cascade.brace_mismatch();
        Ok(())
    }

    /// The error of a header without the `(` before its parameters, or the `{` before its body. `header_end` is its end.
    #[cold]
    fn missing_opening(&mut self, header_end: Checkpoint) -> Option<Box<Record>> {
        let (src, pos) = (self.cursor.src, self.cursor.pos);
        let word = self.cursor.dot_word();
        let space = word.and_then(declared_space);
        let (mark, part) = match space {
            Some(StateSpace::Param) if closes_list(&src[pos..]) => ("(", "parameters"),
            None if word.is_none() && self.cursor.at_ident() => ("{", "body"),
            Some(StateSpace::Reg | StateSpace::Local) => ("{", "body"),
            _ => return None,
        };
        if mark == "{" && !self.closes_later(pos) {
            return None;
        }
        let (end, next_token) = self.cursor.describe_token();
        let message = format!("expected `{mark}` before the {part}, found {next_token}");
        self.cursor.reset(header_end);
        let insertion = self.cursor.last;
        let error = Diagnostic::error(Code::UnexpectedToken, Span::at(pos, end), message)
            .with_help(format!("add `{mark}` after the header"));
        let text = if mark == "{" { "\n{" } else { mark };
        Some(Box::new(
            error.with_fix(Span::at(insertion, insertion), text).into(),
        ))
    }

    /// Whether tokens that belong neither to a header nor to a body are next, and then a `{`.
    fn is_before_body(&self) -> bool {
        let following = &self.cursor.src[self.cursor.pos..];
        Lexer::fragment(following)
            .map(|t| t.span.of(following))
            .take_while(|t| {
                let directive = Directive::from_text(t);
                *t != b";" && !matches!(directive, Some(Directive::Entry | Directive::Func))
            })
            .any(|t| t == b"{")
    }

    /// Skips a header that cannot be parsed: its names and its brace are unreliable.
    #[cold]
    fn skip_malformed_header(&mut self, start: usize) {
        let end = header_end(self.cursor.src, self.cursor.pos, start);
        self.cursor.pos = end;
        self.cursor.last = end;
        self.suppress_names(start, end);
        self.lost_declaration(Level::Module);
        self.lost_declaration(Level::Body);
        self.reporter.cascade.brace_mismatch();
        if self.cursor.skip_to(b'{') {
            self.reporter.cascade.poison(self.cursor.pos + 1);
        }
    }

    /// Parses a header up to the body or the `;`, and opens the scope of the body.
    fn function_header(&mut self, header: &mut Header) -> ParseResult<()> {
        self.function_kind(&mut header.function)?;
        self.cursor.skip_trivia();
        let mut result_names = alloc::vec::Vec::new();
        if self.cursor.peek() == b'(' && header.function.kind == FunctionKind::Func {
            header.function.interface.has_returns = true;
            header.function.interface.returns = self.results(&mut result_names)?;
        }
        let (start, end) = self.cursor.expect_ident("the name of the function")?;
        self.check_reserved(start, end);
        let name = self.intern(start, end);
        header.name_span = Span::at(start, end);
        header.function.name = name;
        header.function.symbol = Some(self.bind_function(header, start));
        // Results and parameters belong to the scope of the body. The function's name belongs to the scope outside.
        self.scopes.open_scope();
        if header.param_names == ParamNames::Bind {
            self.bind_results(header.function.interface.returns, &result_names);
        }
        let position = match header.function.kind {
            FunctionKind::Entry => DirectivePosition::Entry,
            FunctionKind::Func => DirectivePosition::Func,
        };
        self.params_and_directives(&mut header.function.interface, position, header.param_names)
    }

    /// Parses the linkage, attributes and kind of a function.
    fn function_kind(&mut self, function: &mut Function) -> ParseResult<()> {
        loop {
            let Some(word) = self.cursor.dot_word() else {
                return Err(self.cursor.unexpected("`.entry` or `.func`"));
            };
            let Some(directive) = Directive::from_text(word) else {
                return Err(self.wrong_directive("before a function"));
            };
            match directive {
                Directive::Entry | Directive::Func => {
                    self.cursor.advance(word.len());
                    function.kind = if directive == Directive::Entry {
                        FunctionKind::Entry
                    } else {
                        FunctionKind::Func
                    };
                    break;
                }
                Directive::Attribute => {
                    self.cursor.advance(word.len());
                    function.attributes = self.attributes()?;
                }
                _ => {
                    let linkage = Linkage::from_directive(directive);
                    if linkage.is_none() || function.linkage.is_some() {
                        return Err(self.wrong_directive("before a function"));
                    }
                    self.cursor.advance(word.len());
                    function.linkage = linkage;
                }
            }
        }
        if self.directive_here() == Some(Directive::Attribute) {
            if function.kind == FunctionKind::Entry {
                return Err(self.cursor.unexpected("the name of the kernel"));
            }
            self.cursor.advance(Directive::Attribute.text().len());
            function.attributes = self.attributes()?;
        }
        Ok(())
    }

    /// Binds the results, which come before the function's name.
    fn bind_results(&mut self, results: TableRange, names: &[ParamName]) {
        for (index, name) in (results.start as usize..).zip(names) {
            let Some(&param) = self.out.module.params().get(index) else {
                return;
            };
            let binding = self.bind_param(&param, *name);
            self.out.module.params_mut()[index].binding = binding;
        }
    }

    /// The symbol of a function, whose name is at `offset`. The first declaration creates it.
    fn bind_function(&mut self, header: &Header, offset: usize) -> SymbolId {
        let name = header.function.name;
        if let Some(Meaning::Symbol(symbol)) = self.scopes.find(name).map(|b| b.meaning) {
            return symbol;
        }
        let symbol = self
            .out
            .module
            .symbols_mut()
            .push(Symbol::new(name, SymbolKind::Function(header.id)));
        self.scopes.bind(name, Meaning::Symbol(symbol), offset);
        if header.param_names == ParamNames::Ignore {
            self.scopes.export(name, symbol, offset);
        }
        symbol
    }

    /// Reports the second body of a function, and a function with the name of a variable.
    fn check_redefinition(&mut self, header: &Header, defines: bool) {
        let Some(symbol) = header.function.symbol else {
            return;
        };
        let functions = self.out.module.functions();
        let is_duplicate = match self.out.module.symbols()[symbol].kind {
            SymbolKind::Function(_) if !defines => return,
            SymbolKind::Function(first) => functions.get(first).is_some_and(|f| f.body.is_some()),
            _ => true,
        };
        if is_duplicate {
            self.report_redefinition(header.function.name, header.name_span);
        } else {
            self.out.module.symbols_mut()[symbol].kind = SymbolKind::Function(header.id);
        }
    }

    #[cold]
    fn report_redefinition(&mut self, name: NameId, span: Span) {
        let text = self.out.module.name(name);
        let message = format!("duplicate declaration of `{text}` in this scope");
        let error = Diagnostic::error(Code::DuplicateName, span, message);
        self.report(match self.scopes.find_at(name, 0) {
            Some(first) => {
                let first_span = Span::new(first.offset, first.offset + text.len() as u32);
                error.with_label(first_span, "first declared here")
            }
            None => error,
        });
    }
}

/// Marks an error as one in the header of the function at `start`.
fn in_header(start: usize, mut record: Record) -> Record {
    record.place = Some(Place::Header { start });
    record
}

/// Whether a `)` follows before a statement or a body.
fn closes_list(text: &[u8]) -> bool {
    let mut tokens = Lexer::fragment(text).map(|t| t.span.of(text));
    let end = tokens.find(|t| matches!(*t, b")" | b"(" | b"{" | b"}" | b";"));
    end == Some(b")")
}

/// The end of the header that begins at `start` and cannot be parsed from `pos` on: the offset of its `{`, or the end of the
/// last token before the next item.
fn header_end(src: &[u8], pos: usize, start: usize) -> usize {
    let mut end = pos.max(start);
    let (mut new_line, mut depth) = (false, 0usize);
    for token in Lexer::fragment(&src[pos..]) {
        let text = token.span.of(&src[pos..]);
        let begins_item = token.kind == TokenKind::DotWord
            && end > start
            && (new_line || depth == 0)
            && matches!(
                Directive::from_text(text),
                Some(Directive::Entry | Directive::Func | Directive::Visible | Directive::Weak)
            );
        let is_brace = text == b"{" || text == b"}" && end > start;
        if is_brace || begins_item {
            break;
        }
        match text {
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        new_line = token.kind.is_trivia() && text.contains(&b'\n');
        if !token.kind.is_trivia() {
            end = pos + token.span.end as usize;
        }
        // A `;` inside the header, as after a pragma, comes before the brace.
        if text == b";" {
            let next = scan::skip_trivia(src, end, &mut Trivia::default());
            let in_list = closes_list(&src[end..]);
            if scan::peek(src, next) != b'{' && !in_list {
                break;
            }
        }
    }
    end
}

//! Functions, kernels and call prototypes: what stands before a body.

use alloc::format;
use ptx_ir::lex::Lexer;
use ptx_ir::lex::scan::{self, Trivia};
use ptx_ir::{
    Binding, Code, Diagnostic, DirectiveStmt, FuncId, Function, FunctionKind, Interface, Item,
    NameId, Operand, Param, Pointer, ScopeId, Span, Statement, StmtSpan, Symbol, SymbolId,
    SymbolKind, TableRange, TypeName, Var,
};
use ptx_isa::{Directive, DirectivePosition, StateSpace, TypeKind};

use crate::declaration::{Specifiers, space};
use crate::parser::{ParseResult, Parser};
use crate::scope::Meaning;

impl Parser<'_> {
    /// A function or kernel whose linkage, if any, begins here.
    pub(crate) fn function(&mut self, start: usize) {
        let mut function = Function::EMPTY;
        // Functions declared inside of it come behind it.
        let id = self.module.functions.push(Function::EMPTY);
        let depth = self.names.depth();
        let mut name_at = (start, start);
        if let Err(d) = self.header(id, &mut function, &mut name_at) {
            self.report_unless_spoiled(start, *d);
            self.scratch.clear();
            function.raw_header = true;
            self.skip_header(start);
            self.end_wrong_header(start);
        }
        if self.names.depth() == depth {
            self.names.open_scope();
        }
        let defines = self.peek_body();
        self.check_redefinition(id, &function, defines, name_at);
        self.define(id, start, function);
    }

    /// A block without a header: its statements are read all the same.
    pub(crate) fn headless_function(&mut self, start: usize) {
        self.excuse_all();
        self.trouble.poison(start + 1);
        self.names.open_scope();
        let id = self.module.functions.push(Function::EMPTY);
        self.define(
            id,
            start,
            Function {
                raw_header: true,
                ..Function::EMPTY
            },
        );
    }

    /// Whether a function that begins here is only declared: its `;` comes before a brace.
    pub(crate) fn is_declaration(&self) -> bool {
        let rest = &self.src[self.pos..];
        let entry = Directive::Entry.text().as_bytes();
        Lexer::fragment(rest)
            .map(|t| t.span.of(rest))
            .find(|t| matches!(*t, b";" | b"{" | b"}") || *t == entry)
            .is_some_and(|t| t == b";")
    }

    /// The declaration of a function inside a body. It belongs to the tables of the module.
    pub(crate) fn inner_function(&mut self, start: usize) -> ParseResult<()> {
        let mut function = Function::EMPTY;
        let id = self.module.functions.next_id();
        let depth = self.names.depth();
        (self.in_body, self.in_inner_function) = (false, true);
        let step = self.header(id, &mut function, &mut (start, start));
        (self.in_body, self.in_inner_function) = (true, false);
        self.binds_params = true;
        if self.names.depth() > depth {
            self.names.close_scope();
        }
        step?;
        if !self.eat(b';') {
            self.missing_semicolon("`;`")?;
        }
        self.module.functions.push(function);
        self.push(Statement::Function(id), start, self.last);
        Ok(())
    }

    /// Reads the body, or the `;` in its place; the scope of the parameters is open.
    fn define(&mut self, id: FuncId, start: usize, mut function: Function) {
        let declared = !function.raw_header && self.eat_ahead(b';');
        if !declared
            && !self.peek_body()
            && !function.raw_header
            && let Err(d) = self.missing_end(function.kind)
        {
            self.report(*d);
            function.raw_header = true;
            self.skip_header(start);
            self.end_wrong_header(start);
        }
        let comment = self.trivia.comment;
        // A block behind the `;` of a declaration is none of its business.
        if !declared && self.peek_body() {
            self.in_body = true;
            let body = self.body();
            function.body = Some(self.keep_body(body));
            // What was declared inside goes on as a name of the module.
            for (name, symbol, at) in core::mem::take(&mut self.late_symbols) {
                if self.names.find(name).is_none() {
                    self.names.bind(name, Meaning::Symbol(symbol), at);
                }
            }
        } else {
            // A declaration: nothing can mention its parameters.
            self.close_scope(ScopeId::new(0));
            self.settle_labels();
            self.body.clear();
        }
        if let Some(place) = self.module.functions.get_mut(id) {
            *place = function;
        }
        let origin = StmtSpan::new(Span::at(start, self.last.max(start)), comment);
        self.module.push_item(Item::Function(id), origin);
    }

    /// Behind a header that was not understood and skipped: its names and its brace are in doubt.
    #[cold]
    fn end_wrong_header(&mut self, start: usize) {
        self.excuse_names(start, self.last);
        self.note_lost_decl(false);
        self.note_lost_decl(true);
        self.trouble.brace_mismatch();
        if self.peek_body() {
            self.trouble.poison(self.pos + 1);
        }
    }

    /// A declaration without its `;`, if the next item begins here. The assembler asks none of a
    /// `.func`.
    fn missing_end(&mut self, kind: FunctionKind) -> ParseResult<()> {
        let end = (self.pos, self.trivia);
        self.blanks();
        if kind == FunctionKind::Func && (self.peek() == b'.' || self.at_end()) {
            (self.pos, self.trivia) = end;
            return Ok(());
        }
        if self.is_before_body() {
            return Err(self.unexpected("`{` or `;`"));
        }
        self.missing_semicolon("`{` or `;`")?;
        // Statements of the body may follow.
        self.trouble.brace_mismatch();
        Ok(())
    }

    /// Whether a `{` follows something that belongs neither to a header nor to a body.
    fn is_before_body(&self) -> bool {
        let rest = &self.src[self.pos..];
        Lexer::fragment(rest)
            .map(|t| t.span.of(rest))
            .take_while(|t| {
                let directive = Directive::from_text(t);
                *t != b";" && !matches!(directive, Some(Directive::Entry | Directive::Func))
            })
            .any(|t| t == b"{")
    }

    fn peek_body(&mut self) -> bool {
        let mut seen = self.trivia;
        let next = ptx_ir::lex::scan::skip_trivia(self.src, self.pos, &mut seen);
        let body = ptx_ir::lex::scan::peek(self.src, next) == b'{';
        if body {
            self.trivia = seen;
            self.pos = next;
        }
        body
    }

    /// Moves to the `{` or before the `;` of a header that was not understood.
    fn skip_header(&mut self, start: usize) {
        let mut end = self.pos.max(start);
        let (mut fresh, mut depth) = (false, 0usize);
        for token in ptx_ir::lex::Lexer::fragment(&self.src[self.pos..]) {
            let text = token.span.of(&self.src[self.pos..]);
            let item = token.kind == ptx_ir::lex::TokenKind::DotWord
                && end > start
                && (fresh || depth == 0)
                && matches!(
                    Directive::from_text(text),
                    Some(Directive::Entry | Directive::Func | Directive::Visible | Directive::Weak)
                );
            let brace = text == b"{" || text == b"}" && end > start;
            if brace || item {
                break;
            }
            match text {
                b"(" => depth += 1,
                b")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            fresh = token.kind.is_trivia() && text.contains(&b'\n');
            if !token.kind.is_trivia() {
                end = self.pos + token.span.end as usize;
            }
            // A `;` inside the header, as behind a pragma, comes before the brace.
            if text == b";" {
                let mut seen = Trivia::default();
                let next = scan::skip_trivia(self.src, end, &mut seen);
                if scan::peek(self.src, next) != b'{' {
                    break;
                }
            }
        }
        self.pos = end;
        self.last = end;
    }

    fn header(
        &mut self,
        id: FuncId,
        function: &mut Function,
        name_at: &mut (usize, usize),
    ) -> ParseResult<()> {
        loop {
            let Some(word) = self.dot_word() else {
                return Err(self.unexpected("`.entry` or `.func`"));
            };
            let Some(directive) = Directive::from_text(word) else {
                return Err(self.wrong_directive("before a function"));
            };
            match directive {
                Directive::Entry | Directive::Func => {
                    self.take(word.len());
                    let entry = directive == Directive::Entry;
                    function.kind = if entry {
                        FunctionKind::Entry
                    } else {
                        FunctionKind::Func
                    };
                    break;
                }
                Directive::Attribute => {
                    self.take(word.len());
                    function.attributes = self.attributes()?;
                }
                _ => {
                    match ptx_ir::Linkage::from_directive(directive)
                        .filter(|_| function.linkage.is_none())
                    {
                        Some(l) => {
                            self.take(word.len());
                            function.linkage = Some(l);
                        }
                        None => return Err(self.wrong_directive("before a function")),
                    }
                }
            }
        }
        if self.directive_here() == Some(Directive::Attribute) {
            self.take(Directive::Attribute.text().len());
            function.attributes = self.attributes()?;
        }
        self.blanks();
        let first = self.module.params.len();
        self.binds_params = false;
        self.param_places.clear();
        let returns = if self.peek() == b'(' && function.kind == FunctionKind::Func {
            function.interface.has_returns = true;
            self.params()
        } else {
            Ok(TableRange::default())
        };
        self.binds_params = !self.in_inner_function;
        function.interface.returns = returns?;
        let (start, end) = self.ident("the name of the function")?;
        function.name = self.intern(start, end);
        *name_at = (start, end);
        function.symbol = self.bind_function(id, function.name, start);
        // Results and parameters belong to the scope of the body, under the function's own name.
        self.names.open_scope();
        if self.binds_params {
            self.bind_returns(first);
        }
        let place = match function.kind {
            FunctionKind::Entry => DirectivePosition::Entry,
            FunctionKind::Func => DirectivePosition::Func,
        };
        self.params_and_directives(&mut function.interface, place)
    }

    /// Binds the results, which stand before the function's name.
    fn bind_returns(&mut self, first: usize) {
        for i in 0..self.param_places.len() {
            let (Some(&p), at) = (self.module.params.get(first + i), self.param_places[i]) else {
                return;
            };
            if let Some(name) = p.name {
                let binding = self.bind_param(name, p.space, p.ty, p.vector, at);
                self.module.params[first + i].binding = binding;
            }
        }
    }

    /// The interface of a prototype: `(results) _ (parameters) directives`. Its parameters go to
    /// the tables of the module, and their names mean nothing.
    pub(crate) fn prototype(&mut self) -> ParseResult<Interface> {
        let mut interface = Interface::default();
        let in_body = core::mem::replace(&mut self.in_body, false);
        let binds = core::mem::replace(&mut self.binds_params, false);
        let step = self.prototype_parts(&mut interface);
        self.in_body = in_body;
        self.binds_params = binds;
        step.map(|()| interface)
    }

    fn prototype_parts(&mut self, interface: &mut Interface) -> ParseResult<()> {
        self.blanks();
        if self.peek() == b'(' {
            interface.has_returns = true;
            interface.returns = self.params()?;
        }
        self.blanks();
        if self.at_ident() || self.peek() != b'_' {
            return Err(self.unexpected("`_` in place of the function's name"));
        }
        self.take(1);
        self.params_and_directives(interface, DirectivePosition::Prototype)
    }

    fn params_and_directives(
        &mut self,
        interface: &mut Interface,
        place: DirectivePosition,
    ) -> ParseResult<()> {
        if self.eat_ahead(b'(') {
            self.pos -= 1;
            interface.has_params = true;
            interface.params = self.params()?;
        }
        self.interface_directives(interface, place)
    }

    /// Directives between the parameters and the body.
    fn interface_directives(
        &mut self,
        interface: &mut Interface,
        place: DirectivePosition,
    ) -> ParseResult<()> {
        let start = self.module.interface_directives.len() as u32;
        let mut len = 0;
        loop {
            let mut seen = self.trivia;
            let next = ptx_ir::lex::scan::skip_trivia(self.src, self.pos, &mut seen);
            if ptx_ir::lex::scan::peek(self.src, next) != b'.' {
                break;
            }
            let mark = (self.pos, self.trivia);
            let Some(directive) = self.directive_here() else {
                let last = self.last;
                let item = self.empty_declaration(next);
                (self.pos, self.trivia, self.last) = (mark.0, mark.1, last);
                if item {
                    break;
                }
                return Err(self.wrong_directive("here"));
            };
            if !directive.is_allowed_in(place) {
                if directive.is_allowed_in(DirectivePosition::Module)
                    || Self::begins_declaration(directive)
                {
                    // The next item: the end of this one is missing.
                    (self.pos, self.trivia) = mark;
                    break;
                }
                return Err(self.wrong_directive("before a body"));
            }
            self.take(directive.text().len());
            let stmt: DirectiveStmt = self.directive_args(directive)?;
            self.end_directive(directive)?;
            self.module.interface_directives.push(stmt);
            len += 1;
        }
        interface.directives = TableRange { start, len };
        Ok(())
    }

    /// `( parameter, … )`
    fn params(&mut self) -> ParseResult<TableRange> {
        self.take(1);
        let start = self.module.params.len() as u32;
        if !self.eat(b')') {
            loop {
                let param = self.param()?;
                self.module.params.push(param);
                if self.eat(b',') {
                    continue;
                }
                self.expect(b')', "`,` or `)` behind a parameter")?;
                break;
            }
        }
        Ok(TableRange {
            start,
            len: self.module.params.len() as u32 - start,
        })
    }

    fn param(&mut self) -> ParseResult<Param> {
        let mut s = Specifiers::EMPTY;
        let mut ptr = None;
        let mut late_align = Operand::Absent;
        self.blanks();
        while self.peek() == b'.' {
            match self.directive_here() {
                // Behind the type only the pointer and the alignment are left.
                d if s.ty.is_some()
                    && d != Some(Directive::Align)
                    && (d != Some(Directive::Ptr) || ptr.is_some()) =>
                {
                    return Err(self.unexpected("the name of the parameter"));
                }
                Some(Directive::Ptr) if ptr.is_none() => {
                    self.take(Directive::Ptr.text().len());
                    ptr = Some(self.pointer()?);
                }
                Some(Directive::Align) if s.ty.is_some() => {
                    self.take(Directive::Align.text().len());
                    late_align = self.integer()?;
                }
                _ => self.specifier(&mut s)?,
            }
            self.blanks();
        }
        let wrong = |p: &mut Self, what| Err(p.unexpected(what));
        let Some(space) = s.space else {
            return wrong(self, "`.param` or `.reg` before a parameter");
        };
        let Some(ty) = s.ty else {
            return wrong(self, "the type of the parameter");
        };
        let sink = self.peek() == b'_' && !self.at_ident();
        let (name, at) = if sink {
            self.take(1);
            (None, (self.pos, self.pos))
        } else {
            let at = self.ident("the name of the parameter")?;
            (Some(self.intern(at.0, at.1)), at)
        };
        let dims = self.dimensions()?;
        self.param_places.push(at);
        let binding = match name {
            Some(name) if self.binds_params => self.bind_param(name, space, ty, s.vector, at),
            _ => Binding::None,
        };
        Ok(Param {
            space,
            align: s.align,
            vector: s.vector,
            ty,
            trailing_align: late_align,
            ptr,
            name,
            binding,
            dims,
        })
    }

    fn bind_param(
        &mut self,
        name: NameId,
        space: StateSpace,
        ty: TypeName,
        vector: u8,
        at: (usize, usize),
    ) -> Binding {
        if space == StateSpace::Reg {
            return self.bind_register(name, ty, vector, None, None, at);
        }
        let var = Var {
            name,
            number: None,
            space,
            scope: self.scope,
            stmt: None,
        };
        self.bind_var(var, None, at)
    }

    /// What follows `.ptr`.
    fn pointer(&mut self) -> ParseResult<Pointer> {
        let mut pointer = Pointer {
            space: None,
            opaque: None,
            align: Operand::Absent,
        };
        while let Some(word) = self.dot_word() {
            if let Some(found) = space(word) {
                self.take(word.len());
                pointer.space = Some(found);
            } else if Directive::from_text(word) == Some(Directive::Align) {
                self.take(word.len());
                pointer.align = self.integer()?;
            } else if let Some(ty) = Self::type_of(word)
                .filter(|t| t.kind() == TypeKind::Opaque && pointer.opaque.is_none())
            {
                self.take(word.len());
                pointer.opaque = Some(ty);
            } else {
                break;
            }
        }
        Ok(pointer)
    }

    /// The symbol of a function, made at its first declaration.
    fn bind_function(&mut self, id: FuncId, name: NameId, at: usize) -> Option<SymbolId> {
        if let Some(Meaning::Symbol(symbol)) = self.names.find(name).map(|b| b.meaning) {
            return Some(symbol);
        }
        let kind = SymbolKind::Function(id);
        let symbol = self.module.symbols.push(Symbol {
            name,
            number: None,
            kind,
        });
        self.names.bind(name, Meaning::Symbol(symbol), at);
        if self.in_inner_function {
            self.late_symbols.push((name, symbol, at));
        }
        Some(symbol)
    }

    /// Reports a second body for one name, and the name of a variable.
    fn check_redefinition(
        &mut self,
        id: FuncId,
        function: &Function,
        defines: bool,
        at: (usize, usize),
    ) {
        let Some(symbol) = function.symbol else {
            return;
        };
        let clash = match self.module.symbols[symbol].kind {
            SymbolKind::Function(_) if !defines => return,
            SymbolKind::Function(first) => self
                .module
                .functions
                .get(first)
                .is_some_and(|f| f.body.is_some()),
            _ => true,
        };
        if !clash {
            self.module.symbols[symbol].kind = SymbolKind::Function(id);
            return;
        }
        let text = self.module.name(function.name);
        let message = format!("`{text}` is declared twice in one scope");
        let mut d = Diagnostic::error(Code::DuplicateName, Span::at(at.0, at.1), message);
        if let Some(first) = self.names.find_outward(function.name, 0) {
            let place = Span::new(first.at, first.at + text.len() as u32);
            d = d.with_label(place, "first declared here");
        }
        self.report(d);
    }
}

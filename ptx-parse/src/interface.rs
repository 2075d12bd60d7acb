//! The interface of a function or a prototype: results, parameters and directives.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::lex::scan;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::name::split_numeric_suffix_str;
use ptx_ir::raw::RawModule;
use ptx_ir::{
    Binding, Code, Interface, Linkage, NameId, Operand, Param, Pointer, RegDecl, Span, TableRange,
    Var,
};
use ptx_isa::{Directive, DirectivePosition, ScalarType, StateSpace, TypeKind};

use crate::cursor::ParseResult;
use crate::declaration::{DeclaredName, Specifiers};
use crate::output::Level;
use crate::parser::Parser;
use crate::record::{Cause, Record};
use crate::statement_extent::{begins_declaration, declared_space};

/// Whether the names of parameters are declared in the scope.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum ParamNames {
    /// The parameters of a function, for its body.
    Bind,
    /// The parameters of a prototype, or of a function declared in a body.
    Ignore,
}

/// The name of a parameter, if it has one, and where it is.
pub(crate) type ParamName = Option<DeclaredName>;

impl Parser<'_> {
    /// The interface of a prototype: `(results) _ (parameters) directives`. Its parameters go to the
    /// tables of the module.
    pub(crate) fn prototype(&mut self) -> ParseResult<Interface> {
        let level = core::mem::replace(&mut self.out.level, Level::Module);
        let result = self.prototype_parts();
        self.out.level = level;
        result
    }

    fn prototype_parts(&mut self) -> ParseResult<Interface> {
        let mut interface = Interface::default();
        self.cursor.skip_trivia();
        if self.cursor.peek() == b'(' {
            interface.has_returns = true;
            interface.returns = self.params(ParamNames::Ignore)?;
        }
        self.cursor.skip_trivia();
        if self.cursor.at_ident() || self.cursor.peek() != b'_' {
            return Err(self.cursor.unexpected("`_` instead of the function's name"));
        }
        self.cursor.advance(1);
        let position = DirectivePosition::Prototype;
        self.params_and_directives(&mut interface, position, ParamNames::Ignore)?;
        Ok(interface)
    }

    pub(crate) fn params_and_directives(
        &mut self,
        interface: &mut Interface,
        position: DirectivePosition,
        names: ParamNames,
    ) -> ParseResult<()> {
        if self.cursor.eat_optional(b'(') {
            self.cursor.pos -= 1;
            interface.has_params = true;
            interface.params = self.params(names)?;
        }
        self.interface_directives(interface, position)
    }

    /// Directives between the parameters and the body.
    fn interface_directives(
        &mut self,
        interface: &mut Interface,
        position: DirectivePosition,
    ) -> ParseResult<()> {
        let start = self.out.module.interface_directives().len() as u32;
        let mut len = 0;
        loop {
            let next = self.cursor.next_token();
            if scan::peek(self.cursor.src, next) != b'.' {
                break;
            }
            let directive_start = self.cursor.checkpoint();
            let Some(directive) = self.directive_here() else {
                let item = self.empty_declaration(next);
                self.cursor.reset(directive_start);
                if item {
                    break;
                }
                return Err(self.wrong_directive("before a body"));
            };
            if !directive.is_allowed_in(position) {
                if directive.is_allowed_in(DirectivePosition::Module)
                    || begins_declaration(directive)
                {
                    // The next item: the end of this one is missing.
                    self.cursor.reset(directive_start);
                    break;
                }
                return Err(self.wrong_directive("before a body"));
            }
            self.cursor.advance(directive.text().len());
            let stmt = self.directive_args(directive)?;
            self.end_directive(directive)?;
            self.out.module.interface_directives_mut().push(stmt);
            len += 1;
        }
        interface.directives = TableRange { start, len };
        Ok(())
    }

    /// `( parameter, … )`
    fn params(&mut self, names: ParamNames) -> ParseResult<TableRange> {
        self.param_list(|parser| {
            let (mut param, name) = parser.param()?;
            if names == ParamNames::Bind {
                param.binding = parser.bind_param(&param, name);
            }
            Ok(param)
        })
    }

    /// `( result, … )` of a function, whose names are bound after its own.
    pub(crate) fn results(&mut self, names: &mut Vec<ParamName>) -> ParseResult<TableRange> {
        self.param_list(|parser| {
            let (param, name) = parser.param()?;
            names.push(name);
            Ok(param)
        })
    }

    fn param_list(
        &mut self,
        mut param: impl FnMut(&mut Self) -> ParseResult<Param>,
    ) -> ParseResult<TableRange> {
        self.cursor.advance(1);
        let start = self.out.module.params().len() as u32;
        if !self.cursor.eat(b')') {
            loop {
                let param = param(self)?;
                self.out.module.params_mut().push(param);
                if self.cursor.eat(b',') {
                    continue;
                }
                let end = self.cursor.last;
                let closed = self.cursor.expect(b')', "`,` or `)` after a parameter");
                closed.map_err(|d| self.missing_parenthesis(end, d))?;
                break;
            }
        }
        let len = self.out.module.params().len() as u32 - start;
        Ok(TableRange { start, len })
    }

    /// The error of a list of parameters that ends without a `)`.
    #[cold]
    fn missing_parenthesis(&self, end: usize, d: Box<Record>) -> Box<Record> {
        let next = &self.cursor.src[self.cursor.pos..];
        let words = Lexer::fragment(next).filter(|t| !t.kind.is_trivia());
        let mut words = words.map(|t| t.span.of(next));
        let word = words.next();
        if word == Some(b";") {
            let comma = match words.next() {
                Some(b")") => "",
                Some(word) if declared_space(word) == Some(StateSpace::Param) => ",",
                _ => return Self::close_list(end, *d),
            };
            let span = d.error.span;
            let d = d
                .with_help("parameters are separated with `,`")
                .with_fix(span, comma);
            return Box::new(match comma {
                // It may be in the wrong place.
                "" => d,
                _ => d.machine_applicable(),
            });
        }
        let directive = word.and_then(Directive::from_text);
        let of_header = directive.is_some_and(|d| d.is_allowed_in(DirectivePosition::Entry));
        match word {
            Some(b"{") => Self::close_list(end, *d),
            _ if of_header => Self::close_list(end, *d),
            _ => d,
        }
    }

    /// The list of parameters is closed at `end`.
    fn close_list(end: usize, d: Record) -> Box<Record> {
        let d = d.with_help("add `)` after the last parameter");
        Box::new(d.with_fix(Span::at(end, end), "\n)"))
    }

    fn param(&mut self) -> ParseResult<(Param, ParamName)> {
        let mut s = Specifiers::EMPTY;
        let mut ptr = None;
        let mut trailing_align = Operand::Absent;
        self.cursor.skip_trivia();
        let start = self.cursor.pos;
        let hidden = self.directive_here() == Some(Directive::Hidden);
        if hidden {
            self.cursor.advance(Directive::Hidden.text().len());
            self.cursor.skip_trivia();
        }
        while self.cursor.peek() == b'.' {
            match self.directive_here() {
                Some(Directive::Attribute) => {
                    return Err(self
                        .cursor
                        .unexpected("a type, as parameters have no attributes"));
                }
                Some(d) if Linkage::from_directive(d).is_some() => {
                    return Err(self
                        .cursor
                        .unexpected("`.param` or `.reg`, as parameters have no linkage"));
                }
                Some(Directive::Ptr) if s.ty.is_none() => {
                    return Err(self.missing_type("a type before `.ptr`"));
                }
                Some(Directive::Ptr) if ptr.is_none() && trailing_align == Operand::Absent => {
                    self.cursor.advance(Directive::Ptr.text().len());
                    ptr = Some(self.pointer()?);
                }
                Some(Directive::Align) if s.ty.is_some() => {
                    self.cursor.advance(Directive::Align.text().len());
                    trailing_align = self.integer()?;
                }
                None if s.ty.is_some() => return Err(self.wrong_directive("in a parameter")),
                _ if s.ty.is_some() => {
                    return Err(self.cursor.unexpected("the name of the parameter"));
                }
                None if s.space.is_none() && self.at_type() => {
                    return Err(self.missing_param(start));
                }
                _ => self.specifier(&mut s)?,
            }
            self.cursor.skip_trivia();
        }
        let Some(space) = s.space else {
            let expected = "`.param` or `.reg` before a parameter";
            return Err(self.cursor.unexpected(expected));
        };
        let Some(ty) = s.ty else {
            return Err(self.missing_type("the type of the parameter"));
        };
        let name = self.param_name()?;
        let mut param = Param::new(space, ty);
        param.align = s.align;
        param.vector = s.vector;
        param.trailing_align = trailing_align;
        param.ptr = ptr;
        param.hidden = hidden;
        param.name = name.map(|n| n.name);
        param.dims = self.dimensions()?;
        Ok((param, name))
    }

    /// Whether a type comes next.
    fn at_type(&mut self) -> bool {
        let word = self.cursor.dot_word();
        word.is_some_and(|w| ScalarType::from_text(w).is_some())
    }

    /// The parameter that begins at `start` has no state space before its type, which comes next.
    #[cold]
    fn missing_param(&self, start: usize) -> Box<Record> {
        let (at, end) = (self.cursor.pos, self.cursor.token_end());
        let type_text = String::from_utf8_lossy(&self.cursor.src[at..end]);
        let message = format!("expected `.param` before the type `{type_text}` of a parameter");
        let d = self
            .cursor
            .error(Code::UnexpectedToken, at, end, message)
            .with_help("add `.param`, or `.reg` for a parameter in a register")
            .with_fix(Span::at(start, start), ".param ");
        Box::new(d)
    }

    /// The error of a parameter without a type.
    #[cold]
    fn missing_type(&mut self, what: &str) -> Box<Record> {
        self.cursor
            .unexpected(what)
            .with_cause(Cause::MissingParameterType)
    }

    /// The error of a parameter without a name: it follows that of the parameter before it, or that of the function.
    #[cold]
    fn missing_name(&self, d: Box<Record>) -> Box<Record> {
        let (src, pos) = (self.cursor.src, self.cursor.pos);
        if !matches!(scan::peek(src, pos), b',' | b')') {
            return d;
        }
        let from = pos.saturating_sub(1 << 12);
        let header = src.get(from..pos).unwrap_or_default();
        let open = memchr::memrchr(b'(', header).map_or(0, |i| i + 1);
        let (before, list) = header.split_at(open);
        let word = |text: &[u8]| {
            let is_name = |t: &Token| t.kind == TokenKind::Ident;
            let last = Lexer::fragment(text).filter(is_name).last();
            last.map(|t| String::from_utf8_lossy(t.span.of(text)).into_owned())
        };
        let tail = before.strip_suffix(b"(").unwrap_or(before).trim_ascii_end();
        let name = match (word(list), word(tail)) {
            (Some(previous), _) => {
                let (prefix, digits) = split_numeric_suffix_str(&previous);
                let number: u32 = digits.parse().unwrap_or(0);
                format!("{prefix}{}", number.saturating_add(1))
            }
            (None, _) if tail.ends_with(Directive::Func.text().as_bytes()) => {
                String::from("func_retval0")
            }
            (None, Some(function)) => format!("{function}_param_0"),
            (None, None) => return d,
        };
        let at = src[..pos].trim_ascii_end().len();
        let help = format!("add a name, for example `{name}`");
        Box::new(
            d.with_help(help)
                .with_fix(Span::at(at, at), format!(" {name}")),
        )
    }

    /// The name of a parameter, or `_`.
    fn param_name(&mut self) -> ParseResult<ParamName> {
        if self.cursor.peek() == b'_' && !self.cursor.at_ident() {
            self.cursor.advance(1);
            return Ok(None);
        }
        let found = self.cursor.expect_ident("the name of the parameter");
        let (start, end) = found.map_err(|d| self.missing_name(d))?;
        let name: NameId = self.intern(start, end);
        Ok(Some(DeclaredName { name, start, end }))
    }

    /// Declares a parameter in the scope of the function.
    pub(crate) fn bind_param(&mut self, param: &Param, at: ParamName) -> Binding {
        let Some(at) = at else {
            return Binding::None;
        };
        let (name, scope) = (at.name, self.scopes.current);
        if param.space == StateSpace::Reg {
            let mut register = RegDecl::new(name, param.ty, scope);
            register.vector = param.vector;
            return self.bind_register(register, at);
        }
        let var = Var {
            name,
            number: None,
            space: param.space,
            scope,
            stmt: None,
        };
        self.bind_var(var, None, at)
    }

    /// The state space and the alignment after `.ptr`.
    fn pointer(&mut self) -> ParseResult<Pointer> {
        let mut pointer = Pointer::GENERIC;
        if let Some(word) = self.cursor.dot_word() {
            let opaque = ScalarType::from_text(word).filter(|t| t.kind() == TypeKind::Opaque);
            pointer.space = declared_space(word);
            pointer.opaque = opaque;
            if pointer.space.is_some() || opaque.is_some() {
                self.cursor.advance(word.len());
            }
        }
        if self.directive_here() == Some(Directive::Align) {
            self.cursor.advance(Directive::Align.text().len());
            pointer.align = self.integer()?;
        }
        Ok(pointer)
    }
}

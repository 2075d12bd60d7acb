//! The interface of a function or a prototype: results, parameters and directives.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::{RawModule, name::split_numeric_suffix_str, scan};
use ptx_ir::{
    Binding, Code, Interface, Linkage, NameId, Operand, Param, PointerAttribute, RegDecl, Span,
    TableRange, Var,
};
use ptx_isa::internals::DirectivePosition;
use ptx_isa::{Directive, ScalarType, StateSpace, TypeKind};

use crate::cursor::ParseResult;
use crate::declaration::{DeclaredName, Specifiers};
use crate::output::Level;
use crate::parser::Parser;
use crate::record::{Cause, Record};
use crate::statement_extent::{begins_declaration, declared_space};

/// The treatment of the names of parameters.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum ParamNames {
    /// The names are bound in the scope of the body of a function.
    Bind,
    /// The names of a prototype, or of a function that is declared in a body, are not bound.
    Ignore,
}

/// The name of a parameter. It has none if it is written `_`.
pub(crate) type ParamName = Option<DeclaredName>;

impl Parser<'_> {
    /// Parses the interface of a prototype: `(results) _ (parameters) directives`. Its parameters are in the
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

    /// Parses the interface of a function or prototype after its name.
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

    /// Parses directives between the parameters and the body.
    fn interface_directives(
        &mut self,
        interface: &mut Interface,
        position: DirectivePosition,
    ) -> ParseResult<()> {
        let start = self.out.module.interface_directives().len() as u32;
        let mut len = 0;
        loop {
            let next_token = self.cursor.next_token();
            if scan::peek(self.cursor.src, next_token) != b'.' {
                break;
            }
            let checkpoint = self.cursor.checkpoint();
            let Some(directive) = self.directive_here() else {
                let is_item = self.empty_declaration(next_token);
                self.cursor.reset(checkpoint);
                if is_item {
                    break;
                }
                return Err(self.wrong_directive("before a body"));
            };
            if !directive.is_allowed_in(position) {
                if directive.is_allowed_in(DirectivePosition::Module)
                    || begins_declaration(directive)
                {
                    // The next item follows: the end of the function is missing.
                    self.cursor.reset(checkpoint);
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

    /// Parses `( parameter, … )`.
    fn params(&mut self, names: ParamNames) -> ParseResult<TableRange> {
        self.param_list(|parser| {
            let (mut param, name) = parser.param()?;
            if names == ParamNames::Bind {
                param.binding = parser.bind_param(&param, name);
            }
            Ok(param)
        })
    }

    /// Parses `( result, … )` of a function. Their names are bound after that of the function.
    pub(crate) fn results(&mut self, names: &mut Vec<ParamName>) -> ParseResult<TableRange> {
        self.param_list(|parser| {
            let (param, name) = parser.param()?;
            names.push(name);
            Ok(param)
        })
    }

    /// Parses a list in parentheses, whose `(` is next, with `parse_param` for each parameter.
    fn param_list(
        &mut self,
        mut parse_param: impl FnMut(&mut Self) -> ParseResult<Param>,
    ) -> ParseResult<TableRange> {
        self.cursor.advance(1);
        let start = self.out.module.params().len() as u32;
        if !self.cursor.eat(b')') {
            loop {
                let param = parse_param(self)?;
                self.out.module.params_mut().push(param);
                if self.cursor.eat(b',') {
                    continue;
                }
                let end = self.cursor.last;
                self.cursor
                    .expect(b')', "`,` or `)` after a parameter")
                    .map_err(|error| self.missing_parenthesis(end, *error))?;
                break;
            }
        }
        let len = self.out.module.params().len() as u32 - start;
        Ok(TableRange { start, len })
    }

    /// The error of a list of parameters that ends without a `)`. Its last token ends at `end`.
    #[cold]
    fn missing_parenthesis(&self, end: usize, error: Record) -> Box<Record> {
        let next = &self.cursor.src[self.cursor.pos..];
        let mut words = Lexer::fragment(next)
            .filter(|t| !t.kind.is_trivia())
            .map(|t| t.span.of(next));
        let word = words.next();
        if word == Some(b";") {
            let separator = match words.next() {
                Some(b")") => "",
                Some(word) if declared_space(word) == Some(StateSpace::Param) => ",",
                _ => return Self::close_list(end, error),
            };
            let span = error.error.span;
            let corrected = error
                .with_help("parameters are separated with `,`")
                .with_fix(span, separator);
            return Box::new(if separator.is_empty() {
                // The `;` may belong after the `)`.
                corrected
            } else {
                corrected.machine_applicable()
            });
        }
        let continues_header = word
            .and_then(Directive::from_text)
            .is_some_and(|directive| directive.is_allowed_in(DirectivePosition::Entry));
        if word == Some(b"{") || continues_header {
            Self::close_list(end, error)
        } else {
            Box::new(error)
        }
    }

    /// Adds the edit that closes the list of parameters at `end`.
    fn close_list(end: usize, error: Record) -> Box<Record> {
        Box::new(
            error
                .with_help("add `)` after the last parameter")
                .with_fix(Span::at(end, end), "\n)"),
        )
    }

    /// Parses a parameter.
    fn param(&mut self) -> ParseResult<(Param, ParamName)> {
        let mut specifiers = Specifiers::EMPTY;
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
                Some(directive) if Linkage::from_directive(directive).is_some() => {
                    return Err(self
                        .cursor
                        .unexpected("`.param` or `.reg`, as parameters have no linkage"));
                }
                Some(Directive::Ptr) if specifiers.ty.is_none() => {
                    return Err(self.missing_type("a type before `.ptr`"));
                }
                Some(Directive::Ptr) if ptr.is_none() && trailing_align == Operand::Absent => {
                    self.cursor.advance(Directive::Ptr.text().len());
                    ptr = Some(self.pointer()?);
                }
                Some(Directive::Align) if specifiers.ty.is_some() => {
                    self.cursor.advance(Directive::Align.text().len());
                    trailing_align = self.integer()?;
                }
                None if specifiers.ty.is_some() => {
                    return Err(self.wrong_directive("in a parameter"));
                }
                _ if specifiers.ty.is_some() => {
                    return Err(self.cursor.unexpected("the name of the parameter"));
                }
                None if specifiers.space.is_none() && self.at_type() => {
                    return Err(self.missing_param_space(start));
                }
                _ => self.specifier(&mut specifiers)?,
            }
            self.cursor.skip_trivia();
        }
        let Some(space) = specifiers.space else {
            let expected = "`.param` or `.reg` before a parameter";
            return Err(self.cursor.unexpected(expected));
        };
        let Some(ty) = specifiers.ty else {
            return Err(self.missing_type("the type of the parameter"));
        };
        let name = self.param_name()?;
        let mut param = Param::new(space, ty);
        param.align = specifiers.align;
        param.vector = specifiers.vector;
        param.trailing_align = trailing_align;
        param.ptr = ptr;
        param.hidden = hidden;
        param.name = name.map(|n| n.name);
        param.dims = self.dimensions()?;
        Ok((param, name))
    }

    /// Whether a type is next.
    fn at_type(&mut self) -> bool {
        let word = self.cursor.dot_word();
        word.is_some_and(|w| ScalarType::from_text(w).is_some())
    }

    /// The error of a parameter that begins at `start` and has no state space before its type, which is next.
    #[cold]
    fn missing_param_space(&self, start: usize) -> Box<Record> {
        let (type_start, type_end) = (self.cursor.pos, self.cursor.token_end());
        let type_text = String::from_utf8_lossy(&self.cursor.src[type_start..type_end]);
        let message = format!("expected `.param` before the type `{type_text}` of a parameter");
        Box::new(
            self.cursor
                .error(Code::UnexpectedToken, type_start, type_end, message)
                .with_help("add `.param`, or `.reg` for a parameter in a register")
                .with_fix(Span::at(start, start), ".param "),
        )
    }

    /// The error of a parameter without a type.
    #[cold]
    fn missing_type(&mut self, expected: &str) -> Box<Record> {
        self.cursor
            .unexpected(expected)
            .with_cause(Cause::MissingParameterType)
    }

    /// The error of a parameter without a name. Suggests a name after that of the previous parameter or of the function.
    #[cold]
    fn missing_name(&self, error: Box<Record>) -> Box<Record> {
        let (src, pos) = (self.cursor.src, self.cursor.pos);
        if !matches!(scan::peek(src, pos), b',' | b')') {
            return error;
        }
        let header_start = pos.saturating_sub(1 << 12);
        let header = src.get(header_start..pos).unwrap_or_default();
        let open = memchr::memrchr(b'(', header).map_or(0, |i| i + 1);
        let (preceding, list) = header.split_at(open);
        let last_name = |text: &[u8]| {
            Lexer::fragment(text)
                .filter(|t| t.kind == TokenKind::Ident)
                .last()
                .map(|t| String::from_utf8_lossy(t.span.of(text)).into_owned())
        };
        let before_list = preceding
            .strip_suffix(b"(")
            .unwrap_or(preceding)
            .trim_ascii_end();
        let name = match (last_name(list), last_name(before_list)) {
            (Some(previous), _) => {
                let (prefix, digits) = split_numeric_suffix_str(&previous);
                let number: u32 = digits.parse().unwrap_or(0);
                format!("{prefix}{}", number.saturating_add(1))
            }
            (None, _) if before_list.ends_with(Directive::Func.text().as_bytes()) => {
                String::from("func_retval0")
            }
            (None, Some(function)) => format!("{function}_param_0"),
            (None, None) => return error,
        };
        let insertion = src[..pos].trim_ascii_end().len();
        let help = format!("add a name, for example `{name}`");
        Box::new(
            error
                .with_help(help)
                .with_fix(Span::at(insertion, insertion), format!(" {name}")),
        )
    }

    /// Parses the name of a parameter, or `_`.
    fn param_name(&mut self) -> ParseResult<ParamName> {
        if self.cursor.peek() == b'_' && !self.cursor.at_ident() {
            self.cursor.advance(1);
            return Ok(None);
        }
        let (start, end) = self
            .cursor
            .expect_ident("the name of the parameter")
            .map_err(|error| self.missing_name(error))?;
        let name: NameId = self.intern(start, end);
        Ok(Some(DeclaredName { name, start, end }))
    }

    /// Declares a parameter in the scope of the function.
    pub(crate) fn bind_param(&mut self, param: &Param, name: ParamName) -> Binding {
        let Some(declared) = name else {
            return Binding::None;
        };
        let (name, scope) = (declared.name, self.scopes.current);
        if param.space == StateSpace::Reg {
            let mut register = RegDecl::new(name, param.ty, scope);
            register.vector = param.vector;
            return self.bind_register(register, declared);
        }
        let var = Var {
            name,
            number: None,
            space: param.space,
            scope,
            stmt: None,
        };
        self.bind_var(var, None, declared)
    }

    /// Parses the state space and the alignment after `.ptr`.
    fn pointer(&mut self) -> ParseResult<PointerAttribute> {
        let mut pointer = PointerAttribute::GENERIC;
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

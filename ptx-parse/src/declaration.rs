//! Declarations of registers and variables.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::raw::scan::{self, Trivia};
use ptx_ir::raw::{RawBody, RawModule};
use ptx_ir::{
    Attribute, Binding, Code, DeclId, Declarator, Diagnostic, Linkage, NameId, Operand,
    OperandRange, RegDecl, Span, Symbol, SymbolKind, TableRange, TypeName, Var, VarDecl,
};
use ptx_isa::{Directive, Modifier, ScalarType, StateSpace, TypeKind};

use crate::cursor::ParseResult;
use crate::output::Level;
use crate::parser::Parser;
use crate::ranges::RangeKind;
use crate::record::{Cause, Record};
use crate::scope::Meaning;
use crate::statement_extent::declared_space;

/// The keywords before the names of a declaration or parameter.
#[derive(Copy, Clone)]
pub(crate) struct Specifiers {
    pub(crate) linkage: Option<Linkage>,
    pub(crate) space: Option<StateSpace>,
    pub(crate) bank: Operand,
    pub(crate) attributes: TableRange,
    pub(crate) align: Operand,
    pub(crate) vector: u8,
    pub(crate) ty: Option<TypeName>,
}

impl Specifiers {
    pub(crate) const EMPTY: Self = Self {
        linkage: None,
        space: None,
        bank: Operand::Absent,
        attributes: TableRange { start: 0, len: 0 },
        align: Operand::Absent,
        vector: 1,
        ty: None,
    };

    /// Whether no keyword was parsed so far.
    fn is_empty(&self) -> bool {
        self.linkage.is_none()
            && self.space.is_none()
            && self.attributes.len == 0
            && self.align == Operand::Absent
    }
}

/// A declared name and its place in the source.
#[derive(Copy, Clone)]
pub(crate) struct DeclaredName {
    pub(crate) name: NameId,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Parser<'_> {
    /// Whether a declaration without a state space and a name begins at `start`: a type, perhaps with
    /// alignment, attributes and linkage. ptxas accepts such declarations; they are kept as text.
    #[cold]
    pub(crate) fn empty_declaration(&mut self, start: usize) -> bool {
        self.cursor.pos = start;
        let mut specifiers = Specifiers::EMPTY;
        while let Some(word) = self.cursor.dot_word() {
            let is_linkage = Directive::from_text(word)
                .and_then(Linkage::from_directive)
                .is_some();
            if let Some(ty) = ScalarType::from_text(word) {
                self.cursor.advance(word.len());
                let is_misplaced = self.out.in_body() && ty.kind() == TypeKind::Opaque;
                return !is_misplaced && self.cursor.eat(b';');
            }
            let is_malformed = specifiers.vector > 1
                || declared_space(word).is_some()
                || is_linkage && self.out.in_body();
            if is_malformed || self.specifier(&mut specifiers).is_err() {
                return false;
            }
        }
        false
    }

    /// Parses a declaration with its `;`.
    pub(crate) fn declaration(&mut self) -> ParseResult<DeclId> {
        let mut specifiers = Specifiers::EMPTY;
        while specifiers.ty.is_none() {
            self.specifier(&mut specifiers)?;
        }
        let Some(space) = specifiers.space else {
            let end = self.cursor.last;
            return Err(self.cursor.error(
                Code::UnexpectedToken,
                end.saturating_sub(1),
                end,
                "expected a state space such as `.global` before the type",
            ));
        };
        let ty = specifiers.ty.unwrap_or(TypeName::Known(ScalarType::B8));
        let id = self.out.declarations().decls.next_id();
        let mut decl = VarDecl::new(space, ty);
        decl.linkage = specifiers.linkage;
        decl.bank = specifiers.bank;
        decl.attributes = specifiers.attributes;
        decl.align = specifiers.align;
        decl.vector = specifiers.vector;
        self.out.declarations().decls.push(decl);
        let start = self.out.declarations().declarators.len() as u32;
        let mut len = 0;
        // ptxas accepts a declaration without names.
        if self.cursor.eat(b';') {
            return Ok(id);
        }
        let names = loop {
            if let Err(error) = self.declarator(id, &decl) {
                break Err(error);
            }
            len += 1;
            if !self.cursor.eat(b',') {
                break Ok(());
            }
        };
        self.out.declarations().decls[id].declarators = TableRange { start, len };
        names?;
        if !self.cursor.eat(b';') {
            // The last name may be a part of the next statement.
            let start = self.statement_start();
            self.missing_semicolon("`,` or `;`")?;
            self.suppress_names(start, self.cursor.last);
        }
        Ok(id)
    }

    /// Parses a keyword before the names: linkage, space, attribute, alignment, vector length or type.
    pub(crate) fn specifier(&mut self, specifiers: &mut Specifiers) -> ParseResult<()> {
        let Some(word) = self.cursor.dot_word() else {
            return Err(self.undotted_type());
        };
        let start = self.cursor.pos;
        if specifiers.space.is_none()
            && let Some(space) = declared_space(word)
        {
            self.cursor.advance(word.len());
            specifiers.space = Some(space);
            if self.cursor.peek() == b'[' {
                specifiers.bank = self.dimension()?;
            }
        } else if let Some(ty) = ScalarType::from_text(word) {
            if specifiers.space.is_none() {
                return Err(self.missing_space());
            }
            self.cursor.advance(word.len());
            specifiers.ty = Some(TypeName::Known(ty));
        } else if specifiers.vector > 1 && Directive::from_text(word).is_some() {
            return Err(self.cursor.unexpected("a type after the vector length"));
        } else if let Some(length) = Modifier::from_text(word)
            .and_then(Modifier::vector_len)
            .filter(|_| specifiers.vector == 1)
        {
            self.cursor.advance(word.len());
            specifiers.vector = length;
        } else {
            match Directive::from_text(word) {
                Some(Directive::Align) => {
                    self.cursor.advance(word.len());
                    specifiers.align = self.integer()?;
                }
                Some(Directive::Attribute) => {
                    self.cursor.advance(word.len());
                    let list = self.attributes()?;
                    // Consecutive lists are consecutive in the table.
                    if specifiers.attributes.len == 0 {
                        specifiers.attributes = list;
                    } else {
                        specifiers.attributes.len += list.len;
                    }
                }
                Some(directive)
                    if Linkage::from_directive(directive).is_some() && specifiers.is_empty() =>
                {
                    self.cursor.advance(word.len());
                    specifiers.linkage = Linkage::from_directive(directive);
                }
                Some(_) => return Err(self.wrong_directive("in a declaration")),
                None if specifiers.space.is_some() => {
                    let error = self.bad_type(start, word);
                    self.cursor.advance(word.len());
                    if self.cursor.dot_word().is_some() {
                        return Err(error);
                    }
                    // The names are declared with the unknown type, so that their uses are not reported.
                    self.report(*error);
                    specifiers.ty = Some(TypeName::Unknown(self.intern(start, start + word.len())));
                }
                None => return Err(self.wrong_directive("here")),
            }
        }
        Ok(())
    }

    /// The error of a word that is not a keyword of a declaration, perhaps for lack of a dot.
    #[cold]
    fn undotted_type(&mut self) -> Box<Record> {
        let expected = "a state space or a type";
        self.cursor
            .unexpected(expected)
            .with_cause(Cause::UndottedType)
    }

    /// The error of the type at the cursor, which has no state space before it.
    #[cold]
    pub(crate) fn missing_space(&mut self) -> Box<Record> {
        let (start, end) = (self.cursor.pos, self.cursor.token_end());
        let (example, help) = match self.out.level {
            Level::Body => (
                ".reg",
                "declare a register with `.reg`, a variable with `.shared`, `.local` or `.param`",
            ),
            Level::Module => (
                ".global",
                "declare a variable with `.global`, `.const` or `.shared`",
            ),
        };
        let type_text = String::from_utf8_lossy(&self.cursor.src[start..end]);
        let message =
            format!("expected a state space such as `{example}` before the type `{type_text}`");
        let error = self
            .cursor
            .error(Code::UnexpectedToken, start, end, message)
            .with_help(help);
        let name_start = scan::skip_trivia(self.cursor.src, end, &mut Trivia::default());
        if !scan::starts_ident(self.cursor.src, name_start) {
            return Box::new(error);
        }
        if self.out.in_body()
            && self.is_declared_or_member(name_start, scan::ident_end(self.cursor.src, name_start))
        {
            let mut record = error.with_help("a modifier follows an opcode, such as `mov`");
            record.error.message =
                format!("expected an opcode before the modifier `{type_text}`, found none");
            return Box::new(record);
        }
        error.with_cause(Cause::MissingSpace {
            name_start,
            in_body: self.out.in_body(),
        })
    }

    /// The error of the unknown type `word` at `start`.
    #[cold]
    fn bad_type(&mut self, start: usize, word: &[u8]) -> Box<Record> {
        let text = String::from_utf8_lossy(word);
        let message = format!("unknown type `{text}`; expected a type such as `.b32` or `.f64`");
        let span = Span::at(start, start + word.len());
        let mut diagnostic = Diagnostic::error(Code::UnknownType, span, message);
        diagnostic.severity = self.header.unknown;
        Box::new(Record::new(diagnostic, Cause::UnknownType))
    }

    /// `( .managed, .unified(1, 2) )`
    pub(crate) fn attributes(&mut self) -> ParseResult<TableRange> {
        self.cursor.expect(b'(', "`(` after `.attribute`")?;
        let mut list: Vec<Attribute> = Vec::new();
        loop {
            let Some(word) = self.cursor.dot_word() else {
                return Err(self.wrong_attribute("an attribute"));
            };
            let start = self.cursor.pos;
            self.cursor.advance(word.len());
            let attribute = match word {
                b".managed" => Attribute::Managed,
                b".unified" => {
                    self.cursor.expect(b'(', "`(`")?;
                    let first = self.integer()?;
                    self.cursor.expect(b',', "`,`")?;
                    let second = self.integer()?;
                    self.cursor.expect(b')', "`)`")?;
                    Attribute::Unified(first, second)
                }
                _ => {
                    self.cursor.pos = start;
                    return Err(self.wrong_attribute("`.managed` or `.unified`"));
                }
            };
            list.push(attribute);
            if !self.cursor.eat(b',') {
                break;
            }
        }
        self.cursor.expect(b')', "`)` after the attributes")?;
        let table = &mut self.out.declarations().attributes;
        let start = table.len() as u32;
        table.extend(list.iter().copied());
        Ok(TableRange {
            start,
            len: list.len() as u32,
        })
    }

    /// The error of a word in the place of an attribute.
    #[cold]
    fn wrong_attribute(&mut self, expected: &str) -> Box<Record> {
        self.cursor
            .unexpected(expected)
            .with_cause(Cause::UnknownAttribute)
    }

    /// Parses a name with its range, dimensions and initializer.
    fn declarator(&mut self, id: DeclId, decl: &VarDecl) -> ParseResult<()> {
        let (start, end) = self.cursor.expect_ident("a name")?;
        let name = self.intern(start, end);
        let mut count = Operand::Absent;
        let mut range = None;
        if self.cursor.eat(b'<') {
            let count_start = self.cursor.pos;
            count = self.integer()?;
            range = Some(self.count_value(count, count_start)?);
            self.cursor.expect(b'>', "`>`")?;
            if self.cursor.eat_optional(b'[') {
                self.cursor.pos = self.cursor.last - 1;
                return Err(self.cursor.unexpected("`,` or `;` after a range of names"));
            }
        }
        let dims = self.dimensions()?;
        let binding = self.bind_declared(id, decl, DeclaredName { name, start, end }, range);
        let init = if self.cursor.eat(b'=') {
            self.initializer()?
        } else {
            Operand::Absent
        };
        let mut declarator = Declarator::new(name, binding);
        declarator.count = count;
        declarator.dims = dims;
        declarator.init = init;
        self.out.declarations().declarators.push(declarator);
        Ok(())
    }

    /// The value of `n` in `name<n>`, which begins at `start`.
    fn count_value(&mut self, count: Operand, start: usize) -> ParseResult<u32> {
        let value = match count {
            Operand::Small(n) => Some(n as i64),
            Operand::Imm(id) => self.out.pool().immediate(id).and_then(|i| i.value.as_int()),
            _ => None,
        };
        match value.and_then(|n| u32::try_from(n).ok()) {
            Some(n) => Ok(n),
            None => {
                let message = format!("expected a range of at most {} names, found more", u32::MAX);
                Err(self
                    .cursor
                    .error(Code::BadCount, start, self.cursor.last, message))
            }
        }
    }

    /// Binds a name of a declaration in the current scope, and its members if it declares a `range` of names.
    fn bind_declared(
        &mut self,
        id: DeclId,
        decl: &VarDecl,
        declared: DeclaredName,
        range: Option<u32>,
    ) -> Binding {
        if !self.out.in_body() {
            // A register of a function whose header was not parsed.
            if decl.space == StateSpace::Reg && self.reporter.cascade.is_desynced() {
                self.suppress_names(declared.start, declared.end);
                return Binding::None;
            }
            return match range {
                Some(count) => self.bind_symbol_range(id, decl, declared, count),
                None => self.bind_symbol(id, decl, declared),
            };
        }
        let stmt = Some(self.out.body.statement_table().next_id());
        let (name, scope) = (declared.name, self.scopes.current);
        if decl.space == StateSpace::Reg {
            let mut register = RegDecl::new(name, decl.ty, scope);
            register.count = range;
            register.vector = decl.vector;
            register.stmt = stmt;
            return self.bind_register(register, declared);
        }
        let var = Var {
            name,
            number: range.map(|_| 0),
            space: decl.space,
            scope,
            stmt,
        };
        self.bind_var(var, range, declared)
    }

    /// Declares registers in the current scope.
    pub(crate) fn bind_register(&mut self, decl: RegDecl, declared: DeclaredName) -> Binding {
        let count = decl.count;
        let id = self.out.body.reg_decls_mut().push(decl);
        match count {
            Some(count) => self.declare_range(declared, RangeKind::Reg(id), count),
            None => {
                let reg = self.plain_register(id);
                self.declare(declared, Meaning::Reg(reg));
            }
        }
        Binding::Register(id)
    }

    /// Declares a variable or parameter in the current scope.
    pub(crate) fn bind_var(
        &mut self,
        var: Var,
        count: Option<u32>,
        declared: DeclaredName,
    ) -> Binding {
        let id = self.out.body.vars_mut().push(var);
        match count {
            Some(count) => self.declare_range(declared, RangeKind::Var(id), count),
            None => self.declare(declared, Meaning::Var(id)),
        }
        Binding::Var(id)
    }

    fn bind_symbol_range(
        &mut self,
        id: DeclId,
        decl: &VarDecl,
        declared: DeclaredName,
        count: u32,
    ) -> Binding {
        let mut symbol = Symbol::new(declared.name, SymbolKind::Variable(decl.space, id));
        symbol.number = Some(0);
        let symbol = self.out.module.symbols_mut().push(symbol);
        self.declare_range(declared, RangeKind::Symbol(symbol), count);
        Binding::Symbol(symbol)
    }

    fn bind_symbol(&mut self, id: DeclId, decl: &VarDecl, declared: DeclaredName) -> Binding {
        let name = declared.name;
        let meaning = self.scopes.find_here(name).map(|b| b.meaning);
        if let Some(Meaning::Symbol(first)) = meaning {
            // An external declaration can be repeated, and defined once.
            let module = &self.out.module;
            let can_repeat = match module.symbols()[first].kind {
                SymbolKind::Variable(_, first_decl) => {
                    let first_linkage = module.declarations().decls[first_decl].linkage;
                    [decl.linkage, first_linkage].contains(&Some(Linkage::Extern))
                }
                _ => false,
            };
            if !can_repeat {
                self.report_duplicate(declared);
            }
            return Binding::Symbol(first);
        }
        let symbol = self
            .out
            .module
            .symbols_mut()
            .push(Symbol::new(name, SymbolKind::Variable(decl.space, id)));
        self.declare(declared, Meaning::Symbol(symbol));
        Binding::Symbol(symbol)
    }

    /// Parses dimensions such as `[4][]`. Returns their range of the pool.
    pub(crate) fn dimensions(&mut self) -> ParseResult<OperandRange> {
        let mark = self.out.scratch.len();
        self.cursor.skip_trivia();
        while self.cursor.peek() == b'[' {
            let open = self.cursor.pos;
            let dimension = self.dimension()?;
            if dimension == Operand::Absent && self.out.scratch.len() > mark {
                let message = "expected the size of this dimension; only the first can be left out";
                return Err(self.cursor.error(
                    Code::UnexpectedToken,
                    open,
                    self.cursor.pos,
                    message,
                ));
            }
            self.out.scratch.push(dimension);
            self.cursor.skip_trivia();
        }
        Ok(self.out.range_from(mark))
    }

    /// Parses a dimension, whose `[` is next.
    fn dimension(&mut self) -> ParseResult<Operand> {
        self.cursor.advance(1);
        self.cursor.skip_trivia();
        if self.cursor.eat(b']') {
            return Ok(Operand::Absent);
        }
        let dimension = self.integer()?;
        self.cursor.expect(b']', "`]` after a dimension")?;
        Ok(dimension)
    }
}

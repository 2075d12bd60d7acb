//! Declarations of registers and variables, with their initialisers.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{
    Address, AddressForm, Attribute, Binding, Code, DeclId, Declarations, Declarator, Linkage,
    Operand, RegDecl, ScopeId, StmtId, Symbol, SymbolKind, TableRange, TypeName, Var, VarDecl,
};
use ptx_isa::{Directive, Modifier, ScalarType, StateSpace, TypeKind};

use crate::parser::{ParseResult, Parser};
use crate::scope::{Meaning, RangeKind};

/// What stands before the names of a declaration or parameter.
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

    /// Whether nothing was read so far.
    fn is_empty(&self) -> bool {
        self.linkage.is_none()
            && self.space.is_none()
            && self.attributes.len == 0
            && self.align == Operand::Absent
    }
}

/// The space whose declarations a directive begins. The words are the same.
pub(crate) fn space(word: &[u8]) -> Option<StateSpace> {
    StateSpace::from_text(word).filter(|s| !s.text().contains("::"))
}

impl Parser<'_> {
    /// Whether a declaration begins with this directive.
    pub(crate) fn begins_declaration(directive: Directive) -> bool {
        Linkage::from_directive(directive).is_some()
            || space(directive.text().as_bytes()).is_some()
            || matches!(directive, Directive::Align | Directive::Attribute)
    }

    /// Whether a declaration of nothing begins at `start`: a type, with alignment, attributes and
    /// linkage perhaps, but neither space nor name. The assembler takes it; it is kept as text.
    #[cold]
    pub(crate) fn empty_declaration(&mut self, start: usize) -> bool {
        self.pos = start;
        let mut s = Specifiers::EMPTY;
        while let Some(word) = self.dot_word() {
            let linked = Directive::from_text(word)
                .and_then(Linkage::from_directive)
                .is_some();
            if let Some(ty) = Self::type_of(word) {
                self.take(word.len());
                let misplaced = self.in_body && ty.kind() == TypeKind::Opaque;
                return !misplaced && self.eat(b';');
            }
            let wrong = s.vector > 1 || space(word).is_some() || linked && self.in_body;
            if wrong || self.specifier(&mut s).is_err() {
                return false;
            }
        }
        false
    }

    /// The tables that the declaration at hand belongs to.
    fn declarations(&mut self) -> &mut Declarations {
        if self.in_body {
            &mut self.body.declarations
        } else {
            &mut self.module.declarations
        }
    }

    /// A whole declaration, its `;` included.
    pub(crate) fn declaration(&mut self) -> ParseResult<DeclId> {
        let mut s = Specifiers::EMPTY;
        while s.ty.is_none() {
            self.specifier(&mut s)?;
        }
        let Some(space) = s.space else {
            let what = "a state space such as `.global` before the type";
            return Err(self.error(
                Code::UnexpectedToken,
                self.last.saturating_sub(1),
                self.last,
                format!("expected {what}"),
            ));
        };
        let ty = s.ty.unwrap_or(TypeName::Known(ScalarType::B8));
        let id = self.declarations().decls.next_id();
        let decl = VarDecl {
            linkage: s.linkage,
            space,
            bank: s.bank,
            attributes: s.attributes,
            align: s.align,
            vector: s.vector,
            ty,
            declarators: TableRange::default(),
        };
        self.declarations().decls.push(decl);
        let start = self.declarations().declarators.len() as u32;
        let mut len = 0;
        // Not even one name is needed.
        if self.eat(b';') {
            return Ok(id);
        }
        let names = loop {
            if let Err(e) = self.declarator(id, &decl) {
                break Err(e);
            }
            len += 1;
            if !self.eat(b',') {
                break Ok(());
            }
        };
        self.declarations().decls[id].declarators = TableRange { start, len };
        names?;
        if !self.eat(b';') {
            // The last name may not have been one.
            let start = self.statement_start();
            self.missing_semicolon("`,` or `;`")?;
            self.excuse_names(start, self.last);
        }
        Ok(id)
    }

    /// One word before the names: linkage, space, attribute, alignment, vector, type.
    pub(crate) fn specifier(&mut self, s: &mut Specifiers) -> ParseResult<()> {
        let Some(word) = self.dot_word() else {
            return Err(self.unexpected("a state space or a type"));
        };
        let start = self.pos;
        if let Some(ty) = Self::type_of(word) {
            if s.space.is_none() {
                return Err(self.unexpected("a state space such as `.global` before the type"));
            }
            self.take(word.len());
            s.ty = Some(TypeName::Known(ty));
        } else if let Some(found) = space(word).filter(|_| s.space.is_none()) {
            self.take(word.len());
            s.space = Some(found);
            if self.peek() == b'[' {
                s.bank = self.dimension()?;
            }
        } else if let Some(len) = Modifier::from_text(word)
            .and_then(Modifier::vector_len)
            .filter(|_| s.vector == 1)
        {
            self.take(word.len());
            s.vector = len;
        } else {
            match Directive::from_text(word) {
                Some(Directive::Align) => {
                    self.take(word.len());
                    s.align = self.integer()?;
                }
                Some(Directive::Attribute) => {
                    self.take(word.len());
                    let more = self.attributes()?;
                    // Lists written one behind the other stand so in the table.
                    if s.attributes.len == 0 {
                        s.attributes = more;
                    } else {
                        s.attributes.len += more.len;
                    }
                }
                Some(d) if Linkage::from_directive(d).is_some() && s.is_empty() => {
                    self.take(word.len());
                    s.linkage = Linkage::from_directive(d);
                }
                Some(_) => return Err(self.wrong_directive("in a declaration")),
                None if s.space.is_some() => {
                    let d = self.bad_type(start, word);
                    self.take(word.len());
                    if self.dot_word().is_some() {
                        return Err(d);
                    }
                    // It stands where the type should. The names are declared all the same, so
                    // that their uses are no mistakes.
                    self.report(*d);
                    s.ty = Some(TypeName::Unknown(self.intern(start, start + word.len())));
                }
                None => return Err(self.wrong_directive("here")),
            }
        }
        Ok(())
    }

    #[cold]
    fn bad_type(&mut self, start: usize, word: &[u8]) -> alloc::boxed::Box<ptx_ir::Diagnostic> {
        let text = String::from_utf8_lossy(word);
        let message = format!("`{text}` is no type of PTX");
        let mut d = self.error(Code::UnknownType, start, start + word.len(), message);
        d.severity = self.unknown;
        d
    }

    /// `( .managed, .unified(1, 2) )`
    pub(crate) fn attributes(&mut self) -> ParseResult<TableRange> {
        self.expect(b'(', "`(` behind `.attribute`")?;
        let mut found: Vec<Attribute> = Vec::new();
        loop {
            let Some(word) = self.dot_word() else {
                return Err(self.unexpected("an attribute"));
            };
            let start = self.pos;
            self.take(word.len());
            let attribute = match word {
                b".managed" => Attribute::Managed,
                b".unified" => {
                    self.expect(b'(', "`(`")?;
                    let first = self.constant()?;
                    self.expect(b',', "`,`")?;
                    let second = self.constant()?;
                    self.expect(b')', "`)`")?;
                    Attribute::Unified(first, second)
                }
                _ => {
                    self.pos = start;
                    return Err(self.unexpected("`.managed` or `.unified`"));
                }
            };
            found.push(attribute);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')', "`)` behind the attributes")?;
        let table = &mut self.declarations().attributes;
        let start = table.len() as u32;
        table.extend(found.iter().copied());
        Ok(TableRange {
            start,
            len: found.len() as u32,
        })
    }

    /// One name with its range, dimensions and initialiser.
    fn declarator(&mut self, id: DeclId, decl: &VarDecl) -> ParseResult<()> {
        let (start, end) = self.ident("a name")?;
        let name = self.intern(start, end);
        let mut count = Operand::Absent;
        let mut range = None;
        if self.eat(b'<') {
            let digits = self.pos;
            count = self.integer()?;
            range = Some(self.count_value(count, digits)?);
            self.expect(b'>', "`>`")?;
        }
        let dims = self.dimensions()?;
        let binding = self.bind_declared(id, decl, name, range, start, end);
        let init = if self.eat(b'=') {
            self.initialiser()?
        } else {
            Operand::Absent
        };
        let declarator = Declarator {
            name,
            binding,
            count,
            dims,
            init,
        };
        self.declarations().declarators.push(declarator);
        Ok(())
    }

    /// The `n` of `name<n>`.
    fn count_value(&mut self, count: Operand, start: usize) -> ParseResult<u32> {
        let value = match count {
            Operand::Small(n) => Some(n as i64),
            Operand::Imm(id) => self.pool().immediate(id).and_then(|i| i.value.as_int()),
            _ => None,
        };
        match value.and_then(|n| u32::try_from(n).ok()) {
            Some(n) => Ok(n),
            None => {
                let message = format!("a range has at most {} names", u32::MAX);
                Err(self.error(Code::BadCount, start, self.last, message))
            }
        }
    }

    fn bind_declared(
        &mut self,
        id: DeclId,
        decl: &VarDecl,
        name: ptx_ir::NameId,
        range: Option<u32>,
        start: usize,
        end: usize,
    ) -> Binding {
        let stmt = Some(self.body.statements.next_id());
        if !self.in_body {
            return self.bind_symbol(id, decl, name, range, start, end);
        }
        if decl.space == StateSpace::Reg {
            return self.bind_register(name, decl.ty, decl.vector, range, stmt, (start, end));
        }
        let number = range.map(|_| 0);
        let var = Var {
            name,
            number,
            space: decl.space,
            scope: self.scope,
            stmt,
        };
        self.bind_var(var, range, (start, end))
    }

    /// Declares registers in the current scope.
    pub(crate) fn bind_register(
        &mut self,
        name: ptx_ir::NameId,
        ty: TypeName,
        vector: u8,
        count: Option<u32>,
        stmt: Option<StmtId>,
        (start, end): (usize, usize),
    ) -> Binding {
        let scope: ScopeId = self.scope;
        let decl = self.body.reg_decls.push(RegDecl {
            name,
            count,
            ty,
            vector,
            scope,
            stmt,
        });
        match count {
            Some(n) => self.declare_range(name, RangeKind::Reg(decl), n, start, end),
            None => {
                let reg = self.plain_register(decl);
                self.declare(name, Meaning::Reg(reg), start, end);
            }
        }
        Binding::Register(decl)
    }

    /// Declares a variable or parameter in the current scope.
    pub(crate) fn bind_var(
        &mut self,
        var: Var,
        count: Option<u32>,
        (start, end): (usize, usize),
    ) -> Binding {
        let name = var.name;
        let id = self.body.vars.push(var);
        match count {
            Some(n) => self.declare_range(name, RangeKind::Var(id), n, start, end),
            None => self.declare(name, Meaning::Var(id), start, end),
        }
        Binding::Var(id)
    }

    fn bind_symbol(
        &mut self,
        id: DeclId,
        decl: &VarDecl,
        name: ptx_ir::NameId,
        range: Option<u32>,
        start: usize,
        end: usize,
    ) -> Binding {
        let kind = SymbolKind::Variable(decl.space, id);
        if let Some(n) = range {
            let symbol = self.module.symbols.push(Symbol {
                name,
                number: Some(0),
                kind,
            });
            self.declare_range(name, RangeKind::Symbol(symbol), n, start, end);
            return Binding::Symbol(symbol);
        }
        if let Some(Meaning::Symbol(first)) = self.names.find_here(name).map(|b| b.meaning) {
            // Declared before: an external declaration may be repeated and defined once.
            let external = |l: Option<Linkage>| matches!(l, Some(Linkage::Extern));
            let again = match self.module.symbols[first].kind {
                SymbolKind::Variable(_, old) => {
                    external(decl.linkage) || external(self.module.declarations.decls[old].linkage)
                }
                _ => false,
            };
            if !again {
                self.is_duplicate(name, start, end);
            }
            return Binding::Symbol(first);
        }
        let symbol = self.module.symbols.push(Symbol {
            name,
            number: None,
            kind,
        });
        self.declare(name, Meaning::Symbol(symbol), start, end);
        Binding::Symbol(symbol)
    }

    /// `[4][]`, as a range of the pool.
    pub(crate) fn dimensions(&mut self) -> ParseResult<ptx_ir::OperandRange> {
        let mark = self.scratch.len();
        self.blanks();
        while self.peek() == b'[' {
            let open = self.pos;
            let dim = self.dimension()?;
            if dim == Operand::Absent && self.scratch.len() > mark {
                let message = String::from("only the first dimension can be left out");
                return Err(self.error(Code::UnexpectedToken, open, self.pos, message));
            }
            self.scratch.push(dim);
            self.blanks();
        }
        Ok(self.range_from(mark))
    }

    fn dimension(&mut self) -> ParseResult<Operand> {
        self.take(1);
        self.blanks();
        if self.eat(b']') {
            return Ok(Operand::Absent);
        }
        let dim = self.integer()?;
        self.expect(b']', "`]` behind a dimension")?;
        Ok(dim)
    }

    /// What stands behind `=`: braces may nest, without recursion here.
    fn initialiser(&mut self) -> ParseResult<Operand> {
        let mut open: Vec<usize> = Vec::new();
        loop {
            self.blanks();
            if self.peek() == b'{' {
                if open.len() >= self.limits.nesting {
                    let message = format!("braces are nested deeper than {}", self.limits.nesting);
                    return Err(self.error(Code::NestingTooDeep, self.pos, self.pos + 1, message));
                }
                self.take(1);
                open.push(self.scratch.len());
                if !self.eat(b'}') {
                    continue;
                }
                let mark = open.pop().unwrap_or_default();
                let list = self.list_from(mark);
                self.scratch.push(Operand::Vector(list));
            } else {
                let value = self.initial_value()?;
                self.scratch.push(value);
            }
            loop {
                let Some(&mark) = open.last() else {
                    return Ok(self.scratch.pop().unwrap_or(Operand::Absent));
                };
                if self.eat(b',') {
                    break;
                }
                self.expect(b'}', "`,` or `}` in an initialiser")?;
                open.pop();
                let list = self.list_from(mark);
                self.scratch.push(Operand::Vector(list));
            }
        }
    }

    /// One value: a constant, a symbol with an offset, `generic(x)`, `0xFF(x)`, `field = value`.
    #[inline]
    fn initial_value(&mut self) -> ParseResult<Operand> {
        if self.peek().is_ascii_digit() || !self.at_ident() {
            let value = self.constant()?;
            if matches!(self.peek(), b',' | b'}' | b';') {
                return Ok(value);
            }
            self.blanks();
            if self.peek() == b'(' {
                self.take(1);
                let inner = if self.at_name() {
                    self.symbol_value()?
                } else {
                    self.constant()?
                };
                self.expect(b')', "`)` behind the masked value")?;
                return Ok(Operand::Masked(self.pool().extend(&[value, inner]).at(0)));
            }
            return Ok(value);
        }
        if !self.at_name() {
            return self.constant();
        }
        self.symbol_value()
    }

    /// Whether a name other than a constant begins here, after blanks.
    pub(crate) fn at_name(&mut self) -> bool {
        self.blanks();
        self.at_ident() && &self.src[self.pos..self.token_end()] != b"WARP_SZ"
    }

    fn symbol_value(&mut self) -> ParseResult<Operand> {
        let (start, end) = self.take_ident();
        self.blanks();
        let base = match self.peek() {
            b'(' if &self.src[start..end] == b"generic" => {
                self.take(1);
                let (a, b) = self.ident("a variable")?;
                let inner = self.initial_name(a, b);
                self.expect(b')', "`)` behind the variable")?;
                Operand::Generic(self.pool().extend(&[inner]).at(0))
            }
            b'=' => {
                self.take(1);
                let name = self.intern(start, end);
                let value = self.field_value()?;
                let at = self.pool().extend(&[Operand::Name(name), value]).at(0);
                return Ok(Operand::Field(at));
            }
            _ => self.initial_name(start, end),
        };
        if self.eat(b'+') {
            let offset = self.constant()?;
            let form = AddressForm::Bare;
            return Ok(Operand::Address(self.pool().add_address(Address {
                base,
                offset,
                form,
            })));
        }
        Ok(base)
    }

    /// The value of a field of an opaque type: a number or a word of the language.
    fn field_value(&mut self) -> ParseResult<Operand> {
        if self.at_name() {
            let (start, end) = self.take_ident();
            return Ok(Operand::Name(self.intern(start, end)));
        }
        self.constant()
    }

    /// A name in an initialiser; one that nothing declares is reported here.
    fn initial_name(&mut self, start: usize, end: usize) -> Operand {
        let operand = self.name_operand(start, end);
        if let Operand::Name(name) = operand
            && !self.excuse_unknown(&self.src[start..end])
        {
            let text = self.module.name(name);
            let message = format!("nothing declares `{text}` before this initialiser");
            self.report(*self.error(Code::UndefinedName, start, end, message));
        }
        operand
    }
}

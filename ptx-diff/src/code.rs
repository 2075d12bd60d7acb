//! The code of a function as tokens.

use alloc::vec::Vec;

use ptx_ir::raw::OperandSlot;
use ptx_ir::{
    AddressForm, Attribute, Binding, Body, Declarator, DirectiveStmt, EntityId, FuncId, Interface,
    LabelId, Module, NameId, Operand, OperandParts, OperandPool, OperandWalk, Param, RegId, SigId,
    Statement, StmtId, TypeName, VarDecl, VarId,
};

use crate::numbers::Numbers;
use crate::token::{Kind, LIST, PAIR, Token, VECTOR, mix};

/// A statement that does something, or a label that is used.
pub(crate) struct Entry {
    pub(crate) stmt: StmtId,
    /// A hash of the tokens without the ids of registers, labels and variables.
    pub(crate) shape: u64,
    /// The range of the tokens in the code.
    start: u32,
    end: u32,
}

/// The code of a function.
#[derive(Default)]
pub(crate) struct Code {
    tokens: Vec<Token>,
    pub(crate) entries: Vec<Entry>,
    /// The declared variables in the order of their tokens.
    pub(crate) variables: Vec<Variable>,
}

/// A variable that a function declares.
pub(crate) struct Variable {
    pub(crate) tokens: Vec<Token>,
    pub(crate) stmt: StmtId,
    /// The index of the declarator in its table.
    pub(crate) declarator: u32,
}

impl Code {
    pub(crate) fn new(module: &Module, id: FuncId, numbers: &Numbers) -> Self {
        let (Some(mut writer), Some(body)) =
            (Writer::for_function(module, id, numbers), module.body(id))
        else {
            return Self::default();
        };
        let used_labels = used_labels(body);
        let mut code = Self::default();
        for (stmt, statement) in body.statements() {
            let start = writer.tokens.len();
            match statement {
                Statement::Decl(decl) => {
                    code.variables
                        .extend(declared_variables(body, stmt, decl, &writer));
                    continue;
                }
                Statement::Label(label) if used_labels.get(label.index()) != Some(&true) => {
                    continue;
                }
                _ => {}
            }
            writer.statement(stmt, statement);
            let Some(tokens) = writer.tokens.get(start..).filter(|t| !t.is_empty()) else {
                continue;
            };
            let shape = tokens.iter().fold(0, |hash, t| mix(hash, t.shape()));
            let (start, end) = (start as u32, writer.tokens.len() as u32);
            code.entries.push(Entry {
                stmt,
                shape,
                start,
                end,
            });
        }
        code.tokens = writer.tokens;
        code.variables.sort_by(|a, b| a.tokens.cmp(&b.tokens));
        code
    }

    /// The tokens of an entry.
    pub(crate) fn tokens(&self, entry: usize) -> &[Token] {
        self.entries
            .get(entry)
            .and_then(|e| self.tokens.get(e.start as usize..e.end as usize))
            .unwrap_or_default()
    }

    pub(crate) fn all_tokens(&self) -> &[Token] {
        &self.tokens
    }

    pub(crate) fn shapes(&self) -> Vec<u64> {
        self.entries.iter().map(|e| e.shape).collect()
    }
}

/// For each label, whether an operand mentions it.
fn used_labels(body: &Body) -> Vec<bool> {
    let operands = body.pool().operands().iter().copied();
    let bases = body.pool().addresses().iter().map(|address| address.base);
    let mut used = vec![false; body.labels().len()];
    for operand in operands.chain(bases) {
        if let Operand::Label(label) = operand
            && let Some(slot) = used.get_mut(label.index())
        {
            *slot = true;
        }
    }
    used
}

/// The position of a parameter or result of a function.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ParameterPosition {
    name: NameId,
    /// Parameters have even numbers, and results odd ones.
    number: u32,
}

/// The named parameters and results of a function, in the order of their names.
fn parameter_positions(module: &Module, id: FuncId) -> Vec<ParameterPosition> {
    let Some(function) = module.functions().get(id) else {
        return Vec::new();
    };
    let interface = function.interface;
    let mut positions = Vec::new();
    for (list, parity) in [(interface.params, 0), (interface.returns, 1)] {
        for (index, param) in (0..).zip(list.of(module.params())) {
            positions.extend(param.name.map(|name| ParameterPosition {
                name,
                number: 2 * index + parity,
            }));
        }
    }
    positions.sort_unstable();
    positions
}

/// The variables that a declaration of a function declares. Registers are not variables.
fn declared_variables(
    body: &Body,
    stmt: StmtId,
    decl: ptx_ir::DeclId,
    writer: &Writer<'_>,
) -> Vec<Variable> {
    let tables = body.declarations();
    let Some(decl) = tables
        .decls
        .get(decl)
        .filter(|decl| decl.space != ptx_isa::StateSpace::Reg)
    else {
        return Vec::new();
    };
    (decl.declarators.start..)
        .zip(decl.declarators.of(tables.all_declarators()))
        .map(|(index, declarator)| {
            let mut writer = Writer::new(writer.module, writer.numbers, body.pool(), Some(body));
            writer.is_declaration = true;
            writer.declaration(decl, tables.attributes());
            writer.declarator(declarator);
            Variable {
                tokens: writer.tokens,
                stmt,
                declarator: index,
            }
        })
        .collect()
}

/// The tokens of a declaration of the module with one of its names.
pub(crate) fn variable_tokens(
    module: &Module,
    numbers: &Numbers,
    decl: &VarDecl,
    declarator: &Declarator,
) -> Vec<Token> {
    let mut writer = Writer::new(module, numbers, module.pool(), None);
    writer.declaration(decl, module.declarations().attributes());
    writer.declarator(declarator);
    writer.tokens
}

/// The tokens of a parameter.
pub(crate) fn parameter_tokens(module: &Module, numbers: &Numbers, param: &Param) -> Vec<Token> {
    let mut writer = Writer::new(module, numbers, module.pool(), None);
    writer.parameter(param);
    writer.tokens
}

/// The tokens of a directive of the module.
pub(crate) fn directive_tokens(
    module: &Module,
    numbers: &Numbers,
    directive: &DirectiveStmt,
) -> Vec<Token> {
    let mut writer = Writer::new(module, numbers, module.pool(), None);
    writer.directive(directive);
    writer.tokens
}

/// The tokens of attributes.
pub(crate) fn attribute_tokens(
    module: &Module,
    numbers: &Numbers,
    attributes: &[Attribute],
) -> Vec<Token> {
    let mut writer = Writer::new(module, numbers, module.pool(), None);
    writer.attributes(attributes);
    writer.tokens
}

/// The tokens of an operand of the module.
pub(crate) fn operand_tokens(module: &Module, numbers: &Numbers, operand: Operand) -> Vec<Token> {
    let mut writer = Writer::new(module, numbers, module.pool(), None);
    writer.operand(operand);
    writer.tokens
}

/// Writes statements, operands and declarations as tokens.
pub(crate) struct Writer<'a> {
    module: &'a Module,
    numbers: &'a Numbers,
    pool: &'a OperandPool,
    body: Option<&'a Body>,
    parameters: Vec<ParameterPosition>,
    /// The declarators of the variables of the function. Empty until the first one is needed.
    declarators: Vec<VariableDeclarator>,
    /// The tokens that describe each variable, from its first mention.
    descriptions: Vec<Option<Vec<Token>>>,
    /// Whether the tokens are those of a declaration. Variables have their names in it, since their numbers depend on the other declarations.
    is_declaration: bool,
    tokens: Vec<Token>,
}

impl<'a> Writer<'a> {
    fn new(
        module: &'a Module,
        numbers: &'a Numbers,
        pool: &'a OperandPool,
        body: Option<&'a Body>,
    ) -> Self {
        Self {
            module,
            numbers,
            pool,
            body,
            is_declaration: false,
            parameters: Vec::new(),
            declarators: Vec::new(),
            descriptions: Vec::new(),
            tokens: Vec::new(),
        }
    }

    /// Creates a writer for the statements and operands of a function.
    pub(crate) fn for_function(
        module: &'a Module,
        id: FuncId,
        numbers: &'a Numbers,
    ) -> Option<Self> {
        let body = module.body(id)?;
        let mut writer = Self::new(module, numbers, body.pool(), Some(body));
        writer.parameters = parameter_positions(module, id);
        Some(writer)
    }

    /// The tokens of an operand.
    pub(crate) fn operand_tokens(&mut self, operand: Operand) -> Vec<Token> {
        self.operand(operand);
        core::mem::take(&mut self.tokens)
    }

    /// Reuses the memory of tokens that are not needed any more.
    pub(crate) fn reuse(&mut self, mut tokens: Vec<Token>) {
        tokens.clear();
        self.tokens = tokens;
    }

    /// The tokens of a statement.
    pub(crate) fn statement_tokens(&mut self, stmt: StmtId, statement: Statement) -> Vec<Token> {
        self.statement(stmt, statement);
        core::mem::take(&mut self.tokens)
    }

    pub(crate) fn mnemonic(&self, id: SigId) -> Token {
        Token::new(Kind::Mnemonic, 0, self.numbers.mnemonic(id))
    }

    fn push(&mut self, kind: Kind, detail: u32, number: u32) {
        self.tokens.push(Token::new(kind, detail, number));
    }

    fn name(&mut self, name: NameId) {
        self.push(Kind::Name, 0, self.numbers.name(name));
    }

    fn text(&mut self, text: &[u8]) {
        self.push(Kind::Text, 0, text.len() as u32);
        for bytes in text.chunks(4) {
            let number = bytes.iter().fold(0, |n, b| n << 8 | u32::from(*b));
            self.push(Kind::Text, 1, number);
        }
    }

    // --- statements ---

    fn statement(&mut self, stmt: StmtId, statement: Statement) {
        let Some(body) = self.body else { return };
        match statement {
            Statement::Inst(id) => {
                if let Some(inst) = body.inst(id) {
                    self.tokens.push(self.mnemonic(inst.sig));
                    if let Some(guard) = inst.guard() {
                        self.push(Kind::Guard, 0, guard.sense.is_negated().into());
                    }
                    self.walk(body.walk(statement));
                }
            }
            Statement::Label(label) => self.push(Kind::Label, 1, label.index() as u32),
            Statement::Directive(id) => {
                if let Some(directive) = body.directives().get(id)
                    && !directive.directive.is_debug()
                {
                    self.directive(directive);
                }
            }
            Statement::Prototype(id) => {
                if let Some(prototype) = body.prototypes().get(id) {
                    self.push(Kind::Prototype, 0, 0);
                    let pool = core::mem::replace(&mut self.pool, self.module.pool());
                    self.interface(&prototype.interface);
                    self.pool = pool;
                }
            }
            Statement::Function(id) => {
                if let Some(function) = self.module.functions().get(id) {
                    self.push(Kind::Function, 0, function.kind as u32);
                    self.name(function.name);
                }
            }
            Statement::Opaque(_) => {
                let change = body.edits().and_then(|edits| edits.change(stmt));
                let text = self.module.patched_text(body.source_span(stmt), change);
                self.push(Kind::Opaque, 0, 0);
                self.text(&text);
            }
            _ => {}
        }
    }

    fn directive(&mut self, directive: &DirectiveStmt) {
        let args = self.pool.slice(directive.args).len() as u32;
        self.push(Kind::Directive, args, directive.directive as u32);
        self.walk(self.pool.walk(directive.args));
    }

    // --- operands ---

    fn walk(&mut self, walk: OperandWalk<'a>) {
        for (slot, operand) in walk.stored() {
            // `[a+0]` is `[a]`.
            match (slot, operand) {
                (OperandSlot::Offset(_), Operand::Small(0)) => self.push(Kind::Absent, 0, 0),
                _ => self.operand_head(operand),
            }
        }
    }

    fn operand(&mut self, operand: Operand) {
        self.walk(self.pool.walk_operand(operand));
    }

    /// Writes an operand without its parts, which follow.
    fn operand_head(&mut self, operand: Operand) {
        match operand {
            Operand::Reg(id) => self.register(id),
            Operand::Label(id) => self.label(id),
            Operand::Var(id) => self.variable(id),
            Operand::Special(register) => self.push(Kind::Special, 0, register as u32),
            Operand::Small(value) => self.integer(value.into()),
            Operand::Imm(id) => {
                let Some(immediate) = self.pool.immediate(id) else {
                    return self.push(Kind::Absent, 0, 0);
                };
                let (text, value) = (immediate.text, immediate.value);
                match value.as_int() {
                    Some(value) => self.integer(value),
                    None if value.as_float().is_some() => {
                        let bits = value.bits();
                        self.push(Kind::Float, value.kind() as u32, bits as u32);
                        self.push(Kind::Upper, 0, (bits >> 32) as u32);
                    }
                    None => self.name(text),
                }
            }
            Operand::Symbol(id) => {
                if let Some(symbol) = self.module.symbols().get(id) {
                    let number = symbol.number;
                    self.push(
                        Kind::Symbol,
                        number.is_some().into(),
                        self.numbers.name(symbol.name),
                    );
                    if let Some(number) = number {
                        self.push(Kind::Number, 0, number);
                    }
                }
            }
            Operand::Name(name) | Operand::Section(name) | Operand::Str(name) => self.name(name),
            Operand::Sink => self.push(Kind::Sink, 0, 0),
            Operand::Absent => self.push(Kind::Absent, 0, 0),
            _ => self.compound_head(operand),
        }
    }

    /// Writes an operand that has parts, without these parts.
    fn compound_head(&mut self, operand: Operand) {
        // The kinds without a constant only need different numbers.
        let shape = match operand {
            Operand::Bracket(_) => 0,
            Operand::Vector(_) => VECTOR,
            Operand::List(_) => LIST,
            Operand::Pair(_) => PAIR,
            Operand::Not(_) => 4,
            Operand::Neg(_) => 5,
            Operand::Generic(_) => 6,
            Operand::Masked(_) => 7,
            Operand::Difference(_) => 8,
            Operand::Field(_) => 9,
            Operand::Range(_) => 10,
            _ => 11,
        };
        match (operand, operand.parts()) {
            (Operand::Component(selector, _), _) => {
                self.push(Kind::Selector, 0, selector.bits().into())
            }
            (_, OperandParts::Address(id)) => {
                let form = self.pool.address(id).map(|a| a.form);
                let form = match form {
                    Some(AddressForm::Bracketed) => 0,
                    Some(AddressForm::Unified) => 1,
                    Some(AddressForm::Bare) => 2,
                    Some(AddressForm::Indexed) => 3,
                    _ => 4,
                };
                self.push(Kind::Address, 0, form);
            }
            (_, OperandParts::List(id)) => {
                self.push(Kind::Parts, shape, self.pool.list(id).len() as u32);
            }
            _ => self.push(Kind::Parts, shape, 0),
        }
    }

    fn integer(&mut self, value: i64) {
        self.push(Kind::Integer, 0, value as u32);
        self.push(Kind::Upper, 0, (value >> 32) as u32);
    }

    fn ty(&mut self, ty: TypeName, vector: u8) {
        match ty {
            TypeName::Known(ty) => self.push(Kind::Type, vector.into(), ty as u32),
            TypeName::Unknown(name) => {
                self.push(
                    Kind::Type,
                    u32::from(vector) | 1 << 8,
                    self.numbers.name(name),
                );
            }
        }
    }

    fn register(&mut self, id: RegId) {
        let decl = self.body.and_then(|b| b.reg_decl_of(id).copied());
        let (ty, vector) = decl.map_or((TypeName::Unknown(NameId::new(u32::MAX)), 0), |d| {
            (d.ty, d.vector)
        });
        let detail = match ty {
            TypeName::Known(ty) => ty as u32,
            TypeName::Unknown(_) => 0xffff,
        };
        self.push(
            Kind::Register,
            detail << 8 | u32::from(vector),
            id.index() as u32,
        );
        if let TypeName::Unknown(_) = ty {
            self.ty(ty, vector);
        }
    }

    fn label(&mut self, id: LabelId) {
        // A label that no statement defines has only its name.
        let label = self.body.and_then(|b| b.labels().get(id));
        let is_defined = label.is_some_and(|l| {
            let statement = self.body.and_then(|b| b.statement(l.stmt));
            matches!(statement, Some(Statement::Label(defined)) if defined == id)
        });
        match (is_defined, label.map(|l| l.name)) {
            (false, Some(name)) => self.name(name),
            _ => self.push(Kind::Label, 0, id.index() as u32),
        }
    }

    // --- variables ---

    fn variable(&mut self, id: VarId) {
        if self.is_declaration
            && let Some(var) = self.body.and_then(|body| body.vars().get(id))
        {
            let (name, number) = (var.name, var.number.unwrap_or(0));
            self.push(Kind::Variable, 1, number);
            return self.name(name);
        }
        self.push(Kind::Variable, 0, id.index() as u32);
        if let Some(description) = self.descriptions.get(id.index()).and_then(Option::as_ref) {
            self.tokens.extend_from_slice(description);
            return;
        }
        let start = self.tokens.len();
        self.describe(id);
        let description = self.tokens.get(start..).unwrap_or_default().to_vec();
        if self.descriptions.len() <= id.index() {
            self.descriptions.resize(id.index() + 1, None);
        }
        if let Some(slot) = self.descriptions.get_mut(id.index()) {
            *slot = Some(description);
        }
    }

    /// Writes the declaration of a variable without its name. An initialized variable has its name instead of its values.
    fn describe(&mut self, id: VarId) {
        let Some(body) = self.body else { return };
        let Some(var) = body.vars().get(id).copied() else {
            return;
        };
        if let Some(number) = var.number {
            self.push(Kind::Number, 0, number);
        }
        let Some(stmt) = var.stmt else {
            let index = self.parameters.partition_point(|p| p.name < var.name);
            match self.parameters.get(index) {
                Some(position) if position.name == var.name => {
                    self.push(Kind::Declaration, 1, position.number);
                }
                _ => self.name(var.name),
            }
            return;
        };
        if self.declarators.is_empty() {
            self.declarators = variable_declarators(body);
        }
        let index = self
            .declarators
            .binary_search_by_key(&(stmt, var.name), |d| (d.stmt, d.name));
        let tables = body.declarations();
        let declarator = index
            .ok()
            .and_then(|index| self.declarators.get(index))
            .and_then(|d| tables.declarators.get(d.declarator as usize).copied());
        let decl = match body.statement(stmt) {
            Some(Statement::Decl(decl)) => tables.decls.get(decl),
            _ => None,
        };
        let (Some(declarator), Some(decl)) = (declarator, decl) else {
            return self.name(var.name);
        };
        self.declaration(decl, &tables.attributes);
        if declarator.init == Operand::Absent {
            self.declarator(&declarator);
        } else {
            self.name(var.name);
        }
    }

    fn declaration(&mut self, decl: &VarDecl, attributes: &[Attribute]) {
        let linkage = decl.linkage.map_or(0, |l| l as u32 + 1);
        self.push(Kind::Declaration, linkage + 2, decl.space as u32);
        self.operand(decl.bank);
        self.operand(decl.align);
        self.ty(decl.ty, decl.vector);
        self.attributes(decl.attributes.of(attributes));
    }

    fn declarator(&mut self, declarator: &Declarator) {
        self.operand(declarator.count);
        let dims = declarator.dims;
        self.push(Kind::Parts, 12, dims.len() as u32);
        self.walk(self.pool.walk(dims));
        if declarator.init != Operand::Absent {
            self.name(declarator.name);
        }
        self.operand(declarator.init);
    }

    fn attributes(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            match *attribute {
                Attribute::Managed => self.push(Kind::Parts, 13, 0),
                Attribute::Unified(first, second) => {
                    self.push(Kind::Parts, 14, 0);
                    self.operand(first);
                    self.operand(second);
                }
                Attribute::Unknown(name) => self.name(name),
                _ => {}
            }
        }
    }

    fn parameter(&mut self, param: &Param) {
        let hidden = u32::from(param.hidden) << 16;
        self.push(Kind::Declaration, 0, param.space as u32 | hidden);
        self.operand(param.align);
        self.operand(param.trailing_align);
        self.ty(param.ty, param.vector);
        if let Some(pointer) = param.ptr {
            self.push(
                Kind::Parts,
                15,
                pointer.space.map_or(0, |s| s as u32 + 1) << 16
                    | pointer.opaque.map_or(0, |t| t as u32 + 1),
            );
            self.operand(pointer.align);
        }
        self.push(Kind::Parts, 12, param.dims.len() as u32);
        self.walk(self.pool.walk(param.dims));
    }

    fn interface(&mut self, interface: &Interface) {
        for list in [interface.returns, interface.params] {
            let params = list.of(self.module.params());
            self.push(Kind::Parts, 16, params.len() as u32);
            for param in params {
                self.parameter(param);
            }
        }
        let directives = interface.directives.of(self.module.interface_directives());
        self.push(Kind::Parts, 17, directives.len() as u32);
        for directive in directives {
            self.directive(directive);
        }
    }
}

/// The declarator of a variable of a function.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct VariableDeclarator {
    stmt: StmtId,
    name: NameId,
    /// The index in the table of declarators.
    declarator: u32,
}

/// The declarators of variables in the order of their statements and names.
fn variable_declarators(body: &Body) -> Vec<VariableDeclarator> {
    let tables = body.declarations();
    let mut declarators = Vec::new();
    for (stmt, statement) in body.statements() {
        let Statement::Decl(decl) = statement else {
            continue;
        };
        let Some(decl) = tables.decls.get(decl) else {
            continue;
        };
        let indexed = (decl.declarators.start..).zip(decl.declarators.of(&tables.declarators));
        declarators.extend(
            indexed
                .filter(|(_, d)| matches!(d.binding, Binding::Var(_)))
                .map(|(index, d)| VariableDeclarator {
                    stmt,
                    name: d.name,
                    declarator: index,
                }),
        );
    }
    declarators.sort_unstable();
    declarators
}

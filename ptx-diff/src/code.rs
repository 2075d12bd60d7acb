//! The code of a function as tokens.

use alloc::vec::Vec;

use ptx_ir::{
    AddressForm, Attribute, Binding, Body, Declarator, DirectiveStmt, EntityId, FuncId, Interface,
    LabelId, Module, NameId, Operand, OperandParts, OperandPool, OperandSlot, OperandWalk, Param,
    RegId, SigId, Statement, StmtId, TypeName, VarDecl, VarId,
};

use crate::names::Numbers;
use crate::token::{Kind, LIST, PAIR, Token, VECTOR, mix};

/// A statement that does something, or a label that is used.
pub(crate) struct Entry {
    pub(crate) stmt: StmtId,
    /// A hash of its tokens without the ids of what is renamed.
    pub(crate) shape: u64,
    start: u32,
    end: u32,
}

/// The code of a function.
#[derive(Default)]
pub(crate) struct Code {
    tokens: Vec<Token>,
    pub(crate) entries: Vec<Entry>,
    /// The declared variables, each as tokens, in ascending order.
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
        let writer = Writer::of_function(module, id, numbers);
        let (Some(mut writer), Some(body)) = (writer, module.body(id)) else {
            return Self::default();
        };
        let used = used_labels(body);
        let mut code = Self::default();
        for (stmt, statement) in body.statements() {
            let start = writer.tokens.len();
            match statement {
                Statement::Decl(decl) => {
                    code.variables.extend(declared(body, stmt, decl, &writer));
                    continue;
                }
                Statement::Label(label) if used.get(label.index()) != Some(&true) => continue,
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

    pub(crate) fn tokens(&self, entry: usize) -> &[Token] {
        let entry = self.entries.get(entry);
        let tokens = entry.and_then(|e| self.tokens.get(e.start as usize..e.end as usize));
        tokens.unwrap_or_default()
    }

    pub(crate) fn all_tokens(&self) -> &[Token] {
        &self.tokens
    }

    pub(crate) fn shapes(&self) -> Vec<u64> {
        self.entries.iter().map(|e| e.shape).collect()
    }
}

/// Labels that a statement mentions.
fn used_labels(body: &Body) -> Vec<bool> {
    let mut used = vec![false; body.labels().len()];
    for operand in body.pool().operands() {
        if let Operand::Label(label) = operand
            && let Some(slot) = used.get_mut(label.index())
        {
            *slot = true;
        }
    }
    for address in body.pool().addresses() {
        if let Operand::Label(label) = address.base
            && let Some(slot) = used.get_mut(label.index())
        {
            *slot = true;
        }
    }
    used
}

/// The names of parameters and results with their places.
fn parameters(module: &Module, id: FuncId) -> Vec<(NameId, u32, Param)> {
    let Some(function) = module.functions().get(id) else {
        return Vec::new();
    };
    let interface = function.interface;
    let lists = [interface.params, interface.returns].into_iter().zip(0..);
    let all = lists.flat_map(|(list, which)| {
        let params = (0..).zip(list.of(module.params()));
        params.filter_map(move |(i, param)| Some((param.name?, 2 * i + which, *param)))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(name, place, _)| (*name, *place));
    all
}

fn declared<'a>(
    body: &'a Body,
    stmt: StmtId,
    decl: ptx_ir::DeclId,
    writer: &'a Writer<'a>,
) -> impl Iterator<Item = Variable> + 'a {
    let found = body.declarations().decls.get(decl);
    let found = found.filter(|d| d.space != ptx_isa::StateSpace::Reg);
    found.into_iter().flat_map(move |d| {
        let all = d
            .declarators
            .of(body.declarations().all_declarators())
            .iter();
        (d.declarators.start..)
            .zip(all)
            .map(move |(at, declarator)| {
                let mut part = Writer::new(writer.module, writer.numbers, body.pool(), Some(body));
                part.is_declaration = true;
                part.declaration(d, body.declarations().attributes());
                part.declarator(declarator);
                Variable {
                    tokens: part.tokens,
                    stmt,
                    declarator: at,
                }
            })
    })
}

/// The tokens of a declaration of the module with one of its names.
pub(crate) fn of_variable(
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
pub(crate) fn of_parameter(module: &Module, numbers: &Numbers, param: &Param) -> Vec<Token> {
    let mut writer = Writer::new(module, numbers, module.pool(), None);
    writer.parameter(param);
    writer.tokens
}

/// The tokens of a directive of the module.
pub(crate) fn of_directive(
    module: &Module,
    numbers: &Numbers,
    directive: &DirectiveStmt,
) -> Vec<Token> {
    let mut writer = Writer::new(module, numbers, module.pool(), None);
    writer.directive(directive);
    writer.tokens
}

/// The tokens of attributes.
pub(crate) fn of_attributes(
    module: &Module,
    numbers: &Numbers,
    attributes: &[Attribute],
) -> Vec<Token> {
    let mut writer = Writer::new(module, numbers, module.pool(), None);
    writer.attributes(attributes);
    writer.tokens
}

/// The tokens of an operand of the module.
pub(crate) fn of_operand(module: &Module, numbers: &Numbers, operand: Operand) -> Vec<Token> {
    let mut writer = Writer::new(module, numbers, module.pool(), None);
    writer.operand(operand);
    writer.tokens
}

pub(crate) struct Writer<'a> {
    module: &'a Module,
    numbers: &'a Numbers,
    pool: &'a OperandPool,
    body: Option<&'a Body>,
    parameters: Vec<(NameId, u32, Param)>,
    /// For each declared variable that is a first one its declarator.
    declarators: Vec<(StmtId, NameId, u32)>,
    /// The tokens that describe a variable, from when it is mentioned first.
    described: Vec<Option<Vec<Token>>>,
    /// Whether it writes a declaration, in which variables have their names: their numbers depend on what else is declared.
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
            described: Vec::new(),
            tokens: Vec::new(),
        }
    }

    /// For the operands of a function.
    pub(crate) fn of_function(
        module: &'a Module,
        id: FuncId,
        numbers: &'a Numbers,
    ) -> Option<Self> {
        let body = module.body(id)?;
        let mut writer = Self::new(module, numbers, body.pool(), Some(body));
        writer.parameters = parameters(module, id);
        Some(writer)
    }

    /// The tokens of an operand.
    pub(crate) fn of_operand(&mut self, operand: Operand) -> Vec<Token> {
        self.operand(operand);
        core::mem::take(&mut self.tokens)
    }

    /// Takes the memory of tokens that are not needed any more.
    pub(crate) fn reuse(&mut self, mut tokens: Vec<Token>) {
        tokens.clear();
        self.tokens = tokens;
    }

    /// The tokens of a statement.
    pub(crate) fn of_statement(&mut self, stmt: StmtId, statement: Statement) -> Vec<Token> {
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
                _ => self.one(operand),
            }
        }
    }

    fn operand(&mut self, operand: Operand) {
        self.walk(self.pool.walk_operand(operand));
    }

    /// One operand; its parts follow.
    fn one(&mut self, operand: Operand) {
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
            _ => self.composed(operand),
        }
    }

    fn composed(&mut self, operand: Operand) {
        let which = match operand {
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
            (Operand::Lane(selector, _), _) => self.push(Kind::Selector, 0, selector.bits().into()),
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
                self.push(Kind::Parts, which, self.pool.list(id).len() as u32);
            }
            _ => self.push(Kind::Parts, which, 0),
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
        // A label that no statement sets has its name only.
        let label = self.body.and_then(|b| b.labels().get(id));
        let is_set = label.is_some_and(|l| {
            let statement = self.body.and_then(|b| b.statement(l.stmt));
            matches!(statement, Some(Statement::Label(set)) if set == id)
        });
        match (is_set, label.map(|l| l.name)) {
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
        let known = self.described.get(id.index()).and_then(Option::as_ref);
        if let Some(known) = known {
            self.tokens.extend_from_slice(known);
            return;
        }
        let start = self.tokens.len();
        self.describe(id);
        let description = self.tokens.get(start..).unwrap_or_default().to_vec();
        if self.described.len() <= id.index() {
            self.described.resize(id.index() + 1, None);
        }
        if let Some(slot) = self.described.get_mut(id.index()) {
            *slot = Some(description);
        }
    }

    /// What a variable is, without its name; an initialized one has its name, not its values.
    fn describe(&mut self, id: VarId) {
        let Some(body) = self.body else { return };
        let Some(var) = body.vars().get(id).copied() else {
            return;
        };
        if let Some(number) = var.number {
            self.push(Kind::Number, 0, number);
        }
        let Some(stmt) = var.stmt else {
            let at = self
                .parameters
                .partition_point(|(name, ..)| *name < var.name);
            match self.parameters.get(at).copied() {
                Some((name, place, _)) if name == var.name => {
                    self.push(Kind::Declaration, 1, place);
                }
                _ => self.name(var.name),
            }
            return;
        };
        if self.declarators.is_empty() {
            self.declarators = declarators(body);
        }
        let known = self
            .declarators
            .binary_search_by_key(&(stmt, var.name), |d| (d.0, d.1));
        let at = known.ok().and_then(|i| self.declarators.get(i));
        let tables = body.declarations();
        let declarator = at.and_then(|d| tables.declarators.get(d.2 as usize).copied());
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
            params.iter().for_each(|param| self.parameter(param));
        }
        let directives = interface.directives.of(self.module.interface_directives());
        self.push(Kind::Parts, 17, directives.len() as u32);
        directives.iter().for_each(|d| self.directive(d));
    }
}

/// The declarators of variables by their statements and names.
fn declarators(body: &Body) -> Vec<(StmtId, NameId, u32)> {
    let tables = body.declarations();
    let statements = body.statements().filter_map(|(stmt, s)| match s {
        Statement::Decl(decl) => Some((stmt, tables.decls.get(decl)?)),
        _ => None,
    });
    let all = statements.flat_map(|(stmt, decl)| {
        let each = decl.declarators.of(&tables.declarators).iter();
        let each = (decl.declarators.start..).zip(each);
        let variables = each.filter(|(_, d)| matches!(d.binding, Binding::Var(_)));
        variables.map(move |(at, d)| (stmt, d.name, at))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all
}

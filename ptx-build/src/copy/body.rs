//! Statements of a body and what they declare.

use alloc::vec::Vec;
use core::mem;

use ptx_ir::raw::{RawBody, RawModule, push_built_statement};
use ptx_ir::{
    AddrId, Address, Binding, Body, Comments, DeclId, Declarations, Declarator, DirectiveStmt,
    FuncId, Inst, InstId, Interface, Label, LabelId, Module, NameId, Operand, OperandPool,
    OperandRange, Param, Prototype, RegDeclId, RegId, Register, Scope, ScopeId, Span, Statement,
    StmtId, SymbolKind, Var, VarDecl, VarId,
};

use super::operand::{CopyDeclarations, Leaves, copy_operand, copy_range};
use super::{Copier, get, set};
use crate::sequence::Sequence;

/// The statement of a label that is mentioned but not placed yet.
pub(crate) const UNPLACED: StmtId = StmtId::new(u32::MAX);

/// Copies statements from one body to the end of another one.
pub(crate) struct BodyCopier<'c, 'f, 't> {
    pub(crate) names: BodyNames<'c, 'f, 't>,
    /// The operands of the new body.
    pool: OperandPool,
    /// The operands of an instruction.
    operands: Vec<Operand>,
}

/// The ids of the names of one body in another one, and that body without its operands.
pub(crate) struct BodyNames<'c, 'f, 't> {
    module: &'c mut Copier<'f, 't>,
    source: &'f Body,
    pub(crate) target: Body,
    scope: ScopeId,
    registers: Vec<Option<RegId>>,
    /// The registers of plain names, by their declarations.
    plain: Vec<Option<RegId>>,
    reg_decls: Vec<Option<RegDeclId>>,
    vars: Vec<Option<VarId>>,
    labels: Vec<Option<LabelId>>,
    scopes: Vec<Option<ScopeId>>,
}

impl<'c, 'f, 't> BodyCopier<'c, 'f, 't> {
    /// Statements are added to `to` in its scope `scope`.
    pub(crate) fn new(
        module: &'c mut Copier<'f, 't>,
        source: &'f Body,
        mut target: Body,
        scope: ScopeId,
    ) -> Self {
        Self {
            pool: mem::take(target.pool_mut()),
            operands: Vec::new(),
            names: BodyNames {
                module,
                source,
                target,
                scope,
                registers: vec![None; source.registers().len()],
                plain: vec![None; source.reg_decls().len()],
                reg_decls: vec![None; source.reg_decls().len()],
                vars: vec![None; source.vars().len()],
                labels: vec![None; source.labels().len()],
                scopes: vec![None; source.inner_scopes().len() + 1],
            },
        }
    }

    /// The body with all that was copied.
    pub(crate) fn finish(mut self) -> Body {
        *self.names.target.pool_mut() = self.pool;
        self.names.target
    }

    /// An address, most of which are a register with a small offset.
    #[inline]
    fn address(&mut self, id: AddrId) -> Operand {
        match self.names.source.pool().address(id).copied() {
            Some(Address {
                base: Operand::Reg(base),
                offset: offset @ (Operand::Absent | Operand::Small(_)),
                form,
                ..
            }) => {
                let base = self.names.leaf_register(base);
                let address = Address::new(base, offset, form);
                Operand::Address(self.pool.add_address(address))
            }
            _ => self.operand(Operand::Address(id)),
        }
    }

    // --- statements ---

    /// Copies a statement; returns its id.
    #[inline]
    pub(crate) fn statement(&mut self, id: StmtId) -> Option<StmtId> {
        let stmt = self.names.target.statement_table().next_id();
        let copied = match self.names.source.statement(id)? {
            Statement::Inst(inst) => self.instruction(inst),
            statement => self.non_instruction(statement, stmt),
        };
        Some(push_built_statement(&mut self.names.target, copied?))
    }

    #[inline]
    fn instruction(&mut self, id: InstId) -> Option<Statement> {
        let source = self.names.source;
        let inst = source.inst(id)?;
        let mut operands = mem::take(&mut self.operands);
        operands.clear();
        let sense = inst.guard().map(|guard| {
            operands.push(self.names.leaf(source.pool().get(guard.predicate)));
            guard.sense
        });
        for &operand in source.operands(id) {
            operands.push(match operand {
                Operand::Reg(id) => self.names.leaf_register(id),
                Operand::Small(_) => operand,
                Operand::Address(id) => self.address(id),
                other => self.operand(other),
            });
        }
        let sig = self.names.module.signature(inst.sig);
        let range = self.pool.extend(&operands);
        self.operands = operands;
        let new = Inst::new(sig, range, sense);
        Some(Statement::Inst(self.names.target.insts_mut().push(new)))
    }

    fn non_instruction(&mut self, statement: Statement, stmt: StmtId) -> Option<Statement> {
        Some(match statement {
            Statement::Label(id) => {
                let new = self.names.label(id)?;
                let scope = self.names.scope;
                if let Some(label) = self.names.target.labels_mut().get_mut(new) {
                    (label.scope, label.stmt) = (scope, stmt);
                }
                Statement::Label(new)
            }
            Statement::Decl(id) => Statement::Decl(self.declaration(id)?),
            Statement::Directive(id) => {
                let DirectiveStmt {
                    directive, args, ..
                } = *self.names.source.directives().get(id)?;
                let args = self.range(args);
                let new = DirectiveStmt::new(directive, args);
                Statement::Directive(self.names.target.directives_mut().push(new))
            }
            Statement::Prototype(id) => {
                let prototype = self.names.source.prototypes().get(id)?;
                let interface = self.names.module.interface(&prototype.interface, |_| ());
                Statement::Prototype(
                    self.names
                        .target
                        .prototypes_mut()
                        .push(Prototype::new(interface)),
                )
            }
            Statement::Open(id) => {
                let parent = self.names.scope;
                self.names
                    .target
                    .inner_scopes_mut()
                    .push(Scope::new(parent, stmt));
                self.names.scope = ScopeId::new(self.names.target.inner_scopes().len() as u32);
                set(&mut self.names.scopes, id, self.names.scope);
                Statement::Open(self.names.scope)
            }
            Statement::Close(_) => {
                let closed = self.names.scope;
                let index = closed.as_u32() as usize;
                let scope = self
                    .names
                    .target
                    .inner_scopes_mut()
                    .get_mut(index.checked_sub(1)?)?;
                scope.close = Some(stmt);
                self.names.scope = scope.parent;
                Statement::Close(closed)
            }
            Statement::Function(id) => Statement::Function(self.names.module.function(id)?),
            _ => return None,
        })
    }
}

impl<'f> CopyDeclarations<'f> for BodyCopier<'_, 'f, '_> {
    fn source(&self) -> &'f Declarations {
        self.names.source.declarations()
    }

    fn target(&mut self) -> &mut Declarations {
        self.names.target.declarations_mut()
    }

    fn name(&mut self, name: NameId) -> NameId {
        self.names.module.name(name)
    }

    fn operand(&mut self, operand: Operand) -> Operand {
        let source = self.names.source.pool();
        copy_operand(&mut self.names, source, &mut self.pool, operand)
    }

    fn range(&mut self, range: OperandRange) -> OperandRange {
        let source = self.names.source.pool();
        copy_range(&mut self.names, source, &mut self.pool, range)
    }

    fn bind(&mut self, declarator: &Declarator, _: VarDecl, _: DeclId) -> Binding {
        // The declaration is the next statement.
        let stmt = self.names.target.statement_table().next_id();
        let binding = match declarator.binding {
            Binding::Register(id) => self.names.declared_registers(id, stmt),
            Binding::Var(id) => self.names.var(id, Some(stmt)).map(Binding::Var),
            _ => None,
        };
        binding.unwrap_or(Binding::None)
    }
}

impl<'f> BodyNames<'_, 'f, '_> {
    // --- names that the target has already ---

    pub(crate) fn map_register(&mut self, id: RegId, target: RegId) {
        set(&mut self.registers, id, target);
    }

    pub(crate) fn map_var(&mut self, id: VarId, target: VarId) {
        set(&mut self.vars, id, target);
    }

    pub(crate) fn map_label(&mut self, id: LabelId, target: LabelId) {
        set(&mut self.labels, id, target);
    }

    // --- names ---

    #[inline]
    fn register(&mut self, id: RegId) -> Option<RegId> {
        match get(&self.registers, id) {
            None => self.new_register(id),
            register => register,
        }
    }

    #[inline]
    fn leaf_register(&mut self, id: RegId) -> Operand {
        self.register(id).map_or(Operand::Absent, Operand::Reg)
    }

    #[cold]
    fn new_register(&mut self, id: RegId) -> Option<RegId> {
        let Register { decl, number, .. } = *self.source.registers().get(id)?;
        let new_decl = self.reg_decl(decl, None)?;
        let new = match get(&self.plain, decl) {
            Some(plain) => plain,
            None => self
                .target
                .registers_mut()
                .push(Register::new(new_decl, number)),
        };
        set(&mut self.registers, id, new);
        Some(new)
    }

    /// The declaration of registers; `stmt` is the statement that declares it.
    fn reg_decl(&mut self, id: RegDeclId, stmt: Option<StmtId>) -> Option<RegDeclId> {
        if let Some(copied_id) = get(&self.reg_decls, id) {
            return Some(copied_id);
        }
        let decl = *self.source.reg_decls().get(id)?;
        let mut copied = decl;
        copied.name = self.module.name(decl.name);
        copied.ty = self.module.type_name(decl.ty);
        copied.scope = self.scope;
        copied.stmt = stmt;
        let new = self.target.reg_decls_mut().push(copied);
        set(&mut self.reg_decls, id, new);
        if decl.count.is_none() {
            let number = 0;
            let plain = self.target.registers_mut().push(Register::new(new, number));
            set(&mut self.plain, id, plain);
        }
        Some(new)
    }

    fn var(&mut self, id: VarId, stmt: Option<StmtId>) -> Option<VarId> {
        if let Some(copied_id) = get(&self.vars, id) {
            return Some(copied_id);
        }
        let var = *self.source.vars().get(id)?;
        // A member of a range is where the range is.
        let range = self.range_of(var).filter(|_| stmt.is_none());
        let copied = Var {
            name: self.module.name(var.name),
            scope: range.map_or(self.scope, |r| r.scope),
            stmt: range.map_or(stmt, |r| r.stmt),
            ..var
        };
        let new = self.target.vars_mut().push(copied);
        set(&mut self.vars, id, new);
        Some(new)
    }

    /// The first variable of the range of a member.
    fn range_of(&self, member: Var) -> Option<Var> {
        let Some(Statement::Decl(decl)) = member.stmt.and_then(|s| self.source.statement(s)) else {
            return None;
        };
        let mut declarators = self.source.declarations().declarators(decl).iter();
        let first = declarators.find_map(|d| match d.binding {
            Binding::Var(first) if d.name == member.name => get(&self.vars, first),
            _ => None,
        })?;
        self.target.vars().get(first).copied()
    }

    fn label(&mut self, id: LabelId) -> Option<LabelId> {
        if let Some(copied_id) = get(&self.labels, id) {
            return Some(copied_id);
        }
        let name = self.source.labels().get(id)?.name;
        let label = Label::new(self.module.name(name), self.scope, UNPLACED);
        let new = self.target.labels_mut().push(label);
        set(&mut self.labels, id, new);
        Some(new)
    }

    /// The binding of a parameter of the function in the copy.
    fn parameter(&mut self, param: &Param) -> Binding {
        match param.binding {
            Binding::Register(id) => self.reg_decl(id, None).map(Binding::Register),
            Binding::Var(id) => self.var(id, None).map(Binding::Var),
            _ => None,
        }
        .unwrap_or(Binding::None)
    }

    fn declared_registers(&mut self, id: RegDeclId, stmt: StmtId) -> Option<Binding> {
        let was_mentioned = get(&self.reg_decls, id).is_some();
        let new = self.reg_decl(id, Some(stmt))?;
        if was_mentioned {
            let count = self.source.reg_decls().get(id)?.count;
            let decl = self.target.reg_decls_mut().get_mut(new)?;
            (decl.stmt, decl.count) = (Some(stmt), count);
        }
        Some(Binding::Register(new))
    }
}

impl Leaves for BodyNames<'_, '_, '_> {
    fn name(&mut self, name: NameId) -> NameId {
        self.module.name(name)
    }

    fn leaf(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Reg(id) => self.register(id).map(Operand::Reg),
            Operand::Var(id) => self.var(id, None).map(Operand::Var),
            Operand::Label(id) => self.label(id).map(Operand::Label),
            other => Some(Leaves::leaf(self.module, other)),
        }
        .unwrap_or(Operand::Absent)
    }
}

impl<'f> Copier<'f, '_> {
    /// Copies a function with its body and the comments of the body.
    pub(crate) fn definition(&mut self, id: FuncId, body: &'f Body) -> Option<FuncId> {
        let new = self.begin_function(id)?;
        let interface = self.source.functions().get(id)?.interface;
        let params = parameters(self.source, &interface);
        let statements = body.statements().map(|(stmt, _)| stmt);
        let (mut copied, bindings) = self.body(body, &params, statements);
        *copied.closed_mut() = true;
        *copied.comments_mut() = if body.is_in_source() {
            source_comments(self.source, body)
        } else {
            body.comments().clone()
        };
        let mut bindings = bindings.into_iter();
        let interface = self.interface(&interface, |param| {
            param.binding = bindings.next().unwrap_or(Binding::None);
        });
        let body = self.target.bodies_mut().push(copied);
        let function = self.target.functions_mut().get_mut(new)?;
        (function.interface, function.body) = (interface, Some(body));
        let symbol = function
            .symbol
            .and_then(|s| self.target.symbols_mut().get_mut(s));
        if let Some(symbol) = symbol {
            symbol.kind = SymbolKind::Function(new);
        }
        Some(new)
    }

    /// Copies statements of a body in this order; also returns the bindings of the parameters in the copy.
    pub(crate) fn body(
        &mut self,
        body: &'f Body,
        params: &[Param],
        statements: impl Iterator<Item = StmtId>,
    ) -> (Body, Vec<Binding>) {
        let mut copier = BodyCopier::new(self, body, Body::default(), ScopeId::new(0));
        let bindings = params.iter().map(|p| copier.names.parameter(p)).collect();
        for stmt in statements {
            copier.statement(stmt);
        }
        (copier.finish(), bindings)
    }

    /// Sets the header of an existing function to that of another one, with these names for its results and parameters.
    pub(crate) fn header(
        &mut self,
        id: FuncId,
        target_id: FuncId,
        parameters: impl IntoIterator<Item = (Option<NameId>, Binding)>,
    ) {
        let Some(function) = self.source.functions().get(id).copied() else {
            return;
        };
        let attributes = self.attributes(function.attributes);
        let mut parameters = parameters.into_iter();
        let interface = self.interface(&function.interface, |param| {
            param.binding = Binding::None;
            if let Some((name, binding)) = parameters.next() {
                (param.name, param.binding) = (name, binding);
            }
        });
        if let Some(place) = self.target.functions_mut().get_mut(target_id) {
            place.linkage = function.linkage;
            (place.attributes, place.interface) = (attributes, interface);
        }
    }
}

/// The comments of a parsed body, with statements numbered in order.
fn source_comments(module: &Module, body: &Body) -> Comments<StmtId> {
    let (mut sequence, mut ids) = (Sequence::default(), body.statement_table().ids());
    let part = Span::new(body.base() + 1, body.base() + body.end());
    sequence.add_parsed(module, body, part, |_| ids.next());
    sequence.comments()
}

/// The results and parameters of an interface of a module.
pub(crate) fn parameters(module: &Module, interface: &Interface) -> Vec<Param> {
    let lists = [interface.returns, interface.params];
    lists
        .iter()
        .flat_map(|l| l.of(module.params()))
        .copied()
        .collect()
}

//! Rebuilds the statements of a function by calls of the builder.

use std::collections::BTreeMap;

use ptx_ir::{
    Binding, Body, DeclId, DirectiveStmt, EntityId, InstId, LabelId, Operand as Ir, RegId, ScopeId,
    Statement, StmtId,
};
use ptx_isa::{Directive, StateSpace};

use super::{RebuildError, Replay, unknown};
use ptx_build::{
    BranchTarget, CodeLabel, Func, FunctionBuilder, OperandExpr, Reg, RegRange, Variable,
};

/// A function that is being rebuilt.
pub(super) struct FunctionReplay<'a, 'r> {
    module: &'a mut Replay<'r>,
    body: &'r Body,
    /// The labels of each scope.
    scope_labels: BTreeMap<u32, Vec<LabelId>>,
    labels: Vec<Option<CodeLabel>>,
    ranges: Vec<Option<RegRange>>,
    registers: Vec<Option<Reg>>,
    /// The variables by their declaration and name; the declaration of a parameter is `None`.
    variables: BTreeMap<(Option<StmtId>, String), Variable>,
    /// The label before the current statement. It is placed by that statement, which may be a table.
    pending: Option<CodeLabel>,
}

impl<'a, 'r> FunctionReplay<'a, 'r> {
    pub(super) fn new(module: &'a mut Replay<'r>, body: &'r Body) -> Self {
        let mut scope_labels: BTreeMap<u32, Vec<LabelId>> = BTreeMap::new();
        for (id, label) in body.labels().iter() {
            scope_labels
                .entry(label.scope.as_u32())
                .or_default()
                .push(id);
        }
        Self {
            module,
            body,
            scope_labels,
            labels: vec![None; body.labels().len()],
            ranges: vec![None; body.reg_decls().len()],
            registers: vec![None; body.registers().len()],
            variables: BTreeMap::new(),
            pending: None,
        }
    }

    pub(super) fn statements(mut self, k: &mut FunctionBuilder<'_>) -> Result<(), RebuildError> {
        self.parameters(k);
        self.create_labels(k, ScopeId::new(0))?;
        for (id, statement) in self.body.statements() {
            self.statement(k, id, statement)?;
        }
        self.place_pending(k)
    }

    /// Adds the parameters to the names of the function.
    fn parameters(&mut self, k: &FunctionBuilder<'_>) {
        for var in self.body.vars().values().filter(|v| v.stmt.is_none()) {
            let name = self.module.name(var.name);
            if let Some(local) = k.local(name) {
                self.variables.insert((None, name.to_string()), local);
            }
        }
        for (id, register) in self.body.registers().iter() {
            let decl = self.body.reg_decls().get(register.decl);
            if let Some(decl) = decl.filter(|d| d.stmt.is_none())
                && let Some(entry) = self.registers.get_mut(id.index())
            {
                *entry = k.local_reg(self.module.name(decl.name));
            }
        }
    }

    /// Creates the labels of a scope, which can be used before they are placed.
    fn create_labels(
        &mut self,
        k: &mut FunctionBuilder<'_>,
        scope: ScopeId,
    ) -> Result<(), RebuildError> {
        for id in self
            .scope_labels
            .remove(&scope.as_u32())
            .unwrap_or_default()
        {
            if let (Some(label), Some(entry)) =
                (self.body.labels().get(id), self.labels.get_mut(id.index()))
            {
                *entry = Some(k.named_label(self.module.name(label.name))?);
            }
        }
        Ok(())
    }

    fn place_pending(&mut self, k: &mut FunctionBuilder<'_>) -> Result<(), RebuildError> {
        self.pending
            .take()
            .map_or(Ok(()), |label| Ok(k.place(label)?))
    }

    fn statement(
        &mut self,
        k: &mut FunctionBuilder<'_>,
        stmt: StmtId,
        statement: Statement,
    ) -> Result<(), RebuildError> {
        let body = self.body;
        let pending = self.pending.take();
        match (statement, pending) {
            (Statement::Directive(id), Some(label)) => {
                if let Some(directive) = body.directives().get(id) {
                    return self.table(k, label, *directive);
                }
            }
            (Statement::Prototype(id), Some(label)) => {
                if let Some(prototype) = body.prototypes().get(id) {
                    let interface = self.module.interface(&prototype.interface)?;
                    return Ok(k.place_prototype(label, &interface)?);
                }
            }
            (_, Some(label)) => k.place(label)?,
            (_, None) => {}
        }
        match statement {
            Statement::Inst(inst) => self.instruction(k, inst),
            Statement::Label(label) => {
                self.pending = self.labels.get(label.index()).copied().flatten();
                Ok(())
            }
            Statement::Decl(decl) => self.declaration(k, stmt, decl),
            Statement::Directive(id) => match body.directives().get(id) {
                Some(directive) => self.directive(k, *directive),
                None => Ok(()),
            },
            Statement::Open(scope) => {
                k.open();
                self.create_labels(k, scope)
            }
            Statement::Close(_) => Ok(k.close()?),
            Statement::Function(func) => {
                let module = self.module.module;
                let function = module
                    .functions()
                    .get(func)
                    .ok_or_else(|| unknown("a function"))?;
                let (interface, name) = (self.module.header(function)?, module.name(function.name));
                let func = k.declare_function(function.kind, name, interface)?;
                self.module.functions.insert(name.to_string(), func);
                Ok(())
            }
            Statement::Removed => Ok(()),
            _ => Err(unknown("a statement")),
        }
    }

    // --- names ---

    /// Returns the register of the builder, which is created at its first use.
    fn register(&mut self, k: &mut FunctionBuilder<'_>, id: RegId) -> Result<Reg, RebuildError> {
        if let Some(Some(reg)) = self.registers.get(id.index()) {
            return Ok(*reg);
        }
        let Some(register) = self.body.registers().get(id) else {
            return Err(unknown("a register"));
        };
        let Some(Some(range)) = self.ranges.get(register.decl.index()) else {
            return Err(unknown("a register"));
        };
        let reg = k.member(*range, register.number.into())?;
        if let Some(entry) = self.registers.get_mut(id.index()) {
            *entry = Some(reg);
        }
        Ok(reg)
    }

    /// Converts the name of a register, label or variable.
    fn local(&self, operand: Ir) -> Result<OperandExpr, RebuildError> {
        match operand {
            Ir::Reg(id) => {
                let reg = self.registers.get(id.index()).copied().flatten();
                reg.map(OperandExpr::Reg)
                    .ok_or_else(|| unknown("a register"))
            }
            Ir::Label(id) => {
                let label = self.labels.get(id.index()).copied().flatten();
                label
                    .map(OperandExpr::Label)
                    .ok_or_else(|| unknown("a label"))
            }
            Ir::Var(id) => {
                let var = self
                    .body
                    .vars()
                    .get(id)
                    .ok_or_else(|| unknown("a variable"))?;
                let name = match var.number {
                    Some(n) => format!("{}{n}", self.module.name(var.name)),
                    None => self.module.name(var.name).to_string(),
                };
                self.variables
                    .get(&(var.stmt, name))
                    .copied()
                    .map(OperandExpr::Variable)
                    .ok_or_else(|| unknown("a variable"))
            }
            _ => Err(unknown("a name")),
        }
    }

    /// Creates the registers that the operands contain.
    fn create_registers(
        &mut self,
        k: &mut FunctionBuilder<'_>,
        operands: &[Ir],
    ) -> Result<(), RebuildError> {
        let mut parts = Vec::new();
        for operand in operands {
            parts.extend(self.body.pool().walk_operand(*operand));
        }
        for part in parts {
            if let Ir::Reg(id) = part {
                self.register(k, id)?;
            }
        }
        Ok(())
    }

    fn operands(
        &mut self,
        k: &mut FunctionBuilder<'_>,
        operands: &[Ir],
    ) -> Result<Vec<OperandExpr>, RebuildError> {
        self.create_registers(k, operands)?;
        operands
            .iter()
            .map(|o| {
                self.module
                    .operand(self.body.pool(), *o, &|name| self.local(name))
            })
            .collect()
    }

    // --- statements ---

    fn instruction(&mut self, k: &mut FunctionBuilder<'_>, id: InstId) -> Result<(), RebuildError> {
        let body = self.body;
        let inst = body.inst(id).ok_or_else(|| unknown("a statement"))?;
        let operands = self.operands(k, body.operands(id))?;
        if let Some(guard) = inst.guard() {
            let Ir::Reg(id) = body.pool().get(guard.predicate) else {
                return Err(unknown("a guard"));
            };
            let predicate = self.register(k, id)?;
            if guard.sense.is_negated() {
                k.guard_not(predicate);
            } else {
                k.guard(predicate);
            }
        }
        Ok(k.inst(self.module.module.signature(inst.sig).text(), &operands[..])?)
    }

    fn declaration(
        &mut self,
        k: &mut FunctionBuilder<'_>,
        id: StmtId,
        decl: DeclId,
    ) -> Result<(), RebuildError> {
        let body = self.body;
        let declaration =
            self.module
                .declaration(body.declarations(), body.pool(), decl, &|name| {
                    self.local(name)
                })?;
        let declarators = body.declarations().declarators(decl);
        let space = body.declarations().decls.get(decl).map(|d| d.space);
        if space == Some(StateSpace::Reg) {
            for (declarator, range) in declarators.iter().zip(k.registers(&declaration)?) {
                if let Binding::Register(id) = declarator.binding
                    && let Some(entry) = self.ranges.get_mut(id.index())
                {
                    *entry = Some(range);
                }
            }
            return Ok(());
        }
        let names = self.module.members(body.pool(), declarators)?;
        for (name, var) in names.into_iter().zip(k.declare_all(declaration)?) {
            self.variables.insert((Some(id), name), var);
        }
        Ok(())
    }

    fn directive(
        &mut self,
        k: &mut FunctionBuilder<'_>,
        stmt: DirectiveStmt,
    ) -> Result<(), RebuildError> {
        let pool = self.body.pool();
        let args = pool.slice(stmt.args);
        let integer = |o: &Ir| self.module.integer(pool, *o);
        match (stmt.directive, args) {
            (Directive::Pragma, texts) => Ok(k.pragmas(&self.module.strings(texts)?)?),
            (Directive::Alias, [alias, aliasee]) => {
                Ok(k.alias(self.module.func(*alias)?, self.module.func(*aliasee)?)?)
            }
            (Directive::Loc, [file, line, column]) => {
                let number = |o: &Ir| self.module.number(pool, *o);
                Ok(k.loc_spelled([number(file)?, number(line)?, number(column)?])?)
            }
            (Directive::Loc, [file, line, column, name, f, l, c]) => {
                let text = |o| match o {
                    Ir::Name(n) | Ir::Section(n) => Ok(self.module.name(n)),
                    _ => Err(unknown("the name of a function")),
                };
                let name = match *name {
                    Ir::Address(id) => {
                        let address = pool.address(id).ok_or_else(|| unknown("an address"))?;
                        (text(address.base)?, Some(integer(&address.offset)?))
                    }
                    operand => (text(operand)?, None),
                };
                let location = [integer(file)?, integer(line)?, integer(column)?];
                let call_site = [integer(f)?, integer(l)?, integer(c)?];
                Ok(k.loc_inlined(location, name, call_site)?)
            }
            _ => Err(unknown("a directive")),
        }
    }

    fn branch_target(
        &self,
        k: &FunctionBuilder<'_>,
        target: Ir,
    ) -> Result<BranchTarget, RebuildError> {
        let Ir::Range(id) = target else {
            return match self.local(target)? {
                OperandExpr::Label(label) => Ok(label.into()),
                _ => Err(unknown("a label")),
            };
        };
        let pool = self.body.pool();
        let (stem, count) = pool.pair(id);
        if let Ir::Name(name) = stem
            && let Some(first) = k.local_label(&format!("{}0", self.module.name(name)))
        {
            let count = self.module.integer(pool, count)?;
            return Ok(BranchTarget::Range(first, count));
        }
        Err(unknown("a range of labels"))
    }

    fn table(
        &mut self,
        k: &mut FunctionBuilder<'_>,
        label: CodeLabel,
        stmt: DirectiveStmt,
    ) -> Result<(), RebuildError> {
        let args = self.body.pool().slice(stmt.args);
        match stmt.directive {
            Directive::Branchtargets => {
                let targets = args.iter().map(|o| self.branch_target(k, *o));
                let targets: Vec<BranchTarget> = targets.collect::<Result<_, RebuildError>>()?;
                Ok(k.place_branch_targets(label, &targets)?)
            }
            Directive::Calltargets => {
                let functions = args.iter().map(|o| self.module.func(*o));
                let functions: Vec<Func> = functions.collect::<Result<_, RebuildError>>()?;
                Ok(k.place_call_targets(label, &functions)?)
            }
            _ => {
                k.place(label)?;
                self.directive(k, stmt)
            }
        }
    }
}

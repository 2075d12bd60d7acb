//! The statements of a function, as calls of the builder.

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
pub(super) struct Replayed<'a, 'r> {
    all: &'a mut Replay<'r>,
    body: &'r Body,
    /// The labels of each scope.
    labels_of: BTreeMap<u32, Vec<LabelId>>,
    labels: Vec<Option<CodeLabel>>,
    ranges: Vec<Option<RegRange>>,
    registers: Vec<Option<Reg>>,
    /// By the statement that declares them; `None` for parameters.
    variables: BTreeMap<(Option<StmtId>, String), Variable>,
    /// A label that may be that of a table.
    pending: Option<CodeLabel>,
}

impl<'a, 'r> Replayed<'a, 'r> {
    pub(super) fn new(all: &'a mut Replay<'r>, body: &'r Body) -> Self {
        let mut labels_of: BTreeMap<u32, Vec<LabelId>> = BTreeMap::new();
        for (id, label) in body.labels().iter() {
            labels_of.entry(label.scope.as_u32()).or_default().push(id);
        }
        Self {
            all,
            body,
            labels_of,
            labels: vec![None; body.labels().len()],
            ranges: vec![None; body.reg_decls().len()],
            registers: vec![None; body.registers().len()],
            variables: BTreeMap::new(),
            pending: None,
        }
    }

    pub(super) fn statements(mut self, k: &mut FunctionBuilder<'_>) -> Result<(), RebuildError> {
        self.parameters(k);
        self.labels(k, ScopeId::new(0))?;
        for (id, statement) in self.body.statements() {
            self.statement(k, id, statement)?;
        }
        self.place_pending(k)
    }

    /// What parameters are called.
    fn parameters(&mut self, k: &FunctionBuilder<'_>) {
        for var in self.body.vars().values().filter(|v| v.stmt.is_none()) {
            let name = self.all.name(var.name);
            if let Some(local) = k.local(name) {
                self.variables.insert((None, name.to_string()), local);
            }
        }
        for (id, register) in self.body.registers().iter() {
            let decl = self.body.reg_decls().get(register.decl);
            if let Some(decl) = decl.filter(|d| d.stmt.is_none())
                && let Some(place) = self.registers.get_mut(id.index())
            {
                *place = k.local_reg(self.all.name(decl.name));
            }
        }
    }

    /// The labels of a scope, which can be mentioned before they are placed.
    fn labels(&mut self, k: &mut FunctionBuilder<'_>, scope: ScopeId) -> Result<(), RebuildError> {
        for id in self.labels_of.remove(&scope.as_u32()).unwrap_or_default() {
            if let (Some(label), Some(place)) =
                (self.body.labels().get(id), self.labels.get_mut(id.index()))
            {
                *place = Some(k.named_label(self.all.name(label.name))?);
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
        id: StmtId,
        statement: Statement,
    ) -> Result<(), RebuildError> {
        let body = self.body;
        let pending = self.pending.take();
        match (statement, pending) {
            (Statement::Directive(at), Some(label)) => {
                if let Some(stmt) = body.directives().get(at) {
                    return self.table(k, label, *stmt);
                }
            }
            (Statement::Prototype(at), Some(label)) => {
                if let Some(prototype) = body.prototypes().get(at) {
                    let interface = self.all.interface(&prototype.interface)?;
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
            Statement::Decl(decl) => self.declaration(k, id, decl),
            Statement::Directive(at) => match body.directives().get(at) {
                Some(stmt) => self.directive(k, *stmt),
                None => Ok(()),
            },
            Statement::Open(scope) => {
                k.open();
                self.labels(k, scope)
            }
            Statement::Close(_) => Ok(k.close()?),
            Statement::Function(func) => {
                let module = self.all.module;
                let function = module.functions().get(func);
                let function = function.ok_or_else(|| unknown("a function"))?;
                let (interface, name) = (self.all.header(function)?, module.name(function.name));
                let func = k.declare_function(function.kind, name, interface)?;
                self.all.functions.insert(name.to_string(), func);
                Ok(())
            }
            Statement::Removed => Ok(()),
            _ => Err(unknown("a statement")),
        }
    }

    // --- names ---

    /// Makes sure that the registers of an operand, which begin with `first`, are there.
    fn register(&mut self, k: &mut FunctionBuilder<'_>, id: RegId) -> Result<Reg, RebuildError> {
        let known = self.registers.get(id.index()).copied().flatten();
        if let Some(reg) = known {
            return Ok(reg);
        }
        let register = self.body.registers().get(id);
        let register = register.ok_or_else(|| unknown("a register"))?;
        let range = self.ranges.get(register.decl.index()).copied().flatten();
        let range = range.ok_or_else(|| unknown("a register"))?;
        let reg = k.member(range, register.number.into())?;
        if let Some(place) = self.registers.get_mut(id.index()) {
            *place = Some(reg);
        }
        Ok(reg)
    }

    /// What is known of a name.
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
                    Some(n) => format!("{}{n}", self.all.name(var.name)),
                    None => self.all.name(var.name).to_string(),
                };
                let known = self.variables.get(&(var.stmt, name)).copied();
                known
                    .map(OperandExpr::Variable)
                    .ok_or_else(|| unknown("a variable"))
            }
            _ => Err(unknown("a name")),
        }
    }

    /// Asks for the registers that an operand mentions.
    fn registers(
        &mut self,
        k: &mut FunctionBuilder<'_>,
        operands: &[Ir],
    ) -> Result<(), RebuildError> {
        let mut parts = Vec::new();
        for operand in operands {
            self.body.pool().parts(*operand, &mut parts);
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
        self.registers(k, operands)?;
        let local = |o| self.local(o);
        let made = operands.iter();
        made.map(|o| self.all.operand(self.body.pool(), *o, &local))
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
            match guard.negated {
                true => k.guard_not(predicate),
                false => k.guard(predicate),
            };
        }
        Ok(k.inst(self.all.module.signature(inst.sig).text(), &operands[..])?)
    }

    fn declaration(
        &mut self,
        k: &mut FunctionBuilder<'_>,
        id: StmtId,
        decl: DeclId,
    ) -> Result<(), RebuildError> {
        let body = self.body;
        let local = |o| self.local(o);
        let made = self
            .all
            .declaration(body.declarations(), body.pool(), decl, &local)?;
        let declarators = body.declarations().declarators(decl);
        let space = body.declarations().decls.get(decl).map(|d| d.space);
        if space == Some(StateSpace::Reg) {
            for (d, range) in declarators.iter().zip(k.registers(&made)?) {
                if let Binding::Register(at) = d.binding
                    && let Some(place) = self.ranges.get_mut(at.index())
                {
                    *place = Some(range);
                }
            }
            return Ok(());
        }
        let names = self.all.members(body.pool(), declarators)?;
        for (name, var) in names.into_iter().zip(k.declare_all(made)?) {
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
        let n = |o: &Ir| self.all.integer(pool, *o);
        match (stmt.directive, args) {
            (Directive::Pragma, texts) => {
                let texts = texts.iter().map(|t| self.all.string(*t));
                Ok(k.pragmas(&texts.collect::<Result<Vec<&str>, RebuildError>>()?)?)
            }
            (Directive::Alias, [alias, of]) => {
                Ok(k.alias(self.all.func(*alias)?, self.all.func(*of)?)?)
            }
            (Directive::Loc, [file, line, column]) => {
                let number = |o: &Ir| self.all.number(pool, *o);
                Ok(k.loc_spelled([number(file)?, number(line)?, number(column)?])?)
            }
            (Directive::Loc, [file, line, column, name, f, l, c]) => {
                let text = |o| match o {
                    Ir::Name(n) | Ir::Section(n) => Ok(self.all.name(n)),
                    _ => Err(unknown("the name of a function")),
                };
                let name = match *name {
                    Ir::Address(id) => {
                        let address = pool.address(id).ok_or_else(|| unknown("an address"))?;
                        (text(address.base)?, Some(n(&address.offset)?))
                    }
                    other => (text(other)?, None),
                };
                let place = [n(file)?, n(line)?, n(column)?];
                Ok(k.loc_inlined(place, name, [n(f)?, n(l)?, n(c)?])?)
            }
            _ => Err(unknown("a directive")),
        }
    }

    fn branch_target(
        &self,
        k: &FunctionBuilder<'_>,
        target: Ir,
    ) -> Result<BranchTarget, RebuildError> {
        let Ir::Range(at) = target else {
            return match self.local(target)? {
                OperandExpr::Label(label) => Ok(label.into()),
                _ => Err(unknown("a label")),
            };
        };
        let pool = self.body.pool();
        let (stem, count) = pool.pair(at);
        let zero = match stem {
            Ir::Name(name) => k.local_label(&format!("{}0", self.all.name(name))),
            _ => None,
        };
        let zero = zero.ok_or_else(|| unknown("a range of labels"))?;
        Ok(BranchTarget::Range(zero, self.all.integer(pool, count)?))
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
                let functions = args.iter().map(|o| self.all.func(*o));
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

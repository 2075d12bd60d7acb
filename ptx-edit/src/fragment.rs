//! Statements given as text.

use alloc::string::String;
use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_ir::raw::RawBody;
use ptx_ir::{
    Binding, Body, Code, DeclId, Declarator, Diagnostic, EntityId, Inst, InstId, Label, Module,
    NameId, Operand, OperandRange, RegDeclId, ScopeId, Span, Statement, StmtId, TableRange, Var,
    VarId,
};

use crate::construct::UNPLACED;
use crate::names::NameForm;
use crate::{EditError, Editor};

impl Editor<'_> {
    /// Inserts statements, given as PTX text, before another one. A name in the text denotes the entity that it would denote
    /// at that place of the function, or the one that the text declares. Comments of the text are dropped. Returns the new
    /// statements.
    ///
    /// The cost is that of copying the tables of the body, and linear in its names for each distinct name of the text.
    ///
    /// ```
    /// use ptx_edit::{EditError, EditModule as _};
    /// let text = ".version 8.0\n.target sm_80\n.entry k()\n{\n\t.reg .b32 %r<3>;\n\tmov.b32 %r1, 7;\n\tret;\n}\n";
    /// let mut module = ptx_parse::parse_str(text).module;
    /// let k = module.function("k").ok_or(EditError::NoBody)?;
    /// let mut editor = module.edit(k)?;
    /// let ret = editor.body().statements().last().ok_or(EditError::NoStatement)?.0;
    /// editor.insert_text_before(ret, ".reg .pred %p; setp.eq.s32 %p, %r1, 0; @%p bra DONE; add.s32 %r2, %r1, 1; DONE:")?;
    /// let undeclared = editor.insert_text_before(ret, "mov.b32 %r3, 0;");
    /// assert_eq!(undeclared, Err(EditError::Undeclared("%r3".into())));
    /// let now = String::from_utf8_lossy(&ptx_print::verbatim(&module)).into_owned();
    /// assert!(now.ends_with("\t@%p bra DONE;\n\tadd.s32 %r2, %r1, 1;\nDONE:\n\tret;\n}\n"), "{now}");
    /// # Ok::<(), EditError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::Syntax`] if the text is not a sequence of statements; [`EditError::Undeclared`] if it uses a name that
    /// denotes nothing; [`EditError::Taken`] and [`EditError::Overlap`] if it declares a name that conflicts with another;
    /// [`EditError::Kind`] for prototypes, functions, and attributes of variables; and the errors of
    /// [`insert_before`](Self::insert_before). The function is unchanged after an error.
    pub fn insert_text_before(
        &mut self,
        stmt: StmtId,
        text: &str,
    ) -> Result<Vec<StmtId>, EditError> {
        self.statement(stmt)?;
        let predecessor = self.body().before(stmt);
        self.insert_text(predecessor, text)
    }

    /// Inserts statements, given as PTX text, after another one: see [`insert_text_before`](Self::insert_text_before).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert_text_before`](Self::insert_text_before).
    pub fn insert_text_after(
        &mut self,
        stmt: StmtId,
        text: &str,
    ) -> Result<Vec<StmtId>, EditError> {
        self.statement(stmt)?;
        self.insert_text(Some(stmt), text)
    }

    fn insert_text(
        &mut self,
        predecessor: Option<StmtId>,
        text: &str,
    ) -> Result<Vec<StmtId>, EditError> {
        self.insert_body(predecessor, &parse(text)?, &|_| false)
    }

    /// Inserts the statements of the only function with a body of another module before a statement. Names in it denote the
    /// entities that they would denote at that place, or those that the inserted statements declare. Labels and declarations
    /// outside of inner scopes are not inserted if `is_existing` accepts all of their names.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert_text_before`](Self::insert_text_before).
    #[doc(hidden)]
    pub fn insert_body_before(
        &mut self,
        stmt: StmtId,
        module: &Module,
        is_existing: impl Fn(&str) -> bool,
    ) -> Result<Vec<StmtId>, EditError> {
        self.statement(stmt)?;
        let predecessor = self.body().before(stmt);
        self.insert_body(predecessor, module, &is_existing)
    }

    /// Inserts the statements of the only function with a body of another module after a statement.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert_text_before`](Self::insert_text_before).
    #[doc(hidden)]
    pub fn insert_body_after(
        &mut self,
        stmt: StmtId,
        module: &Module,
        is_existing: impl Fn(&str) -> bool,
    ) -> Result<Vec<StmtId>, EditError> {
        self.statement(stmt)?;
        self.insert_body(Some(stmt), module, &is_existing)
    }

    fn insert_body(
        &mut self,
        predecessor: Option<StmtId>,
        module: &Module,
        is_existing: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<StmtId>, EditError> {
        let Some((_, _, body)) = module.definitions().next() else {
            return Ok(Vec::new());
        };
        let unedited_body = self.body().clone();
        let mut import = Import {
            key: self.key_after(predecessor),
            editor: self,
            module,
            body,
            is_existing,
            operands: HashMap::new(),
            decls: vec![None; body.reg_decls().len()],
        };
        let result = import.statements(predecessor);
        if result.is_err() {
            *self.body_mut() = unedited_body;
            self.registers = None;
        }
        result
    }
}

/// The text before the fragment when it is parsed.
const HEAD: &str = ".version 9.0\n.target sm_100\n.address_size 64\n.func f()\n{\n";

/// Parses the text as the body of a function.
fn parse(text: &str) -> Result<Module, EditError> {
    let parsed = ptx_parse::parse_str(&[HEAD, text, "\n}\n"].concat());
    // Names that the text does not declare belong to the function, and are resolved when the text is imported.
    let is_syntax_error =
        |d: &&Diagnostic| d.severity == ptx_ir::Severity::Error && d.code != Code::UndefinedName;
    if let Some(d) = parsed.diagnostics.iter().find(is_syntax_error) {
        let in_fragment = |offset: u32| {
            offset
                .saturating_sub(HEAD.len() as u32)
                .min(text.len() as u32)
        };
        return Err(EditError::Syntax {
            message: String::from(&*d.message),
            span: Span::new(in_fragment(d.span.start), in_fragment(d.span.end)),
        });
    }
    // The three directives of the header, and the function.
    if parsed.module.items().count() != 4 {
        let head_len = HEAD.len() as u32;
        return Err(EditError::Syntax {
            message: String::from("unbalanced braces"),
            span: Span::new(0, (text.len() as u32).saturating_sub(head_len)),
        });
    }
    Ok(parsed.module)
}

/// Copies the statements of the body of another module into a function.
struct Import<'e, 'm, 't> {
    editor: &'e mut Editor<'m>,
    /// The key of the place where the statements are inserted.
    key: u64,
    module: &'t Module,
    body: &'t Body,
    /// Accepts the names whose declarations are not inserted.
    is_existing: &'t dyn Fn(&str) -> bool,
    /// For each operand of the text, the operand of the function that it becomes: registers, variables, labels, immediates,
    /// undeclared names, and strings.
    operands: HashMap<Operand, Operand>,
    /// For each register declaration of the text, the one of the function that it becomes.
    decls: Vec<Option<RegDeclId>>,
}

impl Import<'_, '_, '_> {
    /// Places all statements, the first one after `predecessor`, and returns their ids.
    fn statements(&mut self, mut predecessor: Option<StmtId>) -> Result<Vec<StmtId>, EditError> {
        for (id, label) in self.body.labels().iter() {
            if (self.is_existing)(self.module.name(label.name)) {
                continue;
            }
            let name = self.new_name(label.name, NameForm::Plain)?;
            let label = Label::new(name, ScopeId::new(0), UNPLACED);
            let new = self.editor.body_mut().labels_mut().push(label);
            self.operands
                .insert(Operand::Label(id), Operand::Label(new));
        }
        let mut placed = Vec::new();
        let mut open = Vec::new();
        for (_, statement) in self.body.statements() {
            if open.is_empty() && self.declares_only_existing(statement) {
                continue;
            }
            let id = match statement {
                Statement::Open(_) => {
                    let [first, last] = self.editor.place_scope(predecessor)?;
                    open.push(last);
                    first
                }
                Statement::Close(_) => open.pop().ok_or(EditError::NoStatement)?,
                other => {
                    let new = self.statement(other)?;
                    let new = self.editor.draft(new);
                    self.editor.place(predecessor, new)?
                }
            };
            predecessor = Some(id);
            placed.push(id);
        }
        Ok(placed)
    }

    /// Returns whether a statement is a label or a declaration, and `is_existing` accepts all names that it declares.
    fn declares_only_existing(&self, statement: Statement) -> bool {
        match statement {
            Statement::Label(id) => self
                .body
                .labels()
                .get(id)
                .is_some_and(|l| (self.is_existing)(self.module.name(l.name))),
            Statement::Decl(id) => {
                let declarators = self.body.declarations().declarators(id);
                !declarators.is_empty()
                    && declarators
                        .iter()
                        .all(|d| (self.is_existing)(self.module.name(d.name)))
            }
            _ => false,
        }
    }

    fn statement(&mut self, statement: Statement) -> Result<Statement, EditError> {
        const NOT_IMPORTABLE: EditError = EditError::Kind {
            wanted: "statement that can be inserted as text",
        };
        self.map_operands(statement)?;
        Ok(match statement {
            Statement::Inst(id) => Statement::Inst(self.instruction(id)?),
            Statement::Label(id) => match self.operands.get(&Operand::Label(id)) {
                Some(Operand::Label(id)) => Statement::Label(*id),
                _ => return Err(NOT_IMPORTABLE),
            },
            Statement::Decl(id) => Statement::Decl(self.declaration(id)?),
            Statement::Directive(id) => {
                let mut directive = *self.body.directives().get(id).ok_or(NOT_IMPORTABLE)?;
                directive.args = self.import(self.body.pool().slice(directive.args));
                let directives = self.editor.body_mut().directives_mut();
                Statement::Directive(directives.push(directive))
            }
            _ => return Err(NOT_IMPORTABLE),
        })
    }

    fn instruction(&mut self, id: InstId) -> Result<InstId, EditError> {
        let inst = self.body.inst(id).ok_or(EditError::NoStatement)?;
        let sig = self.module.signature(inst.sig).text();
        let sig = self.editor.mnemonic(sig)?;
        let pool = self.body.pool();
        let guard = inst.guard();
        let operands: Vec<Operand> = guard
            .map(|g| pool.get(g.predicate))
            .into_iter()
            .chain(pool.slice(inst.operands()).iter().copied())
            .collect();
        let range = self.import(&operands);
        let sense = guard.map(|g| g.sense);
        let inst = Inst::new(sig, range, sense);
        Ok(self.editor.body_mut().insts_mut().push(inst))
    }

    fn declaration(&mut self, id: DeclId) -> Result<DeclId, EditError> {
        let tables = self.body.declarations();
        let decl = *tables.decls.get(id).ok_or(EditError::NoStatement)?;
        if decl.attributes.len > 0 {
            return EditError::kind("declaration without attributes");
        }
        let mut declarators = Vec::new();
        for d in tables.declarators(id) {
            let (name, binding) = self.bind(d)?;
            let mut declarator = Declarator::new(name, binding);
            declarator.count = self.import_one(d.count);
            declarator.dims = self.import(self.body.pool().slice(d.dims));
            declarator.init = self.import_one(d.init);
            declarators.push(declarator);
        }
        let (bank, align) = (self.import_one(decl.bank), self.import_one(decl.align));
        let tables = self.editor.body_mut().declarations_mut();
        let start = tables.declarators.len() as u32;
        let len = declarators.len() as u32;
        for declarator in declarators {
            tables.declarators.push(declarator);
        }
        let mut decl = decl;
        decl.bank = bank;
        decl.align = align;
        decl.declarators = TableRange { start, len };
        Ok(tables.decls.push(decl))
    }

    /// The name and the record of a declared register or variable.
    fn bind(&mut self, d: &Declarator) -> Result<(NameId, Binding), EditError> {
        let (scope, stmt) = (ScopeId::new(0), Some(UNPLACED));
        match d.binding {
            Binding::Register(decl) => {
                let old = *self
                    .body
                    .reg_decls()
                    .get(decl)
                    .ok_or(EditError::UnknownId)?;
                let name = self.new_name(d.name, NameForm::of(old.count))?;
                let mut new = old;
                new.name = name;
                new.scope = scope;
                new.stmt = stmt;
                let id = self.editor.body_mut().reg_decls_mut().push(new);
                if let Some(new) = self.decls.get_mut(decl.index()) {
                    *new = Some(id);
                }
                Ok((name, Binding::Register(id)))
            }
            Binding::Var(first) => {
                let old = *self.body.vars().get(first).ok_or(EditError::UnknownId)?;
                let name = self.new_name(d.name, NameForm::of(old.number))?;
                let new = Var {
                    name,
                    scope,
                    stmt,
                    ..old
                };
                let id = self.editor.body_mut().vars_mut().push(new);
                self.operands.insert(Operand::Var(first), Operand::Var(id));
                Ok((name, Binding::Var(id)))
            }
            other => Ok((d.name, other)),
        }
    }

    fn new_name(&mut self, name: NameId, form: NameForm) -> Result<NameId, EditError> {
        self.editor.new_name(self.module.name(name), form)
    }

    /// Adds the operands of a statement to `operands`, each with the operand of the function that it becomes.
    fn map_operands(&mut self, statement: Statement) -> Result<(), EditError> {
        for operand in self.body.walk(statement) {
            if !self.operands.contains_key(&operand)
                && let Some(new) = self.function_operand(operand)?
            {
                self.operands.insert(operand, new);
            }
        }
        Ok(())
    }

    /// The operand of the function that an operand of the text becomes; `None` if it is copied
    /// unchanged.
    fn function_operand(&mut self, operand: Operand) -> Result<Option<Operand>, EditError> {
        Ok(match operand {
            Operand::Reg(id) => {
                let register = *self.body.registers().get(id).ok_or(EditError::UnknownId)?;
                match self.decls.get(register.decl.index()) {
                    Some(&Some(decl)) => {
                        let new = self.editor.register(decl, register.number)?;
                        Some(Operand::Reg(new))
                    }
                    _ => Some(self.resolve(&self.body.register_name(self.module, id))?),
                }
            }
            Operand::Var(id) => match self.member(id)? {
                Some(new) => Some(Operand::Var(new)),
                None => {
                    let variable = self.body.vars().get(id).ok_or(EditError::UnknownId)?;
                    Some(self.resolve_member(variable.name, variable.number)?)
                }
            },
            Operand::Symbol(id) => {
                let symbol = self.module.symbols().get(id).ok_or(EditError::UnknownId)?;
                Some(self.resolve_member(symbol.name, symbol.number)?)
            }
            Operand::Label(id) => Some(self.resolve(self.body.label_name(self.module, id))?),
            Operand::Imm(id) => match self.body.pool().immediate(id) {
                Some(immediate) => Some(self.editor.constant(self.module.name(immediate.text))?),
                None => None,
            },
            Operand::Name(name) => Some(self.resolve(self.module.name(name))?),
            Operand::Str(name) => {
                let new = self.editor.intern(self.module.name(name));
                Some(Operand::Str(new))
            }
            Operand::Section(name) => {
                let new = self.editor.intern(self.module.name(name));
                Some(Operand::Section(new))
            }
            _ => None,
        })
    }

    /// The operand that a name denotes in the function, at the place of the text.
    fn resolve(&mut self, name: &str) -> Result<Operand, EditError> {
        let operand = self.editor.resolve(self.key, name);
        operand.ok_or_else(|| EditError::Undeclared(String::from(name)))
    }

    /// The operand that a name, or the member of a range with this number, denotes in the function.
    fn resolve_member(&mut self, name: NameId, number: Option<u32>) -> Result<Operand, EditError> {
        let name = self.module.name(name);
        match number {
            Some(number) => self.resolve(&alloc::format!("{name}{number}")),
            None => self.resolve(name),
        }
    }

    /// A member of a range of variables that the text declares.
    fn member(&mut self, id: VarId) -> Result<Option<VarId>, EditError> {
        let vars = self.body.vars();
        let var = *vars.get(id).ok_or(EditError::UnknownId)?;
        // The members of a range have the name, the statement and the scope of its declaration.
        let first = vars
            .iter()
            .filter(|(_, v)| (v.name, v.stmt, v.scope) == (var.name, var.stmt, var.scope))
            .find_map(|(old, _)| match self.operands.get(&Operand::Var(old)) {
                Some(&Operand::Var(new)) => Some(new),
                _ => None,
            });
        Ok(first.and_then(|first| self.editor.var_member(first, var.number)))
    }

    fn import(&mut self, operands: &[Operand]) -> OperandRange {
        let operand_map = &self.operands;
        let pool = self.editor.pool_mut();
        pool.import(self.body.pool(), operands, |_, leaf| {
            operand_map.get(&leaf).copied().unwrap_or(leaf)
        })
    }

    fn import_one(&mut self, operand: Operand) -> Operand {
        let operand_map = &self.operands;
        let pool = self.editor.pool_mut();
        pool.import_one(self.body.pool(), operand, |_, leaf| {
            operand_map.get(&leaf).copied().unwrap_or(leaf)
        })
    }
}

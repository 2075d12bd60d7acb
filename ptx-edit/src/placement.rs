//! Statements of a function: inserting, replacing, removing, moving.

use alloc::vec::Vec;

use ptx_ir::RemovedComments;
use ptx_ir::raw::{self, RawBody};
use ptx_ir::{Binding, Body, EntityId, Scope, ScopeId, Span, Statement, StmtId, StmtSpan, Var};
use ptx_isa::{Directive, DirectivePosition, Ending, StateSpace};

use crate::{EditError, Editor, NewStmt};

/// Whether a statement belongs to the label before it.
pub(crate) fn needs_label(body: &Body, statement: Statement) -> bool {
    let directive = body.directive(statement);
    matches!(statement, Statement::Prototype(_))
        || directive.is_some_and(|d| d.is_allowed_in(DirectivePosition::Label))
}

/// Whether a directive can be a statement of a body by itself.
pub(crate) fn is_statement(directive: Directive) -> bool {
    let placed = directive.is_allowed_in(DirectivePosition::Body)
        || directive.is_allowed_in(DirectivePosition::Label);
    placed
        && directive != Directive::Callprototype
        && StateSpace::from_text(directive.text().as_bytes()).is_none()
        && matches!(directive.ending(), Ending::Semicolon | Ending::Open)
}

impl Editor<'_> {
    /// Inserts a new statement before another one.
    ///
    /// # Errors
    ///
    /// The new statement belongs to another body, uses a name that is not visible there, or would separate a label from its
    /// table.
    pub fn insert_before(&mut self, at: StmtId, new: NewStmt) -> Result<StmtId, EditError> {
        self.statement(at)?;
        let before = self.body().before(at);
        self.place(before, new)
    }

    /// Inserts a new statement after another one.
    ///
    /// # Errors
    ///
    /// Those of [`insert_before`](Self::insert_before).
    pub fn insert_after(&mut self, at: StmtId, new: NewStmt) -> Result<StmtId, EditError> {
        self.statement(at)?;
        self.place(Some(at), new)
    }

    /// Inserts a new statement before all others.
    ///
    /// # Errors
    ///
    /// Those of [`insert_before`](Self::insert_before).
    pub fn prepend(&mut self, new: NewStmt) -> Result<StmtId, EditError> {
        self.place(None, new)
    }

    /// Inserts a new statement after all others.
    ///
    /// # Errors
    ///
    /// Those of [`insert_before`](Self::insert_before).
    pub fn append(&mut self, new: NewStmt) -> Result<StmtId, EditError> {
        let last = self.body().statements().next_back();
        self.place(last.map(|(id, _)| id), new)
    }

    /// Inserts an empty scope, `{` and `}`, before another statement. A statement inserted after its `{` is in the scope, and
    /// what it declares is not visible outside. Braces cannot be removed again.
    ///
    /// ```
    /// use ptx_edit::{EditError, EditModule as _};
    /// use ptx_ir::Operand;
    /// use ptx_isa::ScalarType;
    /// let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\tret;\n}\n";
    /// let mut module = ptx_parse::parse_str(text).module;
    /// let k = module.function("k").unwrap();
    /// let mut editor = module.edit(k)?;
    /// let ret = editor.body().statements().next().unwrap().0;
    /// let [open, _] = editor.insert_scope_before(ret)?;
    /// let (decl, registers) = editor.registers(ScalarType::B32, "x", None)?;
    /// let placed = editor.insert_after(open, registers)?;
    /// let x = Operand::Reg(editor.register(decl, 0)?);
    /// let zero = editor.inst("mov.b32", &[x, Operand::Small(0)])?;
    /// editor.insert_after(placed, zero)?;
    /// let text = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    /// assert!(text.ends_with("{\n\t{\n\t\t.reg .b32 x;\n\t\tmov.b32 x, 0;\n\t}\n\tret;\n}\n"), "{text}");
    /// # Ok::<(), EditError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The scope would separate a label from its table.
    pub fn insert_scope_before(&mut self, at: StmtId) -> Result<[StmtId; 2], EditError> {
        self.statement(at)?;
        let before = self.body().before(at);
        self.place_scope(before)
    }

    /// Inserts an empty scope after another statement: see [`insert_scope_before`](Self::insert_scope_before).
    ///
    /// # Errors
    ///
    /// Those of [`insert_scope_before`](Self::insert_scope_before).
    pub fn insert_scope_after(&mut self, at: StmtId) -> Result<[StmtId; 2], EditError> {
        self.statement(at)?;
        self.place_scope(Some(at))
    }

    pub(crate) fn place_scope(&mut self, before: Option<StmtId>) -> Result<[StmtId; 2], EditError> {
        let scope = ScopeId::from_index(self.body().inner_scopes().len() + 1);
        let braces = [Statement::Open(scope), Statement::Close(scope)];
        self.check_insert(braces[0], before)?;
        let key = self.key_after(before);
        self.edits();
        let body = self.body_mut();
        let parent = raw::scope_of_key(body, key);
        let at = before.map_or(1, |b| body.span(b).end);
        let span = StmtSpan::new(Span::new(at, at), false);
        let [open, close] = braces.map(|brace| raw::push_statement(body, brace, span));
        let edits = self.edits();
        edits.insert_after(open, before);
        edits.insert_after(close, Some(open));
        let mut scope = Scope::new(parent, open);
        scope.close = Some(close);
        raw::add_scope(self.body_mut(), scope);
        Ok([open, close])
    }

    pub(crate) fn place(
        &mut self,
        before: Option<StmtId>,
        new: NewStmt,
    ) -> Result<StmtId, EditError> {
        self.check_owner(&new)?;
        self.look_up_symbols(new.statement);
        let key = self.key_after(before);
        self.check_insert(new.statement, before)?;
        self.check_operands_visible(key, new.statement)?;
        self.check_label_scope(new.statement, key)?;
        self.edits();
        let body = self.body_mut();
        let at = before.map_or(1, |b| body.span(b).end);
        let span = StmtSpan::new(Span::new(at, at), false);
        let id = raw::push_statement(body, new.statement, span);
        self.edits().insert_after(id, before);
        self.bind(new.statement, id);
        Ok(id)
    }

    /// Whether a statement was made for this body. One for another module can be recognized only if this body has no such
    /// record.
    fn check_owner(&self, new: &NewStmt) -> Result<(), EditError> {
        let body = self.body();
        let exists = match new.statement {
            Statement::Inst(id) => body.inst(id).is_some(),
            Statement::Label(id) => body.labels().get(id).is_some(),
            Statement::Decl(id) => body.declarations().decls.get(id).is_some(),
            Statement::Directive(id) => body.directives().get(id).is_some(),
            _ => false,
        };
        if new.body == self.body && exists {
            Ok(())
        } else {
            Err(EditError::UnknownId)
        }
    }

    /// The key of the place right after a statement.
    pub(crate) fn key_after(&self, before: Option<StmtId>) -> u64 {
        before.map_or(0, |b| raw::stmt_key(self.body(), b)) + 1
    }

    fn next_after(&self, before: Option<StmtId>) -> Option<StmtId> {
        match before {
            Some(stmt) => self.body().after(stmt),
            None => self.body().statements().next().map(|(id, _)| id),
        }
    }

    /// Nothing can be inserted between a label and its table.
    fn check_insert(&self, statement: Statement, before: Option<StmtId>) -> Result<(), EditError> {
        let body = self.body();
        let next = self.next_after(before).and_then(|s| body.statement(s));
        let last = before.and_then(|s| body.statement(s));
        let labelled = matches!(last, Some(Statement::Label(_)));
        if next.is_some_and(|s| needs_label(body, s)) || needs_label(body, statement) && !labelled {
            return Err(EditError::Immovable);
        }
        Ok(())
    }

    /// Records in labels and declarations where they are.
    fn bind(&mut self, statement: Statement, id: StmtId) {
        let body = self.body_mut();
        let scope = body.scope_around(id);
        match statement {
            Statement::Label(label) => {
                if let Some(label) = body.labels_mut().get_mut(label) {
                    (label.stmt, label.scope) = (id, scope);
                }
            }
            Statement::Decl(decl) => {
                let declarators = body.declarations().declarators(decl).iter();
                let bindings: Vec<Binding> = declarators.map(|d| d.binding).collect();
                for binding in bindings {
                    bind_name(body, binding, id, scope);
                }
            }
            _ => {}
        }
    }

    /// Removes a statement; its comments stay. A label or a declaration has to be unused, which is looked up in the whole
    /// body. Braces cannot be removed.
    ///
    /// # Errors
    ///
    /// [`EditError::Used`] if other statements use what it declares, [`EditError::Immovable`] for a brace and for the label of
    /// a table.
    pub fn remove(&mut self, stmt: StmtId) -> Result<(), EditError> {
        let statement = self.statement(stmt)?;
        self.check_remove(stmt, statement)?;
        self.check_unused(statement)?;
        self.take(stmt, statement);
        Ok(())
    }

    /// Removes a statement without a check.
    pub(crate) fn take(&mut self, stmt: StmtId, statement: Statement) {
        self.edits().remove(stmt, RemovedComments::None);
        self.clear_operands(statement);
        self.body_mut().statements_mut()[stmt] = Statement::Removed;
    }

    /// Puts a new statement in the place of another one, under the same id. The conditions of [`remove`](Self::remove) hold for
    /// the old statement.
    ///
    /// # Errors
    ///
    /// Those of [`remove`](Self::remove) and [`insert_before`](Self::insert_before).
    pub fn replace(&mut self, stmt: StmtId, new: NewStmt) -> Result<(), EditError> {
        let statement = self.statement(stmt)?;
        self.check_owner(&new)?;
        self.check_remove(stmt, statement)?;
        self.check_unused(statement)?;
        let inserted = self.check_insert(new.statement, self.body().before(stmt));
        if !needs_label(self.body(), statement) {
            inserted?;
        }
        let key = raw::stmt_key(self.body(), stmt);
        self.look_up_symbols(new.statement);
        self.check_operands_visible(key, new.statement)?;
        self.check_label_scope(new.statement, key)?;
        self.edits().rewrite(stmt);
        self.clear_operands(statement);
        self.body_mut().statements_mut()[stmt] = new.statement;
        self.bind(new.statement, stmt);
        Ok(())
    }

    /// Moves a statement, with its comments, after another one. A declaration stays before its uses and in a scope around
    /// them.
    ///
    /// # Errors
    ///
    /// [`EditError::Immovable`] for braces, opaque statements and tables with their labels; [`EditError::Hidden`] if a name
    /// would not be visible where it is used.
    pub fn move_after(&mut self, stmt: StmtId, at: StmtId) -> Result<(), EditError> {
        self.statement(at)?;
        if stmt == at {
            return self.statement(stmt).map(drop);
        }
        self.move_to(stmt, Some(at))
    }

    /// Moves a statement, with its comments, before another one: see [`move_after`](Self::move_after).
    ///
    /// # Errors
    ///
    /// Those of [`move_after`](Self::move_after).
    pub fn move_before(&mut self, stmt: StmtId, at: StmtId) -> Result<(), EditError> {
        self.statement(at)?;
        let before = self.body().before(at);
        if stmt == at || before == Some(stmt) {
            return self.statement(stmt).map(drop);
        }
        self.move_to(stmt, before)
    }

    fn move_to(&mut self, stmt: StmtId, before: Option<StmtId>) -> Result<(), EditError> {
        let statement = self.statement(stmt)?;
        self.check_remove(stmt, statement)?;
        if matches!(statement, Statement::Opaque(_)) || needs_label(self.body(), statement) {
            return Err(EditError::Immovable);
        }
        self.check_insert(statement, before)?;
        let key = self.key_after(before);
        self.look_up_symbols(statement);
        self.check_operands_visible(key, statement)?;
        self.check_new_in_scope(key, statement)?;
        let position = self.edits().position(stmt);
        self.edits().insert_after(stmt, before);
        self.bind(statement, stmt);
        if let Err(e) = self.check_users_see(statement) {
            self.edits().restore(stmt, position);
            self.bind(statement, stmt);
            return Err(e);
        }
        Ok(())
    }

    /// Whether a statement can be removed from its place.
    fn check_remove(&self, stmt: StmtId, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        let next = body.after(stmt).and_then(|s| body.statement(s));
        let holds = next.is_some_and(|s| needs_label(body, s));
        let immovable = match statement {
            Statement::Open(_) | Statement::Close(_) | Statement::Function(_) => true,
            Statement::Label(_) => holds,
            Statement::Decl(_) => {
                let mut names = self.declared_names(statement).into_iter();
                names.any(|n| self.is_ambiguous(n))
            }
            _ => false,
        };
        if immovable {
            return Err(EditError::Immovable);
        }
        Ok(())
    }

    /// Removes the operands of a statement from the pool, so that no question to the whole pool finds them.
    pub(crate) fn clear_operands(&mut self, statement: Statement) {
        let slots: Vec<_> = self
            .body()
            .walk(statement)
            .stored()
            .map(|(slot, _)| slot)
            .collect();
        for slot in slots {
            self.pool_mut().set_slot(slot, ptx_ir::Operand::Absent);
        }
    }
}

/// Records where the declaration of registers or variables is.
fn bind_name(body: &mut Body, binding: Binding, id: StmtId, scope: ScopeId) {
    match binding {
        Binding::Register(decl) => {
            if let Some(decl) = body.reg_decls_mut().get_mut(decl) {
                (decl.stmt, decl.scope) = (Some(id), scope);
            }
        }
        Binding::Var(first) => {
            let Some(old) = body.vars().get(first).copied() else {
                return;
            };
            let same = |v: &Var| (v.name, v.stmt, v.scope) == (old.name, old.stmt, old.scope);
            for var in body.vars_mut().values_mut().filter(|v| same(v)) {
                (var.stmt, var.scope) = (Some(id), scope);
            }
        }
        _ => {}
    }
}

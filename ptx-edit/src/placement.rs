//! Statements of a function: inserting, replacing, removing, moving.

use alloc::vec::Vec;

use ptx_ir::RemovedComments;
use ptx_ir::raw::{self, RawBody, StmtSpan};
use ptx_ir::{Binding, Body, EntityId, Scope, ScopeId, Span, Statement, StmtId};
use ptx_isa::internals::{DirectivePosition, Ending};
use ptx_isa::{Directive, StateSpace};

use crate::{EditError, Editor, NewStmt};

/// Returns whether a statement is a prototype or a table of targets, which belongs to the label before it.
pub(crate) fn needs_label(body: &Body, statement: Statement) -> bool {
    let directive = body.directive(statement);
    matches!(statement, Statement::Prototype(_))
        || directive.is_some_and(|d| d.is_allowed_in(DirectivePosition::Label))
}

/// Returns whether a directive can be a statement of a body by itself.
pub(crate) fn is_statement(directive: Directive) -> bool {
    let is_allowed_in_body = directive.is_allowed_in(DirectivePosition::Body)
        || directive.is_allowed_in(DirectivePosition::Label);
    is_allowed_in_body
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
    pub fn insert_before(&mut self, successor: StmtId, new: NewStmt) -> Result<StmtId, EditError> {
        self.statement(successor)?;
        let predecessor = self.body().before(successor);
        self.place(predecessor, new)
    }

    /// Inserts a new statement after another one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert_before`](Self::insert_before).
    pub fn insert_after(&mut self, predecessor: StmtId, new: NewStmt) -> Result<StmtId, EditError> {
        self.statement(predecessor)?;
        self.place(Some(predecessor), new)
    }

    /// Inserts a new statement before all others.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert_before`](Self::insert_before).
    pub fn prepend(&mut self, new: NewStmt) -> Result<StmtId, EditError> {
        self.place(None, new)
    }

    /// Inserts a new statement after all others.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert_before`](Self::insert_before).
    pub fn append(&mut self, new: NewStmt) -> Result<StmtId, EditError> {
        let last = self.body().statements().next_back();
        self.place(last.map(|(id, _)| id), new)
    }

    /// Inserts an empty scope, `{` and `}`, before another statement. A statement inserted after its `{` is in the scope, and
    /// its declarations are not visible outside. Braces cannot be removed again.
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
    pub fn insert_scope_before(&mut self, successor: StmtId) -> Result<[StmtId; 2], EditError> {
        self.statement(successor)?;
        let predecessor = self.body().before(successor);
        self.place_scope(predecessor)
    }

    /// Inserts an empty scope after another statement: see [`insert_scope_before`](Self::insert_scope_before).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert_scope_before`](Self::insert_scope_before).
    pub fn insert_scope_after(&mut self, predecessor: StmtId) -> Result<[StmtId; 2], EditError> {
        self.statement(predecessor)?;
        self.place_scope(Some(predecessor))
    }

    /// Inserts an empty scope after `predecessor`, or before all statements.
    pub(crate) fn place_scope(
        &mut self,
        predecessor: Option<StmtId>,
    ) -> Result<[StmtId; 2], EditError> {
        let scope = ScopeId::from_index(self.body().inner_scopes().len() + 1);
        let braces = [Statement::Open(scope), Statement::Close(scope)];
        self.check_insert(braces[0], predecessor)?;
        let key = self.key_after(predecessor);
        self.edits();
        let body = self.body_mut();
        let parent = raw::scope_of_key(body, key);
        let end = predecessor.map_or(1, |stmt| body.relative_span(stmt).end);
        let span = StmtSpan::new(Span::new(end, end), false);
        let [open, close] = braces.map(|brace| raw::push_statement(body, brace, span));
        let edits = self.edits();
        edits.insert_after(open, predecessor);
        edits.insert_after(close, Some(open));
        let mut scope = Scope::new(parent, open);
        scope.close = Some(close);
        raw::add_scope(self.body_mut(), scope);
        Ok([open, close])
    }

    /// Inserts a new statement after `predecessor`, or before all others.
    pub(crate) fn place(
        &mut self,
        predecessor: Option<StmtId>,
        new: NewStmt,
    ) -> Result<StmtId, EditError> {
        self.check_owner(&new)?;
        self.look_up_symbols(new.statement);
        let key = self.key_after(predecessor);
        self.check_insert(new.statement, predecessor)?;
        self.check_operands_visible(key, new.statement)?;
        self.check_label_scope(new.statement, key)?;
        self.edits();
        let body = self.body_mut();
        let end = predecessor.map_or(1, |stmt| body.relative_span(stmt).end);
        let span = StmtSpan::new(Span::new(end, end), false);
        let id = raw::push_statement(body, new.statement, span);
        self.edits().insert_after(id, predecessor);
        self.bind(new.statement, id);
        Ok(id)
    }

    /// Checks that a statement was created for this body. A statement for another module is recognized only if this body has
    /// no record with its id.
    fn check_owner(&self, new: &NewStmt) -> Result<(), EditError> {
        let body = self.body();
        let has_record = match new.statement {
            Statement::Inst(id) => body.inst(id).is_some(),
            Statement::Label(id) => body.labels().get(id).is_some(),
            Statement::Decl(id) => body.declarations().decls.get(id).is_some(),
            Statement::Directive(id) => body.directives().get(id).is_some(),
            _ => false,
        };
        if new.body == self.body && has_record {
            Ok(())
        } else {
            Err(EditError::UnknownId)
        }
    }

    /// The key of the place right after a statement.
    pub(crate) fn key_after(&self, predecessor: Option<StmtId>) -> u64 {
        predecessor.map_or(0, |stmt| raw::stmt_key(self.body(), stmt)) + 1
    }

    /// The statement after `predecessor`, or the first one.
    fn next_after(&self, predecessor: Option<StmtId>) -> Option<StmtId> {
        match predecessor {
            Some(stmt) => self.body().after(stmt),
            None => self.body().statements().next().map(|(id, _)| id),
        }
    }

    /// Checks that a statement can be inserted after `predecessor`: no statement can be inserted between a label and its
    /// table.
    fn check_insert(
        &self,
        statement: Statement,
        predecessor: Option<StmtId>,
    ) -> Result<(), EditError> {
        let body = self.body();
        let next = self.next_after(predecessor).and_then(|s| body.statement(s));
        let previous = predecessor.and_then(|s| body.statement(s));
        let is_after_label = matches!(previous, Some(Statement::Label(_)));
        if next.is_some_and(|s| needs_label(body, s))
            || needs_label(body, statement) && !is_after_label
        {
            return Err(EditError::Immovable);
        }
        Ok(())
    }

    /// Stores the statement and the scope in the record of a label or a declaration.
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
                let declarators = body.declarations().declarators(decl);
                let bindings: Vec<Binding> = declarators.iter().map(|d| d.binding).collect();
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
    /// [`EditError::Used`] if other statements use a name that it declares, [`EditError::Immovable`] for a brace and for the
    /// label of a table.
    pub fn remove(&mut self, stmt: StmtId) -> Result<(), EditError> {
        let statement = self.statement(stmt)?;
        self.check_remove(stmt, statement)?;
        self.check_unused(statement)?;
        self.remove_unchecked(stmt, statement);
        Ok(())
    }

    /// Removes a statement without a check.
    pub(crate) fn remove_unchecked(&mut self, stmt: StmtId, statement: Statement) {
        self.edits().remove(stmt, RemovedComments::None);
        self.clear_operands(statement);
        self.body_mut().statements_mut()[stmt] = Statement::Removed;
    }

    /// Puts a new statement in the place of another one, under the same id. The conditions of [`remove`](Self::remove) hold
    /// for the old statement.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`remove`](Self::remove) and [`insert_before`](Self::insert_before).
    pub fn replace(&mut self, stmt: StmtId, new: NewStmt) -> Result<(), EditError> {
        let statement = self.statement(stmt)?;
        self.check_owner(&new)?;
        self.check_remove(stmt, statement)?;
        self.check_unused(statement)?;
        let insertion = self.check_insert(new.statement, self.body().before(stmt));
        if !needs_label(self.body(), statement) {
            insertion?;
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
    pub fn move_after(&mut self, stmt: StmtId, predecessor: StmtId) -> Result<(), EditError> {
        self.statement(predecessor)?;
        if stmt == predecessor {
            return self.statement(stmt).map(drop);
        }
        self.move_to(stmt, Some(predecessor))
    }

    /// Moves a statement, with its comments, before another one: see [`move_after`](Self::move_after).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`move_after`](Self::move_after).
    pub fn move_before(&mut self, stmt: StmtId, successor: StmtId) -> Result<(), EditError> {
        self.statement(successor)?;
        let predecessor = self.body().before(successor);
        if stmt == successor || predecessor == Some(stmt) {
            return self.statement(stmt).map(drop);
        }
        self.move_to(stmt, predecessor)
    }

    /// Moves a statement after `predecessor`, or before all others.
    fn move_to(&mut self, stmt: StmtId, predecessor: Option<StmtId>) -> Result<(), EditError> {
        let statement = self.statement(stmt)?;
        self.check_remove(stmt, statement)?;
        if matches!(statement, Statement::Opaque(_)) || needs_label(self.body(), statement) {
            return Err(EditError::Immovable);
        }
        self.check_insert(statement, predecessor)?;
        let key = self.key_after(predecessor);
        self.look_up_symbols(statement);
        self.check_operands_visible(key, statement)?;
        self.check_new_in_scope(key, statement)?;
        let position = self.edits().position(stmt);
        self.edits().insert_after(stmt, predecessor);
        self.bind(statement, stmt);
        if let Err(e) = self.check_users_see(statement) {
            self.edits().restore(stmt, position);
            self.bind(statement, stmt);
            return Err(e);
        }
        Ok(())
    }

    /// Checks that a statement can be removed from its place.
    fn check_remove(&self, stmt: StmtId, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        let next = body.after(stmt).and_then(|s| body.statement(s));
        let has_table = next.is_some_and(|s| needs_label(body, s));
        let immovable = match statement {
            Statement::Open(_) | Statement::Close(_) | Statement::Function(_) => true,
            Statement::Label(_) => has_table,
            Statement::Decl(_) => self
                .declared_names(statement)
                .into_iter()
                .any(|n| self.is_ambiguous(n)),
            _ => false,
        };
        if immovable {
            return Err(EditError::Immovable);
        }
        Ok(())
    }

    /// Removes the operands of a statement from the pool, so that a search of the whole pool does not find them.
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

/// Stores the statement and the scope of a declaration in the record of the register range or the variables that it declares.
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
            // The members of a range have the name, the statement and the scope of its declaration.
            for var in body.vars_mut().values_mut() {
                if (var.name, var.stmt, var.scope) == (old.name, old.stmt, old.scope) {
                    (var.stmt, var.scope) = (Some(id), scope);
                }
            }
        }
        _ => {}
    }
}

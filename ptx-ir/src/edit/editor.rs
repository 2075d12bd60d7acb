//! Statements of a function: inserting, replacing, removing, moving, and changing an instruction in place.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_isa::{Directive, DirectivePosition, Modifier};

use super::operand_walk::{self, Slot};
use super::{EditError, Edits, NewStmt};
use crate::body::{Body, GuardSense, Inst, Scope, Statement, StmtSpan};
use crate::decl::{Binding, SymbolKind};
use crate::entity::EntityId;
use crate::function::BodyId;
use crate::operand::Operand;
use crate::{FuncId, InstId, Item, Module, NameId, RegId, ScopeId, SigId, Span, StmtId, SymbolId};

/// Edits one function of a module. Made by [`Module::edit`].
#[derive(Debug)]
pub struct Editor<'m> {
    pub(super) module: &'m mut Module,
    pub(super) function: FuncId,
    pub(super) body: BodyId,
    /// The registers by declaration and number, once asked for.
    pub(super) registers: Option<BTreeMap<(u32, u32), RegId>>,
    /// Whether an item up to the function declares a symbol, of those asked for.
    symbols: BTreeMap<SymbolId, bool>,
}

impl Module {
    /// Edits the body of a function.
    pub fn edit(&mut self, function: FuncId) -> Result<Editor<'_>, EditError> {
        let body = self.functions.get(function).and_then(|f| f.body);
        let body = body.filter(|&b| self.bodies.get(b).is_some());
        Ok(Editor {
            body: body.ok_or(EditError::NoBody)?,
            module: self,
            function,
            registers: None,
            symbols: BTreeMap::new(),
        })
    }
}

/// Whether a statement belongs to the label before it.
pub(super) fn needs_label(body: &Body, statement: Statement) -> bool {
    match statement {
        Statement::Prototype(_) => true,
        Statement::Directive(id) => body
            .directives
            .get(id)
            .is_some_and(|d| d.directive.is_allowed_in(DirectivePosition::Label)),
        _ => false,
    }
}

impl Editor<'_> {
    /// The module as it is now.
    pub fn module(&self) -> &Module {
        self.module
    }

    /// The function.
    pub fn function(&self) -> FuncId {
        self.function
    }

    /// Its body as it is now.
    pub fn body(&self) -> &Body {
        &self.module.bodies[self.body]
    }

    pub(super) fn body_mut(&mut self) -> &mut Body {
        &mut self.module.bodies[self.body]
    }

    pub(super) fn pool(&mut self) -> &mut crate::OperandPool {
        &mut self.body_mut().pool
    }

    /// The record of the edits; asking for it is one.
    pub(super) fn edits(&mut self) -> &mut Edits<StmtId> {
        self.module.revision += 1;
        let revision = self.module.revision;
        let body = &mut self.module.bodies[self.body];
        let read = body.statements.len();
        let edits = body.edits.get_or_insert_with(|| Box::new(Edits::new(read)));
        edits.revision = revision;
        edits
    }

    /// The statement `id`, if it is there.
    pub fn statement(&self, id: StmtId) -> Result<Statement, EditError> {
        let statement = self.body().statements.get(id).copied();
        statement
            .filter(|s| *s != Statement::Removed)
            .ok_or(EditError::NoStatement)
    }

    /// The instruction that a statement is.
    fn instruction(&self, id: StmtId) -> Result<(InstId, Inst), EditError> {
        let wanted = "instruction";
        let Statement::Inst(inst) = self.statement(id)? else {
            return Err(EditError::Kind { wanted });
        };
        let record = self.body().insts.get(inst).copied();
        Ok((inst, record.ok_or(EditError::NoStatement)?))
    }

    /// Operand `index` of an instruction, its guard not counted.
    pub fn operand(&self, stmt: StmtId, index: usize) -> Option<Operand> {
        let (_, inst) = self.instruction(stmt).ok()?;
        self.body().pool.slice(inst.operands()).get(index).copied()
    }

    // --- placing ---

    /// Places a new statement before another one.
    pub fn insert_before(&mut self, at: StmtId, new: NewStmt) -> Result<StmtId, EditError> {
        self.statement(at)?;
        let before = self.body().before(at);
        self.place(before, new)
    }

    /// Places a new statement behind another one.
    pub fn insert_after(&mut self, at: StmtId, new: NewStmt) -> Result<StmtId, EditError> {
        self.statement(at)?;
        self.place(Some(at), new)
    }

    /// Places a new statement before all others.
    pub fn prepend(&mut self, new: NewStmt) -> Result<StmtId, EditError> {
        self.place(None, new)
    }

    /// Places a new statement behind all others.
    pub fn append(&mut self, new: NewStmt) -> Result<StmtId, EditError> {
        let last = self.body().statements().next_back();
        self.place(last.map(|(id, _)| id), new)
    }

    /// Places an empty scope, `{` and `}`, before another statement. What is placed behind its `{` stands in it, and what it
    /// declares is not seen outside. Braces are not removed again.
    ///
    /// ```
    /// use ptx_ir::{Operand, edit::EditError};
    /// use ptx_isa::ScalarType;
    /// let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\tret;\n}\n";
    /// let mut module = ptx_parse::parse_str(text).module;
    /// let mut editor = module.edit(module.function("k").unwrap())?;
    /// let ret = editor.body().statements().next().unwrap().0;
    /// let [open, _] = editor.insert_scope_before(ret)?;
    /// let (decl, draft) = editor.registers(ScalarType::B32, "x", None)?;
    /// let placed = editor.insert_after(open, draft)?;
    /// let x = Operand::Reg(editor.register(decl, 0)?);
    /// let zero = editor.inst("mov.b32", &[x, Operand::Small(0)])?;
    /// editor.insert_after(placed, zero)?;
    /// let text = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    /// assert!(text.ends_with("{\n\t{\n\t\t.reg .b32 x;\n\t\tmov.b32 x, 0;\n\t}\n\tret;\n}\n"), "{text}");
    /// # Ok::<(), EditError>(())
    /// ```
    pub fn insert_scope_before(&mut self, at: StmtId) -> Result<[StmtId; 2], EditError> {
        self.statement(at)?;
        let before = self.body().before(at);
        self.place_scope(before)
    }

    /// Places an empty scope behind another statement: see [`insert_scope_before`](Self::insert_scope_before).
    pub fn insert_scope_after(&mut self, at: StmtId) -> Result<[StmtId; 2], EditError> {
        self.statement(at)?;
        self.place_scope(Some(at))
    }

    fn place_scope(&mut self, before: Option<StmtId>) -> Result<[StmtId; 2], EditError> {
        let scope = ScopeId::from_index(self.body().inner_scopes.len() + 1);
        let braces = [Statement::Open(scope), Statement::Close(scope)];
        self.check_insert(braces[0], before)?;
        let key = self.key_behind(before);
        self.edits();
        let body = self.body_mut();
        let parent = body.scope_of_key(key);
        let at = before.map_or(1, |b| body.span(b).end);
        let origin = StmtSpan::new(Span::new(at, at), false);
        let [open, close] = braces.map(|brace| body.push_statement(brace, origin));
        let layout = &mut self.edits().layout;
        layout.insert_after(open, before);
        layout.insert_after(close, Some(open));
        self.body_mut().add_scope(Scope {
            parent,
            open,
            close: Some(close),
        });
        Ok([open, close])
    }

    fn place(&mut self, before: Option<StmtId>, new: NewStmt) -> Result<StmtId, EditError> {
        self.check_owner(&new)?;
        self.look_up_symbols(operand_walk::of_statement(self.body(), new.statement));
        let key = self.key_behind(before);
        self.check_insert(new.statement, before)?;
        self.sees_all(key, new.statement)?;
        self.fits_scope(new.statement, key)?;
        self.edits();
        let body = self.body_mut();
        let at = before.map_or(1, |b| body.span(b).end);
        let id = body.push_statement(new.statement, StmtSpan::new(Span::new(at, at), false));
        self.edits().layout.insert_after(id, before);
        self.bind(new.statement, id);
        Ok(id)
    }

    /// Whether a draft was made for this body. One for another module can be told only where this body has no such record.
    fn check_owner(&self, new: &NewStmt) -> Result<(), EditError> {
        let body = self.body();
        let there = match new.statement {
            Statement::Inst(id) => body.insts.get(id).is_some(),
            Statement::Label(id) => body.labels.get(id).is_some(),
            Statement::Decl(id) => body.declarations.decls.get(id).is_some(),
            Statement::Directive(id) => body.directives.get(id).is_some(),
            _ => false,
        };
        if new.body == self.body && there {
            Ok(())
        } else {
            Err(EditError::UnknownId)
        }
    }

    /// The key of a place right behind a statement.
    fn key_behind(&self, before: Option<StmtId>) -> u64 {
        before.map_or(0, |b| self.body().key(b)) + 1
    }

    fn behind(&self, before: Option<StmtId>) -> Option<StmtId> {
        match before {
            Some(stmt) => self.body().after(stmt),
            None => self.body().statements().next().map(|(id, _)| id),
        }
    }

    /// Nothing stands between a label and its table.
    fn check_insert(&self, statement: Statement, before: Option<StmtId>) -> Result<(), EditError> {
        let body = self.body();
        let next = self.behind(before).and_then(|s| body.statements.get(s));
        let last = before.and_then(|s| body.statements.get(s));
        let labelled = matches!(last, Some(Statement::Label(_)));
        if next.is_some_and(|&s| needs_label(body, s)) || needs_label(body, statement) && !labelled
        {
            return Err(EditError::Immovable);
        }
        Ok(())
    }

    /// Whether everything a statement mentions can be seen at a place.
    fn sees_all(&self, key: u64, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        let mut todo = operand_walk::of_statement(body, statement);
        while let Some((_, operand)) = operand_walk::next(&body.pool, &mut todo) {
            self.is_visible(key, operand)?;
        }
        Ok(())
    }

    fn is_visible(&self, key: u64, operand: Operand) -> Result<(), EditError> {
        if let Operand::Symbol(symbol) = operand {
            return self.sees_symbol(key, symbol);
        }
        let seen = self.body().is_visible(key, operand);
        seen.map_err(|unseen| unseen.error(self.module))
    }

    /// Looks up whether items declare the symbols that are mentioned, up to the function.
    fn look_up_symbols(&mut self, mut mentioned: Vec<(Slot, Operand)>) {
        while let Some((_, operand)) = operand_walk::next(&self.body().pool, &mut mentioned) {
            if let Operand::Symbol(symbol) = operand
                && !self.symbols.contains_key(&symbol)
            {
                let is_declared = self.is_declared(symbol);
                self.symbols.insert(symbol, is_declared);
            }
        }
    }

    /// Most symbols are declared early: the items are gone through from the first.
    fn is_declared(&self, symbol: SymbolId) -> bool {
        let module = &*self.module;
        let kind = module.symbols.get(symbol).map(|s| s.kind);
        let tables = &module.declarations;
        for (_, item) in module.items() {
            let declares = match item {
                // All members of a range have the kind of the first.
                Item::Decl(id) => {
                    let mut all = tables.declarators(id).iter();
                    matches!(kind, Some(SymbolKind::Variable(_, decl)) if decl == id)
                        || all.any(|d| d.binding == Binding::Symbol(symbol))
                }
                Item::Function(id) => {
                    module.functions.get(id).and_then(|f| f.symbol) == Some(symbol)
                }
                _ => false,
            };
            if declares {
                return true;
            }
            if item == Item::Function(self.function) {
                break;
            }
        }
        false
    }

    /// A symbol is declared before the function or, as functions may be, inside it or an earlier one.
    fn sees_symbol(&self, key: u64, symbol: SymbolId) -> Result<(), EditError> {
        let body = self.body();
        let known = self
            .module
            .symbols
            .get(symbol)
            .ok_or(EditError::UnknownId)?;
        if self.symbols.get(&symbol).is_none_or(|seen| *seen) {
            return Ok(());
        }
        if let SymbolKind::Function(function) = known.kind {
            let mut all = body.statements();
            let inside = all.find(|(_, s)| *s == Statement::Function(function));
            let seen = match inside {
                Some((stmt, _)) => body.key(stmt) < key,
                // Functions are numbered in the order of the text.
                None => function < self.function && !self.module.is_item(function),
            };
            if seen {
                return Ok(());
            }
        }
        Err(EditError::Hidden(String::from(
            self.module.name(known.name),
        )))
    }

    /// Whether an operand with all its parts can be seen by a statement.
    fn operand_fits(&mut self, stmt: StmtId, operand: Operand) -> Result<(), EditError> {
        let mut todo = alloc::vec![(Slot::At(crate::OperandRef::new(u32::MAX)), operand)];
        self.look_up_symbols(todo.clone());
        let body = self.body();
        let key = body.key(stmt);
        while let Some((_, part)) = operand_walk::next(&body.pool, &mut todo) {
            self.is_visible(key, part)?;
        }
        Ok(())
    }

    /// A label that was mentioned before has to be seen from there.
    fn fits_scope(&self, statement: Statement, key: u64) -> Result<(), EditError> {
        let body = self.body();
        let Statement::Label(id) = statement else {
            return Ok(());
        };
        let scope = body.scope_of_key(key);
        if scope == ScopeId::new(0) {
            return Ok(());
        }
        let outside = |s: StmtId, o: Operand| {
            o == Operand::Label(id) && !body.lies_in(body.scope_around(s), scope)
        };
        match self.first_mention(outside) {
            Some(_) => Err(EditError::Hidden(self.label_name(id))),
            None => Ok(()),
        }
    }

    fn label_name(&self, id: crate::LabelId) -> String {
        let name = self.body().labels.get(id).map(|l| l.name);
        name.map_or(String::new(), |n| String::from(self.module.name(n)))
    }

    /// The first statement that mentions something. Linear in the body.
    pub(super) fn first_mention(
        &self,
        mut wanted: impl FnMut(StmtId, Operand) -> bool,
    ) -> Option<StmtId> {
        let body = self.body();
        let mut all = body.statements();
        let found = all.find(|&(id, statement)| {
            operand_walk::any(
                &body.pool,
                operand_walk::of_statement(body, statement),
                |o| wanted(id, o),
            )
        });
        found.map(|(id, _)| id)
    }

    /// Tells labels and declarations where they stand.
    fn bind(&mut self, statement: Statement, id: StmtId) {
        let body = self.body_mut();
        let scope = body.scope_around(id);
        match statement {
            Statement::Label(label) => {
                if let Some(label) = body.labels.get_mut(label) {
                    (label.stmt, label.scope) = (id, scope);
                }
            }
            Statement::Decl(decl) => {
                let bindings: Vec<Binding> = body
                    .declarations
                    .declarators(decl)
                    .iter()
                    .map(|d| d.binding)
                    .collect();
                for binding in bindings {
                    match binding {
                        Binding::Register(decl) => {
                            if let Some(decl) = body.reg_decls.get_mut(decl) {
                                (decl.stmt, decl.scope) = (Some(id), scope);
                            }
                        }
                        Binding::Var(first) => {
                            let Some(old) = body.vars.get(first).copied() else {
                                continue;
                            };
                            let same = |v: &crate::Var| {
                                (v.name, v.stmt, v.scope) == (old.name, old.stmt, old.scope)
                            };
                            for var in body.vars.values_mut().filter(|v| same(v)) {
                                (var.stmt, var.scope) = (Some(id), scope);
                            }
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    // --- removing and moving ---

    /// Removes a statement; its comments stay. A label or a declaration has to be unused, which is looked up in the whole
    /// body. Braces cannot be removed.
    pub fn remove(&mut self, stmt: StmtId) -> Result<(), EditError> {
        let statement = self.statement(stmt)?;
        self.check_remove(stmt, statement)?;
        self.is_unused(statement)?;
        self.take(stmt, statement);
        Ok(())
    }

    /// Takes a statement away that may go.
    pub(super) fn take(&mut self, stmt: StmtId, statement: Statement) {
        self.edits().remove(stmt, true);
        self.clear(statement);
        self.body_mut().statements[stmt] = Statement::Removed;
    }

    /// Puts a new statement in the place of another one, under the same id. What holds for [`remove`](Self::remove) holds for
    /// the old one.
    pub fn replace(&mut self, stmt: StmtId, new: NewStmt) -> Result<(), EditError> {
        let statement = self.statement(stmt)?;
        self.check_owner(&new)?;
        self.check_remove(stmt, statement)?;
        self.is_unused(statement)?;
        self.check_insert(new.statement, self.body().before(stmt))
            .or_else(|e| {
                if needs_label(self.body(), statement) {
                    Ok(())
                } else {
                    Err(e)
                }
            })?;
        let key = self.body().key(stmt);
        self.look_up_symbols(operand_walk::of_statement(self.body(), new.statement));
        self.sees_all(key, new.statement)?;
        self.fits_scope(new.statement, key)?;
        self.edits().rewrite(stmt);
        self.clear(statement);
        self.body_mut().statements[stmt] = new.statement;
        self.bind(new.statement, stmt);
        Ok(())
    }

    /// Moves a statement, with its comments, behind another one. A declaration stays before its uses and in a scope around
    /// them. Braces, and what was not understood, stay where they are.
    pub fn move_after(&mut self, stmt: StmtId, at: StmtId) -> Result<(), EditError> {
        self.statement(at)?;
        if stmt == at {
            return self.statement(stmt).map(drop);
        }
        self.move_behind(stmt, Some(at))
    }

    /// Moves a statement, with its comments, before another one: see [`move_after`](Self::move_after).
    pub fn move_before(&mut self, stmt: StmtId, at: StmtId) -> Result<(), EditError> {
        self.statement(at)?;
        let before = self.body().before(at);
        if stmt == at || before == Some(stmt) {
            return self.statement(stmt).map(drop);
        }
        self.move_behind(stmt, before)
    }

    fn move_behind(&mut self, stmt: StmtId, before: Option<StmtId>) -> Result<(), EditError> {
        let statement = self.statement(stmt)?;
        self.check_remove(stmt, statement)?;
        if matches!(statement, Statement::Opaque(_)) || needs_label(self.body(), statement) {
            return Err(EditError::Immovable);
        }
        self.check_insert(statement, before)?;
        let key = self.key_behind(before);
        self.look_up_symbols(operand_walk::of_statement(self.body(), statement));
        self.sees_all(key, statement)?;
        self.is_new_there(key, statement)?;
        let spot = self.edits().layout.spot(stmt);
        self.edits().layout.insert_after(stmt, before);
        self.bind(statement, stmt);
        if let Err(e) = self.users_see(statement) {
            self.edits().layout.restore(stmt, spot);
            self.bind(statement, stmt);
            return Err(e);
        }
        Ok(())
    }

    /// Whether a declaration that moves comes into a scope that has its names.
    fn is_new_there(&self, key: u64, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        let scope = body.scope_of_key(key);
        let names = self.declared(statement);
        let there = |stmt: Option<StmtId>| match stmt.and_then(|s| body.statements.get(s)) {
            Some(&s) => s != statement && matches!(s, Statement::Decl(_) | Statement::Label(_)),
            None => stmt.is_none(),
        };
        let registers = body.reg_decls.values().map(|d| (d.name, d.scope, d.stmt));
        let vars = body.vars.values().map(|v| (v.name, v.scope, v.stmt));
        let labels = body
            .labels
            .values()
            .map(|l| (l.name, l.scope, Some(l.stmt)));
        let mut all = registers.chain(vars).chain(labels);
        match all.find(|(name, s, stmt)| *s == scope && names.contains(name) && there(*stmt)) {
            Some((name, ..)) => Err(EditError::Taken(String::from(self.module.name(name)))),
            None => Ok(()),
        }
    }

    /// Whether all who mention what a statement declares can see it, and all others of that name what they mean.
    fn users_see(&self, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        let names = self.declared(statement);
        if names.is_empty() {
            return Ok(());
        }
        let mut found = Ok(());
        self.first_mention(|stmt, operand| {
            if body.name_of(operand).is_some_and(|n| names.contains(&n)) {
                found = self.is_visible(body.key(stmt), operand);
            }
            found.is_err()
        });
        found
    }

    /// The names that a statement declares.
    fn declared(&self, statement: Statement) -> Vec<NameId> {
        let body = self.body();
        match statement {
            Statement::Label(id) => body.labels.get(id).map(|l| l.name).into_iter().collect(),
            Statement::Decl(id) => {
                let all = body.declarations.declarators(id).iter();
                all.map(|d| d.name).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a statement may go from where it stands.
    fn check_remove(&self, stmt: StmtId, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        let next = body.after(stmt).and_then(|s| body.statements.get(s));
        let holds = next.is_some_and(|&s| needs_label(body, s));
        match statement {
            Statement::Open(_) | Statement::Close(_) | Statement::Function(_) => {
                Err(EditError::Immovable)
            }
            Statement::Label(_) if holds => Err(EditError::Immovable),
            Statement::Decl(_) => {
                let mut names = self.declared(statement).into_iter();
                match names.any(|n| body.is_contested(self.module, n)) {
                    true => Err(EditError::Immovable),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn is_unused(&self, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        let declares = |o: Operand| match (statement, o) {
            (Statement::Label(l), Operand::Label(m)) => l == m,
            (Statement::Decl(d), Operand::Reg(_) | Operand::Var(_)) => {
                body.declaration_of(o) == Some(d)
            }
            _ => false,
        };
        if !matches!(statement, Statement::Label(_) | Statement::Decl(_)) {
            return Ok(());
        }
        let mut name = None;
        self.first_mention(|_, o| {
            name = declares(o).then(|| body.name_of(o)).flatten();
            name.is_some()
        });
        if let Statement::Label(_) = statement {
            let names = self.declared(statement);
            name = name.or_else(|| names.into_iter().find(|n| self.module.debug_mentions(*n)));
        }
        match name {
            Some(name) => Err(EditError::Used(String::from(self.module.name(name)))),
            None => Ok(()),
        }
    }

    fn clear(&mut self, statement: Statement) {
        let body = self.body_mut();
        let todo = operand_walk::of_statement(body, statement);
        operand_walk::clear(&mut body.pool, todo);
    }

    // --- inside an instruction ---

    /// Replaces operand `index` of an instruction, its guard not counted.
    pub fn set_operand(
        &mut self,
        stmt: StmtId,
        index: usize,
        new: Operand,
    ) -> Result<(), EditError> {
        let (_, inst) = self.instruction(stmt)?;
        if index >= inst.operands().len() {
            return Err(EditError::NoPart(alloc::format!("operand {index}")));
        }
        self.operand_fits(stmt, new)?;
        match index {
            0 => self.are_operands(inst.sig, &[new])?,
            _ => self.are_operands(inst.sig, &[Operand::Sink, new])?,
        }
        let at = inst.operands().at(index as u32);
        let pool = self.pool();
        // The new one may be a part of the old one.
        let copy = pool.extend(&[new]);
        operand_walk::deep_copy(pool, copy);
        let new = pool.get(copy.at(0));
        pool.set(copy.at(0), Operand::Absent);
        let old = pool.get(at);
        operand_walk::clear(pool, alloc::vec![(Slot::At(at), old)]);
        pool.set(at, new);
        self.edits().rewrite(stmt);
        Ok(())
    }

    /// Gives a directive of the body another argument: see [`DirectiveStmt`](crate::DirectiveStmt).
    pub fn set_argument(
        &mut self,
        stmt: StmtId,
        index: usize,
        new: Operand,
    ) -> Result<(), EditError> {
        let wanted = "directive";
        let Statement::Directive(id) = self.statement(stmt)? else {
            return Err(EditError::Kind { wanted });
        };
        let directive = *self
            .body()
            .directives
            .get(id)
            .ok_or(EditError::NoStatement)?;
        if index >= directive.args.len() {
            return Err(EditError::NoPart(alloc::format!("argument {index}")));
        }
        let mut args = self.body().pool.slice(directive.args).to_vec();
        args.splice(index..=index, [new]);
        let pool = &self.body().pool;
        self.module
            .are_arguments(pool, directive.directive, &args)?;
        self.operand_fits(stmt, new)?;
        self.pool().set(directive.args.at(index as u32), new);
        self.edits().rewrite(stmt);
        Ok(())
    }

    /// Gives an instruction other operands.
    pub fn set_operands(&mut self, stmt: StmtId, new: &[Operand]) -> Result<(), EditError> {
        let (id, inst) = self.instruction(stmt)?;
        self.are_operands(inst.sig, new)?;
        for &operand in new {
            self.operand_fits(stmt, operand)?;
        }
        let guard = inst.guard();
        let predicate = guard.map(|g| self.body().pool.get(g.predicate));
        let negated = guard.is_some_and(|g| g.negated);
        self.write(stmt, id, inst, predicate, negated, new)
    }

    /// Gives an instruction a guard, `@p` or `@!p`, or takes it away.
    pub fn set_guard(
        &mut self,
        stmt: StmtId,
        guard: Option<(RegId, bool)>,
    ) -> Result<(), EditError> {
        let (id, inst) = self.instruction(stmt)?;
        let predicate = guard.map(|(register, _)| Operand::Reg(register));
        if let Some(predicate) = predicate {
            self.operand_fits(stmt, predicate)?;
        }
        let operands = self.body().pool.slice(inst.operands()).to_vec();
        let negated = guard.is_some_and(|(_, negated)| negated);
        self.write(stmt, id, inst, predicate, negated, &operands)
    }

    fn write(
        &mut self,
        stmt: StmtId,
        id: InstId,
        old: Inst,
        predicate: Option<Operand>,
        negated: bool,
        operands: &[Operand],
    ) -> Result<(), EditError> {
        let all: Vec<Operand> = predicate
            .into_iter()
            .chain(operands.iter().copied())
            .collect();
        let pool = self.pool();
        let range = pool.extend(&all);
        operand_walk::deep_copy(pool, range);
        self.clear(Statement::Inst(id));
        let sense = predicate.map(|_| GuardSense::negated_if(negated));
        self.body_mut().insts[id] = Inst::new(old.sig, range, sense);
        self.edits().rewrite(stmt);
        Ok(())
    }

    /// Gives an instruction another mnemonic: `add.sat.s32`. Refused where its operands could not be written behind that one, as those of
    /// a call.
    pub fn set_mnemonic(&mut self, stmt: StmtId, mnemonic: &str) -> Result<(), EditError> {
        self.instruction(stmt)?;
        let sig = self.mnemonic(mnemonic)?;
        self.set_signature(stmt, sig)
    }

    /// The same with a mnemonic of the module.
    pub fn set_signature(&mut self, stmt: StmtId, sig: SigId) -> Result<(), EditError> {
        let (id, inst) = self.instruction(stmt)?;
        if sig.index() >= self.module.signatures.len() {
            return Err(EditError::UnknownId);
        }
        self.are_operands(sig, self.body().pool.slice(inst.operands()))?;
        self.body_mut().insts[id].sig = sig;
        self.edits().rewrite(stmt);
        Ok(())
    }

    /// Replaces the first modifier `old` of an instruction, a type or a state space for example, or takes it away.
    pub fn set_modifier(
        &mut self,
        stmt: StmtId,
        old: Modifier,
        new: Option<Modifier>,
    ) -> Result<(), EditError> {
        let (_, inst) = self.instruction(stmt)?;
        let signature = self.module.signature(inst.sig);
        let word = signature.words().iter().find(|w| w.modifier == Some(old));
        let word = word.ok_or_else(|| EditError::NoPart(String::from(old.text())))?;
        let text = signature.text();
        let (start, end) = (word.start as usize, word.end as usize);
        let text = [
            text.get(..start).unwrap_or_default(),
            new.map_or("", |m| m.text()),
            text.get(end..).unwrap_or_default(),
        ]
        .concat();
        self.set_mnemonic(stmt, &text)
    }

    /// Adds a modifier to an instruction; printing puts it where the manual has it.
    pub fn add_modifier(&mut self, stmt: StmtId, new: Modifier) -> Result<(), EditError> {
        let (_, inst) = self.instruction(stmt)?;
        let text = self.module.signature(inst.sig).text();
        let text = [text, new.text()].concat();
        self.set_mnemonic(stmt, &text)
    }

    /// Puts a register in the place of another one, wherever an instruction mentions it; says how often it did.
    pub fn replace_register(
        &mut self,
        stmt: StmtId,
        old: RegId,
        new: RegId,
    ) -> Result<usize, EditError> {
        let (id, _) = self.instruction(stmt)?;
        self.operand_fits(stmt, Operand::Reg(new))?;
        let body = self.body_mut();
        let mut todo = operand_walk::of_statement(body, Statement::Inst(id));
        let mut count = 0;
        while let Some((slot, operand)) = operand_walk::next(&body.pool, &mut todo) {
            if operand == Operand::Reg(old) {
                operand_walk::set(&mut body.pool, None, slot, Operand::Reg(new));
                count += 1;
            }
        }
        if count > 0 {
            self.edits().rewrite(stmt);
        }
        Ok(count)
    }
}

impl Module {
    /// Whether a debug section mentions a name; such mentions are not resolved.
    pub(super) fn debug_mentions(&self, name: NameId) -> bool {
        let sections = self.sections.values();
        let labels = sections.flat_map(|s| &s.entries).any(|e| match e {
            crate::SectionEntry::Label(n) => *n == name,
            _ => false,
        });
        let all = self.pool.operands().iter();
        let bases = self.pool.addresses().iter().map(|a| &a.base);
        labels || !self.sections.is_empty() && all.chain(bases).any(|o| *o == Operand::Name(name))
    }
}

/// Whether a directive can be made a statement of a body by itself.
pub(super) fn stands_alone(directive: Directive) -> bool {
    let placed = directive.is_allowed_in(DirectivePosition::Body)
        || directive.is_allowed_in(DirectivePosition::Label);
    placed
        && directive != Directive::Callprototype
        && ptx_isa::StateSpace::from_text(directive.text().as_bytes()).is_none()
        && matches!(
            directive.ending(),
            ptx_isa::Ending::Semicolon | ptx_isa::Ending::Open
        )
}

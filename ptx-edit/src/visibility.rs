//! Finds the names that are visible at a place of a function, so that a statement there can use them. A place is
//! identified by its key, which is greater than the key of every statement before it: see [`ptx_ir::raw::stmt_key`].

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use ptx_ir::raw;
use ptx_ir::raw::name::split_numeric_suffix_str;
use ptx_ir::{Body, DeclId, LabelId, NameId, Operand, ScopeId, Statement, StmtId};

use crate::{EditError, Editor};

impl Editor<'_> {
    /// The error for a name that is not visible.
    fn hidden(&self, name: NameId) -> EditError {
        EditError::Hidden(String::from(self.module.name(name)))
    }

    /// Checks that every name that a statement uses is visible at a place.
    pub(crate) fn check_operands_visible(
        &self,
        key: u64,
        statement: Statement,
    ) -> Result<(), EditError> {
        self.body()
            .walk(statement)
            .try_for_each(|operand| self.check_visible(key, operand))
    }

    /// Checks that an operand with all its parts is visible at a statement.
    pub(crate) fn check_operand_visible(
        &mut self,
        stmt: StmtId,
        operand: Operand,
    ) -> Result<(), EditError> {
        let parts: Vec<Operand> = self.body().pool().walk_operand(operand).collect();
        self.look_up_operand_symbols(&parts);
        let key = raw::stmt_key(self.body(), stmt);
        parts
            .into_iter()
            .try_for_each(|part| self.check_visible(key, part))
    }

    /// Checks that the name of one operand is visible at a place.
    pub(crate) fn check_visible(&self, key: u64, operand: Operand) -> Result<(), EditError> {
        let body = self.body();
        let (name, number, scope, decl) = match operand {
            Operand::Symbol(symbol) => return self.check_symbol_visible(key, symbol),
            Operand::Reg(id) => {
                let decl = body.reg_decl_of(id).ok_or(EditError::UnknownId)?;
                let number = body
                    .registers()
                    .get(id)
                    .map(|r| r.number)
                    .filter(|_| decl.count.is_some());
                (decl.name, number, decl.scope, decl.stmt)
            }
            Operand::Var(id) => {
                let var = body.vars().get(id).ok_or(EditError::UnknownId)?;
                (var.name, var.number, var.scope, var.stmt)
            }
            // A label may be placed after its use, also by a later edit.
            Operand::Label(id) => {
                let label = body.labels().get(id).ok_or(EditError::UnknownId)?;
                (label.name, None, label.scope, None)
            }
            _ => return Ok(()),
        };
        let use_scope = raw::scope_of_key(body, key);
        if !is_declared_before(body, decl, key)
            || !body.is_in_scope(use_scope, scope)
            || is_shadowed(body, name, scope, use_scope)
            || scope != use_scope && self.is_captured(key, &self.spelled(name, number), scope)
        {
            return Err(self.hidden(name));
        }
        Ok(())
    }

    /// Returns whether a name denotes a declaration of another scope than this one.
    fn is_captured(&self, key: u64, name: &str, scope: ScopeId) -> bool {
        self.scope_of_name(key, name)
            .is_some_and(|declaration_scope| declaration_scope != scope)
    }

    /// The spelling of a name or, if there is a number, of a member of the range with that name.
    pub(crate) fn spelled(&self, name: NameId, number: Option<u32>) -> String {
        let mut text = String::from(self.module.name(name));
        if let Some(number) = number {
            text += &number.to_string();
        }
        text
    }

    /// Checks that a label which is used already is visible to its uses if it is inserted at this place.
    pub(crate) fn check_label_scope(
        &self,
        statement: Statement,
        key: u64,
    ) -> Result<(), EditError> {
        let body = self.body();
        let Statement::Label(id) = statement else {
            return Ok(());
        };
        let scope = raw::scope_of_key(body, key);
        if scope == ScopeId::new(0) {
            return Ok(());
        }
        let use_outside_scope = self.first_use(|stmt, operand| {
            operand == Operand::Label(id) && !body.is_in_scope(body.scope_around(stmt), scope)
        });
        match use_outside_scope {
            Some(_) => Err(EditError::Hidden(self.label_name(id))),
            None => Ok(()),
        }
    }

    fn label_name(&self, id: LabelId) -> String {
        let name = self.body().labels().get(id).map(|l| l.name);
        name.map_or(String::new(), |n| String::from(self.module.name(n)))
    }

    /// Checks that the scope of a place contains no other declaration of the names of a declaration that is moved there.
    pub(crate) fn check_new_in_scope(
        &self,
        key: u64,
        statement: Statement,
    ) -> Result<(), EditError> {
        let body = self.body();
        let scope = raw::scope_of_key(body, key);
        let names = self.declared_names(statement);
        let conflict = declared_names(body).find(|(name, declaration_scope, stmt)| {
            // Parameters have no statement. The statement of a removed or new declaration is not part of the body.
            let is_other = match stmt.and_then(|s| body.statement(s)) {
                Some(other) => {
                    other != statement && matches!(other, Statement::Decl(_) | Statement::Label(_))
                }
                None => stmt.is_none(),
            };
            *declaration_scope == scope && names.contains(name) && is_other
        });
        match conflict {
            Some((name, ..)) => Err(EditError::Taken(String::from(self.module.name(name)))),
            None => Ok(()),
        }
    }

    /// Returns whether other declarations make the meaning of a name depend on their order: one of them is a range, and the
    /// other declares a member of it as a plain name.
    pub(crate) fn is_ambiguous(&self, name: NameId) -> bool {
        let (module, body) = (&*self.module, self.body());
        let text = module.name(name);
        let is_member = |plain: &str, range: &str| {
            let (stem, digits) = split_numeric_suffix_str(plain);
            stem == range && !digits.is_empty()
        };
        let registers = body
            .reg_decls()
            .values()
            .map(|d| (module.name(d.name), d.count.is_some()));
        let vars = body
            .vars()
            .values()
            .map(|v| (module.name(v.name), v.number.is_some()));
        let mut is_range_name = false;
        let mut has_plain_member = false;
        for (other, is_range) in registers.chain(vars) {
            if is_range && is_member(text, other) {
                return true;
            }
            is_range_name |= is_range && other == text;
            has_plain_member |= !is_range && is_member(other, text);
        }
        is_range_name && has_plain_member
    }
}

/// Returns whether a declaration is before a place. Parameters, which have no statement, are before every place.
pub(crate) fn is_declared_before(body: &Body, stmt: Option<StmtId>, key: u64) -> bool {
    stmt.is_none_or(|stmt| {
        matches!(body.statement(stmt), Some(Statement::Decl(_))) && raw::stmt_key(body, stmt) < key
    })
}

/// The name of the register, variable or label that an operand refers to, without the number of a member.
pub(crate) fn name_of(body: &Body, operand: Operand) -> Option<NameId> {
    match operand {
        Operand::Reg(id) => Some(body.reg_decl_of(id)?.name),
        Operand::Var(id) => Some(body.vars().get(id)?.name),
        Operand::Label(id) => Some(body.labels().get(id)?.name),
        _ => None,
    }
}

/// The declaration of the register or variable that an operand refers to.
pub(crate) fn declaration_of(body: &Body, operand: Operand) -> Option<DeclId> {
    let stmt = match operand {
        Operand::Reg(id) => body.reg_decl_of(id)?.stmt,
        Operand::Var(id) => body.vars().get(id)?.stmt,
        _ => None,
    };
    match body.statement(stmt?) {
        Some(Statement::Decl(id)) => Some(id),
        _ => None,
    }
}

/// Returns whether a scope between `outer` and `inner` declares the name again.
fn is_shadowed(body: &Body, name: NameId, outer: ScopeId, inner: ScopeId) -> bool {
    if outer == inner {
        return false;
    }
    declared_names(body).any(|(other_name, scope, _)| {
        other_name == name
            && scope != outer
            && body.is_in_scope(scope, outer)
            && body.is_in_scope(inner, scope)
    })
}

/// The names of the registers, variables and labels of a body, with their scopes and statements. Parameters have no statement.
fn declared_names(body: &Body) -> impl Iterator<Item = (NameId, ScopeId, Option<StmtId>)> {
    let registers = body.reg_decls().values().map(|d| (d.name, d.scope, d.stmt));
    let vars = body.vars().values().map(|v| (v.name, v.scope, v.stmt));
    let labels = body.labels().values();
    registers
        .chain(vars)
        .chain(labels.map(|l| (l.name, l.scope, Some(l.stmt))))
}

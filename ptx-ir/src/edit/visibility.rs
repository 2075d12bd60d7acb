//! Where statements stand: their order, the scopes around them, and what can be seen from there.

use alloc::string::String;

use super::{EditError, Edits};
use crate::body::{Body, Scope, Statement};
use crate::entity::EntityId;
use crate::{DeclId, Module, NameId, Operand, ScopeId, StmtId};

impl Body {
    /// The [revision](Module::revision) of the module at the last edit of this body; 0 as it was read.
    pub fn revision(&self) -> u32 {
        self.edits.as_ref().map_or(0, |e| e.revision)
    }

    /// What was edited; `None` where nothing was.
    pub fn edits(&self) -> Option<&Edits<StmtId>> {
        self.edits.as_deref()
    }

    /// The edits, if they changed the order of the statements.
    #[inline]
    pub(crate) fn placed(&self) -> Option<&Edits<StmtId>> {
        self.edits.as_deref().filter(|e| e.changes_order())
    }

    /// The statement behind another one.
    pub fn after(&self, stmt: StmtId) -> Option<StmtId> {
        let end = StmtId::new(u32::MAX);
        self.range(stmt, end)
            .map(|(id, _)| id)
            .find(|&id| id != stmt)
    }

    /// The statement before another one.
    pub fn before(&self, stmt: StmtId) -> Option<StmtId> {
        let first = self.first_place()?;
        Some(self.range(first, stmt).next_back()?.0)
    }

    /// Whether a statement stands before another one.
    pub fn precedes(&self, a: StmtId, b: StmtId) -> bool {
        match self.placed() {
            None => a < b,
            Some(edits) => edits.key(a) < edits.key(b),
        }
    }

    fn first_place(&self) -> Option<StmtId> {
        match self.placed() {
            Some(edits) => edits.first(),
            None => (!self.statements.is_empty()).then_some(StmtId::new(0)),
        }
    }

    /// The order of statements is that of their keys.
    pub(super) fn key(&self, stmt: StmtId) -> u64 {
        match self.placed() {
            Some(edits) => edits.key(stmt),
            None => Edits::<StmtId>::new(0).key(stmt),
        }
    }

    /// The innermost scope around a statement; a brace stands in the scope around its own at `{`, in its own at `}`.
    pub fn scope_around(&self, stmt: StmtId) -> ScopeId {
        self.scope_of_key(self.key(stmt))
    }

    pub(super) fn scope_of_key(&self, key: u64) -> ScopeId {
        let opened = self.scopes_before(key);
        let mut scope = match self.placed().filter(|e| !e.scopes.is_empty()) {
            Some(edits) if opened > 0 => {
                let last = edits.scopes.get(opened - 1).copied();
                last.unwrap_or(ScopeId::from_index(0))
            }
            _ => ScopeId::from_index(opened),
        };
        while let Some(inner) = self.scope(scope)
            && inner.close.is_some_and(|close| self.key(close) < key)
        {
            scope = inner.parent;
        }
        scope
    }

    /// How many inner scopes begin before a place.
    fn scopes_before(&self, key: u64) -> usize {
        let begins = |s: &Scope| self.key(s.open) < key;
        match self.placed().filter(|e| !e.scopes.is_empty()) {
            Some(edits) => edits
                .scopes
                .partition_point(|&s| self.scope(s).is_some_and(begins)),
            // Braces stay where they were read, in order.
            None => self.inner_scopes.partition_point(begins),
        }
    }

    /// Notes a scope that an edit placed.
    pub(super) fn add_scope(&mut self, scope: Scope) {
        let at = self.scopes_before(self.key(scope.open));
        let read = self.inner_scopes.len();
        self.inner_scopes.push(scope);
        if let Some(edits) = self.edits.as_deref_mut() {
            if edits.scopes.is_empty() {
                edits.scopes = (1..=read).map(ScopeId::from_index).collect();
            }
            let at = at.min(edits.scopes.len());
            edits.scopes.insert(at, ScopeId::from_index(read + 1));
        }
    }

    /// Whether scope `inner` is `outer` or lies in it.
    pub(super) fn lies_in(&self, mut inner: ScopeId, outer: ScopeId) -> bool {
        while inner != outer {
            match self.scope(inner) {
                Some(scope) => inner = scope.parent,
                None => return false,
            }
        }
        true
    }

    /// Whether what an operand names can be seen from a place.
    pub(super) fn is_visible(&self, key: u64, operand: Operand) -> Result<(), VisibilityError> {
        let (name, scope, decl) = match operand {
            Operand::Reg(id) => {
                let register = self.registers.get(id).ok_or(VisibilityError::Foreign)?;
                let decl = self
                    .reg_decls
                    .get(register.decl)
                    .ok_or(VisibilityError::Foreign)?;
                (decl.name, decl.scope, decl.stmt)
            }
            Operand::Var(id) => {
                let var = self.vars.get(id).ok_or(VisibilityError::Foreign)?;
                (var.name, var.scope, var.stmt)
            }
            // It may be set further down, also by a later edit.
            Operand::Label(id) => {
                let label = self.labels.get(id).ok_or(VisibilityError::Foreign)?;
                (label.name, label.scope, None)
            }
            _ => return Ok(()),
        };
        let here = self.scope_of_key(key);
        let declared = decl.is_none_or(|d| {
            let there = matches!(self.statements.get(d), Some(Statement::Decl(_)));
            there && self.key(d) < key
        });
        if !declared || !self.lies_in(here, scope) || self.shadows(name, scope, here) {
            return Err(VisibilityError::Hidden(name));
        }
        Ok(())
    }

    /// The name of what an operand mentions, without a number.
    pub(super) fn name_of(&self, operand: Operand) -> Option<NameId> {
        match operand {
            Operand::Reg(id) => Some(self.reg_decls.get(self.registers.get(id)?.decl)?.name),
            Operand::Var(id) => Some(self.vars.get(id)?.name),
            Operand::Label(id) => Some(self.labels.get(id)?.name),
            _ => None,
        }
    }

    /// The declaration of the register or variable that an operand mentions.
    pub(super) fn declaration_of(&self, operand: Operand) -> Option<DeclId> {
        let stmt = match operand {
            Operand::Reg(id) => self.reg_decls.get(self.registers.get(id)?.decl)?.stmt,
            Operand::Var(id) => self.vars.get(id)?.stmt,
            _ => None,
        };
        match self.statements.get(stmt?) {
            Some(&Statement::Decl(id)) => Some(id),
            _ => None,
        }
    }

    /// Whether a name is a range's and others have members of it as plain names, or the other way round: which of them a
    /// text means depends on what else is there.
    pub(super) fn is_contested(&self, module: &Module, name: NameId) -> bool {
        let text = module.name(name);
        let member = |range: NameId, plain: NameId| {
            let rest = module.name(plain).strip_prefix(module.name(range));
            rest.is_some_and(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_digit()))
        };
        let registers = self.reg_decls.values().map(|d| (d.name, d.count.is_some()));
        let vars = self.vars.values().map(|v| (v.name, v.number.is_some()));
        let numbered = text.ends_with(|c: char| c.is_ascii_digit());
        let mut range = false;
        for (other, is_range) in registers.clone().chain(vars.clone()) {
            range |= is_range && other == name;
            if is_range && numbered && member(other, name) {
                return true;
            }
        }
        range
            && registers
                .chain(vars)
                .any(|(o, is_range)| !is_range && member(name, o))
    }

    /// Whether a scope between `outer` and `inner` declares the name again.
    fn shadows(&self, name: NameId, outer: ScopeId, inner: ScopeId) -> bool {
        if outer == inner {
            return false;
        }
        let between = |s: ScopeId| s != outer && self.lies_in(s, outer) && self.lies_in(inner, s);
        let registers = self.reg_decls.values().map(|d| (d.name, d.scope));
        let vars = self.vars.values().map(|v| (v.name, v.scope));
        let labels = self.labels.values().map(|l| (l.name, l.scope));
        registers
            .chain(vars)
            .chain(labels)
            .any(|(n, s)| n == name && between(s))
    }
}

/// Why a name cannot be used at a place.
pub(super) enum VisibilityError {
    /// The body has no such register, variable or label.
    Foreign,
    /// Its declaration is elsewhere.
    Hidden(NameId),
}

impl VisibilityError {
    pub(super) fn error(self, module: &Module) -> EditError {
        match self {
            Self::Foreign => EditError::UnknownId,
            Self::Hidden(name) => EditError::Hidden(String::from(module.name(name))),
        }
    }
}

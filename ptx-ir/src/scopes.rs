//! The order of the statements of a body, and the scopes around them.

use crate::body::{Body, Scope};
use crate::edit_log::Edits;
use crate::entity::EntityId;
use crate::{ScopeId, StmtId};

impl Body {
    /// The [revision](crate::Module::revision) of the module at the last edit of this body; 0 if it was not edited.
    #[must_use]
    pub fn revision(&self) -> u32 {
        self.edits.as_ref().map_or(0, |e| e.revision)
    }

    /// The record of edits; `None` for a body that was not edited.
    #[doc(hidden)]
    #[must_use]
    pub fn edits(&self) -> Option<&Edits<StmtId>> {
        self.edits.as_deref()
    }

    /// The edits, if they changed the order of the statements.
    #[inline]
    pub(crate) fn placed(&self) -> Option<&Edits<StmtId>> {
        self.edits.as_deref().filter(|e| e.changes_order())
    }

    /// The statement after another one.
    #[must_use]
    pub fn after(&self, stmt: StmtId) -> Option<StmtId> {
        let end = StmtId::new(u32::MAX);
        self.range(stmt, end)
            .map(|(id, _)| id)
            .find(|&id| id != stmt)
    }

    /// The statement before another one.
    #[must_use]
    pub fn before(&self, stmt: StmtId) -> Option<StmtId> {
        let first = match self.placed() {
            Some(edits) => edits.first()?,
            None => StmtId::new(0),
        };
        Some(self.range(first, stmt).next_back()?.0)
    }

    /// Whether a statement comes before another one.
    #[must_use]
    pub fn precedes(&self, first: StmtId, second: StmtId) -> bool {
        match self.placed() {
            None => first < second,
            Some(edits) => edits.key(first) < edits.key(second),
        }
    }

    /// The key of a statement. Statements are in the order of their keys.
    pub(crate) fn key(&self, stmt: StmtId) -> u64 {
        match self.placed() {
            Some(edits) => edits.key(stmt),
            None => Edits::<StmtId>::new(0).key(stmt),
        }
    }

    /// The innermost scope around a statement. A `{` is in the scope around its own, a `}` in its own.
    #[must_use]
    pub fn scope_around(&self, stmt: StmtId) -> ScopeId {
        self.scope_of_key(self.key(stmt))
    }

    pub(crate) fn scope_of_key(&self, key: u64) -> ScopeId {
        let opened = self.scopes_before(key);
        let mut scope = match self.placed().filter(|e| !e.scopes.is_empty()) {
            Some(edits) if opened > 0 => edits
                .scopes
                .get(opened - 1)
                .copied()
                .unwrap_or(ScopeId::from_index(0)),
            _ => ScopeId::from_index(opened),
        };
        while let Some(inner) = self.scope(scope)
            && inner.close.is_some_and(|close| self.key(close) < key)
        {
            scope = inner.parent;
        }
        scope
    }

    /// The number of inner scopes that begin before a key.
    fn scopes_before(&self, key: u64) -> usize {
        let begins = |s: &Scope| self.key(s.open) < key;
        match self.placed().filter(|e| !e.scopes.is_empty()) {
            Some(edits) => edits
                .scopes
                .partition_point(|&s| self.scope(s).is_some_and(begins)),
            // Braces stay where they were parsed, in order.
            None => self.inner_scopes.partition_point(begins),
        }
    }

    /// Whether scope `inner` is `outer` or inside it.
    #[must_use]
    pub fn is_in_scope(&self, mut inner: ScopeId, outer: ScopeId) -> bool {
        while inner != outer {
            match self.scope(inner) {
                Some(scope) => inner = scope.parent,
                None => return false,
            }
        }
        true
    }
}

/// Adds a scope whose braces an edit placed.
pub fn add_scope(body: &mut Body, scope: Scope) {
    let index = body.scopes_before(body.key(scope.open));
    let scope_count = body.inner_scopes.len();
    body.inner_scopes.push(scope);
    if let Some(edits) = body.edits.as_deref_mut() {
        if edits.scopes.is_empty() {
            edits.scopes = (1..=scope_count).map(ScopeId::from_index).collect();
        }
        debug_assert_eq!(edits.scopes.len(), scope_count);
        edits
            .scopes
            .insert(index.min(scope_count), ScopeId::from_index(scope_count + 1));
    }
}

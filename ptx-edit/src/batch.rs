//! Several edits of a function, applied together or not at all.

use alloc::vec::Vec;

use ptx_ir::{EntityId, GuardSense, Operand, RegId, SigId, StmtId};

use crate::{EditError, Editor, NewStmt};

/// One edit of a [`Batch`]. Its statements belong to the function before the batch is applied.
#[derive(PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Edit {
    /// Inserts a new statement before this one; several of them are in the order of the batch.
    InsertBefore(StmtId, NewStmt),
    /// Inserts a new statement after this one; several of them are in the order of the batch.
    InsertAfter(StmtId, NewStmt),
    /// Replaces this statement.
    Replace(StmtId, NewStmt),
    /// Removes this statement.
    Remove(StmtId),
    /// Moves the first statement after the second.
    MoveAfter(StmtId, StmtId),
    /// Replaces one operand.
    SetOperand(StmtId, usize, Operand),
    /// Sets or removes the guard.
    SetGuard(StmtId, Option<(RegId, GuardSense)>),
    /// Replaces the mnemonic by a [signature](ptx_ir::Module::signatures) of the module.
    SetMnemonic(StmtId, SigId),
}

/// The part of a statement that an edit changes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The whole statement and its place.
    Whole,
    Place,
    Mnemonic,
    Guard,
    Operand(usize),
}

/// The part of a statement that one edit of the batch changes. Claims are ordered by statement, part and edit.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Claim {
    stmt: StmtId,
    part: Part,
    /// The index of the edit in the batch.
    edit: usize,
}

impl Edit {
    /// The statement and the part of it that the edit changes; an insertion changes no existing statement.
    fn changed_part(&self) -> Option<(StmtId, Part)> {
        Some(match *self {
            Self::InsertBefore(..) | Self::InsertAfter(..) => return None,
            Self::Replace(stmt, _) | Self::Remove(stmt) => (stmt, Part::Whole),
            Self::MoveAfter(stmt, _) => (stmt, Part::Place),
            Self::SetOperand(stmt, index, _) => (stmt, Part::Operand(index)),
            Self::SetGuard(stmt, _) => (stmt, Part::Guard),
            Self::SetMnemonic(stmt, _) => (stmt, Part::Mnemonic),
        })
    }
}

/// Edits that are applied together.
#[derive(PartialEq, Eq, Default, Debug)]
pub struct Batch {
    edits: Vec<Edit>,
}

impl Batch {
    /// A batch without edits.
    #[must_use]
    pub const fn new() -> Self {
        Self { edits: Vec::new() }
    }

    /// Adds an edit.
    pub fn push(&mut self, edit: Edit) {
        self.edits.push(edit);
    }

    /// The number of edits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// Whether there are no edits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Returns an error for the first two edits that change the same part of a statement, or of which one changes a statement
    /// that the other one replaces or removes.
    fn check_conflicts(&self) -> Result<(), EditError> {
        let mut claims: Vec<Claim> = Vec::new();
        for (index, edit) in self.edits.iter().enumerate() {
            claims.extend(edit.changed_part().map(|(stmt, part)| Claim {
                stmt,
                part,
                edit: index,
            }));
        }
        claims.sort_unstable();
        // In each statement, `Part::Whole` is first.
        let mut earliest_conflict: Option<(usize, usize, StmtId)> = None;
        for statement_claims in claims.chunk_by(|a, b| a.stmt == b.stmt) {
            let statement_claim = statement_claims.first().filter(|c| c.part == Part::Whole);
            for (previous, claim) in statement_claims.iter().zip(statement_claims.iter().skip(1)) {
                let same_part = Some(previous).filter(|p| p.part == claim.part);
                let Some(conflicting) = statement_claim.or(same_part) else {
                    continue;
                };
                let first = conflicting.edit.min(claim.edit);
                let second = conflicting.edit.max(claim.edit);
                let conflict = (second, first, claim.stmt);
                earliest_conflict = Some(earliest_conflict.map_or(conflict, |c| c.min(conflict)));
            }
        }
        match earliest_conflict {
            None => Ok(()),
            Some((second, first, statement)) => Err(EditError::Conflict {
                statement,
                first,
                second,
            }),
        }
    }
}

impl Editor<'_> {
    /// Applies all edits of a batch, or none. Returns the new statements, one for each edit that inserts or replaces one, in
    /// the order of the batch. The cost includes a copy of the tables of the body.
    ///
    /// # Errors
    ///
    /// [`EditError::Conflict`] if two edits change the same part of a statement, and the errors of the single edits. The
    /// function is unchanged after an error.
    pub fn apply(&mut self, batch: Batch) -> Result<Vec<StmtId>, EditError> {
        batch.check_conflicts()?;
        let unedited_body = self.body().clone();
        let result = self.apply_all(batch);
        if result.is_err() {
            *self.body_mut() = unedited_body;
            self.registers = None;
        }
        result
    }

    fn apply_all(&mut self, batch: Batch) -> Result<Vec<StmtId>, EditError> {
        let mut new_stmts = Vec::new();
        // For each statement, the last one that was inserted after it.
        let mut last_inserted: Vec<Option<StmtId>> = Vec::new();
        last_inserted.resize(self.body().statement_table().len(), None);
        let mut removed = Vec::new();
        for edit in batch.edits {
            match edit {
                Edit::InsertBefore(target, new) => new_stmts.push(self.insert_before(target, new)?),
                Edit::InsertAfter(target, new) => {
                    let end = last_inserted
                        .get(target.index())
                        .copied()
                        .flatten()
                        .unwrap_or(target);
                    let id = self.insert_after(end, new)?;
                    if let Some(end) = last_inserted.get_mut(target.index()) {
                        *end = Some(id);
                    }
                    new_stmts.push(id);
                }
                Edit::Replace(target, new) => {
                    self.replace(target, new)?;
                    new_stmts.push(target);
                }
                // Later edits can still insert statements beside the removed one.
                Edit::Remove(target) => removed.push(target),
                Edit::MoveAfter(stmt, target) => self.move_after(stmt, target)?,
                Edit::SetOperand(stmt, index, new) => self.set_operand(stmt, index, new)?,
                Edit::SetGuard(stmt, guard) => self.set_guard(stmt, guard)?,
                Edit::SetMnemonic(stmt, sig) => self.set_signature(stmt, sig)?,
            }
        }
        for stmt in removed {
            self.remove(stmt)?;
        }
        Ok(new_stmts)
    }
}

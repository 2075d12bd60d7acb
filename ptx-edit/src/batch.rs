//! Several edits of a function, applied together or not at all.

use alloc::vec::Vec;

use ptx_ir::{EntityId, GuardSense, Operand, RegId, SigId, StmtId};

use crate::{EditError, Editor, NewStmt};

/// One edit of a [`Batch`]. Statements are those of the function before the batch is applied.
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

impl Edit {
    /// The statement that the edit changes; an insertion changes no existing statement.
    fn claim(&self) -> Option<(StmtId, Part)> {
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

    /// The first two edits that change the same part of a statement, or of which one changes what the other removes.
    fn conflict(&self) -> Result<(), EditError> {
        let mut claims: Vec<(StmtId, Part, usize)> = Vec::new();
        for (index, edit) in self.edits.iter().enumerate() {
            claims.extend(edit.claim().map(|(stmt, part)| (stmt, part, index)));
        }
        claims.sort_unstable();
        // In each statement, `Part::Whole` is first.
        let of_statement = claims.chunk_by(|a, b| a.0 == b.0);
        let conflicts = of_statement.flat_map(|claims| {
            let whole = claims.first().filter(|c| c.1 == Part::Whole);
            let pairs = claims.iter().zip(claims.iter().skip(1));
            pairs.filter_map(move |(a, b)| {
                let other = whole.or(Some(a).filter(|a| a.1 == b.1))?.2;
                Some((other.max(b.2), other.min(b.2), b.0))
            })
        });
        match conflicts.min() {
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
    /// [`EditError::Conflict`] if two edits change the same part of a statement, and those of the single edits. Nothing has
    /// changed then.
    pub fn apply(&mut self, batch: Batch) -> Result<Vec<StmtId>, EditError> {
        batch.conflict()?;
        let before = self.body().clone();
        let result = self.apply_all(batch);
        if result.is_err() {
            *self.body_mut() = before;
            self.registers = None;
        }
        result
    }

    fn apply_all(&mut self, batch: Batch) -> Result<Vec<StmtId>, EditError> {
        let mut made = Vec::new();
        // The last statement that was inserted after another one.
        let mut ends: Vec<Option<StmtId>> = Vec::new();
        ends.resize(self.body().statement_table().len(), None);
        let mut removed = Vec::new();
        for edit in batch.edits {
            match edit {
                Edit::InsertBefore(at, new) => made.push(self.insert_before(at, new)?),
                Edit::InsertAfter(at, new) => {
                    let end = ends.get(at.index()).copied().flatten().unwrap_or(at);
                    let id = self.insert_after(end, new)?;
                    if let Some(end) = ends.get_mut(at.index()) {
                        *end = Some(id);
                    }
                    made.push(id);
                }
                Edit::Replace(at, new) => {
                    self.replace(at, new)?;
                    made.push(at);
                }
                // Others may still be placed beside it.
                Edit::Remove(at) => removed.push(at),
                Edit::MoveAfter(stmt, at) => self.move_after(stmt, at)?,
                Edit::SetOperand(stmt, index, new) => self.set_operand(stmt, index, new)?,
                Edit::SetGuard(stmt, guard) => self.set_guard(stmt, guard)?,
                Edit::SetMnemonic(stmt, sig) => self.set_signature(stmt, sig)?,
            }
        }
        for stmt in removed {
            self.remove(stmt)?;
        }
        Ok(made)
    }
}

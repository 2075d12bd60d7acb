//! Walking the statements of a function while editing them.

use ptx_ir::{Statement, StmtId};

use crate::{EditError, Editor, NewStmt};

/// A position between two statements of a function, at which statements are inserted, removed and replaced. Created by
/// [`Editor::cursor`].
///
/// ```
/// use ptx_edit::EditModule as _;
/// use ptx_ir::{Operand, Statement};
/// let text = b".version 8.0 .target sm_80\n.entry k() {\n  .reg .b32 %r<2>;\n  add.s32 %r0, %r1, 0;\n  ret;\n}\n";
/// let mut module = ptx_parse::parse(text).module;
/// let k = module.function("k").expect("it is there");
/// let mut editor = module.edit(k)?;
/// let mut cursor = editor.cursor();
/// while let Some((stmt, statement)) = cursor.next() {
///     if matches!(statement, Statement::Inst(_)) && cursor.editor().operand(stmt, 2) == Some(Operand::Small(0)) {
///         cursor.remove()?;
///     }
/// }
/// assert!(ptx_print::verbatim(&module).ends_with(b"<2>;\n  ret;\n}\n"));
/// # Ok::<(), ptx_edit::EditError>(())
/// ```
#[derive(Debug)]
pub struct Cursor<'e, 'm> {
    editor: &'e mut Editor<'m>,
    /// The statement before the cursor; `None` at the start of the body.
    last: Option<StmtId>,
}

impl<'m> Editor<'m> {
    /// A cursor before the first statement.
    pub fn cursor(&mut self) -> Cursor<'_, 'm> {
        Cursor {
            editor: self,
            last: None,
        }
    }
}

impl<'m> Cursor<'_, 'm> {
    /// The editor, for operands and for statements elsewhere.
    pub fn editor(&mut self) -> &mut Editor<'m> {
        self.editor
    }

    /// The statement before the cursor; `None` at the start.
    #[must_use]
    pub fn last(&self) -> Option<StmtId> {
        self.last
    }

    /// Moves the cursor after the next statement and returns it.
    #[allow(
        clippy::should_implement_trait,
        reason = "the function is edited between two steps"
    )]
    pub fn next(&mut self) -> Option<(StmtId, Statement)> {
        let body = self.editor.body();
        let next = match self.last {
            Some(last) => body.after(last)?,
            None => body.statements().next()?.0,
        };
        self.last = Some(next);
        Some((next, body.statement(next)?))
    }

    /// Moves the cursor before the last statement and returns it.
    pub fn previous(&mut self) -> Option<(StmtId, Statement)> {
        let body = self.editor.body();
        let last = self.last?;
        self.last = body.before(last);
        Some((last, body.statement(last)?))
    }

    /// Moves the cursor after a statement.
    ///
    /// # Errors
    ///
    /// [`EditError::NoStatement`] if there is no such statement.
    pub fn seek(&mut self, stmt: StmtId) -> Result<(), EditError> {
        self.editor.statement(stmt)?;
        self.last = Some(stmt);
        Ok(())
    }

    /// Inserts a new statement and moves the cursor after it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Editor::insert_after`].
    pub fn insert(&mut self, new: NewStmt) -> Result<StmtId, EditError> {
        let id = match self.last {
            Some(last) => self.editor.insert_after(last, new)?,
            None => self.editor.prepend(new)?,
        };
        self.last = Some(id);
        Ok(id)
    }

    /// Inserts a new statement before the last one that the cursor passed. The cursor does not move.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Editor::insert_before`].
    pub fn insert_before_last(&mut self, new: NewStmt) -> Result<StmtId, EditError> {
        let last = self.last.ok_or(EditError::NoStatement)?;
        self.editor.insert_before(last, new)
    }

    /// Removes the last statement that the cursor passed.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Editor::remove`].
    pub fn remove(&mut self) -> Result<(), EditError> {
        let last = self.last.ok_or(EditError::NoStatement)?;
        let predecessor = self.editor.body().before(last);
        self.editor.remove(last)?;
        self.last = predecessor;
        Ok(())
    }

    /// Replaces the last statement that the cursor passed.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Editor::replace`].
    pub fn replace(&mut self, new: NewStmt) -> Result<(), EditError> {
        let last = self.last.ok_or(EditError::NoStatement)?;
        self.editor.replace(last, new)
    }
}

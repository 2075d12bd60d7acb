//! Labels of one body that are used before they are defined.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use ptx_ir::raw::scan::{class, is};
use ptx_ir::{LabelId, NameId, Operand, StmtId};

/// The statement of a label that is not defined yet.
pub(crate) const UNDEFINED: StmtId = StmtId::new(u32::MAX);

/// The labels of the current body whose uses cannot be resolved before its end.
#[derive(Default)]
pub(crate) struct PendingLabels {
    /// Each use: the label and the offset of the name.
    pub(crate) uses: Vec<(LabelId, u32)>,
    /// The number of uses before the current statement.
    before_statement: usize,
    /// Undefined labels of inner scopes, each with the label of an outer scope that it means.
    pub(crate) merged: Vec<(LabelId, LabelId)>,
    /// Labels that were never defined, with the operands that replace them.
    pub(crate) undefined: Vec<(LabelId, Operand)>,
    /// Labels that turned out to be names declared after their use.
    pub(crate) declared_after_use: BTreeSet<LabelId>,
    /// The labels of tables and prototypes.
    pub(crate) tables: Vec<LabelId>,
    /// The ranges of labels in tables.
    pub(crate) ranges: Vec<LabelRange>,
}

/// `L<5>` in a table of branch targets.
#[derive(Copy, Clone)]
pub(crate) struct LabelRange {
    pub(crate) prefix: NameId,
    pub(crate) count: i64,
    /// The offset of the name in the source.
    pub(crate) offset: u32,
}

impl PendingLabels {
    #[inline(always)]
    pub(crate) fn begin_statement(&mut self) {
        self.before_statement = self.uses.len();
    }

    /// Forgets the uses in the current statement, whose error was reported.
    pub(crate) fn forget_statement(&mut self) {
        self.uses.truncate(self.before_statement);
    }

    /// Forgets the last use if its name ends at `end`.
    pub(crate) fn forget_use_before(&mut self, src: &[u8], end: usize) {
        let word = src[..end]
            .iter()
            .rev()
            .take_while(|&&b| is(b, class::IDENT));
        self.forget_uses_from(end - word.count());
    }

    /// Forgets the uses from the offset `start` of the source on.
    pub(crate) fn forget_uses_from(&mut self, start: usize) {
        while self
            .uses
            .last()
            .is_some_and(|&(_, offset)| offset as usize >= start)
        {
            self.uses.pop();
        }
    }

    /// Removes everything before the next body. Allocated memory is kept.
    pub(crate) fn clear(&mut self) {
        self.uses.clear();
        self.merged.clear();
        self.undefined.clear();
        self.declared_after_use.clear();
        self.tables.clear();
        self.ranges.clear();
    }
}

//! The record of edits that printing needs: the order of statements, and which of them differ from the source.
//!
//! The operations are those of the crate `ptx-edit`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::entity::EntityId;
use crate::statement_order::{Position, StatementOrder};
use crate::{NameId, ScopeId};

/// The difference between the text of a statement and its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// The statement was removed.
    Removed(RemovedComments),
    /// The statement is printed from its record.
    Rewritten,
    /// These parts are replaced, in the order of the source; all other bytes are unchanged.
    Patched(Vec<Patch>),
}

/// The comments that are removed together with a statement or an item.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RemovedComments {
    /// No comments: those between the tokens of the statement stay, too.
    None,
    /// The comments between the tokens of the statement, including those in the body of a function.
    Inside,
    /// All comments that [belong to the statement](crate::raw::trivia_map): between its tokens, above it and on its last line.
    All,
}

/// A part of the source of a statement that an edit replaces.
pub type Patch = crate::patch::Patch<NewText>;

/// The replacement of a part of the source. All kinds but [`Text`](Self::Text) are parts of the instruction as it is now.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[non_exhaustive]
pub enum NewText {
    /// This text.
    Text(NameId),
    /// The guard with a space after it; nothing if there is none.
    Guard,
    /// The predicate of the guard, with its `!`.
    Predicate,
    /// An operand or a part of one.
    Operand {
        /// The index of the operand.
        operand: u32,
        /// The index of one of its [parts](crate::OperandPool::walk_operand); 0 is the whole operand.
        part: u32,
    },
    /// All operands from this index on, each after a separator.
    OperandsFrom(u32),
}

impl NewText {
    /// Whether the text is printed from the record, so that later edits of the record need no further patch.
    #[must_use]
    pub const fn is_from_record(self) -> bool {
        !matches!(self, Self::Text(_))
    }
}

/// The edits of the statements of a body, or of the items of a module.
#[derive(Clone, Debug)]
pub struct Edits<K> {
    pub(crate) order: StatementOrder<K>,
    changes: BTreeMap<u32, Change>,
    pub(crate) revision: u32,
    /// The scopes of a body in the order of their `{`, once an edit placed one; before that, ids are in this order.
    pub(crate) scopes: Vec<ScopeId>,
}

impl<K: EntityId> Edits<K> {
    /// Whether a statement was parsed from the source, not created by an edit.
    pub fn was_read(&self, id: K) -> bool {
        self.order.was_read(id)
    }

    /// The difference between the text of a parsed statement and its source; `None` if there is none.
    pub fn change(&self, id: K) -> Option<&Change> {
        self.changes.get(&(id.index() as u32))
    }

    /// The first statement, removed ones included.
    #[must_use]
    pub fn first(&self) -> Option<K> {
        self.order.next_after(0)
    }

    /// The statement after another one, removed ones included.
    pub fn next(&self, id: K) -> Option<K> {
        self.order.next_after(self.order.key(id))
    }

    /// The statement before another one, removed ones included.
    pub fn previous(&self, id: K) -> Option<K> {
        self.order.prev_before(self.order.key(id))
    }

    /// Whether the order is no longer that of the ids.
    #[inline]
    pub(crate) fn changes_order(&self) -> bool {
        !self.order.is_plain()
    }

    pub(crate) fn key(&self, id: K) -> u64 {
        self.order.key(id)
    }

    pub(crate) fn next_after(&self, key: u64) -> Option<K> {
        self.order.next_after(key)
    }

    pub(crate) fn prev_before(&self, key: u64) -> Option<K> {
        self.order.prev_before(key)
    }

    /// The last statement of the sequence from `id` on in which nothing differs from the source. `id` itself was parsed and did
    /// not change.
    pub fn unchanged_run(&self, id: K) -> K {
        if self.order.is_placed(id) {
            return id;
        }
        let run = self.order.unchanged_run(id);
        let index = id.index() as u32;
        let changed = self.changes.range(index + 1..).next();
        let end = changed.map_or(run, |(&i, _)| run.min(i - 1));
        K::from_index(end as usize)
    }
}

/// Changes, for [`raw`](crate::raw) only.
impl<K: EntityId> Edits<K> {
    /// The edits of a body or a module with this many parsed statements or items: none so far.
    #[must_use]
    pub fn new(read: usize) -> Self {
        Self {
            order: StatementOrder::new(read as u32),
            changes: BTreeMap::new(),
            revision: 0,
            scopes: Vec::new(),
        }
    }

    /// Sets the revision of the last edit.
    pub fn set_revision(&mut self, revision: u32) {
        self.revision = revision;
    }

    /// The position of a statement.
    pub fn position(&self, id: K) -> Position<K> {
        self.order.position(id)
    }

    /// Places a statement after another one, or first.
    pub fn insert_after(&mut self, id: K, before: Option<K>) {
        self.order.insert_after(id, before);
    }

    /// Puts a statement back to an earlier position.
    pub fn restore(&mut self, id: K, position: Position<K>) {
        self.order.restore(id, position);
    }

    /// The patches of a statement; empty if it is not patched.
    pub fn patches(&self, id: K) -> &[Patch] {
        match self.change(id) {
            Some(Change::Patched(patches)) => patches,
            _ => &[],
        }
    }

    /// Records that a statement is printed from its record.
    pub fn rewrite(&mut self, id: K) {
        if self.was_read(id) {
            self.changes.insert(id.index() as u32, Change::Rewritten);
        }
    }

    /// Records that a statement was removed.
    pub fn remove(&mut self, id: K, comments: RemovedComments) {
        let change = Change::Removed(comments);
        self.changes.insert(id.index() as u32, change);
    }

    /// Drops patches of a statement.
    pub fn retain_patches(&mut self, id: K, keep: impl FnMut(&Patch) -> bool) {
        if let Some(Change::Patched(patches)) = self.changes.get_mut(&(id.index() as u32)) {
            patches.retain(keep);
        }
    }

    /// Records a patch, unless the statement is printed from its record.
    pub fn patch(&mut self, id: K, patch: Patch) {
        if !self.was_read(id) {
            return;
        }
        let change = self.changes.entry(id.index() as u32);
        let Change::Patched(patches) = change.or_insert(Change::Patched(Vec::new())) else {
            return;
        };
        let new = patch.span;
        let is_hidden = patches.iter().filter(|p| p.span.overlaps(new)).any(|p| {
            match (p.text.is_from_record(), patch.text.is_from_record()) {
                (true, false) => true,
                (false, true) => false,
                _ => p.span.len() > new.len(),
            }
        });
        if is_hidden {
            // The replaced text is part of an earlier patch.
            return;
        }
        let rank = |p: &Patch| (p.span, p.text.is_from_record());
        patches.retain(|p| !p.span.overlaps(new) && rank(p) != rank(&patch));
        let index = patches.partition_point(|p| rank(p) < rank(&patch));
        patches.insert(index, patch);
    }
}

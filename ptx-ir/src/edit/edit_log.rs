//! What edits leave behind: the order of statements, and which of them their source no longer tells.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::statement_order::Layout;
use crate::entity::EntityId;
use crate::{FuncId, Module, NameId, ScopeId, Span, SymbolId};

/// How the text of a statement differs from its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// It is gone.
    Removed {
        /// Whether the comments inside it stay; those of a function go with it.
        keeps_comments: bool,
    },
    /// It is printed anew from its record.
    Rewritten,
    /// These parts are replaced, in the order of the source; everything else stays.
    Patched(Vec<Patch>),
}

/// A part of the source with another text.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    /// What is replaced, from the start of the source.
    pub span: Span,
    /// By what.
    pub text: NameId,
}

/// The edits of the statements of a body, or of the items of a module.
#[derive(Clone, Debug)]
pub struct Edits<K> {
    pub(super) layout: Layout<K>,
    changes: BTreeMap<u32, Change>,
    pub(super) revision: u32,
    /// The scopes of a body by where they begin, once an edit placed one; before, they are numbered so.
    pub(super) scopes: Vec<ScopeId>,
}

impl<K: EntityId> Edits<K> {
    pub(crate) fn new(read: usize) -> Self {
        Self {
            layout: Layout::new(read as u32),
            changes: BTreeMap::new(),
            revision: 0,
            scopes: Vec::new(),
        }
    }

    /// No edits of as many statements.
    pub fn none(read: usize) -> Self {
        Self::new(read)
    }

    /// Whether a statement was read from the source, and not made by an edit.
    pub fn was_read(&self, id: K) -> bool {
        self.layout.was_read(id)
    }

    /// How the text of a statement that was read differs from its source; `None` where it does not.
    pub fn change(&self, id: K) -> Option<&Change> {
        self.changes.get(&(id.index() as u32))
    }

    /// The first statement, those that were removed among them.
    pub fn first(&self) -> Option<K> {
        self.layout.next_after(0)
    }

    /// The statement behind another one, those that were removed among them.
    pub fn next(&self, id: K) -> Option<K> {
        self.layout.next_after(self.layout.key(id))
    }

    /// The statement before another one, those that were removed among them.
    pub fn previous(&self, id: K) -> Option<K> {
        self.layout.prev_before(self.layout.key(id))
    }

    /// Whether the order is no longer that of the ids.
    #[inline]
    pub(crate) fn changes_order(&self) -> bool {
        !self.layout.is_plain()
    }

    pub(crate) fn key(&self, id: K) -> u64 {
        self.layout.key(id)
    }

    pub(crate) fn next_after(&self, key: u64) -> Option<K> {
        self.layout.next_after(key)
    }

    pub(crate) fn prev_before(&self, key: u64) -> Option<K> {
        self.layout.prev_before(key)
    }

    /// The last statement of the stretch that begins with `id` and is as the source tells it: `id` was read and did not
    /// change.
    pub fn unchanged_run(&self, id: K) -> K {
        if self.layout.is_placed(id) {
            return id;
        }
        let run = self.layout.unchanged_run(id);
        let index = id.index() as u32;
        let changed = self.changes.range(index + 1..).next();
        let end = changed.map_or(run, |(&i, _)| run.min(i - 1));
        K::from_index(end as usize)
    }

    /// The patches of a statement so far.
    pub(super) fn patches(&self, id: K) -> Option<&[Patch]> {
        match self.change(id)? {
            Change::Patched(patches) => Some(patches),
            _ => None,
        }
    }

    pub(super) fn rewrite(&mut self, id: K) {
        if self.was_read(id) {
            self.changes.insert(id.index() as u32, Change::Rewritten);
        }
    }

    pub(super) fn remove(&mut self, id: K, keeps_comments: bool) {
        let change = Change::Removed { keeps_comments };
        self.changes.insert(id.index() as u32, change);
    }

    /// Takes away the patches that lie in a part of the source.
    pub(super) fn unpatch(&mut self, id: K, part: Span) {
        if let Some(Change::Patched(patches)) = self.changes.get_mut(&(id.index() as u32)) {
            patches.retain(|p| p.span.start < part.start || p.span.end > part.end);
        }
    }

    /// Adds a patch; what is printed anew needs none.
    pub(super) fn patch(&mut self, id: K, patch: Patch) {
        if !self.was_read(id) {
            return;
        }
        let change = self.changes.entry(id.index() as u32);
        let Change::Patched(patches) = change.or_insert(Change::Patched(Vec::new())) else {
            return;
        };
        let new = patch.span;
        let overlaps = |p: &Patch| p.span.start < new.end && new.start < p.span.end;
        if patches
            .iter()
            .any(|p| overlaps(p) && p.span.len() > new.len())
        {
            // What stood there is gone.
            return;
        }
        patches.retain(|p| !overlaps(p) && p.span != new);
        let at = patches.partition_point(|p| p.span < new);
        patches.insert(at, patch);
    }
}

/// What edits changed, for those who keep results: functions with another body or header, and names of the module with another
/// declaration.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Changed {
    /// The functions.
    pub functions: Vec<FuncId>,
    /// The names of the module.
    pub symbols: Vec<SymbolId>,
    /// Whether directives of the module came or went, which may concern every function.
    pub directives: bool,
}

impl Module {
    /// A number that grows with every edit; 0 for a module as it was read.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// What was edited since the module had this [revision](Self::revision).
    pub fn changed_since(&self, revision: u32) -> Changed {
        let newer = |body: &crate::Body| body.revision() > revision;
        let functions = self.definitions().filter(|(_, _, b)| newer(b));
        let symbols = self.symbol_revisions.iter();
        Changed {
            directives: self.directive_revision > revision,
            functions: functions.map(|(id, ..)| id).collect(),
            symbols: symbols
                .filter(|(_, r)| **r > revision)
                .map(|(&s, _)| s)
                .collect(),
        }
    }

    /// The edits of the items; `None` where there are none.
    pub fn edits(&self) -> Option<&Edits<crate::ItemId>> {
        self.edits.as_deref()
    }

    pub(super) fn item_edits(&mut self) -> &mut Edits<crate::ItemId> {
        self.revision += 1;
        let items = self.items.len();
        let edits = self
            .edits
            .get_or_insert_with(|| alloc::boxed::Box::new(Edits::new(items)));
        edits.revision = self.revision;
        edits
    }

    /// The source under a span, with the patches of a change applied.
    pub fn patched_text(&self, span: Span, change: Option<&Change>) -> Cow<'_, [u8]> {
        let source = self.source();
        let Some(Change::Patched(patches)) = change else {
            return Cow::Borrowed(span.of(source));
        };
        let mut text = Vec::with_capacity(span.len() + 16);
        let mut at = span.start;
        let inside = |p: &&Patch| p.span.start >= span.start && p.span.end <= span.end;
        for patch in patches.iter().filter(inside) {
            text.extend_from_slice(Span::new(at, patch.span.start).of(source));
            text.extend_from_slice(self.name_bytes(patch.text));
            at = patch.span.end;
        }
        text.extend_from_slice(Span::new(at, span.end).of(source));
        Cow::Owned(text)
    }

    /// Whether the text is no longer that of the source.
    pub fn is_edited(&self) -> bool {
        self.revision > 0
    }
}

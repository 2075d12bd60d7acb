//! The revisions of a module: the changes since one of them, and a number of its contents to recognize facts of other contents.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::edit_log::{Change, Edits, NewText};
use crate::module::Module;
use crate::patch::{Piece, pieces};
use crate::{FuncId, Span, SymbolId};

/// A number of the contents of a module, unique in the process. A clone of a module has the number of the original until one of
/// them changes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Content(usize);

impl Content {
    /// A number that no other contents have.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Only the number itself is shared between threads.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::new()
    }
}

/// The functions and symbols that edits changed, for consumers that keep results.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Changed {
    /// The functions whose body or header changed.
    pub functions: Vec<FuncId>,
    /// The symbols whose declaration changed.
    pub symbols: Vec<SymbolId>,
    /// Directives of the module were added or removed, which may concern every function.
    pub directives: bool,
}

impl Module {
    /// A number that increases with every edit; 0 for a module that was not edited.
    #[must_use]
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// The functions and symbols that were edited since the module had this [revision](Self::revision).
    #[must_use]
    pub fn changed_since(&self, revision: u32) -> Changed {
        Changed {
            directives: self.directive_revision > revision,
            functions: self
                .definitions()
                .filter(|(_, _, body)| body.revision() > revision)
                .map(|(id, ..)| id)
                .collect(),
            symbols: self
                .symbol_revisions
                .iter()
                .filter(|(_, edited)| **edited > revision)
                .map(|(&symbol, _)| symbol)
                .collect(),
        }
    }

    /// The edits of the items; `None` if there are no edits.
    #[doc(hidden)]
    #[must_use]
    pub fn edits(&self) -> Option<&Edits<crate::ItemId>> {
        self.edits.as_deref()
    }

    /// The source under a span, with the patches of a change applied.
    #[doc(hidden)]
    #[must_use]
    pub fn patched_text(&self, span: Span, change: Option<&Change>) -> Cow<'_, [u8]> {
        let source = self.source();
        let Some(Change::Patched(patches)) = change else {
            return Cow::Borrowed(span.of(source));
        };
        let mut text = Vec::with_capacity(span.len() + 16);
        pieces(span, patches, |piece| match piece {
            Piece::Kept(span) => text.extend_from_slice(span.of(source)),
            Piece::New(patch) => {
                if let NewText::Text(new) = patch.text {
                    text.extend_from_slice(self.name_bytes(new));
                }
            }
        });
        Cow::Owned(text)
    }

    /// Whether the module was edited: its text is not its source.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        self.revision > 0
    }

    /// Records that the contents change, so that facts of the old contents are recognized as stale. Returns the new revision.
    pub(crate) fn change(&mut self) -> u32 {
        self.content = Content::new();
        self.revision += 1;
        self.revision
    }
}

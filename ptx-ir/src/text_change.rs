//! A change of the text of a module: its effect on places, and on what the module refers to by place.

use crate::body::StmtSpan;
use crate::module::Module;
use crate::revisions::Content;
use crate::source_text::SourceText;
use crate::{Diagnostic, ItemId, Span};

/// A stretch of a text was replaced by another one.
#[doc(hidden)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct TextChange {
    replaced: Span,
    inserted: u32,
}

impl TextChange {
    /// `replaced` was replaced by `inserted` bytes.
    #[must_use]
    pub const fn new(replaced: Span, inserted: u32) -> Self {
        Self { replaced, inserted }
    }

    /// The replaced part of the old text.
    #[must_use]
    pub const fn replaced(self) -> Span {
        self.replaced
    }

    /// The offset in the new text of an offset of the old one that is not inside of what was replaced.
    #[must_use]
    pub const fn offset(self, old: u32) -> u32 {
        if old < self.replaced.end {
            return old;
        }
        let after = old - self.replaced.end;
        self.replaced.start + self.inserted + after
    }

    /// The place in the new text of a span of the old one whose ends are not inside of what was replaced. A span that ends where
    /// an insertion begins does not grow; an empty one there moves after it.
    #[must_use]
    pub const fn place(self, old: Span) -> Span {
        let end = match old.end <= self.replaced.start && old.start < old.end {
            true => old.end,
            false => self.offset(old.end),
        };
        Span::new(self.offset(old.start), end)
    }

    /// Moves a diagnostic about what did not change.
    pub fn relocate(self, diagnostic: &mut Diagnostic) {
        diagnostic.relocate(|span| Some(self.place(span)));
    }
}

/// Replaces a part of the source inside of the body of `item`, and moves everything to its new place, except the statements of
/// that body: they have to be parsed again.
pub(crate) fn replace_in_body(module: &mut Module, item: ItemId, replaced: Span, text: &[u8]) {
    let change = TextChange::new(replaced, text.len() as u32);
    module.content = Content::new();
    let mut source = core::mem::take(&mut module.source);
    module.names.source_changes(change);
    module.signatures.source_changes(change);
    source.replace(replaced, text);
    module.names.set_source(source.clone());
    module.signatures.set_source(source.clone());
    module.source = source;
    for origin in module.origins.iter_mut().skip(crate::EntityId::index(item)) {
        *origin = StmtSpan::new(change.place(origin.span()), origin.has_comments());
    }
    for body in module.bodies.values_mut() {
        body.base = change.offset(body.base);
    }
}

impl SourceText {
    /// Replaces a part of the text, in place if it is not shared.
    fn replace(&mut self, replaced: Span, text: &[u8]) {
        let mut bytes = core::mem::take(self).into_vec();
        let missing = (bytes.len() + text.len()).saturating_sub(bytes.capacity());
        if missing > 0 {
            // A document that grows letter by letter is not copied for each, and does not take twice the memory.
            bytes.reserve_exact(missing + bytes.len() / 64);
        }
        let end = replaced.range().end.min(bytes.len());
        bytes.splice(replaced.range().start.min(end)..end, text.iter().copied());
        *self = Self::from(bytes);
    }
}

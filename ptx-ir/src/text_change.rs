//! A change of the text of a module, and its effect on spans.

use crate::source_text::SourceText;
use crate::{Diagnostic, Span};

/// The replacement of a part of a text.
#[doc(hidden)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct TextChange {
    replaced: Span,
    inserted: u32,
}

impl TextChange {
    /// The replacement of `replaced` by `inserted` bytes.
    #[must_use]
    pub const fn new(replaced: Span, inserted: u32) -> Self {
        Self { replaced, inserted }
    }

    /// The replaced part of the old text.
    #[must_use]
    pub const fn replaced(self) -> Span {
        self.replaced
    }

    /// The offset in the new text of an offset of the old one that is not inside of the replaced part.
    #[must_use]
    pub const fn offset(self, old: u32) -> u32 {
        if old < self.replaced.end {
            return old;
        }
        self.replaced.start + self.inserted + (old - self.replaced.end)
    }

    /// The span in the new text of a span of the old one whose ends are not inside of the replaced part. A span that ends where an
    /// insertion begins keeps its length; an empty one there moves after the insertion.
    #[must_use]
    pub const fn place(self, old: Span) -> Span {
        let end = if old.end <= self.replaced.start && old.start < old.end {
            old.end
        } else {
            self.offset(old.end)
        };
        Span::new(self.offset(old.start), end)
    }

    /// Moves a diagnostic about an unchanged part of the text.
    pub fn relocate(self, diagnostic: &mut Diagnostic) {
        diagnostic.relocate(|span| Some(self.place(span)));
    }
}

impl SourceText {
    /// Replaces a part of the text, in place if it is not shared.
    pub(crate) fn replace(&mut self, replaced: Span, text: &[u8]) {
        let mut bytes = core::mem::take(self).into_vec();
        let missing = (bytes.len() + text.len()).saturating_sub(bytes.capacity());
        if missing > 0 {
            // Some spare capacity, so that a document is not copied at each added letter, but not twice the memory.
            bytes.reserve_exact(missing + bytes.len() / 64);
        }
        let end = replaced.range().end.min(bytes.len());
        bytes.splice(replaced.range().start.min(end)..end, text.iter().copied());
        *self = Self::from(bytes);
    }
}

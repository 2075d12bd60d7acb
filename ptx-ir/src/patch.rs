//! Texts with replaced parts.

use alloc::vec::Vec;

use crate::{OffsetMap, Span};

/// A part of a text and its replacement.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Patch<T> {
    /// The replaced part, counted from the start of the text.
    pub span: Span,
    /// The replacement.
    pub text: T,
}

/// A piece of a patched text.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Piece<T> {
    /// A part of the old text.
    Kept(Span),
    /// The replacement of a patch.
    New(Patch<T>),
}

/// Passes the pieces of `span` to `write`. The patches are sorted. Those that are not inside the span are ignored, and the second
/// of two that overlap. A patch of an empty span inserts.
pub fn pieces<T: Copy>(span: Span, patches: &[Patch<T>], mut write: impl FnMut(Piece<T>)) {
    let mut written_end = span.start;
    for &patch in patches {
        if patch.span.start < written_end || patch.span.end > span.end {
            continue;
        }
        write(Piece::Kept(Span::new(written_end, patch.span.start)));
        write(Piece::New(patch));
        written_end = patch.span.end;
    }
    write(Piece::Kept(Span::new(written_end, span.end)));
}

/// A new text with the offsets of the bytes that it has in common with the old one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Rewritten {
    /// The new text.
    pub text: Vec<u8>,
    /// The map from the old text to the new one.
    pub map: OffsetMap,
}

impl Rewritten {
    /// A text with the map that leads to it.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(text: Vec<u8>, map: OffsetMap) -> Self {
        Self { text, map }
    }
}

/// Patches of a text, in any order.
///
/// ```
/// use ptx_ir::Span;
/// use ptx_ir::raw::TextPatches;
/// let mut patches = TextPatches::new();
/// patches.replace(Span::new(4, 7), "two");
/// patches.insert(0, ">> ");
/// let new = patches.apply(b"one 2.0 three");
/// assert_eq!(new.text, b">> one two three");
/// assert_eq!(new.map.to_new(8), Some(11));
/// ```
#[derive(Clone, Default, Debug)]
pub struct TextPatches {
    /// The patches, each with the span of its new text in `bytes`.
    patches: Vec<Patch<Span>>,
    bytes: Vec<u8>,
}

impl TextPatches {
    /// No patches.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            patches: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Replaces a part. Of two parts that overlap, the one that begins first is replaced; of two insertions at the same
    /// place, the earlier one comes first.
    pub fn replace(&mut self, span: Span, new: impl AsRef<[u8]>) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(new.as_ref());
        let text = Span::new(start, self.bytes.len() as u32);
        self.patches.push(Patch { span, text });
    }

    /// Removes a part.
    pub fn remove(&mut self, span: Span) {
        self.replace(span, b"");
    }

    /// Inserts text before the byte at `at`.
    pub fn insert(&mut self, at: u32, new: impl AsRef<[u8]>) {
        self.replace(Span::new(at, at), new);
    }

    /// The new text. O(n log n) in the number of patches.
    #[must_use]
    pub fn apply(mut self, source: &[u8]) -> Rewritten {
        self.sort();
        let (mut text, mut map) = (Vec::new(), OffsetMap::new());
        text.reserve(source.len() + self.bytes.len());
        let span = Span::at(0, source.len());
        self.write(source, &self.patches, span, &mut text, &mut map);
        Rewritten { text, map }
    }

    /// Sorts the patches, for [`copy`](Self::copy).
    pub fn sort(&mut self) {
        self.patches.sort_by_key(|p| p.span.start);
    }

    /// Appends a part of the source, with the patches that begin in it, to a text. The patches are
    /// [sorted](Self::sort).
    pub fn copy(&self, source: &[u8], span: Span, new: (&mut Vec<u8>, &mut OffsetMap)) {
        let first = self.patches.partition_point(|p| p.span.start < span.start);
        let end = self.patches.partition_point(|p| p.span.start < span.end);
        let patches = self.patches.get(first..end).unwrap_or_default();
        let (text, map) = new;
        self.write(source, patches, span, text, map);
    }

    fn write(
        &self,
        source: &[u8],
        patches: &[Patch<Span>],
        span: Span,
        text: &mut Vec<u8>,
        map: &mut OffsetMap,
    ) {
        pieces(span, patches, |piece| match piece {
            Piece::Kept(span) => {
                map.push(span.start, text.len() as u32, span.len() as u32);
                text.extend_from_slice(span.of(source));
            }
            Piece::New(patch) => text.extend_from_slice(patch.text.of(&self.bytes)),
        });
    }
}

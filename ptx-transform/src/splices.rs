//! Pieces of a text replaced by others.

use alloc::vec::Vec;

use ptx_ir::OffsetMap;
use ptx_ir::Span;

/// A new text, and where the bytes of the old one are in it.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The new text.
    pub text: Vec<u8>,
    /// From the old text to the new one.
    pub map: OffsetMap,
}

/// Replacements of pieces of a text, in any order.
///
/// ```
/// use ptx_ir::Span;
/// let mut splices = ptx_transform::Splices::new();
/// splices.replace(Span::new(4, 7), "two");
/// splices.insert(0, ">> ");
/// let new = splices.apply(b"one 2.0 three");
/// assert_eq!(new.text, b">> one two three");
/// assert_eq!(new.map.to_new(8), Some(11));
/// ```
#[derive(Clone, Default, Debug)]
pub struct Splices {
    /// The old piece; where its new bytes are in `bytes`.
    pieces: Vec<(Span, Span)>,
    bytes: Vec<u8>,
}

impl Splices {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            pieces: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Replaces a piece. Of two pieces that overlap, the one that begins first counts; of two at the same place both do, in
    /// the order in which they came, if the first is empty.
    pub fn replace(&mut self, piece: Span, new: impl AsRef<[u8]>) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(new.as_ref());
        let end = self.bytes.len() as u32;
        self.pieces.push((piece, Span::new(start, end)));
    }

    /// Removes a piece.
    pub fn remove(&mut self, piece: Span) {
        self.replace(piece, b"");
    }

    /// Puts something in front of a byte.
    pub fn insert(&mut self, at: u32, new: impl AsRef<[u8]>) {
        self.replace(Span::new(at, at), new);
    }

    /// Whether nothing is replaced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The new text.
    #[must_use]
    pub fn apply(mut self, source: &[u8]) -> Rewritten {
        self.sort();
        let (mut text, mut map) = (Vec::new(), OffsetMap::new());
        text.reserve(source.len() + self.bytes.len());
        self.copy(source, Span::new(0, u32::MAX), &mut text, &mut map);
        Rewritten { text, map }
    }

    /// Puts the pieces in the order of the text, for [`copy`](Self::copy).
    pub(crate) fn sort(&mut self) {
        self.pieces.sort_by_key(|(old, _)| old.start);
    }

    /// Copies a stretch of the source with what begins in it replaced. No piece reaches over the end of a stretch.
    pub(crate) fn copy(
        &self,
        source: &[u8],
        stretch: Span,
        text: &mut Vec<u8>,
        map: &mut OffsetMap,
    ) {
        let mut at = stretch.start;
        let end = stretch.end.min(source.len() as u32);
        let mut keep = |text: &mut Vec<u8>, from: u32, to: u32| {
            let piece = Span::new(from, to.max(from));
            map.push(from, text.len() as u32, piece.end - piece.start);
            text.extend_from_slice(piece.of(source));
        };
        let first = self.pieces.partition_point(|(old, _)| old.start < at);
        let pieces = self.pieces.get(first..).unwrap_or_default().iter();
        for (old, new) in pieces.take_while(|(old, _)| old.start < stretch.end) {
            if old.start < at {
                continue;
            }
            keep(text, at, old.start.min(end));
            text.extend_from_slice(new.of(&self.bytes));
            at = old.end;
        }
        keep(text, at, end.max(at));
    }
}

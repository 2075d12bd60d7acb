//! The correspondence between the offsets of an old text and of a new one.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A range of bytes that both texts contain.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Piece {
    old: u32,
    new: u32,
    len: u32,
}

/// The correspondence between the bytes of an old text and a new one. The printer builds it while it prints the new text; [`then`](Self::then)
/// combines the maps of two steps. A query takes logarithmic time in the number of pieces.
///
/// ```
/// let mut map = ptx_ir::OffsetMap::new();
/// map.push(0, 0, 10);  // ten bytes stay,
/// map.push(15, 12, 5); // five are replaced by two, and five stay
/// assert_eq!(map.to_new(16), Some(13));
/// assert_eq!(map.to_new(12), None);
/// assert_eq!(map.to_old(13), Some(16));
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct OffsetMap {
    /// The pieces in the order of the new text.
    pieces: Vec<Piece>,
    /// The pieces in the order of the old text; empty if that is the same order.
    by_old: BTreeMap<u32, Piece>,
}

impl OffsetMap {
    /// A map in which no byte of either text has a counterpart.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            pieces: Vec::new(),
            by_old: BTreeMap::new(),
        }
    }

    /// The map of a text of `len` bytes that did not change.
    #[doc(hidden)]
    #[must_use]
    pub fn identity(len: u32) -> Self {
        let mut map = Self::new();
        map.push(0, 0, len);
        map
    }

    /// Adds a range of `len` unchanged bytes, at `old` in the old text and at `new` in the new one. Ranges are added in the order of
    /// the new text. A range that overlaps an earlier one in either text is ignored.
    #[doc(hidden)]
    pub fn push(&mut self, old: u32, new: u32, len: u32) {
        if len == 0 || self.pieces.last().is_some_and(|p| p.new + p.len > new) {
            return;
        }
        let piece = Piece { old, new, len };
        if let Some(last) = self.pieces.last_mut()
            && self.by_old.is_empty()
        {
            if last.old + last.len == old && last.new + last.len == new {
                last.len += len;
                return;
            }
            if old < last.old + last.len {
                self.by_old = self.pieces.iter().map(|p| (p.old, *p)).collect();
            }
        }
        if !self.by_old.is_empty() {
            let previous = self.by_old.range(..old + len).next_back();
            if previous.is_some_and(|(_, p)| p.old + p.len > old) {
                return;
            }
            self.by_old.insert(old, piece);
        }
        self.pieces.push(piece);
    }

    /// The offset in the new text of a byte of the old text; `None` if it was removed.
    #[must_use]
    pub fn to_new(&self, old: u32) -> Option<u32> {
        let piece = if self.by_old.is_empty() {
            let index = self
                .pieces
                .partition_point(|p| p.old <= old)
                .checked_sub(1)?;
            self.pieces.get(index)?
        } else {
            self.by_old.range(..=old).next_back()?.1
        };
        (old - piece.old < piece.len).then(|| piece.new + (old - piece.old))
    }

    /// The offset in the old text of a byte of the new text; `None` if an edit inserted it.
    #[must_use]
    pub fn to_old(&self, new: u32) -> Option<u32> {
        let index = self
            .pieces
            .partition_point(|p| p.new <= new)
            .checked_sub(1)?;
        let piece = self.pieces.get(index)?;
        (new - piece.new < piece.len).then(|| piece.old + (new - piece.new))
    }

    /// The map of this step followed by `second`, whose old text is the new text of this step.
    #[must_use]
    pub fn then(&self, second: &Self) -> Self {
        let mut combined = Self::new();
        for piece in &second.pieces {
            let piece_end = piece.old + piece.len;
            let first = self.pieces.partition_point(|p| p.new + p.len <= piece.old);
            for earlier in self.pieces.get(first..).unwrap_or_default() {
                if earlier.new >= piece_end {
                    break;
                }
                // The common part, in the text between the steps.
                let start = piece.old.max(earlier.new);
                let end = piece_end.min(earlier.new + earlier.len);
                combined.push(
                    earlier.old + (start - earlier.new),
                    piece.new + (start - piece.old),
                    end - start,
                );
            }
        }
        combined
    }

    /// The unchanged ranges in the order of the new text: old offset, new offset, length.
    #[must_use]
    pub fn pieces(&self) -> impl ExactSizeIterator<Item = (u32, u32, u32)> + '_ {
        self.pieces.iter().map(|p| (p.old, p.new, p.len))
    }
}

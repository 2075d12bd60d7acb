//! Interned spellings.
//!
//! A text of the source is stored as its offset there; any other text (made by an edit, or joined
//! over a comment) is copied. Hashes have a random seed: names cannot be crafted to collide.

use alloc::vec::Vec;
use core::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::Span;
use crate::source_text::SourceText;
use crate::text_change::TextChange;

/// A set of byte strings numbered in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    source: SourceText,
    extra: Vec<u8>,
    entries: Vec<Entry>,
    /// Positions in `entries`, by hash.
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

#[derive(Copy, Clone, Debug)]
struct Entry {
    /// The offset in `source`, or the offset in `extra` with the bit `EXTRA`.
    start: u32,
    len: u32,
    hash: u32,
}

impl Entry {
    /// The hash for the table, which uses the upper and the lower bits.
    #[inline]
    const fn spread(hash: u32) -> u64 {
        (hash as u64) << 32 | hash as u64
    }
}

const EXTRA: u32 = 1 << 31;

impl Interner {
    /// An empty set with capacity for some texts, which may point into `source`.
    #[must_use]
    pub fn new(source: SourceText, capacity: usize) -> Self {
        Self {
            source,
            entries: Vec::with_capacity(capacity),
            table: HashTable::with_capacity(capacity),
            ..Self::default()
        }
    }

    /// Removes the texts numbered from `len` on.
    pub fn truncate(&mut self, len: usize) {
        let Self { table, entries, .. } = self;
        for (index, entry) in entries.iter().enumerate().skip(len) {
            let hash = Entry::spread(entry.hash);
            if let Ok(position) = table.find_entry(hash, |i| *i as usize == index) {
                position.remove();
            }
        }
        entries.truncate(len);
    }

    /// Prepares for a change of the source: copies the texts that the change touches and moves later ones. The set has no source
    /// until [`set_source`](Self::set_source) is called.
    pub(crate) fn source_changes(&mut self, change: TextChange) {
        let source = core::mem::take(&mut self.source);
        let replaced = change.replaced();
        for entry in &mut self.entries {
            if entry.start & EXTRA != 0 || entry.start + entry.len <= replaced.start {
                continue;
            }
            if entry.start >= replaced.end {
                entry.start = change.offset(entry.start);
                continue;
            }
            let text = Span::new(entry.start, entry.start + entry.len).of(&source);
            entry.start = self.extra.len() as u32 | EXTRA;
            self.extra.extend_from_slice(text);
        }
    }

    /// Sets the source that texts point into.
    pub(crate) fn set_source(&mut self, source: SourceText) {
        self.source = source;
    }

    /// The number of texts.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The text numbered `index`; empty if there is none.
    #[inline]
    #[must_use]
    pub fn get(&self, index: u32) -> &[u8] {
        match self.entries.get(index as usize) {
            Some(e) => self.text(e),
            None => &[],
        }
    }

    /// The offset in the source of the text numbered `index`; `None` if it is not in the source.
    #[must_use]
    pub fn start(&self, index: u32) -> Option<u32> {
        let start = self.entries.get(index as usize)?.start;
        (start & EXTRA == 0).then_some(start)
    }

    #[inline]
    fn text(&self, e: &Entry) -> &[u8] {
        let (buffer, start) = if e.start & EXTRA == 0 {
            (&*self.source, e.start as usize)
        } else {
            (self.extra.as_slice(), (e.start & !EXTRA) as usize)
        };
        buffer
            .get(start..start + e.len as usize)
            .unwrap_or_default()
    }

    /// The number of `text`, if it is in the set.
    #[must_use]
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        self.find_hashed(self.hash(text), text)
    }

    /// Returns the number of `text`, which is in the source at `start`, and whether it is new. A new text is added.
    #[inline]
    pub fn intern_at(&mut self, text: &[u8], start: u32) -> (u32, bool) {
        self.insert(text, Some(start))
    }

    /// Returns the number of `text`, and whether it is new. A new text is copied.
    pub fn intern(&mut self, text: &[u8]) -> (u32, bool) {
        self.insert(text, None)
    }

    #[inline]
    fn insert(&mut self, text: &[u8], start: Option<u32>) -> (u32, bool) {
        let hash = self.hash(text);
        match self.find_hashed(hash, text) {
            Some(index) => (index, false),
            None => (self.add(text, start, hash), true),
        }
    }

    fn add(&mut self, text: &[u8], start: Option<u32>, hash: u32) -> u32 {
        let start = start.unwrap_or_else(|| {
            let extra_start = self.extra.len() as u32;
            self.extra.extend_from_slice(text);
            extra_start | EXTRA
        });
        let index = self.entries.len() as u32;
        let len = text.len() as u32;
        crate::cow_vec::push(&mut self.entries, Entry { start, len, hash });
        let Self { table, entries, .. } = self;
        table.insert_unique(Entry::spread(hash), index, |i| {
            Entry::spread(entries.get(*i as usize).map_or(0, |e| e.hash))
        });
        index
    }

    #[inline]
    fn hash(&self, text: &[u8]) -> u32 {
        self.hasher.hash_one(text) as u32
    }

    #[inline]
    fn find_hashed(&self, hash: u32, text: &[u8]) -> Option<u32> {
        let index = self.table.find(Entry::spread(hash), |index| {
            self.entries
                .get(*index as usize)
                .is_some_and(|entry| entry.hash == hash && self.text(entry) == text)
        });
        index.copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{Interner, SourceText};
    use alloc::collections::BTreeSet;

    /// Each set has its own seed, so that no list of names has colliding hashes in all of them.
    #[test]
    fn hashes_are_not_predictable() {
        let hashes = (0..16).map(|_| Interner::new(SourceText::default(), 1).hash(b"name"));
        assert!(hashes.collect::<BTreeSet<_>>().len() > 14);
    }

    #[test]
    fn removed_names_are_new_again() {
        let mut names = Interner::new(SourceText::default(), 0);
        for name in [&b"a"[..], b"b", b"c"] {
            names.intern(name);
        }
        names.truncate(1);
        assert_eq!(names.len(), 1);
        assert_eq!(names.find(b"b"), None);
        assert_eq!(names.intern(b"c"), (1, true));
        assert_eq!(names.intern(b"a"), (0, false));
        assert_eq!(names.get(1), b"c");
    }
}

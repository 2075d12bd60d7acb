//! Interned spellings.
//!
//! A text of the source is stored as its offset there; any other text (made by an edit, or joined
//! over a comment) is copied.

use alloc::sync::Arc;
use alloc::vec::Vec;

/// A set of byte strings numbered in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    source: Option<Arc<[u8]>>,
    extra: Vec<u8>,
    entries: Vec<Entry>,
    /// Open addressing over `entries`, position + 1, 0 is free; a power of two long.
    table: Vec<u32>,
}

#[derive(Copy, Clone, Debug)]
struct Entry {
    /// Place in `source`, or `EXTRA` + place in `extra`.
    start: u32,
    len: u32,
    hash: u32,
}

const EXTRA: u32 = 1 << 31;

/// A fast hash of a short text; deterministic, not resistant to collisions made on purpose
/// (the table then degrades, as its probing is bounded only by its size).
#[inline]
fn hash(text: &[u8]) -> u32 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut h = (text.len() as u64).wrapping_mul(K);
    let mut rest = text;
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        h = (h ^ u64::from_le_bytes(*chunk)).wrapping_mul(K);
        h ^= h >> 29;
        rest = tail;
    }
    let mut last = 0u64;
    if let Some((chunk, tail)) = rest.split_first_chunk::<4>() {
        last = u32::from_le_bytes(*chunk) as u64;
        rest = tail;
    }
    for &b in rest {
        last = last << 8 | b as u64;
    }
    h = (h ^ last).wrapping_mul(K);
    (h >> 32) as u32
}

impl Interner {
    /// An empty set with capacity for some texts, which may point into `source`.
    #[must_use]
    pub fn new(source: Option<Arc<[u8]>>, capacity: usize) -> Self {
        Self {
            source,
            entries: Vec::with_capacity(capacity),
            table: alloc::vec![0; (capacity * 2).next_power_of_two()],
            ..Self::default()
        }
    }

    /// How many texts there are.
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

    /// The text numbered `index`; empty where there is none.
    #[inline]
    #[must_use]
    pub fn get(&self, index: u32) -> &[u8] {
        match self.entries.get(index as usize) {
            Some(e) => self.text(e),
            None => &[],
        }
    }

    #[inline]
    fn text(&self, e: &Entry) -> &[u8] {
        let (buffer, start) = if e.start & EXTRA == 0 {
            (self.source.as_deref().unwrap_or_default(), e.start as usize)
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
        if self.table.is_empty() {
            return None;
        }
        let h = hash(text);
        self.probe(text, h).ok()
    }

    /// The number of `text`, which is in the source at `start`; adds it if it is new.
    /// The flag tells whether it was.
    #[inline]
    pub fn intern_at(&mut self, text: &[u8], start: u32) -> (u32, bool) {
        self.insert(text, Some(start))
    }

    /// The number of `text`; copies it if it is new.
    pub fn intern(&mut self, text: &[u8]) -> (u32, bool) {
        self.insert(text, None)
    }

    #[inline]
    fn insert(&mut self, text: &[u8], start: Option<u32>) -> (u32, bool) {
        if (self.entries.len() + 1) * 2 > self.table.len() {
            self.grow();
        }
        let h = hash(text);
        match self.probe(text, h) {
            Ok(index) => (index, false),
            Err(slot) => {
                let start = start.unwrap_or_else(|| {
                    let at = self.extra.len() as u32;
                    self.extra.extend_from_slice(text);
                    at | EXTRA
                });
                let index = self.entries.len() as u32;
                crate::cow_vec::push(
                    &mut self.entries,
                    Entry {
                        start,
                        len: text.len() as u32,
                        hash: h,
                    },
                );
                self.table[slot] = index + 1;
                (index, true)
            }
        }
    }

    /// The number of `text`, or the free slot where it belongs. The table is never full.
    #[inline]
    fn probe(&self, text: &[u8], h: u32) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut slot = h as usize & mask;
        loop {
            match self.table[slot] {
                0 => return Err(slot),
                n => {
                    let e = &self.entries[n as usize - 1];
                    if e.hash == h && self.text(e) == text {
                        return Ok(n - 1);
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(64);
        let mut table = alloc::vec![0u32; size];
        for (i, e) in self.entries.iter().enumerate() {
            let mut slot = e.hash as usize & (size - 1);
            while table[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            table[slot] = i as u32 + 1;
        }
        self.table = table;
    }
}

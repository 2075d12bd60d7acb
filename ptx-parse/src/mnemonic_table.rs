//! The mnemonics of a module, with the properties that the parser needs.

use alloc::vec::Vec;
use ptx_ir::{EntityId, SigId, Signatures};
use ptx_isa::Opcode;

use crate::swar::{before_space, load, low};

/// The properties of a mnemonic that the parser needs.
#[derive(Copy, Clone)]
struct SigFacts {
    /// Whether all of its parts are keywords of PTX.
    known: bool,
    /// Whether it takes lists in parentheses.
    takes_lists: bool,
}

/// The mnemonics of a module.
pub(crate) struct MnemonicTable {
    /// A direct-mapped cache of the mnemonics that were used last, by their text of at most 24 bytes. Its length is a power of two.
    recent: Vec<Entry>,
    /// The properties of each signature.
    facts: Vec<SigFacts>,
}

/// A mnemonic in the cache.
#[derive(Copy, Clone, Default)]
struct Entry {
    words: [u64; 3],
    sig: u32,
}

/// A text of at most 24 bytes, filled up with zeros.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    words: [u64; 3],
    pub(crate) len: u32,
}

impl Key {
    /// The text from `start` up to the next white space or `;`. `None` if it is longer than a key, or near the end of the source.
    #[inline(always)]
    pub(crate) fn read(src: &[u8], start: usize) -> Option<Key> {
        let first = load(src, start)?;
        let word_len = before_space(first);
        if word_len < 8 {
            return Some(Key {
                words: [low(first, word_len), 0, 0],
                len: word_len,
            });
        }
        let second = load(src, start + 8)?;
        let word_len = before_space(second);
        if word_len < 8 {
            return Some(Key {
                words: [first, low(second, word_len), 0],
                len: 8 + word_len,
            });
        }
        let third = load(src, start + 16)?;
        let word_len = before_space(third);
        (word_len < 8).then(|| Key {
            words: [first, second, low(third, word_len)],
            len: 16 + word_len,
        })
    }

    #[inline(always)]
    fn hash(&self) -> u64 {
        let [a, b, c] = self.words;
        let mixed = a ^ b.rotate_left(23) ^ c.rotate_left(41);
        mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56
    }
}

impl MnemonicTable {
    /// Creates a table with a capacity in proportion to a source of `len` bytes, as a short source has few mnemonics.
    pub(crate) fn for_source(len: usize) -> Self {
        let size = (len / 128).next_power_of_two().clamp(16, 256);
        Self {
            recent: vec![Entry::default(); size],
            facts: Vec::with_capacity(len.min(ptx_ir::raw::SHARED_TEXT) / 100),
        }
    }

    #[inline(always)]
    fn slot(&self, key: &Key) -> usize {
        key.hash() as usize & (self.recent.len() - 1)
    }

    /// The mnemonic with this text, if it was used recently.
    #[inline(always)]
    pub(crate) fn find_recent(&self, key: &Key) -> Option<SigId> {
        let entry = &self.recent[self.slot(key)];
        (entry.words == key.words && key.len != 0).then(|| SigId::new(entry.sig))
    }

    /// Adds a mnemonic to the cache.
    pub(crate) fn remember(&mut self, key: &Key, sig: SigId) {
        let slot = self.slot(key);
        self.recent[slot] = Entry {
            words: key.words,
            sig: sig.as_u32(),
        };
    }

    /// Computes the properties of all signatures up to `sig`.
    #[inline]
    pub(crate) fn learn(&mut self, sig: SigId, signatures: &Signatures) {
        while self.facts.len() <= sig.index() {
            self.learn_next(signatures);
        }
    }

    #[cold]
    fn learn_next(&mut self, signatures: &Signatures) {
        let signature = signatures.get(SigId::from_index(self.facts.len()));
        self.facts.push(SigFacts {
            known: signature.is_known(),
            takes_lists: signature.opcode().is_none_or(Opcode::takes_lists),
        });
    }

    /// Whether all parts of the mnemonic are keywords of PTX.
    #[inline]
    pub(crate) fn is_known(&self, sig: SigId) -> bool {
        self.facts.get(sig.index()).is_none_or(|f| f.known)
    }

    /// Whether the instruction takes argument lists in parentheses.
    #[inline]
    pub(crate) fn takes_lists(&self, sig: SigId) -> bool {
        self.facts.get(sig.index()).is_some_and(|f| f.takes_lists)
    }
}

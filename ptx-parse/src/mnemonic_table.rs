//! The mnemonics of a module, as far as the parser has to know them.

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

pub(crate) struct MnemonicTable {
    /// The mnemonics used last, by their text of at most 24 bytes; a power of two long.
    recent: Vec<Entry>,
    /// By signature.
    facts: Vec<SigFacts>,
}

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
    /// The text up to the next whitespace or `;`.
    #[inline(always)]
    pub(crate) fn read(src: &[u8], at: usize) -> Option<Key> {
        let first = load(src, at)?;
        let n = before_space(first);
        if n < 8 {
            return Some(Key {
                words: [low(first, n), 0, 0],
                len: n,
            });
        }
        let second = load(src, at + 8)?;
        let n = before_space(second);
        if n < 8 {
            return Some(Key {
                words: [first, low(second, n), 0],
                len: 8 + n,
            });
        }
        let third = load(src, at + 16)?;
        let n = before_space(third);
        (n < 8).then(|| Key {
            words: [first, second, low(third, n)],
            len: 16 + n,
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
    /// Capacity in proportion to a source: a small one uses few mnemonics.
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

    /// The mnemonic with this text, if it was used lately.
    #[inline(always)]
    pub(crate) fn find_recent(&self, key: &Key) -> Option<SigId> {
        let entry = &self.recent[self.slot(key)];
        (entry.words == key.words && key.len != 0).then(|| SigId::new(entry.sig))
    }

    pub(crate) fn remember(&mut self, key: &Key, sig: SigId) {
        let slot = self.slot(key);
        self.recent[slot] = Entry {
            words: key.words,
            sig: sig.as_u32(),
        };
    }

    /// Learns all signatures up to `sig`.
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

//! Mnemonics: found again by their bytes, read and learnt at their first use.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::lex::scan::{self, class, is};
use ptx_ir::{Code, Diagnostic, EntityId, SigId, Span};
use ptx_isa::Opcode;

use crate::parser::{ParseResult, Parser, SigFacts};
use crate::swar::{before_blank, load, low};

/// The mnemonics used last, by their text of at most 24 bytes.
pub(crate) struct MnemonicCache {
    /// A power of two long, at most 256.
    entries: Vec<Entry>,
}

#[derive(Copy, Clone, Default)]
struct Entry {
    words: [u64; 3],
    sig: u32,
}

impl MnemonicCache {
    /// Room in proportion to a source: a small one uses few mnemonics.
    pub(crate) fn for_source(len: usize) -> Self {
        let size = (len / 128).next_power_of_two().clamp(16, 256);
        Self {
            entries: alloc::vec![Entry::default(); size],
        }
    }

    #[inline(always)]
    fn slot(&self, key: &Key) -> usize {
        key.hash() as usize & (self.entries.len() - 1)
    }
}

/// A text of at most 24 bytes, filled up with zeros.
#[derive(Copy, Clone, PartialEq, Eq)]
struct Key {
    words: [u64; 3],
    len: u32,
}

impl Key {
    /// The text up to the next blank or `;`.
    #[inline(always)]
    fn read(src: &[u8], at: usize) -> Option<Key> {
        let first = load(src, at)?;
        let n = before_blank(first);
        if n < 8 {
            return Some(Key {
                words: [low(first, n), 0, 0],
                len: n,
            });
        }
        let second = load(src, at + 8)?;
        let n = before_blank(second);
        if n < 8 {
            return Some(Key {
                words: [first, low(second, n), 0],
                len: 8 + n,
            });
        }
        let third = load(src, at + 16)?;
        let n = before_blank(third);
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

impl Parser<'_> {
    /// The mnemonic that begins here, if it was used lately and stands before a blank or `;`.
    #[inline(always)]
    pub(crate) fn known_mnemonic(&mut self) -> Option<SigId> {
        let key = Key::read(self.src, self.pos)?;
        let entry = &self.mnemonics.entries[self.mnemonics.slot(&key)];
        if entry.words != key.words || key.len == 0 {
            return None;
        }
        let sig = SigId::new(entry.sig);
        let end = self.pos + key.len as usize;
        // A dot behind blanks goes on the mnemonic; a comment may hide one.
        self.pos = end;
        self.last = end;
        self.blanks();
        let b = self.peek();
        if b == b'.' || b == b':' {
            self.pos = end - key.len as usize;
            return None;
        }
        Some(sig)
    }

    /// The mnemonic that begins here.
    #[inline(never)]
    pub(crate) fn mnemonic(&mut self) -> ParseResult<SigId> {
        let start = self.pos;
        let key = Key::read(self.src, start);
        let mut end = scan::ident_end(self.src, start);
        while scan::peek(self.src, end) == b'.' && is(scan::peek(self.src, end + 1), class::WORD) {
            end = scan::dot_word_end(self.src, end);
        }
        self.pos = end;
        self.last = end;
        if self.peek() == b'.' {
            let message = String::from("a modifier follows its dot without a blank");
            return Err(self.error(Code::UnexpectedToken, end, end + 1, message));
        }
        let mut sig = self
            .module
            .signatures
            .intern_at(&self.src[start..end], start as u32);
        let mut joined = false;
        if matches!(self.peek(), 0..=b' ' | b'/') {
            self.blanks();
            if self.peek() == b'.' {
                sig = self.spaced_mnemonic(start, end)?;
                joined = true;
            }
        }
        while self.sig_facts.len() <= sig.index() {
            self.learn(SigId::from_index(self.sig_facts.len()));
        }
        if !self.sig_facts[sig.index()].known {
            self.unknown_words(sig, start);
        } else if let Some(key) = key.filter(|k| !joined && k.len as usize == end - start) {
            let slot = self.mnemonics.slot(&key);
            self.mnemonics.entries[slot] = Entry {
                words: key.words,
                sig: sig.as_u32(),
            };
        }
        Ok(sig)
    }

    /// Whether all of its words are words of PTX.
    #[inline]
    pub(crate) fn is_known(&self, sig: SigId) -> bool {
        self.sig_facts.get(sig.index()).is_none_or(|f| f.known)
    }

    /// Whether the instruction takes argument lists in parentheses.
    #[inline]
    pub(crate) fn takes_lists(&self, sig: SigId) -> bool {
        self.sig_facts.get(sig.index()).is_some_and(|f| f.lists)
    }

    #[cold]
    fn learn(&mut self, sig: SigId) {
        let signature = self.module.signatures.get(sig);
        let lists = signature.opcode().is_none_or(Opcode::takes_lists);
        self.sig_facts.push(SigFacts {
            known: signature.is_known(),
            lists,
        });
    }

    /// A mnemonic with blanks before some of its dots: they are joined. The words of an instruction's
    /// name cannot be set apart, others can.
    #[cold]
    fn spaced_mnemonic(&mut self, start: usize, end: usize) -> ParseResult<SigId> {
        let mut text = self.src[start..end].to_vec();
        let mut apart = None;
        while let Some(word) = self.dot_word() {
            if self.pos > self.last {
                apart.get_or_insert(text.len());
            }
            text.extend_from_slice(word);
            self.take(word.len());
        }
        if self.peek() == b'.' {
            return Err(self.unexpected("a modifier"));
        }
        let sig = self.module.signatures.intern(&text);
        let signature = self.module.signatures.get(sig);
        if let (Some(apart), Some(instruction)) = (apart, signature.instruction()) {
            let mut fixed = signature.words().iter().take(instruction.words().len());
            if fixed.any(|w| w.start as usize >= apart) {
                let name = instruction.name();
                let message = format!("`{name}` is one name and cannot hold a blank");
                let d = Diagnostic::error(Code::SplitName, Span::at(start, self.last), message);
                self.report(d.with_help(format!("write `{name}`")));
            }
        }
        Ok(sig)
    }

    /// Reports the words of a mnemonic that PTX does not know.
    #[cold]
    fn unknown_words(&mut self, sig: SigId, start: usize) {
        let signature = self.module.signatures.get(sig);
        let opcode = signature.opcode_text();
        if signature.opcode().is_none() {
            let end = start + opcode.len();
            let nearest = self
                .suggestions
                .entry((sig, 0))
                .or_insert_with(|| crate::suggest::opcode(opcode));
            let mut d = Diagnostic::error(
                Code::UnknownOpcode,
                Span::at(start, end),
                format!("`{opcode}` is no instruction of PTX"),
            );
            d.severity = self.unknown;
            d.help = nearest.map(|n| format!("did you mean `{n}`?"));
            return self.report_unless_spoiled(start, d);
        }
        if self.is_cascading(start) {
            return;
        }
        let signature_opcode = signature.opcode();
        // What stands behind an unknown word mostly belongs to it.
        let words = signature.words();
        let known_before = |i: usize| i == 0 || words[i - 1].modifier.is_some();
        let unknown = (0..words.len()).filter(|&i| words[i].modifier.is_none() && known_before(i));
        let found: alloc::vec::Vec<_> = unknown
            .map(|i| (words[i], String::from(signature.word_text(words[i]))))
            .collect();
        // Places in the source: words stand there in order, perhaps with blanks between.
        let mut from = start + opcode.len();
        for (word, text) in found {
            let at = self.src[from..]
                .windows(text.len())
                .position(|w| w == text.as_bytes())
                .map_or(start + word.start as usize, |i| from + i);
            from = at + text.len();
            let nearest = self
                .suggestions
                .entry((sig, word.start))
                .or_insert_with(|| crate::suggest::modifier(signature_opcode, &text));
            let mut d = Diagnostic::error(
                Code::UnknownModifier,
                Span::at(at, from),
                format!("`{text}` is no modifier of PTX"),
            );
            d.severity = self.unknown;
            d.help = nearest.map(|n| format!("did you mean `{n}`?"));
            self.report(d);
        }
    }
}

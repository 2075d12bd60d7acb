//! Interned mnemonics: a [`Signature`] for each distinct spelling of an opcode with its modifiers in a module.

use alloc::vec::Vec;
use ptx_isa::{Instruction, Modifier, ModifierClass, Opcode, ScalarType, StateSpace};

use crate::SigId;
use crate::entity::{EntityId, PrimaryMap};
use crate::intern::Interner;
use crate::lex::scan::{dot_word_end, ident_end};
use crate::source_text::SourceText;
use crate::text_change::TextChange;

/// One dotted word of a mnemonic.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Word {
    /// The modifier; `None` for an unknown word.
    pub modifier: Option<Modifier>,
    /// The offset of its dot in the mnemonic.
    pub start: u32,
    /// The offset of its end.
    pub end: u32,
}

#[derive(Copy, Clone, Debug)]
struct Record {
    opcode: Option<Opcode>,
    /// Whether the opcode and all modifiers are known.
    known: bool,
    /// The index of the first word.
    first: u32,
    /// The number of words.
    len: u32,
}

/// All mnemonics of a module.
#[derive(Clone, Debug, Default)]
pub struct Signatures {
    texts: Interner,
    records: PrimaryMap<SigId, Record>,
    words: Vec<Word>,
}

impl Signatures {
    /// An empty table with capacity for some mnemonics, which may point into `source`.
    #[doc(hidden)]
    #[must_use]
    pub fn new(source: SourceText, capacity: usize) -> Self {
        let mut records = PrimaryMap::new();
        records.rows.reserve(capacity);
        Self {
            texts: Interner::new(source, capacity),
            records,
            words: Vec::with_capacity(capacity * 2),
        }
    }

    /// Prepares for a change of the source.
    pub(crate) fn source_changes(&mut self, change: TextChange) {
        self.texts.source_changes(change);
    }

    /// Sets the source that mnemonics point into.
    pub(crate) fn set_source(&mut self, source: SourceText) {
        self.texts.set_source(source);
    }

    /// The signature of the mnemonic `text`, which is in the source at `start`.
    #[doc(hidden)]
    #[inline]
    pub fn intern_at(&mut self, text: &[u8], start: u32) -> SigId {
        let (index, is_new) = self.texts.intern_at(text, start);
        if is_new {
            self.add(text);
        }
        SigId::new(index)
    }

    /// The signature of the mnemonic `text`: opcode and modifiers without whitespace.
    #[doc(hidden)]
    pub fn intern(&mut self, text: &[u8]) -> SigId {
        let (index, is_new) = self.texts.intern(text);
        if is_new {
            self.add(text);
        }
        SigId::new(index)
    }

    #[cold]
    fn add(&mut self, text: &[u8]) {
        let opcode_end = ident_end(text, 0).min(text.len());
        let opcode = Opcode::from_text(&text[..opcode_end]);
        let first = self.words.len() as u32;
        let mut known = opcode.is_some();
        let mut pos = opcode_end;
        while pos < text.len() {
            let end = dot_word_end(text, pos).min(text.len());
            let modifier = Modifier::from_text(&text[pos..end]);
            known &= modifier.is_some();
            self.words.push(Word {
                modifier,
                start: pos as u32,
                end: end as u32,
            });
            pos = end;
        }
        let len = self.words.len() as u32 - first;
        self.records.push(Record {
            opcode,
            known,
            first,
            len,
        });
    }

    /// The number of distinct mnemonics.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are no mnemonics.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// All ids.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = SigId> + use<> {
        (0..self.records.len()).map(SigId::from_index)
    }

    /// The signature `id`.
    #[inline]
    #[must_use]
    pub fn get(&self, id: SigId) -> Signature<'_> {
        let text = self.texts.get(id.as_u32());
        match self.records.get(id) {
            Some(r) => Signature {
                text,
                opcode: r.opcode,
                known: r.known,
                words: self
                    .words
                    .get(r.first as usize..(r.first + r.len) as usize)
                    .unwrap_or_default(),
            },
            None => Signature {
                text,
                opcode: None,
                known: false,
                words: &[],
            },
        }
    }
}

/// A mnemonic: the opcode and its modifiers in the order of the source.
#[derive(Copy, Clone, Debug)]
pub struct Signature<'m> {
    text: &'m [u8],
    opcode: Option<Opcode>,
    known: bool,
    words: &'m [Word],
}

impl<'m> Signature<'m> {
    /// The spelling, without whitespace or comments.
    #[must_use]
    pub fn text(&self) -> &'m str {
        core::str::from_utf8(self.text).unwrap_or_default()
    }

    /// Appends the spelling with the modifiers in the order of the PTX ISA manual, which has the same meaning. A
    /// mnemonic that no instruction has keeps its order.
    pub fn write_canonical(&self, out: &mut Vec<u8>) {
        const MAX_WORDS: usize = 32;
        let mut modifiers = [Modifier::ALL[0]; MAX_WORDS];
        let mut order = [0u16; MAX_WORDS];
        let count = self.words.len();
        if let Some(opcode) = self.opcode
            && self.known
            && count <= MAX_WORDS
        {
            self.copy_modifiers(&mut modifiers);
            if ptx_isa::internals::canonical_order(opcode, &modifiers[..count], &mut order[..count])
            {
                out.extend_from_slice(self.opcode_text().as_bytes());
                for &index in &order[..count] {
                    out.extend_from_slice(modifiers[index as usize].text().as_bytes());
                }
                return;
            }
        }
        out.extend_from_slice(self.text);
    }

    ptx_isa::getters! {
        /// The opcode; `None` if no PTX opcode has this name.
        opcode: Option<Opcode> = opcode;
        /// Whether the opcode and every modifier are known.
        is_known: bool = known;
        /// The modifiers in the order of the source, unknown words included.
        words: &'m [Word] = words;
    }

    /// The instruction that the opcode and the first words name, such as `cp.async.bulk`; `None` for
    /// unknown ones.
    #[must_use]
    pub fn instruction(&self) -> Option<&'static Instruction> {
        let mut words = [Modifier::ALL[0]; 8];
        let count = self.copy_modifiers(&mut words);
        ptx_isa::find_instruction(self.opcode?, &words[..count])
    }

    /// Copies the known modifiers that fit in `out`, and returns their number.
    fn copy_modifiers(&self, out: &mut [Modifier]) -> usize {
        let slots = out.iter_mut().zip(self.modifiers());
        slots.map(|(slot, modifier)| *slot = modifier).count()
    }

    /// The spelling of the opcode.
    #[must_use]
    pub fn opcode_text(&self) -> &'m str {
        let end = ident_end(self.text, 0).min(self.text.len());
        core::str::from_utf8(&self.text[..end]).unwrap_or_default()
    }

    /// The spelling of one of [`words`](Self::words), its dot included.
    #[must_use]
    pub fn word_text(&self, word: Word) -> &'m str {
        let text = self.text.get(word.start as usize..word.end as usize);
        core::str::from_utf8(text.unwrap_or_default()).unwrap_or_default()
    }

    /// The known modifiers in the order of the source.
    pub fn modifiers(&self) -> impl Iterator<Item = Modifier> + use<'m> {
        self.words.iter().filter_map(|w| w.modifier)
    }

    /// Whether the mnemonic contains `modifier`.
    #[must_use]
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers().any(|m| m == modifier)
    }

    /// The modifiers of one class.
    pub fn of_class(&self, class: ModifierClass) -> impl Iterator<Item = Modifier> + use<'m> {
        self.modifiers().filter(move |m| m.class() == class)
    }

    /// The types in order: one for most instructions, `d, a, b, c` for the matrix ones.
    pub fn types(&self) -> impl Iterator<Item = ScalarType> + use<'m> {
        self.modifiers().filter_map(Modifier::scalar_type)
    }

    /// The state spaces in order: destination before source where there are two.
    pub fn state_spaces(&self) -> impl Iterator<Item = StateSpace> + use<'m> {
        self.modifiers().filter_map(Modifier::state_space)
    }

    /// The first state space; `None` means generic addressing, for an instruction that accesses memory.
    #[must_use]
    pub fn state_space(&self) -> Option<StateSpace> {
        self.state_spaces().next()
    }

    /// The number of elements of the accessed vector: 1 without `.v2`, `.v4` or `.v8`.
    pub fn vector_len(&self) -> u8 {
        self.modifiers().find_map(Modifier::vector_len).unwrap_or(1)
    }
}

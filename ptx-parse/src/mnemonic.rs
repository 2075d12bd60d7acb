//! Mnemonics: found again by their bytes, interned at their first use.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::lex::scan::{self, class, is};
use ptx_ir::raw::RawModule;
use ptx_ir::{Code, Diagnostic, SigId, Span, Word};
use ptx_isa::ForeignWord;

use crate::cursor::ParseResult;
use crate::explain::line_end;
use crate::mnemonic_table::Key;
use crate::parser::Parser;
use crate::suggest::{self, Similar};
use crate::unknown_modifier::Choices;
use crate::unknown_opcode::{apart, glued};

impl Parser<'_> {
    /// The mnemonic that begins here, if it was used recently and is followed by whitespace or `;`.
    #[inline(always)]
    pub(crate) fn known_mnemonic(&mut self) -> Option<SigId> {
        let key = Key::read(self.cursor.src, self.cursor.pos)?;
        let sig = self.mnemonics.find_recent(&key)?;
        let end = self.cursor.pos + key.len as usize;
        // A dot after whitespace continues the mnemonic; a comment may hide one.
        self.cursor.pos = end;
        self.cursor.last = end;
        self.cursor.skip_trivia();
        let b = self.cursor.peek();
        if b == b'.' || b == b':' {
            self.cursor.pos = end - key.len as usize;
            return None;
        }
        Some(sig)
    }

    /// The mnemonic that begins here.
    #[inline(never)]
    pub(crate) fn mnemonic(&mut self) -> ParseResult<SigId> {
        let src = self.cursor.src;
        let start = self.cursor.pos;
        let key = Key::read(src, start);
        let mut end = scan::ident_end(src, start);
        while scan::peek(src, end) == b'.' && is(scan::peek(src, end + 1), class::WORD) {
            end = scan::dot_word_end(src, end);
        }
        self.cursor.pos = end;
        self.cursor.last = end;
        if self.cursor.peek() == b'.' {
            return Err(self.cursor.error(
                Code::UnexpectedToken,
                end,
                end + 1,
                "expected a modifier right after this `.`",
            ));
        }
        let signatures = self.out.module.signatures_mut();
        let mut sig = signatures.intern_at(&src[start..end], start as u32);
        let mut joined = false;
        if matches!(self.cursor.peek(), 0..=b' ' | b'/') {
            self.cursor.skip_trivia();
            if self.cursor.peek() == b'.' {
                sig = self.spaced_mnemonic(start, end)?;
                joined = true;
            }
        }
        self.mnemonics.learn(sig, self.out.module.signatures());
        if !self.mnemonics.is_known(sig) {
            self.unknown_keywords(sig, start);
        } else if let Some(key) = key.filter(|k| !joined && k.len as usize == end - start) {
            self.mnemonics.remember(&key, sig);
        }
        Ok(sig)
    }

    /// A mnemonic with whitespace before some of its dots: they are joined. The parts of an instruction's
    /// name cannot be set apart, others can.
    #[cold]
    fn spaced_mnemonic(&mut self, start: usize, end: usize) -> ParseResult<SigId> {
        let mut text = self.cursor.src[start..end].to_vec();
        let mut apart = None;
        while let Some(word) = self.cursor.dot_word() {
            if self.cursor.pos > self.cursor.last {
                apart.get_or_insert(text.len());
            }
            text.extend_from_slice(word);
            self.cursor.advance(word.len());
        }
        if self.cursor.peek() == b'.' {
            return Err(self.cursor.unexpected("a modifier"));
        }
        let sig = self.out.module.signatures_mut().intern(&text);
        let signature = self.out.module.signature(sig);
        if let (Some(apart), Some(instruction)) = (apart, signature.instruction()) {
            let mut fixed = signature.words().iter().take(instruction.words().len());
            if fixed.any(|w| w.start as usize >= apart) {
                let name = instruction.name();
                let found = String::from_utf8_lossy(&self.cursor.src[start..self.cursor.last]);
                let message = format!("expected `{name}` without white space, found `{found}`");
                let span = Span::at(start, self.cursor.last);
                let d = Diagnostic::error(Code::SplitName, span, message);
                self.report(d.with_help(format!("write `{name}`")));
            }
        }
        Ok(sig)
    }

    /// Reports the keywords of a mnemonic that PTX does not know.
    #[cold]
    fn unknown_keywords(&mut self, sig: SigId, start: usize) {
        let signature = self.out.module.signature(sig);
        let opcode = signature.opcode_text().to_owned();
        let Some(known_opcode) = signature.opcode() else {
            return self.unknown_opcode(sig, &opcode, start);
        };
        if self.is_cascading(start) {
            return;
        }
        // What follows an unknown modifier mostly belongs to it.
        let words = signature.words();
        let known_before = |i: usize| i == 0 || words[i - 1].modifier.is_some();
        let unknown: Vec<(Word, String)> = (0..words.len())
            .filter(|&i| words[i].modifier.is_none() && known_before(i))
            .map(|i| (words[i], signature.word_text(words[i]).to_owned()))
            .collect();
        let elements = first_vector(self.cursor.src, start);
        // The modifiers are in the source in this order, perhaps with whitespace between.
        let mut from = start + opcode.len();
        for (word, text) in unknown {
            let at = self.cursor.src[from..]
                .windows(text.len())
                .position(|w| w == text.as_bytes())
                .map_or(start + word.start as usize, |i| from + i);
            from = at + text.len();
            let message = format!("unknown modifier `{text}`; expected a modifier of `{opcode}`");
            let d = Diagnostic::error(Code::UnknownModifier, Span::at(at, from), message);
            let mut d = match glued(&text) {
                Some(length) => apart(d, &text, length),
                None => {
                    let signature = self.out.module.signature(sig);
                    let rest = signature.text().get(..word.start as usize);
                    let choices = self.mnemonics.choices_of((sig, word.start), || {
                        let known = |before: bool| {
                            let words = signature.words().iter();
                            let words = words.filter(|w| (w.start < word.start) == before);
                            words.filter_map(|w| w.modifier).collect::<Vec<_>>()
                        };
                        Choices::of(known_opcode, &known(true), &known(false), &text)
                    });
                    choices.explain(d, rest.unwrap_or_default(), &text, elements)
                }
            };
            d.severity = self.header.unknown;
            self.report(d);
        }
    }
}

/// How many elements the first vector of the statement at `start` has, if it is on the same line.
fn first_vector(src: &[u8], start: usize) -> usize {
    let line = &src[start..line_end(src, start)];
    let vector = memchr::memchr(b'{', line).and_then(|open| {
        let close = memchr::memchr(b'}', line)?;
        line.get(open..close)
    });
    let elements = vector.map(|v| v.split(|b| *b == b',').count());
    elements.unwrap_or(0)
}

/// A misspelled keyword with what to write instead: the word of PTX for one of another language, or the nearest one.
pub(crate) fn correct(d: Diagnostic, found: &str, nearest: Option<Similar<'_>>) -> Diagnostic {
    let foreign = ForeignWord::from_text(found);
    if let Some(help) = foreign.and_then(ForeignWord::help) {
        return d.with_help(help);
    }
    let sole = true;
    let foreign = foreign.and_then(ForeignWord::instead);
    let foreign = foreign.map(|text| Similar { text, sole });
    replace(d, found, foreign.or(nearest))
}

/// A misspelled keyword with the word that is meant.
pub(crate) fn replace(d: Diagnostic, found: &str, meant: Option<Similar<'_>>) -> Diagnostic {
    let span = d.span;
    match meant {
        Some(Similar { text, sole: true }) => {
            let d = d.with_help(suggestion(text)).with_fix(span, text);
            suggest::judged(d, found, text)
        }
        Some(Similar { text, .. }) => d.with_help(suggestion(text)),
        None => d,
    }
}

/// The help of a misspelled keyword.
pub(crate) fn suggestion(nearest: &str) -> String {
    format!("did you mean `{nearest}`?")
}

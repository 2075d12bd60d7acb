//! Parses mnemonics. Those that were used recently are found by their bytes, the others are interned.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::raw::RawModule;
use ptx_ir::raw::scan::{self, Trivia, class, is};
use ptx_ir::{Code, Diagnostic, SigId, Span, Word};

use crate::cursor::ParseResult;
use crate::mnemonic_table::Key;
use crate::parser::Parser;
use crate::record::{Cause, Record, split_statement};
use crate::statement_extent::{assignment, is_opcode};

impl Parser<'_> {
    /// Takes the mnemonic at the cursor, if it was used recently and white space or `;` follows it.
    #[inline(always)]
    pub(crate) fn known_mnemonic(&mut self) -> Option<SigId> {
        let key = Key::read(self.cursor.src, self.cursor.pos)?;
        let sig = self.mnemonics.find_recent(&key)?;
        let end = self.cursor.pos + key.len as usize;
        // A dot after whitespace continues the mnemonic; a comment may hide one.
        self.cursor.pos = end;
        self.cursor.last = end;
        self.cursor.skip_trivia();
        let byte = self.cursor.peek();
        if byte == b'.' || byte == b':' {
            self.cursor.pos = end - key.len as usize;
            return None;
        }
        Some(sig)
    }

    /// Takes the mnemonic at the cursor.
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
        let mut has_gaps = false;
        if matches!(self.cursor.peek(), 0..=b' ' | b'/') {
            self.cursor.skip_trivia();
            if self.cursor.peek() == b'.' {
                sig = self.spaced_mnemonic(start, end)?;
                has_gaps = true;
            }
        }
        self.mnemonics.learn(sig, self.out.module.signatures());
        if !self.mnemonics.is_known(sig) {
            self.unknown_keywords(sig, start);
        } else if let Some(key) = key.filter(|k| !has_gaps && k.len as usize == end - start) {
            self.mnemonics.remember(&key, sig);
        }
        Ok(sig)
    }

    /// Takes the rest of a mnemonic with white space before some of its dots, and joins its parts. White space is allowed before
    /// modifiers, but not inside of the name of an instruction.
    #[cold]
    fn spaced_mnemonic(&mut self, start: usize, end: usize) -> ParseResult<SigId> {
        let mut text = self.cursor.src[start..end].to_vec();
        let mut gap = None;
        while let Some(word) = self.cursor.dot_word() {
            if self.cursor.pos > self.cursor.last {
                gap.get_or_insert(text.len());
            }
            text.extend_from_slice(word);
            self.cursor.advance(word.len());
        }
        if self.cursor.peek() == b'.' {
            return Err(self.cursor.unexpected("a modifier"));
        }
        let sig = self.out.module.signatures_mut().intern(&text);
        let signature = self.out.module.signature(sig);
        if let (Some(gap), Some(instruction)) = (gap, signature.instruction()) {
            let mut name_words = signature.words().iter().take(instruction.words().len());
            if name_words.any(|word| word.start as usize >= gap) {
                let name = instruction.name();
                let written = String::from_utf8_lossy(&self.cursor.src[start..self.cursor.last]);
                let message = format!("expected `{name}` without white space, found `{written}`");
                let span = Span::at(start, self.cursor.last);
                let error = Diagnostic::error(Code::SplitName, span, message);
                self.report(error.with_help(format!("write `{name}`")));
            }
        }
        Ok(sig)
    }

    /// Reports unknown keywords of a mnemonic.
    #[cold]
    fn unknown_keywords(&mut self, sig: SigId, start: usize) {
        let signature = self.out.module.signature(sig);
        let opcode = signature.opcode_text().to_owned();
        if signature.opcode().is_none() {
            return self.unknown_opcode(sig, &opcode, start);
        }
        if self.is_cascading(start) {
            return;
        }
        // The word after an unknown modifier mostly belongs to that modifier.
        let words = signature.words();
        let unknown: Vec<(Word, String)> = (0..words.len())
            .filter(|&i| words[i].modifier.is_none())
            .filter(|&i| i == 0 || words[i - 1].modifier.is_some())
            .map(|i| (words[i], signature.word_text(words[i]).to_owned()))
            .collect();
        // The modifiers are in the source in this order, perhaps with white space between them.
        let mut previous_end = start + opcode.len();
        for (word, text) in unknown {
            let offset = self.cursor.src[previous_end..]
                .windows(text.len())
                .position(|window| window == text.as_bytes())
                .map_or(start + word.start as usize, |i| previous_end + i);
            previous_end = offset + text.len();
            let message = format!("unknown modifier `{text}`; expected a modifier of `{opcode}`");
            let span = Span::at(offset, previous_end);
            let mut error = Diagnostic::error(Code::UnknownModifier, span, message);
            error.severity = self.header.unknown;
            let cause = Cause::UnknownModifier {
                sig,
                start,
                word: word.start,
            };
            self.report(Record::new(error, cause));
        }
    }

    /// Reports the word at `start`, which is not an opcode, but perhaps a guard or an operand.
    #[cold]
    fn unknown_opcode(&mut self, sig: SigId, opcode: &str, start: usize) {
        if self.is_cascading(start) {
            return;
        }
        let end = start + opcode.len();
        let is_guard = opcode.starts_with('%') && self.is_before_opcode(end);
        let semicolon = self.statement_before(start).filter(|_| {
            !is_guard
                && (opcode.starts_with('%') || self.is_declared(start, end))
                && assignment(self.cursor.src, end).is_none()
        });
        let span = Span::at(start, end);
        let mut record = if is_guard {
            let message = format!("expected `@` before the guard `{opcode}`, found none");
            Record::from(Diagnostic::error(Code::UnexpectedToken, span, message))
                .with_help(format!("write `@{opcode}`"))
                .with_fix(Span::at(start, start), "@")
                .machine_applicable()
        } else if let Some(semicolon) = semicolon {
            self.forget_statement_before(start);
            split_statement(semicolon, opcode).into()
        } else {
            let message = format!("expected an instruction, found unknown opcode `{opcode}`");
            let error = Diagnostic::error(Code::UnknownOpcode, span, message);
            Record::new(error, Cause::UnknownOpcode { sig })
        };
        record.error.severity = self.header.unknown;
        self.report(record);
    }

    /// Whether the next token after `end` is an opcode on the same line.
    fn is_before_opcode(&self, end: usize) -> bool {
        let src = self.cursor.src;
        let mut trivia = Trivia::default();
        let next = scan::skip_trivia(src, end, &mut trivia);
        !trivia.newline
            && scan::starts_ident(src, next)
            && is_opcode(&src[next..scan::ident_end(src, next)])
    }

    /// The offset of the `;` of the statement before `start`, if the `;` is on the same line.
    pub(crate) fn statement_before(&self, start: usize) -> Option<usize> {
        let end = self.out.end_of_previous();
        let gap = self.cursor.src.get(end..start)?;
        let has_semicolon = self.cursor.src.get(end.checked_sub(1)?) == Some(&b';');
        (has_semicolon && !gap.contains(&b'\n') && self.out.in_body()).then_some(end - 1)
    }
}

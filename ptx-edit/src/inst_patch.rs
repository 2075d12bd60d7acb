//! Patches of instructions: an edit replaces tokens of the source and leaves every other byte of the statement unchanged.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::ident_tokens::{Text, Words};
use ptx_ir::raw::{Change, NewText, Patch};
use ptx_ir::{Inst, NameId, Operand, RegId, SigId, Span, StmtId};

use crate::Editor;
use crate::names::denotes;

/// The spans of the parts of an instruction in the source.
pub(crate) struct InstSpans {
    /// The first byte of the statement.
    start: u32,
    guard: Option<GuardSpans>,
    /// The opcode and each modifier.
    mnemonic: Vec<Span>,
    operands: Vec<Span>,
}

struct GuardSpans {
    /// The predicate, with its `!`.
    predicate: Span,
    /// The span from the `@` to the next token or comment.
    with_space: Span,
}

/// A part of an operand that changed.
#[derive(Copy, Clone)]
pub(crate) struct ChangedPart {
    /// The index of the part in the walk over the operand; 0 is the operand itself.
    part: u32,
    /// The token of the part in the source; `None` if the text of the operand is replaced as a whole.
    token: Option<Span>,
}

impl ChangedPart {
    /// The whole operand.
    pub(crate) const WHOLE: Self = Self {
        part: 0,
        token: None,
    };
}

impl InstSpans {
    /// Splits the text of a statement, which begins at `start` in the source.
    fn read(text: &[u8], start: u32) -> Option<Self> {
        let tokens: Vec<Token> = Lexer::fragment(text)
            .filter(|t| !t.kind.is_trivia())
            .collect();
        let word = |i: usize| tokens.get(i).map(|t| t.span.of(text)).unwrap_or_default();
        let mut guard_len = 0;
        let mut guard = None;
        if word(0) == b"@" {
            guard_len = if word(1) == b"!" { 3 } else { 2 };
            let predicate = tokens.get(1)?.span.join(tokens.get(guard_len - 1)?.span);
            let following_text = text.get(predicate.end as usize..)?;
            let spaces = following_text
                .iter()
                .take_while(|b| matches!(b, b' ' | b'\t'));
            let end = predicate.end + spaces.count() as u32;
            guard = Some(GuardSpans {
                predicate: predicate.shifted(start),
                with_space: Span::new(tokens.first()?.span.start, end).shifted(start),
            });
        }
        let unguarded = tokens.get(guard_len..)?;
        let opcode = unguarded.first().filter(|t| t.kind == TokenKind::Ident)?;
        let modifiers = unguarded
            .iter()
            .skip(1)
            .take_while(|t| t.kind == TokenKind::DotWord);
        let mnemonic: Vec<Span> = core::iter::once(opcode)
            .chain(modifiers)
            .map(|t| t.span.shifted(start))
            .collect();
        let operand_tokens = unguarded.get(mnemonic.len()..)?;
        let operands = split_operands(operand_tokens, text)?
            .into_iter()
            .map(|span| span.shifted(start))
            .collect();
        Some(Self {
            start,
            guard,
            mnemonic,
            operands,
        })
    }

    /// The end of operand `index - 1`, or of the mnemonic.
    fn end_before(&self, index: usize) -> u32 {
        index
            .checked_sub(1)
            .and_then(|i| self.operands.get(i))
            .or(self.mnemonic.last())
            .map_or(self.start, |s| s.end)
    }

    /// The span from the opcode to the last modifier.
    fn whole_mnemonic(&self) -> Span {
        match (self.mnemonic.first(), self.mnemonic.last()) {
            (Some(first), Some(last)) => first.join(*last),
            _ => Span::new(self.start, self.start),
        }
    }
}

/// The operands among the tokens after a mnemonic, separated by commas outside brackets; `None` if one is empty.
fn split_operands(tokens: &[Token], text: &[u8]) -> Option<Vec<Span>> {
    let mut operands = Vec::new();
    let mut current: Option<Span> = None;
    let mut depth = 0usize;
    for token in tokens {
        match token.span.of(text) {
            b"(" | b"[" | b"{" | b"<" => depth += 1,
            b")" | b"]" | b"}" | b">" => depth = depth.checked_sub(1)?,
            b"," if depth == 0 => {
                operands.push(current.take()?);
                continue;
            }
            b";" if depth == 0 => break,
            _ => {}
        }
        current = Some(current.map_or(token.span, |c| c.join(token.span)));
    }
    match current {
        Some(last) => operands.push(last),
        None if operands.is_empty() => {}
        None => return None,
    }
    Some(operands)
}

impl Editor<'_> {
    /// The spans of the parts of an instruction in the source; `None` if the statement has to be printed from its record: it
    /// is new, it was rewritten, or its tokens cannot be assigned to its operands. The caller reads the spans before it
    /// changes the record.
    pub(crate) fn inst_spans(&self, stmt: StmtId, inst: Inst) -> Option<InstSpans> {
        let body = self.body();
        let earlier = match body.edits().map(|e| (e.was_read(stmt), e.change(stmt))) {
            None | Some((true, None)) => &[][..],
            Some((true, Some(Change::Patched(patches)))) => patches,
            _ => return None,
        };
        let span = body.source_span(stmt);
        let spans = InstSpans::read(span.of(self.module.source()), span.start)?;
        let is_guard_patched = earlier
            .iter()
            .any(|p| matches!(p.text, NewText::Guard | NewText::Predicate));
        if !is_guard_patched && spans.guard.is_some() != inst.guard().is_some() {
            return None;
        }
        let are_operands_patched = earlier
            .iter()
            .any(|p| matches!(p.text, NewText::Operand { .. } | NewText::OperandsFrom(_)));
        if !are_operands_patched && spans.operands.len() != inst.operands().len() {
            return None;
        }
        let mnemonic = spans.whole_mnemonic();
        let is_mnemonic_patched = earlier
            .iter()
            .any(|p| p.span.start >= mnemonic.start && p.span.end <= mnemonic.end);
        let words = spans.mnemonic.iter().map(|s| s.of(self.module.source()));
        let text = self.module.signature(inst.sig).text().as_bytes();
        (is_mnemonic_patched || words.flatten().eq(text)).then_some(spans)
    }

    /// Records that operand `index` changed, or a part of it.
    pub(crate) fn patch_operand(
        &mut self,
        stmt: StmtId,
        spans: Option<&InstSpans>,
        index: usize,
        changed: ChangedPart,
    ) {
        let Some(spans) = spans else {
            return self.edits().rewrite(stmt);
        };
        let edits = self.edits();
        // Operands that the source does not have are written by another patch.
        if let Some(&span) = spans.operands.get(index) {
            let operand = index as u32;
            let part = changed.part;
            let text = NewText::Operand { operand, part };
            let span = changed.token.unwrap_or(span);
            edits.patch(stmt, Patch { span, text });
        }
    }

    /// Records that the operands with an index in `changed`, and all from `old_len` on, changed. The instruction had `old_len`
    /// operands and has `new_len` now.
    pub(crate) fn patch_operands(
        &mut self,
        stmt: StmtId,
        spans: Option<&InstSpans>,
        changed: &[usize],
        old_len: usize,
        new_len: usize,
    ) {
        let Some(spans) = spans else {
            return self.edits().rewrite(stmt);
        };
        let source_len = spans.operands.len();
        let edits = self.edits();
        if old_len != new_len {
            edits.retain_patches(stmt, |p| !matches!(p.text, NewText::OperandsFrom(_)));
        }
        for index in 0..new_len.min(source_len) {
            if index >= old_len || changed.contains(&index) {
                self.patch_operand(stmt, Some(spans), index, ChangedPart::WHOLE);
            }
        }
        if old_len != new_len && new_len != source_len {
            let kept_len = new_len.min(source_len);
            let span = Span::new(spans.end_before(kept_len), spans.end_before(source_len));
            let text = NewText::OperandsFrom(kept_len as u32);
            self.edits().patch(stmt, Patch { span, text });
        }
    }

    /// Records that the guard changed. The instruction has the new guard already.
    pub(crate) fn patch_guard(&mut self, stmt: StmtId, spans: Option<&InstSpans>) {
        let Some(spans) = spans else {
            return self.edits().rewrite(stmt);
        };
        let is_guarded = self
            .instruction(stmt)
            .is_ok_and(|(_, inst)| inst.guard().is_some());
        let edits = self.edits();
        edits.retain_patches(stmt, |p| {
            !matches!(p.text, NewText::Guard | NewText::Predicate)
        });
        let (span, text) = match (&spans.guard, is_guarded) {
            (Some(guard), true) => (guard.predicate, NewText::Predicate),
            (Some(guard), false) => (guard.with_space, NewText::Guard),
            (None, true) => (Span::new(spans.start, spans.start), NewText::Guard),
            (None, false) => return,
        };
        edits.patch(stmt, Patch { span, text });
    }

    /// Records that the mnemonic changed to that of a signature. Only the words that differ are replaced.
    pub(crate) fn patch_mnemonic(&mut self, stmt: StmtId, spans: Option<&InstSpans>, sig: SigId) {
        let Some(spans) = spans else {
            return self.edits().rewrite(stmt);
        };
        let mut new_mnemonic = Vec::new();
        self.module
            .signature(sig)
            .write_canonical(&mut new_mnemonic);
        let new_words = split_mnemonic(&new_mnemonic);
        let old_words: Vec<&[u8]> = spans
            .mnemonic
            .iter()
            .map(|s| s.of(self.module.source()))
            .collect();
        let prefix_len = old_words
            .iter()
            .zip(&new_words)
            .take_while(|(old, new)| old == new)
            .count();
        let max_suffix_len = old_words.len().min(new_words.len()) - prefix_len;
        let suffix_len = old_words
            .iter()
            .rev()
            .zip(new_words.iter().rev())
            .take(max_suffix_len)
            .take_while(|(old, new)| old == new)
            .count();
        let inserted = new_words
            .get(prefix_len..new_words.len() - suffix_len)
            .unwrap_or_default()
            .concat();
        let mut replaced_spans: Vec<Span> = spans
            .mnemonic
            .get(prefix_len..old_words.len() - suffix_len)
            .unwrap_or_default()
            .to_vec();
        if replaced_spans.is_empty() {
            let insertion_offset = prefix_len
                .checked_sub(1)
                .and_then(|i| spans.mnemonic.get(i))
                .map_or(spans.whole_mnemonic().start, |s| s.end);
            replaced_spans.push(Span::new(insertion_offset, insertion_offset));
        }
        let text = self.intern(&String::from_utf8_lossy(&inserted));
        let empty = self.intern("");
        let mnemonic = spans.whole_mnemonic();
        let edits = self.edits();
        edits.retain_patches(stmt, |p| {
            let is_inside = p.span.start >= mnemonic.start && p.span.end <= mnemonic.end;
            !is_inside || !matches!(p.text, NewText::Text(_))
        });
        for (nth, span) in replaced_spans.into_iter().enumerate() {
            let text = NewText::Text(if nth == 0 { text } else { empty });
            if !span.is_empty() || text != NewText::Text(empty) {
                edits.patch(stmt, Patch { span, text });
            }
        }
    }

    /// The parts of operand `index` that are the register `old`, each with its token in the source where that is certain.
    pub(crate) fn register_tokens(
        &self,
        stmt: StmtId,
        spans: Option<&InstSpans>,
        index: usize,
        operand: Operand,
        old: RegId,
    ) -> Vec<ChangedPart> {
        let body = self.body();
        let parts: Vec<u32> = (0..)
            .zip(body.pool().walk_operand(operand))
            .filter(|(_, part)| *part == Operand::Reg(old))
            .map(|(i, _)| i)
            .collect();
        let tokens = spans
            .and_then(|s| s.operands.get(index))
            .map_or(Vec::new(), |&span| self.spellings(stmt, span, old));
        if parts.is_empty() {
            Vec::new()
        } else if parts.len() == tokens.len() {
            parts
                .into_iter()
                .zip(tokens)
                .map(|(part, token)| ChangedPart {
                    part,
                    token: Some(token),
                })
                .collect()
        } else {
            vec![ChangedPart::WHOLE]
        }
    }

    /// The tokens in a part of a statement that spell a register; none if an edit changed that part already.
    fn spellings(&self, stmt: StmtId, span: Span, register: RegId) -> Vec<Span> {
        let body = self.body();
        let is_patched = body
            .edits()
            .map(|e| e.patches(stmt))
            .unwrap_or_default()
            .iter()
            .any(|p| p.span.start < span.end && span.start < p.span.end);
        let declaration = body
            .registers()
            .get(register)
            .and_then(|r| Some((r.number, body.reg_decls().get(r.decl)?)));
        let Some((number, decl)) = declaration.filter(|_| !is_patched) else {
            return Vec::new();
        };
        let name = self.module.name_bytes(decl.name);
        let text = span.of(self.module.source());
        let member = decl.count.map(|_| number);
        Words::new(text, Text::Other)
            .filter(|w| denotes(w.span.of(text), name, member))
            .map(|w| w.span.shifted(span.start))
            .collect()
    }

    /// Records that argument `index` of a directive with `count` arguments changed to `text`. The directive is printed from
    /// its record unless each of its arguments is one token of the source.
    pub(crate) fn patch_argument(
        &mut self,
        stmt: StmtId,
        index: usize,
        count: usize,
        text: NameId,
    ) {
        let span = self.body().source_span(stmt);
        let change = self.body().edits().and_then(|e| e.change(stmt));
        let has_source = !matches!(change, Some(Change::Rewritten | Change::Removed { .. }));
        match argument(span.of(self.module.source()), index, count).filter(|_| has_source) {
            Some(token) => {
                let span = token.shifted(span.start);
                let text = NewText::Text(text);
                self.edits().patch(stmt, Patch { span, text });
            }
            None => self.edits().rewrite(stmt),
        }
    }
}

/// The span of an argument of a directive, if each of its `count` arguments is one token.
pub(crate) fn argument(text: &[u8], index: usize, count: usize) -> Option<Span> {
    let arguments: Vec<Span> = Lexer::fragment(text)
        .filter(|t| !t.kind.is_trivia())
        .skip(1)
        .map(|t| t.span)
        .filter(|s| !matches!(s.of(text), b"," | b";"))
        .collect();
    arguments
        .get(index)
        .copied()
        .filter(|_| arguments.len() == count)
}

/// Splits a mnemonic into the opcode and the modifiers.
fn split_mnemonic(text: &[u8]) -> Vec<&[u8]> {
    Lexer::fragment(text).map(|t| t.span.of(text)).collect()
}

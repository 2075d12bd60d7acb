//! Patches of instructions: an edit replaces tokens of the source and leaves every other byte of the statement unchanged.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::ident_tokens::{Text, Words};
use ptx_ir::lex::{Lexer, Token, TokenKind};
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
    /// From the `@` to the next token, or to the next comment.
    whole: Span,
}

impl InstSpans {
    /// Splits the text of a statement, which begins at `start` in the source.
    fn read(text: &[u8], start: u32) -> Option<Self> {
        let tokens: Vec<Token> = Lexer::fragment(text)
            .filter(|t| !t.kind.is_trivia())
            .collect();
        let word = |i: usize| tokens.get(i).map(|t| t.span.of(text)).unwrap_or_default();
        let at = |span: Span| span.shifted(start);
        let mut next = 0;
        let mut guard = None;
        if word(0) == b"@" {
            next = if word(1) == b"!" { 3 } else { 2 };
            let predicate = tokens.get(1)?.span.join(tokens.get(next - 1)?.span);
            let rest = text.get(predicate.end as usize..)?;
            let spaces = rest.iter().take_while(|b| matches!(b, b' ' | b'\t'));
            let end = predicate.end + spaces.count() as u32;
            guard = Some(GuardSpans {
                predicate: at(predicate),
                whole: at(Span::new(tokens.first()?.span.start, end)),
            });
        }
        let rest = tokens.get(next..)?;
        let opcode = rest.first().filter(|t| t.kind == TokenKind::Ident)?;
        let modifiers = rest.iter().skip(1);
        let modifiers = modifiers.take_while(|t| t.kind == TokenKind::DotWord);
        let mnemonic: Vec<Span> = core::iter::once(opcode)
            .chain(modifiers)
            .map(|t| at(t.span))
            .collect();
        let rest = rest.get(mnemonic.len()..)?;
        Some(Self {
            start,
            guard,
            mnemonic,
            operands: operands(rest, text)?.into_iter().map(at).collect(),
        })
    }

    /// The end of operand `index - 1`, or of the mnemonic.
    fn end_before(&self, index: usize) -> u32 {
        let before = index.checked_sub(1).and_then(|i| self.operands.get(i));
        let before = before.or(self.mnemonic.last());
        before.map_or(self.start, |s| s.end)
    }

    /// From the opcode to the last modifier.
    fn whole_mnemonic(&self) -> Span {
        match (self.mnemonic.first(), self.mnemonic.last()) {
            (Some(first), Some(last)) => first.join(*last),
            _ => Span::new(self.start, self.start),
        }
    }
}

/// The operands among the tokens after a mnemonic, separated by commas outside brackets; `None` where one is empty.
fn operands(tokens: &[Token], text: &[u8]) -> Option<Vec<Span>> {
    let mut all = Vec::new();
    let mut current: Option<Span> = None;
    let mut depth = 0usize;
    for token in tokens {
        match token.span.of(text) {
            b"(" | b"[" | b"{" | b"<" => depth += 1,
            b")" | b"]" | b"}" | b">" => depth = depth.checked_sub(1)?,
            b"," if depth == 0 => {
                all.push(current.take()?);
                continue;
            }
            b";" if depth == 0 => break,
            _ => {}
        }
        current = Some(current.map_or(token.span, |c| c.join(token.span)));
    }
    match current {
        Some(last) => all.push(last),
        None if all.is_empty() => {}
        None => return None,
    }
    Some(all)
}

impl Editor<'_> {
    /// The spans of the parts of an instruction in the source; `None` if the statement has to be printed from its record: it is
    /// new, it was rewritten, or its tokens cannot be assigned to its operands. Asked before the record changes.
    pub(crate) fn inst_spans(&self, stmt: StmtId, inst: Inst) -> Option<InstSpans> {
        let body = self.body();
        let earlier = match body.edits().map(|e| (e.was_read(stmt), e.change(stmt))) {
            None | Some((true, None)) => &[][..],
            Some((true, Some(Change::Patched(patches)))) => patches,
            _ => return None,
        };
        let span = body.source_span(stmt);
        let spans = InstSpans::read(span.of(self.module.source()), span.start)?;
        let any = |wanted: fn(&Patch) -> bool| earlier.iter().any(wanted);
        let guard = any(|p| matches!(p.text, NewText::Guard | NewText::Predicate));
        if !guard && spans.guard.is_some() != inst.guard().is_some() {
            return None;
        }
        let operands =
            any(|p| matches!(p.text, NewText::Operand { .. } | NewText::OperandsFrom(_)));
        if !operands && spans.operands.len() != inst.operands().len() {
            return None;
        }
        let whole = spans.whole_mnemonic();
        let edited = earlier
            .iter()
            .any(|p| p.span.start >= whole.start && p.span.end <= whole.end);
        let words = spans.mnemonic.iter().map(|s| s.of(self.module.source()));
        let text = self.module.signature(inst.sig).text().as_bytes();
        (edited || words.flatten().eq(text)).then_some(spans)
    }

    /// Records that operand `index` changed, or a `part` of it.
    pub(crate) fn patch_operand(
        &mut self,
        stmt: StmtId,
        spans: Option<&InstSpans>,
        index: usize,
        part: (u32, Option<Span>),
    ) {
        let Some(spans) = spans else {
            return self.edits().rewrite(stmt);
        };
        let edits = self.edits();
        // Operands that the source does not have are written by another patch.
        if let Some(&span) = spans.operands.get(index) {
            let operand = index as u32;
            let (part, word) = part;
            let text = NewText::Operand { operand, part };
            let span = word.unwrap_or(span);
            edits.patch(stmt, Patch { span, text });
        }
    }

    /// Records that operands changed: those with an index in `changed`, and from `old_len` on all.
    pub(crate) fn patch_operands(
        &mut self,
        stmt: StmtId,
        spans: Option<&InstSpans>,
        changed: &[usize],
        (old_len, new_len): (usize, usize),
    ) {
        let Some(spans) = spans else {
            return self.edits().rewrite(stmt);
        };
        let read = spans.operands.len();
        let edits = self.edits();
        if old_len != new_len {
            edits.retain_patches(stmt, |p| !matches!(p.text, NewText::OperandsFrom(_)));
        }
        for index in 0..new_len.min(read) {
            if index >= old_len || changed.contains(&index) {
                self.patch_operand(stmt, Some(spans), index, (0, None));
            }
        }
        if old_len != new_len && new_len != read {
            let kept = new_len.min(read);
            let span = Span::new(spans.end_before(kept), spans.end_before(read));
            let text = NewText::OperandsFrom(kept as u32);
            self.edits().patch(stmt, Patch { span, text });
        }
    }

    /// Records that the guard changed; its record is the new one.
    pub(crate) fn patch_guard(&mut self, stmt: StmtId, spans: Option<&InstSpans>) {
        let Some(spans) = spans else {
            return self.edits().rewrite(stmt);
        };
        let inst = self.instruction(stmt);
        let guarded = inst.is_ok_and(|(_, inst)| inst.guard().is_some());
        let edits = self.edits();
        edits.retain_patches(stmt, |p| {
            !matches!(p.text, NewText::Guard | NewText::Predicate)
        });
        let (span, text) = match (&spans.guard, guarded) {
            (Some(guard), true) => (guard.predicate, NewText::Predicate),
            (Some(guard), false) => (guard.whole, NewText::Guard),
            (None, true) => (Span::new(spans.start, spans.start), NewText::Guard),
            (None, false) => return,
        };
        edits.patch(stmt, Patch { span, text });
    }

    /// Records that the mnemonic is that of a signature now: replaces the modifiers that differ.
    pub(crate) fn patch_mnemonic(&mut self, stmt: StmtId, spans: Option<&InstSpans>, sig: SigId) {
        let Some(spans) = spans else {
            return self.edits().rewrite(stmt);
        };
        let mut new = Vec::new();
        self.module.signature(sig).write_canonical(&mut new);
        let new = split_mnemonic(&new);
        let old: Vec<&[u8]> = spans
            .mnemonic
            .iter()
            .map(|s| s.of(self.module.source()))
            .collect();
        let same = |(a, b): &(&&[u8], &&[u8])| a == b;
        let head = old.iter().zip(&new).take_while(same).count();
        let most = old.len().min(new.len()) - head;
        let backward = old.iter().rev().zip(new.iter().rev());
        let tail = backward.take(most).take_while(same).count();
        let inserted = new.get(head..new.len() - tail).unwrap_or_default().concat();
        let replaced = spans.mnemonic.get(head..old.len() - tail);
        let mut replaced: Vec<Span> = replaced.unwrap_or_default().to_vec();
        if replaced.is_empty() {
            let before = head.checked_sub(1).and_then(|i| spans.mnemonic.get(i));
            let at = before.map_or(spans.whole_mnemonic().start, |s| s.end);
            replaced.push(Span::new(at, at));
        }
        let text = self.intern(&String::from_utf8_lossy(&inserted));
        let empty = self.intern("");
        let whole = spans.whole_mnemonic();
        let edits = self.edits();
        edits.retain_patches(stmt, |p| {
            let inside = p.span.start >= whole.start && p.span.end <= whole.end;
            !inside || !matches!(p.text, NewText::Text(_))
        });
        for (nth, span) in replaced.into_iter().enumerate() {
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
        (index, operand): (usize, Operand),
        old: RegId,
    ) -> Vec<(u32, Option<Span>)> {
        let body = self.body();
        let mut parts = Vec::new();
        parts.extend(body.pool().walk_operand(operand));
        let parts: Vec<u32> = (0..)
            .zip(parts)
            .filter(|(_, o)| *o == Operand::Reg(old))
            .map(|(i, _)| i)
            .collect();
        let span = spans.and_then(|s| s.operands.get(index)).copied();
        let tokens = span.map_or(Vec::new(), |span| self.tokens_of(stmt, span, old));
        match parts.len() == tokens.len() {
            true => parts
                .into_iter()
                .zip(tokens.into_iter().map(Some))
                .collect(),
            false if parts.is_empty() => Vec::new(),
            false => vec![(0, None)],
        }
    }

    /// The tokens in a part of a statement that spell a register; none where an edit replaced one of them.
    fn tokens_of(&self, stmt: StmtId, span: Span, register: RegId) -> Vec<Span> {
        let body = self.body();
        let earlier = body.edits().map(|e| e.patches(stmt));
        let mut earlier = earlier.unwrap_or_default().iter();
        let inside = |p: &Patch| p.span.start < span.end && span.start < p.span.end;
        let record = body.registers().get(register);
        let decl = record.and_then(|r| Some((r.number, body.reg_decls().get(r.decl)?)));
        let Some((number, decl)) = decl.filter(|_| !earlier.any(inside)) else {
            return Vec::new();
        };
        let name = self.module.name_bytes(decl.name);
        let text = span.of(self.module.source());
        let member = decl.count.map(|_| number);
        let is_it = |word: &[u8]| denotes(word, name, member);
        Words::new(text, Text::Other)
            .filter(|w| is_it(w.span.of(text)))
            .map(|w| w.span.shifted(span.start))
            .collect()
    }

    /// Gives an argument of a directive another text, if the source writes each argument as one token.
    pub(crate) fn patch_argument(
        &mut self,
        stmt: StmtId,
        index: usize,
        count: usize,
        text: NameId,
    ) {
        let span = self.body().source_span(stmt);
        let changed = self.body().edits().and_then(|e| e.change(stmt));
        let patched = !matches!(changed, Some(Change::Rewritten | Change::Removed { .. }));
        match argument(span.of(self.module.source()), index, count).filter(|_| patched) {
            Some(at) => {
                let span = at.shifted(span.start);
                let text = NewText::Text(text);
                self.edits().patch(stmt, Patch { span, text });
            }
            None => self.edits().rewrite(stmt),
        }
    }
}

/// The span of an argument of a directive, if each of its `count` arguments is one token.
pub(crate) fn argument(text: &[u8], index: usize, count: usize) -> Option<Span> {
    let tokens = Lexer::fragment(text).filter(|t| !t.kind.is_trivia());
    let arguments: Vec<Span> = tokens
        .skip(1)
        .map(|t| t.span)
        .filter(|s| !matches!(s.of(text), b"," | b";"))
        .collect();
    arguments
        .get(index)
        .copied()
        .filter(|_| arguments.len() == count)
}

/// A mnemonic as opcode and modifiers.
fn split_mnemonic(text: &[u8]) -> Vec<&[u8]> {
    Lexer::fragment(text).map(|t| t.span.of(text)).collect()
}

//! The place of a missing bracket if there are several ones.

use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_isa::{Modifier, Opcode, find_instruction, operand_count};

/// A statement, as far as its brackets matter.
pub(crate) struct Statement<'s> {
    src: &'s [u8],
    start: usize,
    tokens: Vec<Token>,
}

impl<'s> Statement<'s> {
    pub(crate) fn new(src: &'s [u8], start: usize, end: usize) -> Self {
        let text = &src[start..end];
        let tokens = Lexer::fragment(text).filter(|t| !t.kind.is_trivia());
        Self {
            src,
            start,
            tokens: tokens.collect(),
        }
    }

    fn text(&self, token: &Token) -> &'s [u8] {
        token.span.of(&self.src[self.start..])
    }

    fn starts_at(&self, token: &Token) -> usize {
        self.start + token.span.start as usize
    }

    fn ends_at(&self, token: &Token) -> usize {
        self.start + token.span.end as usize
    }

    /// The place where the bracket at `open` is closed: before a comma in it, or at the end of the statement.
    pub(crate) fn close(&self, open: usize) -> Option<usize> {
        let first = self.tokens.iter().position(|t| self.starts_at(t) == open)?;
        let mark = self.text(self.tokens.get(first)?);
        let mut depth = 0usize;
        let mut places = Vec::new();
        for pair in self.tokens.get(first + 1..)?.windows(2) {
            let [last, next] = pair else { continue };
            depth = after(depth, self.text(last));
            if depth == 0 && matches!(self.text(next), b"," | b";") {
                places.push(self.ends_at(last));
            }
        }
        let last = self.tokens.last()?;
        if after(depth, self.text(last)) == 0 && self.text(last) != b";" {
            places.push(self.ends_at(last));
        }
        if mark == b"(" {
            return self.close_list(first, &places);
        }
        let fits = |place: &usize| self.fits(*place, closing(mark));
        places.iter().rev().copied().find(fits)
    }

    /// The results of a call are one operand in parentheses before others; a call through a register ends with a prototype.
    fn close_list(&self, first: usize, places: &[usize]) -> Option<usize> {
        let preceding = self.tokens.get(..first)?;
        let results = !preceding.iter().any(|t| self.text(t) == b",");
        let indirect = preceding.iter().any(|t| self.text(t).starts_with(b"%"));
        match (results, indirect, places) {
            (true, _, [first, ..]) => Some(*first),
            (false, true, [.., arguments, _]) => Some(*arguments),
            (false, false, [.., last]) => Some(*last),
            _ => None,
        }
    }

    /// The place where the bracket at `close` is opened: the beginning of an operand before it.
    pub(crate) fn open(&self, close: usize, mark: &'static [u8]) -> Option<usize> {
        let last = self
            .tokens
            .iter()
            .position(|t| self.starts_at(t) == close)?;
        let mut depth = 0usize;
        let mut places = Vec::new();
        let mut lists = 0;
        for pair in self.tokens.get(..last)?.windows(2) {
            let [before, next] = pair else { continue };
            depth = after(depth, self.text(before));
            lists += usize::from(self.text(before) == b")");
            let begins = self.text(before) == b"," || is_mnemonic(before, self.text(before));
            if depth == 0 && begins && !is_mnemonic(next, self.text(next)) {
                places.push(self.starts_at(next));
            }
        }
        if mark == b"(" {
            // The function comes before its arguments, and the results before the function.
            return places.get(lists + 1).copied();
        }
        let fits = |place: &usize| self.fits(*place, mark);
        places.iter().rev().copied().find(fits)
    }

    /// Whether the instruction has as many operands as it takes after a mark is added.
    fn fits(&self, place: usize, mark: &[u8]) -> bool {
        let mut words = self
            .tokens
            .iter()
            .map(|t| self.text(t))
            .skip_while(|t| Opcode::from_text(t).is_none());
        let Some(opcode) = words.next().and_then(Opcode::from_text) else {
            return false;
        };
        let modifiers = words.map_while(Modifier::from_text);
        let modifiers: Vec<Modifier> = modifiers.collect();
        let (mut depth, mut count) = (0usize, 1);
        let mut added = false;
        for token in &self.tokens {
            if !added && self.starts_at(token) >= place {
                added = true;
                depth = after(depth, mark);
            }
            let text = self.text(token);
            depth = after(depth, text);
            count += usize::from(text == b"," && depth == 0);
        }
        let instruction = find_instruction(opcode, &modifiers);
        let choices = instruction.and_then(|i| modifiers.get(i.words().len()..));
        let mut forms = instruction.map_or(&[][..], |i| i.forms()).iter();
        forms.any(|form| {
            let (least, most) = operand_count(form);
            let takes = choices.is_some_and(|r| form.match_lenient(r).is_some());
            takes && (least..=most).contains(&count)
        })
    }
}

fn is_mnemonic(token: &Token, text: &[u8]) -> bool {
    token.kind == TokenKind::DotWord || Opcode::from_text(text).is_some()
}

/// The depth after a token.
fn after(depth: usize, text: &[u8]) -> usize {
    match text {
        b"(" | b"[" | b"{" => depth + 1,
        b")" | b"]" | b"}" => depth.saturating_sub(1),
        _ => depth,
    }
}

fn closing(mark: &[u8]) -> &'static [u8] {
    match mark {
        b"[" => b"]",
        _ => b"}",
    }
}

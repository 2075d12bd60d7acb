//! The place of a missing bracket, if there are several possible places.

use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_isa::internals::operand_count;
use ptx_isa::{Modifier, Opcode, find_instruction};

/// The tokens of a statement with a missing bracket.
pub(crate) struct Statement<'s> {
    src: &'s [u8],
    start: usize,
    tokens: Vec<Token>,
}

impl<'s> Statement<'s> {
    pub(crate) fn new(src: &'s [u8], start: usize, end: usize) -> Self {
        Self {
            src,
            start,
            tokens: Lexer::fragment(&src[start..end])
                .filter(|t| !t.kind.is_trivia())
                .collect(),
        }
    }

    fn text(&self, token: &Token) -> &'s [u8] {
        token.span.of(&self.src[self.start..])
    }

    fn start_of(&self, token: &Token) -> usize {
        self.start + token.span.start as usize
    }

    fn end_of(&self, token: &Token) -> usize {
        self.start + token.span.end as usize
    }

    /// The place for the bracket that closes the one at `open`: before a comma in it, or at the end of the statement.
    pub(crate) fn closing_place(&self, open: usize) -> Option<usize> {
        let first = self.tokens.iter().position(|t| self.start_of(t) == open)?;
        let mark = self.text(self.tokens.get(first)?);
        let mut depth = 0usize;
        let mut places = Vec::new();
        for pair in self.tokens.get(first + 1..)?.windows(2) {
            let [token, next_token] = pair else { continue };
            depth = depth_after(depth, self.text(token));
            if depth == 0 && matches!(self.text(next_token), b"," | b";") {
                places.push(self.end_of(token));
            }
        }
        let last = self.tokens.last()?;
        if depth_after(depth, self.text(last)) == 0 && self.text(last) != b";" {
            places.push(self.end_of(last));
        }
        if mark == b"(" {
            return self.list_end(first, &places);
        }
        places
            .into_iter()
            .rev()
            .find(|place| self.fits(*place, closing(mark)))
    }

    /// The end of the list whose `(` is the token `first`, among the possible places. The results of a call are one operand in
    /// parentheses before the other operands. A call through a register ends with a prototype.
    fn list_end(&self, first: usize, places: &[usize]) -> Option<usize> {
        let preceding = self.tokens.get(..first)?;
        let is_result_list = !preceding.iter().any(|t| self.text(t) == b",");
        let is_indirect = preceding.iter().any(|t| self.text(t).starts_with(b"%"));
        match (is_result_list, is_indirect, places) {
            (true, _, [first, ..]) => Some(*first),
            (false, true, [.., arguments, _]) => Some(*arguments),
            (false, false, [.., last]) => Some(*last),
            _ => None,
        }
    }

    /// The place for the bracket `mark` that opens the one at `close`: the beginning of an operand before it.
    pub(crate) fn opening_place(&self, close: usize, mark: &'static [u8]) -> Option<usize> {
        let last = self.tokens.iter().position(|t| self.start_of(t) == close)?;
        let mut depth = 0usize;
        let mut places = Vec::new();
        let mut list_count = 0;
        for pair in self.tokens.get(..last)?.windows(2) {
            let [token, next_token] = pair else { continue };
            depth = depth_after(depth, self.text(token));
            list_count += usize::from(self.text(token) == b")");
            let ends_operand = self.text(token) == b"," || is_mnemonic(token, self.text(token));
            if depth == 0 && ends_operand && !is_mnemonic(next_token, self.text(next_token)) {
                places.push(self.start_of(next_token));
            }
        }
        if mark == b"(" {
            // The function comes before its arguments, and the results before the function.
            return places.get(list_count + 1).copied();
        }
        places
            .into_iter()
            .rev()
            .find(|place| self.fits(*place, mark))
    }

    /// Whether the instruction has as many operands as a form takes if `mark` is added at `place`.
    fn fits(&self, place: usize, mark: &[u8]) -> bool {
        let mut words = self
            .tokens
            .iter()
            .map(|t| self.text(t))
            .skip_while(|t| Opcode::from_text(t).is_none());
        let Some(opcode) = words.next().and_then(Opcode::from_text) else {
            return false;
        };
        let modifiers: Vec<Modifier> = words.map_while(Modifier::from_text).collect();
        let (mut depth, mut count) = (0usize, 1);
        let mut is_added = false;
        for token in &self.tokens {
            if !is_added && self.start_of(token) >= place {
                is_added = true;
                depth = depth_after(depth, mark);
            }
            let text = self.text(token);
            depth = depth_after(depth, text);
            count += usize::from(text == b"," && depth == 0);
        }
        let instruction = find_instruction(opcode, &modifiers);
        let choices = instruction.and_then(|i| modifiers.get(i.words().len()..));
        let forms = instruction.map_or(&[][..], |i| i.forms());
        forms.iter().any(|form| {
            let (least, most) = operand_count(form);
            let accepts_modifiers = choices.is_some_and(|c| form.match_lenient(c).is_some());
            accepts_modifiers && (least..=most).contains(&count)
        })
    }
}

fn is_mnemonic(token: &Token, text: &[u8]) -> bool {
    token.kind == TokenKind::DotWord || Opcode::from_text(text).is_some()
}

/// The number of open brackets after a token.
fn depth_after(depth: usize, text: &[u8]) -> usize {
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

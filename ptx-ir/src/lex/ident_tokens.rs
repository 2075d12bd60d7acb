//! The words of a statement that can be names.

use core::iter::Peekable;

use super::{Lexer, Token, TokenKind};
use crate::Span;

/// The kind of a text.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Text {
    /// An instruction: its opcode is not a name.
    Instruction,
    /// The head of a function.
    Head,
    /// Anything else: a declaration, a directive, a label. `generic(x)` is an operator there, whatever has that name.
    Other,
}

/// A word that can be a name.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Word {
    /// Its span, from the start of the text.
    pub span: Span,
    /// The number of parentheses that are open around the word.
    pub depth: usize,
}

/// The words of a text that can be names, in order: those of a declaration or use. Words with a dot are not names.
///
/// ```
/// use ptx_ir::lex::ident_tokens::{Text, Words};
/// let text = b"@!p ld.global.b32 r1, [add + 4];";
/// let words = Words::new(text, Text::Instruction).map(|w| w.span.of(text));
/// assert_eq!(words.collect::<Vec<_>>(), [&b"p"[..], b"r1", b"add"]);
/// ```
#[derive(Clone, Debug)]
pub struct Words<'t> {
    text: &'t [u8],
    tokens: Peekable<Solid<'t>>,
    of: Text,
    depth: usize,
    behind_guard: bool,
    opcode: bool,
}

impl<'t> Words<'t> {
    /// The words of one statement or item.
    #[must_use]
    pub fn new(text: &'t [u8], of: Text) -> Self {
        Self {
            text,
            tokens: Solid(Lexer::fragment(text)).peekable(),
            of,
            depth: 0,
            behind_guard: false,
            opcode: false,
        }
    }

    /// In `r<9>`: where the count after the name of the range begins, from the start of the text.
    pub fn range_count(&mut self) -> Option<Span> {
        let text = self.text;
        let open = self.tokens.next_if(|t| t.span.of(text) == b"<")?;
        Some(self.tokens.peek().map_or(open.span, |t| t.span))
    }

    fn is_name(&mut self, word: &[u8], of_guard: bool) -> bool {
        let text = self.text;
        match self.of {
            Text::Instruction => of_guard || core::mem::replace(&mut self.opcode, true),
            Text::Head => true,
            Text::Other => {
                let called = |t: &Token| t.span.of(text) == b"(";
                word != b"generic" || !self.tokens.peek().is_some_and(called)
            }
        }
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        while let Some(token) = self.tokens.next() {
            let (span, word) = (token.span, token.span.of(self.text));
            if token.kind == TokenKind::Ident {
                let of_guard = core::mem::take(&mut self.behind_guard);
                if self.is_name(word, of_guard) {
                    let depth = self.depth;
                    return Some(Word { span, depth });
                }
                continue;
            }
            match word {
                b"(" => self.depth += 1,
                b")" => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.behind_guard = matches!(word, b"@" | b"!");
        }
        None
    }
}

/// Tokens without the trivia between them.
#[derive(Clone, Debug)]
struct Solid<'t>(Lexer<'t>);

impl Iterator for Solid<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.0.find(|t| !t.kind.is_trivia())
    }
}

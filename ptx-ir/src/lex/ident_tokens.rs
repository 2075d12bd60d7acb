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
    /// Any other statement: a declaration, a directive, a label. `generic(x)` is an operator there, even if `generic` is declared.
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
/// use ptx_ir::raw::ident_tokens::{Text, Words};
/// let text = b"@!p ld.global.b32 r1, [add + 4];";
/// let words = Words::new(text, Text::Instruction).map(|w| w.span.of(text));
/// assert_eq!(words.collect::<Vec<_>>(), [&b"p"[..], b"r1", b"add"]);
/// ```
#[derive(Clone, Debug)]
pub struct Words<'t> {
    text: &'t [u8],
    tokens: Peekable<TokensWithoutTrivia<'t>>,
    kind: Text,
    /// The number of open parentheses.
    depth: usize,
    /// The last token was the `@` or `!` of a guard.
    after_guard_sign: bool,
    /// The opcode of the instruction was read.
    has_opcode: bool,
}

impl<'t> Words<'t> {
    /// The words of one statement or item.
    #[must_use]
    pub fn new(text: &'t [u8], kind: Text) -> Self {
        Self {
            text,
            tokens: TokensWithoutTrivia(Lexer::fragment(text)).peekable(),
            kind,
            depth: 0,
            after_guard_sign: false,
            has_opcode: false,
        }
    }

    /// The span of the count after the name of a range such as `r<9>`, from the start of the text.
    pub fn range_count(&mut self) -> Option<Span> {
        let text = self.text;
        let open = self.tokens.next_if(|t| t.span.of(text) == b"<")?;
        Some(self.tokens.peek().map_or(open.span, |t| t.span))
    }

    fn is_name(&mut self, word: &[u8], is_guard: bool) -> bool {
        let text = self.text;
        match self.kind {
            Text::Instruction => is_guard || core::mem::replace(&mut self.has_opcode, true),
            Text::Head => true,
            Text::Other => {
                word != b"generic"
                    || self
                        .tokens
                        .peek()
                        .is_none_or(|next| next.span.of(text) != b"(")
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
                let is_guard = core::mem::take(&mut self.after_guard_sign);
                if self.is_name(word, is_guard) {
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
            self.after_guard_sign = matches!(word, b"@" | b"!");
        }
        None
    }
}

#[derive(Clone, Debug)]
struct TokensWithoutTrivia<'t>(Lexer<'t>);

impl Iterator for TokensWithoutTrivia<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.0.find(|t| !t.kind.is_trivia())
    }
}

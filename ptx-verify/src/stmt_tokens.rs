//! Where the words of a statement stand: it is read again, token by token.

use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Module, Span};

/// The tokens of one statement.
pub(crate) struct Statement<'m> {
    source: &'m [u8],
    whole: Span,
    tokens: Vec<Token>,
}

impl<'m> Statement<'m> {
    /// The statement at `whole`; not looked at, it has no words, and every place in it is the whole.
    pub(crate) fn new(module: &'m Module, whole: Span, look: bool) -> Self {
        let source = module.source();
        let text = if look { whole.of(source) } else { &[] };
        let tokens = Lexer::fragment(text).filter(|t| !t.kind.is_trivia());
        let placed = tokens.map(|t| Token {
            kind: t.kind,
            span: t.span.shifted(whole.start),
        });
        Self {
            source,
            whole,
            tokens: placed.collect(),
        }
    }

    fn text(&self, token: &Token) -> &'m [u8] {
        token.span.of(self.source)
    }

    /// The `nth` token with this text, else the whole statement.
    pub(crate) fn nth(&self, text: &str, nth: usize) -> Span {
        let mut found = self
            .tokens
            .iter()
            .filter(|t| self.text(t) == text.as_bytes());
        found.nth(nth).map_or_else(|| self.first(), |t| t.span)
    }

    /// The first token with this text, else the first of all.
    pub(crate) fn find(&self, text: &str) -> Span {
        self.nth(text, 0)
    }

    /// The first token.
    pub(crate) fn first(&self) -> Span {
        self.tokens.first().map_or(self.whole, |t| t.span)
    }

    /// From the token after the first one with this text to the last one before `,` or `;`, outside of brackets.
    pub(crate) fn after(&self, name: &str, mark: &str) -> Span {
        let mut rest = self
            .tokens
            .iter()
            .skip_while(|t| self.text(t) != name.as_bytes());
        let found = rest.find(|t| self.text(t) == mark.as_bytes());
        let next = rest.next().or(found);
        next.map_or_else(|| self.find(name), |t| t.span)
    }

    /// The first word that begins with a dot and has this beginning.
    pub(crate) fn word(&self, prefix: &str) -> Span {
        let fits = |t: &&Token| {
            t.kind == TokenKind::DotWord && self.text(t).starts_with(prefix.as_bytes())
        };
        let found = self.tokens.iter().find(fits);
        found.map_or_else(|| self.first(), |t| t.span)
    }
}

//! Which whitespace between two tokens is needed.

use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, Token, TokenKind};

/// Whether two tokens would be read differently without whitespace between them. `gap` says whether there is some now.
pub(super) fn needs_space(a: (TokenKind, &[u8]), b: (TokenKind, &[u8]), gap: bool) -> bool {
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%');
    let number = |kind| {
        matches!(
            kind,
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Single | TokenKind::Double
        )
    };
    let ends_word = a.1.last().is_some_and(word);
    match (a.0, b.0) {
        // A dot after a number is part of the number; after a name, as in `k .maxntid`, it would select a component.
        (kind, TokenKind::DotWord) if number(kind) => true,
        (TokenKind::Ident, TokenKind::DotWord) => gap,
        (TokenKind::Punct, TokenKind::Punct) if gap => joins(a.1, b.1),
        // `5 % 3` is not a register.
        _ if a.1 == b"%" || b.1 == b"%" => gap,
        _ => ends_word && b.1.first().is_some_and(word),
    }
}

/// Whether two marks become others when they touch.
fn joins(a: &[u8], b: &[u8]) -> bool {
    let mut both: Vec<u8> = Vec::with_capacity(4);
    both.extend_from_slice(a);
    both.extend_from_slice(b);
    let first: Option<Token> = Lexer::fragment(&both).next();
    first.is_none_or(|t| t.kind != TokenKind::Punct || t.span.len() != a.len())
}

/// Whether a token is malformed: the whitespace around it stays.
pub(super) fn is_malformed(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::BadNumber | TokenKind::BadString | TokenKind::BadLine | TokenKind::Unknown
    )
}

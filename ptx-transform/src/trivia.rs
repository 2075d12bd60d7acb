//! What stands between tokens: without comments, or as short as it can be.

use alloc::vec::Vec;

use ptx_ir::Span;
use ptx_ir::lex::{Lexer, Token, TokenKind};

use crate::Splices;

/// Removes comments, line markers and these pieces of a source; lines that held nothing else go with them, other lines keep
/// their indentation. The pieces are statements, in order.
pub(crate) fn without(source: &[u8], pieces: &[Span], splices: &mut Splices) {
    let mut pieces = pieces.iter().copied().peekable();
    let mut line = Line::default();
    // Blanks that are neither kept nor removed yet.
    let mut blanks = Span::default();
    for token in Lexer::new(source) {
        while pieces.next_if(|p| p.end <= token.span.start).is_some() {}
        let inside = pieces.peek().is_some_and(|p| p.start <= token.span.start);
        match token.kind {
            TokenKind::ByteOrderMark => blanks = Span::new(token.span.end, token.span.end),
            TokenKind::Whitespace if !inside => {
                let mut at = token.span.start;
                for (i, _) in token
                    .span
                    .of(source)
                    .iter()
                    .enumerate()
                    .filter(|(_, b)| **b == b'\n')
                {
                    let newline = token.span.start + i as u32;
                    let end = newline + 1;
                    if line.cut {
                        // The line ends behind its last token; without one it is gone.
                        let carriage =
                            newline > at && source.get(newline as usize - 1) == Some(&b'\r');
                        let last = newline - u32::from(carriage);
                        splices
                            .remove(Span::new(blanks.start, if line.token { last } else { end }));
                    }
                    line = Line::default();
                    at = end;
                    blanks = Span::new(end, end);
                }
                blanks.end = token.span.end;
            }
            kind if inside || kind.is_trivia() => {
                line.cut = true;
                line.between = true;
                blanks.end = token.span.end;
            }
            _ => {
                if line.between {
                    // Before the first token of a line its indentation stays, between two a blank.
                    let indent = match line.token {
                        true => 0,
                        false => indentation(source, blanks),
                    };
                    let cut = Span::new(blanks.start + indent, blanks.end);
                    let apart = line.token
                        || cut.start > 0 && blanks.start > 0 && !starts_line(source, blanks.start);
                    splices.replace(cut, if apart { " " } else { "" });
                }
                line.token = true;
                line.between = false;
                blanks = Span::new(token.span.end, token.span.end);
            }
        }
    }
    if line.cut && blanks.start < blanks.end {
        splices.remove(Span::new(blanks.start, source.len() as u32));
    }
}

#[derive(Default)]
struct Line {
    /// Something was cut out of it.
    cut: bool,
    /// A token stays on it.
    token: bool,
    /// Something was cut out since the last token.
    between: bool,
}

fn starts_line(source: &[u8], at: u32) -> bool {
    let before = (at as usize).checked_sub(1).and_then(|i| source.get(i));
    before.is_none_or(|b| *b == b'\n')
}

/// How many blanks a line begins with.
fn indentation(source: &[u8], blanks: Span) -> u32 {
    let bytes = blanks.of(source).iter();
    bytes.take_while(|b| matches!(b, b' ' | b'\t')).count() as u32
}

/// Whether two tokens would be read differently without a blank between them. `gap` says whether there is one now.
pub(crate) fn needs_blank(a: (TokenKind, &[u8]), b: (TokenKind, &[u8]), gap: bool) -> bool {
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%');
    let number = |kind| {
        matches!(
            kind,
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Single | TokenKind::Double
        )
    };
    let ends_word = a.1.last().is_some_and(word);
    match (a.0, b.0) {
        // A dot behind a number is part of it; behind a name, `k .maxntid`, it would be a part of the thing.
        (kind, TokenKind::DotWord) if number(kind) => true,
        (TokenKind::Ident, TokenKind::DotWord) => gap,
        (TokenKind::Punct, TokenKind::Punct) if gap => joins(a.1, b.1),
        // `5 % 3` is no register.
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

/// Whether a token is none that is understood: what stands around it stays.
pub(crate) fn is_odd(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::BadNumber | TokenKind::BadString | TokenKind::BadLine | TokenKind::Unknown
    )
}

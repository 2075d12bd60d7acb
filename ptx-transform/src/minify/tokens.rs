//! Writes the tokens of a minified module with as little whitespace as possible.

use alloc::borrow::Cow;

use ptx_edit::Names;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::TextPatches;
use ptx_ir::{Rewritten, Span};
use ptx_isa::Directive;

use super::Minifier;

/// A token of the new text.
struct WrittenToken<'s> {
    kind: TokenKind,
    text: Cow<'s, [u8]>,
    /// The end of the token in the source.
    end: u32,
}

/// Replaces the renamed tokens and the whitespace of a module, and removes comments and what the minifier removes.
pub(super) fn write(minifier: &Minifier<'_>, names: &Names) -> Rewritten {
    let source = minifier.module.source();
    let mut patches = TextPatches::new();
    let mut removed = minifier.removed.iter().peekable();
    let mut names = names.refs().iter().peekable();
    let mut new_count = None;
    let mut last: Option<WrittenToken<'_>> = None;
    for token in Lexer::new(source) {
        let span = token.span;
        while removed.next_if(|r| r.end <= span.start).is_some() {}
        if token.kind.is_trivia() || removed.peek().is_some_and(|r| r.start <= span.start) {
            continue;
        }
        let text = span.of(source);
        while names.next_if(|n| n.name.start < span.start).is_some() {}
        let name = names.peek().filter(|n| n.name.start == span.start);
        if let Some(count) = name.and_then(|name| minifier.new_count(name)) {
            new_count = Some(count);
        }
        let new_text = match new_count.take_if(|c| c.span.start == span.start) {
            Some(new_count) => Some(format!("{}", new_count.count).into_bytes()),
            None => name.and_then(|name| minifier.new_text(name, text)),
        };
        let written = WrittenToken {
            kind: token.kind,
            text: new_text.map_or(Cow::Borrowed(text), Cow::Owned),
            end: span.end,
        };
        write_gap(source, last.as_ref(), &written, span.start, &mut patches);
        if *written.text != *text {
            patches.replace(span, &written.text);
        }
        last = Some(written);
    }
    let end = last.map_or(0, |last| last.end);
    patches.remove(Span::new(end, source.len() as u32));
    patches.apply(source)
}

/// Writes the whitespace that is needed before a token that starts at `start` in the source.
fn write_gap(
    source: &[u8],
    last: Option<&WrittenToken<'_>>,
    token: &WrittenToken<'_>,
    start: u32,
    patches: &mut TextPatches,
) {
    let Some(last) = last else {
        return patches.remove(Span::new(0, start));
    };
    let gap = Span::new(last.end, start);
    let old = gap.of(source);
    if is_malformed(last.kind) || is_malformed(token.kind) {
        return;
    }
    // ptxas overruns a buffer if debug information is on one very long line.
    let is_debug = Directive::from_text(&token.text).is_some_and(Directive::is_debug);
    let new: &[u8] = if is_debug && old.contains(&b'\n') {
        b"\n"
    } else if needs_space(last, token, !gap.is_empty()) {
        b" "
    } else {
        b""
    };
    if old != new {
        patches.replace(gap, new);
    }
}

/// Two tokens would be read differently without whitespace between them. `has_gap` says whether there is some in the source.
fn needs_space(left: &WrittenToken<'_>, right: &WrittenToken<'_>, has_gap: bool) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%');
    match (left.kind, right.kind) {
        // A dot after a number is part of the number; after a name, as in `k .maxntid`, it would select a component.
        (
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Single | TokenKind::Double,
            TokenKind::DotWord,
        ) => true,
        (TokenKind::Ident, TokenKind::DotWord) => has_gap,
        (TokenKind::Punct, TokenKind::Punct) if has_gap => joins(&left.text, &right.text),
        // `5 % 3` is not a register.
        _ if *left.text == *b"%" || *right.text == *b"%" => has_gap,
        _ => left.text.last().is_some_and(is_word) && right.text.first().is_some_and(is_word),
    }
}

/// Two punctuation marks become others when they touch.
fn joins(left: &[u8], right: &[u8]) -> bool {
    let text = [left, right].concat();
    let first = Lexer::fragment(&text).next();
    first.is_none_or(|t| t.kind != TokenKind::Punct || t.span.len() != left.len())
}

/// The token is malformed: the whitespace around it stays.
fn is_malformed(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::BadNumber | TokenKind::BadString | TokenKind::BadLine | TokenKind::Unknown
    )
}

//! Comments, with their delimiters.

use alloc::string::String;

use ptx_ir::lex::{Lexer, TokenKind};

/// The lines of a text as comments.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(|line| {
        let plain = line.chars().filter(|c| !c.is_control() || *c == '\t');
        let line = format!("// {}", plain.collect::<String>());
        String::from(line.trim_end())
    })
}

/// A comment of a source.
pub(crate) struct SourceComment<'s> {
    pub(crate) text: &'s str,
    /// Whether a line ends between the start of the part of the source and the comment.
    pub(crate) is_on_new_line: bool,
}

/// The comments in a part of a source.
pub(crate) fn in_source(part: &[u8]) -> impl Iterator<Item = SourceComment<'_>> {
    let mut is_on_new_line = false;
    Lexer::fragment(part).filter_map(move |token| {
        let text = core::str::from_utf8(token.span.of(part)).unwrap_or_default();
        if token.kind == TokenKind::Whitespace {
            is_on_new_line |= text.contains('\n');
            return None;
        }
        token.kind.is_trivia().then_some(SourceComment {
            text: text.trim_end(),
            is_on_new_line,
        })
    })
}

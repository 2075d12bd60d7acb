//! The end and the contents of a statement that cannot be parsed, judged by its tokens alone.

use ptx_ir::Linkage;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::scan::{self, Trivia, class, is};
use ptx_isa::internals::ForeignWord;
use ptx_isa::{Directive, Opcode, StateSpace};

/// The number of bytes of a line that are read, so that the cost stays linear.
const LONGEST_LINE: usize = 4096;

/// The end of the line of `start`, at most [`LONGEST_LINE`] bytes after `start`.
pub(crate) fn line_end(src: &[u8], start: usize) -> usize {
    let limit = src.len().min(start + LONGEST_LINE);
    scan::line_end(&src[..limit], start.min(limit))
}

/// Whether a word is an opcode, which could begin a statement.
pub(crate) fn is_opcode(text: &[u8]) -> bool {
    Opcode::from_text(text).is_some()
}

/// The state space whose declarations a keyword begins.
pub(crate) fn declared_space(word: &[u8]) -> Option<StateSpace> {
    StateSpace::from_text(word).filter(|_| !word.contains(&b':'))
}

/// Whether a declaration begins with this directive.
pub(crate) fn begins_declaration(directive: Directive) -> bool {
    Linkage::from_directive(directive).is_some()
        || declared_space(directive.text().as_bytes()).is_some()
        || matches!(directive, Directive::Align | Directive::Attribute)
}

/// Whether the `}` at `brace` ends a block. It is a part of a malformed statement if a token follows on its line that continues
/// a list of operands and begins no statement.
pub(crate) fn closes_block(src: &[u8], brace: usize) -> bool {
    let following = src.get(brace + 1..).unwrap_or_default();
    let spaces = following
        .iter()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count();
    let next = brace + 1 + spaces;
    match scan::peek(src, next) {
        b',' | b';' | b'|' | b']' | b')' => false,
        b if is(b, class::START | class::DIGIT) => {
            let end = scan::ident_end(src, next);
            is_opcode(&src[next..end]) || scan::peek(src, end) == b':'
        }
        _ => true,
    }
}

/// The end of the statement that begins at `start`: after a `;`, before a brace that does not belong to it, or before a line
/// that begins a new statement. The statement has at least one byte.
pub(crate) fn statement_end(src: &[u8], start: usize) -> usize {
    find_end(src, start).max((start + 1).min(src.len()))
}

fn find_end(src: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    let mut end = start;
    let mut new_line = false;
    // A `{` in the line of a word opens a vector: `ld.v2.f32 {a, b}`.
    let (mut is_one_line, mut has_word) = (true, false);
    for token in Lexer::fragment(&src[start..]) {
        let offset = start + token.span.start as usize;
        let text = token.span.of(&src[start..]);
        if token.kind.is_trivia() {
            new_line |= text.contains(&b'\n') || token.kind == TokenKind::LineMarker;
            is_one_line &= !new_line;
            continue;
        }
        if offset > start {
            if new_line && begins_statement(src, token, text, offset + text.len(), depth) {
                return end;
            }
            let ends_statement = match text {
                b"{" => !(is_one_line && has_word || is_operand_brace(src, start, offset)),
                b"}" => closes_block(src, offset),
                _ => false,
            };
            if depth == 0 && ends_statement {
                return end;
            }
        }
        new_line = false;
        has_word |= text.iter().any(u8::is_ascii_alphanumeric);
        end = start + token.span.end as usize;
        match text {
            b";" => return end,
            b"{" => depth += 1,
            b"}" if offset == start => return end,
            b"}" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    end
}

/// Whether the `{` at `brace` opens a vector or initializer of the statement at `start`, not a block.
fn is_operand_brace(src: &[u8], start: usize, brace: usize) -> bool {
    let previous_byte = src[start..brace]
        .iter()
        .rev()
        .find(|b| !b.is_ascii_whitespace());
    matches!(previous_byte, Some(b',' | b'[' | b'=' | b'|' | b'('))
}

/// Whether a token at the beginning of a line begins a statement. It ends at `end`, in `depth` open braces.
fn begins_statement(src: &[u8], token: Token, text: &[u8], end: usize, depth: usize) -> bool {
    match token.kind {
        TokenKind::Punct => text == b"@" || (text == b"}" && depth > 0),
        TokenKind::DotWord => Directive::from_text(text).is_some(),
        TokenKind::Ident => {
            let next = scan::skip_trivia(src, end, &mut Trivia::default());
            is_opcode(text) || scan::peek(src, next) == b':'
        }
        _ => false,
    }
}

/// Whether no statement of a body can begin with the first token of `text`.
pub(crate) fn is_fragment(text: &[u8]) -> bool {
    let Some(token) = Lexer::fragment(text).next() else {
        return false;
    };
    let first = token.span.of(text);
    match token.kind {
        TokenKind::Ident => !is_opcode(first),
        TokenKind::DotWord => Directive::from_text(first).is_none(),
        TokenKind::Punct => !matches!(first, b"@" | b"{" | b"}"),
        _ => true,
    }
}

pub(crate) fn contains_opcode(text: &[u8]) -> bool {
    Lexer::fragment(text).any(|t| t.kind == TokenKind::Ident && is_opcode(t.span.of(text)))
}

/// Whether `text` contains a keyword of a declaration that is not a modifier of an opcode.
pub(crate) fn contains_declaration(text: &[u8]) -> bool {
    Lexer::fragment(text).any(|t| {
        let previous_byte = (t.span.start as usize).checked_sub(1).map(|i| text[i]);
        t.kind == TokenKind::DotWord
            && previous_byte.is_none_or(|b| is(b, class::WHITESPACE))
            && Directive::from_text(t.span.of(text)).is_some_and(begins_declaration)
    })
}

/// Whether the declaration `text` lacks a name, or a name after its last comma.
pub(crate) fn lacks_name(text: &[u8]) -> bool {
    let mut tokens = Lexer::fragment(text).filter(|t| !t.kind.is_trivia());
    let last = tokens.clone().last();
    last.is_some_and(|t| t.span.of(text) == b",") || !tokens.any(|t| t.kind == TokenKind::Ident)
}

/// Whether the text at `start..end` may be written in the place of a brace: it is a single token, contains a brace, or is next
/// to one. The previous statement ends at `previous_end`.
pub(crate) fn touches_brace(src: &[u8], previous_end: usize, start: usize, end: usize) -> bool {
    let is_brace = |b: u8| matches!(b, b'{' | b'}');
    let text = &src[start..end];
    let contains_brace = Lexer::fragment(text)
        .any(|t| t.kind == TokenKind::Punct && is_brace(text[t.span.start as usize]));
    let next_token = scan::skip_trivia(src, end, &mut Trivia::default());
    Lexer::fragment(text).nth(1).is_none()
        || contains_brace
        || previous_end
            .checked_sub(1)
            .is_some_and(|i| is_brace(src[i]))
        || !text.ends_with(b";") && is_brace(scan::peek(src, next_token))
}

/// The operator of an assignment to the word that ends at `end`, which may have an index.
pub(crate) fn assignment(src: &[u8], end: usize) -> Option<&'static ForeignWord> {
    let following = src[end..line_end(src, end)].trim_ascii_start();
    if following.starts_with(b"[") {
        let equals = following.iter().position(|b| *b == b'=')?;
        return ForeignWord::from_text(if equals > 0 { "[" } else { "=" });
    }
    let len = following
        .iter()
        .take_while(|b| b"=+-*/%&|^<>".contains(b))
        .count();
    let text = core::str::from_utf8(&following[..len]).ok()?;
    let is_doubled = matches!(text, "++" | "--");
    ForeignWord::from_text(text).filter(|_| is_doubled || text.ends_with('='))
}

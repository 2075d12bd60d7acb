//! Missing and wrong brackets of a malformed statement.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::scan::{class, is};
use ptx_ir::{Code, Diagnostic, Span};
use ptx_isa::{Modifier, Opcode};

use crate::repair::bracket_place::Statement;
use crate::statement_extent::{is_opcode, line_end};

/// The first bracket without a partner, with offsets in the source.
enum Unbalanced {
    /// The bracket at `open` is not closed before `end`, the end of the last token.
    Unclosed { open: usize, end: usize },
    /// The bracket at `close` closes none. The operand that ends with it begins at `operand`.
    Unopened { close: usize, operand: usize },
    /// The bracket at `close` closes one of another kind.
    Mismatched { open: usize, close: usize },
}

const fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}

const fn opening(close: u8) -> u8 {
    match close {
        b')' => b'(',
        b']' => b'[',
        _ => b'{',
    }
}

/// The first bracket in `start..end` that has no partner.
fn unbalanced(src: &[u8], start: usize, end: usize) -> Option<Unbalanced> {
    let text = src.get(start..end)?;
    let mut open_brackets: Vec<usize> = Vec::new();
    let (mut operand, mut last) = (None, end);
    let mut after_opcode = false;
    for token in Lexer::fragment(text).filter(|t| !t.kind.is_trivia()) {
        let offset = start + token.span.start as usize;
        let word = token.span.of(text);
        if !after_opcode {
            after_opcode = token.kind == TokenKind::Ident && is_opcode(word);
        } else if token.kind != TokenKind::DotWord {
            operand = operand.or(Some(offset));
        }
        match word {
            b";" => break,
            b"(" | b"[" | b"{" => open_brackets.push(offset),
            b")" | b"]" | b"}" => match open_brackets.pop() {
                None => {
                    let operand = operand?;
                    return Some(Unbalanced::Unopened {
                        close: offset,
                        operand,
                    });
                }
                Some(open) if closing(src[open]) != word[0] => {
                    return Some(Unbalanced::Mismatched {
                        open,
                        close: offset,
                    });
                }
                Some(_) => {}
            },
            b"," if open_brackets.is_empty() => operand = None,
            _ => {}
        }
        last = offset + word.len();
    }
    let open = open_brackets.pop()?;
    Some(Unbalanced::Unclosed { open, end: last })
}

/// Whether the first opcode of a statement takes lists in parentheses.
fn takes_lists(statement: &[u8]) -> bool {
    let mut words = Lexer::fragment(statement).filter(|t| t.kind == TokenKind::Ident);
    let opcode = words.find_map(|t| Opcode::from_text(t.span.of(statement)));
    opcode.is_some_and(Opcode::takes_lists)
}

/// The beginning of the vector that ends at `close`, if a modifier of the instruction gives its length.
fn vector_start(src: &[u8], start: usize, close: usize) -> Option<usize> {
    let text = src.get(start..close)?;
    let tokens: Vec<Token> = Lexer::fragment(text)
        .filter(|t| !t.kind.is_trivia())
        .collect();
    let length = tokens.iter().find_map(|t| {
        let modifier = Modifier::from_text(t.span.of(text))?;
        modifier.vector_len().map(usize::from)
    })?;
    // The vector consists of elements and the commas between them.
    let first = tokens.len().checked_sub(2 * length - 1)?;
    let mut separators = tokens.get(first..)?.iter().skip(1).step_by(2);
    let are_commas = separators.all(|t| t.span.of(text) == b",");
    are_commas.then(|| start + tokens[first].span.start as usize)
}

/// The span of the bracket at `offset`.
fn bracket_span(offset: usize) -> Span {
    Span::at(offset, offset + 1)
}

/// The error of the bracket at `offset`.
fn bracket_error(offset: usize, message: String) -> Diagnostic {
    Diagnostic::error(Code::UnexpectedToken, bracket_span(offset), message)
}

/// Explains a syntax error at `offset` in the statement at `start..statement_end` by a bracket that is missing or wrong.
#[cold]
pub(crate) fn explain(
    src: &[u8],
    start: usize,
    statement_end: usize,
    offset: usize,
) -> Option<Diagnostic> {
    match unbalanced(src, start, statement_end)? {
        Unbalanced::Mismatched { open, close } if close == offset => {
            let (left, right) = (src[open] as char, src[close] as char);
            let expected = closing(src[open]) as char;
            let message = format!("expected `{expected}`, found `{right}`");
            Some(
                bracket_error(close, message)
                    .with_label(bracket_span(open), format!("this `{left}` is not closed"))
                    .with_help(format!("close `{left}` with `{expected}`"))
                    .with_fix(bracket_span(close), expected),
            )
        }
        Unbalanced::Mismatched { open, close } if open <= offset => {
            let (left, right) = (src[open] as char, src[close] as char);
            let expected = opening(src[close]) as char;
            let message = format!("expected `{expected}`, found `{left}`");
            Some(
                bracket_error(open, message)
                    .with_label(bracket_span(close), format!("`{right}` closes it"))
                    .with_help(format!("open with `{expected}` what `{right}` closes"))
                    .with_fix(bracket_span(open), expected),
            )
        }
        Unbalanced::Unclosed { open, end } if open < offset => {
            let statement = start..statement_end;
            Some(unclosed(src, statement, offset, open, end))
        }
        Unbalanced::Unopened { close, .. }
            if close == offset && src[close] == b')' && !takes_lists(&src[start..close]) =>
        {
            Some(
                bracket_error(close, String::from("expected `,` or `;`, found `)`"))
                    .with_help("remove this `)`")
                    .with_fix(bracket_span(close), ""),
            )
        }
        Unbalanced::Unopened { close, operand } if close == offset => {
            Some(unopened(src, start..statement_end, close, operand))
        }
        _ => None,
    }
}

/// The error at `offset` that the bracket at `open` is not closed. The last token of the statement ends at `end`.
fn unclosed(
    src: &[u8],
    statement: Range<usize>,
    offset: usize,
    open: usize,
    end: usize,
) -> Diagnostic {
    let (left, right) = (src[open] as char, closing(src[open]) as char);
    let is_on_same_line = !src[open..offset].contains(&b'\n');
    let error = if is_on_same_line {
        bracket_error(
            open,
            format!("expected a `{right}` that closes this `{left}`, found none"),
        )
    } else {
        // ptxas reports the token in the place of the bracket, on a later line.
        let message = format!("expected a `{right}` before this, found none");
        let span = Span::at(offset, (offset + 1).min(src.len()));
        Diagnostic::error(Code::UnexpectedToken, span, message)
            .with_label(bracket_span(open), format!("this `{left}` is not closed"))
    };
    if let Some(semicolon) = semicolon_inside(src, open, end) {
        return error
            .with_help("separate elements with `,`")
            .with_fix(bracket_span(semicolon), ",");
    }
    let error = error.with_help(format!("add `{right}`"));
    match closing_place(src, statement, open, end) {
        // The next line is another statement.
        Some(place) if !src[open..place].contains(&b'\n') => {
            let is_certain = is_single_operand(src, open + 1, place) && is_operand_end(src, place);
            with_bracket(error, place, right, is_certain)
        }
        _ => error,
    }
}

/// The error of the bracket at `close`, which closes none. The operand that it ends begins at `operand`.
fn unopened(src: &[u8], statement: Range<usize>, close: usize, operand: usize) -> Diagnostic {
    let start = statement.start;
    let (left, right) = (opening(src[close]) as char, src[close] as char);
    let message = format!("expected `{left}` before the operand that `{right}` closes");
    let error = bracket_error(close, message).with_help(format!("add `{left}`"));
    let vector = (left == '{')
        .then(|| vector_start(src, start, close))
        .flatten();
    let place = vector
        .or_else(|| {
            let mark: &[u8] = match left {
                '{' => b"{",
                '[' => b"[",
                _ => b"(",
            };
            Statement::new(src, start, statement.end).opening_place(close, mark)
        })
        .or_else(|| {
            let is_sole_place = left == '[' || !src[start..operand].contains(&b',');
            is_sole_place.then_some(operand)
        });
    match place {
        Some(place) => {
            let is_certain =
                left == '[' && place == operand && is_single_operand(src, place, close);
            with_bracket(error, place, left, is_certain)
        }
        None => error,
    }
}

/// Adds the edit that inserts a bracket at `place`.
fn with_bracket(error: Diagnostic, place: usize, bracket: char, is_certain: bool) -> Diagnostic {
    let error = error.with_fix(Span::at(place, place), bracket);
    if is_certain {
        error.machine_applicable()
    } else {
        error
    }
}

/// Whether a text is one operand without brackets: there is one place for a bracket around it.
fn is_single_operand(src: &[u8], start: usize, end: usize) -> bool {
    let text = src.get(start..end).unwrap_or_default();
    !text.is_empty() && !text.iter().any(|b| b",()[]{}\n".contains(b))
}

/// Whether the token after `offset` ends an operand.
fn is_operand_end(src: &[u8], offset: usize) -> bool {
    let following = src.get(offset..line_end(src, offset)).unwrap_or_default();
    matches!(following.trim_ascii_start().first(), Some(b',' | b';'))
}

/// The place for the bracket that closes the one at `open`. The last token of the statement ends at `end`.
fn closing_place(src: &[u8], statement: Range<usize>, open: usize, end: usize) -> Option<usize> {
    let inside = &src[open + 1..end];
    // The address after a vector is the next operand.
    let address = inside.iter().position(|b| *b == b'[');
    let comma = address.and_then(|i| memchr::memrchr(b',', &inside[..i]));
    match (src[open], comma) {
        (b'{', Some(comma)) => Some(open + 1 + inside[..comma].trim_ascii_end().len()),
        (b'{', None) => Some(end),
        _ if !inside.contains(&b',') => Some(end),
        _ => Statement::new(src, statement.start, statement.end).closing_place(open),
    }
}

/// The `;` after the last token, which ends at `end`, if the bracket at `open` is closed after the `;` on the same line.
fn semicolon_inside(src: &[u8], open: usize, end: usize) -> Option<usize> {
    let line = src.get(end..line_end(src, end))?;
    let semicolon = line.iter().position(|b| *b == b';')?;
    let is_next_token = line.get(..semicolon)?.trim_ascii().is_empty();
    let following = line.get(semicolon + 1..)?;
    let next_mark = following
        .iter()
        .find(|b| !is(**b, class::IDENT) && !b"% ,+-".contains(b))?;
    (is_next_token && *next_mark == closing(src[open])).then_some(end + semicolon)
}

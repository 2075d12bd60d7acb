//! Brackets of a malformed statement: which one is missing or wrong.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::lex::scan::{class, is};
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Code, Diagnostic, Span};
use ptx_isa::{Modifier, Opcode};

use crate::repair::bracket_place::Statement;
use crate::statement_extent::{is_opcode, line_end};

/// The first bracket without its partner, by its place in the source.
enum Unbalanced {
    /// It is not closed before `end`, the first byte after the last token.
    Unclosed {
        open: usize,
        end: usize,
    },
    /// It closes nothing; the operand that ends with it begins at `operand`.
    Unopened {
        close: usize,
        operand: usize,
    },
    Mismatched {
        open: usize,
        close: usize,
    },
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
    let mut open: Vec<usize> = Vec::new();
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
            b"(" | b"[" | b"{" => open.push(offset),
            b")" | b"]" | b"}" => match open.pop() {
                None => {
                    let operand = operand?;
                    return Some(Unbalanced::Unopened {
                        close: offset,
                        operand,
                    });
                }
                Some(first) if closing(src[first]) != word[0] => {
                    let open = first;
                    return Some(Unbalanced::Mismatched {
                        open,
                        close: offset,
                    });
                }
                Some(_) => {}
            },
            b"," if open.is_empty() => operand = None,
            _ => {}
        }
        last = offset + word.len();
    }
    let open = open.pop()?;
    Some(Unbalanced::Unclosed { open, end: last })
}

/// Whether the first opcode of a statement takes lists in parentheses.
fn takes_lists(statement: &[u8]) -> bool {
    let mut words = Lexer::fragment(statement).filter(|t| t.kind == TokenKind::Ident);
    let opcode = words.find_map(|t| Opcode::from_text(t.span.of(statement)));
    opcode.is_some_and(Opcode::takes_lists)
}

/// The beginning of a vector that ends at `close`, and whose length is a modifier of the instruction.
fn vector_start(src: &[u8], start: usize, close: usize) -> Option<usize> {
    let text = src.get(start..close)?;
    let tokens: Vec<Token> = Lexer::fragment(text)
        .filter(|t| !t.kind.is_trivia())
        .collect();
    let length = tokens.iter().find_map(|t| {
        let modifier = Modifier::from_text(t.span.of(text))?;
        modifier.vector_len().map(usize::from)
    });
    // Elements and the commas between them.
    let length = length?;
    let first = tokens.len().checked_sub(2 * length - 1)?;
    let mut marks = tokens.get(first..)?.iter().skip(1).step_by(2);
    let plain = marks.all(|t| t.span.of(text) == b",");
    plain.then(|| start + tokens[first].span.start as usize)
}

/// Explains a syntax error at `at` in the statement `start..end` by a bracket that is missing or wrong.
#[cold]
pub(crate) fn explain(src: &[u8], start: usize, end: usize, at: usize) -> Option<Diagnostic> {
    let one = |at: usize| Span::at(at, at + 1);
    let error = |at: usize, message: String| {
        Some(Diagnostic::error(Code::UnexpectedToken, one(at), message))
    };
    let of_statement = end;
    match unbalanced(src, start, end)? {
        Unbalanced::Mismatched { open, close } if close == at => {
            let (left, right) = (src[open] as char, src[close] as char);
            let expected = closing(src[open]) as char;
            let message = format!("expected `{expected}`, found `{right}`");
            let d = error(close, message)?;
            let d = d.with_label(one(open), format!("this `{left}` is not closed"));
            let help = format!("close `{left}` with `{expected}`");
            Some(d.with_help(help).with_fix(one(close), expected))
        }
        Unbalanced::Mismatched { open, close } if open <= at => {
            let (left, right) = (src[open] as char, src[close] as char);
            let expected = opening(src[close]) as char;
            let d = error(open, format!("expected `{expected}`, found `{left}`"))?;
            let d = d.with_label(one(close), format!("`{right}` closes it"));
            let help = format!("open with `{expected}` what `{right}` closes");
            Some(d.with_help(help).with_fix(one(open), expected))
        }
        Unbalanced::Unclosed { open, end } if open < at => {
            let (left, right) = (src[open] as char, closing(src[open]) as char);
            // ptxas reports what it finds instead, perhaps on a later line.
            let same_line = !src[open..at].contains(&b'\n');
            let d = if same_line {
                error(
                    open,
                    format!("expected a `{right}` that closes this `{left}`, found none"),
                )?
            } else {
                let message = format!("expected a `{right}` before this, found none");
                let end = (at + 1).min(src.len());
                Diagnostic::error(Code::UnexpectedToken, Span::at(at, end), message)
                    .with_label(one(open), format!("this `{left}` is not closed"))
            };
            let d = d.with_help(format!("add `{right}`"));
            if let Some(semicolon) = semicolon_inside(src, open, end) {
                let d = d.with_help("separate elements with `,`");
                return Some(d.with_fix(one(semicolon), ","));
            }
            let place = closing_place(src, (start, of_statement), open, end);
            // Another line is another statement.
            let place = place.filter(|place| !src[open..*place].contains(&b'\n'));
            let certain = |place| is_whole(src, open + 1, place) && ends_operand(src, place);
            Some(inserted(d, place, right, certain))
        }
        Unbalanced::Unopened { close, .. }
            if close == at && src[close] == b')' && !takes_lists(&src[start..close]) =>
        {
            let d = error(close, String::from("expected `,` or `;`, found `)`"))?;
            Some(d.with_help("remove this `)`").with_fix(one(close), ""))
        }
        Unbalanced::Unopened { close, operand } if close == at => {
            let (left, right) = (opening(src[close]) as char, src[close] as char);
            let message = format!("expected `{left}` before the operand that `{right}` closes");
            let d = error(close, message)?;
            let d = d.with_help(format!("add `{left}`"));
            let whole = left == '[' || !src[start..operand].contains(&b',');
            let statement = || Statement::new(src, start, end);
            let first = match left {
                '{' => vector_start(src, start, close).or_else(|| statement().open(close, b"{")),
                '[' => statement().open(close, b"["),
                _ => statement().open(close, b"("),
            };
            let place = first.or(Some(operand).filter(|_| whole));
            let certain = |at| left == '[' && at == operand && is_whole(src, at, close);
            Some(inserted(d, place, left, certain))
        }
        _ => None,
    }
}

/// The error with the fix that inserts a bracket, if there is a place for it.
fn inserted(
    d: Diagnostic,
    place: Option<usize>,
    bracket: char,
    certain: impl Fn(usize) -> bool,
) -> Diagnostic {
    let Some(at) = place else {
        return d;
    };
    let d = d.with_fix(Span::at(at, at), bracket);
    if certain(at) {
        d.machine_applicable()
    } else {
        d
    }
}

/// Whether a text is one operand without brackets: there is one place for a bracket around it.
fn is_whole(src: &[u8], start: usize, end: usize) -> bool {
    let text = src.get(start..end).unwrap_or_default();
    !text.is_empty() && !text.iter().any(|b| b",()[]{}\n".contains(b))
}

/// Whether an operand ends before `at`.
fn ends_operand(src: &[u8], at: usize) -> bool {
    let next = src.get(at..line_end(src, at)).unwrap_or_default();
    matches!(next.trim_ascii_start().first(), Some(b',' | b';'))
}

/// The place where the bracket at `open` is closed, whose statement's last token ends at `end`.
fn closing_place(
    src: &[u8],
    (start, of_statement): (usize, usize),
    open: usize,
    end: usize,
) -> Option<usize> {
    let inside = &src[open + 1..end];
    // The address after a vector is the next operand.
    let address = inside.iter().position(|b| *b == b'[');
    let comma = address.and_then(|i| memchr::memrchr(b',', &inside[..i]));
    match (src[open], comma) {
        (b'{', Some(comma)) => Some(open + 1 + inside[..comma].trim_ascii_end().len()),
        (b'{', None) => Some(end),
        _ if !inside.contains(&b',') => Some(end),
        _ => Statement::new(src, start, of_statement).close(open),
    }
}

/// The `;` after the last token, which ends at `at`, if the bracket at `open` is closed after it on the line.
fn semicolon_inside(src: &[u8], open: usize, at: usize) -> Option<usize> {
    let line = src.get(at..line_end(src, at))?;
    let semicolon = line.iter().position(|b| *b == b';')?;
    let only_space = line.get(..semicolon)?.trim_ascii().is_empty();
    let following = line.get(semicolon + 1..)?;
    let operand = |b: &u8| is(*b, class::IDENT) || b"% ,+-".contains(b);
    let end = following.iter().position(|b| !operand(b))?;
    let is_closed = following.get(end) == Some(&closing(src[open]));
    (only_space && is_closed).then_some(at + semicolon)
}

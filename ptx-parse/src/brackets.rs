//! Brackets of a malformed statement: which one is missing or wrong.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Code, Diagnostic, Span};

use crate::statement_extent::is_opcode;

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
        let at = start + token.span.start as usize;
        let word = token.span.of(text);
        if !after_opcode {
            after_opcode = token.kind == TokenKind::Ident && is_opcode(word);
        } else if token.kind != TokenKind::DotWord {
            operand = operand.or(Some(at));
        }
        match word {
            b";" => break,
            b"(" | b"[" | b"{" => open.push(at),
            b")" | b"]" | b"}" => match open.pop() {
                None => {
                    let operand = operand?;
                    return Some(Unbalanced::Unopened { close: at, operand });
                }
                Some(first) if closing(src[first]) != word[0] => {
                    let open = first;
                    return Some(Unbalanced::Mismatched { open, close: at });
                }
                Some(_) => {}
            },
            b"," if open.is_empty() => operand = None,
            _ => {}
        }
        last = at + word.len();
    }
    let open = open.pop()?;
    Some(Unbalanced::Unclosed { open, end: last })
}

/// Explains a syntax error at `at` in the statement `start..end` by a bracket that is missing or wrong.
#[cold]
pub(crate) fn explain(src: &[u8], start: usize, end: usize, at: usize) -> Option<Diagnostic> {
    let one = |at: usize| Span::at(at, at + 1);
    let error = |at: usize, message: String| {
        Some(Diagnostic::error(Code::UnexpectedToken, one(at), message))
    };
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
            let d = match same_line {
                true => error(
                    open,
                    format!("expected a `{right}` that closes this `{left}`, found none"),
                )?,
                false => {
                    let message = format!("expected a `{right}` before this, found none");
                    let end = (at + 1).min(src.len());
                    Diagnostic::error(Code::UnexpectedToken, Span::at(at, end), message)
                        .with_label(one(open), format!("this `{left}` is not closed"))
                }
            };
            let d = d.with_help(format!("add `{right}`"));
            let inside = &src[open + 1..end];
            let whole = !inside.contains(&b',');
            Some(match whole {
                true => d.with_fix(Span::at(end, end), right),
                false => d,
            })
        }
        Unbalanced::Unopened { close, operand } if close == at => {
            let (left, right) = (opening(src[close]) as char, src[close] as char);
            let message = format!("expected `{left}` before the operand that `{right}` closes");
            let d = error(close, message)?;
            let d = d.with_help(format!("add `{left}`"));
            let whole = left == '[' || !src[start..operand].contains(&b',');
            Some(match whole {
                true => d.with_fix(Span::at(operand, operand), left),
                false => d,
            })
        }
        _ => None,
    }
}

//! Rewrites a program with whitespace and comments between all its tokens.

use ptx_ir::lex::{Lexer, TokenKind};

/// Trivia inserted between two tokens, in turn. Each starts with whitespace, so that a `/` before it does not start a comment.
const BETWEEN: &[&str] = &[
    " ",
    " /* c */",
    "\n\t",
    " // c\n",
    " /**/ ",
    "\r\n",
    " /* ; } */ ",
];

/// The positions where trivia are inserted.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Between {
    /// After every token.
    All,
    /// Not before a modifier that follows directly: ptxas accepts `add .s32` but not `mul .wide.u32`, where the modifier is part of the name.
    Names,
}

/// Puts trivia between tokens.
pub(crate) fn mangle(source: &[u8], between: Between) -> Vec<u8> {
    let mut out = Vec::with_capacity(source.len() * 3);
    let mut turn = 0usize;
    let mut tokens = Lexer::new(source).peekable();
    while let Some(token) = tokens.next() {
        let text = token.span.of(source);
        out.extend_from_slice(text);
        let precedes_modifier = tokens.peek().is_some_and(|t| t.kind == TokenKind::DotWord);
        let is_joined = between == Between::Names && precedes_modifier;
        if !token.kind.is_trivia() && token.kind != TokenKind::BadLine && !is_joined {
            out.extend_from_slice(BETWEEN[turn % BETWEEN.len()].as_bytes());
            // The number of choices is prime, so that the sequence varies.
            turn += 1 + text.len() % 5;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Between, mangle};

    #[test]
    fn tokens_stay() {
        let text = String::from_utf8(mangle(b"add.s32 %r1,7 % 2;", Between::All)).unwrap();
        let tokens: Vec<_> = text
            .lines()
            .map(|l| l.split("//").next().unwrap())
            .collect();
        let tokens = tokens
            .join(" ")
            .replace("/* c */", "")
            .replace("/* ; } */", "");
        let tokens: Vec<_> = tokens.split_whitespace().filter(|t| *t != "/**/").collect();
        assert_eq!(tokens, ["add", ".s32", "%r1", ",", "7", "%", "2", ";"]);
    }

    #[test]
    fn names_stay_together() {
        let text = mangle(b"mul.wide.u32 a;", Between::Names);
        assert!(text.starts_with(b"mul.wide.u32 "));
    }

    #[test]
    fn a_slash_opens_no_comment() {
        assert!(!mangle(b"8/2", Between::All).windows(3).any(|w| w == b"//*"));
    }
}

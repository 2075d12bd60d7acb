//! The text between statements: which comments follow the last one, which precede the next one, and whether there is a
//! blank line.

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::scan;

use crate::canonical::Printer;
use crate::sink::Sink;

/// The element before a gap.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Preceding {
    /// The beginning of the file or the body.
    Start,
    Statement,
}

impl<S: Sink> Printer<'_, '_, S> {
    /// Ends the line of the last statement and prints the comments of a gap. Comments of the
    /// gap's first line stay after the statement, if there is one.
    #[inline]
    pub(crate) fn gap(&mut self, gap: &[u8], preceding: Preceding, level: usize) {
        let mut newlines = 0;
        for &b in gap {
            match b {
                b'\n' => newlines += 1,
                _ if scan::is(b, scan::class::WHITESPACE) => {}
                _ => return self.gap_with_comments(gap, preceding, level),
            }
        }
        let after_statement = preceding == Preceding::Statement;
        if after_statement {
            self.out.byte(b'\n');
        }
        // Before the first statement of a file or a body, blank lines are dropped.
        if newlines > 1 && after_statement {
            self.out.byte(b'\n');
        }
    }

    #[inline(never)]
    fn gap_with_comments(&mut self, gap: &[u8], preceding: Preceding, level: usize) {
        // Newlines since the last statement or comment.
        let mut newlines = 0;
        // Whether something on the current line has to be ended.
        let mut open = preceding == Preceding::Statement;
        let mut on_statement_line = open;
        let mut anything = open;
        for token in Lexer::fragment(gap) {
            let text = token.span.of(gap);
            if token.kind == TokenKind::Whitespace {
                newlines += text.iter().filter(|&&b| b == b'\n').count();
                on_statement_line &= newlines == 0;
                continue;
            }
            let text = text.trim_ascii_end();
            if on_statement_line {
                self.out.byte(b' ');
            } else {
                if open {
                    self.out.byte(b'\n');
                }
                if newlines > 1 && anything {
                    self.out.byte(b'\n');
                }
                self.indent(level);
            }
            self.out.text(text);
            on_statement_line &= !text.contains(&b'\n');
            newlines = 0;
            open = true;
            anything = true;
        }
        if open {
            self.out.byte(b'\n');
        }
        if newlines > 1 && anything {
            self.out.byte(b'\n');
        }
    }

    /// The comments inside a statement, each on a separate line before it.
    #[inline(never)]
    pub(crate) fn inner_comments(&mut self, statement: &[u8], level: usize) {
        for token in Lexer::fragment(statement).filter(|t| t.kind.is_trivia()) {
            if token.kind != TokenKind::Whitespace {
                self.indent(level);
                self.out.text(token.span.of(statement).trim_ascii_end());
                self.out.byte(b'\n');
            }
        }
    }
}

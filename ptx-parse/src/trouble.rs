//! One mistake is one error: what follows from a reported mistake is not reported again.

use ptx_ir::lex::scan::{self, Trivia};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Code, Diagnostic, Severity, Statement};
use ptx_isa::Directive;

use crate::parser::Parser;

/// What was reported so far, as far as it may spoil what comes next.
#[derive(Default)]
pub(crate) struct Trouble {
    /// One past the start of the last error.
    error: usize,
    /// One past the text that the last error of syntax spoils.
    end: usize,
    /// Whether the last item was not understood: what follows it at module level mostly belongs to it.
    pub(crate) adrift: bool,
    /// Whether a brace of the function at hand is missing, too many, or taken for what it is not.
    pub(crate) braces: bool,
}

impl Trouble {
    /// Notes an error that is reported.
    #[cold]
    pub(crate) fn note(&mut self, d: &Diagnostic) {
        if d.severity != Severity::Error {
            return;
        }
        self.error = self.error.max(d.span.start as usize + 1);
        if (d.code.number() < Code::UndefinedName.number()) || d.code.number() / 100 == 3 {
            self.end = self.end.max(d.span.end as usize);
        }
    }

    /// Notes that nothing before `end` can be relied on.
    pub(crate) fn spoil(&mut self, end: usize) {
        self.end = self.end.max(end);
    }
}

impl Parser<'_> {
    /// Whether an error of syntax in the statement at `start` follows from an error before it: one
    /// of the same statement, or one with no whole statement since, unless this one clearly begins
    /// anew.
    #[cold]
    pub(crate) fn is_spoiled(&self, start: usize) -> bool {
        if self.trouble.error > start {
            return true;
        }
        if !self.in_body {
            return self.is_same_line(self.trouble.end, start);
        }
        let spoilt = self.trouble.end;
        spoilt > self.body.base as usize && !self.is_solid_since(spoilt) && !self.begins_anew(start)
    }

    /// Whether the last statement of the body was not understood: it may hold the `}`.
    pub(crate) fn is_spoiled_end(&self) -> bool {
        let spoilt = self.trouble.end;
        spoilt > self.body.base as usize && !self.is_solid_since(spoilt)
    }

    /// Whether an error was reported and only blanks of one line lie between its end and `start`.
    fn is_same_line(&self, end: usize, start: usize) -> bool {
        let gap = self.src.get(end..start).unwrap_or_default();
        end > 0 && gap.iter().all(|&b| b != b'\n' && b.is_ascii_whitespace())
    }

    /// Whether the body holds a statement behind `end` that says something.
    fn is_solid_since(&self, end: usize) -> bool {
        self.body
            .statements()
            .rev()
            .take_while(|&(id, _)| self.body.source_span(id).start as usize >= end)
            .any(|(_, statement)| match statement {
                Statement::Inst(id) => !self.body.operands(id).is_empty(),
                Statement::Decl(id) => self.body.declarations.decls[id].declarators.len > 0,
                Statement::Directive(_) | Statement::Prototype(_) | Statement::Function(_) => true,
                _ => false,
            })
    }

    /// Whether `start` stands on a line of its own behind the end of a statement.
    fn begins_anew(&self, start: usize) -> bool {
        let before = self.before_statement();
        let gap = self.src.get(before..start).unwrap_or_default();
        let ends = before.checked_sub(1).map(|i| self.src[i]);
        matches!(ends, Some(b';' | b'}')) && gap.contains(&b'\n')
    }

    /// One past the statement or `{` before the one being read.
    fn before_statement(&self) -> usize {
        match self.body.statements().next_back() {
            Some((id, _)) => self.body.source_span(id).end as usize,
            None => self.body.base as usize + 1,
        }
    }

    /// Where the statement, or item, being read begins.
    pub(crate) fn statement_start(&self) -> usize {
        let before = if self.in_body {
            self.before_statement()
        } else {
            let last = self.module.items().next_back();
            last.map_or(0, |(id, _)| self.module.span(id).end as usize)
        };
        scan::skip_trivia(self.src, before, &mut Trivia::default())
    }

    /// Reports an error of syntax in the statement at `start`, unless it follows from another.
    #[cold]
    pub(crate) fn report_unless_spoiled(&mut self, start: usize, d: Diagnostic) {
        if !self.is_spoiled(start) {
            self.report(d);
        }
    }

    /// Whether what begins at `start` can begin no statement of a body.
    pub(crate) fn is_fragment(&self, start: usize) -> bool {
        let rest = &self.src[start..];
        let Some(token) = Lexer::fragment(rest).next() else {
            return false;
        };
        let text = token.span.of(rest);
        match token.kind {
            TokenKind::Ident => !Self::is_opcode(text),
            TokenKind::DotWord => Directive::from_text(text).is_none(),
            TokenKind::Punct => !matches!(text, b"@" | b"{" | b"}"),
            _ => true,
        }
    }

    /// Whether `start..end`, or what stands around it, is a brace.
    pub(crate) fn touches_brace(&self, start: usize, end: usize) -> bool {
        let is_brace = |b: u8| matches!(b, b'{' | b'}');
        let text = &self.src[start..end];
        let inside = Lexer::fragment(text)
            .any(|t| t.kind == TokenKind::Punct && is_brace(text[t.span.start as usize]));
        let before = self.before_statement().checked_sub(1);
        let after = scan::skip_trivia(self.src, end, &mut Trivia::default());
        inside
            || before.is_some_and(|i| is_brace(self.src[i]))
            || !text.ends_with(b";") && is_brace(scan::peek(self.src, after))
    }
}

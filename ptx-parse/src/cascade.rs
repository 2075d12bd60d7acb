//! One mistake is one error: what follows from a reported mistake is not reported again.

use ptx_ir::lex::scan::{self, Trivia, class, is};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Diagnostic, Item, Severity, Statement};
use ptx_isa::{Directive, DirectivePosition, Modifier};

use crate::parser::Parser;

/// What was reported so far, as far as it may spoil what comes next. Nothing is spoiled before the
/// first error: warnings spoil nothing.
#[derive(Default)]
pub(crate) struct Trouble {
    /// One past the start of the last error.
    error: usize,
    /// One past the text that the last error of syntax spoils.
    end: usize,
    /// Whether the last item was not understood: what follows it at module level mostly belongs to it.
    desynced: bool,
    /// Whether a brace of the function at hand is missing, too many, or taken for what it is not.
    braces: bool,
}

/// Statements behind an error that are looked at; it spoils nothing further away.
const MAX_LOOKBACK: usize = 200;

impl Trouble {
    /// Notes an error that is reported.
    #[cold]
    pub(crate) fn note(&mut self, d: &Diagnostic) {
        if d.severity != Severity::Error {
            return;
        }
        self.error = self.error.max(d.span.start as usize + 1);
        if matches!(d.code.number() / 100, 0 | 1 | 3) {
            self.end = self.end.max(d.span.end as usize);
        }
    }

    /// Whether any error was reported.
    pub(crate) fn is_any(&self) -> bool {
        self.error > 0
    }

    /// Notes that nothing before `end` can be relied on.
    pub(crate) fn poison(&mut self, end: usize) {
        if self.is_any() {
            self.end = self.end.max(end);
        }
    }

    /// Notes that a brace of the function at hand is in doubt.
    pub(crate) fn brace_mismatch(&mut self) {
        self.braces |= self.is_any();
    }

    pub(crate) fn doubts_braces(&self) -> bool {
        self.braces
    }

    /// Notes that what follows at module level may belong to something else.
    pub(crate) fn desync(&mut self) {
        self.desynced |= self.is_any();
    }

    pub(crate) fn is_adrift(&self) -> bool {
        self.desynced
    }

    /// A function or section ends the drift, unless its end, or its beginning, is in doubt; what is
    /// only declared does not.
    pub(crate) fn end_item(&mut self, declared: bool) {
        self.desynced = declared && self.desynced || core::mem::take(&mut self.braces);
    }
}

impl Parser<'_> {
    /// Whether an error of syntax in the statement at `start` follows from another one, of this
    /// statement or of one before it.
    #[cold]
    pub(crate) fn is_cascading(&self, start: usize) -> bool {
        self.trouble.error > start || self.follows_trouble(start)
    }

    /// Whether nothing was understood between the last error of syntax and `start`, where nothing
    /// clearly begins anew.
    #[cold]
    pub(crate) fn follows_trouble(&self, start: usize) -> bool {
        let open = if self.in_body {
            self.body.base as usize
        } else {
            0
        };
        let near = self.trouble.end > open && !self.is_solid_since(self.trouble.end);
        let drifting = !self.in_body && self.trouble.is_adrift();
        (near || drifting) && !self.resyncs(start)
    }

    /// Whether a second declaration at `start` may be none: its scope, or itself, is in doubt.
    #[cold]
    pub(crate) fn is_doubtful_declaration(&self, start: usize) -> bool {
        self.trouble.doubts_braces() || self.follows_trouble(start)
    }

    /// Whether the last statement of the body was not understood: it may hold the `}`.
    pub(crate) fn is_spoiled_end(&self) -> bool {
        let spoilt = self.trouble.end;
        spoilt > self.body.base as usize && !self.is_solid_since(spoilt)
    }

    /// Whether something behind `end` was understood that says more than a label does.
    fn is_solid_since(&self, end: usize) -> bool {
        if !self.in_body {
            return self
                .module
                .items()
                .rev()
                .take_while(|&(id, _)| self.module.span(id).start as usize >= end)
                .enumerate()
                .any(|(i, (_, item))| i == MAX_LOOKBACK || !matches!(item, Item::Opaque(_)));
        }
        self.body
            .statements()
            .rev()
            .take_while(|&(id, _)| self.body.source_span(id).start as usize >= end)
            .enumerate()
            .any(|(i, (_, statement))| match statement {
                _ if i == MAX_LOOKBACK => true,
                Statement::Inst(id) => !self.body.operands(id).is_empty(),
                Statement::Decl(id) => self.body.declarations.decls[id].declarators.len > 0,
                Statement::Directive(_) | Statement::Prototype(_) | Statement::Function(_) => true,
                _ => false,
            })
    }

    /// Whether what stands at `start` may begin a statement, on a line of its own behind the end of
    /// another.
    fn resyncs(&self, start: usize) -> bool {
        let before = self.before_statement();
        let gap = self.src.get(before..start).unwrap_or_default();
        let ended = match before.checked_sub(1).map(|i| self.src[i]) {
            Some(b'}') => !self.trouble.doubts_braces(),
            last => last == Some(b';'),
        };
        ended && gap.contains(&b'\n') && self.may_begin(start)
    }

    /// Whether the token at `start` may begin a statement of the body, or else an item.
    fn may_begin(&self, start: usize) -> bool {
        match scan::peek(self.src, start) {
            b'.' => {
                let word = &self.src[start..scan::dot_word_end(self.src, start)];
                // An unknown word is a directive misspelt, unless it is one of an instruction.
                self.in_body
                    || match Directive::from_text(word) {
                        Some(directive) => directive.is_allowed_in(DirectivePosition::Module),
                        None => Modifier::from_text(word).is_none(),
                    }
            }
            b'@' => self.in_body,
            b => self.in_body && (b == b';' || is(b, class::START)),
        }
    }

    /// One past the statement, item or `{` before what is being read.
    fn before_statement(&self) -> usize {
        if !self.in_body {
            let last = self.module.items().next_back();
            return last.map_or(0, |(id, _)| self.module.span(id).end as usize);
        }
        match self.body.statements().next_back() {
            Some((id, _)) => self.body.source_span(id).end as usize,
            None => self.body.base as usize + 1,
        }
    }

    /// Whether the body that was read ends where the text goes on with neither an item nor nothing:
    /// the brace was not its end.
    #[cold]
    pub(crate) fn ends_early(&self) -> bool {
        let next = scan::skip_trivia(self.src, self.last, &mut Trivia::default());
        if scan::peek(self.src, next) != b'.' {
            return next < self.src.len();
        }
        let word = &self.src[next..scan::dot_word_end(self.src, next)];
        let item =
            Directive::from_text(word).is_some_and(|d| d.is_allowed_in(DirectivePosition::Module));
        self.trouble.doubts_braces() && !item
    }

    /// Where the statement, or item, being read begins.
    pub(crate) fn statement_start(&self) -> usize {
        scan::skip_trivia(self.src, self.before_statement(), &mut Trivia::default())
    }

    /// Reports an error of syntax in the statement at `start`, unless it follows from another.
    #[cold]
    pub(crate) fn report_unless_spoiled(&mut self, start: usize, d: Diagnostic) {
        if !self.is_cascading(start) {
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

    /// Whether `start..end` may stand for a brace: it is a single token, holds a brace, or stands next
    /// to one.
    pub(crate) fn touches_brace(&self, start: usize, end: usize) -> bool {
        let is_brace = |b: u8| matches!(b, b'{' | b'}');
        let text = &self.src[start..end];
        let inside = Lexer::fragment(text)
            .any(|t| t.kind == TokenKind::Punct && is_brace(text[t.span.start as usize]));
        let before = self.before_statement().checked_sub(1);
        let after = scan::skip_trivia(self.src, end, &mut Trivia::default());
        Lexer::fragment(text).nth(1).is_none()
            || inside
            || before.is_some_and(|i| is_brace(self.src[i]))
            || !text.ends_with(b";") && is_brace(scan::peek(self.src, after))
    }
}

//! Error recovery: a statement that cannot be parsed becomes opaque, and parsing continues at the
//! next one.

use alloc::boxed::Box;
use ptx_ir::lex::scan::{self, Trivia};
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::RawBody;
use ptx_ir::{Code, Diagnostic, Opaque, OperandRange, Severity, Span, Statement};

use crate::cursor::{ParseResult, unclosed_string};
use crate::output::Level;
use crate::parser::Parser;
use crate::record::{Place, Record, StatementContext};
use crate::statement_extent::{
    closes_block, contains_declaration, contains_opcode, is_fragment, is_opcode, lacks_name,
    line_end, statement_end, touches_brace,
};

impl Parser<'_> {
    /// A `;` is missing before the next token. If a new statement begins there, that is all that is
    /// wrong: it is reported at what follows, and the statement is complete.
    #[cold]
    pub(crate) fn missing_semicolon(&mut self, expected: &str) -> ParseResult<()> {
        let (src, pos, end) = (self.cursor.src, self.cursor.pos, self.cursor.last);
        let new_line = src[end..pos].contains(&b'\n');
        let next = self.cursor.peek();
        let begins = match next {
            b'@' => new_line || guards_instruction(&src[pos..line_end(src, pos)]),
            b'}' => closes_block(src, pos),
            b'{' | b'.' => new_line,
            0 if self.cursor.at_end() => true,
            _ if self.cursor.at_ident() => {
                new_line || is_opcode(&src[pos..self.cursor.token_end()])
            }
            _ => false,
        };
        if !begins {
            return Err(self.cursor.unexpected(expected));
        }
        let start = self.statement_start();
        let last = Span::at(end.saturating_sub(1), end);
        // ptxas reports it at what follows.
        let (next_end, found) = self.cursor.found();
        let span = if next_end > pos {
            Span::at(pos, next_end)
        } else {
            last
        };
        let message = format!("expected `;` before {found}");
        let mut d = Diagnostic::error(Code::MissingSemicolon, span, message)
            .with_label(last, "expected `;` after this")
            .with_help("add `;` at the end of the statement");
        // A brace may rather be in the wrong place.
        let mismatch = next == b'{' || next == b'}' && !new_line;
        if !mismatch {
            d = d.with_fix(Span::at(end, end), ";");
            // Another word may belong to the statement.
            if !self.cursor.at_ident() || self.begins_statement() {
                d = d.machine_applicable();
            }
        }
        self.report_unless_cascading(start, d);
        // The last token may not be what was meant.
        self.scopes.labels.forget_use_before(src, end);
        // Where a `}` is in its place, the block may well continue.
        if mismatch {
            self.reporter.cascade.brace_mismatch();
        }
        if !self.out.in_body() && next != b'.' {
            self.reporter.cascade.desync();
        }
        Ok(())
    }

    /// Whether the word here is an opcode or a label.
    fn begins_statement(&self) -> bool {
        let (src, end) = (self.cursor.src, self.cursor.token_end());
        let next = scan::skip_trivia(src, end, &mut Trivia::default());
        is_opcode(&src[self.cursor.pos..end]) || scan::peek(src, next) == b':'
    }

    /// A statement of a body that begins at `start` cannot be parsed.
    #[cold]
    #[allow(clippy::boxed_local, reason = "errors are boxed where they arise")]
    pub(crate) fn fail_statement(&mut self, start: usize, record: Box<Record>) {
        if self.empty_declaration(start) {
            self.out.scratch.clear();
            return self.opaque_statement(start, self.cursor.last);
        }
        let src = self.cursor.src;
        let (code, severity) = (record.error.code, record.error.severity);
        let at = record.error.span.start as usize;
        // The body may have ended before it.
        let misplaced = code == Code::MisplacedDirective && at == start;
        let cascading =
            self.is_cascading(start) || misplaced && self.reporter.cascade.has_brace_mismatch();
        let fragment = is_fragment(&src[start..]);
        let unclosed = code == Code::UnclosedBrace;
        let error = cascading || severity == Severity::Error;
        if !cascading {
            let record = self.in_statement(start, *record);
            if record.error.code == Code::UnterminatedString {
                // It contains statements.
                self.suppress_names(record.error.span.start as usize + 1, at);
            }
            self.report(record);
        }
        if fragment && error {
            self.forget_statement_before(start);
        }
        self.out.scratch.clear();
        self.scopes.labels.forget_statement();
        let end = statement_end(src, start);
        let declares = contains_declaration(&src[start..end]);
        if declares || fragment || cascading || !contains_opcode(&src[start..end]) {
            self.suppress_names(start, end);
        }
        if error {
            let previous_end = self.out.end_of_previous();
            if fragment || unclosed || touches_brace(src, previous_end, start, end) {
                self.reporter.cascade.brace_mismatch();
            }
            let unlabelled = src[start] == b':';
            let named = if fragment && !unlabelled { end } else { at };
            if (declares || fragment) && lacks_name(&src[start..named.max(start)]) {
                self.lost_declaration(Level::Body);
            }
            self.reporter.cascade.poison(end);
        }
        self.opaque_statement(start, end);
    }

    /// The error of the statement or item at `start`, with what a repair has to know of its place. A string that is not closed
    /// is the error of what follows it.
    #[cold]
    pub(crate) fn in_statement(&self, start: usize, record: Record) -> Record {
        let is_syntax = matches!(
            record.error.code,
            Code::UnexpectedToken | Code::StrayByte | Code::PreprocessorLine
        );
        if !is_syntax {
            return record;
        }
        let src = self.cursor.src;
        let offset = record.error.span.start as usize;
        let unclosed = unclosed_string(src, offset).filter(|_| src.get(offset) != Some(&0));
        if let Some(unclosed) = unclosed {
            return unclosed.into();
        }
        let is_declared = |base: usize, token: Token| {
            let name = token.span.shifted(base as u32);
            token.kind == TokenKind::Ident
                && self.is_declared(name.start as usize, name.end as usize)
        };
        let preceding = &src[start.min(offset)..offset];
        let last = Lexer::fragment(preceding)
            .filter(|t| !t.kind.is_trivia())
            .last();
        let next = Lexer::fragment(&src[offset..]).next();
        let context = StatementContext {
            start,
            semicolon: self.statement_before(start),
            follows_declared: last.is_some_and(|t| is_declared(start, t)),
            is_declared: next.is_some_and(|t| is_declared(offset, t)),
        };
        Record {
            place: Some(Place::Statement(context)),
            ..record
        }
    }

    /// A declaration was reported whose name may not be among those it mentions.
    #[cold]
    pub(crate) fn lost_declaration(&mut self, level: Level) {
        if self.reporter.cascade.has_errors() {
            self.suppressed.lost_declaration(level);
        }
    }

    /// A fragment at `start` may be part of the statement before it on its line: what that one uses
    /// is not reported, and it stays text.
    #[cold]
    pub(crate) fn forget_statement_before(&mut self, start: usize) {
        let Some((id, statement)) = self.out.body.statements().next_back() else {
            return;
        };
        let span = self.out.body.source_span(id);
        let gap = self.cursor.src.get(span.end as usize..start);
        if !self.out.in_body() || gap.is_none_or(|g| g.contains(&b'\n')) {
            return;
        }
        self.scopes.labels.forget_uses_from(span.start as usize);
        if let Statement::Inst(_) = statement {
            let mentions = OperandRange::default();
            let opaque = self.out.body.opaques_mut().push(Opaque::new(mentions));
            self.out.body.statements_mut()[id] = Statement::Opaque(opaque);
        }
    }

    /// Everything that `start..end` names, as far as it is known.
    pub(crate) fn mentions(&mut self, start: usize, end: usize) -> OperandRange {
        let mark = self.out.scratch.len();
        let uses = self.scopes.labels.uses.len();
        let text = &self.cursor.src[start..end];
        for token in Lexer::fragment(text).filter(|t| t.kind == TokenKind::Ident) {
            let (a, b) = (token.span.start as usize, token.span.end as usize);
            if a > 0 || !is_opcode(&text[a..b]) {
                let operand = self.name_operand(start + a, start + b);
                self.out.scratch.push(operand);
            }
        }
        // Undeclared names here are not reported.
        self.scopes.labels.uses.truncate(uses);
        self.out.range_from(mark)
    }
}

/// Whether a line begins with a guard and a word that it guards.
fn guards_instruction(line: &[u8]) -> bool {
    let Some(guard) = line.strip_prefix(b"@") else {
        return false;
    };
    let name = guard.strip_prefix(b"!").unwrap_or(guard);
    if !scan::starts_ident(name, 0) {
        return false;
    }
    let following = name[scan::ident_end(name, 0)..].trim_ascii_start();
    scan::starts_ident(following, 0)
}

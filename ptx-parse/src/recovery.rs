//! Error recovery: a statement that cannot be parsed becomes opaque, and parsing continues at the
//! next one.

use alloc::boxed::Box;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::RawBody;
use ptx_ir::raw::scan::{self, Trivia};
use ptx_ir::{Code, Diagnostic, Opaque, OperandRange, Severity, Span, Statement};

use crate::cursor::{ParseResult, unclosed_string};
use crate::output::Level;
use crate::parser::Parser;
use crate::record::{Place, Record, StatementContext};
use crate::statement_extent::{
    self, closes_block, contains_declaration, contains_opcode, is_opcode, lacks_name, line_end,
    statement_end, touches_brace,
};

impl Parser<'_> {
    /// Handles a missing `;` before the next token. If a new statement begins there, only the `;` is missing: it is reported
    /// at the next token, and the statement is complete. Otherwise the error is that of an unexpected token.
    #[cold]
    pub(crate) fn missing_semicolon(&mut self, expected: &str) -> ParseResult<()> {
        let (src, pos, end) = (self.cursor.src, self.cursor.pos, self.cursor.last);
        let new_line = src[end..pos].contains(&b'\n');
        let next = self.cursor.peek();
        let is_statement_next = match next {
            b'@' => new_line || guards_instruction(&src[pos..line_end(src, pos)]),
            b'}' => closes_block(src, pos),
            b'{' | b'.' => new_line,
            0 if self.cursor.at_end() => true,
            _ if self.cursor.at_ident() => {
                new_line || is_opcode(&src[pos..self.cursor.token_end()])
            }
            _ => false,
        };
        if !is_statement_next {
            return Err(self.cursor.unexpected(expected));
        }
        let start = self.statement_start();
        let last = Span::at(end.saturating_sub(1), end);
        // ptxas reports the error at the next token.
        let (next_end, next_token) = self.cursor.describe_token();
        let span = if next_end > pos {
            Span::at(pos, next_end)
        } else {
            last
        };
        let message = format!("expected `;` before {next_token}");
        let mut error = Diagnostic::error(Code::MissingSemicolon, span, message)
            .with_label(last, "expected `;` after this")
            .with_help("add `;` at the end of the statement");
        // It is more likely that a brace is in the wrong place.
        let mismatch = next == b'{' || next == b'}' && !new_line;
        if !mismatch {
            error = error.with_fix(Span::at(end, end), ";");
            // A word that is neither an opcode nor a label may belong to the statement.
            if !self.cursor.at_ident() || self.begins_statement() {
                error = error.machine_applicable();
            }
        }
        self.report_unless_cascading(start, error);
        // The last name may be a part of the next statement.
        self.scopes.labels.forget_use_before(src, end);
        // The block may continue after a `}` in the wrong place.
        if mismatch {
            self.reporter.cascade.brace_mismatch();
        }
        if !self.out.in_body() && next != b'.' {
            self.reporter.cascade.desync();
        }
        Ok(())
    }

    /// Whether the word at the cursor is an opcode or a label.
    fn begins_statement(&self) -> bool {
        let (src, end) = (self.cursor.src, self.cursor.token_end());
        let next = scan::skip_trivia(src, end, &mut Trivia::default());
        is_opcode(&src[self.cursor.pos..end]) || scan::peek(src, next) == b':'
    }

    /// Reports a statement of a body that begins at `start` and cannot be parsed, and keeps its text.
    #[cold]
    #[allow(clippy::boxed_local, reason = "errors are boxed where they arise")]
    pub(crate) fn fail_statement(&mut self, start: usize, record: Box<Record>) {
        if self.empty_declaration(start) {
            self.out.scratch.clear();
            return self.opaque_statement(start, self.cursor.last);
        }
        let src = self.cursor.src;
        let (code, severity) = (record.error.code, record.error.severity);
        let error_start = record.error.span.start as usize;
        // The body may have ended before the directive.
        let is_misplaced = code == Code::MisplacedDirective && error_start == start;
        let is_cascading =
            self.is_cascading(start) || is_misplaced && self.reporter.cascade.has_brace_mismatch();
        let is_fragment = statement_extent::is_fragment(&src[start..]);
        let is_unclosed = code == Code::UnclosedBrace;
        let is_error = is_cascading || severity == Severity::Error;
        if !is_cascading {
            let record = self.in_statement(start, *record);
            if record.error.code == Code::UnterminatedString {
                // The string contains the next statements.
                self.suppress_names(record.error.span.start as usize + 1, error_start);
            }
            self.report(record);
        }
        if is_fragment && is_error {
            self.forget_statement_before(start);
        }
        self.out.scratch.clear();
        self.scopes.labels.forget_statement();
        let end = statement_end(src, start);
        let declares = contains_declaration(&src[start..end]);
        if declares || is_fragment || is_cascading || !contains_opcode(&src[start..end]) {
            self.suppress_names(start, end);
        }
        if is_error {
            let previous_end = self.out.end_of_previous();
            if is_fragment || is_unclosed || touches_brace(src, previous_end, start, end) {
                self.reporter.cascade.brace_mismatch();
            }
            let begins_with_colon = src[start] == b':';
            let examined_end = if is_fragment && !begins_with_colon {
                end
            } else {
                error_start
            };
            if (declares || is_fragment) && lacks_name(&src[start..examined_end.max(start)]) {
                self.lost_declaration(Level::Body);
            }
            self.reporter.cascade.poison(end);
        }
        self.opaque_statement(start, end);
    }

    /// Adds the context of the statement or item at `start` to a syntax error. If a string before the error is not closed,
    /// that is the error.
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

    /// Records a declaration that could not be parsed, and whose name may be unknown.
    #[cold]
    pub(crate) fn lost_declaration(&mut self, level: Level) {
        if self.reporter.cascade.has_errors() {
            self.suppressed.lost_declaration(level);
        }
    }

    /// Makes the previous statement opaque, and does not report its names, if it is on the line of the fragment at `start`: the
    /// fragment may be a part of the statement.
    #[cold]
    pub(crate) fn forget_statement_before(&mut self, start: usize) {
        let Some((id, statement)) = self.out.body.statements().next_back() else {
            return;
        };
        let span = self.out.body.source_span(id);
        let gap = self.cursor.src.get(span.end as usize..start);
        if !self.out.in_body() || gap.is_none_or(|gap| gap.contains(&b'\n')) {
            return;
        }
        self.scopes.labels.forget_uses_from(span.start as usize);
        if let Statement::Inst(_) = statement {
            let mentions = OperandRange::default();
            let opaque = self.out.body.opaques_mut().push(Opaque::new(mentions));
            self.out.body.statements_mut()[id] = Statement::Opaque(opaque);
        }
    }

    /// The operands for all names in `start..end`.
    pub(crate) fn mentions(&mut self, start: usize, end: usize) -> OperandRange {
        let mark = self.out.scratch.len();
        let uses = self.scopes.labels.uses.len();
        let text = &self.cursor.src[start..end];
        for token in Lexer::fragment(text).filter(|t| t.kind == TokenKind::Ident) {
            let is_first = token.span.start == 0;
            if !is_first || !is_opcode(token.span.of(text)) {
                let name = token.span.shifted(start as u32);
                let operand = self.name_operand(name.start as usize, name.end as usize);
                self.out.scratch.push(operand);
            }
        }
        // Undeclared names in this text are not reported.
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

//! The parser: a cursor, its output, and the state between them. Other files with an
//! `impl Parser` contain a part of the grammar each.

use alloc::string::String;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::scan::{self, Trivia};
use ptx_ir::{
    Budget, BudgetExhausted, Code, Diagnostic, FuncId, Limits, Module, NameId, SourceText, Span,
    Statement, StmtId,
};

use crate::cascade;
use crate::cursor::Cursor;
use crate::header_state::HeaderState;
use crate::mnemonic_table::MnemonicTable;
use crate::output::Output;
use crate::record::{Cause, Record};
use crate::reporter::{Records, Reporter};
use crate::scope::Scopes;
use crate::suppressed_names::SuppressedNames;
use crate::visit::Visits;

/// The state of parsing a source.
pub(crate) struct Parser<'s> {
    pub(crate) cursor: Cursor<'s>,
    pub(crate) out: Output,
    pub(crate) reporter: Reporter,
    pub(crate) scopes: Scopes,
    pub(crate) mnemonics: MnemonicTable,
    pub(crate) suppressed: SuppressedNames<'s>,
    pub(crate) header: HeaderState,
    pub(crate) limits: Limits,
    /// Set if the work is limited.
    pub(crate) budget: Option<Charge<'s>>,
    /// The offset from which the budget is charged; beyond every source without a budget.
    pub(crate) next_charge: usize,
    /// The visits of bodies, if bodies are visited and not kept.
    pub(crate) visits: Option<Visits<'s>>,
    /// Whether all characters of the source were checked and all are allowed.
    pub(crate) is_plain: bool,
    /// The function of the last body.
    pub(crate) function: Option<FuncId>,
}

/// The number of bytes after which the budget is charged.
const CHARGED_BYTES: usize = 1 << 16;

/// The charges of a parser to its budget.
pub(crate) struct Charge<'s> {
    budget: &'s Budget,
    /// The offset up to which the budget was charged.
    end: usize,
    is_exhausted: bool,
}

impl<'s> Parser<'s> {
    pub(crate) fn new(src: &'s [u8], source: SourceText, limits: Limits) -> Self {
        Self {
            cursor: Cursor::new(src),
            out: Output::new(source),
            reporter: Reporter::new(limits.diagnostics),
            scopes: Scopes::default(),
            mnemonics: MnemonicTable::for_source(src.len()),
            suppressed: SuppressedNames::default(),
            header: HeaderState::default(),
            limits,
            budget: None,
            next_charge: usize::MAX,
            visits: None,
            is_plain: false,
            function: None,
        }
    }

    /// Parses the whole source, unless it is too large. Returns whether it was parsed.
    pub(crate) fn source(&mut self, text: &SourceText) -> bool {
        let readable = text.len() <= self.limits.source_bytes;
        if readable {
            self.is_plain = is_plain(text);
            self.module();
        } else {
            self.report_too_large();
        }
        readable
    }

    /// Charges the bytes that are read to a budget.
    pub(crate) fn limit_work(&mut self, budget: &'s Budget) {
        self.budget = Some(Charge {
            budget,
            end: 0,
            is_exhausted: false,
        });
        self.next_charge = 0;
    }

    /// Charges the budget if enough was read since the last charge. When it is exhausted, the rest of the source is skipped.
    #[inline]
    pub(crate) fn charge(&mut self) {
        if self.cursor.pos >= self.next_charge {
            self.charge_budget();
        }
    }

    #[cold]
    fn charge_budget(&mut self) {
        let position = self.cursor.pos;
        if let Some(charge) = &mut self.budget {
            if charge.budget.spend(position - charge.end).is_err() {
                charge.is_exhausted = true;
                self.cursor.pos = self.cursor.src.len();
            }
            charge.end = position;
        }
        self.next_charge = position + CHARGED_BYTES;
    }

    /// Charges the bytes since the last charge, after the source was read.
    pub(crate) fn finish_charges(&mut self) -> Result<(), BudgetExhausted> {
        match &self.budget {
            Some(charge) if charge.is_exhausted => Err(BudgetExhausted),
            Some(charge) => charge.budget.spend(self.cursor.src.len() - charge.end),
            None => Ok(()),
        }
    }

    /// Reports a source beyond the limit, and keeps it as one opaque item.
    #[cold]
    fn report_too_large(&mut self) {
        let (len, limit) = (self.cursor.src.len(), self.limits.source_bytes);
        let message = format!("expected a source of at most {limit} bytes, found {len}");
        self.report(Diagnostic::error(
            Code::SourceTooLarge,
            Span::new(0, 0),
            message,
        ));
        let end = len.min(i32::MAX as usize);
        self.out.push_opaque_item(Default::default(), 0, end);
    }

    /// Reports characters that ptxas rejects outside of statements: NUL anywhere, and characters outside
    /// ASCII in strings and line markers.
    pub(crate) fn check_characters(&mut self, start: usize, end: usize) {
        let src = self.cursor.src.get(start..end).unwrap_or_default();
        if is_plain(src) {
            return;
        }
        let tokens = match start {
            0 => Lexer::new(src),
            _ => Lexer::fragment(src),
        };
        for token in tokens {
            let text = token.span.of(src);
            let invalid = match token.kind {
                TokenKind::String | TokenKind::LineMarker => {
                    text.iter().position(|&b| b == 0 || b >= 0x80)
                }
                kind if kind.is_trivia() => memchr::memchr(0, text),
                _ => None,
            };
            if let Some(index) = invalid {
                let message = format!(
                    "expected an ASCII character, found `\\x{:02x}`",
                    text[index]
                );
                let offset = start + token.span.start as usize + index;
                let span = Span::at(offset, offset + 1);
                let diagnostic = Diagnostic::error(Code::StrayByte, span, message);
                let is_nul = text.get(index) == Some(&0);
                let cause = if is_nul {
                    Cause::Stated
                } else {
                    Cause::CharacterInText
                };
                self.report(Record::new(diagnostic, cause));
            }
        }
    }

    /// Returns the module, its names, and the errors in the order in which they were found.
    pub(crate) fn finish(mut self) -> (Module, Scopes, Records) {
        if !self.is_plain {
            self.check_characters(0, self.cursor.src.len());
        }
        let records = self.reporter.take_records();
        drop((self.mnemonics, self.suppressed));
        (self.out.finish(), self.scopes, records)
    }

    // --- errors ---

    #[cold]
    pub(crate) fn report(&mut self, record: impl Into<Record>) {
        self.reporter.report(record.into());
    }

    /// Reports an error with this message.
    #[cold]
    pub(crate) fn report_error(
        &mut self,
        code: Code,
        start: usize,
        end: usize,
        message: impl Into<String>,
    ) {
        self.report(Diagnostic::error(code, Span::at(start, end), message));
    }

    /// Whether a syntax error in the statement at `start` follows from another error.
    #[cold]
    pub(crate) fn is_cascading(&self, start: usize) -> bool {
        let cascade = &self.reporter.cascade;
        cascade.is_cascading(self.cursor.src, &self.out, start)
    }

    /// Whether a second declaration at `start` may be none.
    #[cold]
    pub(crate) fn doubts_declaration(&self, start: usize) -> bool {
        let cascade = &self.reporter.cascade;
        cascade.doubts_declaration(self.cursor.src, &self.out, start)
    }

    /// Whether a `}` without its `{` follows before the next function. `false` without an answer after too many calls.
    #[cold]
    pub(crate) fn closes_later(&mut self, start: usize) -> bool {
        let remaining = self.reporter.scans_left.checked_sub(1);
        self.reporter.scans_left = remaining.unwrap_or(0);
        remaining.is_some() && cascade::closes_later(self.cursor.src, start)
    }

    /// Reports a syntax error in the statement at `start`, unless it follows from another error.
    #[cold]
    pub(crate) fn report_unless_cascading(&mut self, start: usize, record: impl Into<Record>) {
        if !self.is_cascading(start) {
            self.report(record);
        }
    }

    /// Suppresses errors about undeclared names in `start..end`, where an error was reported.
    #[cold]
    pub(crate) fn suppress_names(&mut self, start: usize, end: usize) {
        let text = self.cursor.src.get(start..end).unwrap_or_default();
        self.suppressed.suppress(text, self.out.level);
    }

    // --- output ---

    /// The interned spelling of `start..end`.
    #[inline]
    pub(crate) fn intern(&mut self, start: usize, end: usize) -> NameId {
        self.out.intern(&self.cursor.src[start..end], start)
    }

    /// Adds a statement of the body that begins at `start` and ends with the last token.
    #[inline(always)]
    pub(crate) fn push(&mut self, statement: Statement, start: usize) -> StmtId {
        let (end, has_comments) = (self.cursor.last, self.cursor.trivia.comment);
        self.out.push_statement(statement, start, end, has_comments)
    }

    /// The offset of the statement or item being parsed.
    pub(crate) fn statement_start(&self) -> usize {
        let previous_end = self.out.end_of_previous();
        scan::skip_trivia(self.cursor.src, previous_end, &mut Trivia::default())
    }
}

/// Whether there is neither NUL nor a character outside ASCII.
pub(crate) fn is_plain(text: &[u8]) -> bool {
    // The inner loop has no early exit and is vectorized.
    text.chunks(1 << 14).all(|chunk| {
        chunk
            .iter()
            .fold(true, |is_plain, c| is_plain & matches!(c, 1..=0x7f))
    })
}

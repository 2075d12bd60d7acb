//! The state of one reading, and the smallest steps on it: blanks, tokens, errors.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use ptx_ir::lex::scan::{self, Trivia, class, is};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{
    Body, BodyId, Code, Diagnostic, Item, LabelId, Limits, Module, NameId, Opaque, Operand,
    OperandPool, ScopeId, Severity, SigId, Span, StmtSpan, SymbolId,
};

use crate::Parsed;
use crate::cascade::Trouble;
use crate::mnemonic::MnemonicCache;
use crate::module::HeaderState;
use crate::name_resolution::Forward;
use crate::scope::Names;
use crate::suppressed_names::Excuses;

/// A step of the grammar, or what was wrong with the text.
pub(crate) type ParseResult<T> = Result<T, Box<Diagnostic>>;

/// What the parser asks of a mnemonic.
#[derive(Copy, Clone)]
pub(crate) struct SigFacts {
    /// Whether all of its words are words of PTX.
    pub(crate) known: bool,
    /// Whether it takes lists in parentheses.
    pub(crate) lists: bool,
}

pub(crate) struct Parser<'s> {
    pub(crate) src: &'s [u8],
    pub(crate) pos: usize,
    /// One past the last token taken: where a statement ends and a missing `;` belongs.
    pub(crate) last: usize,
    /// Trivia since the statement began.
    pub(crate) trivia: Trivia,
    pub(crate) limits: Limits,
    pub(crate) module: Module,
    /// The body being read, behind those that wait for their tables.
    pub(crate) body: Body,
    /// The first body that waits, and where the source behind the one before goes on.
    waiting: (usize, usize),
    /// Whether statements of `body` are being read: operands then go to its pool.
    pub(crate) in_body: bool,
    pub(crate) header: HeaderState,
    /// Whether something missing in the header has been reported.
    pub(crate) header_reported: bool,
    /// Whether parameters being read get a meaning in the scope.
    pub(crate) binds_params: bool,
    /// Whether a function declared inside a body is being read.
    pub(crate) in_inner_function: bool,
    /// Functions declared inside the body at hand.
    pub(crate) late_symbols: Vec<(NameId, SymbolId, usize)>,
    /// Where the names of the parameters just read stand.
    pub(crate) param_places: Vec<(usize, usize)>,
    /// The scope of the body that statements are in.
    pub(crate) scope: ScopeId,
    pub(crate) forward: Forward,
    /// Labels mentioned that turned out to be names declared later.
    pub(crate) late: Vec<LabelId>,
    pub(crate) excuses: Excuses,
    pub(crate) trouble: Trouble,
    /// Mentions of labels before the current statement.
    pub(crate) statement_mark: usize,
    pub(crate) mnemonics: MnemonicCache,
    /// What to write instead of a mnemonic with an unknown word.
    pub(crate) suggestions: BTreeMap<(SigId, u32), Option<&'static str>>,
    /// What the parser asks of each signature, by its id.
    pub(crate) sig_facts: Vec<SigFacts>,
    /// Operands of unfinished lists and statements.
    pub(crate) scratch: Vec<Operand>,
    pub(crate) names: Names,
    /// How bad an unknown word is: a warning under versions newer than the one checked.
    pub(crate) unknown: Severity,
    diagnostics: Vec<Diagnostic>,
}

impl<'s> Parser<'s> {
    pub(crate) fn new(src: &'s [u8], source: Arc<[u8]>, limits: Limits) -> Self {
        Self {
            src,
            pos: 0,
            last: 0,
            trivia: Trivia::default(),
            limits,
            module: Module::with_source(source),
            body: Body::with_capacity(src.len().min(Body::SHARED_TEXT)),
            waiting: (0, 0),
            in_body: false,
            header: HeaderState::Empty,
            header_reported: false,
            binds_params: true,
            in_inner_function: false,
            late_symbols: Vec::new(),
            param_places: Vec::new(),
            scope: ScopeId::new(0),
            forward: Forward::default(),
            late: Vec::new(),
            excuses: Excuses::default(),
            trouble: Trouble::default(),
            statement_mark: 0,
            mnemonics: MnemonicCache::for_source(src.len()),
            suggestions: BTreeMap::new(),
            sig_facts: Vec::with_capacity(src.len().min(Body::SHARED_TEXT) / 100),
            scratch: Vec::new(),
            names: Names::default(),
            unknown: Severity::Error,
            diagnostics: Vec::new(),
        }
    }

    /// Keeps a source beyond the limit as it is.
    #[cold]
    pub(crate) fn too_large(&mut self) {
        let (len, most) = (self.src.len(), self.limits.source_bytes);
        let message = format!("the source has {len} bytes; at most {most} are read");
        self.report(Diagnostic::error(
            Code::SourceTooLarge,
            Span::new(0, 0),
            message,
        ));
        let opaque = Opaque {
            mentions: Default::default(),
        };
        let id = self.module.opaques.push(opaque);
        let origin = StmtSpan::new(Span::at(0, len.min(i32::MAX as usize)), false);
        self.module.push_item(Item::Opaque(id), origin);
    }

    /// Bytes that the assembler refuses even where a statement does not see them: NUL anywhere,
    /// others beyond ASCII in strings and line markers.
    fn foreign_bytes(&mut self) {
        if self.src.is_ascii() && memchr::memchr(0, self.src).is_none() {
            return;
        }
        for token in Lexer::new(self.src) {
            let text = token.span.of(self.src);
            let wrong = match token.kind {
                TokenKind::String | TokenKind::LineMarker => {
                    text.iter().position(|&b| b == 0 || b >= 0x80)
                }
                kind if kind.is_trivia() => memchr::memchr(0, text),
                _ => None,
            };
            if let Some(i) = wrong {
                let at = token.span.start as usize + i;
                let span = Span::at(at, at + 1);
                let message = "only ASCII may stand here";
                self.report(Diagnostic::error(Code::StrayByte, span, message));
            }
        }
    }

    /// Hands out what was read.
    pub(crate) fn finish(mut self) -> Parsed {
        self.foreign_bytes();
        let mut diagnostics = core::mem::take(&mut self.diagnostics);
        self.used_before_decl(&mut diagnostics);
        diagnostics.sort_by_key(|d| d.span.start);
        let (mut module, body, waiting) = self.into_tables();
        body.finish(module.bodies.values_mut().skip(waiting));
        Parsed {
            module,
            diagnostics,
        }
    }

    /// What was read; what reading alone needed is dropped before the tables are copied.
    fn into_tables(self) -> (Module, Body, usize) {
        (self.module, self.body, self.waiting.0)
    }

    /// Keeps a body; those of a long enough text get their tables together.
    pub(crate) fn keep_body(&mut self, body: Body) -> BodyId {
        let id = self.module.bodies.push(body);
        if self.pos - self.waiting.1 >= Body::SHARED_TEXT {
            let bodies = self.module.bodies.values_mut().skip(self.waiting.0);
            self.body.share(bodies);
            self.waiting = (self.module.bodies.len(), self.pos);
        }
        id
    }

    // --- bytes ---

    #[inline(always)]
    pub(crate) fn peek(&self) -> u8 {
        scan::peek(self.src, self.pos)
    }

    #[inline(always)]
    pub(crate) fn peek_at(&self, offset: usize) -> u8 {
        scan::peek(self.src, self.pos + offset)
    }

    #[inline]
    pub(crate) fn at_end(&self) -> bool {
        self.pos >= self.src.len()
    }

    /// Skips white space and comments.
    #[inline(always)]
    pub(crate) fn blanks(&mut self) {
        let (src, mut pos) = (self.src, self.pos);
        let mut b = scan::peek(src, pos);
        while is(b, class::BLANK) {
            self.trivia.newline |= b == b'\n';
            pos += 1;
            b = scan::peek(src, pos);
        }
        self.pos = pos;
        if b == b'/' || b == b'#' {
            self.blanks_slow();
        }
    }

    #[inline(never)]
    fn blanks_slow(&mut self) {
        self.pos = scan::skip_trivia(self.src, self.pos, &mut self.trivia);
    }

    /// Takes the punctuation mark `byte` if it is next, after blanks.
    #[inline(always)]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        self.blanks();
        if self.peek() == byte && self.pos < self.src.len() {
            self.pos += 1;
            self.last = self.pos;
            true
        } else {
            false
        }
    }

    /// Takes `byte` if it is the next token; else not even the blanks before it. For statements
    /// that end without a mark of their own.
    #[inline]
    pub(crate) fn eat_ahead(&mut self, byte: u8) -> bool {
        let mut next = self.pos;
        while is(scan::peek(self.src, next), class::BLANK) {
            next += 1;
        }
        let b = scan::peek(self.src, next);
        if b != byte && b != b'/' && b != b'#' {
            return false;
        }
        let mut seen = self.trivia;
        let next = scan::skip_trivia(self.src, next, &mut seen);
        if next < self.src.len() && self.src[next] == byte {
            self.trivia = seen;
            self.pos = next;
            self.take(1);
            true
        } else {
            false
        }
    }

    /// Takes `byte` or fails; `expected` names it for a person.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, expected: &str) -> ParseResult<()> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    #[inline]
    pub(crate) fn at_ident(&self) -> bool {
        scan::starts_ident(self.src, self.pos)
    }

    /// Takes the identifier that begins here and gives where it stands.
    #[inline(always)]
    pub(crate) fn take_ident(&mut self) -> (usize, usize) {
        let start = self.pos;
        let end = scan::ident_end(self.src, start);
        self.pos = end;
        self.last = end;
        (start, end)
    }

    /// Takes an identifier after blanks, or fails.
    pub(crate) fn ident(&mut self, expected: &str) -> ParseResult<(usize, usize)> {
        self.blanks();
        if self.at_ident() {
            Ok(self.take_ident())
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// The dotted word that begins here after blanks, without taking it.
    #[inline]
    pub(crate) fn dot_word(&mut self) -> Option<&'s [u8]> {
        self.blanks();
        if self.peek() == b'.' && is(self.peek_at(1), class::WORD) {
            let end = scan::dot_word_end(self.src, self.pos);
            Some(&self.src[self.pos..end])
        } else {
            None
        }
    }

    /// Takes `len` bytes that are one token.
    #[inline]
    pub(crate) fn take(&mut self, len: usize) {
        self.pos += len;
        self.last = self.pos;
    }

    /// The interned spelling of `start..end`.
    #[inline]
    pub(crate) fn intern(&mut self, start: usize, end: usize) -> NameId {
        NameId::new(
            self.module
                .names
                .intern_at(&self.src[start..end], start as u32)
                .0,
        )
    }

    /// The pool that operands go to.
    #[inline(always)]
    pub(crate) fn pool(&mut self) -> &mut OperandPool {
        if self.in_body {
            &mut self.body.pool
        } else {
            &mut self.module.pool
        }
    }

    /// Moves the operands from `mark` on from the scratch stack into a list of the pool.
    #[inline]
    pub(crate) fn list_from(&mut self, mark: usize) -> ptx_ir::ListId {
        let pool = if self.in_body {
            &mut self.body.pool
        } else {
            &mut self.module.pool
        };
        let id = pool.add_list(&self.scratch[mark..]);
        self.scratch.truncate(mark);
        id
    }

    /// The same without a list around them.
    #[inline]
    pub(crate) fn range_from(&mut self, mark: usize) -> ptx_ir::OperandRange {
        let pool = if self.in_body {
            &mut self.body.pool
        } else {
            &mut self.module.pool
        };
        let range = pool.extend(&self.scratch[mark..]);
        self.scratch.truncate(mark);
        range
    }

    // --- errors ---

    /// Keeps a diagnostic, up to the limit.
    #[cold]
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.trouble.note(&diagnostic);
        let most = self.limits.diagnostics;
        if self.diagnostics.len() < most {
            self.diagnostics.push(diagnostic);
        } else if self.diagnostics.len() == most {
            self.diagnostics.push(Diagnostic::error(
                Code::TooManyDiagnostics,
                diagnostic.span,
                format!("more than {most} diagnostics; the rest is not reported"),
            ));
        }
    }

    #[cold]
    pub(crate) fn error(
        &self,
        code: Code,
        start: usize,
        end: usize,
        message: String,
    ) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(code, Span::at(start, end), message))
    }

    /// What stands here, in words.
    pub(crate) fn found(&self) -> (usize, String) {
        if self.at_end() {
            return (self.pos, String::from("the end of the file"));
        }
        let end = self.token_end();
        let text = String::from_utf8_lossy(&self.src[self.pos..end.min(self.pos + 40)]);
        let text = text.escape_debug();
        let more = if end > self.pos + 40 { "…" } else { "" };
        (end, format!("`{text}{more}`"))
    }

    /// One past the token that begins here.
    pub(crate) fn token_end(&self) -> usize {
        let (src, pos) = (self.src, self.pos);
        let b = self.peek();
        if self.at_ident() {
            scan::ident_end(src, pos)
        } else if b.is_ascii_digit() {
            ptx_ir::lex::number::scan_number(src, pos).0
        } else if b == b'.' {
            scan::dot_word_end(src, pos)
        } else if b == b'"' {
            scan::string_end(src, pos).0
        } else if b == b'#' && scan::at_line_start(src, pos) {
            scan::line_end(src, pos)
        } else {
            let mut end = (pos + 1).min(src.len());
            if b >= 0x80 {
                while end < src.len() && src[end] >= 0x80 {
                    end += 1;
                }
            }
            end
        }
    }

    /// The error of something else standing where `expected` should.
    #[cold]
    pub(crate) fn unexpected(&mut self, expected: &str) -> Box<Diagnostic> {
        self.blanks();
        let (end, found) = self.found();
        let b = self.peek();
        let code = match b {
            b'#' => Code::PreprocessorLine,
            b'"' if !scan::string_end(self.src, self.pos).1 => Code::UnterminatedString,
            b'`' | b'\\' | b'\'' => Code::StrayByte,
            0x21..=0x7e => Code::UnexpectedToken,
            _ if self.at_end() => Code::UnexpectedToken,
            _ => Code::StrayByte,
        };
        let message = match code {
            Code::StrayByte => format!("{found} begins no token; expected {expected}"),
            Code::PreprocessorLine => {
                String::from("only line markers (`# 1 \"file\"`) are left after preprocessing")
            }
            Code::UnterminatedString => String::from("this string is not closed"),
            _ => format!("expected {expected}, found {found}"),
        };
        self.error(
            code,
            self.pos,
            end.max(self.pos + 1).min(self.src.len()).max(self.pos),
            message,
        )
    }
}

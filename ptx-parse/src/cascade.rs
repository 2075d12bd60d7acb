//! One mistake is one error: an error that follows from a reported one is not reported.

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::scan::{self, Trivia, class, is};
use ptx_ir::{Diagnostic, Item, Linkage, Severity, Statement};
use ptx_isa::internals::DirectivePosition;
use ptx_isa::{Directive, Modifier};

use crate::output::Output;

/// The reported errors from which later errors may follow. Nothing follows from warnings.
#[derive(Default)]
pub(crate) struct Cascade {
    /// One past the start of the last error; 0 if there is none.
    last_error: usize,
    /// The end of the text that the last syntax error makes unreliable.
    poisoned_to: usize,
    /// Whether the last item could not be parsed: the text after it at module level mostly belongs to it.
    desynced: bool,
    /// Whether a brace of the current function is missing or superfluous.
    brace_mismatch: bool,
}

/// The maximum number of statements after an error that are examined.
const MAX_LOOKBACK: usize = 200;

impl Cascade {
    // --- events ---

    /// Records that a diagnostic was reported.
    #[cold]
    pub(crate) fn reported(&mut self, diagnostic: &Diagnostic) {
        if diagnostic.severity != Severity::Error {
            return;
        }
        self.last_error = self.last_error.max(diagnostic.span.start as usize + 1);
        if matches!(diagnostic.code.number() / 100, 0 | 1 | 3) {
            self.poisoned_to = self.poisoned_to.max(diagnostic.span.end as usize);
        }
    }

    /// Marks the text before `end` as unreliable, if an error was reported.
    pub(crate) fn poison(&mut self, end: usize) {
        if self.has_errors() {
            self.poisoned_to = self.poisoned_to.max(end);
        }
    }

    /// Records that the braces of the current function may not match.
    pub(crate) fn brace_mismatch(&mut self) {
        self.brace_mismatch |= self.has_errors();
    }

    /// Records that the next items at module level may belong to an item that could not be parsed.
    pub(crate) fn desync(&mut self) {
        self.desynced |= self.has_errors();
    }

    /// Records the end of a function or section with a body, which ends a loss of synchronization, unless its braces
    /// may not match.
    pub(crate) fn definition_ended(&mut self) {
        self.desynced = core::mem::take(&mut self.brace_mismatch);
    }

    /// Records the end of a function without a body, which does not end a loss of synchronization.
    pub(crate) fn declaration_ended(&mut self) {
        self.desynced = self.desynced || core::mem::take(&mut self.brace_mismatch);
    }

    // --- questions ---

    /// Whether no reported error affects the text after `end`, if all items after it can be parsed: a loss of synchronization
    /// and braces that do not match only explain errors.
    pub(crate) fn is_over(&self, end: usize) -> bool {
        self.last_error <= end && self.poisoned_to <= end
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.last_error > 0
    }

    pub(crate) fn has_brace_mismatch(&self) -> bool {
        self.brace_mismatch
    }

    pub(crate) fn is_desynced(&self) -> bool {
        self.desynced
    }

    /// Whether a syntax error in the statement at `start` follows from another error, in this
    /// statement or in one before it.
    #[cold]
    pub(crate) fn is_cascading(&self, src: &[u8], out: &Output, start: usize) -> bool {
        self.last_error > start || self.follows_syntax_error(src, out, start)
    }

    /// Whether nothing was parsed between the last syntax error and `start`, and `start` does not
    /// clearly begin something new.
    #[cold]
    fn follows_syntax_error(&self, src: &[u8], out: &Output, start: usize) -> bool {
        let level_start = if out.in_body() {
            out.body.base() as usize
        } else {
            0
        };
        let follows_directly =
            self.poisoned_to > level_start && !parsed_since(out, self.poisoned_to);
        let is_desynced = !out.in_body() && self.desynced;
        (follows_directly || is_desynced) && !self.resynchronizes(src, out, start)
    }

    /// Whether a second declaration of a name, at `start`, may be none, because it or its scope is unreliable.
    #[cold]
    pub(crate) fn doubts_declaration(&self, src: &[u8], out: &Output, start: usize) -> bool {
        self.brace_mismatch || self.follows_syntax_error(src, out, start)
    }

    /// Whether the last statement of the body could not be parsed: it may contain the `}`.
    pub(crate) fn doubts_end_of_body(&self, out: &Output) -> bool {
        let end = self.poisoned_to;
        end > out.body.base() as usize && !parsed_since(out, end)
    }

    /// Whether the text at `start` may begin a statement, on a new line after the end of another one.
    fn resynchronizes(&self, src: &[u8], out: &Output, start: usize) -> bool {
        let previous_end = out.end_of_previous();
        let gap = src.get(previous_end..start).unwrap_or_default();
        let has_ended = match previous_end.checked_sub(1).map(|i| src[i]) {
            Some(b'}') => !self.brace_mismatch,
            last => last == Some(b';'),
        };
        has_ended && gap.contains(&b'\n') && may_begin(src, out, start)
    }

    /// Whether neither an item nor the end of the file follows the body that ends at `end`: its last brace
    /// does not close it.
    #[cold]
    pub(crate) fn ends_early(&self, src: &[u8], end: usize) -> bool {
        let next = scan::skip_trivia(src, end, &mut Trivia::default());
        if scan::peek(src, next) != b'.' {
            return next < src.len();
        }
        let word = &src[next..scan::dot_word_end(src, next)];
        self.brace_mismatch && !is_module_directive(word)
    }
}

/// The text from `start` up to the next function. The labels of a function that ends too early are there.
#[cold]
pub(crate) fn rest_of_function(src: &[u8], start: usize) -> &[u8] {
    let following = src.get(start..).unwrap_or_default();
    let mut dot_words = Lexer::fragment(following).filter(|t| t.kind == TokenKind::DotWord);
    let next_function = dot_words.find(|t| {
        let directive = Directive::from_text(t.span.of(following));
        matches!(directive, Some(Directive::Entry | Directive::Func))
    });
    &following[..next_function.map_or(following.len(), |t| t.span.start as usize)]
}

/// Whether a `}` without its `{` follows before the next function.
#[cold]
pub(crate) fn closes_later(src: &[u8], start: usize) -> bool {
    let following = rest_of_function(src, start);
    let mut depth = 0usize;
    for token in Lexer::fragment(following) {
        match token.span.of(following) {
            b"{" => depth += 1,
            b"}" if depth == 0 => return true,
            b"}" => depth -= 1,
            _ => {}
        }
    }
    false
}

fn is_module_directive(word: &[u8]) -> bool {
    Directive::from_text(word).is_some_and(|d| d.is_allowed_in(DirectivePosition::Module))
}

/// Whether a statement or item after `end` was parsed. Labels do not count.
fn parsed_since(out: &Output, end: usize) -> bool {
    if !out.in_body() {
        return out
            .module
            .items()
            .rev()
            .take_while(|&(id, _)| out.module.span(id).start as usize >= end)
            .enumerate()
            .any(|(i, (_, item))| i == MAX_LOOKBACK || !matches!(item, Item::Opaque(_)));
    }
    out.body
        .statements()
        .rev()
        .take_while(|&(id, _)| out.body.source_span(id).start as usize >= end)
        .enumerate()
        .any(|(i, (_, statement))| match statement {
            _ if i == MAX_LOOKBACK => true,
            Statement::Inst(id) => !out.body.operands(id).is_empty(),
            Statement::Decl(id) => out.body.declarations().decls[id].declarators.len > 0,
            Statement::Directive(_) | Statement::Prototype(_) | Statement::Function(_) => true,
            _ => false,
        })
}

/// Whether the token at `start` may begin a statement of the body, or else an item.
fn may_begin(src: &[u8], out: &Output, start: usize) -> bool {
    match scan::peek(src, start) {
        b'.' => {
            let word = &src[start..scan::dot_word_end(src, start)];
            // An unknown word is a misspelled directive, unless it is a modifier.
            out.in_body()
                || match Directive::from_text(word) {
                    Some(directive) => {
                        is_module_directive(word) || Linkage::from_directive(directive).is_some()
                    }
                    None => Modifier::from_text(word).is_none(),
                }
        }
        b'@' => out.in_body(),
        byte => out.in_body() && (byte == b';' || is(byte, class::START)),
    }
}

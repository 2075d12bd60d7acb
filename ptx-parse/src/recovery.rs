//! What happens to a statement that is not understood: it becomes opaque, and reading goes on at
//! the next one.

use alloc::string::String;
use ptx_ir::lex::scan::{self, Trivia, class, is};
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Code, Diagnostic, Opaque, Severity, Span, Statement};
use ptx_isa::Directive;

use crate::parser::{ParseResult, Parser};

impl Parser<'_> {
    /// A `;` is missing before what stands here. If a new statement begins here, that is all that
    /// is wrong: it is reported at what follows, and the statement is complete.
    #[cold]
    pub(crate) fn missing_semicolon(&mut self, expected: &str) -> ParseResult<()> {
        let gap = &self.src[self.last..self.pos];
        let new_line = gap.contains(&b'\n');
        let begins = match self.peek() {
            b'@' => true,
            b'}' => self.closes_block(self.pos),
            b'{' | b'.' => new_line,
            0 if self.at_end() => true,
            _ if self.at_ident() => {
                new_line || Self::is_opcode(&self.src[self.pos..self.token_end()])
            }
            _ => false,
        };
        if !begins {
            return Err(self.unexpected(expected));
        }
        let start = self.statement_start();
        let end = self.last;
        let last = Span::at(end.saturating_sub(1), end);
        // The assembler notices it at what follows, and so does a reader who knows its messages.
        let next = match self.token_end() {
            to if to > self.pos => Span::at(self.pos, to),
            _ => last,
        };
        let message = String::from("the statement before this has no `;` at its end");
        let d = self.error(
            Code::MissingSemicolon,
            next.start as usize,
            next.end as usize,
            message,
        );
        let d = d.with_label(last, "here it ends");
        self.report_unless_spoiled(start, d.with_help("add `;` behind it"));
        // The last token may not be what was meant.
        self.forward.rewind_last(self.src, end);
        // Where a `}` stands in its place, the block may well go on.
        if self.peek() == b'{' || self.peek() == b'}' && !new_line {
            self.trouble.brace_mismatch();
        }
        if !self.in_body && self.peek() != b'.' {
            self.trouble.desync();
        }
        Ok(())
    }

    /// Whether the `}` at `at` ends a block: one that is followed on its line by what goes on an
    /// operand list, and begins no statement, is a brace too many in a statement.
    fn closes_block(&self, at: usize) -> bool {
        let rest = self.src.get(at + 1..).unwrap_or_default();
        let blanks = rest
            .iter()
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count();
        let next = at + 1 + blanks;
        match scan::peek(self.src, next) {
            b',' | b';' | b'|' | b']' | b')' => false,
            b if is(b, class::START | class::DIGIT) => {
                let end = scan::ident_end(self.src, next);
                Self::is_opcode(&self.src[next..end]) || scan::peek(self.src, end) == b':'
            }
            _ => true,
        }
    }

    /// A statement of a body that begins at `start` cannot be understood.
    #[cold]
    pub(crate) fn fail_statement(&mut self, start: usize, diagnostic: Diagnostic) {
        if self.empty_declaration(start) {
            self.scratch.clear();
            return self.opaque_statement(start, self.last);
        }
        let at = diagnostic.span.start as usize;
        // The body may have ended before it.
        let misplaced = diagnostic.code == Code::MisplacedDirective && at == start;
        let spoiled = self.is_cascading(start) || misplaced && self.trouble.doubts_braces();
        let fragment = self.is_fragment(start);
        let error = spoiled || diagnostic.severity == Severity::Error;
        if !spoiled {
            self.report(diagnostic);
        }
        if fragment && error {
            self.forget_statement_before(start);
        }
        self.scratch.clear();
        self.forward.rewind(self.statement_mark);
        let end = self.statement_end(start);
        let declares = self.holds_declaration(start, end);
        if declares || fragment || spoiled || !self.holds_opcode(start, end) {
            self.excuse_names(start, end);
        }
        if error {
            if fragment || self.touches_brace(start, end) {
                self.trouble.brace_mismatch();
            }
            let unlabelled = self.src[start] == b':';
            let named = if fragment && !unlabelled { end } else { at };
            if (declares || fragment) && self.lacks_name(start, named) {
                self.note_lost_decl(true);
            }
            self.trouble.poison(end);
        }
        self.opaque_statement(start, end);
    }

    /// A piece of a statement may have been torn from the one before it on its line: what that one
    /// mentions is no mistake of its own, and it stays text.
    #[cold]
    pub(crate) fn forget_statement_before(&mut self, start: usize) {
        let Some((id, statement)) = self.body.statements().next_back() else {
            return;
        };
        let span = self.body.source_span(id);
        let gap = self.src.get(span.end as usize..start);
        if !self.in_body || gap.is_none_or(|g| g.contains(&b'\n')) {
            return;
        }
        self.forward.rewind_to(span.start as usize);
        if let Statement::Inst(_) = statement {
            let mentions = Default::default();
            let id_of_text = self.body.opaques.push(Opaque { mentions });
            self.body.statements[id] = Statement::Opaque(id_of_text);
        }
    }

    fn holds_opcode(&self, start: usize, end: usize) -> bool {
        let text = &self.src[start..end];
        Lexer::fragment(text)
            .any(|t| t.kind == TokenKind::Ident && Self::is_opcode(t.span.of(text)))
    }

    /// Whether a word of a declaration stands in `start..end`, not as a modifier.
    pub(crate) fn holds_declaration(&self, start: usize, end: usize) -> bool {
        let text = &self.src[start..end];
        Lexer::fragment(text).any(|t| {
            let before = (t.span.start as usize).checked_sub(1).map(|i| text[i]);
            t.kind == TokenKind::DotWord
                && before.is_none_or(|b| is(b, class::BLANK))
                && Directive::from_text(t.span.of(text)).is_some_and(Self::begins_declaration)
        })
    }

    /// Makes `start..end` an opaque statement of the body.
    pub(crate) fn opaque_statement(&mut self, start: usize, end: usize) {
        self.pos = end;
        self.last = end;
        let mentions = self.mentions(start, end);
        let id = self.body.opaques.push(Opaque { mentions });
        // Its text is printed as it is, comments and all.
        self.trivia.comment = false;
        self.push(Statement::Opaque(id), start, end);
    }

    /// Everything that `start..end` names, as far as it is known.
    pub(crate) fn mentions(&mut self, start: usize, end: usize) -> ptx_ir::OperandRange {
        let mark = self.scratch.len();
        let forward = self.forward.mark();
        for token in Lexer::fragment(&self.src[start..end]).filter(|t| t.kind == TokenKind::Ident) {
            let (a, b) = (
                start + token.span.start as usize,
                start + token.span.end as usize,
            );
            if a > start || !Self::is_opcode(&self.src[a..b]) {
                let operand = self.name_operand(a, b);
                self.scratch.push(operand);
            }
        }
        // These mentions are no mistakes of their own.
        self.forward.rewind(forward);
        self.range_from(mark)
    }

    /// Where the statement that begins at `start` ends, at least one token on: behind a `;`, before
    /// a brace that is not its own, or before a line that begins a new statement.
    pub(crate) fn statement_end(&self, start: usize) -> usize {
        self.find_end(start).max((start + 1).min(self.src.len()))
    }

    fn find_end(&self, start: usize) -> usize {
        let src = self.src;
        let mut depth = 0usize;
        let mut end = start;
        let mut fresh = false;
        // Whether words of the statement, all on one line, were seen: `ld.v2.f32 {a, b}`.
        let (mut one_line, mut worded) = (true, false);
        for token in Lexer::fragment(&src[start..]) {
            let at = start + token.span.start as usize;
            let text = token.span.of(&src[start..]);
            if token.kind.is_trivia() {
                fresh |= text.contains(&b'\n') || token.kind == TokenKind::LineMarker;
                one_line &= !fresh;
                continue;
            }
            if at > start {
                if fresh && self.begins_statement(token, text, at + text.len(), depth) {
                    return end;
                }
                let ends = match text {
                    b"{" => !(one_line && worded || self.is_operand_brace(start, at)),
                    b"}" => self.closes_block(at),
                    _ => false,
                };
                if depth == 0 && ends {
                    return end;
                }
            }
            fresh = false;
            worded |= text.iter().any(u8::is_ascii_alphanumeric);
            end = start + token.span.end as usize;
            match text {
                b";" => return end,
                b"{" => depth += 1,
                b"}" if at == start => return end,
                b"}" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        end
    }

    /// Whether a `{` at `at` opens a vector or initialiser of the statement, not a block.
    fn is_operand_brace(&self, start: usize, at: usize) -> bool {
        let before = self.src[start..at]
            .iter()
            .rev()
            .find(|b| !b.is_ascii_whitespace());
        matches!(before, Some(b',' | b'[' | b'=' | b'|' | b'('))
    }

    /// Whether a token at the beginning of a line looks like the start of a statement.
    fn begins_statement(&self, token: Token, text: &[u8], end: usize, depth: usize) -> bool {
        match token.kind {
            TokenKind::Punct => text == b"@" || (text == b"}" && depth > 0),
            TokenKind::DotWord => Directive::from_text(text).is_some(),
            TokenKind::Ident => {
                let mut seen = Trivia::default();
                let next = scan::skip_trivia(self.src, end, &mut seen);
                Self::is_opcode(text) || scan::peek(self.src, next) == b':'
            }
            _ => false,
        }
    }
}

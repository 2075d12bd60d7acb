//! The statements of a function body, one after another, in a loop that knows no recursion.

use alloc::format;
use alloc::string::String;
use ptx_ir::lex::scan::{self, class, is};
use ptx_ir::{
    Body, Code, EntityId, Inst, Scope, ScopeId, Severity, SigId, Span, Statement, StmtSpan,
};
use ptx_isa::{Directive, Modifier};

use crate::parser::{ParseResult, Parser};

/// How reading a body ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum BodyEnd {
    /// At its `}`.
    Closed,
    /// At the end of the file, or before something that only stands at module level.
    Missing,
}

impl Parser<'_> {
    /// Reads the body whose `{` is next. The scope of the function is open already.
    pub(crate) fn body(&mut self) -> Body {
        let open = self.pos;
        self.body.base = open as u32;
        self.scope = ScopeId::new(0);
        self.take(1);
        let end = self.statements();
        if end == BodyEnd::Missing {
            if !self.trouble.doubts_braces() && !self.is_spoiled_end() {
                let message = String::from("this body is not closed");
                self.report(*self.error(Code::UnclosedBrace, open, open + 1, message));
            }
            self.trouble.brace_mismatch();
            while self.scope != ScopeId::new(0) {
                self.leave_scope();
            }
        }
        self.body.closed = end == BodyEnd::Closed;
        self.body.end = (self.last - open) as u32;
        self.close_scope(ScopeId::new(0));
        self.settle_labels();
        let body = self.body.split_off();
        self.in_body = false;
        body
    }

    fn statements(&mut self) -> BodyEnd {
        loop {
            self.blanks();
            if self.trivia.unterminated.is_some() {
                self.unterminated_comment();
            }
            self.trivia.comment = false;
            self.trivia.newline = false;
            self.statement_mark = self.forward.mark();
            let start = self.pos;
            let b = self.peek();
            if is(b, class::START) {
                self.instruction_or_label(start);
                continue;
            }
            match b {
                b'@' => self.guarded(start),
                b'.' => {
                    if self.begins_item() {
                        if !self.is_declaration() {
                            return BodyEnd::Missing;
                        }
                        let step = self.inner_function(start);
                        self.finish_statement(start, step);
                        continue;
                    }
                    let step = self.body_directive(start);
                    self.finish_statement(start, step);
                }
                b'{' => {
                    self.take(1);
                    self.enter_scope(start);
                }
                b'}' => {
                    self.take(1);
                    if self.scope == ScopeId::new(0) {
                        return BodyEnd::Closed;
                    }
                    self.close_block(start);
                }
                b';' => {
                    let before = self.body.statements.values().next_back();
                    let before = match before {
                        Some(Statement::Directive(id)) => Some(self.body.directives[*id].directive),
                        _ => None,
                    };
                    self.lone_semicolon(before);
                    self.opaque_statement(start, self.pos);
                }
                _ if self.at_end() => return BodyEnd::Missing,
                _ => {
                    let d = self.unexpected("a statement");
                    self.fail_statement(start, *d);
                }
            }
        }
    }

    /// Reports a block comment that runs to the end of the file.
    pub(crate) fn unterminated_comment(&mut self) {
        if let Some(start) = self.trivia.unterminated.take() {
            let start = start as usize;
            let message = String::from("this comment is not closed");
            let d = self.error(Code::UnterminatedComment, start, start + 2, message);
            self.report(d.with_help("close it with `*/`; comments do not nest"));
        }
    }

    // --- scopes ---

    fn enter_scope(&mut self, start: usize) {
        let open = self.push(Statement::Open(ScopeId::new(0)), start, self.pos);
        let parent = self.scope;
        self.body.inner_scopes.push(Scope {
            parent,
            open,
            close: None,
        });
        self.scope = ScopeId::from_index(self.body.inner_scopes.len());
        self.body.statements[open] = Statement::Open(self.scope);
        self.names.open_scope();
        if self.names.depth() as usize == self.limits.nesting.saturating_add(1) {
            let message = format!("blocks are nested deeper than {}", self.limits.nesting);
            self.report(*self.error(Code::NestingTooDeep, start, start + 1, message));
        }
    }

    fn close_block(&mut self, start: usize) {
        let scope = self.scope;
        let close = self.push(Statement::Close(scope), start, self.pos);
        if let Some(s) = self.body.inner_scopes.get_mut(scope.as_u32() as usize - 1) {
            s.close = Some(close);
        }
        self.leave_scope();
    }

    fn leave_scope(&mut self) {
        let parent = self
            .body
            .scope(self.scope)
            .map_or(ScopeId::new(0), |s| s.parent);
        self.scope = parent;
        self.close_scope(parent);
    }

    // --- statements ---

    /// Adds a statement that stands at `start..end` of the source.
    #[inline(always)]
    pub(crate) fn push(&mut self, s: Statement, start: usize, end: usize) -> ptx_ir::StmtId {
        let base = self.body.base as usize;
        let origin = StmtSpan::new(Span::at(start - base, end - base), self.trivia.comment);
        self.body.push_statement(s, origin)
    }

    /// What to do with a statement that was read, or not.
    #[inline]
    pub(crate) fn finish_statement(&mut self, start: usize, step: ParseResult<()>) {
        if let Err(d) = step {
            self.fail_statement(start, *d);
        }
    }

    fn guarded(&mut self, start: usize) {
        let mark = self.scratch.len();
        let step = self.guard().and_then(|negated| {
            self.blanks();
            if self.peek() == b'{' {
                // The block is read on its own; only the guard is wrong.
                let end = self.last;
                let message = String::from("a block cannot be guarded");
                let d = self.error(Code::UnexpectedToken, start, end, message);
                self.report(d.with_help("guard each instruction, or branch around the block"));
                self.trouble.brace_mismatch();
                self.scratch.truncate(mark);
                self.opaque_statement(start, end);
                return Ok(());
            }
            if !self.at_ident() {
                return Err(self.unexpected("an instruction behind the guard"));
            }
            self.instruction(start, mark, Some(negated))
        });
        self.finish_statement(start, step);
    }

    /// `@p` or `@!p`: pushes the predicate and says whether it is negated.
    fn guard(&mut self) -> ParseResult<bool> {
        self.take(1);
        let negated = self.eat(b'!');
        let (start, end) = self.ident("a predicate register behind `@`")?;
        if Self::is_opcode(&self.src[start..end]) && !self.is_declared(start, end) {
            self.pos = start;
            return Err(self.unexpected("a predicate register behind `@`"));
        }
        let mut predicate = self.name_operand(start, end);
        if self.peek() == b'.' {
            // A component of a vector of predicates does not exist, but is well formed.
            if let Some(word) = self.dot_word()
                && let Some(selector) = ptx_ir::Selector::from_text(&word[1..])
            {
                self.take(word.len());
                predicate = self.lane(selector, predicate);
            }
        }
        self.scratch.push(predicate);
        Ok(negated)
    }

    #[inline(always)]
    fn instruction_or_label(&mut self, start: usize) {
        if let Some(sig) = self.known_mnemonic() {
            let mark = self.scratch.len();
            let step = self.operands(start, mark, sig, None);
            return self.finish_statement(start, step);
        }
        if !self.at_ident() {
            let d = self.unexpected("a statement");
            return self.fail_statement(start, *d);
        }
        let end = scan::ident_end(self.src, start);
        if scan::peek(self.src, end) == b':' && scan::peek(self.src, end + 1) != b':' {
            self.pos = end + 1;
            self.last = self.pos;
            return self.label(start, end);
        }
        if self.is_spaced_label(end) {
            self.pos = end;
            self.blanks();
            self.take(1);
            return self.label(start, end);
        }
        let mark = self.scratch.len();
        let step = self.instruction(start, mark, None);
        self.finish_statement(start, step);
    }

    /// Whether blanks and then a colon follow the name that ends at `end`.
    #[inline]
    fn is_spaced_label(&self, end: usize) -> bool {
        let b = scan::peek(self.src, end);
        if b == b'.' || b == b';' {
            return false;
        }
        let mut seen = scan::Trivia::default();
        let next = scan::skip_trivia(self.src, end, &mut seen);
        scan::peek(self.src, next) == b':' && scan::peek(self.src, next + 1) != b':'
    }

    fn label(&mut self, start: usize, end: usize) {
        let id = self.set_label(start, end);
        self.push(Statement::Label(id), start, self.pos);
    }

    /// Reads an instruction whose opcode is next; its guard's predicate is on the scratch stack.
    #[inline(always)]
    fn instruction(&mut self, start: usize, mark: usize, guard: Option<bool>) -> ParseResult<()> {
        let at = self.pos;
        let sig = match self.known_mnemonic() {
            Some(sig) => sig,
            None => self.mnemonic()?,
        };
        if !self.is_known(sig) {
            self.operands(start, mark, sig, guard)?;
            self.unknown_instruction(at, sig);
            return Ok(());
        }
        self.operands(start, mark, sig, guard)
    }

    /// The instruction whose mnemonic stands at `at` has an unknown word, which was reported: what it
    /// mentions is no other mistake. An unknown opcode may in truth be a label without its colon, or
    /// stand in a declaration.
    #[cold]
    fn unknown_instruction(&mut self, at: usize, sig: SigId) {
        if self.unknown != Severity::Error {
            return;
        }
        self.forward.rewind(self.statement_mark);
        let signature = self.module.signature(sig);
        if signature.opcode().is_none() {
            let end = at + signature.opcode_text().len();
            let apart = scan::peek(self.src, end) != b'.';
            self.excuse_names(at, if apart { self.last } else { end });
        }
    }

    /// Reads the operands of an instruction and its `;`.
    #[inline(always)]
    fn operands(
        &mut self,
        start: usize,
        mark: usize,
        sig: SigId,
        guard: Option<bool>,
    ) -> ParseResult<()> {
        let lists = self.takes_lists(sig);
        if self.eat(b';') {
            self.push_instruction(start, mark, sig, guard);
            return Ok(());
        }
        if self.begins_next() {
            return self.cut_off(start, mark, sig, guard, "an operand or `;`");
        }
        let mut operand = self.operand(lists, true)?;
        self.blanks();
        if self.peek() == b'|' {
            operand = self.pair(operand)?;
            self.blanks();
        }
        self.scratch.push(operand);
        loop {
            match self.peek() {
                b',' => {
                    self.take(1);
                    self.blanks();
                }
                b';' => {
                    self.take(1);
                    break;
                }
                _ => {
                    return self.cut_off(start, mark, sig, guard, "`,` or `;`");
                }
            }
            let operand = self.operand(lists, false)?;
            self.scratch.push(operand);
            self.blanks();
        }
        self.push_instruction(start, mark, sig, guard);
        Ok(())
    }

    /// An instruction without its `;`. With another statement behind it on its line it may not be
    /// whole: it stays text.
    #[cold]
    fn cut_off(
        &mut self,
        start: usize,
        mark: usize,
        sig: SigId,
        guard: Option<bool>,
        expected: &str,
    ) -> ParseResult<()> {
        let whole = self.src[self.last..self.pos].contains(&b'\n') || self.at_end();
        self.missing_semicolon(expected)?;
        if whole {
            self.push_instruction(start, mark, sig, guard);
        } else {
            self.scratch.truncate(mark);
            self.opaque_statement(start, self.last);
        }
        Ok(())
    }

    /// Whether a new statement stands where the first operand should: `ret` without its `;`.
    #[inline]
    fn begins_next(&self) -> bool {
        match self.peek() {
            b'}' | b'@' => true,
            b if is(b, class::START) => self.trivia.newline && self.begins_instruction(),
            _ => self.at_end(),
        }
    }

    /// Whether an opcode with a modifier stands here.
    #[cold]
    fn begins_instruction(&self) -> bool {
        let end = self.token_end();
        let dot = scan::peek(self.src, end) == b'.';
        let word = scan::dot_word_end(self.src, end);
        dot && Self::is_opcode(&self.src[self.pos..end])
            && Modifier::from_text(&self.src[end..word]).is_some()
    }

    #[inline(always)]
    fn push_instruction(&mut self, start: usize, mark: usize, sig: SigId, guard: Option<bool>) {
        let range = self.body.pool.extend(&self.scratch[mark..]);
        self.scratch.truncate(mark);
        let inst = Inst::new(sig, range, guard.is_some(), guard == Some(true));
        let id = self.body.insts.push(inst);
        self.push(Statement::Inst(id), start, self.last);
    }

    /// Whether a function or another item of the module begins at this dot.
    #[inline]
    fn begins_item(&mut self) -> bool {
        // `.entry`, `.extern`, `.func`, `.visible`, `.weak`, `.common`
        if !matches!(self.peek_at(1), b'e' | b'f' | b'v' | b'w' | b'c') {
            return false;
        }
        self.begins_item_slow()
    }

    /// Whether results, or a name with what may follow it, stand here.
    fn names_function(&mut self) -> bool {
        self.blanks();
        if !self.at_ident() {
            let attribute = self.directive_here() == Some(Directive::Attribute);
            return attribute || self.peek() == b'(';
        }
        let end = scan::ident_end(self.src, self.pos);
        let next = scan::skip_trivia(self.src, end, &mut scan::Trivia::default());
        match scan::peek(self.src, next) {
            b'(' | b'{' | b';' => true,
            b'.' => next > end,
            _ => next >= self.src.len(),
        }
    }

    #[inline(never)]
    fn begins_item_slow(&mut self) -> bool {
        let mark = (self.pos, self.trivia);
        let mut item = false;
        while let Some(word) = self.dot_word() {
            match Directive::from_text(word) {
                Some(Directive::Entry | Directive::Func) => {
                    self.pos += word.len();
                    item = self.names_function();
                    break;
                }
                Some(
                    Directive::Extern | Directive::Visible | Directive::Weak | Directive::Common,
                ) => self.pos += word.len(),
                _ => break,
            }
        }
        (self.pos, self.trivia) = mark;
        item
    }
}

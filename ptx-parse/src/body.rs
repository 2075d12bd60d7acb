//! The statements of a function body, one after another, in a loop without recursion.

use ptx_ir::raw::scan::{self, Trivia, class, is};
use ptx_ir::raw::{self, RawBody};
use ptx_ir::{
    Body, Code, EntityId, GuardSense, Inst, Opaque, Scope, ScopeId, Selector, Severity, SigId,
    Span, Statement,
};
use ptx_isa::{Directive, Modifier};

use crate::cursor::ParseResult;
use crate::operand::{Parentheses, Position};
use crate::output::Level;
use crate::parser::Parser;
use crate::scope::OUTERMOST;
use crate::statement_extent::{is_opcode, line_end};

/// The end of a body.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum BodyEnd {
    /// At its `}`.
    Closed,
    /// At the end of the file, or before something that is allowed at module level only.
    Missing,
}

/// The parts of an instruction before its operands.
#[derive(Copy, Clone)]
struct InstHead {
    start: usize,
    /// The index on the scratch stack of its first operand; the guard comes first.
    mark: usize,
    sig: SigId,
    guard: Option<GuardSense>,
}

impl Parser<'_> {
    /// Parses the body whose `{` is next. The scope of the function is open already.
    pub(crate) fn body(&mut self) -> Body {
        self.body_statements();
        self.scopes.close_scope();
        self.resolve_labels();
        self.take_body()
    }

    /// Takes the finished body. Later statements belong to the module.
    pub(crate) fn take_body(&mut self) -> Body {
        self.out.level = Level::Module;
        raw::split_off(&mut self.out.body)
    }

    /// Parses the text from the `{`, which is next, to the end of the body.
    pub(crate) fn body_statements(&mut self) {
        let open = self.cursor.pos;
        *self.out.body.base_mut() = open as u32;
        self.out.level = Level::Body;
        self.scopes.current = OUTERMOST;
        self.reporter.enter_body();
        self.cursor.advance(1);
        let end = self.statements();
        if end == BodyEnd::Missing {
            self.unclosed_body(open);
        }
        *self.out.body.closed_mut() = end == BodyEnd::Closed;
        *self.out.body.end_mut() = (self.cursor.last - open) as u32;
    }

    #[cold]
    fn unclosed_body(&mut self, open: usize) {
        let cascade = &mut self.reporter.cascade;
        if !cascade.has_brace_mismatch() && !cascade.doubts_end_of_body(&self.out) {
            let message = "expected a `}` that closes this `{`, found none";
            let error = self
                .cursor
                .error(Code::UnclosedBrace, open, open + 1, message);
            let end = self.out.end_of_previous();
            let outermost = self.scopes.current == OUTERMOST;
            self.report(if outermost {
                error.with_fix(Span::at(end, end), "\n}")
            } else {
                *error
            });
        }
        self.reporter.cascade.brace_mismatch();
        if self.cursor.at_end() {
            // Statements may be missing, too.
            self.suppressed.suppress_function();
        }
        while self.scopes.current != OUTERMOST {
            self.leave_scope();
        }
    }

    fn statements(&mut self) -> BodyEnd {
        loop {
            self.charge();
            self.cursor.skip_trivia();
            if self.cursor.trivia.unterminated.is_some() {
                self.unterminated_comment();
            }
            self.cursor.trivia.comment = false;
            self.cursor.trivia.newline = false;
            self.scopes.labels.begin_statement();
            let start = self.cursor.pos;
            let byte = self.cursor.peek();
            if is(byte, class::START) {
                self.instruction_or_label(start);
                continue;
            }
            match byte {
                b'@' => self.guarded_instruction(start),
                b'.' => {
                    if !self.begins_item() {
                        let result = self.body_directive(start);
                        self.finish_statement(start, result);
                    } else if self.is_declaration() {
                        let result = self.inner_function(start);
                        self.finish_statement(start, result);
                    } else {
                        return BodyEnd::Missing;
                    }
                }
                b'{' => {
                    self.cursor.advance(1);
                    self.enter_scope(start);
                }
                b'}' => {
                    self.cursor.advance(1);
                    if self.scopes.current == OUTERMOST {
                        return BodyEnd::Closed;
                    }
                    self.close_block(start);
                }
                b';' => self.empty_statement(start),
                _ if self.cursor.at_end() => return BodyEnd::Missing,
                _ => {
                    let error = self.cursor.unexpected("a statement");
                    self.fail_statement(start, error);
                }
            }
        }
    }

    #[cold]
    fn empty_statement(&mut self, start: usize) {
        let previous = match self.out.body.statement_table().values().next_back() {
            Some(Statement::Directive(id)) => Some(self.out.body.directives()[*id].directive),
            _ => None,
        };
        self.lone_semicolon(previous);
        self.opaque_statement(start, self.cursor.pos);
    }

    /// Reports a block comment that runs to the end of the file.
    #[cold]
    pub(crate) fn unterminated_comment(&mut self) {
        if let Some(start) = self.cursor.trivia.unterminated.take() {
            let start = start as usize;
            let message = "expected `*/` that closes this comment, found the end of the file";
            let error = self
                .cursor
                .error(Code::UnterminatedComment, start, start + 2, message);
            // It contains statements.
            self.suppress_names(start + 2, self.cursor.src.len());
            let end = line_end(self.cursor.src, start);
            self.report(
                error
                    .with_help("close it with `*/`; comments do not nest")
                    .with_fix(Span::at(end, end), " */"),
            );
        }
    }

    // --- scopes ---

    fn enter_scope(&mut self, start: usize) {
        let open = self.push(Statement::Open(OUTERMOST), start);
        let parent = self.scopes.current;
        self.out
            .body
            .inner_scopes_mut()
            .push(Scope::new(parent, open));
        let scope = ScopeId::from_index(self.out.body.inner_scopes().len());
        self.scopes.current = scope;
        self.out.body.statements_mut()[open] = Statement::Open(scope);
        self.scopes.open_scope();
        let limit = self.limits.nesting;
        if self.scopes.depth() as usize == limit.saturating_add(1) {
            let message = format!("expected at most {limit} nested blocks, found more");
            self.report_error(Code::NestingTooDeep, start, start + 1, message);
        }
    }

    fn close_block(&mut self, start: usize) {
        let scope = self.scopes.current;
        let close = self.push(Statement::Close(scope), start);
        let scopes = self.out.body.inner_scopes_mut();
        if let Some(record) = scopes.get_mut(scope.as_u32() as usize - 1) {
            record.close = Some(close);
        }
        self.leave_scope();
    }

    fn leave_scope(&mut self) {
        let scope = self.out.body.scope(self.scopes.current);
        let parent = scope.map_or(OUTERMOST, |s| s.parent);
        self.scopes.current = parent;
        self.scopes.close_scope();
    }

    // --- statements ---

    /// Reports the error of a statement that could not be parsed, if there is one.
    #[inline]
    pub(crate) fn finish_statement(&mut self, start: usize, result: ParseResult<()>) {
        if let Err(error) = result {
            self.fail_statement(start, error);
        }
    }

    fn guarded_instruction(&mut self, start: usize) {
        let mark = self.out.scratch.len();
        let result = self.guard().and_then(|sense| {
            self.cursor.skip_trivia();
            if self.cursor.peek() == b'{' {
                self.guarded_block(start, mark);
                return Ok(());
            }
            if !self.cursor.at_ident() {
                return Err(self.cursor.unexpected("an instruction after the guard"));
            }
            self.instruction(start, mark, Some(sense))
        });
        self.finish_statement(start, result);
    }

    /// Reports a guard before a block. The block is parsed on its own.
    #[cold]
    fn guarded_block(&mut self, start: usize, mark: usize) {
        let end = self.cursor.last;
        let message = "expected an instruction after the guard, found a block";
        let error = self
            .cursor
            .error(Code::UnexpectedToken, start, end, message);
        self.report(error.with_help("guard each instruction, or branch around the block"));
        self.reporter.cascade.brace_mismatch();
        self.out.scratch.truncate(mark);
        self.opaque_statement(start, end);
    }

    /// Parses `@p` or `@!p`, and pushes the predicate on the scratch stack.
    fn guard(&mut self) -> ParseResult<GuardSense> {
        const EXPECTED: &str = "a predicate register after `@`";
        self.cursor.advance(1);
        let sense = if self.cursor.eat(b'!') {
            GuardSense::Negated
        } else {
            GuardSense::Positive
        };
        let (start, end) = self.cursor.expect_ident(EXPECTED)?;
        if is_opcode(&self.cursor.src[start..end]) && !self.is_declared(start, end) {
            self.cursor.pos = start;
            return Err(self.cursor.unexpected(EXPECTED));
        }
        let mut predicate = self.name_operand(start, end);
        if self.cursor.peek() == b'.' {
            // A component of a vector of predicates does not exist, but is well formed.
            if let Some(word) = self.cursor.dot_word()
                && let Some(selector) = Selector::from_text(&word[1..])
            {
                self.cursor.advance(word.len());
                predicate = self.select_component(selector, predicate);
            }
        }
        self.out.scratch.push(predicate);
        Ok(sense)
    }

    #[inline(always)]
    fn instruction_or_label(&mut self, start: usize) {
        if let Some(sig) = self.known_mnemonic() {
            let result = self.operands(InstHead {
                start,
                mark: self.out.scratch.len(),
                sig,
                guard: None,
            });
            return self.finish_statement(start, result);
        }
        if !self.cursor.at_ident() {
            let error = self.cursor.unexpected("a statement");
            return self.fail_statement(start, error);
        }
        let src = self.cursor.src;
        let end = scan::ident_end(src, start);
        if scan::peek(src, end) == b':' && scan::peek(src, end + 1) != b':' {
            self.cursor.pos = end + 1;
            self.cursor.last = self.cursor.pos;
            return self.label(start, end);
        }
        if self.is_spaced_label(end) {
            self.cursor.pos = end;
            self.cursor.skip_trivia();
            self.cursor.advance(1);
            return self.label(start, end);
        }
        let mark = self.out.scratch.len();
        let result = self.instruction(start, mark, None);
        self.finish_statement(start, result);
    }

    /// Whether trivia and then a colon follow the name that ends at `end`.
    #[inline]
    fn is_spaced_label(&self, end: usize) -> bool {
        let src = self.cursor.src;
        let byte = scan::peek(src, end);
        if byte == b'.' || byte == b';' {
            return false;
        }
        let next = scan::skip_trivia(src, end, &mut Trivia::default());
        scan::peek(src, next) == b':' && scan::peek(src, next + 1) != b':'
    }

    fn label(&mut self, start: usize, end: usize) {
        let id = self.define_label(start, end);
        self.push(Statement::Label(id), start);
    }

    /// Parses an instruction whose opcode is next; its guard's predicate is on the scratch stack.
    #[inline(always)]
    fn instruction(
        &mut self,
        start: usize,
        mark: usize,
        guard: Option<GuardSense>,
    ) -> ParseResult<()> {
        let mnemonic_start = self.cursor.pos;
        let sig = match self.known_mnemonic() {
            Some(sig) => sig,
            None => self.mnemonic()?,
        };
        self.operands(InstHead {
            start,
            mark,
            sig,
            guard,
        })?;
        if !self.mnemonics.is_known(sig) {
            self.unknown_instruction(mnemonic_start, sig);
        }
        Ok(())
    }

    /// Handles an instruction with an unknown keyword, which was reported: the names that the instruction
    /// uses are not reported. An unknown opcode may be a label without its colon, or belong to a
    /// declaration.
    #[cold]
    fn unknown_instruction(&mut self, mnemonic_start: usize, sig: SigId) {
        if self.header.unknown != Severity::Error {
            return;
        }
        self.scopes.labels.forget_statement();
        let signature = self.out.module.signature(sig);
        if signature.opcode().is_none() {
            let end = mnemonic_start + signature.opcode_text().len();
            let has_modifier = scan::peek(self.cursor.src, end) == b'.';
            let suppressed_end = if has_modifier { end } else { self.cursor.last };
            self.suppress_names(mnemonic_start, suppressed_end);
        }
    }

    /// Parses the operands of an instruction and its `;`.
    #[inline(always)]
    fn operands(&mut self, head: InstHead) -> ParseResult<()> {
        let parentheses = if self.mnemonics.takes_lists(head.sig) {
            Parentheses::List
        } else {
            Parentheses::Expression
        };
        if self.cursor.eat(b';') {
            self.push_instruction(head);
            return Ok(());
        }
        if self.begins_next_statement() {
            return self.unterminated_instruction(head, "an operand or `;`");
        }
        let mut operand = self.operand(parentheses, Position::First)?;
        self.cursor.skip_trivia();
        if self.cursor.peek() == b'|' {
            operand = self.pair(operand)?;
            self.cursor.skip_trivia();
        }
        self.out.scratch.push(operand);
        loop {
            match self.cursor.peek() {
                b',' => {
                    self.cursor.advance(1);
                    self.cursor.skip_trivia();
                }
                b';' => {
                    self.cursor.advance(1);
                    break;
                }
                _ => return self.unterminated_instruction(head, "`,` or `;`"),
            }
            let operand = self.operand(parentheses, Position::Later)?;
            self.out.scratch.push(operand);
            self.cursor.skip_trivia();
        }
        self.push_instruction(head);
        Ok(())
    }

    /// Handles an instruction without its `;`. If another statement follows on its line, the instruction
    /// may be incomplete and stays text.
    #[cold]
    fn unterminated_instruction(&mut self, head: InstHead, expected: &str) -> ParseResult<()> {
        let gap = &self.cursor.src[self.cursor.last..self.cursor.pos];
        let is_complete = gap.contains(&b'\n') || self.cursor.at_end();
        self.missing_semicolon(expected)?;
        if is_complete {
            self.push_instruction(head);
        } else {
            self.out.scratch.truncate(head.mark);
            self.opaque_statement(head.start, self.cursor.last);
        }
        Ok(())
    }

    /// Whether a new statement begins in the place of the first operand, as after `ret` without its `;`.
    #[inline]
    fn begins_next_statement(&self) -> bool {
        match self.cursor.peek() {
            b'}' | b'@' => true,
            byte if is(byte, class::START) => {
                self.cursor.trivia.newline && self.begins_instruction()
            }
            _ => self.cursor.at_end(),
        }
    }

    /// Whether an opcode with a modifier begins here.
    #[cold]
    fn begins_instruction(&self) -> bool {
        let src = self.cursor.src;
        let end = self.cursor.token_end();
        let has_dot = scan::peek(src, end) == b'.';
        let modifier_end = scan::dot_word_end(src, end);
        has_dot
            && is_opcode(&src[self.cursor.pos..end])
            && Modifier::from_text(&src[end..modifier_end]).is_some()
    }

    #[inline(always)]
    fn push_instruction(&mut self, head: InstHead) {
        let range = self
            .out
            .body
            .pool_mut()
            .extend(&self.out.scratch[head.mark..]);
        self.out.scratch.truncate(head.mark);
        let inst = Inst::new(head.sig, range, head.guard);
        let id = self.out.body.insts_mut().push(inst);
        self.push(Statement::Inst(id), head.start);
    }

    /// Makes `start..end` an opaque statement of the body.
    pub(crate) fn opaque_statement(&mut self, start: usize, end: usize) {
        self.cursor.pos = end;
        self.cursor.last = end;
        let mentions = self.mentions(start, end);
        let id = self.out.body.opaques_mut().push(Opaque::new(mentions));
        // The text of an opaque statement is printed verbatim, comments included.
        self.cursor.trivia.comment = false;
        self.push(Statement::Opaque(id), start);
    }

    /// Whether a function or another item of the module begins at this dot.
    #[inline]
    fn begins_item(&mut self) -> bool {
        // `.entry`, `.extern`, `.func`, `.visible`, `.weak`, `.common`
        if !matches!(self.cursor.peek_at(1), b'e' | b'f' | b'v' | b'w' | b'c') {
            return false;
        }
        self.begins_item_slow()
    }

    /// Whether the header of a function continues at the cursor: with an attribute, results, or a name and a token that may
    /// follow the name.
    fn continues_function_header(&mut self) -> bool {
        self.cursor.skip_trivia();
        if !self.cursor.at_ident() {
            let is_attribute = self.directive_here() == Some(Directive::Attribute);
            return is_attribute || self.cursor.peek() == b'(';
        }
        let end = scan::ident_end(self.cursor.src, self.cursor.pos);
        let next = scan::skip_trivia(self.cursor.src, end, &mut scan::Trivia::default());
        match scan::peek(self.cursor.src, next) {
            b'(' | b'{' | b';' => true,
            b'.' => next > end,
            _ => next >= self.cursor.src.len(),
        }
    }

    #[inline(never)]
    fn begins_item_slow(&mut self) -> bool {
        let checkpoint = self.cursor.checkpoint();
        let mut is_item = false;
        while let Some(word) = self.cursor.dot_word() {
            match Directive::from_text(word) {
                Some(Directive::Entry | Directive::Func) => {
                    self.cursor.pos += word.len();
                    is_item = self.continues_function_header();
                    break;
                }
                Some(
                    Directive::Extern | Directive::Visible | Directive::Weak | Directive::Common,
                ) => self.cursor.pos += word.len(),
                _ => break,
            }
        }
        self.cursor.reset(checkpoint);
        is_item
    }
}

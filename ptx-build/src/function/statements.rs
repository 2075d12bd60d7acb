//! Instructions and their guards.

use alloc::string::{String, ToString};

use ptx_ir::raw::{RawBody, StmtSpan, set_source};
use ptx_ir::{GuardSense, Inst, SigId, Span, Statement, StmtId};
use ptx_isa::Opcode;
use ptx_verify::NewInst;

use super::FunctionBuilder;
use super::body::PendingGuard;
use crate::check::{self, Parsed};
use crate::error::BuildError;
use crate::handle::{CodeLabel, Dependency, Reg};
use crate::lexical;
use crate::operand::IntoOperands;
use crate::sequence::Mark;
use crate::writer::Writer;

/// The end of the statements so far, after which all can be removed.
struct Checkpoint {
    mark: Mark,
    statements: usize,
}

impl<'m> FunctionBuilder<'m> {
    pub(crate) fn writer(&mut self, takes_lists: bool) -> Writer<'_> {
        self.body.pending.operands.clear();
        self.body.pending.groups = 0;
        self.body.pending.is_irregular = false;
        Writer {
            body: &mut self.body,
            tables: &self.module.tables,
            module: &mut self.module.draft.module,
            takes_lists,
            count: 0,
        }
    }

    /// Puts the statement that follows under a guard: `@p`.
    pub fn guard(&mut self, predicate: Reg) -> &mut Self {
        self.set_guard(predicate, GuardSense::Positive)
    }

    /// Puts the statement that follows under an inverted guard: `@!p`.
    pub fn guard_not(&mut self, predicate: Reg) -> &mut Self {
        self.set_guard(predicate, GuardSense::Negated)
    }

    fn set_guard(&mut self, predicate: Reg, sense: GuardSense) -> &mut Self {
        self.body.abandon();
        self.body.pending.guard = Some(PendingGuard { predicate, sense });
        self
    }

    /// An instruction by its mnemonic.
    ///
    /// # Errors
    ///
    /// The mnemonic is invalid; else as [`InstBuilder::emit`](crate::InstBuilder::emit).
    pub fn inst(&mut self, mnemonic: &str, operands: impl IntoOperands) -> Result<(), BuildError> {
        if let Err(error) = lexical::mnemonic(mnemonic) {
            self.body.abandon();
            self.body.pending.guard = None;
            return Err(error);
        }
        self.body.abandon();
        self.body.pending.is_open = true;
        self.body.pending.mnemonic.set_text(mnemonic);
        self.end(operands)
    }

    #[inline]
    pub(crate) fn begin(&mut self, opcode: Opcode) {
        self.body.abandon();
        self.body.pending.is_open = true;
        self.body.pending.mnemonic.begin(opcode);
    }

    #[inline]
    pub(crate) fn end(&mut self, operands: impl IntoOperands) -> Result<(), BuildError> {
        let (sig, mut writer) = self.begin_operands();
        operands.write_all(&mut writer);
        self.end_operands(sig)
    }

    /// Begins the operands with the predicate of the guard.
    #[inline(never)]
    fn begin_operands(&mut self) -> (SigId, Writer<'_>) {
        let body = &mut self.body;
        body.pending.is_open = false;
        body.pending.mentions.clear();
        body.pending.predicate = None;
        let sig = (self.module.draft).mnemonic(&mut body.pending.mnemonic);
        let guard = body.pending.guard.take();
        let mut writer = self.writer(sig.takes_lists);
        if let Some(guard) = guard {
            writer.body.pending.predicate = Some(guard.sense);
            writer.register(guard.predicate);
        }
        (sig.id, writer)
    }

    /// Adds the instruction with the operands that were added, if it is legal.
    #[inline(never)]
    fn end_operands(&mut self, sig: SigId) -> Result<(), BuildError> {
        let result = match self.body.pending.error.take() {
            Some(error) => Err(error),
            None if self.body.pending.is_irregular => self.add_irregular(sig),
            None => self.add_instruction(sig),
        };
        match result {
            Ok(()) => self.body.record_first_uses(),
            Err(_) => self.body.forget_mentions(),
        }
        result
    }

    #[inline]
    fn add_instruction(&mut self, sig: SigId) -> Result<(), BuildError> {
        self.enter();
        let body = &mut self.body;
        let draft = &mut self.module.draft;
        if body.has_new_registers {
            body.has_new_registers = false;
            draft.checker.extend_body(&body.records);
        }
        let (guard, operands) = match body.pending.operands.split_first() {
            Some((guard, operands)) if body.pending.predicate.is_some() => (Some(*guard), operands),
            _ => (None, body.pending.operands.as_slice()),
        };
        let inst = NewInst {
            sig,
            guard,
            operands,
        };
        let is_legal = (draft.checker).is_legal(&draft.module, &body.records, inst);
        let stmt = self.push_instruction(sig);
        if is_legal {
            return Ok(());
        }
        let checked = self.check_uncertain(stmt, sig);
        if checked.is_err() {
            self.body.pop_statement();
        }
        checked
    }

    /// Adds the instruction with the operands that were added.
    #[inline]
    fn push_instruction(&mut self, sig: SigId) -> StmtId {
        let body = &mut self.body;
        let range = body.records.pool_mut().extend(&body.pending.operands);
        let inst = Inst::new(sig, range, body.pending.predicate);
        let id = body.records.insts_mut().push(inst);
        body.push_statement(Statement::Inst(id))
    }

    /// Adds an instruction with a form that only the parser can check: it is printed and parsed.
    #[cold]
    fn add_irregular(&mut self, sig: SigId) -> Result<(), BuildError> {
        let stmt = self.push_instruction(sig);
        let text = self.statement_text(stmt);
        self.body.pop_statement();
        let parsed = self.check_text(&text)?;
        self.module.tables.fix(&self.body.pending.mentions);
        self.import(&parsed, &|_| true);
        Ok(())
    }

    /// A statement as it is printed.
    fn statement_text(&self, stmt: StmtId) -> String {
        ptx_print::display_statement(&self.module.draft.module, &self.body.records, stmt)
            .to_string()
    }

    /// Checks an instruction that is not certainly legal.
    #[cold]
    fn check_uncertain(&mut self, stmt: StmtId, sig: SigId) -> Result<(), BuildError> {
        let text = self.statement_text(stmt);
        if !self.module.draft.module.signature(sig).is_known() {
            return self.check_text(&text).map(drop);
        }
        self.record_headers();
        self.errors_of(stmt, &text)?;
        self.module.tables.fix(&self.body.pending.mentions);
        Ok(())
    }

    /// Records the current headers of unfinished functions that are mentioned.
    fn record_headers(&mut self) {
        for mention in &self.body.pending.mentions {
            if let Dependency::Func(f) = mention {
                self.module.record_header(*f);
            }
        }
    }

    /// Refuses a statement with this text that is illegal.
    pub(super) fn errors_of(&mut self, stmt: StmtId, text: &str) -> Result<(), BuildError> {
        let (draft, records) = (&mut self.module.draft, &mut self.body.records);
        // The checker reads the text of the statement in the source of the module.
        let text_span = StmtSpan::new(Span::at(0, text.len()), false);
        let origin = records.origins_mut().get_mut(stmt.as_u32() as usize);
        let empty_span = origin.map(|origin| core::mem::replace(origin, text_span));
        set_source(&mut draft.module, Some(text.as_bytes().into()));
        let errors = draft.checker.errors(&draft.module, records, stmt);
        set_source(&mut draft.module, None);
        let origin = records.origins_mut().get_mut(stmt.as_u32() as usize);
        if let (Some(origin), Some(empty_span)) = (origin, empty_span) {
            *origin = empty_span;
        }
        if errors.is_empty() {
            return Ok(());
        }
        Err(BuildError::illegal(text.to_string(), errors))
    }

    /// Makes the checker enter this function.
    #[inline]
    pub(crate) fn enter(&mut self) {
        if self.module.draft.entered != self.body.owner {
            self.enter_again();
        }
    }

    #[cold]
    fn enter_again(&mut self) {
        let draft = &mut self.module.draft;
        draft.entered = self.body.owner;
        let (function, records) = (self.body.record, &self.body.records);
        draft.checker.enter(&draft.module, function, records);
        self.declare_parameters();
    }

    /// Checks the text of a statement that mentions the pending names.
    pub(super) fn check_text(&self, text: &str) -> Result<Parsed, BuildError> {
        self.check_after("", text)
    }

    /// Checks the text of a statement after a preceding one.
    pub(super) fn check_after(&self, preceding: &str, text: &str) -> Result<Parsed, BuildError> {
        let statements = format!("{preceding}{text}");
        let (context, start) = check::minimal_context(&self.body, &self.module.tables, &statements);
        let start = start + preceding.len();
        let end = start + text.len();
        match check::errors(&context, start, end) {
            Ok(module) => Ok(Parsed { module, start, end }),
            Err(errors) => Err(BuildError::illegal(text.to_string(), errors)),
        }
    }

    /// Checks the text of a statement that mentions these names.
    pub(crate) fn check(
        &mut self,
        text: &str,
        mentions: &[Dependency],
    ) -> Result<Parsed, BuildError> {
        self.body.pending.mentions.clear();
        self.body.pending.mentions.extend_from_slice(mentions);
        let parsed = self.check_text(text)?;
        self.module.tables.fix(mentions);
        Ok(parsed)
    }

    /// Makes several statements, or none if one of them is refused. Under a guard, a jump goes over all of them.
    pub(crate) fn all_or_none<R>(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<R, BuildError>,
    ) -> Result<R, BuildError> {
        let guard = self.body.pending.guard.take();
        let checkpoint = self.checkpoint();
        let end = guard.map(|_| self.label());
        let result = self.jump(guard, end).and_then(|()| make(self));
        match result {
            Ok(value) => end.map_or(Ok(()), |end| self.place(end)).map(|()| value),
            Err(error) => {
                self.body.is_in_order = false;
                self.reset(&checkpoint);
                if let Some(label) = end.and_then(|l| self.body.labels.get_mut(l.index as usize)) {
                    label.waiting.clear();
                }
                Err(error)
            }
        }
    }

    /// Goes to a label where the guard does not hold.
    pub(super) fn jump(
        &mut self,
        guard: Option<PendingGuard>,
        end: Option<CodeLabel>,
    ) -> Result<(), BuildError> {
        let (Some(guard), Some(end)) = (guard, end) else {
            return Ok(());
        };
        self.body.pending.guard = Some(guard.inverted());
        self.bra().emit(end)
    }

    /// The end of the statements so far.
    fn checkpoint(&mut self) -> Checkpoint {
        self.body.abandon();
        Checkpoint {
            mark: self.body.sequence.mark(),
            statements: self.body.records.statement_table().len(),
        }
    }

    /// Removes the statements after a checkpoint; the records of what they declare and mention stay.
    fn reset(&mut self, checkpoint: &Checkpoint) {
        let statements = self.body.records.statements_mut();
        for statement in statements.values_mut().skip(checkpoint.statements) {
            *statement = Statement::Removed;
        }
        self.body.sequence.truncate(checkpoint.mark);
    }
}

//! Edits inside an instruction or a directive of a body.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::raw::{OperandSlot, RawBody};
use ptx_ir::{
    EntityId, GuardSense, Inst, InstId, NameId, Operand, RegId, SigId, Statement, StmtId,
};
use ptx_isa::Modifier;

use crate::inst_patch::ChangedPart;
use crate::operand_grammar::check_arguments;
use crate::{EditError, Editor};

impl Editor<'_> {
    /// Replaces operand `index` of an instruction; the guard is not counted.
    ///
    /// # Errors
    ///
    /// [`EditError::NoPart`] if there is no such operand, [`EditError::Kind`] if the new operand cannot be written there,
    /// [`EditError::Hidden`] if a name in it is not visible.
    pub fn set_operand(
        &mut self,
        stmt: StmtId,
        index: usize,
        new: Operand,
    ) -> Result<(), EditError> {
        let (_, inst) = self.instruction(stmt)?;
        if index >= inst.operands().len() {
            return Err(EditError::NoPart(format!("operand {index}")));
        }
        self.check_operand_visible(stmt, new)?;
        match index {
            0 => self.are_operands(inst.sig, &[new])?,
            _ => self.are_operands(inst.sig, &[Operand::Sink, new])?,
        }
        let spans = self.inst_spans(stmt, inst);
        let slot = inst.operands().at(index as u32);
        let pool = self.pool_mut();
        // The new operand may be a part of the old one.
        let copy = pool.extend(&[new]);
        pool.deep_copy(copy);
        let new = pool.get(copy.at(0));
        pool.set(copy.at(0), Operand::Absent);
        let old_parts: Vec<OperandSlot> = pool
            .walk_stored(OperandSlot::Pool(slot), pool.get(slot))
            .stored()
            .map(|(part, _)| part)
            .collect();
        for part in old_parts {
            pool.set_slot(part, Operand::Absent);
        }
        pool.set(slot, new);
        self.patch_operand(stmt, spans.as_ref(), index, ChangedPart::WHOLE);
        Ok(())
    }

    /// Replaces an argument of a directive of the body: see [`DirectiveStmt`](ptx_ir::DirectiveStmt).
    ///
    /// # Errors
    ///
    /// [`EditError::NoPart`] if there is no such argument, [`EditError::Kind`] if the directive does not take the new
    /// argument.
    pub fn set_argument(
        &mut self,
        stmt: StmtId,
        index: usize,
        new: Operand,
    ) -> Result<(), EditError> {
        let Statement::Directive(id) = self.statement(stmt)? else {
            return EditError::kind("directive");
        };
        let directive = *self
            .body()
            .directives()
            .get(id)
            .ok_or(EditError::NoStatement)?;
        if index >= directive.args.len() {
            return Err(EditError::NoPart(format!("argument {index}")));
        }
        let mut args = self.body().pool().slice(directive.args).to_vec();
        args.splice(index..=index, [new]);
        let pool = self.body().pool();
        check_arguments(self.module, pool, directive.directive, &args)?;
        self.check_operand_visible(stmt, new)?;
        self.pool_mut().set(directive.args.at(index as u32), new);
        match self.token_text(new) {
            Some(text) => self.patch_argument(stmt, index, args.len(), text),
            None => self.edits().rewrite(stmt),
        }
        Ok(())
    }

    /// Replaces all operands of an instruction.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`set_operand`](Self::set_operand).
    pub fn set_operands(&mut self, stmt: StmtId, new: &[Operand]) -> Result<(), EditError> {
        let (id, inst) = self.instruction(stmt)?;
        self.are_operands(inst.sig, new)?;
        for &operand in new {
            self.check_operand_visible(stmt, operand)?;
        }
        let pool = self.body().pool();
        let guard = inst.guard().map(|g| (pool.get(g.predicate), g.sense));
        let old = self.body().pool().slice(inst.operands()).to_vec();
        let spans = self.inst_spans(stmt, inst);
        let changed: Vec<usize> = (0..new.len())
            .filter(|&i| old.get(i) != new.get(i))
            .collect();
        self.write_operands(id, inst, guard, new);
        self.patch_operands(stmt, spans.as_ref(), &changed, old.len(), new.len());
        Ok(())
    }

    /// Sets the guard of an instruction, `@p` or `@!p`, or removes it.
    ///
    /// # Errors
    ///
    /// [`EditError::Hidden`] if the predicate is not visible.
    pub fn set_guard(
        &mut self,
        stmt: StmtId,
        guard: Option<(RegId, GuardSense)>,
    ) -> Result<(), EditError> {
        let (id, inst) = self.instruction(stmt)?;
        let predicate = guard.map(|(register, _)| Operand::Reg(register));
        if let Some(predicate) = predicate {
            self.check_operand_visible(stmt, predicate)?;
        }
        let operands = self.body().pool().slice(inst.operands()).to_vec();
        let sense = guard.map_or(GuardSense::Positive, |(_, sense)| sense);
        let spans = self.inst_spans(stmt, inst);
        self.write_operands(id, inst, predicate.map(|p| (p, sense)), &operands);
        self.patch_guard(stmt, spans.as_ref());
        Ok(())
    }

    /// Replaces operands and guard of an instruction, without a record of the edit.
    fn write_operands(
        &mut self,
        id: InstId,
        old: Inst,
        guard: Option<(Operand, GuardSense)>,
        operands: &[Operand],
    ) {
        let predicate = guard.map(|(predicate, _)| predicate);
        let stored_operands = [predicate.as_slice(), operands].concat();
        let pool = self.pool_mut();
        let range = pool.extend(&stored_operands);
        pool.deep_copy(range);
        self.clear_operands(Statement::Inst(id));
        let sense = guard.map(|(_, sense)| sense);
        self.body_mut().insts_mut()[id] = Inst::new(old.sig, range, sense);
    }

    /// Replaces the mnemonic of an instruction: `add.sat.s32`.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the operands cannot be written after that mnemonic, [`EditError::Spelling`] if the text is not a
    /// mnemonic.
    pub fn set_mnemonic(&mut self, stmt: StmtId, mnemonic: &str) -> Result<(), EditError> {
        self.instruction(stmt)?;
        let sig = self.mnemonic(mnemonic)?;
        self.set_signature(stmt, sig)
    }

    /// Replaces the mnemonic of an instruction by another one of the module.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the operands cannot be written after that mnemonic.
    pub fn set_signature(&mut self, stmt: StmtId, sig: SigId) -> Result<(), EditError> {
        let (id, inst) = self.instruction(stmt)?;
        if sig.index() >= self.module.signatures().len() {
            return Err(EditError::UnknownId);
        }
        self.are_operands(sig, self.body().pool().slice(inst.operands()))?;
        let spans = self.inst_spans(stmt, inst);
        self.body_mut().insts_mut()[id].sig = sig;
        self.patch_mnemonic(stmt, spans.as_ref(), sig);
        Ok(())
    }

    /// Replaces or removes the first modifier `old` of an instruction, a type or a state space for example.
    ///
    /// # Errors
    ///
    /// [`EditError::NoPart`] if the instruction has no such modifier.
    pub fn set_modifier(
        &mut self,
        stmt: StmtId,
        old: Modifier,
        new: Option<Modifier>,
    ) -> Result<(), EditError> {
        let (_, inst) = self.instruction(stmt)?;
        let signature = self.module.signature(inst.sig);
        let word = signature
            .words()
            .iter()
            .find(|w| w.modifier == Some(old))
            .ok_or_else(|| EditError::NoPart(String::from(old.text())))?;
        let old_mnemonic = signature.text();
        let (start, end) = (word.start as usize, word.end as usize);
        let new_mnemonic = [
            old_mnemonic.get(..start).unwrap_or_default(),
            new.map_or("", |m| m.text()),
            old_mnemonic.get(end..).unwrap_or_default(),
        ]
        .concat();
        self.set_mnemonic(stmt, &new_mnemonic)
    }

    /// Adds a modifier to an instruction, at its place in the order of the PTX ISA manual.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`set_mnemonic`](Self::set_mnemonic).
    pub fn add_modifier(&mut self, stmt: StmtId, new: Modifier) -> Result<(), EditError> {
        let (_, inst) = self.instruction(stmt)?;
        let old_mnemonic = self.module.signature(inst.sig).text();
        let new_mnemonic = [old_mnemonic, new.text()].concat();
        self.set_mnemonic(stmt, &new_mnemonic)
    }

    /// Replaces a register by another one in all operands and the guard of an instruction. Returns the number of
    /// replaced occurrences.
    ///
    /// # Errors
    ///
    /// [`EditError::Hidden`] if the new register is not visible.
    pub fn replace_register(
        &mut self,
        stmt: StmtId,
        old: RegId,
        new: RegId,
    ) -> Result<usize, EditError> {
        let (id, inst) = self.instruction(stmt)?;
        self.check_operand_visible(stmt, Operand::Reg(new))?;
        let spans = self.inst_spans(stmt, inst);
        let operands = self.body().pool().slice(inst.operands()).to_vec();
        let tokens: Vec<_> = operands
            .into_iter()
            .enumerate()
            .map(|(index, operand)| self.register_tokens(stmt, spans.as_ref(), index, operand, old))
            .collect();
        let body = self.body();
        let guard = inst.guard().map(|g| body.pool().get(g.predicate));
        let slots: Vec<OperandSlot> = body
            .walk(Statement::Inst(id))
            .stored()
            .filter(|(_, operand)| *operand == Operand::Reg(old))
            .map(|(slot, _)| slot)
            .collect();
        let count = slots.len();
        for slot in slots {
            self.pool_mut().set_slot(slot, Operand::Reg(new));
        }
        for (index, parts) in tokens.into_iter().enumerate() {
            for part in parts {
                self.patch_operand(stmt, spans.as_ref(), index, part);
            }
        }
        if guard == Some(Operand::Reg(old)) {
            self.patch_guard(stmt, spans.as_ref());
        }
        Ok(count)
    }

    /// The text of an operand that is one token; `None` for the other operands.
    fn token_text(&mut self, operand: Operand) -> Option<NameId> {
        let body = self.body();
        match operand {
            Operand::Small(n) => Some(self.intern(&format!("{n}"))),
            Operand::Imm(id) => Some(body.pool().immediate(id)?.text),
            Operand::Str(name) | Operand::Name(name) | Operand::Section(name) => Some(name),
            Operand::Label(id) => Some(body.labels().get(id)?.name),
            _ => None,
        }
    }
}

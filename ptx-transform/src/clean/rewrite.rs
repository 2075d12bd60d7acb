//! The changes that clean-ups make to statements.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_edit::{EditError, Editor};
use ptx_ir::raw::query::Mnemonic;
use ptx_ir::{Operand, RegId, Statement, StmtId};
use ptx_isa::internals::{Expected, FormMatch, ModifierSource, Spaces};
use ptx_isa::{Access, Modifier, ScalarType, StateSpace, TypeKind};
use ptx_semantics::internals::{COPY, TO_SPACE};

use super::legality::{LegalityChecker, expected};

/// A planned change of a statement.
pub(super) struct Step {
    pub(super) stmt: StmtId,
    pub(super) rewrite: Rewrite,
    /// The fact that allows the change, for the report.
    pub(super) why: String,
}

/// A kind of change.
pub(super) enum Rewrite {
    /// Removes the statement.
    Remove,
    /// Removes the guard of the instruction.
    Unguard,
    /// Adds a modifier.
    Modifier(Modifier),
    /// Reads another register in the operands at `places`, and in the guard.
    Read {
        old: RegId,
        new: RegId,
        places: Vec<usize>,
    },
    /// Replaces a register operand by a constant of its width.
    Number { index: usize, bits: u128 },
    /// Replaces the instruction by a move of a constant, without a guard.
    Constant { target: Operand, bits: u128 },
    /// Replaces the instruction by a move.
    Copy {
        target: Operand,
        source: Operand,
        ty: ScalarType,
    },
    /// Makes the instruction an access of a vector, and removes the accesses that it replaces.
    Vector(VectorAccess),
    /// Names the state space of the access, at an address operand with another base.
    Space {
        index: usize,
        base: Operand,
        space: StateSpace,
    },
    /// Converts a generic address to its state space, for accesses that follow in the same block.
    Convert {
        register: RegId,
        space: StateSpace,
        accesses: Vec<AddressOperand>,
    },
}

/// An access of a vector.
pub(super) struct VectorAccess {
    /// The scalar accesses that the vector access replaces.
    pub(super) replaced: Vec<StmtId>,
    /// The index of the operand that is loaded or stored.
    pub(super) data_index: usize,
    /// The elements of the vector.
    pub(super) elements: Vec<Operand>,
    /// The index of the address operand.
    pub(super) address_index: usize,
    /// The lowest address.
    pub(super) address: Operand,
}

/// An address operand of a statement.
#[derive(Copy, Clone)]
pub(super) struct AddressOperand {
    pub(super) stmt: StmtId,
    pub(super) index: usize,
}

/// The number of names that are tried for a new register.
const MAX_NAMES: usize = 64;

/// Changes the statements of one function.
pub(super) struct Rewriter<'e, 'm> {
    pub(super) editor: &'e mut Editor<'m>,
    pub(super) checker: &'e mut LegalityChecker,
}

impl Rewriter<'_, '_> {
    /// Makes a change. Returns `false` if the result would not be legal; then nothing changes.
    pub(super) fn apply(&mut self, step: &Step) -> bool {
        let stmt = step.stmt;
        let is_changed = match step.rewrite {
            Rewrite::Remove => self.editor.remove(stmt).map(|()| true),
            Rewrite::Unguard => self.editor.set_guard(stmt, None).map(|()| true),
            Rewrite::Modifier(word) => self.modifier(stmt, word),
            Rewrite::Read {
                old,
                new,
                ref places,
            } => self.read(stmt, old, new, places),
            Rewrite::Number { index, bits } => self.number(stmt, index, bits),
            Rewrite::Constant { target, bits } => self.constant(stmt, target, bits),
            Rewrite::Copy { target, source, ty } => self.copy(stmt, target, source, ty),
            Rewrite::Space { index, base, space } => self.space(stmt, index, base, space),
            Rewrite::Convert {
                register,
                space,
                ref accesses,
            } => self.convert(stmt, register, space, accesses),
            Rewrite::Vector(ref access) => self.vector(stmt, access),
        };
        is_changed == Ok(true)
    }

    /// The mnemonic and the operands of an instruction.
    fn parts(&self, stmt: StmtId) -> Option<(Mnemonic, Vec<Operand>)> {
        let Statement::Inst(inst) = self.editor.statement(stmt).ok()? else {
            return None;
        };
        let body = self.editor.body();
        let mnemonic = Mnemonic::of(self.editor.module(), body.inst(inst)?.sig)?;
        Some((mnemonic, body.operands(inst).to_vec()))
    }

    fn modifier(&mut self, stmt: StmtId, word: Modifier) -> Result<bool, EditError> {
        let Some((mut mnemonic, operands)) = self.parts(stmt) else {
            return Ok(false);
        };
        mnemonic.push(word);
        let allowed = self.checker.allows(self.editor, &mnemonic, &operands);
        if allowed {
            self.editor.add_modifier(stmt, word)?;
        }
        Ok(allowed)
    }

    fn read(
        &mut self,
        stmt: StmtId,
        old: RegId,
        new: RegId,
        places: &[usize],
    ) -> Result<bool, EditError> {
        let Some((mnemonic, mut operands)) = self.parts(stmt) else {
            return Ok(false);
        };
        let old_operands = operands.clone();
        for &place in places {
            if let Some(operand) = operands.get_mut(place) {
                *operand = self.editor.with_register(*operand, old, new);
            }
        }
        let mut is_changed = false;
        if operands != old_operands && self.checker.allows(self.editor, &mnemonic, &operands) {
            self.editor.set_operands(stmt, &operands)?;
            is_changed = true;
        }
        let guard = match self.editor.statement(stmt)? {
            Statement::Inst(inst) => self.editor.body().inst(inst).and_then(|i| i.guard()),
            _ => None,
        };
        if let Some(guard) = guard
            && self.editor.body().pool().get(guard.predicate) == Operand::Reg(old)
        {
            self.editor.set_guard(stmt, Some((new, guard.sense)))?;
            is_changed = true;
        }
        Ok(is_changed)
    }

    fn number(&mut self, stmt: StmtId, index: usize, bits: u128) -> Result<bool, EditError> {
        let Some((mnemonic, mut operands)) = self.parts(stmt) else {
            return Ok(false);
        };
        let form_type = self.checker.ask(self.editor, &mnemonic, &operands, |form| {
            expected(form, index)
        });
        let Some(new) = form_type.flatten().and_then(|ty| self.literal(bits, ty)) else {
            return Ok(false);
        };
        if let Some(operand) = operands.get_mut(index) {
            *operand = new;
        }
        if !self.checker.allows(self.editor, &mnemonic, &operands) {
            return Ok(false);
        }
        self.editor.set_operand(stmt, index, new)?;
        Ok(true)
    }

    /// A constant as an operand of a type; `None` if the type has no constants.
    fn literal(&mut self, bits: u128, expected: Expected) -> Option<Operand> {
        let width = expected.bits().filter(|w| (8..=64).contains(w))?;
        let bits = (bits & ((1 << width) - 1)) as u64;
        let kind = match expected {
            Expected::Type(ty) => ty.kind(),
            _ => TypeKind::Bits,
        };
        let text = match (kind, width) {
            (TypeKind::Float, 32) => format!("0f{bits:08X}"),
            (TypeKind::Float, 64) => format!("0d{bits:016X}"),
            (TypeKind::Signed, _) => {
                let unused_bits = 64 - u32::from(width);
                return Some(
                    self.editor
                        .integer((bits << unused_bits) as i64 >> unused_bits),
                );
            }
            (TypeKind::Unsigned | TypeKind::Bits, _) => match i64::try_from(bits) {
                Ok(bits) => return Some(self.editor.integer(bits)),
                Err(_) => format!("{bits:#x}"),
            },
            _ => return None,
        };
        self.editor.constant(&text).ok()
    }

    fn constant(&mut self, stmt: StmtId, target: Operand, bits: u128) -> Result<bool, EditError> {
        let register = match target {
            Operand::Component(_, vector) => self.editor.body().pool().get(vector),
            register => register,
        };
        let Operand::Reg(register) = register else {
            return Ok(false);
        };
        let Some(declared) = self.type_of(register) else {
            return Ok(false);
        };
        let (ty, number) = match declared {
            ScalarType::Pred => (declared, self.editor.integer((bits & 1) as i64)),
            _ => {
                let ty = match declared.bits() {
                    16 => ScalarType::B16,
                    32 if declared.kind() == TypeKind::Float => declared,
                    32 => ScalarType::B32,
                    64 if declared.kind() == TypeKind::Float => declared,
                    64 => ScalarType::B64,
                    _ => return Ok(false),
                };
                match self.literal(bits, Expected::Type(ty)) {
                    Some(number) => (ty, number),
                    None => return Ok(false),
                }
            }
        };
        self.copy(stmt, target, number, ty)
    }

    /// The type of a register, or of the elements of a vector.
    fn type_of(&self, register: RegId) -> Option<ScalarType> {
        let decl = self.editor.body().reg_decl_of(register);
        self.checker.register(register).or(decl?.ty.known())
    }

    fn copy(
        &mut self,
        stmt: StmtId,
        target: Operand,
        source: Operand,
        ty: ScalarType,
    ) -> Result<bool, EditError> {
        let copy = Mnemonic::new(COPY, [ty.modifier()]);
        let operands = [target, source];
        if !self.checker.allows(self.editor, &copy, &operands) {
            return Ok(false);
        }
        let mnemonic = [COPY.text(), ty.modifier().text()].concat();
        let new = self.editor.inst(&mnemonic, &operands)?;
        self.editor.replace(stmt, new)?;
        Ok(true)
    }

    fn space(
        &mut self,
        stmt: StmtId,
        index: usize,
        base: Operand,
        space: StateSpace,
    ) -> Result<bool, EditError> {
        let Some(operands) = self.in_space(stmt, index, base, space)? else {
            return Ok(false);
        };
        self.editor.set_operands(stmt, &operands)?;
        if let Some(word) = space.modifier() {
            self.editor.add_modifier(stmt, word)?;
        }
        Ok(true)
    }

    /// The operands of an access that names a state space, with another base; `None` if the access would not be legal.
    fn in_space(
        &mut self,
        stmt: StmtId,
        index: usize,
        base: Operand,
        space: StateSpace,
    ) -> Result<Option<Vec<Operand>>, EditError> {
        let (Some((mut mnemonic, mut operands)), Some(word)) = (self.parts(stmt), space.modifier())
        else {
            return Ok(None);
        };
        let offset = match operands.get(index) {
            Some(&Operand::Address(id)) => self.editor.body().pool().address(id).map(|a| a.offset),
            _ => None,
        };
        let (Some(offset), Some(operand)) = (offset, operands.get_mut(index)) else {
            return Ok(None);
        };
        *operand = self.editor.address(base, offset)?;
        mnemonic.push(word);
        let accesses_space = self
            .checker
            .ask(self.editor, &mnemonic, &operands, |form_match| {
                accesses_space(form_match, word)
            });
        Ok((accesses_space == Some(true)).then_some(operands))
    }

    fn convert(
        &mut self,
        stmt: StmtId,
        register: RegId,
        space: StateSpace,
        accesses: &[AddressOperand],
    ) -> Result<bool, EditError> {
        let base = Operand::Reg(register);
        let mut legal = Vec::new();
        for &access in accesses {
            if self
                .in_space(access.stmt, access.index, base, space)?
                .is_some()
            {
                legal.push(access);
            }
        }
        let ty = match self.type_of(register).map(|ty| ty.bits()) {
            Some(32) => ScalarType::U32,
            Some(64) => ScalarType::U64,
            _ => return Ok(false),
        };
        let (Some(word), false) = (space.modifier(), legal.is_empty()) else {
            return Ok(false);
        };
        let modifiers = [TO_SPACE.1, word, ty.modifier()];
        let conversion = Mnemonic::new(TO_SPACE.0, modifiers);
        if !self.checker.allows(self.editor, &conversion, &[base, base]) {
            return Ok(false);
        }
        let Some(new) = self.new_register(ty, word)? else {
            return Ok(false);
        };
        let words = modifiers.iter().map(|m| m.text());
        let text: String = [TO_SPACE.0.text()].into_iter().chain(words).collect();
        let new = Operand::Reg(new);
        let conversion = self.editor.inst(&text, &[new, base])?;
        self.editor.insert_before(stmt, conversion)?;
        for access in legal {
            if let Some(mut operands) = self.parts(access.stmt).map(|(_, operands)| operands)
                && let Some(operand) = operands.get_mut(access.index)
                && let Operand::Address(id) = *operand
                && let Some(address) = self.editor.body().pool().address(id)
            {
                let offset = address.offset;
                *operand = self.editor.address(new, offset)?;
                self.editor.set_operands(access.stmt, &operands)?;
                self.editor.add_modifier(access.stmt, word)?;
            }
        }
        Ok(true)
    }

    /// Declares a register for an address in a state space, with the first name that is free.
    fn new_register(
        &mut self,
        ty: ScalarType,
        space: Modifier,
    ) -> Result<Option<RegId>, EditError> {
        let name = space.text().trim_start_matches('.');
        let declared = self.editor.body().reg_decls().len();
        for number in declared..declared + MAX_NAMES {
            let name = format!("%{name}_{number}");
            match self.editor.registers(ty, &name, None) {
                Ok((decl, stmt)) => {
                    self.editor.prepend(stmt)?;
                    return self.editor.register(decl, 0).map(Some);
                }
                Err(EditError::Taken(_) | EditError::Overlap { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn vector(&mut self, stmt: StmtId, access: &VectorAccess) -> Result<bool, EditError> {
        let Some((scalar_mnemonic, mut operands)) = self.parts(stmt) else {
            return Ok(false);
        };
        let length = match access.elements.len() {
            2 => Modifier::V2,
            4 => Modifier::V4,
            _ => return Ok(false),
        };
        let vector = self.editor.vector(&access.elements)?;
        if let Some(data) = operands.get_mut(access.data_index) {
            *data = vector;
        }
        if let Some(address) = operands.get_mut(access.address_index) {
            *address = access.address;
        }
        let opcode = scalar_mnemonic.opcode();
        let mut modifiers: Vec<Modifier> = scalar_mnemonic
            .modifiers()
            .iter()
            .copied()
            .filter(|modifier| *modifier != Modifier::V2)
            .collect();
        // The type comes last.
        modifiers.insert(modifiers.len().saturating_sub(1), length);
        let mnemonic = Mnemonic::new(opcode, modifiers.iter().copied());
        if !self.checker.allows(self.editor, &mnemonic, &operands) {
            return Ok(false);
        }
        let words = modifiers.iter().map(|m| m.text());
        let text: String = [opcode.text()].into_iter().chain(words).collect();
        let new = self.editor.inst(&text, &operands)?;
        self.editor.replace(stmt, new)?;
        for replaced in &access.replaced {
            self.editor.remove(*replaced)?;
        }
        Ok(true)
    }
}

/// Whether a form accesses memory of the state space that a modifier names.
fn accesses_space(form_match: &FormMatch<'_>, space: Modifier) -> bool {
    form_match
        .form()
        .operands()
        .iter()
        .filter(|operand| operand.access() != Access::None)
        .any(|operand| match operand.spaces() {
            Spaces::Slot(slot) => form_match.word(ModifierSource::Slot(slot)) == Some(space),
            Spaces::OneOf(spaces) | Spaces::GenericOr(spaces) => spaces.contains(&space),
            _ => false,
        })
}

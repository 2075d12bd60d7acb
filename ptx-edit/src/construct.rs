//! Creates operands and statements, which are inserted later.

use alloc::string::ToString;
use alloc::vec::Vec;

use ptx_ir::ConstValue;
use ptx_ir::raw::read_expression;
use ptx_ir::raw::{OperandSlot, RawBody, RawModule, scan};
use ptx_ir::{
    Address, AddressForm, Binding, BodyId, Declarator, DirectiveStmt, GuardSense, Immediate, Inst,
    Label, LabelId, Limits, Operand, OperandPool, OperandRef, RegDecl, RegDeclId, RegId, Register,
    ScopeId, Selector, SigId, Statement, StmtId, TableRange, TypeName, Var, VarDecl, VarId,
};
use ptx_isa::{Directive, ScalarType, StateSpace};

use crate::items::quote;
use crate::names::NameForm;
use crate::operand_grammar::{
    self, check_arguments, expect_operand, is_address, is_bracket_part, is_pair,
};
use crate::placement::is_statement;
use crate::{EditError, Editor, ModuleEditor};

/// A statement that is not inserted yet. Created by an [`Editor`] for its body.
#[derive(PartialEq, Eq, Debug)]
pub struct NewStmt {
    pub(crate) statement: Statement,
    pub(crate) body: BodyId,
}

/// The statement of a label or a declaration that is not inserted yet.
pub(crate) const UNPLACED: StmtId = StmtId::new(u32::MAX);

/// The value of a constant expression.
enum Constant {
    /// An integer below 10⁹ in decimal notation, whose text follows from its value.
    Small(i32),
    Other(ConstValue),
}

fn read_constant(text: &str) -> Result<Constant, EditError> {
    let nesting = Limits::default().nesting;
    let expression = read_expression(text.as_bytes(), 0, nesting);
    let value = match expression.value {
        Ok(value) if expression.end == text.len() && !expression.spaced => value,
        _ => return Err(EditError::spelling("constant", text)),
    };
    // As in the parser, an integer below 10⁹ is stored as its value if that is how it is written.
    let small_integer = value.as_int().filter(|n| n.unsigned_abs() < 1_000_000_000);
    Ok(match small_integer {
        Some(n) if n.to_string() == text => Constant::Small(n as i32),
        _ => Constant::Other(value),
    })
}

/// The places of an operand in the pool, and of its parts, that hold a register.
fn register_slots(pool: &OperandPool, root: OperandRef, register: RegId) -> Vec<OperandSlot> {
    pool.walk_stored(OperandSlot::Pool(root), pool.get(root))
        .stored()
        .filter(|(_, operand)| *operand == Operand::Reg(register))
        .map(|(slot, _)| slot)
        .collect()
}

impl ModuleEditor<'_> {
    /// A constant as it is written, for the initializer of a variable of the module.
    ///
    /// # Errors
    ///
    /// [`EditError::Spelling`] if the text is not a constant expression.
    pub fn constant(&mut self, text: &str) -> Result<Operand, EditError> {
        let value = match read_constant(text)? {
            Constant::Small(n) => return Ok(Operand::Small(n)),
            Constant::Other(value) => value,
        };
        let text = self.intern(text);
        let pool = self.module.pool_mut();
        Ok(Operand::Imm(
            pool.add_immediate(Immediate::new(text, value)),
        ))
    }
}

impl Editor<'_> {
    // --- operands ---

    /// An integer.
    pub fn integer(&mut self, value: i64) -> Operand {
        // The text of a small integer is not stored: it follows from the value.
        if value.unsigned_abs() < 1_000_000_000 {
            return Operand::Small(value as i32);
        }
        let text = self.intern(&value.to_string());
        let value = ConstValue::signed(value);
        Operand::Imm(self.pool_mut().add_immediate(Immediate::new(text, value)))
    }

    /// A constant as it is written: `0x10`, `0f3f800000`, `1.5`, `4*8`.
    ///
    /// # Errors
    ///
    /// [`EditError::Spelling`] if the text is not a constant expression.
    pub fn constant(&mut self, text: &str) -> Result<Operand, EditError> {
        let (text, value) = match read_constant(text)? {
            Constant::Small(n) => return Ok(Operand::Small(n)),
            Constant::Other(value) => (self.intern(text), value),
        };
        Ok(Operand::Imm(
            self.pool_mut().add_immediate(Immediate::new(text, value)),
        ))
    }

    /// `[base]`, or `[base+offset]` if the offset is not [`Operand::Absent`].
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the operands cannot be parts of an address.
    pub fn address(&mut self, base: Operand, offset: Operand) -> Result<Operand, EditError> {
        let form = AddressForm::Bracketed;
        let new = Address::new(base, offset, form);
        expect_operand(is_address(self.body().pool(), &new), "part of an address")?;
        Ok(Operand::Address(self.pool_mut().add_address(new)))
    }

    /// `{a, b, …}`
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the operands cannot be elements of a vector.
    pub fn vector(&mut self, parts: &[Operand]) -> Result<Operand, EditError> {
        let is_vector = !parts.is_empty() && self.are_elements(parts);
        expect_operand(is_vector, "part of a vector")?;
        Ok(Operand::Vector(self.pool_mut().add_list(parts)))
    }

    /// `(a, b, …)`: the results or arguments of a call.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the operands cannot be arguments.
    pub fn list(&mut self, parts: &[Operand]) -> Result<Operand, EditError> {
        expect_operand(self.are_elements(parts), "argument of a call")?;
        Ok(Operand::List(self.pool_mut().add_list(parts)))
    }

    /// `[a, b, …]`: several operands in brackets, which can be vectors.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the operands cannot be in brackets.
    pub fn bracket(&mut self, parts: &[Operand]) -> Result<Operand, EditError> {
        let pool = self.body().pool();
        let is_bracket = parts.len() > 1 && parts.iter().all(|o| is_bracket_part(pool, *o));
        expect_operand(is_bracket, "part of a bracket")?;
        Ok(Operand::Bracket(self.pool_mut().add_list(parts)))
    }

    /// `a|b`
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the operands cannot be a pair.
    pub fn pair(&mut self, a: Operand, b: Operand) -> Result<Operand, EditError> {
        expect_operand(is_pair(self.body().pool(), a, b), "part of a pair")?;
        Ok(Operand::Pair(self.pool_mut().extend(&[a, b]).at(0)))
    }

    /// `!a`
    pub fn inverted(&mut self, a: RegId) -> Operand {
        Operand::Not(self.pool_mut().extend(&[Operand::Reg(a)]).at(0))
    }

    /// `a.x`
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if `a` is not a name.
    pub fn component(&mut self, a: Operand, selector: Selector) -> Result<Operand, EditError> {
        expect_operand(operand_grammar::is_name(a), "name with components")?;
        Ok(Operand::Component(
            selector,
            self.pool_mut().extend(&[a]).at(0),
        ))
    }

    /// An operand with one register replaced by another, also in its parts.
    pub fn with_register(&mut self, operand: Operand, old: RegId, new: RegId) -> Operand {
        let pool = self.pool_mut();
        let copy = pool.extend(&[operand]);
        let copy_root = copy.at(0);
        if !register_slots(pool, copy_root, old).is_empty() {
            pool.deep_copy(copy);
        }
        for slot in register_slots(pool, copy_root, old) {
            pool.set_slot(slot, Operand::Reg(new));
        }
        let replaced_operand = pool.get(copy_root);
        pool.set(copy_root, Operand::Absent);
        replaced_operand
    }

    /// A register of a declaration: a member of a range; number 0 for a plain name. The first call is linear in the registers
    /// of the body.
    ///
    /// # Errors
    ///
    /// [`EditError::NoPart`] if the range has no such member.
    pub fn register(&mut self, decl: RegDeclId, number: u32) -> Result<RegId, EditError> {
        let declaration = self
            .body()
            .reg_decls()
            .get(decl)
            .ok_or(EditError::UnknownId)?;
        if number >= declaration.count.unwrap_or(1) {
            return Err(EditError::NoPart(format!("register {number}")));
        }
        let body = &mut self.module.bodies_mut()[self.body];
        let register_ids = self.registers.get_or_insert_with(|| {
            let registers = body.registers().iter();
            registers.map(|(id, r)| ((r.decl, r.number), id)).collect()
        });
        Ok(*register_ids
            .entry((decl, number))
            .or_insert_with(|| body.registers_mut().push(Register::new(decl, number))))
    }

    // --- statements ---

    /// An instruction without a guard.
    ///
    /// # Errors
    ///
    /// [`EditError::Spelling`] if the text is not a mnemonic, [`EditError::Kind`] if the operands cannot be written after it.
    pub fn inst(&mut self, mnemonic: &str, operands: &[Operand]) -> Result<NewStmt, EditError> {
        self.new_inst(mnemonic, operands, None)
    }

    /// An instruction under a guard, `@p` or `@!p`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`inst`](Self::inst).
    pub fn guarded(
        &mut self,
        predicate: RegId,
        sense: GuardSense,
        mnemonic: &str,
        operands: &[Operand],
    ) -> Result<NewStmt, EditError> {
        self.new_inst(mnemonic, operands, Some((predicate, sense)))
    }

    fn new_inst(
        &mut self,
        mnemonic: &str,
        operands: &[Operand],
        guard: Option<(RegId, GuardSense)>,
    ) -> Result<NewStmt, EditError> {
        let sig = self.mnemonic(mnemonic)?;
        self.are_operands(sig, operands)?;
        let predicate = guard.map(|(predicate, _)| Operand::Reg(predicate));
        let stored_operands = [predicate.as_slice(), operands].concat();
        let range = self.pool_mut().extend(&stored_operands);
        self.pool_mut().deep_copy(range);
        let inst = Inst::new(sig, range, guard.map(|(_, sense)| sense));
        let id = self.body_mut().insts_mut().push(inst);
        Ok(self.draft(Statement::Inst(id)))
    }

    /// A label, which can be used before it is inserted. It belongs to the outermost scope of the function until it is
    /// inserted into another one.
    ///
    /// # Errors
    ///
    /// [`EditError::Taken`], [`EditError::Overlap`] and [`EditError::Spelling`] if the name cannot be declared.
    pub fn label(&mut self, name: &str) -> Result<(LabelId, NewStmt), EditError> {
        let name = self.new_name(name, NameForm::Plain)?;
        let label = Label::new(name, ScopeId::new(0), UNPLACED);
        let id = self.body_mut().labels_mut().push(label);
        Ok((id, self.draft(Statement::Label(id))))
    }

    /// `.reg .ty name;`, or `.reg .ty name<count>;`
    ///
    /// # Errors
    ///
    /// Returns the errors of [`label`](Self::label).
    pub fn registers(
        &mut self,
        ty: ScalarType,
        name: &str,
        count: Option<u32>,
    ) -> Result<(RegDeclId, NewStmt), EditError> {
        let name = self.new_name(name, NameForm::of(count))?;
        let mut decl = RegDecl::new(name, TypeName::Known(ty), ScopeId::new(0));
        decl.count = count;
        decl.stmt = Some(UNPLACED);
        let decl = self.body_mut().reg_decls_mut().push(decl);
        let mut declarator = Declarator::new(name, Binding::Register(decl));
        declarator.count = count.map_or(Operand::Absent, |n| self.integer(i64::from(n)));
        declarator.dims = self.pool_mut().extend(&[]);
        let draft = self.declaration(StateSpace::Reg, Operand::Absent, ty, declarator);
        Ok((decl, draft))
    }

    /// `.space .align n .ty name;`, or an array of `elements`. An alignment of 0 is the natural one of the type.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`label`](Self::label), and [`EditError::Kind`] for registers.
    pub fn variable(
        &mut self,
        space: StateSpace,
        align: u32,
        ty: ScalarType,
        name: &str,
        elements: Option<u32>,
    ) -> Result<(VarId, NewStmt), EditError> {
        if space == StateSpace::Reg {
            return EditError::kind("variable");
        }
        let name = self.new_name(name, NameForm::Plain)?;
        let id = self.body_mut().vars_mut().push(Var {
            name,
            number: None,
            space,
            scope: ScopeId::new(0),
            stmt: Some(UNPLACED),
        });
        let align = match align {
            0 => Operand::Absent,
            n => self.integer(i64::from(n)),
        };
        let dims = match elements {
            Some(n) => vec![self.integer(i64::from(n))],
            None => vec![],
        };
        let mut declarator = Declarator::new(name, Binding::Var(id));
        declarator.dims = self.pool_mut().extend(&dims);
        Ok((id, self.declaration(space, align, ty, declarator)))
    }

    /// A declaration statement with one declarator.
    fn declaration(
        &mut self,
        space: StateSpace,
        align: Operand,
        ty: ScalarType,
        declarator: Declarator,
    ) -> NewStmt {
        let tables = self.body_mut().declarations_mut();
        let start = tables.declarators.push(declarator);
        let mut decl = VarDecl::new(space, TypeName::Known(ty));
        decl.align = align;
        decl.declarators = TableRange {
            start: start as u32,
            len: 1,
        };
        let id = tables.decls.push(decl);
        self.draft(Statement::Decl(id))
    }

    /// A directive with its arguments, such as `.pragma` or `.loc`: see [`DirectiveStmt`].
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the directive is not a statement of a body or takes other arguments.
    pub fn directive(
        &mut self,
        directive: Directive,
        args: &[Operand],
    ) -> Result<NewStmt, EditError> {
        if !is_statement(directive) {
            return EditError::kind("directive of a body");
        }
        check_arguments(self.module, self.body().pool(), directive, args)?;
        let args = self.pool_mut().extend(args);
        self.pool_mut().deep_copy(args);
        let stmt = DirectiveStmt::new(directive, args);
        let id = self.body_mut().directives_mut().push(stmt);
        Ok(self.draft(Statement::Directive(id)))
    }

    /// A string for a directive; the quotes are added.
    ///
    /// # Errors
    ///
    /// [`EditError::Spelling`] if the text has quotes, line breaks, or bytes that are not ASCII.
    pub fn string(&mut self, text: &str) -> Result<Operand, EditError> {
        let quoted = quote(text)?;
        Ok(Operand::Str(self.intern(&quoted)))
    }

    /// A statement of this body that is not inserted yet.
    pub(crate) fn draft(&self, statement: Statement) -> NewStmt {
        NewStmt {
            statement,
            body: self.body,
        }
    }

    // --- spellings ---

    /// The signature of a mnemonic such as `add.s32`.
    pub(crate) fn mnemonic(&mut self, text: &str) -> Result<SigId, EditError> {
        let bytes = text.as_bytes();
        let mut end = if scan::starts_ident(bytes, 0) {
            scan::ident_end(bytes, 0)
        } else {
            0
        };
        while end > 0 && end < bytes.len() {
            let next = scan::dot_word_end(bytes, end);
            end = match scan::peek(bytes, end) {
                b'.' if next > end + 1 => next,
                _ => 0,
            };
        }
        if end == 0 {
            return Err(EditError::spelling("mnemonic", text));
        }
        Ok(self.module.signatures_mut().intern(bytes))
    }
}

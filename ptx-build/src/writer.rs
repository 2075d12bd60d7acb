//! Adds the operands of one statement as records.

use alloc::string::ToString;

use ptx_ir::raw::RawBody;
use ptx_ir::{Address, AddressForm, Module, Operand, OperandPool, Selector};
use ptx_isa::SpecialReg;

use crate::error::{BuildError, BuildErrorKind, hidden};
use crate::function::body::Body;
use crate::handle::{CodeLabel, Dependency, Func, Reg, Variable};
use crate::handle_owner::Handle;
use crate::module::tables::Tables;
use crate::name_scope::{NameScope, Named};
use crate::number::{constant, spelled};

/// Takes the operands of a statement. Only the builder makes one.
#[derive(Debug)]
pub struct Writer<'w> {
    pub(crate) body: &'w mut Body,
    pub(crate) tables: &'w Tables,
    pub(crate) module: &'w mut Module,
    /// Whether the instruction takes lists in parentheses.
    pub(crate) takes_lists: bool,
    pub(crate) count: u32,
}

impl Writer<'_> {
    /// Begins the next operand.
    #[inline]
    pub(crate) fn next(&mut self) {
        self.count += 1;
    }

    /// Adds an operand of the statement, or of the group that is open.
    #[inline]
    fn operand(&mut self, operand: Operand) {
        self.body.pending.operands.push(operand);
    }

    fn pool(&mut self) -> &mut OperandPool {
        self.body.records.pool_mut()
    }

    /// The operand that was added last.
    fn take(&mut self) -> Operand {
        self.body.pending.operands.pop().unwrap_or(Operand::Absent)
    }

    fn fail(&mut self, error: BuildError) {
        self.body.pending.error.get_or_insert(error);
        self.operand(Operand::Absent);
    }

    #[cold]
    fn foreign(&mut self, handle: Handle) {
        let error = self
            .tables
            .handle_owners
            .refuse(handle, Some(&self.body.name));
        self.fail(error);
    }

    #[cold]
    fn hidden(&mut self, noun: &str, name: &str) {
        let error = hidden(noun, name);
        self.fail(error);
    }

    pub(crate) fn too_deep(&mut self) {
        self.fail(BuildError::new(
            BuildErrorKind::Argument,
            "operands nest deeper than any instruction takes",
            "a vector or a bracket has registers, constants and at most vectors in it",
        ));
    }

    // --- names ---

    #[inline]
    pub(crate) fn register(&mut self, reg: Reg) {
        let Some(info) = self.body.register(reg).filter(|info| info.visible) else {
            return self.refused_register(reg);
        };
        let (is_used, id) = (info.is_used, info.id);
        let body = &mut *self.body;
        if !is_used {
            body.pending.unused.push(reg.index);
        }
        let id = match id {
            Some(id) => id,
            None => body.record_register(reg.index),
        };
        body.pending.operands.push(Operand::Reg(id));
        body.pending.mentions.push(Dependency::Reg(reg.index));
    }

    #[cold]
    fn refused_register(&mut self, reg: Reg) {
        match self.body.register(reg) {
            Some(_) => {
                let name = self.body.registers.name(reg.index);
                self.hidden("register", &name);
            }
            None => self.foreign(Handle::Reg(reg)),
        }
    }

    pub(crate) fn special(&mut self, register: SpecialReg) {
        let name = register.text();
        if self.body.has_meaning(name) || self.tables.names.contains(name) {
            return self.hidden("special register", name);
        }
        self.operand(Operand::Special(register));
    }

    pub(crate) fn variable(&mut self, var: Variable) {
        self.named(|scope| scope.variable(var));
    }

    pub(crate) fn function(&mut self, func: Func) {
        self.named(|scope| scope.function(func));
    }

    pub(crate) fn label(&mut self, label: CodeLabel) {
        self.named(|scope| scope.label(label));
    }

    fn named(&mut self, find: impl Fn(NameScope<'_>) -> Result<Named<'_>, BuildError>) {
        let named = match find(NameScope::new(self.tables, Some(self.body))) {
            Ok(named) => named,
            Err(error) => return self.fail(error),
        };
        let (mut operand, dependency) = (named.operand, named.dependency);
        if let Dependency::Label(label) = dependency {
            operand = Operand::Label(self.body.record_label(label));
            self.body.wait(label);
        }
        self.body.pending.mentions.push(dependency);
        self.operand(operand);
    }

    // --- constants ---

    #[inline]
    pub(crate) fn integer(&mut self, value: i64) {
        match value {
            -999_999_999..1_000_000_000 => self.operand(Operand::Small(value as i32)),
            _ => self.immediate(&value.to_string()),
        }
    }

    pub(crate) fn unsigned(&mut self, value: u64) {
        match i64::try_from(value) {
            Ok(value) => self.integer(value),
            Err(_) => self.immediate(&value.to_string()),
        }
    }

    /// A constant by its spelling. One with spaces between its tokens is left to the parser.
    fn immediate(&mut self, text: &str) {
        let pool = self.body.records.pool_mut();
        let operand = match constant(text, self.module, pool) {
            Some(operand) => operand,
            None => {
                self.body.pending.is_irregular = true;
                spelled(text, self.module, pool)
            }
        };
        self.operand(operand);
    }

    pub(crate) fn single(&mut self, value: f32) {
        self.immediate(&format!("0f{:08X}", value.to_bits()));
    }

    pub(crate) fn double(&mut self, value: f64) {
        self.immediate(&format!("0d{:016X}", value.to_bits()));
    }

    pub(crate) fn constant(&mut self, text: &str) {
        if !crate::lexical::is_constant(text) {
            return self.fail(crate::lexical::no_constant(text));
        }
        let mut digits = text.strip_prefix('-').unwrap_or(text).bytes();
        let is_literal = digits.all(|b| b.is_ascii_alphanumeric() || b == b'.');
        self.body.pending.is_irregular |= !is_literal;
        self.immediate(text);
    }

    pub(crate) fn sink(&mut self) {
        // `_` has no value: only a result, or a part of one, can be dropped.
        self.body.pending.is_irregular |= self.count > 1 && self.body.pending.groups == 0;
        self.operand(Operand::Sink);
    }

    // --- groups ---

    /// Begins a group of operands; returns the position of the first one.
    #[inline]
    pub(crate) fn open(&mut self) -> usize {
        self.body.pending.groups += 1;
        self.body.pending.operands.len()
    }

    /// Ends a group of operands that begin at `mark`.
    pub(crate) fn close(&mut self, group: Group, mark: usize) {
        self.body.pending.groups -= 1;
        let body = &mut *self.body;
        let parts = body.pending.operands.get(mark..).unwrap_or_default();
        let (fits, is_first) = (
            group.takes(parts),
            self.count == 1 && body.pending.groups == 0,
        );
        let pool = body.records.pool_mut();
        let operand = match group {
            Group::Vector => Operand::Vector(pool.add_list(parts)),
            Group::List => Operand::List(pool.add_list(parts)),
            Group::Bracket => Operand::Bracket(pool.add_list(parts)),
            Group::Pair => Operand::Pair(pool.extend(parts).at(0)),
            Group::Not => Operand::Not(pool.extend(parts).at(0)),
            Group::Neg => Operand::Neg(pool.extend(parts).at(0)),
        };
        body.pending.operands.truncate(mark);
        body.pending.operands.push(operand);
        let is_placed = match group {
            Group::List => self.takes_lists && self.body.pending.groups == 0,
            Group::Pair => is_first,
            Group::Vector => true,
            _ => self.body.pending.groups == 0 || group != Group::Bracket,
        };
        self.body.pending.is_irregular |= !(fits && is_placed);
    }

    pub(crate) fn component(&mut self, selector: Selector) {
        let base = self.take();
        self.body.pending.is_irregular |= !is_name(base);
        let base = self.pool().extend(&[base]).at(0);
        self.operand(Operand::Component(selector, base));
    }

    // --- addresses ---

    /// Ends an address, of which the base and, perhaps, an offset were added.
    #[inline]
    pub(crate) fn close_address(&mut self, form: AddressForm, has_offset: bool) {
        let offset = if has_offset {
            self.take()
        } else {
            Operand::Absent
        };
        let base = self.take();
        let in_brackets = matches!(form, AddressForm::Bracketed | AddressForm::Unified);
        let is_base = is_name(base) || in_brackets && is_number(base) && !has_offset;
        let is_offset = match form {
            AddressForm::Indexed => is_number(offset) || matches!(offset, Operand::Reg(_)),
            AddressForm::Bare => is_number(offset),
            _ => is_number(offset) || !has_offset,
        };
        self.body.pending.is_irregular |= !(is_base && is_offset) || self.body.pending.groups > 0;
        let address = Address::new(base, offset, form);
        let address = self.pool().add_address(address);
        self.operand(Operand::Address(address));
    }
}

/// The kind of a group of operands.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    Bracket,
    Vector,
    List,
    Pair,
    Not,
    Neg,
}

impl Group {
    /// Whether the parser reads such operands as parts of this group.
    fn takes(self, parts: &[Operand]) -> bool {
        let is_element = |o: &Operand| is_name(*o) || is_number(*o) || *o == Operand::Sink;
        match self {
            Self::Vector => !parts.is_empty() && parts.iter().all(is_element),
            Self::List => parts.iter().all(is_element),
            Self::Bracket => {
                let fits =
                    |o: &Operand| is_name(*o) || is_number(*o) || matches!(o, Operand::Vector(_));
                parts.len() > 1 && parts.iter().all(fits)
            }
            Self::Pair => match parts {
                [first, second] => {
                    let is_part = |o| is_name(o) || o == Operand::Sink;
                    (is_part(*first) || matches!(first, Operand::Vector(_))) && is_part(*second)
                }
                _ => false,
            },
            Self::Not | Self::Neg => matches!(parts, [one] if is_name(*one)),
        }
    }
}

const fn is_name(operand: Operand) -> bool {
    matches!(
        operand,
        Operand::Reg(_)
            | Operand::Var(_)
            | Operand::Symbol(_)
            | Operand::Label(_)
            | Operand::Special(_)
    )
}

const fn is_number(operand: Operand) -> bool {
    matches!(operand, Operand::Small(_) | Operand::Imm(_))
}

//! Writes the operands of one statement: their text, and the key of what they are.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Write as _;

use ptx_ir::{AddressForm, Code, Selector};
use ptx_isa::SpecialReg;

use crate::error::{BuildError, BuildErrorKind};
use crate::function::Body;
use crate::handle_owner::Handle;
use crate::module::{DeclState, Tables, discarded, later};
use crate::operand::{CodeLabel, Func, Reg, Variable};

/// Something declared that a statement mentions.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Dependency {
    Reg(u32),
    Local(u32),
    Global(u32),
    Func(u32),
    Label(u32),
}

/// Takes the operands of a statement. Only the builder makes one.
#[derive(Debug)]
pub struct Writer<'w> {
    pub(crate) body: &'w mut Body,
    pub(crate) tables: &'w Tables,
    /// Whether the values of constants decide.
    pub(crate) values: bool,
    pub(crate) count: u32,
    pub(crate) in_offset: bool,
}

/// What stands outside of its scope, or behind another one of its name.
#[cold]
pub(crate) fn hidden(noun: &str, name: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Foreign,
        format!(
            "the {noun} `{name}` is not visible here: its scope is closed, or its name means something else"
        ),
        "make it before the scope is opened, and give what is inside another name",
    )
    .code_is(Code::LabelOutOfScope)
}

/// A label that is mentioned before it is placed, while the module has its name.
#[cold]
pub(crate) fn early(label: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Duplicate,
        format!("the module has a `{label}` too, which the name means before the label is placed"),
        "give the label another name, or none: `label`",
    )
}

/// The bytes of a key.
mod code {
    pub(super) const REGISTER: u8 = 1;
    pub(super) const INTEGER: u8 = 2;
    pub(super) const VALUE: u8 = 3;
    pub(super) const SINGLE: u8 = 4;
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const SPECIAL: u8 = 6;
    pub(super) const GLOBAL: u8 = 7;
    pub(super) const FUNCTION: u8 = 8;
    pub(super) const LABEL: u8 = 9;
    pub(super) const TABLE: u8 = 10;
    pub(super) const LOCAL: u8 = 11;
    pub(super) const ADDRESS: u8 = 12;
    pub(super) const OFFSET: u8 = 13;
    pub(super) const END: u8 = 15;
    pub(super) const LANE: u8 = 21;
    pub(super) const SINK: u8 = 22;
    pub(super) const CONSTANT: u8 = 23;
    pub(super) const NEXT: u8 = 24;
}

/// Writes a number, without what formatting costs.
#[inline]
pub(crate) fn push_digits(text: &mut String, mut value: u64) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    for (i, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
        start = i;
        if value == 0 {
            break;
        }
    }
    for digit in digits.get(start..).unwrap_or_default() {
        text.push(char::from(*digit));
    }
}

impl Writer<'_> {
    pub(crate) const VECTOR: u8 = 14;
    pub(crate) const BRACKET: u8 = 16;
    pub(crate) const LIST: u8 = 17;
    pub(crate) const PAIR: u8 = 18;
    pub(crate) const NOT: u8 = 19;
    pub(crate) const NEG: u8 = 20;

    /// Begins the next operand.
    #[inline]
    pub(crate) fn next(&mut self) {
        self.push(if self.count == 0 { " " } else { ", " });
        self.count += 1;
        self.key(code::NEXT);
    }

    #[inline]
    pub(crate) fn push(&mut self, text: &str) {
        self.body.text.push_str(text);
    }

    #[inline]
    fn key(&mut self, byte: u8) {
        self.body.key.push(byte);
    }

    fn key_bytes(&mut self, bytes: &[u8]) {
        self.body.key.extend_from_slice(bytes);
    }

    fn fail(&mut self, error: BuildError) {
        self.body.error.get_or_insert(error);
    }

    #[cold]
    fn foreign(&mut self, handle: Handle) {
        let error = self.tables.past.refuse(handle, Some(&self.body.name));
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

    #[inline]
    pub(crate) fn register(&mut self, reg: Reg) {
        let known = self.body.registers.get(reg.index as usize);
        let Some(info) = known.filter(|_| reg.owner == self.body.owner) else {
            return self.foreign(Handle::Reg(reg));
        };
        if !info.visible {
            let name = self.body.register_name(info).to_string();
            return self.hidden("register", &name);
        }
        let (start, end) = (info.start as usize, info.end as usize);
        let bytes = [code::REGISTER, info.ty.index() as u8, info.vector];
        self.body
            .text
            .push_str(self.body.register_names.get(start..end).unwrap_or_default());
        self.body.key.extend_from_slice(&bytes);
        self.body.mentions.push(Dependency::Reg(reg.index));
    }

    pub(crate) fn special(&mut self, register: SpecialReg) {
        let name = register.text();
        if self.body.means(name) || self.tables.names.contains(name) {
            return self.hidden("special register", name);
        }
        self.push(register.text());
        self.key(code::SPECIAL);
        self.key_bytes(&(register.index() as u16).to_le_bytes());
    }

    #[inline]
    pub(crate) fn integer(&mut self, value: i64) {
        if value < 0 {
            self.push("-");
        }
        self.digits(value.unsigned_abs());
        self.value(value as u64);
    }

    pub(crate) fn unsigned(&mut self, value: u64) {
        self.digits(value);
        self.value(value);
    }

    #[inline]
    fn value(&mut self, value: u64) {
        if self.in_offset {
            self.key(code::OFFSET);
        } else if self.values {
            self.key(code::VALUE);
            self.key_bytes(&value.to_le_bytes());
        } else {
            self.key(code::INTEGER);
        }
    }

    #[inline]
    fn digits(&mut self, value: u64) {
        push_digits(&mut self.body.text, value);
    }

    pub(crate) fn single(&mut self, value: f32) {
        let _ = write!(self.body.text, "0f{:08X}", value.to_bits());
        self.key(code::SINGLE);
        if self.values {
            self.key_bytes(&value.to_bits().to_le_bytes());
        }
    }

    pub(crate) fn double(&mut self, value: f64) {
        let _ = write!(self.body.text, "0d{:016X}", value.to_bits());
        self.key(code::DOUBLE);
        if self.values {
            self.key_bytes(&value.to_bits().to_le_bytes());
        }
    }

    pub(crate) fn constant(&mut self, text: &str) {
        if !crate::lexical::is_constant(text) {
            return self.fail(crate::lexical::no_constant(text));
        }
        self.push(text);
        self.key(code::CONSTANT);
        self.key_bytes(&(text.len() as u32).to_le_bytes());
        self.key_bytes(text.as_bytes());
    }

    pub(crate) fn variable(&mut self, var: Variable) {
        let (code, class) = if var.owner == self.body.owner {
            let Some(info) = self.body.locals.get(var.index as usize) else {
                return self.foreign(Handle::Var(var));
            };
            if !info.visible {
                let name = info.name.clone();
                return self.hidden("variable", &name);
            }
            self.body.text.push_str(&info.name);
            self.body.mentions.push(Dependency::Local(var.index));
            (code::LOCAL, info.class)
        } else if var.owner == self.tables.owner {
            let Some(info) = self.tables.globals.get(var.index as usize) else {
                return self.foreign(Handle::Var(var));
            };
            if self.body.means(&info.name) {
                return self.hidden("variable", &info.name);
            }
            self.body.text.push_str(&info.name);
            self.body.mentions.push(Dependency::Global(var.index));
            (code::GLOBAL, info.class)
        } else {
            return self.foreign(Handle::Var(var));
        };
        self.key(code);
        self.key_bytes(&class.to_le_bytes());
    }

    pub(crate) fn function(&mut self, func: Func) {
        let known = self.tables.functions.get(func.index as usize);
        let Some(info) = known.filter(|_| func.owner == self.tables.owner) else {
            return self.foreign(Handle::Func(func));
        };
        if !self.body.knows(func.index, info.written) {
            let error = match info.written {
                DeclState::Discarded => discarded(&info.name),
                _ => later(&info.name),
            };
            return self.fail(error);
        }
        if self.body.shadows(&info.name, func.index) {
            return self.hidden("function", &info.name);
        }
        self.body.text.push_str(&info.name);
        self.body.mentions.push(Dependency::Func(func.index));
        self.body.key.push(code::FUNCTION);
        // Whether a call fits follows from the function itself.
        self.body.key.extend_from_slice(&func.index.to_le_bytes());
    }

    pub(crate) fn label(&mut self, label: CodeLabel) {
        let known = self.body.labels.get(label.index as usize);
        let Some(info) = known.filter(|_| label.owner == self.body.owner) else {
            return self.foreign(Handle::Label(label));
        };
        if !self.body.reaches(info) {
            let name = info.name.clone();
            return self.hidden("label", &name);
        }
        if info.place.is_none() && self.tables.names.contains(&info.name) {
            let error = early(&info.name);
            return self.fail(error);
        }
        let is_table = info.table.is_some();
        self.body.text.push_str(&info.name);
        self.body.wait(label.index);
        self.body.mentions.push(Dependency::Label(label.index));
        if is_table {
            self.body.key.push(code::TABLE);
            self.body.key.extend_from_slice(&label.owner.to_le_bytes());
            self.body.key.extend_from_slice(&label.index.to_le_bytes());
        } else {
            self.body.key.push(code::LABEL);
        }
    }

    #[inline]
    pub(crate) fn open_address(&mut self, form: AddressForm) {
        self.key(code::ADDRESS);
        self.key(match form {
            AddressForm::Bracketed => 0,
            AddressForm::Unified => 1,
            AddressForm::Bare => 2,
            _ => 3,
        });
        if matches!(form, AddressForm::Bracketed | AddressForm::Unified) {
            self.push("[");
        }
    }

    #[inline]
    pub(crate) fn offset(&mut self, write: impl FnOnce(&mut Self)) {
        let outer = core::mem::replace(&mut self.in_offset, true);
        write(self);
        self.in_offset = outer;
    }

    #[inline]
    pub(crate) fn close_address(&mut self, form: AddressForm) {
        match form {
            AddressForm::Bare => {}
            AddressForm::Unified => self.push("].unified"),
            _ => self.push("]"),
        }
        self.key(code::END);
    }

    pub(crate) fn open(&mut self, code: u8, text: &str) {
        self.key(code);
        self.push(text);
    }

    pub(crate) fn close(&mut self, text: &str) {
        self.push(text);
        self.key(code::END);
    }

    pub(crate) fn lane(&mut self, selector: Selector) {
        let _ = write!(self.body.text, ".{selector}");
        self.key(code::LANE);
        self.key_bytes(&selector.bits().to_le_bytes());
    }

    pub(crate) fn sink(&mut self) {
        self.push("_");
        self.key(code::SINK);
    }
}

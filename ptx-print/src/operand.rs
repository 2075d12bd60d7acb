//! Operands in the canonical style.

use alloc::vec::Vec;
use ptx_ir::{
    Address, AddressForm, Body, EntityId, Inst, ListId, Module, NameId, Operand, OperandPool,
    RegId, Register, Var,
};

use crate::buffer::Short;
use crate::canonical::Printer;
use crate::sink::Sink;

/// The names of a body that most statements contain, prepared for printing.
#[derive(Default)]
pub(crate) struct TableViews<'m> {
    pub(crate) insts: &'m [Inst],
    pub(crate) operands: &'m [Operand],
    registers: &'m [Register],
    vars: &'m [Var],
    /// The names of declared registers, by declaration.
    register_names: Vec<RegisterName>,
}

/// The name of a declared register or range.
struct RegisterName {
    /// The name, or its part before the number; `None` if it is long.
    short: Option<Short>,
    name: NameId,
    is_range: bool,
}

impl<'m> TableViews<'m> {
    pub(crate) fn load(&mut self, module: &Module, body: &'m Body) {
        self.insts = body.inst_table().as_slice();
        self.operands = body.pool().operands();
        self.registers = body.registers().as_slice();
        self.vars = body.vars().as_slice();
        self.register_names.clear();
        self.register_names
            .extend(body.reg_decls().values().map(|decl| RegisterName {
                short: Short::new(module.name_bytes(decl.name)),
                name: decl.name,
                is_range: decl.count.is_some(),
            }));
    }
}

/// A part of an operand that is not printed yet.
pub(crate) enum Pending {
    Operand(Operand),
    Text(&'static str),
    /// The elements of a list from an index on.
    Elements(ListId, u32),
}

/// The number of elements of a line of a list that is longer than this.
const ELEMENTS_PER_LINE: u32 = 16;

impl<S: Sink> Printer<'_, '_, S> {
    #[inline(always)]
    pub(crate) fn operand(&mut self, pool: &OperandPool, body: Option<&Body>, operand: Operand) {
        match operand {
            Operand::Reg(reg) => self.register(body, reg),
            Operand::Small(n) => self.out.signed(n),
            Operand::Address(id) => {
                if let Some(address) = pool.address(id) {
                    self.address(pool, body, address)
                }
            }
            _ => self.nested(pool, body, operand),
        }
    }

    #[inline(always)]
    fn register(&mut self, body: Option<&Body>, reg: RegId) {
        let Some(register) = body.and_then(|_| self.tables.registers.get(reg.index())) else {
            return;
        };
        let Some(&RegisterName {
            ref short,
            name,
            is_range,
        }) = self.tables.register_names.get(register.decl.index())
        else {
            return;
        };
        match short {
            Some(short) => self.out.short(short),
            None => self.name(name),
        }
        if is_range {
            self.out.unsigned(register.number);
        }
    }

    /// Prints an address. `[%r1+4]`, the most common one, does not need the worklist.
    #[inline]
    fn address(&mut self, pool: &OperandPool, body: Option<&Body>, address: &Address) {
        if address.form != AddressForm::Bracketed {
            return self.nested_address(pool, body, address);
        }
        self.out.byte(b'[');
        self.register_or_nested(pool, body, address.base);
        match address.offset {
            Operand::Absent => {}
            Operand::Small(n) => {
                self.out.byte(b'+');
                self.out.signed(n);
            }
            offset => {
                self.out.byte(b'+');
                self.nested(pool, body, offset);
            }
        }
        self.out.byte(b']');
    }

    #[inline(never)]
    fn nested_address(&mut self, pool: &OperandPool, body: Option<&Body>, address: &Address) {
        let mark = self.worklist.len();
        self.push_address(address);
        self.visit_pending(pool, body, mark);
    }

    #[inline]
    fn register_or_nested(&mut self, pool: &OperandPool, body: Option<&Body>, operand: Operand) {
        match operand {
            Operand::Reg(reg) => self.register(body, reg),
            _ => self.nested(pool, body, operand),
        }
    }

    /// Prints an operand with its parts.
    #[inline(never)]
    fn nested(&mut self, pool: &OperandPool, body: Option<&Body>, operand: Operand) {
        let mark = self.worklist.len();
        self.worklist.push(Pending::Operand(operand));
        self.visit_pending(pool, body, mark);
    }

    /// Prints what is on the worklist above `mark`.
    fn visit_pending(&mut self, pool: &OperandPool, body: Option<&Body>, mark: usize) {
        while self.worklist.len() > mark {
            match self.worklist.pop() {
                Some(Pending::Operand(operand)) => self.visit(pool, body, operand),
                Some(Pending::Text(text)) => self.out.text(text.as_bytes()),
                Some(Pending::Elements(list, from)) => self.elements(pool, body, list, from),
                None => {}
            }
        }
    }

    /// Prints the elements of a list up to the first that has parts.
    fn elements(&mut self, pool: &OperandPool, body: Option<&Body>, list: ListId, from: u32) {
        let all = pool.list(list);
        let long = all.len() as u32 > ELEMENTS_PER_LINE;
        for (i, &element) in (from..).zip(all.get(from as usize..).unwrap_or_default()) {
            if i > 0 {
                self.out.byte(b',');
            }
            if long && i % ELEMENTS_PER_LINE == 0 {
                self.out.byte(b'\n');
                self.indent(1);
            } else if i > 0 {
                self.out.byte(b' ');
            }
            match element {
                Operand::Reg(reg) => self.register(body, reg),
                Operand::Small(n) => self.out.signed(n),
                Operand::Imm(_) | Operand::Symbol(_) | Operand::Sink => {
                    self.visit(pool, body, element)
                }
                _ => {
                    self.worklist.push(Pending::Elements(list, i + 1));
                    self.worklist.push(Pending::Operand(element));
                    return;
                }
            }
        }
        if long {
            self.out.byte(b'\n');
        }
    }

    fn push_address(&mut self, address: &Address) {
        let (open, middle, close) = match address.form {
            AddressForm::Bracketed => ("[", "+", "]"),
            AddressForm::Unified => ("[", "+", "].unified"),
            AddressForm::Indexed => ("", "[", "]"),
            _ => ("", "+", ""),
        };
        self.worklist.push(Pending::Text(close));
        if address.offset != Operand::Absent {
            self.worklist.push(Pending::Operand(address.offset));
            self.worklist.push(Pending::Text(middle));
        }
        self.worklist.push(Pending::Operand(address.base));
        self.worklist.push(Pending::Text(open));
    }

    fn push_list(&mut self, open: u8, list: ListId, close: &'static str) {
        self.out.byte(open);
        self.worklist.push(Pending::Text(close));
        self.worklist.push(Pending::Elements(list, 0));
    }

    /// Puts two operands on the worklist, with text between and after them.
    fn push_pair(&mut self, pair: (Operand, Operand), middle: &'static str, end: &'static str) {
        self.worklist.push(Pending::Text(end));
        self.worklist.push(Pending::Operand(pair.1));
        self.worklist.push(Pending::Text(middle));
        self.worklist.push(Pending::Operand(pair.0));
    }

    fn numbered(&mut self, name: NameId, number: Option<u32>) {
        self.name(name);
        if let Some(n) = number {
            self.out.unsigned(n);
        }
    }

    /// Prints an operand, whose parts are put on the worklist.
    fn visit(&mut self, pool: &OperandPool, body: Option<&Body>, operand: Operand) {
        match operand {
            Operand::Reg(reg) => self.register(body, reg),
            Operand::Special(special) => self.out.text(special.text().as_bytes()),
            Operand::Small(n) => self.out.signed(n),
            Operand::Imm(id) => {
                if let Some(immediate) = pool.immediate(id) {
                    self.name(immediate.text);
                }
            }
            Operand::Symbol(id) => {
                if let Some(symbol) = self.module.symbols().get(id) {
                    self.numbered(symbol.name, symbol.number);
                }
            }
            Operand::Var(id) => {
                if let Some(var) = body.and_then(|_| self.tables.vars.get(id.index())) {
                    self.numbered(var.name, var.number);
                }
            }
            Operand::Label(id) => {
                if let Some(label) = body.and_then(|b| b.labels().get(id)) {
                    self.name(label.name);
                }
            }
            Operand::Name(name) | Operand::Str(name) | Operand::Section(name) => self.name(name),
            Operand::Address(id) => {
                if let Some(address) = pool.address(id) {
                    self.push_address(address);
                }
            }
            Operand::Bracket(list) => self.push_list(b'[', list, "]"),
            Operand::Vector(list) => self.push_list(b'{', list, "}"),
            Operand::List(list) => self.push_list(b'(', list, ")"),
            Operand::Pair(first) => self.push_pair(pool.pair(first), "|", ""),
            Operand::Masked(first) => self.push_pair(pool.pair(first), "(", ")"),
            Operand::Difference(first) => self.push_pair(pool.pair(first), "-", ""),
            Operand::Range(first) => self.push_pair(pool.pair(first), "<", ">"),
            Operand::Field(first) => self.push_pair(pool.pair(first), " = ", ""),
            Operand::Not(inner) => {
                self.out.byte(b'!');
                self.worklist.push(Pending::Operand(pool.get(inner)));
            }
            Operand::Neg(inner) => {
                self.out.byte(b'-');
                self.worklist.push(Pending::Operand(pool.get(inner)));
            }
            Operand::Component(selector, name) => {
                // Only names have components, so the recursion ends.
                self.visit(pool, body, pool.get(name));
                self.out.byte(b'.');
                selector.write(|b| self.out.byte(b));
            }
            Operand::Generic(variable) => {
                self.out.text(b"generic(");
                self.worklist.push(Pending::Text(")"));
                self.worklist.push(Pending::Operand(pool.get(variable)));
            }
            Operand::Sink => self.out.byte(b'_'),
            _ => {}
        }
    }
}

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
    /// By declaration: the text before the number, if it is short.
    prefixes: Vec<(Option<Short>, NameId, bool)>,
}

impl<'m> TableViews<'m> {
    pub(crate) fn load(&mut self, module: &Module, body: &'m Body) {
        self.insts = body.inst_table().as_slice();
        self.operands = body.pool().operands();
        self.registers = body.registers().as_slice();
        self.vars = body.vars().as_slice();
        self.prefixes.clear();
        self.prefixes.extend(body.reg_decls().values().map(|d| {
            (
                Short::new(module.name_bytes(d.name)),
                d.name,
                d.count.is_some(),
            )
        }));
    }
}

/// Something still to be printed, last first.
pub(crate) enum Todo {
    Operand(Operand),
    Text(&'static str),
    /// The elements of a list from an index on.
    Elements(ListId, u32),
}

/// Lists longer than this are broken into lines of as many elements.
const LINE: u32 = 16;

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
        let Some(register) = body.and_then(|_| self.hot.registers.get(reg.index())) else {
            return;
        };
        match self.hot.prefixes.get(register.decl.index()) {
            Some((Some(short), _, numbered)) => {
                self.out.short(short);
                if *numbered {
                    self.out.unsigned(register.number);
                }
            }
            Some(&(None, name, numbered)) => {
                self.name(name);
                if numbered {
                    self.out.unsigned(register.number);
                }
            }
            None => {}
        }
    }

    /// `[%r1+4]`, the most common address; others take the general way.
    #[inline]
    fn address(&mut self, pool: &OperandPool, body: Option<&Body>, a: &Address) {
        if a.form != AddressForm::Bracketed {
            return self.nested_address(pool, body, a);
        }
        self.out.byte(b'[');
        self.operand_flat(pool, body, a.base);
        match a.offset {
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
    fn nested_address(&mut self, pool: &OperandPool, body: Option<&Body>, a: &Address) {
        let mark = self.worklist.len();
        self.push_address(a);
        self.run(pool, body, mark);
    }

    #[inline]
    fn operand_flat(&mut self, pool: &OperandPool, body: Option<&Body>, operand: Operand) {
        match operand {
            Operand::Reg(reg) => self.register(body, reg),
            _ => self.nested(pool, body, operand),
        }
    }

    /// Any operand, with its parts.
    #[inline(never)]
    fn nested(&mut self, pool: &OperandPool, body: Option<&Body>, operand: Operand) {
        let mark = self.worklist.len();
        self.worklist.push(Todo::Operand(operand));
        self.run(pool, body, mark);
    }

    fn run(&mut self, pool: &OperandPool, body: Option<&Body>, mark: usize) {
        while self.worklist.len() > mark {
            match self.worklist.pop() {
                Some(Todo::Operand(operand)) => self.one(pool, body, operand),
                Some(Todo::Text(text)) => self.out.text(text.as_bytes()),
                Some(Todo::Elements(list, from)) => self.elements(pool, body, list, from),
                None => {}
            }
        }
    }

    /// Prints the elements of a list up to the first that has parts.
    fn elements(&mut self, pool: &OperandPool, body: Option<&Body>, list: ListId, from: u32) {
        let all = pool.list(list);
        let long = all.len() as u32 > LINE;
        for (i, &element) in (from..).zip(all.get(from as usize..).unwrap_or_default()) {
            if i > 0 {
                self.out.byte(b',');
            }
            if long && i % LINE == 0 {
                self.out.byte(b'\n');
                self.indent(1);
            } else if i > 0 {
                self.out.byte(b' ');
            }
            match element {
                Operand::Reg(reg) => self.register(body, reg),
                Operand::Small(n) => self.out.signed(n),
                Operand::Imm(_) | Operand::Symbol(_) | Operand::Sink => {
                    self.one(pool, body, element)
                }
                _ => {
                    self.worklist.push(Todo::Elements(list, i + 1));
                    self.worklist.push(Todo::Operand(element));
                    return;
                }
            }
        }
        if long {
            self.out.byte(b'\n');
        }
    }

    fn push_address(&mut self, a: &Address) {
        let (open, middle, close) = match a.form {
            AddressForm::Bracketed => ("[", "+", "]"),
            AddressForm::Unified => ("[", "+", "].unified"),
            AddressForm::Indexed => ("", "[", "]"),
            _ => ("", "+", ""),
        };
        self.worklist.push(Todo::Text(close));
        if a.offset != Operand::Absent {
            self.worklist.push(Todo::Operand(a.offset));
            self.worklist.push(Todo::Text(middle));
        }
        self.worklist.push(Todo::Operand(a.base));
        self.worklist.push(Todo::Text(open));
    }

    fn push_list(&mut self, open: u8, list: ListId, close: &'static str) {
        self.out.byte(open);
        self.worklist.push(Todo::Text(close));
        self.worklist.push(Todo::Elements(list, 0));
    }

    /// Two operands with text between and after them.
    fn push_pair(&mut self, pair: (Operand, Operand), middle: &'static str, end: &'static str) {
        self.worklist.push(Todo::Text(end));
        self.worklist.push(Todo::Operand(pair.1));
        self.worklist.push(Todo::Text(middle));
        self.worklist.push(Todo::Operand(pair.0));
    }

    fn numbered(&mut self, name: NameId, number: Option<u32>) {
        self.name(name);
        if let Some(n) = number {
            self.out.unsigned(n);
        }
    }

    fn one(&mut self, pool: &OperandPool, body: Option<&Body>, operand: Operand) {
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
                if let Some(var) = body.and_then(|_| self.hot.vars.get(id.index())) {
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
                if let Some(a) = pool.address(id) {
                    self.push_address(a);
                }
            }
            Operand::Bracket(list) => self.push_list(b'[', list, "]"),
            Operand::Vector(list) => self.push_list(b'{', list, "}"),
            Operand::List(list) => self.push_list(b'(', list, ")"),
            Operand::Pair(at) => self.push_pair(pool.pair(at), "|", ""),
            Operand::Masked(at) => self.push_pair(pool.pair(at), "(", ")"),
            Operand::Difference(at) => self.push_pair(pool.pair(at), "-", ""),
            Operand::Range(at) => self.push_pair(pool.pair(at), "<", ">"),
            Operand::Field(at) => self.push_pair(pool.pair(at), " = ", ""),
            Operand::Not(at) | Operand::Neg(at) => {
                self.out.byte(if matches!(operand, Operand::Not(_)) {
                    b'!'
                } else {
                    b'-'
                });
                self.worklist.push(Todo::Operand(pool.get(at)));
            }
            Operand::Component(selector, at) => {
                // Only names have components, so this ends.
                self.one(pool, body, pool.get(at));
                self.out.byte(b'.');
                selector.write(|b| self.out.byte(b));
            }
            Operand::Generic(at) => {
                self.out.text(b"generic(");
                self.worklist.push(Todo::Text(")"));
                self.worklist.push(Todo::Operand(pool.get(at)));
            }
            Operand::Sink => self.out.byte(b'_'),
            _ => {}
        }
    }
}

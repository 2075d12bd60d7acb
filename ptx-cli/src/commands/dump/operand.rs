//! Operands and constants.

use std::io::Write as _;

use ptx_ir::constant::{ConstKind, ConstValue};
use ptx_ir::{
    Address, AddressForm, Body, ImmId, Operand, OperandParts, OperandPool, OperandRef, SymbolKind,
};

use super::writer::Writer;
use ptx_report::json_text::{comma, number, raw, signed, string, word};
use ptx_report::register_names::RegisterNames;

/// Something that is still to be written.
pub(super) enum Todo<'a> {
    Operand(Operand),
    Text(&'static str),
    /// The rest of a list.
    Rest(&'a [Operand]),
}

/// Where operands are.
#[derive(Copy, Clone)]
pub(super) struct Pool<'a> {
    pub(super) pool: &'a OperandPool,
    pub(super) body: Option<&'a Body>,
}

/// The registers of a function as operands.
#[derive(Default)]
pub(super) struct Registers {
    text: Vec<u8>,
    /// Where each one ends in the text.
    ends: Vec<u32>,
}

impl Registers {
    pub(super) fn new(writer: &Writer<'_>, body: &Body, names: &RegisterNames) -> Self {
        let mut registers = Self {
            text: Vec::new(),
            ends: Vec::with_capacity(body.registers().len()),
        };
        let mut variable = 0;
        for register in body.registers().values() {
            let decl = body.reg_decls().get(register.decl);
            let vector = decl.map_or(1, |d| d.vector.max(1));
            let name = names.get(variable);
            // Elements are written as such.
            let name = if vector > 1 {
                name.trim_end_matches(".x")
            } else {
                name
            };
            variable += u32::from(vector);
            let text = &mut registers.text;
            raw(text, "{\"kind\":\"register\",\"name\":\"");
            raw(text, name);
            raw(text, "\"");
            if let Some(decl) = decl {
                writer.type_name(decl.ty, vector, text);
            }
            text.push(b'}');
            registers.ends.push(registers.text.len() as u32);
        }
        registers
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        let end = |index: usize| self.ends.get(index).map_or(0, |end| *end as usize);
        let start = index.checked_sub(1).map_or(0, end);
        self.text.get(start..end(index)).unwrap_or(b"null")
    }
}

impl<'a> Writer<'a> {
    /// A list of operands.
    pub(super) fn operands(&mut self, pool: Pool<'a>, operands: &'a [Operand]) {
        self.out.push(b'[');
        let mut first = true;
        for &operand in operands {
            comma(&mut self.out, &mut first);
            self.operand(pool, operand);
            self.flush_part();
        }
        self.out.push(b']');
    }

    /// An operand; `null` if it is absent.
    #[inline]
    pub(super) fn operand(&mut self, pool: Pool<'a>, operand: Operand) {
        self.one(pool, operand);
        while let Some(todo) = self.worklist.pop() {
            match todo {
                Todo::Text(text) => raw(&mut self.out, text),
                Todo::Operand(operand) => self.one(pool, operand),
                Todo::Rest(list) => {
                    if let Some((&first, rest)) = list.split_first() {
                        self.out.push(b',');
                        self.worklist.push(Todo::Rest(rest));
                        self.flush_part();
                        self.one(pool, first);
                    }
                }
            }
        }
    }

    fn one(&mut self, pool: Pool<'a>, operand: Operand) {
        match operand {
            Operand::Reg(register) => {
                let text = self.registers.get(register.as_u32() as usize);
                self.out.extend_from_slice(text);
            }
            Operand::Small(value) => {
                raw(&mut self.out, "{\"kind\":\"immediate\",\"text\":\"");
                signed(&mut self.out, value);
                raw(&mut self.out, "\",\"type\":\"s64\",\"value\":");
                signed(&mut self.out, value);
                self.out.push(b'}');
            }
            Operand::Absent => raw(&mut self.out, "null"),
            _ => match operand.parts() {
                OperandParts::Leaf => self.leaf(pool, operand),
                OperandParts::Address(id) => {
                    if let Some(address) = pool.pool.address(id) {
                        self.address(address);
                    }
                }
                parts => self.composed(pool, operand, parts),
            },
        }
    }

    fn address(&mut self, address: &Address) {
        raw(
            &mut self.out,
            match address.form {
                AddressForm::Bracketed => "{\"kind\":\"address\",\"form\":\"bracketed\",\"base\":",
                AddressForm::Unified => "{\"kind\":\"address\",\"form\":\"unified\",\"base\":",
                AddressForm::Indexed => "{\"kind\":\"address\",\"form\":\"indexed\",\"base\":",
                _ => "{\"kind\":\"address\",\"form\":\"bare\",\"base\":",
            },
        );
        self.worklist.extend([
            Todo::Text("}"),
            Todo::Operand(address.offset),
            Todo::Text(",\"offset\":"),
            Todo::Operand(address.base),
        ]);
    }

    /// An operand with a list of `parts`.
    fn composed(&mut self, pool: Pool<'a>, operand: Operand, parts: OperandParts) {
        let kind = match operand {
            Operand::Bracket(_) => "bracket",
            Operand::Vector(_) => "vector",
            Operand::List(_) => "list",
            Operand::Pair(_) => "pair",
            Operand::Not(_) => "not",
            Operand::Neg(_) => "negative",
            Operand::Lane(..) => "component",
            Operand::Generic(_) => "generic",
            Operand::Masked(_) => "masked",
            Operand::Difference(_) => "difference",
            Operand::Field(_) => "field",
            Operand::Range(_) => "range",
            _ => "unknown",
        };
        raw(&mut self.out, "{\"kind\":");
        word(&mut self.out, kind);
        if let Operand::Lane(selector, _) = operand {
            raw(&mut self.out, ",\"selector\":\"");
            selector.write(|byte| self.out.push(byte));
            self.out.push(b'"');
        }
        raw(&mut self.out, ",\"parts\":[");
        self.worklist.push(Todo::Text("]}"));
        let slice = |at: OperandRef, len: usize| {
            let start = at.as_u32() as usize;
            let all = pool.pool.operands();
            all.get(start..start + len).unwrap_or_default()
        };
        let parts = match parts {
            OperandParts::List(id) => pool.pool.list(id),
            OperandParts::One(at) => slice(at, 1),
            OperandParts::Two(at) => slice(at, 2),
            _ => &[],
        };
        if let Some((&first, rest)) = parts.split_first() {
            self.worklist.push(Todo::Rest(rest));
            self.worklist.push(Todo::Operand(first));
        }
    }

    /// An operand without parts.
    fn leaf(&mut self, pool: Pool<'a>, operand: Operand) {
        let module = self.module;
        let mut named = |kind: &str, name: &[u8], number_after: Option<u32>| {
            let out = &mut self.out;
            raw(out, "{\"kind\":");
            word(out, kind);
            raw(out, ",\"name\":");
            string(out, &String::from_utf8_lossy(name));
            if let Some(n) = number_after {
                out.pop();
                number(out, n);
                out.push(b'"');
            }
        };
        let mut space = None;
        match operand {
            Operand::Imm(id) => return self.immediate(pool, id),
            Operand::Special(register) => {
                named("special_register", register.text().as_bytes(), None)
            }
            Operand::Symbol(id) => {
                let Some(symbol) = module.symbols().get(id) else {
                    return raw(&mut self.out, "null");
                };
                let kind = match symbol.kind {
                    SymbolKind::Variable(of, _) => {
                        space = Some(of);
                        "variable"
                    }
                    _ => "function",
                };
                named(kind, module.name_bytes(symbol.name), symbol.number);
            }
            Operand::Var(id) => {
                let Some(var) = pool.body.and_then(|body| body.vars().get(id)) else {
                    return raw(&mut self.out, "null");
                };
                space = Some(var.space);
                named("variable", module.name_bytes(var.name), var.number);
            }
            Operand::Label(id) => {
                let label = pool.body.and_then(|body| body.labels().get(id));
                let name = label.map_or(&b""[..], |l| module.name_bytes(l.name));
                named("label", name, None);
            }
            Operand::Name(name) => named("name", module.name_bytes(name), None),
            Operand::Section(name) => named("section", module.name_bytes(name), None),
            Operand::Str(name) => {
                raw(&mut self.out, "{\"kind\":\"string\",\"text\":");
                let text = String::from_utf8_lossy(module.name_bytes(name));
                let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
                string(&mut self.out, inner.unwrap_or(&text));
            }
            Operand::Sink => raw(&mut self.out, "{\"kind\":\"sink\""),
            _ => raw(&mut self.out, "{\"kind\":\"unknown\""),
        }
        if let Some(space) = space {
            raw(&mut self.out, ",\"space\":");
            word(&mut self.out, space.text().trim_start_matches('.'));
        }
        self.out.push(b'}');
    }

    fn immediate(&mut self, pool: Pool<'a>, id: ImmId) {
        let Some(immediate) = pool.pool.immediate(id) else {
            return raw(&mut self.out, "null");
        };
        let text = self.module.name_bytes(immediate.text);
        let out = &mut self.out;
        raw(out, "{\"kind\":\"immediate\",\"text\":");
        string(out, &String::from_utf8_lossy(text));
        raw(
            out,
            match immediate.value.kind() {
                ConstKind::Signed => ",\"type\":\"s64\",\"value\":",
                ConstKind::Unsigned => ",\"type\":\"u64\",\"value\":",
                ConstKind::Double => ",\"type\":\"f64\",\"value\":",
                ConstKind::Single => ",\"type\":\"f32\",\"value\":",
                _ => ",\"type\":null,\"value\":",
            },
        );
        value(out, immediate.value);
        out.push(b'}');
    }
}

/// A number; `null` for infinity, NaN and wrong expressions.
fn value(out: &mut Vec<u8>, value: ConstValue) {
    let _ = match (value.kind(), value.as_int(), value.as_float()) {
        (ConstKind::Unsigned, ..) => write!(out, "{}", value.bits()),
        (_, Some(integer), _) => write!(out, "{integer}"),
        (_, _, Some(float)) if float.is_finite() => write!(out, "{float:?}"),
        _ => write!(out, "null"),
    };
}

//! Counts the contents of a module.

use std::collections::BTreeMap;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{
    Body, Declarations, Declarator, EntityId, FunctionKind, Item, Limits, Module, Operand,
    OperandPool, RegId, SourceText, Statement, TypeName, VarDecl,
};
use ptx_isa::StateSpace;
use serde::Serialize;

use super::super::parse::statements;
use super::functions::{self, OfFunction};
use crate::render::{clean, tally};

/// The counts of one file or of several.
#[derive(Serialize, Default)]
pub(super) struct Stats {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) errors: u64,
    pub(super) warnings: u64,
    pub(super) functions: Functions,
    pub(super) statements: u64,
    pub(super) instructions: u64,
    pub(super) labels: u64,
    pub(super) comments: Comments,
    pub(super) memory: Memory,
    pub(super) registers: BTreeMap<String, Registers>,
    pub(super) opcodes: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mnemonics: Option<BTreeMap<String, u64>>,
    /// Of one file; `None` in a total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) per_function: Option<Vec<OfFunction>>,
}

#[derive(Serialize, Default)]
pub(super) struct Functions {
    /// Kernels with a body.
    pub(super) kernels: u64,
    /// Functions with a body.
    pub(super) device: u64,
    /// Declarations of either, without a body.
    pub(super) declarations: u64,
}

#[derive(Serialize, Default)]
pub(super) struct Comments {
    pub(super) count: u64,
    pub(super) bytes: u64,
}

/// Bytes of variables as declared, without padding between them.
#[derive(Serialize, Default)]
pub(super) struct Memory {
    #[serde(rename = "const")]
    pub(super) constant: u64,
    pub(super) global: u64,
    pub(super) local: u64,
    pub(super) shared: u64,
}

#[derive(Serialize, Default)]
pub(super) struct Registers {
    /// The number of declared registers.
    pub(super) declared: u64,
    /// The number of registers that a statement uses.
    pub(super) used: u64,
}

impl Stats {
    /// No files.
    pub(super) fn new(mnemonics: bool) -> Self {
        Self {
            mnemonics: mnemonics.then(BTreeMap::new),
            ..Self::default()
        }
    }

    /// The counts of one file.
    pub(super) fn of(source: &SourceText, mnemonics: bool) -> Self {
        let parsed = ptx_parse::parse_shared(source.clone(), &Limits::default());
        let module = &parsed.module;
        let (errors, warnings) = tally(&parsed.diagnostics);
        let mut stats = Self {
            files: 1,
            bytes: source.len() as u64,
            lines: lines(source),
            errors: errors as u64,
            warnings: warnings as u64,
            statements: statements(module) as u64,
            per_function: Some(functions::of(module)),
            ..Self::new(mnemonics)
        };
        stats.text(source);
        stats.functions(module);
        stats.instructions(module);
        for (_, item) in module.items() {
            if let Item::Decl(id) = item
                && let Some(decl) = module.declarations().decls.get(id)
            {
                stats.variables(decl, module.declarations(), module.pool());
            }
        }
        for body in module.bodies().values() {
            stats.labels += body.labels().len() as u64;
            stats.registers(module, body);
            for (_, statement) in body.statements() {
                if let Statement::Decl(id) = statement
                    && let Some(decl) = body.declarations().decls.get(id)
                {
                    stats.variables(decl, body.declarations(), body.pool());
                }
            }
        }
        stats
    }

    fn text(&mut self, source: &[u8]) {
        for token in Lexer::new(source) {
            if matches!(token.kind, TokenKind::LineComment | TokenKind::BlockComment) {
                self.comments.count += 1;
                self.comments.bytes += token.span.len() as u64;
            }
        }
    }

    fn functions(&mut self, module: &Module) {
        for function in module.functions().values() {
            let counter = match (function.body, function.kind) {
                (None, _) => &mut self.functions.declarations,
                (Some(_), FunctionKind::Entry) => &mut self.functions.kernels,
                (Some(_), FunctionKind::Func) => &mut self.functions.device,
            };
            *counter += 1;
        }
    }

    fn instructions(&mut self, module: &Module) {
        let mut counts = vec![0u64; module.signatures().len()];
        for body in module.bodies().values() {
            for (_, inst) in body.insts() {
                if let Some(count) = counts.get_mut(inst.sig.index()) {
                    *count += 1;
                }
            }
        }
        for (id, count) in module.signatures().ids().zip(counts) {
            if count == 0 {
                continue;
            }
            let signature = module.signature(id);
            self.instructions += count;
            bump(&mut self.opcodes, signature.opcode_text(), count);
            if let Some(mnemonics) = &mut self.mnemonics {
                bump(mnemonics, signature.text(), count);
            }
        }
    }

    fn registers(&mut self, module: &Module, body: &Body) {
        for decl in body.reg_decls().values() {
            let count = decl.count.map_or(1, u64::from);
            let name = type_name(module, decl.ty, decl.vector);
            self.registers.entry(name).or_default().declared += count;
        }
        let mut used = vec![false; body.registers().len()];
        let mut mark = |id: RegId| {
            if let Some(slot) = used.get_mut(id.index()) {
                *slot = true;
            }
        };
        for &operand in body.pool().operands() {
            match operand {
                Operand::Reg(id) => mark(id),
                Operand::Address(_) => in_address(body.pool(), operand, &mut mark),
                _ => {}
            }
        }
        let declaration = |register: &ptx_ir::Register| body.reg_decls().get(register.decl);
        for (register, used) in body.registers().values().zip(used) {
            if used && let Some(decl) = declaration(register) {
                let name = type_name(module, decl.ty, decl.vector);
                self.registers.entry(name).or_default().used += 1;
            }
        }
    }

    fn variables(&mut self, decl: &VarDecl, declarations: &Declarations, pool: &OperandPool) {
        let counter = match decl.space.base() {
            StateSpace::Const => &mut self.memory.constant,
            StateSpace::Global => &mut self.memory.global,
            StateSpace::Local => &mut self.memory.local,
            StateSpace::Shared => &mut self.memory.shared,
            _ => return,
        };
        let Some(ty) = decl.ty.known() else { return };
        let element = u64::from(ty.bits()).div_ceil(8) * u64::from(decl.vector);
        for declarator in decl.declarators.of(&declarations.declarators) {
            let size = element.saturating_mul(elements(declarator, pool));
            *counter = counter.saturating_add(size);
        }
    }

    /// Adds the counts of other files.
    pub(super) fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.functions.kernels += other.functions.kernels;
        self.functions.device += other.functions.device;
        self.functions.declarations += other.functions.declarations;
        self.statements += other.statements;
        self.instructions += other.instructions;
        self.labels += other.labels;
        self.comments.count += other.comments.count;
        self.comments.bytes += other.comments.bytes;
        let (memory, more) = (&mut self.memory, &other.memory);
        memory.constant = memory.constant.saturating_add(more.constant);
        memory.global = memory.global.saturating_add(more.global);
        memory.local = memory.local.saturating_add(more.local);
        memory.shared = memory.shared.saturating_add(more.shared);
        for (name, more) in &other.registers {
            let registers = self.registers.entry(name.clone()).or_default();
            registers.declared += more.declared;
            registers.used += more.used;
        }
        for (name, &count) in &other.opcodes {
            bump(&mut self.opcodes, name, count);
        }
        if let (Some(mnemonics), Some(more)) = (&mut self.mnemonics, &other.mnemonics) {
            for (name, &count) in more {
                bump(mnemonics, name, count);
            }
        }
    }
}

fn bump(counts: &mut BTreeMap<String, u64>, name: &str, count: u64) {
    match counts.get_mut(name) {
        Some(slot) => *slot += count,
        None => {
            counts.insert(name.to_owned(), count);
        }
    }
}

fn lines(source: &[u8]) -> u64 {
    let ends = source.iter().filter(|&&b| b == b'\n').count() as u64;
    let open = source.last().is_some_and(|&b| b != b'\n');
    ends + u64::from(open)
}

/// `.b32`, `.v4.f32`.
fn type_name(module: &Module, ty: TypeName, vector: u8) -> String {
    let text = match ty {
        TypeName::Known(ty) => ty.text(),
        TypeName::Unknown(name) => &clean(module.name(name)),
    };
    match vector {
        0 | 1 => text.to_owned(),
        n => format!(".v{n}{text}"),
    }
}

/// Marks the registers of an address; its offset may be an address again.
fn in_address(pool: &OperandPool, operand: Operand, mark: &mut impl FnMut(RegId)) {
    let mut next = operand;
    while let Operand::Address(id) = next
        && let Some(address) = pool.address(id)
    {
        if let Operand::Reg(base) = address.base {
            mark(base);
        }
        if let Operand::Reg(offset) = address.offset {
            mark(offset);
        }
        next = address.offset;
    }
}

/// The number of elements of a declared name: its range times its dimensions. A dimension without a size is that of the
/// initializer.
fn elements(declarator: &Declarator, pool: &OperandPool) -> u64 {
    let range = value(declarator.count, pool).unwrap_or(1);
    let mut count = range;
    for &dim in pool.slice(declarator.dims) {
        let size = match (dim, declarator.init) {
            (Operand::Absent, Operand::Vector(list)) => pool.list(list).len() as u64,
            (Operand::Absent, _) => 0,
            _ => value(dim, pool).unwrap_or(0),
        };
        count = count.saturating_mul(size);
    }
    count
}

/// The value of a constant that counts something.
fn value(operand: Operand, pool: &OperandPool) -> Option<u64> {
    match operand {
        Operand::Small(n) => u64::try_from(n).ok(),
        Operand::Imm(id) => u64::try_from(pool.immediate(id)?.value.as_int()?).ok(),
        _ => None,
    }
}

//! Counts the contents of a module.

use std::collections::BTreeMap;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{
    Body, Declarations, EntityId, FunctionKind, Limits, Module, Operand, OperandPool, RegId,
    SourceText,
};
use ptx_isa::StateSpace;
use serde::Serialize;

use super::super::debug::parse::statements;
use crate::functions::{self as options, Chosen};
use crate::render::tally;
use ptx_report::environment::Environment;
use ptx_report::function_stats::{self, FunctionStats, bytes_of, type_name};

/// The counts of one file or of several.
#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Stats {
    /// Version, targets and address size; absent in a total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) header: Option<Header>,
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
    /// The functions of one file; `None` in a total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) per_function: Option<Vec<FunctionStats>>,
}

/// The header of a file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Header {
    pub(super) ptx: Option<String>,
    pub(super) target: Option<&'static str>,
    pub(super) address_size: u64,
}

#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Functions {
    /// Kernels with a body.
    pub(super) kernels: u64,
    /// Functions with a body.
    pub(super) device: u64,
    /// Declarations of either, without a body.
    pub(super) declarations: u64,
}

#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Comments {
    pub(super) count: u64,
    pub(super) bytes: u64,
}

/// Bytes of variables as declared, without padding between them.
#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Memory {
    #[serde(rename = "const")]
    pub(super) constant: u64,
    pub(super) global: u64,
    pub(super) local: u64,
    pub(super) shared: u64,
}

#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Registers {
    /// The number of declared registers.
    pub(super) declared: u64,
    /// The number of registers that a statement uses.
    pub(super) used: u64,
}

impl Header {
    fn new(module: &Module) -> Self {
        let header = module.header();
        Self {
            ptx: header.version.map(|version| version.to_string()),
            target: header.target.map(ptx_isa::Target::text),
            address_size: header.address_size.map_or(32, u64::from),
        }
    }
}

impl Memory {
    fn add(&mut self, other: &Self) {
        self.constant = self.constant.saturating_add(other.constant);
        self.global = self.global.saturating_add(other.global);
        self.local = self.local.saturating_add(other.local);
        self.shared = self.shared.saturating_add(other.shared);
    }
}

impl Stats {
    /// The counts of no files.
    pub(super) fn new(mnemonics: bool) -> Self {
        Self {
            mnemonics: mnemonics.then(BTreeMap::new),
            ..Self::default()
        }
    }

    /// The counts of one file.
    pub(super) fn count(
        source: &SourceText,
        mnemonics: bool,
        functions: &options::Functions,
        environment: Option<Environment>,
    ) -> (Self, Chosen) {
        let mut parsed = ptx_parse::parse_with(source.clone(), &Limits::default());
        if let Some(environment) = environment {
            environment.retain(source, &mut parsed.diagnostics);
        }
        let module = &parsed.module;
        let chosen = functions.choose(module);
        let (errors, warnings) = tally(&parsed.diagnostics);
        let mut stats = Self {
            files: 1,
            bytes: source.len() as u64,
            lines: lines(source),
            errors: errors as u64,
            warnings: warnings as u64,
            statements: statements(module) as u64,
            header: Some(Header::new(module)),
            per_function: Some(function_stats::collect(module, |id| chosen.contains(id))),
            ..Self::new(mnemonics)
        };
        stats.text(source);
        stats.functions(module);
        stats.instructions(module);
        stats.variables(module.declarations(), module.pool());
        for body in module.bodies().values() {
            stats.labels += body.labels().len() as u64;
            stats.registers(module, body);
            stats.variables(body.declarations(), body.pool());
        }
        (stats, chosen)
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
        for &operand in body.pool().operands() {
            match operand {
                Operand::Reg(id) => mark(&mut used, id),
                Operand::Address(_) => mark_address(&mut used, body.pool(), operand),
                _ => {}
            }
        }
        for (register, used) in body.registers().values().zip(used) {
            if used && let Some(decl) = body.reg_decls().get(register.decl) {
                let name = type_name(module, decl.ty, decl.vector);
                self.registers.entry(name).or_default().used += 1;
            }
        }
    }

    fn variables(&mut self, declarations: &Declarations, pool: &OperandPool) {
        let memory = &mut self.memory;
        for (space, counter) in [
            (StateSpace::Const, &mut memory.constant),
            (StateSpace::Global, &mut memory.global),
            (StateSpace::Local, &mut memory.local),
            (StateSpace::Shared, &mut memory.shared),
        ] {
            *counter = counter.saturating_add(bytes_of(declarations, pool, space));
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
        self.memory.add(&other.memory);
        for (name, added) in &other.registers {
            let registers = self.registers.entry(name.clone()).or_default();
            registers.declared += added.declared;
            registers.used += added.used;
        }
        for (name, &count) in &other.opcodes {
            bump(&mut self.opcodes, name, count);
        }
        if let (Some(mnemonics), Some(added)) = (&mut self.mnemonics, &other.mnemonics) {
            for (name, &count) in added {
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
    let ends = source.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let has_open_line = source.last().is_some_and(|&byte| byte != b'\n');
    ends + u64::from(has_open_line)
}

fn mark(used: &mut [bool], register: RegId) {
    if let Some(used) = used.get_mut(register.index()) {
        *used = true;
    }
}

/// Marks the registers of an address; its offset may be an address again.
fn mark_address(used: &mut [bool], pool: &OperandPool, operand: Operand) {
    let mut next = operand;
    while let Operand::Address(id) = next
        && let Some(address) = pool.address(id)
    {
        if let Operand::Reg(base) = address.base {
            mark(used, base);
        }
        if let Operand::Reg(offset) = address.offset {
            mark(used, offset);
        }
        next = address.offset;
    }
}

//! The instructions of a function, with what each one does.

use std::mem::MaybeUninit;
use std::ops::Range;

use ptx_report::facts_json::FactsWriter;
use ptx_report::labels;
use ptxkit::ir::facts::{Facts, FunctionFacts, MemoryAccess, RegAccess};
use ptxkit::ir::{Body, EntityId, FuncId, InstId, Operand, Span, Statement};
use ptxkit::print;

use crate::memory::{create, free, given, ptxkit_string};
use crate::module::{ptxkit_module, ptxkit_span};
use crate::status::{Failure, get, ptxkit_status, run};

/// The instructions of a function. They do not change: any number of threads may use them at the same time.
pub struct ptxkit_instructions {
    text: String,
    instructions: Vec<Instruction>,
    operands: Vec<Text>,
    registers: Vec<Text>,
    accesses: Vec<Access>,
}

/// A range of the text of all instructions.
type Text = Range<u32>;

struct Instruction {
    opcode: Text,
    mnemonic: Text,
    guard: Text,
    flow: &'static str,
    span: Span,
    line: u32,
    is_negated: bool,
    is_known: bool,
    has_side_effects: bool,
    operands: Range<usize>,
    /// Those that it reads, writes, and may write.
    registers: [Range<usize>; 3],
    accesses: Range<usize>,
}

struct Access {
    space: &'static str,
    access: &'static str,
    base: Text,
    bytes: u64,
    offset: Option<i64>,
}

/// What an instruction does to a register.
#[repr(C)]
#[allow(dead_code, reason = "callers pass its values as numbers")]
pub enum ptxkit_register_use {
    /// It reads the register.
    Read = 0,
    /// It writes the register whenever it is reached.
    Write = 1,
    /// It may write the register, but need not: under a guard, or because it is unknown.
    ConditionalWrite = 2,
}

/// An instruction.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_instruction {
    /// The opcode, such as `add`.
    pub opcode: ptxkit_string,
    /// The opcode with its modifiers, such as `add.s32`.
    pub mnemonic: ptxkit_string,
    /// The predicate under which it executes; empty without one.
    pub guard: ptxkit_string,
    /// Whether it executes where the predicate is false.
    pub is_guard_negated: bool,
    /// Whether the tables know it. Else its facts are the worst that may be.
    pub is_known: bool,
    /// Whether it does something besides writing its registers, reading memory and going on.
    pub has_side_effects: bool,
    /// What it does to control flow: `next`, `jump`, `table`, `call`, `return`, `exit`, `trap` or `unknown`.
    pub flow: ptxkit_string,
    /// Its place in the source, from the guard to the semicolon.
    pub span: ptxkit_span,
    /// The line where it begins, counted from 1.
    pub line: u32,
    /// The number of its operands.
    pub operand_count: usize,
    /// The number of registers that it reads, the guard included.
    pub read_count: usize,
    /// The number of registers that it writes.
    pub write_count: usize,
    /// The number of registers that it may write.
    pub conditional_write_count: usize,
    /// The number of its accesses to memory.
    pub access_count: usize,
}

/// An access to memory.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_access {
    /// The state space: `global`, `shared`, `local`, `param`, `const`, `generic`, `texture`, `surface`, `tensor` or `any`.
    pub space: ptxkit_string,
    /// `read`, `write`, `atomic` or `update`.
    pub access: ptxkit_string,
    /// The register or variable that holds the address; empty if there is none.
    pub base: ptxkit_string,
    /// How many bytes one thread reaches at most; 0 if that is not known.
    pub bytes: u64,
    /// Whether `offset` is known.
    pub has_offset: bool,
    /// The offset from the base.
    pub offset: i64,
}

impl ptxkit_instructions {
    fn new(module: &ptxkit_module, index: usize) -> Option<Self> {
        let id = FuncId::from_index(index);
        let body = module.ir.body(id)?;
        let all = module.facts();
        let facts = all.function(id)?;
        let mut list = Self {
            text: String::new(),
            instructions: Vec::new(),
            operands: Vec::new(),
            registers: Vec::new(),
            accesses: Vec::new(),
        };
        let names = FactsWriter::new(&module.ir, body);
        for (stmt, statement) in body.statements() {
            if let Statement::Inst(inst) = statement {
                list.add(module, (body, inst), &facts, &names, body.source_span(stmt));
            }
        }
        Some(list)
    }

    fn add(
        &mut self,
        module: &ptxkit_module,
        (body, id): (&Body, InstId),
        facts: &FunctionFacts<'_>,
        names: &FactsWriter<'_>,
        span: Span,
    ) {
        let Some(inst) = body.inst(id) else {
            return;
        };
        let signature = module.ir.signature(inst.sig);
        let facts = facts.inst(id);
        let guard = facts.guard();
        let predicate = guard.map(|g| body.pool().get(g.predicate));
        let first = self.operands.len();
        for operand in body.operands(id) {
            let text = print::canonical_operand(&module.ir, body, *operand);
            let text = self.keep(&String::from_utf8_lossy(&text));
            self.operands.push(text);
        }
        let instruction = Instruction {
            opcode: self.keep(signature.opcode_text()),
            mnemonic: self.keep(signature.text()),
            guard: self.name(names, predicate),
            flow: labels::flow(facts.flow()),
            span,
            line: module.position(span).0,
            is_negated: guard.is_some_and(|g| g.negated),
            is_known: facts.is_known(),
            has_side_effects: facts.has_side_effects(),
            operands: first..self.operands.len(),
            registers: [RegAccess::reads, RegAccess::writes, RegAccess::may_write]
                .map(|is| self.mentioned(&facts, names, is)),
            accesses: self.accessed(&facts, names),
        };
        self.instructions.push(instruction);
    }

    fn keep(&mut self, text: &str) -> Text {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        start..self.text.len() as u32
    }

    fn name(&mut self, names: &FactsWriter<'_>, operand: Option<Operand>) -> Text {
        let name = operand.and_then(|operand| names.name(operand));
        self.keep(name.as_deref().unwrap_or_default())
    }

    /// The registers whose use `belongs`, each once.
    fn mentioned(
        &mut self,
        facts: &Facts<'_>,
        names: &FactsWriter<'_>,
        belongs: impl Fn(RegAccess) -> bool,
    ) -> Range<usize> {
        let first = self.registers.len();
        for mention in facts.registers().filter(|m| belongs(m.usage)) {
            for name in names.names_of(mention.place) {
                let known = |text: &Text| self.get(text) == Some(name);
                if !self.registers[first..].iter().any(known) {
                    let text = self.keep(name);
                    self.registers.push(text);
                }
            }
        }
        first..self.registers.len()
    }

    fn accessed(&mut self, facts: &Facts<'_>, names: &FactsWriter<'_>) -> Range<usize> {
        let first = self.accesses.len();
        for access in facts.memory() {
            let MemoryAccess {
                space,
                bytes,
                access,
                base,
                offset,
                ..
            } = access;
            let base = self.name(names, base);
            self.accesses.push(Access {
                space: labels::space(space),
                access: labels::access(access),
                base,
                bytes: bytes.unwrap_or(0),
                offset,
            });
        }
        first..self.accesses.len()
    }

    fn get(&self, text: &Text) -> Option<&str> {
        self.text.get(text.start as usize..text.end as usize)
    }

    fn string(&self, text: &Text) -> ptxkit_string {
        ptxkit_string::of(self.get(text).unwrap_or_default())
    }
}

/// Lists the instructions of the function at `function`, with their facts. Free the list with `ptxkit_instructions_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instructions_of(
    module: Option<&ptxkit_module>,
    function: usize,
    instructions: Option<&mut MaybeUninit<Option<Box<ptxkit_instructions>>>>,
) -> ptxkit_status {
    run(|| {
        create(instructions, || {
            let list = ptxkit_instructions::new(given(module)?, function);
            list.ok_or_else(|| Failure::not_found("no function with a body at this index"))
        })
    })
}

/// Returns the number of instructions of a list.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instructions_count(instructions: Option<&ptxkit_instructions>) -> usize {
    get(|| Some(instructions?.instructions.len()))
}

/// Returns an instruction, in the order of the source; with an empty opcode if there is none at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instructions_get(
    instructions: Option<&ptxkit_instructions>,
    index: usize,
) -> ptxkit_instruction {
    get(|| {
        let list = instructions?;
        let inst = list.instructions.get(index)?;
        let [reads, writes, conditional_writes] = &inst.registers;
        Some(ptxkit_instruction {
            opcode: list.string(&inst.opcode),
            mnemonic: list.string(&inst.mnemonic),
            guard: list.string(&inst.guard),
            is_guard_negated: inst.is_negated,
            is_known: inst.is_known,
            has_side_effects: inst.has_side_effects,
            flow: ptxkit_string::of(inst.flow),
            span: inst.span.into(),
            line: inst.line,
            operand_count: inst.operands.len(),
            read_count: reads.len(),
            write_count: writes.len(),
            conditional_write_count: conditional_writes.len(),
            access_count: inst.accesses.len(),
        })
    })
}

/// Returns the text of an operand of an instruction, in the canonical style.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instruction_operand(
    instructions: Option<&ptxkit_instructions>,
    index: usize,
    operand: usize,
) -> ptxkit_string {
    get(|| {
        let list = instructions?;
        let own = list
            .operands
            .get(list.instructions.get(index)?.operands.clone())?;
        Some(list.string(own.get(operand)?))
    })
}

/// Returns the name of a register of an instruction. `how` is one of `ptxkit_register_use`; `%r1#2` is the second of several registers called
/// `%r1`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instruction_register(
    instructions: Option<&ptxkit_instructions>,
    index: usize,
    how: u32,
    register: usize,
) -> ptxkit_string {
    get(|| {
        let list = instructions?;
        let range = list.instructions.get(index)?.registers.get(how as usize)?;
        Some(list.string(list.registers.get(range.clone())?.get(register)?))
    })
}

/// Returns an access of an instruction to memory.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instruction_access(
    instructions: Option<&ptxkit_instructions>,
    index: usize,
    access: usize,
) -> ptxkit_access {
    get(|| {
        let list = instructions?;
        let own = list
            .accesses
            .get(list.instructions.get(index)?.accesses.clone())?;
        let access = own.get(access)?;
        Some(ptxkit_access {
            space: ptxkit_string::of(access.space),
            access: ptxkit_string::of(access.access),
            base: list.string(&access.base),
            bytes: access.bytes,
            has_offset: access.offset.is_some(),
            offset: access.offset.unwrap_or(0),
        })
    })
}

/// Frees a list of instructions.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instructions_free(instructions: Option<Box<ptxkit_instructions>>) {
    free(instructions);
}

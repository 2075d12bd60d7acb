//! The instructions of a function with their facts.

use std::mem::MaybeUninit;
use std::ops::Range;

use ptx_report::instruction_facts::FactNames;
use ptx_report::labels;
use ptxkit::ir::facts::{Facts, RegAccess};
use ptxkit::ir::{Body, EntityId, FuncId, InstId, Module, Operand, Span, Statement};
use ptxkit::print;

use crate::memory::{create, free, non_null, ptxkit_string};
use crate::module::{ptxkit_module, ptxkit_span};
use crate::status::{Failure, get, ptxkit_status, run};

/// The instructions of a function. They never change, so any number of threads may use them at the same time.
pub struct ptxkit_instructions {
    // One string contains the texts of all instructions, and one list of each kind their lists, so that a large function needs few allocations.
    text: String,
    instructions: Vec<Instruction>,
    operands: Vec<TextRange>,
    registers: Vec<TextRange>,
    accesses: Vec<Access>,
}

/// A range of [`ptxkit_instructions::text`].
type TextRange = Range<u32>;

struct Instruction {
    opcode: TextRange,
    mnemonic: TextRange,
    guard: TextRange,
    flow: &'static str,
    span: Span,
    line: u32,
    is_negated: bool,
    is_known: bool,
    has_side_effects: bool,
    /// The range of its operands in [`ptxkit_instructions::operands`].
    operands: Range<usize>,
    /// The ranges of the registers that it reads, writes, and may write, indexed by [`ptxkit_register_use`].
    registers: [Range<usize>; 3],
    /// The range of its memory accesses.
    accesses: Range<usize>,
}

struct Access {
    space: &'static str,
    access: &'static str,
    base: TextRange,
    bytes: u64,
    offset: Option<i64>,
}

/// The use of a register by an instruction.
#[repr(C)]
#[allow(dead_code, reason = "callers pass its values as numbers")]
pub enum ptxkit_register_use {
    /// The instruction reads the register.
    Read = 0,
    /// The instruction writes the register whenever it is reached.
    Write = 1,
    /// The instruction may write the register: it has a guard, or it is unknown.
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
    /// The predicate of the guard; empty if there is no guard.
    pub guard: ptxkit_string,
    /// Whether the instruction executes if the predicate is false.
    pub is_guard_negated: bool,
    /// Whether the instruction is legal. Otherwise, its facts are conservative.
    pub is_known: bool,
    /// Whether it has effects other than writing its registers, reading memory and continuing with the next instruction.
    pub has_side_effects: bool,
    /// The effect on control flow: `next`, `jump`, `table`, `call`, `return`, `exit`, `trap` or `unknown`.
    pub flow: ptxkit_string,
    /// The location in the source, from the guard to the semicolon.
    pub span: ptxkit_span,
    /// The line of the beginning, counted from 1.
    pub line: u32,
    /// The number of operands.
    pub operand_count: usize,
    /// The number of registers that it reads, including the guard.
    pub read_count: usize,
    /// The number of registers that it writes.
    pub write_count: usize,
    /// The number of registers that it may write.
    pub conditional_write_count: usize,
    /// The number of memory accesses.
    pub access_count: usize,
}

/// A memory access.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_access {
    /// The state space: `global`, `shared`, `local`, `param`, `const`, `generic`, `texture`, `surface`, `tensor` or `any`.
    pub space: ptxkit_string,
    /// The kind of the access: `read`, `write`, `atomic` or `update`.
    pub access: ptxkit_string,
    /// The register or variable of the address; empty if there is none.
    pub base: ptxkit_string,
    /// The maximum number of bytes that a thread accesses; 0 if it is unknown.
    pub bytes: u64,
    /// Whether `offset` is known.
    pub has_offset: bool,
    /// The offset from the base.
    pub offset: i64,
}

impl ptxkit_instructions {
    fn new(module: &ptxkit_module, function: FuncId) -> Option<Self> {
        let body = module.ir.body(function)?;
        let module_facts = module.facts();
        let facts = module_facts.function(function)?;
        let names = FactNames::new(&module.ir, body);
        let mut list = Self {
            text: String::new(),
            instructions: Vec::new(),
            operands: Vec::new(),
            registers: Vec::new(),
            accesses: Vec::new(),
        };
        for (stmt, statement) in body.statements() {
            if let Statement::Inst(id) = statement
                && let Some(inst) = body.inst(id)
            {
                let signature = module.ir.signature(inst.sig);
                let facts = facts.inst(id);
                let guard = facts.guard();
                let predicate = guard.map(|g| body.pool().get(g.predicate));
                let span = body.source_span(stmt);
                let instruction = Instruction {
                    opcode: list.add_text(signature.opcode_text()),
                    mnemonic: list.add_text(signature.text()),
                    guard: list.add_name(&names, predicate),
                    flow: labels::flow(facts.flow()),
                    span,
                    line: module.line(span),
                    is_negated: guard.is_some_and(|g| g.sense.is_negated()),
                    is_known: facts.is_known(),
                    has_side_effects: facts.has_side_effects(),
                    operands: list.add_operands(&module.ir, body, id),
                    registers: [RegAccess::reads, RegAccess::writes, RegAccess::may_write]
                        .map(|is_selected| list.add_registers(&facts, &names, is_selected)),
                    accesses: list.add_accesses(&facts, &names),
                };
                list.instructions.push(instruction);
            }
        }
        Some(list)
    }

    fn add_text(&mut self, text: &str) -> TextRange {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        start..self.text.len() as u32
    }

    /// Adds the name of a register or variable; an empty text for other operands.
    fn add_name(&mut self, names: &FactNames<'_>, operand: Option<Operand>) -> TextRange {
        let name = operand.and_then(|operand| names.name(operand));
        self.add_text(name.as_deref().unwrap_or_default())
    }

    fn add_operands(&mut self, module: &Module, body: &Body, id: InstId) -> Range<usize> {
        let start = self.operands.len();
        for operand in body.operands(id) {
            let text = print::canonical_operand(module, body, *operand);
            let range = self.add_text(&String::from_utf8_lossy(&text));
            self.operands.push(range);
        }
        start..self.operands.len()
    }

    /// Adds the registers whose use `is_selected`, each once.
    fn add_registers(
        &mut self,
        facts: &Facts<'_>,
        names: &FactNames<'_>,
        is_selected: impl Fn(RegAccess) -> bool,
    ) -> Range<usize> {
        let start = self.registers.len();
        for mention in facts.registers().filter(|m| is_selected(m.usage)) {
            for name in names.names_of(mention.place) {
                let mut listed = self.registers[start..].iter();
                if !listed.any(|range| self.text(range) == name) {
                    let range = self.add_text(name);
                    self.registers.push(range);
                }
            }
        }
        start..self.registers.len()
    }

    fn add_accesses(&mut self, facts: &Facts<'_>, names: &FactNames<'_>) -> Range<usize> {
        let start = self.accesses.len();
        for access in facts.memory() {
            let base = self.add_name(names, access.base);
            self.accesses.push(Access {
                space: labels::space(access.space),
                access: labels::access(access.access),
                base,
                bytes: access.bytes.unwrap_or(0),
                offset: access.offset,
            });
        }
        start..self.accesses.len()
    }

    fn text(&self, range: &TextRange) -> &str {
        self.text
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }

    fn string(&self, range: &TextRange) -> ptxkit_string {
        ptxkit_string::new(self.text(range))
    }
}

/// Lists the instructions of the function with the index `function`. Free the list with `ptxkit_instructions_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instructions_of(
    module: Option<&ptxkit_module>,
    function: usize,
    instructions: Option<&mut MaybeUninit<Option<Box<ptxkit_instructions>>>>,
) -> ptxkit_status {
    run(|| {
        create(instructions, || {
            let function = FuncId::from_index(function);
            let list = ptxkit_instructions::new(non_null(module)?, function);
            list.ok_or_else(|| Failure::not_found("no function with a body at this index"))
        })
    })
}

/// Returns the number of instructions of a list.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instructions_count(instructions: Option<&ptxkit_instructions>) -> usize {
    get(|| Some(instructions?.instructions.len()))
}

/// Returns an instruction; one with an empty opcode if there is no instruction at `index`. Instructions are in the order of the source.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instructions_get(
    instructions: Option<&ptxkit_instructions>,
    index: usize,
) -> ptxkit_instruction {
    get(|| {
        let list = instructions?;
        let instruction = list.instructions.get(index)?;
        let [reads, writes, conditional_writes] = &instruction.registers;
        Some(ptxkit_instruction {
            opcode: list.string(&instruction.opcode),
            mnemonic: list.string(&instruction.mnemonic),
            guard: list.string(&instruction.guard),
            is_guard_negated: instruction.is_negated,
            is_known: instruction.is_known,
            has_side_effects: instruction.has_side_effects,
            flow: ptxkit_string::new(instruction.flow),
            span: instruction.span.into(),
            line: instruction.line,
            operand_count: instruction.operands.len(),
            read_count: reads.len(),
            write_count: writes.len(),
            conditional_write_count: conditional_writes.len(),
            access_count: instruction.accesses.len(),
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
        let range = list.instructions.get(index)?.operands.clone();
        Some(list.string(list.operands.get(range)?.get(operand)?))
    })
}

/// Returns the name of a register that an instruction uses as `register_use` says, one of `ptxkit_register_use`. `%r1#2` is the second of several
/// registers with the name `%r1`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instruction_register(
    instructions: Option<&ptxkit_instructions>,
    index: usize,
    register_use: u32,
    register: usize,
) -> ptxkit_string {
    get(|| {
        let list = instructions?;
        let ranges = &list.instructions.get(index)?.registers;
        let range = ranges.get(register_use as usize)?.clone();
        Some(list.string(list.registers.get(range)?.get(register)?))
    })
}

/// Returns a memory access of an instruction.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_instruction_access(
    instructions: Option<&ptxkit_instructions>,
    index: usize,
    access: usize,
) -> ptxkit_access {
    get(|| {
        let list = instructions?;
        let range = list.instructions.get(index)?.accesses.clone();
        let access = list.accesses.get(range)?.get(access)?;
        Some(ptxkit_access {
            space: ptxkit_string::new(access.space),
            access: ptxkit_string::new(access.access),
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

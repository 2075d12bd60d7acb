//! The table of memory accesses.

use ptx_analysis::memory_access;
use ptx_ir::facts::MemoryAccess;
use ptx_isa::Modifier;
use ptx_report::function_stats::Access;
use ptx_report::function_values::Coalescing;
use ptx_report::labels::{self, Label as _};

use crate::column::Value::{Int, Long, Text, Word};
use crate::column::{Column, Table, TextSink, column, on_request, optional};
use crate::context::Instruction;

/// The table with a row for each memory access of an instruction.
pub(crate) struct Memory;

/// A memory access of an instruction.
pub(crate) struct AccessRow<'a> {
    instruction: &'a Instruction<'a>,
    access: MemoryAccess,
    kind: Access,
    /// The number of the access in the instruction.
    index: u32,
}

impl AccessRow<'_> {
    /// The results of analyses for the access.
    fn analyzed_access(&self) -> Option<&memory_access::Access> {
        let values = self.instruction.function.values()?;
        let accesses = values.accesses().of_statement(self.instruction.stmt);
        accesses.get(self.index as usize)
    }

    fn coalescing(&self) -> Option<Coalescing> {
        Coalescing::of(self.analyzed_access()?)
    }

    /// Writes the address as an affine form.
    fn address(&self, sink: TextSink<'_>) {
        let function = self.instruction.function;
        let form = self.analyzed_access().and_then(|access| access.address);
        if let (Some(form), Some(values)) = (form, function.values()) {
            let names = function.names.registers();
            sink(&values.text(names).form(&form));
        }
    }

    /// Writes the register or variable of the address.
    fn base(&self, sink: TextSink<'_>) {
        let names = &self.instruction.function.names;
        if let Some(name) = self.access.base.and_then(|base| names.name(base)) {
            sink(&name);
        }
    }
}

/// The text of a modifier without its dot.
fn modifier_text(modifier: Option<Modifier>) -> Option<&'static str> {
    Some(modifier?.text().trim_start_matches('.'))
}

fn to_int64(number: u64) -> Option<i64> {
    Some(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The rows of instructions.
pub(crate) fn rows<'a>(instructions: &'a [Instruction<'a>]) -> Vec<AccessRow<'a>> {
    let mut rows = Vec::new();
    for instruction in instructions {
        match instruction.facts() {
            Some(facts) => add_rows(instruction, facts.memory(), &mut rows),
            None => add_rows(instruction, [MemoryAccess::ANY], &mut rows),
        }
    }
    rows
}

fn add_rows<'a>(
    instruction: &'a Instruction<'a>,
    accesses: impl IntoIterator<Item = MemoryAccess>,
    rows: &mut Vec<AccessRow<'a>>,
) {
    for (index, access) in (0..).zip(accesses) {
        rows.push(AccessRow {
            instruction,
            kind: Access::new(&access, instruction.function.body),
            access,
            index,
        });
    }
}

impl Table for Memory {
    type Row<'a> = AccessRow<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.instruction.function.file.name)), "The path of the file."),
        column("function", Word(|r| Some(&r.instruction.function.name)), "The name of the function."),
        column("function_id", Int(|r| Some(r.instruction.function.id.as_u32())), "The number of the function in the file."),
        column("start", Int(|r| Some(r.instruction.span.start)), "The start of the instruction, as in `instructions`."),
        column("line", Int(|r| Some(r.instruction.line)), "The line of the instruction."),
        column("index", Int(|r| Some(r.index)), "The number of the access in the instruction, from 0."),
        column("block", Int(|r| Some(r.instruction.block.as_u32())), "The id of the basic block."),
        column("loop_depth", Int(|r| Some(r.instruction.function.analysis.loops().depth(r.instruction.block))), "The number of natural loops that contain it."),
        optional("mnemonic", Word(|r| r.instruction.mnemonic()), "Opcode and modifiers of the instruction."),
        optional("opcode", Word(|r| r.instruction.opcode()), "Its opcode."),
        column("space", Word(|r| Some(r.kind.space.label())), "`global`, `shared` also for `shared::cta`, `shared::cluster`, `generic`, `tensor`, `texture`, `surface`, `any` and so on. A call accesses `any`."),
        column("access", Word(|r| Some(r.kind.access.label())), "`read`, `write`, `atomic`, or `update` for a non-atomic read and write."),
        optional("bytes", Long(|r| r.access.bytes.map(|n| n.try_into().unwrap_or(i64::MAX))), "The maximum number of bytes that a thread accesses."),
        column("vector", Int(|r| Some(r.kind.vector as u32)), "The number of elements that it loads or stores."),
        optional("order", Word(|r| modifier_text(r.access.order)), "The memory order, such as `acquire`."),
        optional("scope", Word(|r| modifier_text(r.access.scope)), "The scope of the order, such as `gpu`."),
        optional("base", Text(|r, sink| r.base(sink)), "The register or variable of the address."),
        optional("offset", Long(|r| r.access.offset), "The constant that is added to the base."),
        on_request("known_space", Word(|r| r.analyzed_access().map(|a| labels::space(a.space))), "The state space, which is also inferred for generic addresses."),
        on_request("coalescing", Word(|r| r.coalescing().map(|c| c.pattern.label())), "The pattern of the addresses of the lanes of a warp: `uniform`, `consecutive`, `strided`, `scattered`, `rows`, `tile`; null if unknown, like the next columns."),
        on_request("stride", Long(|r| r.coalescing()?.stride), "The bytes from each lane to the next, if they are equal."),
        on_request("sectors", Long(|r| to_int64(r.coalescing()?.sectors?)), "The number of 32-byte sectors in global memory that a warp accesses; the least number if it depends on the address."),
        on_request("degree", Long(|r| to_int64(r.coalescing()?.degree?)), "The number of passes over shared memory, divided by the number without bank conflicts."),
        on_request("alignment", Long(|r| to_int64(r.analyzed_access()?.alignment)), "The largest power of two that is known to divide the address; null in unreachable blocks."),
        on_request("address", Text(|r, sink| r.address(sink)), "The address as an affine form: `p + 4*%tid.x`."),
    ];
}

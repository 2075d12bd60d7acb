//! The table of memory accesses.

use ptx_analysis::memory_access;
use ptx_ir::facts::MemoryAccess;
use ptx_isa::Modifier;
use ptx_report::function_stats::Access;
use ptx_report::function_values::Coalescing;
use ptx_report::labels;

use crate::column::Value::{Int, Long, Text, Word};
use crate::column::{Column, Rows, Texts, column, on_request, optional};
use crate::context::Instruction;

/// A row for each memory access of an instruction.
pub(crate) struct Memory;

/// One access of an instruction.
pub(crate) struct OfInstruction<'a> {
    of: &'a Instruction<'a>,
    access: MemoryAccess,
    kind: Access,
    index: u32,
}

impl OfInstruction<'_> {
    fn modifier(modifier: Option<Modifier>) -> Option<&'static str> {
        modifier.map(|m| m.text().trim_start_matches('.'))
    }

    /// What is known of it before the function runs.
    fn known(&self) -> Option<&memory_access::Access> {
        let mut accesses = self.of.of.values()?.accesses_of(self.of.stmt);
        accesses.nth(self.index as usize)
    }

    fn coalescing(&self) -> Option<Coalescing> {
        Coalescing::of(self.known()?)
    }

    /// The address as a form.
    fn address(&self, each: Texts<'_>) {
        let of = self.of.of;
        let form = self.known().and_then(|known| known.address);
        if let Some((form, values)) = form.zip(of.values()) {
            each(&values.text(of.facts, of.names.names()).form(&form));
        }
    }

    fn base(&self, each: Texts<'_>) {
        let names = &self.of.of.names;
        if let Some(name) = self.access.base.and_then(|base| names.name(base)) {
            each(&name);
        }
    }
}

/// The accesses of instructions.
pub(crate) fn of<'a>(instructions: &'a [Instruction<'a>]) -> Vec<OfInstruction<'a>> {
    let mut rows = Vec::new();
    for of in instructions {
        let mut index = 0;
        let mut add = |access: MemoryAccess| {
            rows.push(OfInstruction {
                of,
                kind: Access::new(&access, of.of.body),
                access,
                index,
            });
            index += 1;
        };
        match &of.facts {
            Some(facts) => facts.memory().for_each(add),
            None => add(MemoryAccess::ANY),
        }
    }
    rows
}

impl Rows for Memory {
    type Row<'a> = OfInstruction<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.of.of.file.name)), "The path of the file."),
        column("function", Word(|r| Some(&r.of.of.name)), "The name of the function."),
        column("function_id", Int(|r| Some(r.of.of.id.as_u32())), "The number of the function in the file."),
        column("start", Int(|r| Some(r.of.span.start)), "The start of the instruction, as in `instructions`."),
        column("line", Int(|r| Some(r.of.line)), "The line of the instruction."),
        column("index", Int(|r| Some(r.index)), "The number of the access in the instruction, from 0."),
        column("block", Int(|r| Some(r.of.block.as_u32())), "The id of the basic block."),
        column("loop_depth", Int(|r| Some(r.of.of.loops().depth(r.of.block))), "The number of natural loops that contain it."),
        optional("mnemonic", Word(|r| r.of.mnemonic()), "Opcode and modifiers of the instruction."),
        optional("opcode", Word(|r| r.of.opcode()), "Its opcode."),
        column("space", Word(|r| Some(r.kind.space)), "`global`, `shared` also for `shared::cta`, `shared::cluster`, `generic`, `tensor`, `texture`, `surface`, `any` and so on. A call accesses `any`."),
        column("access", Word(|r| Some(r.kind.access)), "`read`, `write`, `atomic`, or `update` for a non-atomic read and write."),
        optional("bytes", Long(|r| r.access.bytes.map(|n| n.try_into().unwrap_or(i64::MAX))), "The maximum number of bytes that a thread accesses."),
        column("vector", Int(|r| Some(r.kind.vector as u32)), "The number of elements that it loads or stores."),
        optional("order", Word(|r| OfInstruction::modifier(r.access.order)), "The memory order, such as `acquire`."),
        optional("scope", Word(|r| OfInstruction::modifier(r.access.scope)), "The scope of the order, such as `gpu`."),
        optional("base", Text(|r, each| r.base(each)), "The register or variable of the address."),
        optional("offset", Long(|r| r.access.offset), "The constant that is added to the base."),
        on_request("known_space", Word(|r| r.known().map(|a| labels::space(a.space))), "The state space, which is also inferred for generic addresses."),
        on_request("coalescing", Word(|r| r.coalescing().map(|c| c.pattern)), "The pattern of the addresses of the lanes of a warp: `uniform`, `consecutive`, `strided`, `scattered`; null if unknown, like the next columns."),
        on_request("stride", Long(|r| r.coalescing()?.stride), "The bytes from each lane to the next, if they are equal."),
        on_request("sectors", Long(|r| number(r.coalescing()?.sectors?)), "The number of 32-byte sectors in global memory that a warp accesses."),
        on_request("degree", Long(|r| number(r.coalescing()?.degree?)), "The number of passes over shared memory, divided by the number without bank conflicts."),
        on_request("alignment", Long(|r| number(r.known()?.alignment)), "The largest power of two that is known to divide the address; null in unreachable blocks."),
        on_request("address", Text(|r, each| r.address(each)), "The address as an affine form: `p + 4*%tid.x`."),
    ];
}

fn number(of: u64) -> Option<i64> {
    Some(i64::try_from(of).unwrap_or(i64::MAX))
}

//! The table of basic blocks.

use ptx_analysis::cfg::{Block, BlockId};
use ptx_analysis::reg_lanes::VariableId;
use ptx_ir::Statement;
use ptx_report::basic_blocks::BasicBlocks;

use crate::column::Value::{Flag, Int, IntList, Long, TextList, Word};
use crate::column::{Column, Table, TextSink, column, on_request, optional};
use crate::context::FunctionContext;

/// The table with a row for each basic block.
pub(crate) struct Blocks;

/// A block of a function.
pub(crate) struct BlockRow<'a> {
    function: &'a FunctionContext<'a>,
    blocks: &'a BasicBlocks<'a>,
    id: BlockId,
    block: Block,
    lines: LineRange,
}

/// The lines from the first to the last statement of a block.
struct LineRange {
    first: u32,
    last: u32,
}

impl BlockRow<'_> {
    /// Writes the names of registers.
    fn registers(
        &self,
        registers: impl IntoIterator<Item = VariableId>,
        sink: TextSink<'_>,
    ) -> bool {
        let names = self.function.names.registers();
        for register in registers {
            sink(names.get(register));
        }
        true
    }

    /// Writes the names of live registers, unless the lists of the function are too long.
    fn live(&self, registers: impl IntoIterator<Item = VariableId>, sink: TextSink<'_>) -> bool {
        self.blocks.has_live_lists() && self.registers(registers, sink)
    }

    /// The number of instructions and unrecognized statements.
    fn instructions(&self) -> i64 {
        self.function
            .body
            .range(self.block.first, self.block.end)
            .filter(|(_, s)| matches!(s, Statement::Inst(_) | Statement::Opaque(_)))
            .count() as i64
    }
}

/// The rows of a function.
pub(crate) fn rows<'a>(
    function: &'a FunctionContext<'a>,
    blocks: &'a BasicBlocks<'a>,
) -> Vec<BlockRow<'a>> {
    blocks
        .iter()
        .map(|(id, block)| {
            let (first, last) = blocks.lines(block, &function.file.lines);
            BlockRow {
                function,
                blocks,
                id,
                block: *block,
                lines: LineRange { first, last },
            }
        })
        .collect()
}

impl Table for Blocks {
    type Row<'a> = BlockRow<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.function.file.name)), "The path of the file."),
        column("function", Word(|r| Some(&r.function.name)), "The name of the function."),
        column("function_id", Int(|r| Some(r.function.id.as_u32())), "The number of the function in the file."),
        column("block", Int(|r| Some(r.id.as_u32())), "The id of the block; ids are numbered in text order."),
        optional("label", Word(|r| r.blocks.label(&r.block)), "The label at its start."),
        column("first_line", Int(|r| Some(r.lines.first)), "The first line of its labels and instructions."),
        column("last_line", Int(|r| Some(r.lines.last)), "The last one."),
        column("instructions", Long(|r| Some(r.instructions())), "The number of instructions."),
        optional("succ", IntList(|r, sink| r.blocks.successors(r.id, sink)), "The ids of its successors; null if jumps through tables give the function too many successors."),
        column("exits", Flag(|r| Some(r.blocks.exits(r.id))), "Whether control may leave the function here."),
        column("unknown", Flag(|r| Some(r.block.unknown)), "Whether its last statement is unrecognized; every label is a successor then."),
        column("reachable", Flag(|r| Some(r.function.analysis.is_reachable(r.id))), "Whether it is reachable from the entry."),
        optional("idom", Int(|r| r.blocks.idom(r.id).map(BlockId::as_u32)), "The immediate dominator."),
        optional("ipdom", Int(|r| r.blocks.ipdom(r.id).map(BlockId::as_u32)), "The immediate post-dominator on paths that leave the function."),
        optional("loop_header", Int(|r| r.function.loop_header(r.id)), "The id of the header of the innermost natural loop."),
        column("loop_depth", Int(|r| Some(r.function.analysis.loops().depth(r.id))), "The number of natural loops that contain it."),
        column("uses", TextList(|r, sink| r.registers(r.function.analysis.summary().uses(r.id).iter().copied(), sink)), "Registers read before any unconditional write in the block."),
        column("kills", TextList(|r, sink| r.registers(r.function.analysis.summary().kills(r.id).iter().copied(), sink)), "Registers written unconditionally."),
        column("defs", TextList(|r, sink| r.registers(r.function.analysis.summary().defs(r.id).iter().copied(), sink)), "Registers written with or without a guard."),
        column("returned", TextList(|r, sink| r.registers(r.blocks.returned(r.id).iter().copied(), sink)), "Registers that hold the results of the function, if the block may return."),
        optional("live_in", TextList(|r, sink| r.live(r.function.analysis.liveness().live_in(r.id).iter(), sink)), "Registers live at its start; null if the lists of the function are too long."),
        optional("live_out", TextList(|r, sink| r.live(r.function.analysis.liveness().live_out(r.id).iter(), sink)), "Registers live at its end; null if the lists of the function are too long."),
        on_request("uniform", Word(|r| r.function.uniform_block(r.id)), "The largest group of threads that all execute the block or all do not: `grid`, `cluster`, `cta`, `warp` or `varying`."),
    ];
}

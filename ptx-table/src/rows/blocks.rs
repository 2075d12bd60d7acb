//! The table of basic blocks.

use ptx_analysis::cfg::{Block, BlockId};
use ptx_report::basic_blocks::BasicBlocks;

use crate::column::Value::{Flag, Int, IntList, Long, TextList, Word};
use crate::column::{Column, Rows, Texts, column, on_request, optional};
use crate::context::InFunction;

/// A row for each basic block.
pub(crate) struct Blocks;

/// A block of a function.
pub(crate) struct OfFunction<'a> {
    of: &'a InFunction<'a>,
    blocks: &'a BasicBlocks<'a>,
    id: BlockId,
    block: Block,
    lines: (u32, u32),
}

impl OfFunction<'_> {
    /// The names of registers.
    fn registers(&self, all: impl IntoIterator<Item = u32>, each: Texts<'_>) -> bool {
        let names = &self.of.names;
        all.into_iter().for_each(|r| each(names.names().get(r)));
        true
    }

    /// The names of registers, unless the lists of the function are too long.
    fn live(&self, all: impl IntoIterator<Item = u32>, each: Texts<'_>) -> bool {
        self.blocks.has_live_lists() && self.registers(all, each)
    }
}

/// The rows of a function.
pub(crate) fn of<'a>(of: &'a InFunction<'a>, blocks: &'a BasicBlocks<'a>) -> Vec<OfFunction<'a>> {
    let row = |(id, block): (BlockId, &Block)| OfFunction {
        of,
        blocks,
        id,
        block: *block,
        lines: blocks.lines(block, &of.file.lines),
    };
    blocks.iter().map(row).collect()
}

/// The number of instructions and unrecognized statements.
fn instructions(r: &OfFunction<'_>) -> i64 {
    let statements = r.of.body.range(r.block.first, r.block.end);
    let counts = |s: &ptx_ir::Statement| {
        matches!(s, ptx_ir::Statement::Inst(_) | ptx_ir::Statement::Opaque(_))
    };
    statements.filter(|(_, s)| counts(s)).count() as i64
}

impl Rows for Blocks {
    type Row<'a> = OfFunction<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.of.file.name)), "The path of the file."),
        column("function", Word(|r| Some(&r.of.name)), "The name of the function."),
        column("function_id", Int(|r| Some(r.of.id.as_u32())), "The number of the function in the file."),
        column("block", Int(|r| Some(r.id.as_u32())), "The id of the block; ids are numbered in text order."),
        optional("label", Word(|r| r.blocks.label(&r.block)), "The label at its start."),
        column("first_line", Int(|r| Some(r.lines.0)), "The first line of its labels and instructions."),
        column("last_line", Int(|r| Some(r.lines.1)), "The last one."),
        column("instructions", Long(|r| Some(instructions(r))), "The number of instructions."),
        optional("succ", IntList(|r, each| r.blocks.successors(r.id, each)), "The ids of its successors; null if jumps through tables give the function too many successors."),
        column("exits", Flag(|r| Some(r.blocks.exits(r.id))), "Whether control may leave the function here."),
        column("unknown", Flag(|r| Some(r.block.unknown)), "Whether its last statement is unrecognized; every label is a successor then."),
        column("reachable", Flag(|r| Some(r.of.is_reachable(r.id))), "Whether it is reachable from the entry."),
        optional("idom", Int(|r| r.blocks.idom(r.id).map(BlockId::as_u32)), "The immediate dominator."),
        optional("ipdom", Int(|r| r.blocks.ipdom(r.id).map(BlockId::as_u32)), "The immediate post-dominator on paths that leave the function."),
        optional("loop_header", Int(|r| r.of.loop_header(r.id)), "The id of the header of the innermost natural loop."),
        column("loop_depth", Int(|r| Some(r.of.loops().depth(r.id))), "The number of natural loops that contain it."),
        column("uses", TextList(|r, each| r.registers(r.of.analysis().summary().uses(r.id).iter().copied(), each)), "Registers read before any unconditional write in the block."),
        column("kills", TextList(|r, each| r.registers(r.of.analysis().summary().kills(r.id).iter().copied(), each)), "Registers written unconditionally."),
        column("defs", TextList(|r, each| r.registers(r.of.analysis().summary().defs(r.id).iter().copied(), each)), "Registers written with or without a guard."),
        column("returned", TextList(|r, each| r.registers(r.blocks.returned(r.id).iter().copied(), each)), "Registers that hold the results of the function, if the block may return."),
        optional("live_in", TextList(|r, each| r.live(r.of.analysis().liveness().live_in(r.id), each)), "Registers live at its start; null if the lists of the function are too long."),
        optional("live_out", TextList(|r, each| r.live(r.of.analysis().liveness().live_out(r.id), each)), "Registers live at its end; null if the lists of the function are too long."),
        on_request("uniform", Word(|r| r.of.uniform_block(r.id)), "The largest group of threads that all execute the block or all do not: `grid`, `cluster`, `cta`, `warp` or `varying`."),
    ];
}

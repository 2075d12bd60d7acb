//! The table of instructions.

use ptx_report::function_stats::family;
use ptx_report::{labels, operand_text};

use crate::column::Value::{Flag, Int, Long, Text, TextList, Word};
use crate::column::{Column, Table, column, on_request, optional};
use crate::context::Instruction;

/// The table with a row for each instruction and each statement of a function that was not recognized.
pub(crate) struct Instructions;

impl Table for Instructions {
    type Row<'a> = Instruction<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.function.file.name)), "The path of the file; for a module in a container, `FILE!NAME`."),
        column("function", Word(|r| Some(&r.function.name)), "The name of the function."),
        column("function_id", Int(|r| Some(r.function.id.as_u32())), "The number of the function in the file."),
        column("start", Int(|r| Some(r.span.start)), "The start of the instruction, as a byte offset. Unique in a file."),
        column("end", Int(|r| Some(r.span.end)), "The end, as a byte offset."),
        column("line", Int(|r| Some(r.line)), "The line of its start."),
        column("column", Int(|r| Some(r.column)), "The column of its start, in bytes from 1."),
        column("block", Int(|r| Some(r.block.as_u32())), "The id of its basic block."),
        column("reachable", Flag(|r| Some(r.function.analysis.is_reachable(r.block))), "Whether it is reachable from the entry."),
        column("loop_depth", Int(|r| Some(r.function.analysis.loops().depth(r.block))), "The number of natural loops that contain it."),
        optional("loop_header", Int(|r| r.function.loop_header(r.block)), "The id of the header of the innermost loop."),
        optional("mnemonic", Word(|r| r.mnemonic()), "Opcode and modifiers; null for an unrecognized statement, like the next two columns."),
        optional("opcode", Word(|r| r.opcode()), "The opcode."),
        optional("modifiers", TextList(|r, sink| r.modifiers(sink)), "The modifiers without dots."),
        optional("guard", Text(|r, sink| if let Some(guard) = r.facts().and_then(|facts| r.function.names.guard(facts)) { sink(&guard) }), "The predicate: `%p1` or `!%p1`."),
        column("operands", TextList(|r, sink| { operand_text::each(r.span.of(r.function.file.module.source()), sink); true }), "The operands as written."),
        column("reads", TextList(|r, sink| r.registers(|m| m.usage.reads(), sink)), "The registers that it reads, including the predicate."),
        column("writes", TextList(|r, sink| r.registers(|m| m.usage.writes(), sink)), "The registers that it always writes."),
        column("cond_writes", TextList(|r, sink| r.registers(|m| m.usage.may_write(), sink)), "The registers that it may write: under a predicate, or because it is unrecognized."),
        column("family", Word(|r| Some(r.facts().map_or("unknown", family))), "The section of chapter 9.7 of the PTX ISA manual that describes it, such as `integer`; `unknown` for illegal instructions."),
        column("flow", Word(|r| Some(r.facts().map_or("unknown", |f| labels::flow(f.flow())))), "Where control continues: `next`, `jump`, `table`, `call`, `return`, `exit`, `trap` or `unknown`."),
        column("barrier", Flag(|r| Some(r.facts().is_some_and(|f| f.is_barrier()))), "Whether it waits for other threads or signals them."),
        column("fence", Flag(|r| Some(r.facts().is_some_and(|f| f.is_fence()))), "Whether it orders memory accesses."),
        column("side_effects", Flag(|r| Some(r.facts().is_none_or(|f| f.has_side_effects()))), "Whether it has effects other than writing its registers."),
        column("known", Flag(|r| Some(r.facts().is_some_and(|f| f.is_known()))), "Whether it is legal; otherwise it may read and write every register that it contains."),
        optional("source_file", Word(|r| r.source.as_ref()?.file.as_deref()), "The file of the innermost source line."),
        optional("source_line", Long(|r| r.source.as_ref().map(|s| s.line.into())), "The line in it; 0 if unknown."),
        optional("source_column", Long(|r| r.source.as_ref().map(|s| s.column.into())), "The column in it; 0 if unknown."),
        optional("source_function", Word(|r| r.source.as_ref()?.function.as_deref()), "The inlined function that contains the source line; null for the PTX function itself."),
        column("inline_asm", Flag(|r| Some(r.inline_asm)), "Whether it comes from inline assembly."),
        column("text", Text(|r, sink| sink(&r.text())), "The instruction as written."),
        on_request("affine", TextList(|r, sink| r.affine(sink)), "The integer results with an affine form: `%r2 = 4*%tid.x + p`, modulo the width of the register."),
        on_request("uniform", Word(|r| r.uniform()), "The largest group of threads in which all registers that it writes are uniform: `grid`, `cluster`, `cta`, `warp` or `varying`; null if it writes none."),
    ];
}

//! The table of loops.

use ptx_report::function_stats::{OfFunction, OfLoop};

use crate::column::Value::{Int, Long, Word};
use crate::column::{Column, Rows, column, optional};

/// A row for each natural loop.
pub(crate) struct Loops;

/// A loop of a function.
pub(crate) struct InFile<'a> {
    pub(crate) file: &'a str,
    pub(crate) function: &'a OfFunction,
    pub(crate) of: &'a OfLoop,
}

impl Rows for Loops {
    type Row<'a> = InFile<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.file)), "The path of the file."),
        column("function", Word(|r| Some(&r.function.name)), "The name of the function."),
        column("header", Int(|r| Some(r.of.header)), "The id of the first block of the loop."),
        optional("parent", Int(|r| r.of.parent), "That of the loop around it."),
        optional("label", Word(|r| r.of.label.as_deref()), "The label of the first block."),
        column("line", Int(|r| Some(r.of.line)), "The line where the first block begins."),
        column("depth", Int(|r| Some(r.of.depth)), "How many loops contain its instructions, itself included."),
        column("blocks", Long(|r| Some(r.of.blocks as i64)), "Its basic blocks outside of inner loops."),
        column("total_instructions", Long(|r| Some(r.of.total_instructions as i64)), "Its instructions with those of inner loops; the columns after it are without those."),
        column("instructions", Long(|r| Some(r.of.mix.instructions as i64)), "Its instructions."),
        column("tensor_core_arithmetic", Long(|r| Some(r.of.mix.tensor_core.arithmetic as i64)), "Instructions that multiply matrices on tensor cores."),
        column("tensor_core_moves", Long(|r| Some(r.of.mix.tensor_core.moves as i64)), "Instructions that load, store, copy or move matrices in their layout."),
        column("barriers", Long(|r| Some(r.of.mix.barriers as i64)), "Instructions that wait for other threads or signal them."),
        column("calls", Long(|r| Some(r.of.mix.calls as i64)), "Calls."),
        optional("source_file", Word(|r| r.of.source.as_ref()?.file.as_deref()), "The file of the original program that most instructions come from."),
        optional("source_first_line", Long(|r| r.of.source.as_ref().map(|s| s.first_line.into())), "The first line in it of an instruction that was not inlined."),
        optional("source_last_line", Long(|r| r.of.source.as_ref().map(|s| s.last_line.into())), "The last one."),
    ];
}

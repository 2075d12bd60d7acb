//! The table of loops.

use ptx_analysis::cfg::BlockId;
use ptx_report::function_stats::{FunctionStats, LoopStats};
use ptx_report::function_values::TripCount;

use crate::column::Value::{Flag, Int, Long, Text, Word};
use crate::column::{Column, Table, column, on_request, optional};
use crate::context::FunctionContext;

/// The table with a row for each natural loop.
pub(crate) struct Loops;

/// A loop of a function.
pub(crate) struct LoopRow<'a> {
    pub(crate) file: &'a str,
    pub(crate) function: &'a FunctionStats,
    pub(crate) statistics: &'a LoopStats,
    /// The function with its analyses, if a column needs them.
    pub(crate) context: Option<&'a FunctionContext<'a>>,
}

impl LoopRow<'_> {
    fn trip_count(&self) -> Option<TripCount> {
        let context = self.context?;
        let values = context.values()?;
        let header = BlockId::new(self.statistics.header);
        let id = context.analysis.loops().innermost(header)?;
        values.trip_count(id, &values.text(context.names.registers()))
    }
}

impl Table for Loops {
    type Row<'a> = LoopRow<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.file)), "The path of the file."),
        column("function", Word(|r| Some(&r.function.name)), "The name of the function."),
        column("header", Int(|r| Some(r.statistics.header)), "The id of the first block of the loop."),
        optional("parent", Int(|r| r.statistics.parent), "The header of the enclosing loop."),
        optional("label", Word(|r| r.statistics.label.as_deref()), "The label of the first block."),
        column("line", Int(|r| Some(r.statistics.line)), "The line of the start of the first block."),
        column("depth", Int(|r| Some(r.statistics.depth)), "The nesting depth, 1 for an outermost loop."),
        column("blocks", Long(|r| Some(r.statistics.blocks as i64)), "Its basic blocks outside of inner loops."),
        column("total_instructions", Long(|r| Some(r.statistics.total_instructions as i64)), "The number of its instructions, including inner loops; the following columns exclude inner loops."),
        column("instructions", Long(|r| Some(r.statistics.mix.instructions as i64)), "Its instructions."),
        column("tensor_core_arithmetic", Long(|r| Some(r.statistics.mix.tensor_core.arithmetic as i64)), "Instructions that multiply matrices on tensor cores."),
        column("tensor_core_moves", Long(|r| Some(r.statistics.mix.tensor_core.moves as i64)), "Instructions that load, store, copy or move matrix fragments."),
        column("barriers", Long(|r| Some(r.statistics.mix.barriers as i64)), "Instructions that wait for other threads or signal them."),
        column("calls", Long(|r| Some(r.statistics.mix.calls as i64)), "Calls."),
        optional("source_file", Word(|r| r.statistics.source.as_ref()?.file.as_deref()), "The file of the original program that most instructions come from."),
        optional("source_first_line", Long(|r| r.statistics.source.as_ref().map(|s| s.first_line.into())), "The first line in it of an instruction that was not inlined."),
        optional("source_last_line", Long(|r| r.statistics.source.as_ref().map(|s| s.last_line.into())), "The last one."),
        on_request("trip_count", Long(|r| r.trip_count()?.count.map(|n| n.try_into().unwrap_or(i64::MAX))), "The number of iterations each time the loop is entered, if it is constant."),
        on_request("trip_count_form", Text(|r, sink| if let Some(count) = r.trip_count() { sink(&count.form) }), "The same as a formula: `max(1, n)`; null if unknown."),
        on_request("trip_count_exact", Flag(|r| Some(r.trip_count()?.exact)), "Whether the loop has no other exit; otherwise the trip count is an upper bound."),
    ];
}

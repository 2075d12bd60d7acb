//! The blocks of a function and the register pressure in them, for drawings.

use ptx_analysis::cfg::BlockId;
use ptx_analysis::pressure::Pressure;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::raw::LineCursor;
use ptx_ir::{EntityId as _, Statement};
use serde::Serialize;

use super::context::FunctionContext;
use crate::clean;
use crate::labels::Labeled;

/// The largest number of characters of a label that are drawn.
const LONGEST_LABEL: usize = 14;

/// A basic block.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Block {
    /// Its number, which loops and accesses refer to.
    pub id: u32,
    /// The label at its beginning.
    pub label: Option<String>,
    /// The line of its first instruction; 0 if it has none.
    pub line: u32,
    /// The number of its instructions.
    pub instructions: usize,
    /// The number of loops that contain it.
    pub loop_depth: u32,
    /// Whether it is reachable from the entry.
    pub reachable: bool,
    /// The largest group of threads that all execute the block or all do not.
    pub uniform: Labeled<Uniformity>,
    /// The largest group in which the branch at the end of the block is uniform.
    pub branch: Labeled<Uniformity>,
    /// The maximum number of live registers in the block, in units of 32 bits.
    pub pressure: u32,
}

/// An edge between two blocks.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Edge {
    /// The id of the block that it leaves.
    pub from: u32,
    /// The id of the block that it enters.
    pub to: u32,
}

/// The registers that are live at each instruction.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Curve {
    /// The line of the peak.
    pub peak_line: Option<u32>,
    /// Its line in the original program: `a.cu:11`.
    pub peak_source: Option<String>,
    /// The lines of the instructions in the file.
    pub lines: Vec<u32>,
    /// The live registers at the instructions, in units of 32 bits and without predicates.
    pub units: Vec<u32>,
    /// The index of the first instruction of each block, in the order of the blocks, and at the end the number of instructions.
    #[serde(skip)]
    block_starts: Vec<usize>,
}

impl Curve {
    pub(super) fn new(function: &FunctionContext<'_>) -> Self {
        let (cfg, body) = (function.analysis.cfg(), function.facts.body());
        let mut statement_units = vec![0; body.statement_table().len()];
        let pressure = Pressure::visit(function.analysis, &mut |point| {
            if let Some(units) = statement_units.get_mut(point.stmt.index()) {
                *units = point.units;
            }
        });
        let mut curve = Self {
            peak_line: pressure.at.map(|stmt| function.line(stmt)),
            peak_source: pressure.at.and_then(|stmt| function.source(stmt)),
            ..Self::default()
        };
        let mut lines = LineCursor::new(&function.module_context.lines, function.module().source());
        for (_, block) in cfg.blocks().filter(|(_, b)| !b.is_dispatch) {
            curve.block_starts.push(curve.lines.len());
            for (stmt, statement) in body.range(block.first, block.end) {
                if matches!(statement, Statement::Inst(_) | Statement::Opaque(_)) {
                    let offset = body.source_span(stmt).start;
                    curve.lines.push(lines.position(offset).line);
                    let units = statement_units.get(stmt.index()).copied();
                    curve.units.push(units.unwrap_or(0));
                }
            }
        }
        curve.block_starts.push(curve.lines.len());
        curve
    }
}

/// The blocks that have instructions, in the order of the text.
pub(super) fn blocks(function: &FunctionContext<'_>, curve: &Curve) -> Vec<Block> {
    let labels = function.facts.body().labels();
    function
        .analysis
        .cfg()
        .blocks()
        .filter(|(_, block)| !block.is_dispatch)
        .zip(curve.block_starts.windows(2))
        .map(|((id, block), range)| {
            let (start, end) = (range[0], range[1]);
            let label = block.label.and_then(|l| labels.get(l));
            let lines = curve.lines.get(start..end).unwrap_or_default();
            let units = curve.units.get(start..end).unwrap_or_default();
            let uniform = |level: Option<Uniformity>| Labeled(level.unwrap_or(Uniformity::Varying));
            Block {
                id: id.as_u32(),
                label: label.map(|l| clean(function.module().name(l.name)).into_owned()),
                line: lines.first().copied().unwrap_or(0),
                instructions: end - start,
                loop_depth: function.analysis.loops().depth(id),
                reachable: function.analysis.is_reachable(id),
                uniform: uniform(function.uniformity.map(|u| u.block(id))),
                branch: uniform(function.uniformity.map(|u| u.branch(id))),
                pressure: units.iter().copied().max().unwrap_or(0),
            }
        })
        .collect()
}

/// The edges between blocks that have instructions; jumps through tables are not listed one by one.
pub(super) fn edges(function: &FunctionContext<'_>) -> Vec<Edge> {
    let cfg = function.analysis.cfg();
    let is_drawn = |id: BlockId| cfg.block(id).is_some_and(|b| !b.is_dispatch);
    cfg.edges()
        .map(|(_, edge)| edge)
        .filter(|edge| is_drawn(edge.from) && is_drawn(edge.to))
        .map(|edge| Edge {
            from: edge.from.as_u32(),
            to: edge.to.as_u32(),
        })
        .collect()
}

/// The number of characters in the box of each block: its id and its label. Dispatch blocks are drawn, too.
pub(super) fn text_lengths(function: &FunctionContext<'_>) -> Vec<usize> {
    let labels = function.facts.body().labels();
    function
        .analysis
        .cfg()
        .blocks()
        .map(|(id, block)| {
            let label = block.label.and_then(|l| labels.get(l));
            let label_length = label.map_or(0, |l| {
                let name = function.module().name(l.name);
                name.chars().count().min(LONGEST_LABEL)
            });
            id.as_u32().to_string().len() + 2 + label_length
        })
        .collect()
}

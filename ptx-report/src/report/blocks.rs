//! The blocks of a function, with the properties that color them in a drawing.

use ptx_analysis::cfg::BlockId;
use ptx_analysis::uniformity::Uniformity;
use serde::Serialize;

use super::function::Of;
use super::pressure::Curve;
use crate::clean;
use crate::labels::Labeled;

/// The characters of a label that are drawn.
const MOST_LABEL: usize = 14;

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

pub(super) fn of(of: &Of<'_>, curve: &Curve) -> Vec<Block> {
    let (cfg, body) = (of.analysis.cfg(), of.facts.body());
    let blocks = cfg.blocks().filter(|(_, b)| !b.is_dispatch);
    let found = blocks
        .zip(curve.starts.windows(2))
        .map(|((id, block), range)| {
            let (start, end) = (range[0], range[1]);
            let label = block.label.and_then(|l| body.labels().get(l));
            let units = curve.units.get(start..end).unwrap_or_default();
            let uniform = |level: Option<Uniformity>| Labeled(level.unwrap_or(Uniformity::Varying));
            Block {
                id: id.as_u32(),
                label: label.map(|l| clean(of.module().name(l.name)).into_owned()),
                line: match end > start {
                    true => curve.lines.get(start).copied().unwrap_or(0),
                    false => 0,
                },
                instructions: end - start,
                loop_depth: of.analysis.loops().depth(id),
                reachable: of.analysis.is_reachable(id),
                uniform: uniform(of.uniformity.map(|u| u.block(id))),
                branch: uniform(of.uniformity.map(|u| u.branch(id))),
                pressure: units.iter().copied().max().unwrap_or(0),
            }
        });
    found.collect()
}

/// The edges between blocks that have instructions; jumps through tables are not listed one by one.
pub(super) fn edges(of: &Of<'_>) -> Vec<Edge> {
    let cfg = of.analysis.cfg();
    let is_drawn = |id: BlockId| cfg.block(id).is_some_and(|b| !b.is_dispatch);
    let edges = cfg.edges().map(|(_, e)| e);
    let edges = edges.filter(|e| is_drawn(e.from) && is_drawn(e.to));
    edges
        .map(|e| Edge {
            from: e.from.as_u32(),
            to: e.to.as_u32(),
        })
        .collect()
}

/// How many characters the label of each block has, with its id; dispatch blocks are drawn too.
pub(super) fn widths(of: &Of<'_>) -> Vec<usize> {
    let labels = of.facts.body().labels();
    let blocks = of.analysis.cfg().blocks().map(|(id, block)| {
        let label = block.label.and_then(|l| labels.get(l));
        let label = label.map_or(0, |l| {
            of.module().name(l.name).chars().count().min(MOST_LABEL)
        });
        id.as_u32().to_string().len() + 2 + label
    });
    blocks.collect()
}

//! The register pressure in text order.

use ptx_analysis::pressure::Pressure;
use ptx_ir::{EntityId as _, LineCursor, Statement};
use serde::Serialize;

use super::function::Of;

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
    /// The first instruction of each block, in the order of the blocks.
    #[serde(skip)]
    pub(super) starts: Vec<usize>,
}

pub(super) fn of(of: &Of<'_>) -> Curve {
    let (cfg, body) = (of.analysis.cfg(), of.facts.body());
    let mut units = vec![0; body.statement_table().len()];
    let pressure = Pressure::visit(of.analysis, &mut |point| {
        if let Some(of) = units.get_mut(point.stmt.index()) {
            *of = point.units;
        }
    });
    let mut curve = Curve {
        peak_line: pressure.at.map(|stmt| of.line(stmt)),
        peak_source: pressure.at.and_then(|stmt| of.source(stmt)),
        ..Curve::default()
    };
    let mut lines = LineCursor::new(&of.context.lines, of.module().source());
    for (_, block) in cfg.blocks().filter(|(_, b)| !b.is_dispatch) {
        curve.starts.push(curve.lines.len());
        for (stmt, statement) in body.range(block.first, block.end) {
            if matches!(statement, Statement::Inst(_) | Statement::Opaque(_)) {
                let at = body.source_span(stmt).start;
                curve.lines.push(lines.position(at).line);
                curve
                    .units
                    .push(units.get(stmt.index()).copied().unwrap_or(0));
            }
        }
    }
    curve.starts.push(curve.lines.len());
    curve
}

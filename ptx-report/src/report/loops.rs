//! The loops of a function.

use ptx_analysis::work::FunctionWork;
use serde::Serialize;

use super::function::Of;
use super::work::Work;
use crate::clean;
use crate::function_values::TripCount;

/// A natural loop.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Loop {
    /// The id of its header, and that of the header of the enclosing loop.
    pub header: u32,
    /// `None` for an outermost loop.
    pub parent: Option<u32>,
    /// The label of its header.
    pub label: Option<String>,
    /// The line of the start of its header.
    pub line: u32,
    /// The line in the original program: `a.cu:11`.
    pub source: Option<String>,
    /// The nesting depth, 1 for an outermost loop.
    pub depth: u32,
    /// The trip count, if anything is known about it.
    pub trip_count: Option<TripCount>,
    /// The instructions outside of inner loops, each once.
    pub own: Work,
    /// One iteration, with inner loops multiplied by their trip counts, or once if these are symbolic.
    pub iteration: Work,
}

pub(super) fn of(of: &Of<'_>, work: &FunctionWork) -> Vec<Loop> {
    let (cfg, loops, body) = (of.analysis.cfg(), of.analysis.loops(), of.facts.body());
    let all = loops.iter().zip(&work.loops).map(|((id, info), work)| {
        let block = cfg.block(info.header());
        let label = block.and_then(|b| body.labels().get(b.label?));
        let first = block.and_then(|b| {
            let mut statements = body.range(b.first, b.end);
            statements.find_map(|(stmt, s)| matches!(s, ptx_ir::Statement::Inst(_)).then_some(stmt))
        });
        let parent = info.parent().and_then(|p| loops.get(p));
        let text = of.values.map(|v| (v, v.text(of.names)));
        Loop {
            header: info.header().as_u32(),
            parent: parent.map(|p| p.header().as_u32()),
            label: label.map(|l| clean(of.module().name(l.name)).into_owned()),
            line: first.map_or(0, |stmt| of.line(stmt)),
            source: first.and_then(|stmt| of.source(stmt)),
            depth: info.depth(),
            trip_count: text.and_then(|(v, text)| v.trip_count(id, &text)),
            own: Work::new(&work.own),
            iteration: Work::new(&work.iteration),
        }
    });
    all.collect()
}

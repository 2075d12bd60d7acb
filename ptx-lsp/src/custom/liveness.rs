//! `ptxkit/liveness`: the registers that are live at each instruction of a function.

use std::collections::BTreeMap;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::liveness::LiveCursor;
use ptx_analysis::pressure::{CLASSES, Pressure};
use ptx_analysis::reg_lanes::VariableId;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, StmtId};
use ptx_report::basic_blocks::list_entries;
use ptx_report::labels;
use ptx_report::register_names::RegisterNames;
use serde::Serialize;

use crate::document::Document;

/// Live registers of a function.
#[derive(Serialize)]
pub(super) struct Liveness {
    peak: Peak,
    lines: Vec<Line>,
}

/// The point at which most registers are live.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Peak {
    /// The number of live registers in units of 32 bits, without predicates.
    total: u32,
    /// The line, counted from 0; `None` if no register is live anywhere.
    line: Option<u32>,
    /// The maximum number of live registers of each class. The maxima may be at different points.
    per_class: Classes,
}

/// The live registers at an instruction.
#[derive(Serialize)]
struct Line {
    /// The line of the instruction, counted from 0.
    line: u32,
    /// The registers that are live before the instruction; `None` if the lists of all instructions are too long.
    live: Option<Vec<String>>,
    /// The maximum of the numbers of live registers before and after the instruction, in units of 32 bits.
    total: u32,
    /// The maximum of the numbers of live registers of each class.
    pressure: Classes,
}

/// A number for the name of each class of registers.
type Classes = BTreeMap<&'static str, u32>;

fn classes(counts: [u32; CLASSES.len()]) -> Classes {
    CLASSES
        .iter()
        .zip(counts)
        .map(|(class, count)| (labels::class(*class), count))
        .collect()
}

/// The register pressure at an instruction.
struct Point {
    stmt: StmtId,
    units: u32,
    by_class: [u32; CLASSES.len()],
}

/// The live registers of a function with a body, with the instructions in the order of the text.
pub(super) fn liveness(document: &Document, function: FuncId) -> Option<Liveness> {
    let module = document.module();
    let module_facts = ModuleFacts::of(module, |f| f == function);
    let facts = module_facts.function(function)?;
    let body = facts.body();
    let analysis = FunctionAnalysis::new(facts);
    let (points, peak) = points(&analysis);
    let names = RegisterNames::new(module, body, analysis.variables());
    let mut live_lists = live_lists(&analysis, &points).into_iter().flatten();
    let line_of = |stmt: StmtId| document.lines().line_of(body.source_span(stmt).start);
    let mut lines: Vec<(u32, Line)> = Vec::with_capacity(points.len());
    for point in &points {
        let line = Line {
            line: line_of(point.stmt),
            live: live_lists
                .next()
                .map(|live| live.iter().map(|v| names.get(*v).to_owned()).collect()),
            total: point.units,
            pressure: classes(point.by_class),
        };
        lines.push((body.source_span(point.stmt).start, line));
    }
    lines.sort_by_key(|(start, _)| *start);
    let has_live = peak.by_class != [0; CLASSES.len()];
    Some(Liveness {
        peak: Peak {
            total: peak.units,
            line: peak.at.filter(|_| has_live).map(line_of),
            per_class: classes(peak.by_class),
        },
        lines: lines.into_iter().map(|(_, line)| line).collect(),
    })
}

/// All instructions and the peak, block by block, in each block from the last instruction to the first.
fn points(analysis: &FunctionAnalysis<'_>) -> (Vec<Point>, Pressure) {
    let mut points = Vec::new();
    let peak = Pressure::visit(analysis, &mut |point| {
        points.push(Point {
            stmt: point.stmt,
            units: point.units,
            by_class: point.by_class,
        });
    });
    (points, peak)
}

/// The registers that are live before each point; `None` if all lists together are too long.
fn live_lists(analysis: &FunctionAnalysis<'_>, points: &[Point]) -> Option<Vec<Vec<VariableId>>> {
    let body = analysis.body();
    let max_entries = list_entries(body.statement_table().len());
    let mut entries = 0;
    let mut lists = Vec::with_capacity(points.len());
    for (id, _) in analysis.cfg().blocks() {
        let mut cursor = LiveCursor::at_end(analysis, id);
        while cursor.previous().is_some() {
            entries += cursor.live().count() as u64;
            if entries > max_entries {
                return None;
            }
            lists.push(cursor.live().iter().collect());
        }
    }
    Some(lists)
}

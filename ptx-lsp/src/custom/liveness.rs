//! `ptxkit/liveness`: the registers that are live at each instruction of a function.

use std::collections::{BTreeMap, BTreeSet};

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::pressure::{CLASSES, Pressure};
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, Statement, StmtId};
use ptx_report::labels;
use ptx_report::live_lists::list_entries;
use ptx_report::register_names::RegisterNames;
use serde::Serialize;

use crate::document::Document;

/// Live registers of a function.
#[derive(Serialize)]
pub(super) struct Liveness {
    peak: Peak,
    lines: Vec<Line>,
}

/// Where most registers are live.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Peak {
    /// In units of 32 bits, without predicates.
    total: u32,
    /// Counted from 0; `None` if no register is live anywhere.
    line: Option<u32>,
    /// The most registers of each class, which may be at different places.
    per_class: Classes,
}

/// An instruction.
#[derive(Serialize)]
struct Line {
    /// Counted from 0.
    line: u32,
    /// The registers that are live before it; `None` if there are too many in the function.
    live: Option<Vec<String>>,
    /// The greater number of live registers before it and after it, in units of 32 bits.
    total: u32,
    /// The same of each class.
    pressure: Classes,
}

type Classes = BTreeMap<String, u32>;

fn classes(counts: [u32; CLASSES.len()]) -> Classes {
    let named = CLASSES.iter().zip(counts);
    named.map(|(c, n)| (labels::class(*c), n)).collect()
}

/// What is live at an instruction.
struct Point {
    stmt: StmtId,
    units: u32,
    by_class: [u32; CLASSES.len()],
    written: Vec<u32>,
    read: Vec<u32>,
}

/// Of a function with a body; the instructions in the order of the text.
pub(super) fn liveness(document: &Document, function: FuncId) -> Option<Liveness> {
    let module = document.module();
    let facts = ModuleFacts::of(module, |f| f == function);
    let facts = facts.function(function)?;
    let body = facts.body();
    let analysis = FunctionAnalysis::new(facts);
    let (points, peak) = points(facts, &analysis);
    let names = RegisterNames::new(module, body, analysis.variables());
    let lists = lists(facts, &analysis, &points);
    let line = |stmt: StmtId| document.lines().line_of(body.source_span(stmt).start);
    let mut lists = lists.into_iter().flatten();
    let of_point = |point: &Point| {
        let named = |live: Vec<u32>| live.iter().map(|v| names.get(*v).to_owned()).collect();
        let line = Line {
            line: line(point.stmt),
            live: lists.next().map(named),
            total: point.units,
            pressure: classes(point.by_class),
        };
        (body.source_span(point.stmt).start, line)
    };
    let mut lines: Vec<(u32, Line)> = points.iter().map(of_point).collect();
    lines.sort_by_key(|(start, _)| *start);
    Some(Liveness {
        peak: Peak {
            total: peak.units,
            line: peak
                .at
                .filter(|_| peak.by_class != [0; CLASSES.len()])
                .map(line),
            per_class: classes(peak.by_class),
        },
        lines: lines.into_iter().map(|(_, line)| line).collect(),
    })
}

/// Block after block, in each one from the last instruction to the first.
fn points(facts: FunctionFacts<'_>, analysis: &FunctionAnalysis) -> (Vec<Point>, Pressure) {
    let mut points = Vec::new();
    let peak = Pressure::visit(
        facts,
        analysis.cfg(),
        analysis.variables(),
        analysis.liveness(),
        &mut |point| {
            points.push(Point {
                stmt: point.stmt,
                units: point.units,
                by_class: point.by_class,
                written: point.written.to_vec(),
                read: point.read.to_vec(),
            });
        },
    );
    (points, peak)
}

/// The registers that are live before each point; `None` if all lists together are too long.
fn lists(
    facts: FunctionFacts<'_>,
    analysis: &FunctionAnalysis,
    points: &[Point],
) -> Option<Vec<Vec<u32>>> {
    let body = facts.body();
    let most = list_entries(body.statement_table().len());
    let mut entries = 0;
    let mut lists = Vec::with_capacity(points.len());
    let mut points = points.iter();
    for (id, block) in analysis.cfg().blocks() {
        let mut live: BTreeSet<u32> = analysis.liveness().live_out(id).iter().collect();
        for (_, statement) in body.range(block.first, block.end).rev() {
            if !matches!(statement, Statement::Inst(_) | Statement::Opaque(_)) {
                continue;
            }
            let point = points.next()?;
            point.written.iter().for_each(|v| {
                live.remove(v);
            });
            live.extend(&point.read);
            entries += live.len() as u64;
            if entries > most {
                return None;
            }
            lists.push(live.iter().copied().collect());
        }
    }
    Some(lists)
}

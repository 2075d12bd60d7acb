//! The report as one page without other files.

mod details;

use std::io::{self, Write};

use ptx_ir::FunctionKind;
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;
use ptx_report::clean;
use ptx_report::labels::Labeled;
use ptx_report::report::{Function, Report};
use serde::Serialize;

use details::Details;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = concat!(
    include_str!("page/elements.js"),
    include_str!("page/plots.js"),
    include_str!("page/graph.js"),
    include_str!("page/tables.js"),
    include_str!("page/overview.js"),
    include_str!("page/details.js"),
    include_str!("page/main.js"),
);

/// What the page shows before a function is chosen.
#[derive(Serialize)]
struct Overview<'a> {
    assumed_trips: u64,
    files: Vec<File<'a>>,
    functions: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    name: &'a str,
    ptx: Option<&'a str>,
    target: Option<&'a str>,
}

/// A function in the table of all functions.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    title: &'a str,
    kind: Labeled<FunctionKind>,
    file: usize,
    line: u32,
    instructions: u64,
    flops: u64,
    bytes: u64,
    /// Whether there are accesses of an unknown size besides.
    unknown_bytes: bool,
    /// Whether there are products of matrices of an unknown size besides.
    unknown_products: bool,
    intensity: Option<f64>,
    pressure: u32,
    shared: Option<u64>,
    loops: u64,
    /// The sectors of global accesses for each one that contiguous accesses would need.
    excess: Option<f64>,
    degree: Option<u64>,
    findings: usize,
}

/// Writes a page with the functions of these reports.
pub(super) fn write(out: &mut impl Write, reports: &[Report]) -> io::Result<()> {
    let all = reports.iter().enumerate();
    let all: Vec<(usize, &Function)> = all
        .flat_map(|(file, report)| report.functions.iter().map(move |f| (file, f)))
        .collect();
    let overview = Overview {
        assumed_trips: ptx_report::report::ASSUMED_TRIPS,
        files: reports.iter().map(file).collect(),
        functions: all.iter().map(|(file, f)| row(*file, f)).collect(),
    };
    let mut data = String::new();
    element(&mut data, "overview", &overview)?;
    for (at, (_, function)) in all.iter().enumerate() {
        element(&mut data, &format!("function{at}"), &Details::new(function))?;
    }
    let title = reports.first().map_or("", |r| &r.file);
    let mut rest = PAGE;
    for (mark, text) in [
        ("@title@", escaped(title).as_str()),
        ("@style@", STYLE),
        ("@data@", &data),
        ("@script@", SCRIPT),
    ] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        out.write_all(before.as_bytes())?;
        out.write_all(text.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// Appends data for the script, which it reads when it needs them. No text can end the element.
fn element(out: &mut String, id: &str, data: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(data)?.replace('<', "\\u003c");
    *out += &format!("<script type=\"application/json\" id=\"{id}\">{text}</script>\n");
    Ok(())
}

fn escaped(text: &str) -> String {
    clean(text).replace('&', "&amp;").replace('<', "&lt;")
}

fn file(report: &Report) -> File<'_> {
    File {
        name: &report.file,
        ptx: report.ptx.as_deref(),
        target: report.target.as_deref(),
    }
}

fn row(file: usize, of: &Function) -> Row<'_> {
    let total = &of.work.total;
    let global = total
        .memory
        .iter()
        .filter(|m| matches!(*m.space, Space::State(StateSpace::Global) | Space::Generic));
    let requests = of.accesses.iter().filter_map(|a| {
        let sectors = a.coalescing.as_ref()?.sectors?;
        Some((sectors, a.least_sectors?))
    });
    let (sectors, least) = requests.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    let degrees = of
        .accesses
        .iter()
        .filter_map(|a| a.coalescing.as_ref()?.degree);
    Row {
        name: &of.stats.name,
        title: of.stats.title(),
        kind: of.stats.kind,
        file,
        line: of.line,
        instructions: of.stats.mix.instructions,
        flops: total.flops,
        unknown_bytes: global.clone().any(|m| m.unknown > 0),
        unknown_products: total.unknown_products > 0,
        bytes: global
            .map(|m| m.read.saturating_add(m.written).saturating_add(m.updated))
            .fold(0, u64::saturating_add),
        intensity: total.intensity,
        pressure: of.stats.pressure.max_b32_units,
        shared: of.stats.shared_bytes,
        loops: of.stats.loops,
        excess: (least > 0).then(|| sectors as f64 / least as f64),
        degree: degrees.max(),
        findings: of.findings.len(),
    }
}

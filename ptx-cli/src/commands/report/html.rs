//! The report as one page without other files.

pub(super) mod code;
mod details;
mod ranking;

use std::io::{self, Write};

use ptx_ir::facts::Space;
use ptx_isa::StateSpace;
use ptx_report::counted;
use ptx_report::demangle::short_names;
use ptx_report::launch_estimate::LaunchEstimate;
use ptx_report::page::Page;
use ptx_report::report::{Function, Report};
use serde::Serialize;

use super::profile::Profile;
use code::Code;
use details::Details;

const BODY: &str = include_str!("page/body.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = concat!(
    include_str!("page/elements.js"),
    include_str!("page/plots.js"),
    include_str!("page/roofline.js"),
    include_str!("page/graph.js"),
    include_str!("page/tables.js"),
    include_str!("page/code.js"),
    include_str!("page/overview.js"),
    include_str!("page/details.js"),
    include_str!("page/main.js"),
);

/// The data that the page shows before a function is selected.
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
    /// The name in the text.
    name: &'a str,
    /// The name in the source language.
    title: &'a str,
    /// The name without what it has in common with the other functions.
    short: String,
    kind: &'static str,
    file: usize,
    line: u32,
    instructions: u64,
    flops: u64,
    bytes: u64,
    /// Whether there are also accesses of an unknown size.
    unknown_bytes: bool,
    /// Whether there are also products of matrices of an unknown size.
    unknown_products: bool,
    intensity: Option<f64>,
    pressure: u32,
    shared: Option<u64>,
    loops: u64,
    /// The number of sectors of global accesses, divided by the number that contiguous accesses would need.
    excess: Option<f64>,
    degree: Option<u64>,
    findings: usize,
    /// What a launch takes, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<&'a LaunchEstimate>,
}

/// The report of a file with the code of its functions.
pub(super) struct FilePage {
    pub(super) report: Report,
    /// The code of each function of the report.
    pub(super) code: Vec<Code>,
}

/// Writes a page with the functions of these reports.
pub(super) fn write(out: &mut impl Write, pages: &[FilePage], profile: &Profile) -> io::Result<()> {
    let reports: Vec<&Report> = pages.iter().map(|page| &page.report).collect();
    let reports = &reports[..];
    let functions: Vec<(usize, &Function)> = reports
        .iter()
        .enumerate()
        .flat_map(|(file, report)| report.functions.iter().map(move |f| (file, f)))
        .collect();
    let names: Vec<&str> = functions
        .iter()
        .map(|(_, function)| function.stats.name.as_str())
        .collect();
    let overview = Overview {
        assumed_trips: ptx_report::report::ASSUMED_TRIPS,
        files: reports.iter().map(|report| file(report)).collect(),
        functions: functions
            .iter()
            .zip(short_names(&names))
            .map(|((file, function), short)| row(*file, function, short))
            .collect(),
    };
    let mut page =
        Page::new(&title(reports), &files(reports), "report.md").with_contents(STYLE, BODY, SCRIPT);
    page.add_data("overview", &overview)?;
    let codes = pages.iter().flat_map(|page| &page.code);
    for (index, ((_, function), code)) in functions.iter().zip(codes).enumerate() {
        let details = Details::new(function, code, profile);
        page.add_data(&format!("function{index}"), &details)?;
    }
    page.write(out)
}

/// The file, or how many there are.
fn files(reports: &[&Report]) -> String {
    match reports {
        [report] => report.file.clone(),
        _ => counted(reports.len(), "file"),
    }
}

fn title(reports: &[&Report]) -> String {
    format!("{} – ptxkit report", files(reports))
}

fn file(report: &Report) -> File<'_> {
    File {
        name: &report.file,
        ptx: report.ptx.as_deref(),
        target: report.target.as_deref(),
    }
}

fn row(file: usize, function: &Function, short: String) -> Row<'_> {
    let total = &function.work.total;
    let global = total
        .memory
        .iter()
        .filter(|m| matches!(*m.space, Space::State(StateSpace::Global) | Space::Generic));
    let (mut sectors, mut least_sectors) = (0, 0);
    for access in &function.accesses {
        let coalescing = access.coalescing.as_ref();
        if let (Some(count), Some(least)) = (
            coalescing.and_then(|coalescing| coalescing.sectors),
            access.least_sectors,
        ) {
            sectors += count;
            least_sectors += least;
        }
    }
    let degrees = function
        .accesses
        .iter()
        .filter_map(|a| a.coalescing.as_ref()?.degree);
    Row {
        name: &function.stats.name,
        title: function.stats.title(),
        short,
        kind: if function.stats.is_kernel() {
            "kernel"
        } else {
            "function"
        },
        file,
        line: function.line,
        instructions: function.stats.mix.instructions,
        flops: total.flops,
        unknown_bytes: global.clone().any(|m| m.unknown > 0),
        unknown_products: total.unknown_products > 0,
        bytes: global
            .map(|m| m.read.saturating_add(m.written).saturating_add(m.updated))
            .fold(0, u64::saturating_add),
        intensity: total.intensity,
        pressure: function.stats.pressure.max_b32_units,
        shared: function.stats.shared_bytes,
        loops: function.stats.loops,
        excess: (least_sectors > 0).then(|| sectors as f64 / least_sectors as f64),
        degree: degrees.max(),
        findings: function.findings.len(),
        launch: function.estimate.as_ref(),
    }
}

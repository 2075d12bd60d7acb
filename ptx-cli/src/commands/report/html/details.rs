//! The data of one function in the page. Long lists are shortened; the JSON output has all entries.

use std::collections::BTreeMap;

use ptx_analysis::memory_access::Pattern;
use ptx_ir::facts::Space;
use ptx_isa::RegisterClass;
use ptx_report::control_flow::Outline;
use ptx_report::demangle::short_name;
use ptx_report::function_stats::MachineCode;
use ptx_report::labels::Labeled;
use ptx_report::report::{
    Access, Block, Function, FunctionWork, Loop, Pipeline, Step, Synchronization,
};
use ptx_report::sass::SassStats;
use serde::Serialize;

use super::super::profile::Profile;
use super::code::Code;
use super::ranking::{FindingGroup, Loss, group, losses};

/// The largest numbers of entries of the lists.
const MAX_ACCESSES: usize = 150;
const MAX_LOOPS: usize = 120;
const MAX_STEPS: usize = 160;
const MAX_PIPELINES: usize = 24;
const MAX_GROUPS: usize = 60;
const MAX_FINDINGS: usize = 120;
/// The largest number of characters of an affine form or a name.
const MAX_TEXT: usize = 90;
/// The largest number of points of the pressure curve.
const MAX_POINTS: usize = 400;

#[derive(Serialize)]
pub(super) struct Details<'a> {
    name: &'a str,
    requires: Vec<String>,
    directives: Vec<String>,
    parameter_bytes: Option<u64>,
    local_bytes: u64,
    calls: Vec<String>,
    synchronization: &'a Synchronization,
    pressure: Pressure<'a>,
    work: &'a FunctionWork,
    loops: Shortened<&'a Loop>,
    accesses: Shortened<Row<'a>>,
    /// The number of requests with each number of sectors.
    sectors: BTreeMap<u64, u64>,
    /// The number of requests with each degree of bank conflicts.
    degrees: BTreeMap<u64, u64>,
    unknown_patterns: usize,
    adjacent: Shortened<Adjacent>,
    pipelines: Shortened<Steps<'a>>,
    findings: Shortened<FindingGroup<'a>>,
    losses: Vec<Loss>,
    code: &'a Code,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptxas: Option<&'a MachineCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sass: Option<&'a SassStats>,
    /// The number of findings in each block.
    finding_counts: BTreeMap<u32, usize>,
    blocks: &'a [Block],
    drawing: Option<&'a Outline>,
}

/// The beginning of a list.
#[derive(Serialize)]
struct Shortened<T> {
    list: Vec<T>,
    /// The length of the whole list.
    #[serde(rename = "all")]
    total: usize,
}

impl<T> Shortened<T> {
    fn new(list: impl ExactSizeIterator<Item = T>, max_length: usize) -> Self {
        let total = list.len();
        Self {
            list: list.take(max_length).collect(),
            total,
        }
    }
}

#[derive(Serialize)]
struct Pressure<'a> {
    units: u32,
    classes: &'a BTreeMap<Labeled<RegisterClass>, u32>,
    peak_line: Option<u32>,
    peak_source: Option<&'a str>,
    /// The first line of each point.
    lines: Vec<u32>,
    /// The maximum number of units at the instructions of each point.
    points: Vec<u32>,
}

/// An access. Unknown values are omitted.
#[derive(Serialize)]
struct Row<'a> {
    line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    mnemonic: &'a str,
    space: Labeled<Space>,
    depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    vector: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<Labeled<Pattern>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stride: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sectors: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    least: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    degree: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

impl<'a> Row<'a> {
    fn new(access: &'a Access) -> Self {
        let coalescing = access.coalescing.as_ref();
        let short = |text: &Option<String>| {
            let text = text.as_deref()?;
            Some(match text.char_indices().nth(MAX_TEXT) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text.to_owned(),
            })
        };
        Self {
            line: access.line,
            source: access.source.as_deref(),
            mnemonic: &access.mnemonic,
            space: access.space,
            depth: access.loop_depth,
            bytes: access.bytes,
            vector: access.vector,
            pattern: coalescing.map(|c| c.pattern),
            stride: coalescing.and_then(|c| c.stride),
            sectors: coalescing.and_then(|c| c.sectors),
            least: access.least_sectors,
            degree: coalescing.and_then(|c| c.degree),
            object: short(&access.object),
            address: short(&access.address),
        }
    }
}

/// Accesses that could be one vector access.
#[derive(Serialize)]
struct Adjacent {
    lines: Vec<u32>,
    bytes: u64,
}

#[derive(Serialize)]
struct Steps<'a> {
    header: Option<u32>,
    steps: Shortened<&'a Step>,
}

impl<'a> Details<'a> {
    pub(super) fn new(function: &'a Function, code: &'a Code, profile: &Profile) -> Self {
        let stats = &function.stats;
        let mut finding_counts = BTreeMap::new();
        for finding in &function.findings {
            *finding_counts.entry(finding.block).or_default() += 1;
        }
        let access_rows = costly_first(&function.accesses).into_iter().map(Row::new);
        let coalescing = || {
            function
                .accesses
                .iter()
                .filter_map(|access| access.coalescing.as_ref())
        };
        let adjacent = function
            .adjacent
            .iter()
            .map(|group| adjacent(function, group));
        Self {
            name: &stats.name,
            requires: stats
                .requires
                .iter()
                .map(|pair| format!("{} from PTX {}", pair.target, pair.ptx))
                .collect(),
            directives: stats
                .signature
                .directives
                .iter()
                .map(|(name, values)| directive(name, values))
                .collect(),
            parameter_bytes: function.parameter_bytes,
            local_bytes: stats.local_bytes,
            calls: stats
                .callees
                .iter()
                .map(|callee| {
                    let name = callee.name.as_deref().map(short_name);
                    format!(
                        "{} ({})",
                        name.as_deref().unwrap_or("indirect"),
                        callee.count
                    )
                })
                .collect(),
            synchronization: &function.synchronization,
            pressure: pressure(function),
            work: &function.work,
            loops: Shortened::new(function.loops.iter(), MAX_LOOPS),
            accesses: Shortened::new(access_rows, MAX_ACCESSES),
            sectors: counts(coalescing().filter_map(|c| c.sectors)),
            degrees: counts(coalescing().filter_map(|c| c.degree)),
            unknown_patterns: function.accesses.len() - coalescing().count(),
            adjacent: Shortened::new(adjacent, MAX_GROUPS),
            pipelines: Shortened::new(function.pipelines.iter().map(steps), MAX_PIPELINES),
            findings: Shortened::new(group(&function.findings).into_iter(), MAX_FINDINGS),
            losses: losses(function, profile),
            code,
            ptxas: stats.ptxas.as_ref(),
            sass: stats.sass.as_ref(),
            finding_counts,
            blocks: if function.drawing.is_some() {
                &function.blocks
            } else {
                &[]
            },
            drawing: function.drawing.as_ref(),
        }
    }
}

/// `.maxntid 128, 1, 1`
fn directive(name: &str, values: &[i64]) -> String {
    let values: Vec<String> = values.iter().map(i64::to_string).collect();
    format!(".{name} {}", values.join(", "))
        .trim_end()
        .to_owned()
}

fn counts(values: impl Iterator<Item = u64>) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

/// Sorts accesses if there are too many for the page: first by the number of loops that contain them, then by the number of sectors and passes
/// beyond the necessary ones.
fn costly_first(accesses: &[Access]) -> Vec<&Access> {
    let mut sorted: Vec<&Access> = accesses.iter().collect();
    if sorted.len() > MAX_ACCESSES {
        let cost = |access: &Access| {
            let coalescing = access.coalescing.as_ref();
            let sectors = coalescing.and_then(|c| c.sectors).unwrap_or(0);
            let degree = coalescing.and_then(|c| c.degree).unwrap_or(0);
            sectors.saturating_sub(access.least_sectors.unwrap_or(0)) + degree.saturating_sub(1)
        };
        sorted.sort_by_key(|access| std::cmp::Reverse((access.loop_depth, cost(access))));
    }
    sorted
}

fn pressure(function: &Function) -> Pressure<'_> {
    let curve = &function.pressure_curve;
    let insts_per_point = curve.units.len().div_ceil(MAX_POINTS).max(1);
    Pressure {
        units: function.stats.pressure.max_b32_units,
        classes: &function.stats.pressure.by_class,
        peak_line: curve.peak_line,
        peak_source: curve.peak_source.as_deref(),
        lines: curve
            .lines
            .chunks(insts_per_point)
            .map(|lines| lines.first().copied().unwrap_or(0))
            .collect(),
        points: curve
            .units
            .chunks(insts_per_point)
            .map(|units| units.iter().copied().max().unwrap_or(0))
            .collect(),
    }
}

fn adjacent(function: &Function, group: &[usize]) -> Adjacent {
    let accesses = group
        .iter()
        .filter_map(|&index| function.accesses.get(index));
    Adjacent {
        lines: accesses.clone().map(|a| a.line).collect(),
        bytes: accesses.filter_map(|a| a.bytes).sum(),
    }
}

fn steps(pipeline: &Pipeline) -> Steps<'_> {
    Steps {
        header: pipeline.header,
        steps: Shortened::new(pipeline.steps.iter(), MAX_STEPS),
    }
}

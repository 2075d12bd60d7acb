//! What the page shows of one function. Long lists are shortened; the JSON output has all of them.

use std::collections::BTreeMap;

use ptx_analysis::memory_access::Pattern;
use ptx_ir::facts::Space;
use ptx_isa::RegisterClass;
use ptx_report::control_flow::Outline;
use ptx_report::labels::Labeled;
use ptx_report::report::{
    Access, Block, Finding, Function, FunctionWork, Loop, Pipeline, Step, Synchronization,
};
use serde::Serialize;

/// The most entries of a list.
const MOST_ACCESSES: usize = 150;
const MOST_LOOPS: usize = 120;
const MOST_STEPS: usize = 160;
const MOST_PIPELINES: usize = 24;
const MOST_GROUPS: usize = 60;
const MOST_FINDINGS: usize = 120;
/// The characters of a form or a name that are shown.
const LONGEST_TEXT: usize = 90;
/// The most points of the pressure curve.
const MOST_POINTS: usize = 400;

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
    /// How many requests have each number of sectors, and each degree of bank conflicts.
    sectors: BTreeMap<u64, u64>,
    degrees: BTreeMap<u64, u64>,
    unknown_patterns: usize,
    adjacent: Shortened<Adjacent>,
    pipelines: Shortened<Steps<'a>>,
    findings: Shortened<&'a Finding>,
    /// How many findings each block has.
    finding_counts: BTreeMap<u32, usize>,
    blocks: &'a [Block],
    drawing: Option<&'a Outline>,
}

/// The beginning of a list.
#[derive(Serialize)]
struct Shortened<T> {
    list: Vec<T>,
    /// How many there are.
    all: usize,
}

impl<T> Shortened<T> {
    fn new(list: impl ExactSizeIterator<Item = T>, most: usize) -> Self {
        let all = list.len();
        Self {
            list: list.take(most).collect(),
            all,
        }
    }
}

#[derive(Serialize)]
struct Pressure<'a> {
    units: u32,
    classes: &'a BTreeMap<Labeled<RegisterClass>, u32>,
    peak_line: Option<u32>,
    peak_source: Option<&'a str>,
    /// The first line of each point, and the most units at its instructions.
    lines: Vec<u32>,
    points: Vec<u32>,
}

/// An access; what is not known or as usual is left out.
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
    fn new(of: &'a Access, function: &str) -> Self {
        let coalescing = of.coalescing.as_ref();
        let short = |text: &Option<String>| {
            let text = super::super::short(text.as_deref()?, function);
            Some(match text.char_indices().nth(LONGEST_TEXT) {
                Some((at, _)) => format!("{}…", &text[..at]),
                None => text,
            })
        };
        Self {
            line: of.line,
            source: of.source.as_deref(),
            mnemonic: &of.mnemonic,
            space: of.space,
            depth: of.loop_depth,
            bytes: of.bytes,
            vector: of.vector,
            pattern: coalescing.map(|c| c.pattern),
            stride: coalescing.and_then(|c| c.stride),
            sectors: coalescing.and_then(|c| c.sectors),
            least: of.least_sectors,
            degree: coalescing.and_then(|c| c.degree),
            object: short(&of.object),
            address: short(&of.address),
        }
    }
}

/// Accesses that could be one.
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
    pub(super) fn new(of: &'a Function) -> Self {
        let stats = &of.stats;
        let pairs = stats.requires.iter();
        let directives = stats.signature.directives.iter().map(|(name, values)| {
            let values: Vec<String> = values.iter().map(i64::to_string).collect();
            format!(".{name} {}", values.join(", "))
                .trim_end()
                .to_owned()
        });
        let calls = stats.callees.iter().map(|c| {
            let name = c.demangled.as_deref().or(c.name.as_deref());
            format!("{} ({})", name.unwrap_or("indirect"), c.count)
        });
        let mut finding_counts = BTreeMap::new();
        for finding in &of.findings {
            *finding_counts.entry(finding.block).or_default() += 1;
        }
        let rows = costly_first(&of.accesses).into_iter();
        let rows = rows.map(|access| Row::new(access, &stats.name));
        let coalescing = || of.accesses.iter().filter_map(|a| a.coalescing.as_ref());
        Self {
            name: &stats.name,
            requires: pairs
                .map(|p| format!("{} from PTX {}", p.target, p.ptx))
                .collect(),
            directives: directives.collect(),
            parameter_bytes: of.parameter_bytes,
            local_bytes: stats.local_bytes,
            calls: calls.collect(),
            synchronization: &of.synchronization,
            pressure: pressure(of),
            work: &of.work,
            loops: Shortened::new(of.loops.iter(), MOST_LOOPS),
            accesses: Shortened::new(rows, MOST_ACCESSES),
            sectors: counts(coalescing().filter_map(|c| c.sectors)),
            degrees: counts(coalescing().filter_map(|c| c.degree)),
            unknown_patterns: of.accesses.len() - coalescing().count(),
            adjacent: Shortened::new(of.adjacent.iter().map(|g| adjacent(of, g)), MOST_GROUPS),
            pipelines: Shortened::new(of.pipelines.iter().map(steps), MOST_PIPELINES),
            findings: Shortened::new(of.findings.iter(), MOST_FINDINGS),
            finding_counts,
            blocks: if of.drawing.is_some() {
                &of.blocks
            } else {
                &[]
            },
            drawing: of.drawing.as_ref(),
        }
    }
}

fn counts(values: impl Iterator<Item = u64>) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts
}

/// Those in the most loops first, and of these the ones that need the most more than they must.
fn costly_first(all: &[Access]) -> Vec<&Access> {
    let mut found: Vec<&Access> = all.iter().collect();
    if found.len() > MOST_ACCESSES {
        let cost = |a: &Access| {
            let sectors = a.coalescing.as_ref().and_then(|c| c.sectors);
            let more = sectors.map(|s| s.saturating_sub(a.least_sectors.unwrap_or(0)));
            let degree = a.coalescing.as_ref().and_then(|c| c.degree);
            more.unwrap_or(0) + degree.map_or(0, |d| d.saturating_sub(1))
        };
        found.sort_by_key(|a| std::cmp::Reverse((a.loop_depth, cost(a))));
    }
    found
}

fn pressure(of: &Function) -> Pressure<'_> {
    let curve = &of.pressure_curve;
    let each = curve.units.len().div_ceil(MOST_POINTS).max(1);
    let most = curve
        .units
        .chunks(each)
        .map(|c| c.iter().copied().max().unwrap_or(0));
    let first = curve
        .lines
        .chunks(each)
        .map(|c| c.first().copied().unwrap_or(0));
    Pressure {
        units: of.stats.pressure.max_b32_units,
        classes: &of.stats.pressure.by_class,
        peak_line: curve.peak_line,
        peak_source: curve.peak_source.as_deref(),
        lines: first.collect(),
        points: most.collect(),
    }
}

fn adjacent(of: &Function, group: &[usize]) -> Adjacent {
    let members = group.iter().filter_map(|&at| of.accesses.get(at));
    Adjacent {
        lines: members.clone().map(|a| a.line).collect(),
        bytes: members.filter_map(|a| a.bytes).sum(),
    }
}

fn steps(of: &Pipeline) -> Steps<'_> {
    Steps {
        header: of.header,
        steps: Shortened::new(of.steps.iter(), MOST_STEPS),
    }
}

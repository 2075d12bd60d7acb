//! `--profile`: execution counts as a table, by source line, or next to the text.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use ptx_analysis::source_lines::SourceLines;
use ptx_report::scalars;
use ptx_vm::{InstructionProfile, MatrixProfile, Profile};
use serde::Serialize;

use crate::commands::rewrite::ParsedSource;
use crate::output::{self, Out};
use ptx_report::source_frames::{Finder, JsonFrame};

/// The format of a profile.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Style {
    /// The executed instructions
    Table,
    /// The source lines
    Source,
    /// The text of the file with counts before each line
    Listing,
}

/// The profile of an instruction, in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonCounts {
    function: Option<String>,
    line: u32,
    instruction: String,
    source: Vec<JsonFrame>,
    /// The number of executions by warps.
    executions: u64,
    /// The number of active lanes, summed over all executions.
    lanes: u64,
    memory: Vec<JsonMemory>,
    /// The matrix products that it computed.
    matrix: Option<JsonMatrix>,
}

/// Matrix products, in JSON.
#[derive(Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonMatrix {
    /// Such as `m16n8k16`.
    shape: String,
    /// The types of the factors.
    factors: [&'static str; 2],
    sparse: bool,
    products: u64,
    multiply_adds: u64,
}

/// The accesses to a memory, in JSON.
#[derive(Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonMemory {
    space: &'static str,
    bytes: u64,
    requests: u64,
    sectors: u64,
    passes: u64,
    bank_conflicts: u64,
}

/// The profile of a launch, in JSON.
pub(super) fn json(read: &ParsedSource, profile: &Profile) -> Vec<JsonCounts> {
    let lines = SourceLines::new(&read.module);
    let mut finder = Finder::new(&read.module, &lines);
    let counts = profile.instructions.iter();
    let counts = counts.map(|count| {
        let span = count.span.unwrap_or_default();
        let place = finder.place(span.start);
        let text = String::from_utf8_lossy(span.of(&read.source.bytes));
        JsonCounts {
            function: place.function,
            line: read.lines.position(span.start).line,
            instruction: text.into_owned(),
            source: place.source,
            executions: count.executions,
            lanes: count.lanes,
            memory: memory(count),
            matrix: count.matrix.as_ref().map(matrix),
        }
    });
    counts.collect()
}

fn memory(count: &InstructionProfile) -> Vec<JsonMemory> {
    let all = count.memory.iter().map(|memory| JsonMemory {
        space: memory.space.text(),
        bytes: memory.bytes,
        requests: memory.requests,
        sectors: memory.sectors,
        passes: memory.passes,
        bank_conflicts: memory.passes - memory.least_passes,
    });
    all.collect()
}

fn matrix(of: &MatrixProfile) -> JsonMatrix {
    let [rows, columns, depth] = of.shape;
    JsonMatrix {
        shape: format!("m{rows}n{columns}k{depth}"),
        factors: of.factors.map(scalars::name),
        sparse: of.sparse,
        products: of.products,
        multiply_adds: of.multiply_adds,
    }
}

/// Sums of several instructions.
#[derive(Default)]
struct Sums {
    executions: u64,
    lanes: u64,
    bytes: u64,
    requests: u64,
    sectors: u64,
    conflicts: u64,
    multiply_adds: u64,
}

impl Sums {
    fn add(&mut self, count: &JsonCounts) {
        self.executions += count.executions;
        self.lanes += count.lanes;
        self.multiply_adds += count.matrix.as_ref().map_or(0, |m| m.multiply_adds);
        for memory in &count.memory {
            self.bytes += memory.bytes;
            self.conflicts += memory.bank_conflicts;
            if memory.sectors > 0 {
                self.requests += memory.requests;
                self.sectors += memory.sectors;
            }
        }
    }

    /// As many cells of a row; empty where there is nothing to count.
    fn cells(&self, columns: usize) -> Vec<String> {
        let ratio = |sum: u64, of: u64| match of {
            0 => String::new(),
            _ => format!("{:.1}", sum as f64 / of as f64),
        };
        let number = |n: u64| if n == 0 { String::new() } else { n.to_string() };
        let mut cells = vec![
            self.executions.to_string(),
            ratio(self.lanes, self.executions),
            number(self.bytes),
            ratio(self.sectors, self.requests),
            number(self.conflicts),
            number(self.multiply_adds),
        ];
        cells.truncate(columns);
        cells
    }
}

const COLUMNS: [&str; 6] = [
    "Executed",
    "Lanes",
    "Bytes",
    "Sectors",
    "Conflicts",
    "Multiply-adds",
];

/// How many columns there are: the last one only if matrices were multiplied.
fn columns(counts: &[JsonCounts]) -> usize {
    let multiplies = counts.iter().any(|count| count.matrix.is_some());
    COLUMNS.len() - usize::from(!multiplies)
}

/// Writes the profile of a launch.
pub(super) fn write(
    out: &mut Out,
    read: &ParsedSource,
    kernel: &str,
    counts: &[JsonCounts],
    style: Style,
) -> Result<()> {
    let mut all = Sums::default();
    counts.iter().for_each(|count| all.add(count));
    let mut rows = Vec::new();
    match style {
        Style::Table => {
            for count in counts {
                let place = format!("{}:{}", read.source.name, count.line);
                rows.push((one(count), vec![place, count.instruction.clone()]));
            }
        }
        Style::Source => {
            let mut lines: BTreeMap<String, Sums> = BTreeMap::new();
            for count in counts {
                let line = count.source.first();
                let line = line.map_or("no source line".to_owned(), JsonFrame::short);
                lines.entry(line).or_default().add(count);
            }
            rows.extend(lines.into_iter().map(|(line, sums)| (sums, vec![line])));
        }
        Style::Listing => return listing(out, read, counts),
    }
    writeln!(
        out,
        "Kernel {}: {} warp instructions",
        ptx_report::demangle::display_name(kernel),
        all.executions
    )?;
    rows.sort_by_key(|(sums, _)| std::cmp::Reverse(sums.executions));
    let mut table = output::table();
    let last: &[&str] = match style {
        Style::Table => &["Line", "Instruction"],
        _ => &["Source line"],
    };
    let columns = columns(counts);
    table.set_header(COLUMNS[..columns].iter().chain(last));
    for (sums, place) in rows {
        table.add_row(sums.cells(columns).into_iter().chain(place));
    }
    let numbers: Vec<usize> = (0..columns).collect();
    output::align_right(&mut table, &numbers);
    output::write_table(out, &table)?;
    tensor_work(out, counts)
}

/// Writes the products of matrices, by their shapes and types, if there are any.
fn tensor_work(out: &mut Out, counts: &[JsonCounts]) -> Result<()> {
    let mut kinds: BTreeMap<[String; 2], [u64; 2]> = BTreeMap::new();
    for of in counts.iter().filter_map(|count| count.matrix.as_ref()) {
        let [a, b] = of.factors;
        let sparse = if of.sparse { ", sparse" } else { "" };
        let kind = [of.shape.clone(), format!("{a}, {b}{sparse}")];
        let [products, multiply_adds] = kinds.entry(kind).or_default();
        *products += of.products;
        *multiply_adds += of.multiply_adds;
    }
    if kinds.is_empty() {
        return Ok(());
    }
    let mut table = output::table();
    table.set_header(["Products", "Multiply-adds", "Shape", "Factors"]);
    for (kind, numbers) in kinds {
        table.add_row(numbers.map(|n| n.to_string()).into_iter().chain(kind));
    }
    output::align_right(&mut table, &[0, 1]);
    Ok(output::write_table(out, &table)?)
}

fn one(count: &JsonCounts) -> Sums {
    let mut sums = Sums::default();
    sums.add(count);
    sums
}

/// Writes the text of the file with what was executed before each line.
fn listing(out: &mut Out, read: &ParsedSource, counts: &[JsonCounts]) -> Result<()> {
    let mut lines: BTreeMap<u32, Sums> = BTreeMap::new();
    for count in counts {
        lines.entry(count.line).or_default().add(count);
    }
    let mut row = |cells: &[String], text: &str| {
        let cells = cells.iter().zip(COLUMNS.map(|name| name.len().max(9)));
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:>width$}"))
            .collect();
        let line = format!("{} | {text}", cells.join(" "));
        writeln!(out, "{}", line.trim_end())
    };
    let columns = columns(counts);
    row(&COLUMNS.map(str::to_owned)[..columns], "")?;
    let nothing = vec![String::new(); columns];
    for (number, text) in (1..).zip(String::from_utf8_lossy(&read.source.bytes).lines()) {
        match lines.get(&number) {
            Some(sums) => row(&sums.cells(columns), text)?,
            None => row(&nothing, text)?,
        }
    }
    Ok(())
}

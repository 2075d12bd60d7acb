//! `--profile`: execution counts as a table, by source line, or next to the text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::{LineIndex, Span};
use ptx_report::launch_log::LoggedInstruction;
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
    factors: [Cow<'static, str>; 2],
    sparse: bool,
    products: u64,
    multiply_adds: u64,
}

/// The accesses to a memory, in JSON.
#[derive(Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonMemory {
    space: Cow<'static, str>,
    bytes: u64,
    requests: u64,
    sectors: u64,
    passes: u64,
    bank_conflicts: u64,
}

/// The profile of a launch, in JSON.
pub(super) fn json(parsed: &ParsedSource, profile: &Profile) -> Vec<JsonCounts> {
    let lines = SourceLines::new(&parsed.module);
    let mut finder = Finder::new(&parsed.module, &lines);
    profile
        .instructions
        .iter()
        .map(|count| {
            let span = count.span.unwrap_or_default();
            let counts = JsonCounts::new(span, &mut finder, &parsed.lines, &parsed.source.bytes);
            JsonCounts {
                executions: count.executions,
                lanes: count.lanes,
                memory: memory(count),
                matrix: count.matrix.as_ref().map(matrix),
                ..counts
            }
        })
        .collect()
}

impl JsonCounts {
    /// An instruction without counts.
    fn new(span: Span, finder: &mut Finder<'_>, lines: &LineIndex, text: &[u8]) -> Self {
        let place = finder.place(span.start);
        let instruction = String::from_utf8_lossy(span.of(text)).into_owned();
        Self {
            function: place.function,
            line: lines.position(span.start).line,
            instruction,
            source: place.source,
            executions: 0,
            lanes: 0,
            memory: Vec::new(),
            matrix: None,
        }
    }
}

/// The profile of an instruction in the log of a process.
pub(crate) fn logged(
    count: &LoggedInstruction,
    finder: &mut Finder<'_>,
    lines: &LineIndex,
    text: &[u8],
) -> JsonCounts {
    let [start, end] = count.span;
    let counts = JsonCounts::new(Span::new(start, end.max(start)), finder, lines, text);
    let memory = count.memory.iter().map(|memory| JsonMemory {
        space: memory.space.clone().into(),
        bytes: memory.bytes,
        requests: memory.requests,
        sectors: memory.sectors,
        passes: memory.passes,
        bank_conflicts: memory.passes.saturating_sub(memory.least_passes),
    });
    let matrix = count.matrix.as_ref().map(|matrix| {
        let [rows, columns, depth] = matrix.shape;
        JsonMatrix {
            shape: format!("m{rows}n{columns}k{depth}"),
            factors: matrix.factors.clone().map(Cow::from),
            sparse: matrix.sparse,
            products: matrix.products,
            multiply_adds: matrix.multiply_adds,
        }
    });
    JsonCounts {
        executions: count.executions,
        lanes: count.lanes,
        memory: memory.collect(),
        matrix,
        ..counts
    }
}

fn memory(count: &InstructionProfile) -> Vec<JsonMemory> {
    count
        .memory
        .iter()
        .map(|memory| JsonMemory {
            space: memory.space.text().into(),
            bytes: memory.bytes,
            requests: memory.requests,
            sectors: memory.sectors,
            passes: memory.passes,
            bank_conflicts: memory.passes - memory.least_passes,
        })
        .collect()
}

fn matrix(profile: &MatrixProfile) -> JsonMatrix {
    let [rows, columns, depth] = profile.shape;
    JsonMatrix {
        shape: format!("m{rows}n{columns}k{depth}"),
        factors: profile.factors.map(|ty| scalars::name(ty).into()),
        sparse: profile.sparse,
        products: profile.products,
        multiply_adds: profile.multiply_adds,
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

    /// The first cells of a row. A cell is empty if there is nothing to count.
    fn cells(&self, columns: usize) -> Vec<String> {
        let ratio = |sum: u64, count: u64| match count {
            0 => String::new(),
            _ => format!("{:.1}", sum as f64 / count as f64),
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

/// The number of columns. The last one is present only if matrices were multiplied.
fn column_count(counts: &[JsonCounts]) -> usize {
    let has_products = counts.iter().any(|count| count.matrix.is_some());
    COLUMNS.len() - usize::from(!has_products)
}

/// Writes the profile of a launch.
pub(super) fn write(
    out: &mut Out,
    parsed: &ParsedSource,
    kernel: &str,
    counts: &[JsonCounts],
    style: Style,
) -> Result<()> {
    let mut total = Sums::default();
    for count in counts {
        total.add(count);
    }
    let mut rows = Vec::new();
    match style {
        Style::Table => {
            for count in counts {
                let line = format!("{}:{}", parsed.source.name, count.line);
                rows.push((sums(count), vec![line, count.instruction.clone()]));
            }
        }
        Style::Source => {
            let mut lines: BTreeMap<String, Sums> = BTreeMap::new();
            for count in counts {
                let line = match count.source.first() {
                    Some(frame) => frame.short(),
                    None => "no source line".to_owned(),
                };
                lines.entry(line).or_default().add(count);
            }
            rows.extend(lines.into_iter().map(|(line, sums)| (sums, vec![line])));
        }
        Style::Listing => return listing(out, parsed, counts),
    }
    writeln!(
        out,
        "Kernel {}: {} warp instructions",
        ptx_report::demangle::display_name(kernel),
        total.executions
    )?;
    rows.sort_by_key(|(sums, _)| std::cmp::Reverse(sums.executions));
    let mut table = output::table();
    let text_columns: &[&str] = match style {
        Style::Table => &["Line", "Instruction"],
        _ => &["Source line"],
    };
    let columns = column_count(counts);
    table.set_header(COLUMNS[..columns].iter().chain(text_columns));
    for (sums, texts) in rows {
        table.add_row(sums.cells(columns).into_iter().chain(texts));
    }
    let numbers: Vec<usize> = (0..columns).collect();
    output::align_right(&mut table, &numbers);
    output::write_table(out, &table)?;
    write_products(out, counts)
}

/// Writes the products of matrices, by their shapes and types, if there are any.
fn write_products(out: &mut Out, counts: &[JsonCounts]) -> Result<()> {
    let mut kinds: BTreeMap<[String; 2], [u64; 2]> = BTreeMap::new();
    for matrix in counts.iter().filter_map(|count| count.matrix.as_ref()) {
        let [a, b] = &matrix.factors;
        let sparse = if matrix.sparse { ", sparse" } else { "" };
        let kind = [matrix.shape.clone(), format!("{a}, {b}{sparse}")];
        let [products, multiply_adds] = kinds.entry(kind).or_default();
        *products += matrix.products;
        *multiply_adds += matrix.multiply_adds;
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

/// The sums of a single instruction.
fn sums(count: &JsonCounts) -> Sums {
    let mut sums = Sums::default();
    sums.add(count);
    sums
}

/// Writes the text of the file with the counts before each line.
fn listing(out: &mut Out, parsed: &ParsedSource, counts: &[JsonCounts]) -> Result<()> {
    let mut lines: BTreeMap<u32, Sums> = BTreeMap::new();
    for count in counts {
        lines.entry(count.line).or_default().add(count);
    }
    let mut write_row = |cells: &[String], text: &str| {
        let cells: Vec<String> = cells
            .iter()
            .zip(COLUMNS.map(|name| name.len().max(9)))
            .map(|(cell, width)| format!("{cell:>width$}"))
            .collect();
        let line = format!("{} | {text}", cells.join(" "));
        writeln!(out, "{}", line.trim_end())
    };
    let columns = column_count(counts);
    write_row(&COLUMNS.map(str::to_owned)[..columns], "")?;
    let empty_cells = vec![String::new(); columns];
    for (number, text) in (1..).zip(String::from_utf8_lossy(&parsed.source.bytes).lines()) {
        match lines.get(&number) {
            Some(sums) => write_row(&sums.cells(columns), text)?,
            None => write_row(&empty_cells, text)?,
        }
    }
    Ok(())
}

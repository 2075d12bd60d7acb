//! Statistics as tables: facts about a file, and a line for each function.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::count::Stats;
use crate::output::{self, align_right, table, write_table};
use clap::ValueEnum;
use ptx_report::counted;
use ptx_report::function_stats::FunctionStats;

/// The number of opcodes that are listed.
const MAX_OPCODES: usize = 16;

/// The order of functions.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Sort {
    /// As in the file
    File,
    Name,
    Instructions,
    /// By tensor-core arithmetic
    Tensor,
    Loops,
    Barriers,
    Shared,
    Local,
    /// By live registers
    Registers,
}

impl Sort {
    /// Sorts functions by name, or with the largest number first.
    pub(super) fn apply(self, functions: &mut [FunctionStats]) {
        let number: fn(&FunctionStats) -> u64 = match self {
            Self::File => return,
            Self::Name => return functions.sort_by(|a, b| a.title().cmp(b.title())),
            Self::Instructions => |stats| stats.mix.instructions,
            Self::Tensor => |stats| stats.mix.tensor_core.arithmetic,
            Self::Loops => |stats| stats.loops,
            Self::Barriers => |stats| stats.mix.barriers,
            Self::Shared => |stats| stats.shared_bytes.unwrap_or(0),
            Self::Local => |stats| stats.local_bytes,
            Self::Registers => |stats| stats.pressure.max_b32_units.into(),
        };
        functions.sort_by_key(|stats| Reverse(number(stats)));
    }
}

/// Facts, each with its name.
pub(super) fn facts(out: &mut impl Write, facts: Vec<(&str, String)>) -> io::Result<()> {
    let mut table = table();
    let facts = facts.into_iter().filter(|(_, text)| !text.is_empty());
    for (name, text) in facts {
        table.add_row([name, &text]);
    }
    write_table(out, &table)
}

/// Facts about a file or about all files.
pub(super) fn write(out: &mut impl Write, title: &str, stats: &Stats) -> io::Result<()> {
    writeln!(out, "{}:", output::heading(title))?;
    let header = stats.header.as_ref().map(|header| {
        let ptx = header.ptx.as_deref().unwrap_or("?");
        let target = header.target.unwrap_or("an unknown target");
        format!(
            "PTX {ptx} for {target}, {}-bit addresses",
            header.address_size
        )
    });
    let functions = &stats.functions;
    let memory = &stats.memory;
    let registers: Vec<String> = stats
        .registers
        .iter()
        .map(|(ty, counts)| format!("{ty} {} of {}", counts.used, counts.declared))
        .collect();
    facts(
        out,
        vec![
            ("Header", header.unwrap_or_default()),
            (
                "Files",
                match stats.header {
                    Some(_) => String::new(),
                    None => stats.files.to_string(),
                },
            ),
            (
                "Size",
                [
                    number_of(stats.bytes, "byte"),
                    number_of(stats.lines, "line"),
                    number_of(stats.statements, "statement"),
                    number_of(stats.instructions, "instruction"),
                    number_of(stats.labels, "label"),
                ]
                .join(", "),
            ),
            (
                "Comments",
                format!(
                    "{}, {}",
                    stats.comments.count,
                    number_of(stats.comments.bytes, "byte")
                ),
            ),
            (
                "Syntax",
                [
                    number_of(stats.errors, "error"),
                    number_of(stats.warnings, "warning"),
                ]
                .join(", "),
            ),
            (
                "Functions",
                [
                    number_of(functions.kernels, "kernel"),
                    number_of(functions.device, "device function"),
                    number_of(functions.declarations, "declaration"),
                ]
                .join(", "),
            ),
            (
                "Variables",
                format!(
                    "bytes: .const {}, .global {}, .local {}, .shared {}",
                    memory.constant, memory.global, memory.local, memory.shared
                ),
            ),
            ("Registers used", registers.join(", ")),
            ("Opcodes", counts(&stats.opcodes, MAX_OPCODES)),
        ],
    )?;
    match &stats.mnemonics {
        Some(mnemonics) => write_mnemonics(out, mnemonics),
        None => Ok(()),
    }
}

fn write_mnemonics(out: &mut impl Write, mnemonics: &BTreeMap<String, u64>) -> io::Result<()> {
    let mut table = table();
    table.set_header(["Count", "Mnemonic"]);
    for (name, count) in sorted(mnemonics) {
        table.add_row([&count.to_string(), name]);
    }
    align_right(&mut table, &[0]);
    writeln!(out)?;
    write_table(out, &table)
}

fn number_of(count: u64, name: &str) -> String {
    counted(count as usize, name)
}

/// The counts, the largest first.
fn sorted(counts: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut sorted: Vec<_> = counts
        .iter()
        .map(|(name, &count)| (name.as_str(), count))
        .collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    sorted
}

/// `ld 12, add 7 and 3 more`
fn counts(counts: &BTreeMap<String, u64>, max: usize) -> String {
    let sorted = sorted(counts);
    let listed: Vec<String> = sorted
        .iter()
        .take(max)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    match sorted.len().saturating_sub(max) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

/// A line for each function.
pub(super) fn functions(out: &mut impl Write, functions: &[FunctionStats]) -> io::Result<()> {
    if functions.is_empty() {
        return Ok(());
    }
    let mut table = table();
    table.set_header([
        "Instr.",
        "Tensor",
        "Loops",
        "Barriers",
        "Calls",
        "Shared",
        "Local",
        "Registers",
        "Requires",
        "Name",
    ]);
    for stats in functions {
        let loops = match stats.loops {
            0 => "0".to_owned(),
            loops => format!("{loops} (depth {})", stats.loop_depth),
        };
        let requirement = stats
            .requires
            .first()
            .map(|pair| format!("{} PTX {}", pair.target, pair.ptx));
        let kind = if stats.is_kernel() { "" } else { ".func " };
        table.add_row([
            stats.mix.instructions.to_string(),
            stats.mix.tensor_core.arithmetic.to_string(),
            loops,
            stats.mix.barriers.to_string(),
            stats.mix.calls.to_string(),
            stats
                .shared_bytes
                .map_or("-".to_owned(), |bytes| bytes.to_string()),
            stats.local_bytes.to_string(),
            stats.pressure.max_b32_units.to_string(),
            requirement.unwrap_or_default(),
            format!("{kind}{}", stats.title()),
        ]);
    }
    align_right(&mut table, &[0, 1, 3, 4, 5, 6, 7]);
    writeln!(out)?;
    write_table(out, &table)
}

/// A line for each function that ptxas reports.
pub(super) fn machine_code(out: &mut impl Write, functions: &[FunctionStats]) -> io::Result<()> {
    let mut table = table();
    table.set_header([
        "Registers",
        "Stack",
        "Spill stores",
        "Spill loads",
        "Shared",
        "Barriers",
        "Name",
    ]);
    for stats in functions {
        let Some(code) = &stats.ptxas else {
            continue;
        };
        let registers = code.registers.map(|count| count.to_string());
        let kind = if stats.is_kernel() { "" } else { ".func " };
        table.add_row([
            registers.unwrap_or("-".to_owned()),
            code.stack_bytes.to_string(),
            code.spill_store_bytes.to_string(),
            code.spill_load_bytes.to_string(),
            code.shared_bytes.to_string(),
            code.barriers.to_string(),
            format!("{kind}{}", stats.title()),
        ]);
    }
    if table.row_count() == 0 {
        return Ok(());
    }
    align_right(&mut table, &[0, 1, 2, 3, 4, 5]);
    let title = output::heading("Machine code, as ptxas reports it (bytes)");
    writeln!(out, "\n {title}:")?;
    write_table(out, &table)
}

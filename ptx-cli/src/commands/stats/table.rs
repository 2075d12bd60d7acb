//! Statistics as tables: facts about a file, and a line for each function.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::count::Stats;
use crate::output::{align_right, table, write_table};
use clap::ValueEnum;
use ptx_report::counted;
use ptx_report::function_stats::FunctionStats;

/// How many opcodes are listed.
const MOST_OPCODES: usize = 16;

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
        let by = |number: fn(&FunctionStats) -> u64| {
            move |f: &FunctionStats| std::cmp::Reverse(number(f))
        };
        match self {
            Self::File => {}
            Self::Name => functions.sort_by(|a, b| a.title().cmp(b.title())),
            Self::Instructions => functions.sort_by_key(by(|f| f.mix.instructions)),
            Self::Tensor => functions.sort_by_key(by(|f| f.mix.tensor_core.arithmetic)),
            Self::Loops => functions.sort_by_key(by(|f| f.loops)),
            Self::Barriers => functions.sort_by_key(by(|f| f.mix.barriers)),
            Self::Shared => functions.sort_by_key(by(|f| f.shared_bytes.unwrap_or(0))),
            Self::Local => functions.sort_by_key(by(|f| f.local_bytes)),
            Self::Registers => functions.sort_by_key(by(|f| f.pressure.max_b32_units.into())),
        }
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
    writeln!(out, "{title}:")?;
    let header = stats.header.as_ref().map(|header| {
        let ptx = header.ptx.as_deref().unwrap_or("?");
        let target = header.target.unwrap_or("an unknown target");
        format!(
            "PTX {ptx} for {target}, {}-bit addresses",
            header.address_size
        )
    });
    let many = |n: u64, what: &str| counted(n as usize, what);
    let functions = &stats.functions;
    let memory = &stats.memory;
    let registers = stats.registers.iter();
    let registers = registers.map(|(ty, r)| format!("{ty} {} of {}", r.used, r.declared));
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
                    many(stats.bytes, "byte"),
                    many(stats.lines, "line"),
                    many(stats.statements, "statement"),
                    many(stats.instructions, "instruction"),
                    many(stats.labels, "label"),
                ]
                .join(", "),
            ),
            (
                "Comments",
                format!(
                    "{}, {}",
                    stats.comments.count,
                    many(stats.comments.bytes, "byte")
                ),
            ),
            (
                "Diagnostics",
                [many(stats.errors, "error"), many(stats.warnings, "warning")].join(", "),
            ),
            (
                "Functions",
                [
                    many(functions.kernels, "kernel"),
                    many(functions.device, "device function"),
                    many(functions.declarations, "declaration"),
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
            ("Registers used", registers.collect::<Vec<_>>().join(", ")),
            ("Opcodes", counts(&stats.opcodes, MOST_OPCODES)),
        ],
    )?;
    if let Some(mnemonics) = &stats.mnemonics {
        let mut table = table();
        table.set_header(["Count", "Mnemonic"]);
        for (name, count) in sorted(mnemonics) {
            table.add_row([&count.to_string(), name]);
        }
        align_right(&mut table, &[0]);
        writeln!(out)?;
        write_table(out, &table)?;
    }
    Ok(())
}

fn sorted(counts: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut sorted: Vec<_> = counts.iter().map(|(k, &v)| (k.as_str(), v)).collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    sorted
}

/// `ld 12, add 7 and 3 more`
fn counts(counts: &BTreeMap<String, u64>, most: usize) -> String {
    let sorted = sorted(counts);
    let shown = sorted.iter().take(most);
    let shown: Vec<String> = shown
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    match sorted.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A line for each function.
pub(super) fn functions(out: &mut impl Write, all: &[FunctionStats]) -> io::Result<()> {
    if all.is_empty() {
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
    for of in all {
        let loops = match of.loops {
            0 => "0".to_owned(),
            n => format!("{n} (depth {})", of.loop_depth),
        };
        let requires = of.requires.first();
        let requires = requires.map(|pair| format!("{} PTX {}", pair.target, pair.ptx));
        let kind = if of.is_kernel() { "" } else { ".func " };
        table.add_row([
            of.mix.instructions.to_string(),
            of.mix.tensor_core.arithmetic.to_string(),
            loops,
            of.mix.barriers.to_string(),
            of.mix.calls.to_string(),
            of.shared_bytes.map_or("-".to_owned(), |n| n.to_string()),
            of.local_bytes.to_string(),
            of.pressure.max_b32_units.to_string(),
            requires.unwrap_or_default(),
            format!("{kind}{}", of.title()),
        ]);
    }
    align_right(&mut table, &[0, 1, 3, 4, 5, 6, 7]);
    writeln!(out)?;
    write_table(out, &table)
}

/// A line for each function that ptxas reports.
pub(super) fn machine_code(out: &mut impl Write, all: &[FunctionStats]) -> io::Result<()> {
    let reported = all.iter().filter_map(|of| Some((of, of.ptxas.as_ref()?)));
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
    for (of, code) in reported {
        let registers = code.registers.map(|n| n.to_string());
        let kind = if of.is_kernel() { "" } else { ".func " };
        table.add_row([
            registers.unwrap_or("-".to_owned()),
            code.stack_bytes.to_string(),
            code.spill_store_bytes.to_string(),
            code.spill_load_bytes.to_string(),
            code.shared_bytes.to_string(),
            code.barriers.to_string(),
            format!("{kind}{}", of.title()),
        ]);
    }
    if table.row_count() == 0 {
        return Ok(());
    }
    align_right(&mut table, &[0, 1, 2, 3, 4, 5]);
    writeln!(out, "\n Machine code, as ptxas reports it (bytes):")?;
    write_table(out, &table)
}

//! All facts about a function as tables.

use std::io::{self, Write};

use super::table::facts;
use crate::occupancy::{excess_registers, occupancy_text};
use crate::output::{self, align_right, table, write_table};
use ptx_report::counted;
use ptx_report::function_stats::{
    FunctionStats, LoopStats, MachineCode, Mix, Parameter, Pressure, SourceRange,
};

/// Writes the facts about a function.
pub(super) fn write(out: &mut impl Write, stats: &FunctionStats) -> io::Result<()> {
    let kind = if stats.is_kernel() {
        "Kernel"
    } else {
        "Function"
    };
    let title = output::heading(format_args!("{kind} {}", stats.title()));
    writeln!(out, "\n{title}")?;
    if stats.demangled.is_some() {
        writeln!(out, " {}", stats.name)?;
    }
    let requirements: Vec<String> = stats
        .requires
        .iter()
        .map(|pair| format!("{} from PTX {}", pair.target, pair.ptx))
        .collect();
    let calls: Vec<String> = stats
        .callees
        .iter()
        .map(|callee| {
            let name = callee.demangled.as_deref().or(callee.name.as_deref());
            format!("{} {}", name.unwrap_or("indirect"), callee.count)
        })
        .collect();
    facts(
        out,
        vec![
            (
                "Parameters",
                parameters(&stats.signature.params, &stats.name),
            ),
            ("Results", parameters(&stats.signature.results, &stats.name)),
            ("Directives", stats.signature.directives_text()),
            ("Requires", requirements.join(", ")),
            (
                "Source",
                stats.source.as_ref().map(source).unwrap_or_default(),
            ),
            (
                "Instructions",
                format!("{}: {}", stats.mix.instructions, mix(&stats.mix)),
            ),
            ("Tensor cores", tensor_core(&stats.mix)),
            ("Control flow", control_flow(stats)),
            ("Calls", calls.join(", ")),
            ("Barriers", stats.mix.barriers.to_string()),
            (
                "Shared memory",
                stats
                    .shared_bytes
                    .map(|bytes| shared(bytes, stats.dynamic_shared))
                    .unwrap_or_default(),
            ),
            ("Local memory", bytes(stats.local_bytes)),
            ("Live registers", registers(&stats.pressure)),
            (
                "Occupancy",
                stats
                    .occupancy
                    .as_ref()
                    .map(occupancy_text)
                    .unwrap_or_default(),
            ),
            (
                "Machine code (ptxas)",
                stats.ptxas.as_ref().map(machine_code).unwrap_or_default(),
            ),
        ],
    )?;
    memory(out, &stats.mix)?;
    loops(out, &stats.loop_list)
}

/// `64 bytes, and dynamic`
fn shared(static_bytes: u64, is_dynamic: bool) -> String {
    match (static_bytes, is_dynamic) {
        (count, false) => bytes(count),
        (0, true) => "dynamic".to_owned(),
        (count, true) => format!("{}, and dynamic", bytes(count)),
    }
}

fn bytes(count: u64) -> String {
    counted(count as usize, "byte")
}

/// Compilers name parameters after the function, whose name is omitted.
fn parameters(parameters: &[Parameter], function: &str) -> String {
    let texts: Vec<String> = parameters
        .iter()
        .map(|parameter| {
            let name = parameter.name.as_deref().unwrap_or("_");
            let short = name
                .strip_prefix(function)
                .filter(|suffix| !suffix.is_empty());
            format!("{} {}", parameter.ty, short.unwrap_or(name))
        })
        .collect();
    texts.join(", ")
}

/// `at most 3 of 32 bits (b32 1, b64 1)`
fn registers(pressure: &Pressure) -> String {
    let classes: Vec<String> = pressure
        .by_class
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(class, count)| format!("{class} {count}"))
        .collect();
    let maximum = format!("at most {} of 32 bits", pressure.max_b32_units);
    let excess = excess_registers(pressure.max_b32_units);
    if classes.is_empty() {
        maximum
    } else {
        format!("{maximum} ({}){excess}", classes.join(", "))
    }
}

fn machine_code(code: &MachineCode) -> String {
    let registers = code
        .registers
        .map(|count| counted(count as usize, "register"));
    let numbers = format!(
        "{} of stack, {} of spill stores and {} of spill loads",
        bytes(code.stack_bytes),
        bytes(code.spill_store_bytes),
        bytes(code.spill_load_bytes),
    );
    match registers {
        Some(registers) => format!("{registers}, {numbers}"),
        None => numbers,
    }
}

fn control_flow(stats: &FunctionStats) -> String {
    let blocks = counted(stats.blocks as usize, "block");
    let loops = counted(stats.loops as usize, "loop");
    match stats.loop_depth {
        0 | 1 => format!("{blocks}, {loops}"),
        depth => format!("{blocks}, {loops}, at most {depth} deep"),
    }
}

fn source(range: &SourceRange) -> String {
    let file = range.file.as_deref().unwrap_or("?");
    format!("{file}:{}-{}", range.first_line, range.last_line)
}

fn mix(mix: &Mix) -> String {
    let texts: Vec<String> = mix
        .sorted_families()
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    texts.join(", ")
}

fn tensor_core(mix: &Mix) -> String {
    match (mix.tensor_core.arithmetic, mix.tensor_core.moves) {
        (0, 0) => String::new(),
        (arithmetic, moves) => format!(
            "{}, {} of fragments",
            counted(arithmetic as usize, "multiplication"),
            counted(moves as usize, "move")
        ),
    }
}

fn memory(out: &mut impl Write, mix: &Mix) -> io::Result<()> {
    if mix.memory.is_empty() {
        return Ok(());
    }
    let mut table = table();
    table.set_header(["Count", "Memory", "Access", "Bytes", "Elements"]);
    for (access, count) in &mix.memory {
        table.add_row([
            count.to_string(),
            access.space.to_string(),
            access.access.to_string(),
            access
                .bytes
                .map_or("?".to_owned(), |bytes| bytes.to_string()),
            access.vector.to_string(),
        ]);
    }
    align_right(&mut table, &[0, 3, 4]);
    writeln!(out)?;
    write_table(out, &table)
}

/// A line for each loop, with the instructions outside of inner loops.
fn loops(out: &mut impl Write, loops: &[LoopStats]) -> io::Result<()> {
    if loops.is_empty() {
        return Ok(());
    }
    let mut table = table();
    table.set_header([
        "Loop",
        "Line",
        "Source",
        "Blocks",
        "Instr.",
        "Own",
        "Tensor",
        "Barriers",
        "Memory",
        "Own instructions",
    ]);
    for region in loops {
        let label = region.label.as_deref().unwrap_or("?");
        let indent = "  ".repeat(region.depth.saturating_sub(1).min(8) as usize);
        let accesses: u64 = region.mix.memory.values().sum();
        table.add_row([
            format!("{indent}{label}"),
            region.line.to_string(),
            region.source.as_ref().map(source).unwrap_or_default(),
            region.blocks.to_string(),
            region.total_instructions.to_string(),
            region.mix.instructions.to_string(),
            region.mix.tensor_core.arithmetic.to_string(),
            region.mix.barriers.to_string(),
            accesses.to_string(),
            mix(&region.mix),
        ]);
    }
    align_right(&mut table, &[1, 3, 4, 5, 6, 7, 8]);
    writeln!(out)?;
    write_table(out, &table)
}

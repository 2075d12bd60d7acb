//! All facts about a function as tables.

use std::io::{self, Write};

use super::table::facts;
use crate::output::{align_right, table, write_table};
use ptx_report::counted;
use ptx_report::function_stats::MachineCode;
use ptx_report::function_stats::{FunctionStats, LoopStats, Mix, Parameter, Pressure, SourceRange};

/// Writes the facts about a function.
pub(super) fn write(out: &mut impl Write, of: &FunctionStats) -> io::Result<()> {
    let kind = if of.is_kernel() { "Kernel" } else { "Function" };
    writeln!(out, "\n{kind} {}", of.title())?;
    if of.demangled.is_some() {
        writeln!(out, " {}", of.name)?;
    }
    let directives = of.signature.directives.iter().map(|(name, values)| {
        let values: Vec<String> = values.iter().map(i64::to_string).collect();
        format!(".{name} {}", values.join(", "))
            .trim_end()
            .to_owned()
    });
    let requires = of.requires.iter();
    let requires = requires.map(|pair| format!("{} from PTX {}", pair.target, pair.ptx));
    let callees = of.callees.iter().map(|callee| {
        let name = callee.demangled.as_ref().or(callee.name.as_ref());
        format!(
            "{} {}",
            name.map_or("indirect", String::as_str),
            callee.count
        )
    });
    facts(
        out,
        vec![
            ("Parameters", parameters(&of.signature.params, &of.name)),
            ("Results", parameters(&of.signature.results, &of.name)),
            ("Directives", directives.collect::<Vec<_>>().join("; ")),
            ("Requires", requires.collect::<Vec<_>>().join(", ")),
            ("Source", of.source.as_ref().map(source).unwrap_or_default()),
            (
                "Instructions",
                format!("{}: {}", of.mix.instructions, mix(&of.mix)),
            ),
            ("Tensor cores", tensor_core(&of.mix)),
            ("Control flow", control_flow(of)),
            ("Calls", callees.collect::<Vec<_>>().join(", ")),
            ("Barriers", of.mix.barriers.to_string()),
            (
                "Shared memory",
                of.shared_bytes.map(bytes).unwrap_or_default(),
            ),
            ("Local memory", bytes(of.local_bytes)),
            ("Live registers", registers(&of.pressure)),
            (
                "Machine code (ptxas)",
                of.ptxas.as_ref().map(machine_code).unwrap_or_default(),
            ),
        ],
    )?;
    memory(out, &of.mix)?;
    loops(out, &of.loop_list)
}

fn bytes(count: u64) -> String {
    counted(count as usize, "byte")
}

/// Compilers name parameters after the function, whose name is omitted.
fn parameters(all: &[Parameter], function: &str) -> String {
    let text = |p: &Parameter| {
        let name = p.name.as_deref().unwrap_or("_");
        let short = name.strip_prefix(function).filter(|rest| !rest.is_empty());
        format!("{} {}", p.ty, short.unwrap_or(name))
    };
    all.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// `at most 3 of 32 bits (b32 1, b64 1)`
fn registers(pressure: &Pressure) -> String {
    let classes = pressure.by_class.iter().filter(|(_, n)| **n > 0);
    let classes: Vec<String> = classes.map(|(class, n)| format!("{class} {n}")).collect();
    let most = format!("at most {} of 32 bits", pressure.max_b32_units);
    match classes[..] {
        [] => most,
        _ => format!("{most} ({})", classes.join(", ")),
    }
}

fn machine_code(code: &MachineCode) -> String {
    let registers = code.registers.map(|n| counted(n as usize, "register"));
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

fn control_flow(of: &FunctionStats) -> String {
    let blocks = counted(of.blocks as usize, "block");
    let loops = counted(of.loops as usize, "loop");
    match of.loop_depth {
        0 | 1 => format!("{blocks}, {loops}"),
        depth => format!("{blocks}, {loops}, at most {depth} deep"),
    }
}

fn source(range: &SourceRange) -> String {
    let file = range.file.as_deref().unwrap_or("?");
    format!("{file}:{}-{}", range.first_line, range.last_line)
}

fn mix(mix: &Mix) -> String {
    let families = mix.sorted_families();
    let texts = families
        .iter()
        .map(|(name, count)| format!("{name} {count}"));
    texts.collect::<Vec<_>>().join(", ")
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
            access.bytes.map_or("?".to_owned(), |n| n.to_string()),
            access.vector.to_string(),
        ]);
    }
    align_right(&mut table, &[0, 3, 4]);
    writeln!(out)?;
    write_table(out, &table)
}

/// A line for each loop, with the instructions outside of inner loops.
fn loops(out: &mut impl Write, all: &[LoopStats]) -> io::Result<()> {
    if all.is_empty() {
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
    for of in all {
        let label = of.label.as_deref().unwrap_or("?");
        let indent = "  ".repeat(of.depth.saturating_sub(1).min(8) as usize);
        let accesses: u64 = of.mix.memory.values().sum();
        table.add_row([
            format!("{indent}{label}"),
            of.line.to_string(),
            of.source.as_ref().map(source).unwrap_or_default(),
            of.blocks.to_string(),
            of.total_instructions.to_string(),
            of.mix.instructions.to_string(),
            of.mix.tensor_core.arithmetic.to_string(),
            of.mix.barriers.to_string(),
            accesses.to_string(),
            mix(&of.mix),
        ]);
    }
    align_right(&mut table, &[1, 3, 4, 5, 6, 7, 8]);
    writeln!(out)?;
    write_table(out, &table)
}

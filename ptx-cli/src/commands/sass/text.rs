//! The output as text: PTX on the left, machine code on the right, or the reverse.

use std::io::Write as _;

use anyhow::Result;
use ptx_report::sass::{SassInstruction, SassStats};
use ptx_report::{clean, counted};

use super::super::source::annotated::{Headings, Styles, title};
use super::super::source::files::Sources;
use super::super::source::listing::Kind;
use super::side::{Side, SideFunction};
use crate::output::{self, Out};

/// The width of the left column where the width of the terminal is not known, and at most.
const LEFT_WIDTH: usize = 64;
/// The largest number of opcodes and PTX lines that a summary names.
const MAX_LISTED: usize = 12;

fn left_width() -> usize {
    let half = output::width().map(|width| usize::from(width) / 2);
    half.map_or(LEFT_WIDTH, |half| half.clamp(24, LEFT_WIDTH))
}

/// A line of two columns. A left text that is too long has a line by itself.
fn columns(out: &mut Out, left: &str, right: &str) -> Result<()> {
    let width = left_width();
    if right.is_empty() {
        writeln!(out, "{}", left.trim_end())?;
    } else if console::measure_text_width(left) <= width {
        writeln!(
            out,
            "{}  {right}",
            console::pad_str(left, width, console::Alignment::Left, None)
        )?;
    } else {
        writeln!(out, "{left}\n{:width$}  {right}", "")?;
    }
    Ok(())
}

/// `0010  @P0 LDG.E R0, [R2.64]`
fn machine_text(instruction: &SassInstruction) -> String {
    format!(
        "{:04x}  {}",
        instruction.address,
        clean(&instruction.text())
    )
}

pub(super) fn by_ptx(side: &Side<'_>, sources: &mut Sources<'_>, out: &mut Out) -> Result<()> {
    for function in &side.functions {
        heading(function, out)?;
        let mut by_line = function.by_line();
        let mut headings = Headings::default();
        let instruction_lines = function.instruction_lines();
        for row in &function.listed.statements {
            // Lines such as that of the header, which are not statements of the function.
            let start = Some(function.lines.start.min(row.line));
            let earlier: Vec<_> = by_line
                .range(start..Some(row.line))
                .map(|(line, _)| *line)
                .collect();
            for line in earlier {
                let instructions = by_line.remove(&line).unwrap_or_default();
                line_of_file(side, line, &instructions, out)?;
            }
            headings.write(side.listing, row, sources, out)?;
            let indent = if row.kind == Kind::Label { 1 } else { 4 };
            let left = numbered(Some(row.line), indent, &clean(&side.listing.text(row)));
            // Several instructions may share a line: the first one has the machine code of all.
            let is_owner = row.kind == Kind::Instruction || !instruction_lines.contains(&row.line);
            let instructions = is_owner.then(|| by_line.remove(&Some(row.line))).flatten();
            beside(&left, &instructions.unwrap_or_default(), out)?;
        }
        let (of_function, others): (Vec<_>, Vec<_>) = by_line
            .into_iter()
            .partition(|(line, _)| line.is_some_and(|line| function.lines.contains(&line)));
        for (line, instructions) in of_function {
            line_of_file(side, line, &instructions, out)?;
        }
        if !others.is_empty() {
            writeln!(
                out,
                "\n  From other functions, which are inlined or copied:"
            )?;
        }
        for (line, instructions) in others {
            line_of_file(side, line, &instructions, out)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A text on the left and machine instructions on the right.
fn beside(left: &str, instructions: &[&SassInstruction], out: &mut Out) -> Result<()> {
    let first = instructions.first().map(|i| machine_text(i));
    columns(out, left, &first.unwrap_or_default())?;
    let others = instructions.iter().skip(1);
    others
        .map(|i| machine_text(i))
        .try_for_each(|text| columns(out, "", &text))
}

/// A line that is not a statement of the function, with its machine instructions.
fn line_of_file(
    side: &Side<'_>,
    line: Option<u32>,
    instructions: &[&SassInstruction],
    out: &mut Out,
) -> Result<()> {
    let text = line.map(|line| side.line_text(line)).unwrap_or_default();
    beside(&numbered(line, 4, &text), instructions, out)
}

fn numbered(line: Option<u32>, indent: usize, text: &str) -> String {
    let line = line.map_or("-".to_owned(), |line| line.to_string());
    let number = Styles::new().number.apply_to(format!("{line:>8}"));
    format!("{number}{:indent$}{text}", "")
}

pub(super) fn by_sass(side: &Side<'_>, sources: &mut Sources<'_>, out: &mut Out) -> Result<()> {
    for function in &side.functions {
        heading(function, out)?;
        let rows = &function.listed.statements;
        for part in &function.parts {
            if part.kernel.is_some() {
                writeln!(out, "Function {}", clean(&part.name))?;
            }
            let mut headings = Headings::default();
            let mut last_line = None;
            for instruction in part.executable() {
                let row = rows.iter().find(|row| {
                    Some(row.line) == instruction.line && row.kind == Kind::Instruction
                });
                if let Some(row) = row {
                    headings.write(side.listing, row, sources, out)?;
                }
                if let Some(label) = &instruction.label {
                    writeln!(out, " {}:", clean(label))?;
                }
                let ptx = match (instruction.line, row) {
                    (line, _) if line == last_line => String::new(),
                    (line, Some(row)) => numbered(line, 2, &clean(&side.listing.text(row))),
                    (Some(line), None) => numbered(Some(line), 2, &side.line_text(line)),
                    (None, None) => numbered(None, 2, ""),
                };
                last_line = instruction.line;
                columns(out, &format!("    {}", machine_text(instruction)), &ptx)?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The name of a function with what ptxas and the machine code say about it.
fn heading(function: &SideFunction<'_>, out: &mut Out) -> Result<()> {
    writeln!(
        out,
        "{}\n",
        Styles::new().title.apply_to(title(function.listed))
    )?;
    let Some(sass) = &function.stats.sass else {
        writeln!(
            out,
            "  No machine code: the function is inlined or not used\n"
        )?;
        return Ok(());
    };
    let instructions = counted(sass.instructions as usize, "machine instruction");
    write!(out, "  {instructions}")?;
    if let Some(registers) = function
        .stats
        .ptxas
        .as_ref()
        .and_then(|code| code.registers)
    {
        write!(out, ", {}", counted(registers as usize, "register"))?;
    }
    writeln!(out, "\n  {}", opcodes(sass))?;
    for accesses in sass.local.iter().take(MAX_LISTED) {
        let line = accesses
            .line
            .map_or("unknown".to_owned(), |line| line.to_string());
        let kind = if accesses.spills {
            "spills"
        } else {
            "local memory"
        };
        writeln!(
            out,
            "  line {line}: {kind}, {} ({} B), {} ({} B)",
            counted(accesses.stores as usize, "store"),
            accesses.store_bytes,
            counted(accesses.loads as usize, "load"),
            accesses.load_bytes
        )?;
    }
    if sass.local.len() > MAX_LISTED {
        writeln!(
            out,
            "  … and {} other lines with local memory",
            sass.local.len() - MAX_LISTED
        )?;
    }
    for unrolled in sass
        .loops
        .iter()
        .filter(|l| l.line.is_some() && l.copies > 1)
    {
        let line = unrolled.line.unwrap_or_default();
        writeln!(
            out,
            "  line {line}: the loop is unrolled about {} times, {:#06x} to {:#06x}",
            unrolled.copies, unrolled.first_address, unrolled.last_address
        )?;
    }
    writeln!(out)?;
    Ok(())
}

/// The numbers of memory and tensor-core instructions: `LDG.E.128 4, HMMA.16816.F32 128`.
fn opcodes(sass: &SassStats) -> String {
    let mut memory: Vec<(&str, u64)> = sass
        .opcodes
        .iter()
        .filter(|(opcode, _)| is_notable(opcode))
        .map(|(opcode, count)| (opcode.as_str(), *count))
        .collect();
    memory.sort_by_key(|(opcode, count)| (std::cmp::Reverse(*count), *opcode));
    let listed = memory.iter().take(MAX_LISTED);
    let texts: Vec<String> = listed
        .map(|(opcode, count)| format!("{} {count}", clean(opcode)))
        .collect();
    texts.join(", ")
}

/// The beginnings of opcodes that access memory, without those that load constants.
const MEMORY: [&str; 14] = [
    "LDG", "LDS", "LDL", "LDTM", "STG", "STS", "STL", "STTM", "ATOM", "RED", "UTMA", "UBLK", "TEX",
    "SU",
];

/// Whether an opcode accesses memory or multiplies matrices.
fn is_notable(opcode: &str) -> bool {
    let base = opcode.split('.').next().unwrap_or_default();
    let accesses_memory = MEMORY.iter().any(|start| base.starts_with(start));
    (accesses_memory && base != "LDGDEPBAR") || matches!(base, "LD" | "ST") || base.ends_with("MMA")
}

pub(super) fn messages(side: &Side<'_>, out: &mut Out) -> Result<()> {
    for message in side.messages {
        let code = message
            .code
            .as_ref()
            .map(|code| format!("{code}: "))
            .unwrap_or_default();
        let line = message
            .line
            .map(|line| format!("line {line}: "))
            .unwrap_or_default();
        writeln!(
            out,
            "ptxas {}: {line}{code}{}",
            message.severity, message.message
        )?;
    }
    Ok(())
}

//! Statistics as text: one number per line, aligned.

use std::io::{self, Write};

use super::count::Stats;
use super::functions::{Accesses, OfFunction};

/// The widest name that is aligned; a longer one pushes its number to the right.
const WIDEST: usize = 40;

pub(super) fn write(out: &mut impl Write, title: &str, stats: &Stats) -> io::Result<()> {
    writeln!(out, "{title}:")?;
    let Stats {
        files,
        bytes,
        lines,
        functions,
        statements,
        instructions,
        opcodes,
        mnemonics,
        registers,
        memory,
        labels,
        comments,
        errors,
        warnings,
        per_function,
    } = stats;
    let facts = [
        ("files", *files),
        ("bytes", *bytes),
        ("lines", *lines),
        ("errors", *errors),
        ("warnings", *warnings),
        ("kernels", functions.kernels),
        ("device functions", functions.device),
        ("declared functions", functions.declarations),
        ("statements", *statements),
        ("instructions", *instructions),
        ("labels", *labels),
        ("comments", comments.count),
        ("bytes of comments", comments.bytes),
        ("bytes of .const", memory.constant),
        ("bytes of .global", memory.global),
        ("bytes of .local", memory.local),
        ("bytes of .shared", memory.shared),
    ];
    rows(out, "  ", facts.into_iter())?;
    if !registers.is_empty() {
        writeln!(out, "  registers:")?;
        let rows = registers
            .iter()
            .map(|(ty, r)| (ty.as_str(), format!("{} used of {}", r.used, r.declared)));
        self::rows(out, "    ", rows)?;
    }
    for (title, counts) in [
        ("opcodes", Some(opcodes)),
        ("mnemonics", mnemonics.as_ref()),
    ] {
        let Some(counts) = counts.filter(|c| !c.is_empty()) else {
            continue;
        };
        writeln!(out, "  {title}:")?;
        let mut sorted: Vec<_> = counts.iter().map(|(k, &v)| (k.as_str(), v)).collect();
        sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        rows(out, "    ", sorted.into_iter())?;
    }
    per_function
        .iter()
        .flatten()
        .try_for_each(|f| function(out, f))
}

fn function(out: &mut impl Write, of: &OfFunction) -> io::Result<()> {
    let kind = if of.kind == "entry" {
        "kernel"
    } else {
        "function"
    };
    writeln!(out, "  {kind} {}:", of.name)?;
    let facts = [
        ("instructions", of.instructions),
        ("blocks", of.blocks),
        ("loops", of.loops),
        ("loop depth", of.loop_depth.into()),
        ("barriers", of.barriers),
        ("live 32-bit registers", of.pressure.max_b32_units.into()),
    ];
    rows(out, "    ", facts.into_iter())?;
    let mut families: Vec<_> = of.families.iter().map(|(&k, &v)| (k, v)).collect();
    families.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    if !families.is_empty() {
        writeln!(out, "    families:")?;
        rows(out, "      ", families.into_iter())?;
    }
    if !of.memory.is_empty() {
        writeln!(out, "    memory:")?;
        let line = |a: &Accesses| match a.bytes {
            Some(bytes) => (format!("{} {}, {bytes} bytes", a.access, a.space), a.count),
            None => (format!("{} {}", a.access, a.space), a.count),
        };
        let lines: Vec<_> = of.memory.iter().map(line).collect();
        rows(
            out,
            "      ",
            lines.iter().map(|(what, count)| (what.as_str(), *count)),
        )?;
    }
    Ok(())
}

fn rows<'a, V: std::fmt::Display>(
    out: &mut impl Write,
    indent: &str,
    rows: impl Iterator<Item = (&'a str, V)>,
) -> io::Result<()> {
    let rows: Vec<_> = rows.collect();
    let widest = rows.iter().map(|r| r.0.len()).max().unwrap_or(0);
    let width = widest.min(WIDEST);
    for (name, value) in rows {
        writeln!(out, "{indent}{name:width$}  {value}")?;
    }
    Ok(())
}

//! Differences as text, in the style of `git diff`.

use std::io::{self, Write};

use ptx_ir::FunctionKind;

use super::report::{Function, Hunk, JsonChange, JsonLine, Report, Status};
use crate::output;
use crate::output::{align_right, table, write_table};
use ptx_report::demangle::display_text;
use ptx_report::source_frames;

/// A part of the output, which determines the color of a text.
#[derive(Copy, Clone)]
enum Part {
    Title,
    Position,
    Removed,
    Added,
    Remark,
}

/// Returns a text in the color of a part.
fn paint(part: Part, text: &str) -> String {
    let code = match part {
        Part::Title => "1",
        Part::Position => "36",
        Part::Removed => "31",
        Part::Added => "32",
        Part::Remark => "2",
    };
    if output::is_colored() {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Writes all differences.
pub(super) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if report.changes.is_empty() && report.functions.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "{}",
        paint(Part::Title, &format!("--- {}", report.left))
    )?;
    writeln!(
        out,
        "{}",
        paint(Part::Title, &format!("+++ {}", report.right))
    )?;
    for change in &report.changes {
        write_change(out, change)?;
    }
    for function in &report.functions {
        write_function(out, function)?;
    }
    Ok(())
}

fn write_change(out: &mut impl Write, change: &JsonChange) -> io::Result<()> {
    let subject = match change.name.as_str() {
        "" => change.subject.replace('_', " "),
        name => format!("{} {}", change.subject, display_text(name)),
    };
    for (mark, part, text) in [
        ('-', Part::Removed, &change.left),
        ('+', Part::Added, &change.right),
    ] {
        if let Some(text) = text {
            writeln!(
                out,
                "{}",
                paint(part, &format!("{mark} {subject}: {}", display_text(text)))
            )?;
        }
    }
    Ok(())
}

fn write_function(out: &mut impl Write, function: &Function) -> io::Result<()> {
    let kind = if *function.kind == FunctionKind::Entry {
        "kernel"
    } else {
        "function"
    };
    let old = function
        .old_demangled
        .as_ref()
        .or(function.old_name.as_ref());
    let remark = match (function.status, old) {
        (Status::Renamed, Some(old)) => {
            let percent = function.similarity.unwrap_or(0.0) * 100.0;
            format!(" (was {old}, {percent:.0} % of the instructions are the same)")
        }
        (Status::Equal, _) => " (equal)".to_owned(),
        (Status::Added, _) => " (added)".to_owned(),
        (Status::Removed, _) => " (removed)".to_owned(),
        _ => String::new(),
    };
    let title = paint(Part::Title, &format!("{kind} {}", function.title()));
    writeln!(out, "\n{title}{}", paint(Part::Remark, &remark))?;
    for change in &function.changes {
        write_change(out, change)?;
    }
    if !matches!(function.status, Status::Added | Status::Removed) {
        write_metrics(out, function)?;
    } else {
        let instructions = function.metrics.iter().find(|m| m.name == "instructions");
        let size = instructions.and_then(|m| m.left.or(m.right)).unwrap_or(0);
        writeln!(
            out,
            " {}",
            ptx_report::counted(size as usize, "instruction")
        )?;
    }
    // Compilers name parameters after the function. The name of the function is omitted.
    let old_name = function.old_name.as_ref().unwrap_or(&function.name);
    let parameter_prefixes = [old_name, &function.name].map(|name| format!("{name}_param_"));
    for hunk in &function.hunks {
        write_hunk(out, hunk, &parameter_prefixes)?;
    }
    Ok(())
}

/// `+6 (+5.0 %)`
fn difference(left: u64, right: u64) -> String {
    let change = i128::from(right) - i128::from(left);
    match left {
        _ if change == 0 => String::new(),
        0 => format!("{change:+}"),
        _ => format!("{change:+} ({:+.1} %)", change as f64 * 100.0 / left as f64),
    }
}

fn write_metrics(out: &mut impl Write, function: &Function) -> io::Result<()> {
    let mut table = table();
    let number = |value: Option<u64>| value.map_or("-".to_owned(), |n| n.to_string());
    for metric in &function.metrics {
        let change = match (metric.left, metric.right) {
            (Some(left), Some(right)) => difference(left, right),
            _ => String::new(),
        };
        table.add_row([
            metric.name.clone(),
            number(metric.left),
            number(metric.right),
            change,
        ]);
    }
    align_right(&mut table, &[1, 2]);
    write_table(out, &table)
}

/// The first line of the file and the number of lines.
fn range<'l>(lines: impl Iterator<Item = &'l super::report::Site>) -> String {
    let numbers: Vec<u32> = lines.map(|site| site.line).collect();
    let first = numbers.first().copied().unwrap_or(0);
    format!("{first},{}", numbers.len())
}

fn write_hunk(
    out: &mut impl Write,
    hunk: &Hunk,
    parameter_prefixes: &[String; 2],
) -> io::Result<()> {
    let left = range(hunk.lines.iter().filter_map(|l| l.left.as_ref()));
    let right = range(hunk.lines.iter().filter_map(|l| l.right.as_ref()));
    writeln!(
        out,
        "{}",
        paint(Part::Position, &format!("@@ -{left} +{right} @@"))
    )?;
    // The source lines of the last statements of both files.
    let mut source_lines = [String::new(), String::new()];
    for JsonLine { left, right, shown } in &hunk.lines {
        let (mark, part, text, site, side) = match (left, right) {
            (Some(left), Some(_)) => (' ', None, &left.text, left, 0),
            (Some(left), None) => ('-', Some(Part::Removed), &left.text, left, 0),
            (None, Some(right)) => ('+', Some(Part::Added), shown, right, 1),
            (None, None) => continue,
        };
        let indent = if text.ends_with(':') { "" } else { "  " };
        let text = display_text(&text.replace(&parameter_prefixes[side], "param_")).into_owned();
        let mut line = format!("{mark} {indent}{text}");
        if let Some(part) = part {
            line = paint(part, &line);
        }
        // The source line is written where it differs from that of the line before.
        let source_line = source_frames::text(&site.source);
        if !source_line.is_empty() && source_lines[side] != source_line {
            let remark = format!(" // {}", display_text(&source_line));
            line.push_str(&paint(Part::Remark, &remark));
        }
        writeln!(out, "{line}")?;
        if left.is_some() && right.is_some() {
            source_lines = [source_line.clone(), source_line];
        } else {
            source_lines[side] = source_line;
        }
    }
    Ok(())
}

/// Writes a line for each function, and the sums.
pub(super) fn write_stat(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for change in &report.changes {
        write_change(out, change)?;
    }
    if report.functions.is_empty() {
        return Ok(());
    }
    let mut table = table();
    table.set_header([
        "-",
        "+",
        "Instructions",
        "Memory",
        "Pressure",
        "Shared",
        "Loops",
        "Name",
    ]);
    let columns = [
        "instructions",
        "memory",
        "pressure.max_b32_units",
        "shared_bytes",
        "loops",
    ];
    for function in &report.functions {
        let value = |name: &str| {
            let metric = function.metrics.iter().find(|m| m.name == name);
            metric.map_or(String::new(), |m| match (m.left, m.right) {
                (Some(left), Some(right)) => {
                    format!("{left} to {right}: {}", difference(left, right))
                }
                (left, right) => left.or(right).map_or(String::new(), |n| n.to_string()),
            })
        };
        let remark = match function.status {
            Status::Added => "added: ",
            Status::Removed => "removed: ",
            Status::Renamed => "renamed: ",
            Status::Equal => "equal: ",
            Status::Changed => "",
        };
        let mut row = vec![function.removed.to_string(), function.added.to_string()];
        row.extend(columns.map(value));
        row.push(format!("{remark}{}", function.title()));
        table.add_row(row);
    }
    if let [_, _, ..] = &report.functions[..] {
        let removed: usize = report.functions.iter().map(|f| f.removed).sum();
        let added: usize = report.functions.iter().map(|f| f.added).sum();
        let mut row = vec![removed.to_string(), added.to_string()];
        row.extend(columns.map(|_| String::new()));
        row.push("total".to_owned());
        table.add_row(row);
    }
    align_right(&mut table, &[0, 1]);
    write_table(out, &table)
}

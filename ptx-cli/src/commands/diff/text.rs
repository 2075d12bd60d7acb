//! Differences as text, in the style of `git diff`.

use std::io::{self, Write};

use ptx_ir::FunctionKind;

use super::report::{Function, Hunk, JsonChange, JsonLine, Report, Status};
use crate::output;
use crate::tables::{align_right, show, table};
use ptx_report::demangle::in_text;
use ptx_report::source_frames;

/// What a part of the output is.
#[derive(Copy, Clone)]
enum Part {
    Title,
    Place,
    Removed,
    Added,
    Remark,
}

/// A text in the color of its part.
fn paint(part: Part, text: &str) -> String {
    let code = match part {
        Part::Title => "1",
        Part::Place => "36",
        Part::Removed => "31",
        Part::Added => "32",
        Part::Remark => "2",
    };
    match output::is_colored() {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    }
}

/// Writes everything.
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
    report
        .changes
        .iter()
        .try_for_each(|change| self::change(out, change))?;
    report.functions.iter().try_for_each(|of| function(out, of))
}

fn change(out: &mut impl Write, change: &JsonChange) -> io::Result<()> {
    let what = match change.name.as_str() {
        "" => change.subject.replace('_', " "),
        name => format!("{} {}", change.subject, in_text(name)),
    };
    for (mark, part, text) in [
        ('-', Part::Removed, &change.left),
        ('+', Part::Added, &change.right),
    ] {
        if let Some(text) = text {
            writeln!(
                out,
                "{}",
                paint(part, &format!("{mark} {what}: {}", in_text(text)))
            )?;
        }
    }
    Ok(())
}

fn function(out: &mut impl Write, of: &Function) -> io::Result<()> {
    let kind = if *of.kind == FunctionKind::Entry {
        "kernel"
    } else {
        "function"
    };
    let old = of.old_demangled.as_ref().or(of.old_name.as_ref());
    let remark = match (of.status, old) {
        (Status::Renamed, Some(old)) => {
            let percent = of.similarity.unwrap_or(0.0) * 100.0;
            format!(" (was {old}, {percent:.0} % of the instructions are the same)")
        }
        (Status::Equal, _) => " (equal)".to_owned(),
        (Status::Added, _) => " (added)".to_owned(),
        (Status::Removed, _) => " (removed)".to_owned(),
        _ => String::new(),
    };
    let title = paint(Part::Title, &format!("{kind} {}", of.title()));
    writeln!(out, "\n{title}{}", paint(Part::Remark, &remark))?;
    of.changes
        .iter()
        .try_for_each(|change| self::change(out, change))?;
    if !matches!(of.status, Status::Added | Status::Removed) {
        metrics(out, of)?;
    } else {
        let size = of.metrics.iter().find(|m| m.name == "instructions");
        let size = size.and_then(|m| m.left.or(m.right)).unwrap_or(0);
        writeln!(
            out,
            " {}",
            ptx_report::counted(size as usize, "instruction")
        )?;
    }
    // Compilers name parameters after the function, whose name is omitted.
    let old = of.old_name.as_ref().unwrap_or(&of.name);
    let functions = [old, &of.name].map(|name| format!("{name}_param_"));
    of.hunks
        .iter()
        .try_for_each(|hunk| self::hunk(out, hunk, &functions))
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

fn metrics(out: &mut impl Write, of: &Function) -> io::Result<()> {
    let mut table = table();
    let shown = |value: Option<u64>| value.map_or("-".to_owned(), |n| n.to_string());
    for metric in &of.metrics {
        let change = match (metric.left, metric.right) {
            (Some(left), Some(right)) => difference(left, right),
            _ => String::new(),
        };
        table.add_row([
            metric.name.clone(),
            shown(metric.left),
            shown(metric.right),
            change,
        ]);
    }
    align_right(&mut table, &[1, 2]);
    show(out, &table)
}

/// The first line of the file and the number of lines.
fn range<'l>(lines: impl Iterator<Item = &'l super::report::Site>) -> String {
    let numbers: Vec<u32> = lines.map(|site| site.line).collect();
    let first = numbers.first().copied().unwrap_or(0);
    format!("{first},{}", numbers.len())
}

fn hunk(out: &mut impl Write, hunk: &Hunk, functions: &[String; 2]) -> io::Result<()> {
    let left = range(hunk.lines.iter().filter_map(|l| l.left.as_ref()));
    let right = range(hunk.lines.iter().filter_map(|l| l.right.as_ref()));
    writeln!(
        out,
        "{}",
        paint(Part::Place, &format!("@@ -{left} +{right} @@"))
    )?;
    let mut places = [String::new(), String::new()];
    for JsonLine { left, right, shown } in &hunk.lines {
        let (mark, part, text, site, side) = match (left, right) {
            (Some(left), Some(_)) => (' ', None, &left.text, left, 0),
            (Some(left), None) => ('-', Some(Part::Removed), &left.text, left, 0),
            (None, Some(right)) => ('+', Some(Part::Added), shown, right, 1),
            (None, None) => continue,
        };
        let indent = if text.ends_with(':') { "" } else { "  " };
        let line = format!(
            "{mark} {indent}{}",
            in_text(&text.replace(&functions[side], "param_"))
        );
        let line = part.map_or(line.clone(), |part| paint(part, &line));
        // The source line where it is another than that of the line before.
        let place = source_frames::text(&site.source);
        let is_new = !place.is_empty() && places[side] != place;
        let remark = match is_new {
            true => paint(Part::Remark, &format!(" // {}", in_text(&place))),
            false => String::new(),
        };
        writeln!(out, "{line}{remark}")?;
        if left.is_some() && right.is_some() {
            places = [place.clone(), place];
        } else {
            places[side] = place;
        }
    }
    Ok(())
}

/// A line for each function, and the sums.
pub(super) fn stat(out: &mut impl Write, report: &Report) -> io::Result<()> {
    report
        .changes
        .iter()
        .try_for_each(|change| self::change(out, change))?;
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
    for of in &report.functions {
        let value = |name: &str| {
            let metric = of.metrics.iter().find(|m| m.name == name);
            metric.map_or(String::new(), |m| match (m.left, m.right) {
                (Some(left), Some(right)) => {
                    format!("{left} to {right}: {}", difference(left, right))
                }
                (left, right) => left.or(right).map_or(String::new(), |n| n.to_string()),
            })
        };
        let remark = match of.status {
            Status::Added => "added: ",
            Status::Removed => "removed: ",
            Status::Renamed => "renamed: ",
            Status::Equal => "equal: ",
            Status::Changed => "",
        };
        let mut row = vec![of.removed.to_string(), of.added.to_string()];
        row.extend(columns.map(value));
        row.push(format!("{remark}{}", of.title()));
        table.add_row(row);
    }
    if let [_, _, ..] = &report.functions[..] {
        let sum =
            |number: fn(&Function) -> usize| report.functions.iter().map(number).sum::<usize>();
        let (removed, added) = (sum(|f| f.removed), sum(|f| f.added));
        let mut row = vec![removed.to_string(), added.to_string()];
        row.extend(columns.map(|_| String::new()));
        row.push("total".to_owned());
        table.add_row(row);
    }
    align_right(&mut table, &[0, 1]);
    show(out, &table)
}

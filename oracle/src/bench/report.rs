//! The table, and what its rows mean.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::column::Column;
use super::table::Table;
use super::timing::{Timing, measure, number, rate};
use super::{memory, others};
use crate::assembler::Assemblers;

const LEGEND: &str = "\
Columns: a small, a medium and a large file of nvcc; then the large one's functions again and again
under new names. Time and memory a byte should stay the same from the large file on.

MB/s          millions of bytes of the text a second, best (median) of many runs on one core
parse         bytes to module, with all diagnostics; the source is already in memory
verbatim      module to the text it was read from
canonical     module to the text in canonical style
ptxas         the process `ptxas -arch=compute_XX`, which reads and checks the text, makes no code
less start-up the same less the best time of ptxas on a text of three lines (for the small file a
              difference of two nearly equal times)
parse : ptxas how often faster parse is, best against best
others        other crates' time to read the same text; refused = the crate reports an error
copy, lines   what the machine can do: copying the text, finding its newlines; from some size on
              every copy takes fresh pages from the system, and so do both printers
allocations   calls of the allocator while parsing, a thousand bytes of text
peak, kept    most bytes in use while parsing, and bytes of the module, for each byte of text, the
              text itself not counted
";

/// Prints the table.
pub(crate) fn print(
    columns: &[Column],
    memory: &[memory::Memory],
    assemblers: Option<&Assemblers>,
    start_up: Option<Timing>,
) {
    let start = start_up.map(|t| t.best).unwrap_or_default();
    let bytes = |c: &Column| c.input.text.len();
    let each = |f: &dyn Fn(&Column) -> Option<String>| columns.iter().map(f).collect::<Vec<_>>();
    let rates = |f: fn(&Column) -> Option<Timing>| each(&|c| Some(f(c)?.rate(bytes(c))));
    let net = |c: &Column| Some(c.ptxas?.best.saturating_sub(start)).filter(|t| !t.is_zero());
    println!("\n{LEGEND}");
    for column in columns.iter().filter(|c| !c.long) {
        println!("{}: {}", column.input.name, column.input.file);
    }
    if let (Some(assemblers), Some(t)) = (assemblers, start_up) {
        println!(
            "{}: start-up {:.1} ms",
            assemblers.describe(),
            t.best.as_secs_f64() * 1e3
        );
    }
    println!();
    let mut table = Table::new(columns.iter().map(|c| c.input.name.to_owned()).collect());
    table.row("bytes", columns.iter().map(|c| Some(bytes(c).to_string())));
    table.row("parse MB/s", rates(|c| c.parse));
    table.row("verbatim MB/s", rates(|c| c.verbatim));
    table.row("canonical MB/s", rates(|c| c.canonical));
    table.row("ptxas MB/s", rates(|c| c.ptxas));
    table.row(
        "  less start-up",
        each(&|c| Some(number(rate(bytes(c), net(c)?)))),
    );
    let against =
        |time: Duration, parse: Timing| Some(number(time.as_secs_f64() / parse.best.as_secs_f64()));
    table.row("parse : ptxas", each(&|c| against(c.ptxas?.best, c.parse?)));
    table.row("  less start-up", each(&|c| against(net(c)?, c.parse?)));
    for (i, name) in others::CRATES.iter().enumerate() {
        let cell = |c: &Column| match c.others[i].as_ref()? {
            Ok(timing) => Some(timing.rate(bytes(c))),
            Err(why) => Some(why.split(':').next().unwrap_or_default().to_owned()),
        };
        table.row(&format!("{name} MB/s"), each(&cell));
    }
    table.row("copy MB/s", rates(|c| c.copy));
    table.row("lines MB/s", rates(|c| c.newlines));
    let per = |f: &dyn Fn(&memory::Memory) -> f64, scale: f64| {
        let figure = |(c, m): (&Column, &memory::Memory)| f(m) / bytes(c) as f64 * scale;
        columns
            .iter()
            .zip(memory)
            .map(|p| Some(number(figure(p))))
            .collect::<Vec<_>>()
    };
    table.row("allocations / KB", per(&|m| m.allocations, 1e3));
    table.row("peak bytes / byte", per(&|m| m.peak, 1.0));
    table.row("kept bytes / byte", per(&|m| m.kept, 1.0));
    table.print();
    for column in columns {
        for (name, other) in others::CRATES.iter().zip(&column.others) {
            if let Some(Err(why)) = other {
                println!("{name} on the {} file: {why}", column.input.name);
            }
        }
    }
}

/// The largest file for the comparison in which every crate parses every file.
const LARGEST_FOR_ALL: u64 = 400_000;

/// How many compiled files of the corpus other crates can parse.
pub(crate) fn print_coverage(root: &Path, others: &others::Others, budget: Duration) -> Result<()> {
    let entries = crate::files::entries(&[root.join("corpus")])?;
    let wanted = entries
        .iter()
        .filter(|e| e.accepted && e.path.starts_with("compiled/") && e.bytes <= LARGEST_FOR_ALL);
    let files: Vec<PathBuf> = wanted.map(|e| e.root.join(&e.path)).collect();
    for name in others::CRATES {
        let coverage = others.coverage(name, &files);
        print!(
            "{name} reads {} of {} compiled files of the corpus",
            coverage.read,
            files.len()
        );
        if let Some((text, path, theirs)) = coverage.largest
            && let Some(ours) = measure(budget, || ptx_parse::parse(&text))
        {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let (theirs, ours) = (rate(text.len(), theirs.best), rate(text.len(), ours.best));
            let (theirs, ours) = (number(theirs), number(ours));
            print!("; on the largest ({file}) {theirs} MB/s, parse {ours} MB/s");
        }
        println!();
    }
    Ok(())
}

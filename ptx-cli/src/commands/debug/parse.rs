//! `ptxkit debug parse`: one line per file with its contents and the parse time.

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use ptx_ir::{Limits, Module};
use ptx_parse::Parsed;
use serde::Serialize;

use crate::format::{FormatOptions, TextOrJson};
use crate::input::{self, Files, Source};
use crate::output::{Out, Status};
use crate::render::tally;
use ptx_report::{SCHEMA, counted};

/// Summarize files, one line per file
///
/// The exit status is 1 if a file has errors.
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object per file; the same as --format json")))]
#[command(after_help = "\
Examples:
  ptxkit debug parse kernel.ptx
  ptxkit debug parse --json build/
  ptxkit debug parse --timing corpus/

--timing measures parsing alone, without reading the file and printing: the best of several runs,
one file at a time.")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Also report the time that parsing takes
    #[arg(long)]
    timing: bool,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    if args.timing && args.format.is_json() {
        anyhow::bail!("--timing writes text: it cannot be combined with JSON");
    }
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    if args.timing {
        let mut total = Timing::default();
        input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
            let timing = Timing::of(&source);
            total.add(&timing);
            let summary = summary(source);
            writeln!(out, "{}, {timing}", summary.text())?;
            Ok(Status::of(summary.errors > 0))
        })?;
        if inputs.len() > 1 {
            writeln!(out, "total: {total}")?;
        }
    } else {
        input::in_order(&inputs, &mut out, &mut status, summary, |out, summary| {
            if args.format.is_json() {
                out.json(&summary)?;
            } else {
                writeln!(out, "{}", summary.text())?;
            }
            Ok(Status::of(summary.errors > 0))
        })?;
    }
    out.flush()?;
    Ok(status)
}

/// The contents of a file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Summary {
    schema: u32,
    file: String,
    /// The version in the header.
    version: Option<String>,
    target: Option<String>,
    functions: usize,
    statements: usize,
    instructions: usize,
    errors: usize,
    warnings: usize,
}

fn summary(source: Source) -> Summary {
    let Parsed {
        module,
        diagnostics,
        ..
    } = ptx_parse::parse_with(source.bytes.clone(), &Limits::default());
    let (errors, warnings) = tally(&diagnostics);
    let header = module.header();
    Summary {
        schema: SCHEMA,
        file: source.name.clone(),
        version: header.version.map(|v| v.to_string()),
        target: header.target.map(|t| t.to_string()),
        functions: module.functions().len(),
        statements: statements(&module),
        instructions: module.bodies().values().map(|b| b.insts().count()).sum(),
        errors,
        warnings,
    }
}

impl Summary {
    fn text(&self) -> String {
        let version = self.version.as_deref();
        format!(
            "{}: {}, {}, {}, {}, {}, {}, {}",
            self.file,
            version.map_or("no version".to_owned(), |v| format!("PTX {v}")),
            self.target.as_deref().unwrap_or("no target"),
            counted(self.functions, "function"),
            counted(self.statements, "statement"),
            counted(self.instructions, "instruction"),
            counted(self.errors, "error"),
            counted(self.warnings, "warning"),
        )
    }
}

/// The number of statements, at module level and in bodies.
pub(in crate::commands) fn statements(module: &Module) -> usize {
    let bodies: usize = module
        .bodies()
        .values()
        .map(|b| b.statement_table().len())
        .sum();
    module.item_table().len() + bodies
}

/// The shortest time that parsing took.
#[derive(Default)]
struct Timing {
    bytes: usize,
    time: Duration,
}

/// Runs are repeated until their total time is this long.
const MIN_TOTAL_TIME: Duration = Duration::from_millis(300);
/// The largest number of runs.
const MAX_RUNS: u32 = 1000;

impl Timing {
    /// Measures parsing a source.
    fn of(source: &Source) -> Self {
        let limits = Limits::default();
        let bytes = source.bytes.len();

        let (mut shortest, mut total) = (Duration::MAX, Duration::ZERO);
        for _ in 0..MAX_RUNS {
            let shared = source.bytes.clone();
            let begin = Instant::now();
            let parsed = black_box(ptx_parse::parse_with(shared, &limits));
            let time = begin.elapsed();
            drop(parsed);
            shortest = shortest.min(time);
            total += time;
            if total >= MIN_TOTAL_TIME {
                break;
            }
        }
        Self {
            bytes,
            time: shortest,
        }
    }

    fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.time += other.time;
    }
}

impl std::fmt::Display for Timing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.time.as_secs_f64();
        let rate = self.bytes as f64 / seconds.max(1e-9) / 1e6;
        write!(f, "{} bytes, {seconds:.6} s, {rate:.1} MB/s", self.bytes)
    }
}

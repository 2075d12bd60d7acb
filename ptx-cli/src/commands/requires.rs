//! `ptxkit requires`: the targets and versions that a file requires, and the reasons.

use std::io::Write;

use anyhow::Result;
use ptx_ir::{LineIndex, Module, Span};
use ptx_isa::{Arch, Target};
use ptx_report::counted;
use ptx_report::demangle::short_text;
use ptx_report::requirements::{Blocked, Cause, Minimal, Pair, Report, reason};
use ptx_verify::Requirements;

use super::check::target;
use crate::format::{FormatOptions, TextOrJson};
use crate::functions::{Chosen, Functions};
use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};
use crate::render::tally;

/// Report the targets and PTX versions that files require
///
/// Finds the lowest PTX version for each target in which the whole file is legal, whatever its header says. Shows the lowest
/// target of each architecture family: plain (sm_90: it and all newer ones), family-specific (sm_100f) and
/// architecture-specific (sm_90a).
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object per file; the same as --format json")))]
#[command(after_help = "\
Examples:
  ptxkit requires kernel.ptx
  ptxkit requires --kernel axpy kernel.ptx     what a kernel requires, without the rest of the file
  ptxkit requires --target sm_80 kernel.ptx    what prevents it from running there; also with --kernel axpy
  ptxkit requires --json build/")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    functions: Functions,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
    /// Report everything that makes the file, or the chosen functions, illegal on this target; the exit status is 1 if there is anything
    #[arg(long, value_name = "sm_XX", value_parser = target)]
    target: Option<Target>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let mut used = Vec::new();
    let work = |source: Source| {
        let parsed = ptx_parse::parse_with(source.bytes, &Default::default());
        let requirements = ptx_verify::requires(&parsed.module);
        let (errors, _) = tally(&parsed.diagnostics);
        let mut starts: Vec<u32> = parsed.diagnostics.iter().map(|d| d.span.start).collect();
        starts.sort_unstable();
        // The parser has already reported an error in some of the illegal instructions.
        let is_new = |span: &&Span| {
            let next = starts.partition_point(|start| *start < span.start);
            starts.get(next).is_none_or(|start| *start >= span.end)
        };
        let errors = errors + requirements.illegal().iter().filter(is_new).count();
        (source.name, parsed.module, requirements, errors)
    };
    input::in_order(
        &inputs,
        &mut out,
        &mut status,
        work,
        |out, (name, module, requirements, errors)| {
            let chosen = args.functions.choose(&module);
            chosen.note(&mut used);
            let mut report = Report::new(&name, &module, &requirements, args.target);
            report
                .functions
                .retain(|f| chosen.contains_name(&module, Some(f.name)));
            if args.format.is_json() {
                out.json(&report)?;
            } else if !args.functions.is_empty() {
                if args.target.is_some() {
                    for function in &report.functions {
                        let name = format!("{name}: {}", short_text(function.name));
                        write_blocked(&name, function.blocked.as_ref(), out)?;
                    }
                } else {
                    write_functions(&name, &module, &requirements, &chosen, out)?;
                }
            } else {
                write(&report, errors, out)?;
            }
            if errors > 0 {
                out.flush()?;
                let count = counted(errors, "error");
                output::note(format_args!(
                    "ptxkit: {name}: {count} in the text; statements with errors are not included in the requirements, `ptxkit check` lists all errors"
                ));
            }
            let is_illegal = if args.functions.is_empty() {
                is_blocked(report.blocked.as_ref())
            } else {
                report
                    .functions
                    .iter()
                    .any(|f| is_blocked(f.blocked.as_ref()))
            };
            Ok(Status::of(is_illegal || errors > 0))
        },
    )?;
    args.functions.check(&used)?;
    out.flush()?;
    Ok(status)
}

/// Writes the requirements of the chosen functions, each with its reasons at their first use in the function.
fn write_functions(
    file: &str,
    module: &Module,
    requirements: &Requirements,
    chosen: &Chosen,
    out: &mut impl Write,
) -> Result<()> {
    let lines = LineIndex::new(module.source());
    let mut minimal = Minimal::default();
    for (id, availability) in requirements.functions() {
        let Some(function) = module.functions().get(*id).filter(|_| chosen.contains(*id)) else {
            continue;
        };
        let name = short_text(module.name(function.name));
        for pair in minimal.of(availability) {
            writeln!(out, "{file}: {name}: {}", pair.text())?;
        }
        for (cause, span) in requirements.reasons_of(*id) {
            let start = lines.position(span.start);
            let text = reason(cause.what(), 1, &minimal.of(cause.availability()));
            writeln!(out, "  {}:{}: {text}", start.line, start.column)?;
        }
    }
    Ok(())
}

fn write(report: &Report<'_>, errors: usize, out: &mut impl Write) -> Result<()> {
    // There is no answer about a text of which nothing could be read.
    if errors > 0 && report.functions.is_empty() {
        return Ok(());
    }
    match &report.blocked {
        Some(_) => write_blocked(report.file, report.blocked.as_ref(), out),
        None => {
            if report.minimal.is_empty() {
                writeln!(
                    out,
                    "{}: not legal on any target as a whole: no version and target have all of these",
                    report.file
                )?;
                return write_causes(out, &report.reasons);
            }
            for pair in &report.minimal {
                writeln!(out, "{}: {}", report.file, pair.text())?;
            }
            // The causes of the requirements of the first plain target.
            let lowest = report
                .minimal
                .iter()
                .find(|pair| pair.target.arch() == Arch::Plain)
                .or(report.minimal.first());
            let has_requirement =
                |pair: &Pair| lowest.is_some_and(|l| pair.target == l.target || pair.ptx == l.ptx);
            let causes = report
                .reasons
                .iter()
                .filter(|cause| cause.minimal.iter().any(has_requirement));
            write_causes(out, causes)
        }
    }
}

fn is_blocked(blocked: Option<&Blocked>) -> bool {
    blocked.is_some_and(|blocked| blocked.ptx.is_none())
}

/// Writes what prevents a file or a function from running on the requested target.
fn write_blocked(name: &str, blocked: Option<&Blocked>, out: &mut impl Write) -> Result<()> {
    let Some(blocked) = blocked else {
        return Ok(());
    };
    let target = blocked.target;
    match &blocked.ptx {
        Some(ptx) => writeln!(out, "{name}: legal on {target} with PTX {ptx}")?,
        None => writeln!(out, "{name}: not legal on {target}")?,
    }
    write_causes(out, &blocked.reasons)
}

fn write_causes<'c>(
    out: &mut impl Write,
    causes: impl IntoIterator<Item = &'c Cause>,
) -> Result<()> {
    for cause in causes {
        writeln!(out, "  {}", cause.text())?;
    }
    Ok(())
}

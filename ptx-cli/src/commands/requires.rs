//! `ptxkit requires`: the targets and versions that a file requires, and the reasons.

use std::io::Write;

use anyhow::Result;
use ptx_isa::{Arch, Target};
use ptx_report::requirements::{Cause, Pair, Report};

use super::check::target;
use crate::format::{FormatOptions, TextOrJson};
use crate::input::{self, Files, Source};
use crate::output::{Out, Status};

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
  ptxkit requires --target sm_80 kernel.ptx    what prevents it from running there
  ptxkit requires --json build/")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
    /// Report everything that makes the file illegal on this target; the exit status is 1 if there is anything
    #[arg(long, value_name = "sm_XX", value_parser = target)]
    target: Option<Target>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let work = |source: Source| {
        let parsed = ptx_parse::parse_with(source.bytes, &Default::default());
        let requirements = ptx_verify::requires(&parsed.module);
        (source.name, parsed.module, requirements)
    };
    input::in_order(
        &inputs,
        &mut out,
        &mut status,
        work,
        |out, (name, module, requirements)| {
            let report = Report::new(&name, &module, &requirements, args.target);
            if args.format.is_json() {
                out.json(&report)?;
            } else {
                write(&report, out)?;
            }
            let is_illegal = args
                .target
                .is_some_and(|target| requirements.module().lowest(target).is_none());
            Ok(Status::of(is_illegal))
        },
    )?;
    out.flush()?;
    Ok(status)
}

fn write(report: &Report<'_>, out: &mut impl Write) -> Result<()> {
    match &report.blocked {
        Some(blocked) => {
            let target = blocked.target;
            match &blocked.ptx {
                Some(ptx) => writeln!(out, "{}: legal on {target} with PTX {ptx}", report.file)?,
                None => writeln!(out, "{}: not legal on {target}", report.file)?,
            }
            write_causes(out, &blocked.reasons)
        }
        None => {
            if report.minimal.is_empty() {
                writeln!(out, "{}: not legal on any target as a whole", report.file)?;
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

fn write_causes<'c>(
    out: &mut impl Write,
    causes: impl IntoIterator<Item = &'c Cause>,
) -> Result<()> {
    for cause in causes {
        writeln!(out, "  {}", cause.text())?;
    }
    Ok(())
}

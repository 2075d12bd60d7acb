//! `ptxkit requires`: the targets and versions that a file requires, and why.

use std::io::Write;

use anyhow::Result;
use ptx_isa::{Arch, Target};
use ptx_report::requirements::{Cause, Pair, Report};

use super::check::target;
use crate::input::{self, Files, Source};
use crate::output::{Out, Status};

/// Report the targets and PTX versions that files require
///
/// Finds the lowest PTX version for each target in which the whole file is legal, whatever its header says. Shows the lowest
/// target of each architecture family: plain (sm_90: it and all newer ones), family-specific (sm_100f) and
/// architecture-specific (sm_90a).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit requires kernel.ptx
  ptxkit requires --target sm_80 kernel.ptx    what prevents it from running there
  ptxkit requires --json build/")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Write one JSON object per file
    #[arg(long)]
    json: bool,
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
        let needs = ptx_verify::requires(&parsed.module);
        (source.name, parsed.module, needs)
    };
    input::in_order(
        &inputs,
        &mut out,
        &mut status,
        work,
        |out, (name, module, needs)| {
            let report = Report::new(&name, &module, &needs, args.target);
            if args.json {
                out.json(&report)?;
            } else {
                write(&report, out)?;
            }
            Ok(Status::of(
                args.target
                    .is_some_and(|t| needs.module().lowest(t).is_none()),
            ))
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
            causes(out, &blocked.reasons)
        }
        None => {
            if report.minimal.is_empty() {
                writeln!(out, "{}: not legal on any target as a whole", report.file)?;
            }
            for pair in &report.minimal {
                writeln!(out, "{}: {}", report.file, pair.text())?;
            }
            let plain = |p: &&Pair| p.target.arch() == Arch::Plain;
            let first = report.minimal.iter().find(plain).or(report.minimal.first());
            let same = |c: &&Cause| {
                first.is_some_and(|f| {
                    c.minimal
                        .iter()
                        .any(|p| p.target == f.target || p.ptx == f.ptx)
                })
            };
            let forcing: Vec<&Cause> = report.reasons.iter().filter(same).collect();
            causes(out, forcing)
        }
    }
}

fn causes<'c>(out: &mut impl Write, causes: impl IntoIterator<Item = &'c Cause>) -> Result<()> {
    for cause in causes {
        writeln!(out, "  {}", cause.text())?;
    }
    Ok(())
}

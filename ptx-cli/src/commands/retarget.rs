//! `ptxkit retarget`: changes the target and the version in the header.

use std::collections::HashSet;
use std::io::Write;

use anyhow::{Context as _, Result};
use ptx_ir::{Code, Diagnostic, Item, Module, Severity};
use ptx_isa::{Directive, PtxVersion, Target};
use ptx_report::requirements;
use ptx_verify::Options;

use super::check::{target, version};
use super::rewrite::Read;
use crate::destination::{Destination, Refusal, Writer};
use crate::input::{self, Files, Source};
use crate::output::{Out, Status};

/// Change the target of a file, or report what prevents it
///
/// All bytes except the target and the version stay unchanged. By default the result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit retarget --target sm_90a kernel.ptx > hopper.ptx
  ptxkit retarget --target sm_80 --ptx-version lowest kernel.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
    /// New target
    #[arg(long, value_name = "sm_XX", value_parser = target)]
    target: Target,
    /// New PTX version; by default the old one, or the first that supports the target. `lowest` is the first version in which
    /// the file is legal on the target
    #[arg(long, value_name = "X.Y|lowest", value_parser = wanted)]
    ptx_version: Option<Wanted>,
}

#[derive(Copy, Clone, Debug)]
enum Wanted {
    Lowest,
    Version(PtxVersion),
}

fn wanted(text: &str) -> Result<Wanted, String> {
    match text {
        "lowest" => Ok(Wanted::Lowest),
        text => version(text).map(Wanted::Version),
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let writer = args.destination.open(&args.files, &inputs)?;
    input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
        one(out, &writer, source, args)
    })?;
    out.flush()?;
    Ok(status)
}

fn one(out: &mut Out, writer: &Writer<'_>, source: Source, args: &Args) -> Result<Status> {
    let (read, mut found) = Read::new(source);
    let module = &read.module;
    let (version, target) = (choose(module, args), args.target);
    let options = Options::new(Some(version), Some(target));
    found.extend(ptx_verify::verify(module, &options));
    // The new header fixes errors of the old one.
    let header = header_end(module);
    found.retain(|d| d.span.start >= header);
    // What the target does not have is reported once, with the number of places, unless it has another error.
    let is_missing = |d: &Diagnostic| matches!(d.code, Code::Unavailable | Code::Withdrawn);
    let mut blocking = match found.iter().any(is_missing) {
        true => requirements::blocking(&read.source.name, module, target),
        false => Vec::new(),
    };
    let others = found
        .iter()
        .filter(|d| d.severity == Severity::Error && !is_missing(d));
    let others = others.map(|d| read.lines.position(d.span.start).line);
    let others: HashSet<u32> = others.collect();
    blocking.retain(|cause| !others.contains(&cause.line));
    if !blocking.is_empty() {
        found.retain(|d| !is_missing(d));
    }
    let why = format_args!("not legal in PTX {version} on {target}");
    let refusal = Refusal::errors(found, why).with_blocked(blocking);
    if refusal.has_causes() {
        return writer.refuse(out, &read.report(), refusal);
    }
    let text = ptx_verify::retarget(module, target, version);
    let text = text.context("the header has no `.version` or no `.target`")?;
    writer.write(out, &read.source, &text)
}

/// The version to write.
fn choose(module: &Module, args: &Args) -> PtxVersion {
    let floor = args.target.min_version();
    match args.ptx_version {
        Some(Wanted::Version(version)) => version,
        Some(Wanted::Lowest) => {
            let lowest = ptx_verify::requires(module).module().lowest(args.target);
            lowest.unwrap_or(PtxVersion::CURRENT)
        }
        None => module.header().version.map_or(floor, |v| v.max(floor)),
    }
}

/// The end of the directives of the header.
fn header_end(module: &Module) -> u32 {
    let header = |item: Item| match item {
        Item::Directive(id) => module
            .directives()
            .get(id)
            .is_some_and(|d| matches!(d.directive, Directive::Version | Directive::Target)),
        _ => false,
    };
    let spans = module
        .items()
        .filter(|(_, i)| header(*i))
        .map(|(id, _)| module.span(id));
    spans.map(|s| s.end).max().unwrap_or(0)
}

//! `ptxkit retarget`: changes the target and the version in the header.

use std::io::Write;

use anyhow::{Result, bail};
use ptx_ir::Module;
use ptx_isa::Target;
use ptx_report::retarget::{Version, retarget};

use super::check::{target, version};
use super::rewrite::ParsedSource;
use crate::destination::{Destination, Refusal, Writer};
use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};

/// Change the target of a file, or report the reasons why that is impossible
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
    #[arg(long, value_name = "X.Y|lowest", value_parser = new_version)]
    ptx_version: Option<Version>,
}

fn new_version(text: &str) -> Result<Version, String> {
    match text {
        "lowest" => Ok(Version::Lowest),
        text => version(text).map(Version::Exactly),
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let writer = args.destination.open(&args.files, &inputs)?;
    input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
        retarget_source(out, &writer, source, args)
    })?;
    out.flush()?;
    writer.summary();
    Ok(status)
}

/// `PTX 8.0 and sm_90` for the header of a module.
fn header_text(module: &Module) -> String {
    let header = module.header();
    let version = header.version.map_or("?".to_owned(), |v| v.to_string());
    let target = header.target.map_or("no target", Target::text);
    format!("PTX {version} and {target}")
}

fn retarget_source(
    out: &mut Out,
    writer: &Writer<'_>,
    source: Source,
    args: &Args,
) -> Result<Status> {
    let (parsed, diagnostics) = ParsedSource::new(source);
    let name = &parsed.source.name;
    let version = args.ptx_version.unwrap_or_default();
    match retarget(name, &parsed.module, diagnostics, args.target, version) {
        Ok(text) => {
            let status = writer.write(out, &parsed.source, &text)?;
            let retargeted = ptx_parse::parse(&text).module;
            output::success(format_args!(
                "{name}: {} became {}",
                header_text(&parsed.module),
                header_text(&retargeted)
            ));
            Ok(status)
        }
        Err(refused) => {
            let refusal =
                Refusal::errors(refused.errors, &refused.why).with_blocked(refused.blocked);
            if !refusal.has_causes() {
                bail!(refused.why);
            }
            writer.refuse(out, &parsed.report(), refusal)
        }
    }
}

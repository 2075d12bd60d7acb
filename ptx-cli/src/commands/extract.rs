//! `ptxkit extract`: some functions of a file with their dependencies, or the remaining part of the file.

use anyhow::Result;
use ptx_ir::{Diagnostic, Module};
use ptx_transform::{ExtractError, Rewriting};

use super::rewrite;
use super::select_functions;
use crate::destination::Destination;
use crate::input::Files;
use crate::output::{self, Status};
use ptx_report::demangle::FunctionPattern;

/// Extract functions with everything they depend on
///
/// The functions and variables that they reference, directly or through variables and aliases, are kept unchanged with their
/// comments. By default the result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit extract --kernel axpy library.ptx > axpy.ptx
  ptxkit extract --kernel axpy --kernel dot library.ptx

To split a file into two parts that `ptxkit link` combines again:
  ptxkit extract --kernel axpy --linkable library.ptx > part.ptx
  ptxkit extract --kernel axpy --rest library.ptx > rest.ptx
  ptxkit link part.ptx rest.ptx > library.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
    /// Kernel or function to extract: its name, mangled or demangled, or a pattern with `*` and `?`
    #[arg(long, visible_alias = "function", required = true, value_name = "NAME")]
    kernel: Vec<FunctionPattern>,
    /// Make all symbols visible that the rest of the file references, so that the two parts can be linked
    #[arg(long)]
    linkable: bool,
    /// Write the rest of the file instead, with shared functions and variables declared external
    #[arg(long, conflicts_with = "linkable")]
    rest: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::rewrite(&args.files, &args.destination, |out, writer, parsed| {
        let names = select_functions(&parsed.module, &args.kernel)?;
        match extract(&parsed.module, &names, args) {
            Ok(extracted) => {
                for note in &extracted.report {
                    output::note(parsed.report().short(note));
                }
                writer.write(out, &parsed.source, extracted.text())
            }
            Err(error) => {
                output::note(format_args!("ptxkit: {}: {error}", parsed.source.name));
                Ok(Status::UsageError)
            }
        }
    })
}

fn extract(
    module: &Module,
    names: &[&str],
    args: &Args,
) -> Result<Rewriting<Vec<Diagnostic>>, ExtractError> {
    if !args.rest && !args.linkable {
        return ptx_transform::extract(module, names);
    }
    let split = ptx_transform::split(module, names)?;
    if args.rest {
        return Ok(split.rest);
    }
    if !split.exported.is_empty() {
        let names = split.exported.join(" --hide ");
        output::summary(format_args!(
            "ptxkit: made visible; to undo this when linking, use --hide {names}"
        ));
    }
    Ok(split.part)
}

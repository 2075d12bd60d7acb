//! `ptxkit renumber`: numbers registers without gaps.

use anyhow::Result;

use super::rewrite;
use crate::destination::Destination;
use crate::input::Files;
use crate::output::Status;

/// Number the registers of each range without gaps
///
/// Unused registers are removed, and the counts of declarations are reduced. A range whose members have the same names as
/// something else keeps its numbers. By default the result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit renumber kernel.ptx > dense.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::run(&args.files, &args.destination, |_, module| {
        Ok(ptx_transform::renumber(module))
    })
}

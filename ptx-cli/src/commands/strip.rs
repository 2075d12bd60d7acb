//! `ptxkit strip`: removes comments and debug information.

use anyhow::Result;

use super::rewrite;
use crate::destination::Destination;
use crate::input::Files;
use crate::output::Status;

/// Remove comments and debug information
///
/// Also removes `.loc`, `.file`, debug sections, the option `debug` of `.target` and line markers. Everything else stays,
/// such as `.pragma`. By default the result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit strip kernel.ptx > bare.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::run(&args.files, &args.destination, |_, module| {
        Ok(ptx_transform::strip(module))
    })
}

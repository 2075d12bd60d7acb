//! `ptxkit flatten`: removes inner scopes.

use anyhow::Result;

use super::rewrite;
use crate::destination::Destination;
use crate::input::Files;
use crate::output::Status;

/// Remove the inner scopes `{ }` of functions
///
/// Names that are declared in several scopes get numbers: `param0` becomes `param0_1`. By default the result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit flatten kernel.ptx | ptxkit renumber - > flat.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::run(&args.files, &args.destination, |_, module| {
        Ok(ptx_transform::flatten(module))
    })
}

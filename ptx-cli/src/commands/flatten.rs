//! `ptxkit flatten`.

use anyhow::Result;

use super::rewrite;
use crate::input::Files;
use crate::output::Status;

/// Write files without `{ }` inside functions
///
/// What inner scopes declare is told apart by numbers: `param0` becomes `param0_1`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit flatten kernel.ptx | ptxkit renumber - > flat.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::run(&args.files, |_, module| Ok(ptx_transform::flatten(module)))
}

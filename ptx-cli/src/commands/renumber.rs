//! `ptxkit renumber`.

use anyhow::Result;

use super::rewrite;
use crate::input::Files;
use crate::output::Status;

/// Write files with the registers of each range numbered without gaps
///
/// Registers that nothing mentions go, and the counts of declarations become as small as they can be. A range whose members
/// share their names with something else keeps its numbers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit renumber kernel.ptx > dense.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::run(&args.files, |_, module| Ok(ptx_transform::renumber(module)))
}

//! `ptx strip`: without comments and debug information.

use anyhow::Result;
use ptx_transform::Strip;

use super::rewrite;
use crate::input::Files;
use crate::output::Status;

/// Write a file without comments and debug information
///
/// `.loc`, `.file`, debug sections, the labels that only these mention, and `debug` in `.target` go. Every byte that stays is
/// what it was. The result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptx strip kernel.ptx > small.ptx
  ptx strip --comments kernel.ptx      keeps line information")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Only comments
    #[arg(long, conflicts_with = "debug")]
    comments: bool,
    /// Only debug information
    #[arg(long)]
    debug: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let what = Strip {
        comments: !args.debug,
        debug: !args.comments,
    };
    rewrite::one(&args.files, |m| Ok(ptx_transform::strip(m, what).text))
}

//! `ptxkit strip`.

use anyhow::Result;

use super::rewrite;
use crate::input::Files;
use crate::output::Status;

/// Write files without comments and debug information
///
/// `.loc`, `.file`, debug sections, `debug` in `.target` and line markers go. What has a meaning besides, such as `.pragma`, stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit strip kernel.ptx > bare.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::run(&args.files, |_, module| Ok(ptx_transform::strip(module)))
}

//! `ptx flatten`: functions without inner scopes.

use anyhow::Result;

use super::rewrite;
use crate::input::Files;
use crate::output::Status;

/// Take away the braces of inner scopes
///
/// What is declared in them gets another name where something has its name already. Every other byte stays. The result goes
/// to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  ptx flatten kernel.ptx > flat.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::one(&args.files, |m| Ok(ptx_transform::flatten(m).text))
}

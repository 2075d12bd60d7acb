//! `ptx renumber`: registers without gaps.

use anyhow::Result;

use super::rewrite;
use crate::input::Files;
use crate::output::Status;

/// Number the registers of every range from 0 in the order of their first mention
///
/// Ranges become as long as there are registers; declared registers that nothing mentions go. Every other byte stays. The
/// result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  ptx renumber kernel.ptx > dense.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::one(&args.files, |m| Ok(ptx_transform::renumber(m).text))
}

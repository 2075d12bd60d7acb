//! `ptx minify`: the shortest text of a program.

use anyhow::Result;
use ptx_transform::Minify;

use super::rewrite;
use crate::input::Files;
use crate::output::{self, Status};

/// Write a file as short as its words allow
///
/// White space and comments go; registers, labels, parameters and the `.shared` and `.local` variables of functions get short
/// names. The machine code stays the same. The result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptx minify kernel.ptx > kernel.min.ptx
  ptx strip --debug kernel.ptx | ptx minify --symbols --dead -")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Shorten also names of the module that other modules cannot see
    #[arg(long)]
    symbols: bool,
    /// Remove declarations, labels, functions and variables that nothing mentions
    #[arg(long)]
    dead: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let what = Minify {
        symbols: args.symbols,
        dead: args.dead,
    };
    rewrite::one(&args.files, |module| {
        let text = ptx_transform::minify(module, what).text;
        let (before, after) = (module.source().len(), text.len());
        output::note(format_args!("{before} bytes became {after}"));
        Ok(text)
    })
}

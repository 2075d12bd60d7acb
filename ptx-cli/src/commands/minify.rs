//! `ptxkit minify`: makes files as small as possible.

use anyhow::Result;
use ptx_transform::MinifyOptions;

use super::rewrite;
use crate::destination::Destination;
use crate::input::Files;
use crate::output::{self, Status};

/// Make files as small as possible
///
/// Removes whitespace, comments and unused registers, and shortens the names of registers, labels, parameters and local
/// variables; the machine code stays the same. Debug information is kept; remove it first with `ptxkit strip`. By default the
/// result goes to standard output; the sizes go to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit minify kernel.ptx > small.ptx
  ptxkit strip kernel.ptx | ptxkit minify --symbols --dead - > smallest.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
    /// Also rename functions and variables that are not visible to other modules
    #[arg(long)]
    symbols: bool,
    /// Remove functions and variables that are not visible to other modules and not used by kernels
    #[arg(long)]
    dead: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let options = MinifyOptions::default()
        .with_symbols(args.symbols)
        .with_dead(args.dead);
    rewrite::transform(&args.files, &args.destination, |source, module| {
        let rewriting = ptx_transform::minify(module, &options);
        let (old_size, new_size) = (source.bytes.len(), rewriting.text().len());
        let percent = 100.0 * new_size as f64 / old_size.max(1) as f64;
        output::summary(format_args!(
            "{}: {old_size} bytes became {new_size} ({percent:.1} %)",
            source.name
        ));
        Ok(rewriting)
    })
}

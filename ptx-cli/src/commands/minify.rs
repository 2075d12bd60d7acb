//! `ptxkit minify`.

use anyhow::Result;
use ptx_transform::Minify;

use super::rewrite;
use crate::input::Files;
use crate::output::{self, Status};

/// Write files as small as they can be
///
/// White space, comments and the names of registers, labels, parameters and variables of functions change, and registers that
/// nothing mentions go; the machine code stays. Debug information stays as well: `ptxkit strip` takes it away before. The sizes
/// go to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit minify kernel.ptx > small.ptx
  ptxkit strip kernel.ptx | ptxkit minify --symbols --dead - > smallest.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Also rename functions and variables that no other module can see
    #[arg(long)]
    symbols: bool,
    /// Leave out functions and variables that no other module can see and no kernel reaches
    #[arg(long)]
    dead: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let how = Minify {
        symbols: args.symbols,
        dead: args.dead,
    };
    rewrite::run(&args.files, |source, module| {
        let new = ptx_transform::minify(module, how);
        let (before, after) = (source.bytes.len(), new.text.len());
        let percent = 100.0 * after as f64 / before.max(1) as f64;
        let name = &source.name;
        output::note(format_args!(
            "{name}: {before} bytes became {after} ({percent:.1} %)"
        ));
        Ok(new)
    })
}

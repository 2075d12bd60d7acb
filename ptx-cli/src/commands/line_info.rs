//! `ptxkit line-info`: source lines that name the PTX file itself.

use std::path::Path;

use anyhow::Result;

use super::rewrite;
use crate::destination::Destination;
use crate::input::{Files, Source};
use crate::output::Status;

/// Replace source lines by the lines of the PTX file
///
/// Afterwards profilers and debuggers such as Nsight Compute show PTX where they would show the source: compile the result with
/// `ptxas --generate-line-info`. The result has the lines of the input: an instruction is in the same line of both. By default the result goes to
/// standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit line-info kernel.ptx -o lines.ptx && ptxas --generate-line-info -arch=sm_90a lines.ptx -o kernel.cubin")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
    /// The path that profilers open [default: the absolute path of the input]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::transform(&args.files, &args.destination, |source, module| {
        let path = args.path.clone().unwrap_or_else(|| path_of(source));
        Ok(ptx_transform::line_info(module, &path))
    })
}

/// The absolute path of a file; the name of an input that is not a file.
fn path_of(source: &Source) -> String {
    let absolute = source
        .origin
        .file()
        .and_then(|path| std::path::absolute(path).ok());
    match absolute.as_deref().map(Path::to_string_lossy) {
        Some(path) => path.into_owned(),
        None => source.name.to_string(),
    }
}

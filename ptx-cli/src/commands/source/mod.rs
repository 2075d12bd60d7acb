//! `ptxkit source`: PTX beside the source lines that it comes from.

pub(super) mod annotated;
mod attribution;
pub(super) mod files;
pub(super) mod listing;
pub(crate) mod schema;

use std::io::Write as _;

use anyhow::Result;
use clap::ValueEnum;
use ptx_ir::Limits;

use crate::format::{FormatOptions, TextOrJson};
use crate::functions::Functions;
use crate::input::{self, Files};
use crate::output::{self, Out, Status};
use files::{Search, Sources};
use listing::Listing;

/// Print PTX with the source lines from which it was generated
///
/// Requires a module with source lines, which `nvcc -lineinfo` writes. Each source line is followed by the statements that were generated
/// from it; for inlined code, the calls come first. Sources are searched at the path in the module, then in each --source-dir, in the
/// directory of the PTX file and in the current directory, also without the leading directories of the path. Otherwise the source text in
/// the module is used. If there is none, lines are shown as FILE:LINE.
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object per file; the same as --format json")))]
#[command(after_help = "\
Examples:
  ptxkit source kernel.ptx
  ptxkit source --function 'gemm*' --map /build=. kernel.ptx
  ptxkit source --by source --source-dir src kernel.ptx      the sources with the instructions of each line
  ptxkit source --by source --counts kernel.ptx              only the number of instructions")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    functions: Functions,
    /// The order of the output
    #[arg(long, value_enum, default_value_t = By::Ptx)]
    by: By,
    /// With --by source: show only the number of instructions of each line
    #[arg(long)]
    counts: bool,
    #[command(flatten)]
    search: Search,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
}

#[derive(Copy, Clone, PartialEq, Debug, ValueEnum)]
enum By {
    /// In the order of the PTX file
    Ptx,
    /// In the order of the source files, each line with the instructions that were generated from it
    Source,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    anyhow::ensure!(
        !args.counts || args.by == By::Source,
        "--counts needs `--by source`"
    );
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let mut sources = Sources::new(&args.search);
    let mut used = Vec::new();
    input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
        let module = ptx_parse::parse_with(source.bytes.clone(), &Limits::default()).module;
        let chosen = args.functions.choose(&module);
        chosen.note(&mut used);
        let mut listing = Listing::new(&module, &chosen);
        if listing.has_no_lines() {
            let name = &source.name;
            output::summary(format_args!(
                "ptxkit: note: {name} has no source lines; `nvcc -lineinfo` writes them"
            ));
        }
        sources.enter(source.origin.file(), std::mem::take(&mut listing.embedded));
        let (file, sources, counts) = (&*source.name, &mut sources, args.counts);
        match (args.by, args.format.is_json()) {
            (By::Ptx, false) => annotated::write(&listing, sources, out)?,
            (By::Ptx, true) => out.json(&annotated::json(file, &listing, sources))?,
            (By::Source, false) => {
                let hits = attribution::hits(&listing);
                attribution::write(&listing, &hits, counts, sources, out)?;
            }
            (By::Source, true) => {
                let hits = attribution::hits(&listing);
                let object = attribution::json(file, &listing, &hits, counts, sources);
                out.json(&object)?;
            }
        }
        Ok(Status::Ok)
    })?;
    args.functions.check(&used)?;
    out.flush()?;
    sources.note_missing();
    Ok(status)
}

//! `ptxkit analyze`: control flow, liveness and effects of every function.

mod json;
#[cfg(test)]
pub(crate) mod schema;
mod text;
mod uniform;
mod values;

use std::io::Write;

use anyhow::Result;

use crate::functions::Functions;
use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};
use crate::select::{Fields, Selection};

/// Analyse functions: control flow, dominators, loops, liveness and register pressure
///
/// Files with errors are analyzed, too: an unrecognized statement is assumed to have arbitrary effects.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit analyze kernel.ptx                one line per function
  ptxkit analyze --json kernel.ptx         blocks, dominators, loops and live registers
  ptxkit analyze --json --insts build/     also what each instruction reads and writes
  ptxkit analyze --json --insts --function gemm --fields name,mnemonic,space kernel.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    functions: Functions,
    /// One JSON object per file
    #[arg(long)]
    json: bool,
    /// Include what each instruction reads and writes, its memory accesses, affine forms of its results, and which threads have the same
    #[arg(long, requires = "json")]
    insts: bool,
    #[command(flatten)]
    fields: Fields,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let fields = args.fields.selection();
    let work = |source: Source| {
        let module = ptx_parse::parse_shared(source.bytes, &ptx_ir::Limits::default()).module;
        let chosen = args.functions.choose(&module);
        let mut bytes = Vec::new();
        let mut warnings = Vec::new();
        if args.json {
            let options = json::Options {
                insts: args.insts,
                functions: &chosen,
                fields: fields.as_ref(),
            };
            warnings = json::write(&source.name, &module, &options, &mut bytes)?;
        } else {
            text::write(&source.name, &module, &chosen, &mut bytes);
        }
        Ok((bytes, warnings, chosen))
    };
    let mut used = Vec::new();
    input::in_order(
        &inputs,
        &mut out,
        &mut status,
        work,
        |out, analyzed: Result<_>| {
            let (bytes, warnings, chosen) = analyzed?;
            chosen.note(&mut used);
            for warning in warnings {
                output::note(format_args!("ptxkit: warning: {warning}"));
            }
            out.write_all(&bytes)?;
            Ok(Status::Ok)
        },
    )?;
    args.functions.check(&used)?;
    out.flush()?;
    fields.iter().try_for_each(Selection::check)?;
    Ok(status)
}

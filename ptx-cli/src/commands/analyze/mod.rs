//! `ptxkit analyze`: what every function does, for programs to read.

mod json;
mod register_names;
mod text;

use std::io::Write;

use anyhow::Result;

use crate::input::{self, Files, Source};
use crate::output::{Out, Status};

/// Control flow, dominators, loops, liveness and register pressure of every function
///
/// Files with errors are analysed as far as they were understood: of what was not understood, the worst is assumed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit analyze kernel.ptx                a line for each function
  ptxkit analyze --json kernel.ptx         blocks with what is live in them
  ptxkit analyze --json --insts build/     and what each instruction reads and writes")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// One JSON object for each file
    #[arg(long)]
    json: bool,
    /// Tell also what each instruction reads, writes and reaches
    #[arg(long, requires = "json")]
    insts: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list(&mut status)?;
    let work = |source: Source| {
        let module = ptx_parse::parse_shared(source.bytes, &ptx_ir::Limits::default()).module;
        let mut bytes = Vec::new();
        if args.json {
            json::write(&source.name, &module, args.insts, &mut bytes);
        } else {
            text::write(&source.name, &module, &mut bytes);
        }
        bytes
    };
    input::in_order(&inputs, &mut out, &mut status, work, |out, bytes| {
        out.write_all(&bytes)?;
        Ok(Status::Ok)
    })?;
    out.flush()?;
    Ok(status)
}

//! `ptxkit dump`: everything that is in a file as JSON.

mod body;
mod items;
mod operand;
#[cfg(test)]
pub(crate) mod schema;
mod writer;

use std::io::Write as _;

use anyhow::Result;
use clap::ValueEnum;
use ptx_ir::{Limits, LineIndex};

use crate::functions::Functions;
use crate::input::{self, Files};
use crate::output::{Out, Status};
use crate::select::Selection;
use writer::Writer;

/// Write everything in a file as JSON: declarations, directives, and instructions with operands and effects
///
/// Files with errors are written, too: an unrecognized statement is assumed to have arbitrary effects.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit dump kernel.ptx                                   one JSON object per line, in the order of the file
  ptxkit dump --format json kernel.ptx                     one object for the whole file
  ptxkit dump --function gemm --fields opcode,modifiers kernel.ptx
  ptxkit dump build/ | jq -c 'select(.record == \"declaration\" and .space == \"shared\")'")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    functions: Functions,
    /// Layout of the output
    #[arg(long, value_enum, default_value_t = Format::Ndjson)]
    format: Format,
    /// Write only these keys, separated by commas. A key applies wherever it occurs; `memory.space` applies only below `memory`
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    fields: Vec<String>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// One object per file
    Json,
    /// One object per line for each statement
    Ndjson,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let fields = Selection::of(&args.fields);
    let mut used = Vec::new();
    input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
        let module = ptx_parse::parse_shared(source.bytes, &Limits::default()).module;
        let chosen = args.functions.choose(&module);
        chosen.note(&mut used);
        let everything = args.functions.is_empty();
        let functions = (!everything).then_some(&chosen);
        let lines = LineIndex::new(module.source());
        Writer::new(&module, &lines, args.format, fields.as_ref(), out)
            .file(&source.name, functions)?;
        Ok(Status::Ok)
    })?;
    args.functions.check(&used)?;
    out.flush()?;
    fields.iter().try_for_each(Selection::check)?;
    Ok(status)
}

//! `ptxkit dump`: everything that is in a file as JSON, with the results of analyses on request.

mod writer;

use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use ptx_ir::{FuncId, Limits};
use ptx_report::demangle::display_name;
use ptx_report::records::{Function, ModuleRecords, Record};

use crate::format::{FormatOptions, OutputFormat};
use crate::functions::{Chosen, Functions};
use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};
use crate::select::Selection;
use writer::Writer;

/// Write everything in a file as JSON: declarations, directives, instructions with operands and effects, and results of analyses
///
/// Files with errors are written, too: an unrecognized statement is assumed to have arbitrary effects.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit dump kernel.ptx                                   one JSON object per line, in the order of the file
  ptxkit dump --format json kernel.ptx                     one object for the whole file
  ptxkit dump --function gemm --fields opcode,modifiers kernel.ptx
  ptxkit dump --analysis --fields blocks,pressure,name kernel.ptx
  ptxkit dump build/ | jq -c 'select(.record == \"declaration\" and .space == \"shared\")'")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    functions: Functions,
    /// Add blocks, dominators, loops, live registers and register pressure to functions, and affine forms, provenance, access patterns and
    /// uniformity to instructions
    #[arg(long)]
    analysis: bool,
    #[command(flatten)]
    format: FormatOptions<Format>,
    /// Write only these keys, separated by commas. A key applies wherever it occurs; `memory.space` applies only below `memory`
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    fields: Vec<String>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// One object per file
    Json,
    /// One object per line for each statement
    #[default]
    Ndjson,
}

impl OutputFormat for Format {
    const JSON: Self = Self::Json;
    const HELP: &'static str = "Layout of the output [default: ndjson]";
}

/// The result of the dump of a file, apart from the output.
struct Dumped {
    chosen: Chosen,
    warnings: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    output::set_json(true);
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let fields = Selection::of(&args.fields);
    let mut used = Vec::new();
    let mut finish = |dumped: Dumped| {
        dumped.chosen.note(&mut used);
        for warning in dumped.warnings {
            output::note(format_args!("ptxkit: warning: {warning}"));
        }
        Status::Ok
    };
    if args.analysis && inputs.len() > 1 {
        // Analyses take longer than the output, which is kept in memory until it is its turn.
        let work = |source: Source| -> Result<_> {
            let mut bytes = Vec::new();
            let dumped = dump(args, source, fields.as_ref(), &mut bytes)?;
            Ok((bytes, dumped))
        };
        input::in_order(&inputs, &mut out, &mut status, work, |out, result| {
            let (bytes, dumped) = result?;
            out.write_all(&bytes)?;
            Ok(finish(dumped))
        })?;
    } else {
        input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
            Ok(finish(dump(args, source, fields.as_ref(), out)?))
        })?;
    }
    args.functions.check(&used)?;
    out.flush()?;
    fields.iter().try_for_each(Selection::check)?;
    Ok(status)
}

/// Writes the records of a file.
fn dump(
    args: &Args,
    source: Source,
    fields: Option<&Selection>,
    out: &mut dyn Write,
) -> Result<Dumped> {
    let module = ptx_parse::parse_with(source.bytes, &Limits::default()).module;
    let chosen = args.functions.choose(&module);
    let is_chosen = |id: FuncId| chosen.contains(id);
    let mut records = ModuleRecords::new(&module);
    if args.analysis {
        records = records.with_analysis();
    }
    if args.format.format() == Format::Json {
        records = records.nested();
    }
    let mut warnings = Vec::new();
    let mut writer = Writer::new(args.format.format(), fields, out);
    records.visit(
        &source.name,
        (!args.functions.is_empty()).then_some(&is_chosen),
        &mut |record| {
            if let Record::Function(function) = record {
                let missing = missing_lists(function);
                warnings.extend(missing.map(|list| {
                    let (file, name) = (&source.name, display_name(function.name));
                    format!("{file}: {name}: the lists of {list} are too long, written as null")
                }));
            }
            writer.record(record)
        },
    )?;
    writer.finish()?;
    Ok(Dumped { chosen, warnings })
}

/// The lists of a function that are too long to be written.
fn missing_lists(function: &Function<'_>) -> impl Iterator<Item = &'static str> {
    let results = function.results.as_ref();
    let lists = [
        (
            results.is_none_or(|results| results.has_live_lists()),
            "live registers",
        ),
        (
            results.is_none_or(|results| results.has_dispatch_successors()),
            "successors of jumps through shared tables",
        ),
    ];
    lists
        .into_iter()
        .filter_map(|(is_written, list)| (!is_written).then_some(list))
}

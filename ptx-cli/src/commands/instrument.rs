//! `ptxkit instrument`: inserts bounds checks or a memory trace.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use ptx_ir::facts::Space;
use ptx_ir::{LineIndex, Module};
use ptx_isa::StateSpace;
use ptx_transform::instrument::{Bounds, Error, Outside, Reason, Records, Report, Timing, Trace};
use ptx_transform::{InsertItemsError, Rewriting};

use super::rewrite::{self, ParsedSource};
use crate::destination::{Destination, Refusal, Writer};
use crate::input::Files;
use crate::output::{self, Out, Status};
use crate::replace::replace_file;

/// Insert bounds checks or a trace at memory accesses
///
/// `bounds` checks accesses to one state space against the range in the variable NAME, two u64 that the host can set. An
/// access outside of the range stops the kernel, or is recorded. `trace` records all accesses. A record has 32 bytes: address
/// and value (u64), number of the site, size, block, thread (u32). The array NAME_records has NAME_count records. All bytes of
/// the file stay unchanged. A file with errors is not written.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit instrument --probe bounds --low 0x7f0000000000 --high 0x7f0040000000 kernel.ptx > checked.ptx
  ptxkit instrument --probe trace --space global --sites places.tsv kernel.ptx > traced.ptx
  nvcc -ptx -o - a.cu | ptxkit instrument --probe trace --records 1000000 - > traced.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
    /// What to insert
    #[arg(long, value_enum)]
    probe: Kind,
    /// State spaces whose accesses are instrumented. `bounds` takes one, by default global memory including generic accesses
    /// to it; `trace` takes any number, by default all except constants and parameters
    #[arg(long, value_enum, value_delimiter = ',')]
    space: Vec<SpaceOption>,
    /// First valid address, decimal or 0x…
    #[arg(long, default_value = "0", value_parser = number)]
    low: u64,
    /// End of the valid addresses, exclusive
    #[arg(long, default_value = "0xffffffffffffffff", value_parser = number)]
    high: u64,
    /// Capacity, in records; with it, `bounds` records accesses and does not stop the kernel [default for trace: 65536]
    #[arg(long, value_name = "N")]
    records: Option<u32>,
    /// Prefix of the names of new variables and functions [default: ptx_bounds, ptx_trace]
    #[arg(long)]
    name: Option<String>,
    /// Write a table of the instrumented sites to a file, tab-separated: number, function, line, before or after, instruction
    #[arg(long, value_name = "FILE")]
    sites: Option<PathBuf>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Kind {
    Bounds,
    Trace,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, clap::ValueEnum)]
enum SpaceOption {
    Generic,
    Global,
    Shared,
    Local,
    Const,
    Param,
}

impl SpaceOption {
    fn space(self) -> Space {
        Space::State(match self {
            Self::Generic => return Space::Generic,
            Self::Global => StateSpace::Global,
            Self::Shared => StateSpace::Shared,
            Self::Local => StateSpace::Local,
            Self::Const => StateSpace::Const,
            Self::Param => StateSpace::Param,
        })
    }
}

fn number(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|error| error.to_string())
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    rewrite::rewrite(&args.files, &args.destination, |out, writer, parsed| {
        instrument(out, writer, &parsed, args)
    })
}

fn instrument(
    out: &mut Out,
    writer: &Writer<'_>,
    parsed: &ParsedSource,
    args: &Args,
) -> Result<Status> {
    let instrumented = match apply(&parsed.module, args)? {
        Ok(instrumented) => instrumented,
        Err(error @ Error::Items(InsertItemsError::Taken(_))) => {
            let why = format!("{error}; use --name to choose another one");
            return writer.refuse(out, &parsed.report(), Refusal::new(why));
        }
        Err(error) => return writer.refuse(out, &parsed.report(), Refusal::new(error)),
    };
    let status = writer.write(out, &parsed.source, instrumented.text())?;
    if let Some(path) = &args.sites {
        let text = sites(&parsed.module, &instrumented.report, &parsed.lines)?;
        replace_file(path, text.as_ref())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    for skipped in &instrumented.report.skipped {
        let reason = match skipped.reason {
            Reason::Guard => "the guard is not declared",
            _ => "control does not continue after the instruction",
        };
        output::note(format_args!("{}: no probe: {reason}", parsed.source.name));
    }
    Ok(status)
}

fn apply(module: &Module, args: &Args) -> Result<Result<Rewriting<Report>, Error>> {
    let default = match args.probe {
        Kind::Bounds => "ptx_bounds",
        Kind::Trace => "ptx_trace",
    };
    let name = args.name.clone().unwrap_or_else(|| default.to_owned());
    let records = |capacity| Records {
        name: name.clone(),
        capacity,
    };
    if args.probe == Kind::Trace {
        let mut spaces: Vec<Space> = args.space.iter().map(|option| option.space()).collect();
        if spaces.is_empty() {
            spaces = Trace::MEMORY.to_vec();
        }
        let records = records(args.records.unwrap_or(1 << 16));
        return Ok(Trace { records, spaces }.apply(module));
    }
    let space = match args.space[..] {
        [] => StateSpace::Global,
        [option] => match option.space() {
            Space::State(space) if space != StateSpace::Param => space,
            _ => anyhow::bail!(
                "--probe bounds takes the state spaces global, shared, local and const"
            ),
        },
        _ => anyhow::bail!("--probe bounds takes one state space"),
    };
    let outside = args
        .records
        .map_or(Outside::Trap, |n| Outside::Record(records(n)));
    let bounds = Bounds {
        space,
        low: args.low,
        high: args.high,
        outside,
        name,
    };
    Ok(bounds.apply(module))
}

/// The table of sites, one line per site.
fn sites(module: &Module, report: &Report, lines: &LineIndex) -> Result<String> {
    let mut text = String::from("id\tfunction\tline\twhen\tinstruction\n");
    for site in &report.sites {
        let function = module.functions().get(site.function);
        let name = module.name(function.context("a function")?.name);
        let line = lines.position(site.span.start).line;
        let when = if site.when == Timing::After {
            "after"
        } else {
            "before"
        };
        let instruction = String::from_utf8_lossy(site.span.of(module.source())).into_owned();
        let instruction = instruction.split_whitespace().collect::<Vec<_>>().join(" ");
        writeln!(text, "{}\t{name}\t{line}\t{when}\t{instruction}", site.id)?;
    }
    Ok(text)
}

//! `ptxkit report`: the factors that limit the performance of functions.

mod estimate;
mod html;
mod profile;
mod text;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use ptx_report::demangle::short_text;
use ptx_report::launch_estimate::{DEVICES, Device, Launch};
use ptx_report::occupancy::LaunchSizes;
use ptx_report::report::{Function, Report};

use super::check::filter::{Filter, Kinds};
use crate::assembler::{Assembler, Depth};
use crate::format::{FormatOptions, OutputFormat, of_extension};
use crate::functions::{Chosen, Functions};
use crate::input::{self, Files, Source};
use crate::occupancy::LaunchOptions;
use crate::output::{self, Out, Status};
use crate::render::tally;
use crate::replace::replace_file;
use html::FilePage;
use html::code::Code;
use profile::Profile;
use ptx_isa::Target;
use ptx_report::counted;

/// Report the factors that limit the performance of functions
///
/// For each function its resources, loops with trip counts, accesses to memory with sectors and bank conflicts, arithmetic
/// intensity, live registers, asynchronous operations and divergence. The report is static: nothing is executed.
///
/// Numbers apply to a warp with 32 active lanes. Symbolic trip counts are assumed to be 100 in sums.
/// docs/report.md describes the page.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit report kernel.ptx                         as text
  ptxkit report kernel.ptx -o report.html          an interactive page that works offline
  ptxkit report --kernel 'gemm*' kernel.ptx
  ptxkit report --block 256 --shared 65536 kernel.ptx
  ptxkit report --block 256 --grid 4096 --arg n=1000 --device H100 kernel.ptx
  ptxkit report --ptxas ptxas --sass kernel.ptx -o report.html       with the machine code
  ptxkit report --profile counts.json kernel.ptx -o report.html      with counts of `ptxkit run --profile --json`
  ptxkit report --format json build/ | jq '.functions[].work.total.intensity'")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    functions: Functions,
    #[command(flatten)]
    format: FormatOptions<Format>,
    #[command(flatten)]
    launch: LaunchOptions,
    /// Estimate what a launch of this many CTAs takes: waves, work, and the time that each resource needs
    #[arg(long, value_name = "CTAS", value_parser = clap::value_parser!(u64).range(1..1 << 40))]
    grid: Option<u64>,
    /// With --grid: the value of an integer parameter, on which trip counts depend. May be repeated
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = argument, requires = "grid")]
    arguments: Vec<(String, i64)>,
    /// With --grid: the device, such as "H100" or "RTX 4090" [default: one with the compute capability of the target]
    #[arg(long, value_name = "NAME", value_parser = device, requires = "grid")]
    device: Option<&'static Device>,
    /// With HTML: show what `ptxkit run --profile --json` or `ptxkit exec --profile` counted beside the static numbers
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    #[command(flatten)]
    assembler: Assembler,
    /// Also show machine code, with nvdisasm
    #[arg(long, requires = "ptxas")]
    sass: bool,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// Tables
    #[value(alias = "human")]
    Text,
    /// One JSON object per file
    Json,
    /// A page with all functions, which works offline
    Html,
}

/// A number with the name of a parameter: `n=4096`.
fn argument(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expected NAME=VALUE, such as n=4096")?;
    let value = value
        .parse()
        .map_err(|_| format!("`{value}` is not an integer"))?;
    Ok((name.to_owned(), value))
}

fn device(name: &str) -> Result<&'static Device, String> {
    Device::named(name).ok_or_else(|| {
        let names: Vec<&str> = DEVICES.iter().map(|device| device.name).collect();
        format!("known devices are {}", names.join(", "))
    })
}

/// The extensions of output files with the formats that they select.
const EXTENSIONS: [(&str, Format); 5] = [
    ("txt", Format::Text),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("json", Format::Json),
    ("ndjson", Format::Json),
];

impl OutputFormat for Format {
    const JSON: Self = Self::Json;
    const HELP: &'static str =
        "Output format [default: that of the extension of --output, else text]";
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let chosen = match args.format.choice() {
        Some(format) => Some(format),
        None => of_extension(args.output.as_deref(), &EXTENSIONS)?,
    };
    let format = chosen.unwrap_or(Format::Text);
    if format == Format::Html && args.output.is_none() && std::io::stdout().is_terminal() {
        bail!("standard output is a terminal: write the page to a file with --output");
    }
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let (mut used, mut reports, mut written) = (Vec::new(), Vec::new(), Vec::new());
    let launch = args.launch.sizes();
    let profile = match &args.profile {
        Some(path) => Profile::read(path)?,
        None => Profile::default(),
    };
    let work = |source: Source| report(source, args, format, launch, &profile);
    let emit = |out: &mut Out, result: Result<FileReport>| {
        let FileReport {
            report,
            code,
            chosen,
            warning,
        } = result?;
        chosen.note(&mut used);
        if let Some(warning) = &warning {
            out.flush()?;
            output::note(format_args!("ptxkit: {}: {warning}", report.file));
        }
        match (format, &args.output) {
            (Format::Html, _) => reports.push(FilePage { report, code }),
            (_, Some(_)) => write(&mut written, &report, format)?,
            (_, None) => write(out, &report, format)?,
        }
        Ok(Status::of(warning.is_some()))
    };
    input::in_order(&inputs, &mut out, &mut status, work, emit)?;
    args.functions.check(&used)?;
    if format == Format::Html {
        if reports.iter().all(|page| page.report.functions.is_empty()) {
            return Ok(status);
        }
        match args.output {
            Some(_) => html::write(&mut written, &reports, &profile)?,
            None => html::write(&mut out, &reports, &profile)?,
        }
    }
    if let Some(path) = &args.output {
        replace_file(path, &written).with_context(|| format!("{}", path.display()))?;
    }
    out.flush()?;
    Ok(status)
}

/// Writes a report as text or JSON.
fn write(out: &mut impl Write, report: &Report, format: Format) -> Result<()> {
    match format {
        Format::Text => text::write(out, report)?,
        Format::Json | Format::Html => {
            serde_json::to_writer(&mut *out, report)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// The report of a file.
struct FileReport {
    report: Report,
    /// The code of its functions, for the page.
    code: Vec<Code>,
    chosen: Chosen,
    /// The reasons why the report is not complete.
    warning: Option<String>,
}

/// The reasons why the report of a file is not complete: it has no functions, or syntax errors.
fn warnings(has_bodies: bool, errors: usize) -> Vec<String> {
    let mut reasons = Vec::new();
    if !has_bodies {
        reasons.push("no function with a body".to_owned());
    }
    if errors > 0 {
        let count = counted(errors, "error");
        reasons.push(format!(
            "{count} in the text; statements with errors are not counted, `ptxkit check` lists all errors"
        ));
    }
    reasons
}

fn report(
    source: Source,
    args: &Args,
    format: Format,
    launch: LaunchSizes,
    profile: &Profile,
) -> Result<FileReport> {
    let parsed = ptx_parse::parse_with(source.bytes.clone(), &ptx_ir::Limits::default());
    let module = parsed.module;
    let (errors, _) = tally(&parsed.diagnostics);
    let chosen = args.functions.choose(&module);
    let is_chosen = |id| chosen.contains(id);
    let mut report = match format {
        Format::Html => Report::with_drawings(&source.name, &module, is_chosen),
        _ => Report::new(&source.name, &module, is_chosen),
    };
    let has_findings = report.functions.iter().any(|f| !f.findings.is_empty());
    let filter = Filter::new(&module, has_findings, Kinds::default());
    for function in &mut report.functions {
        let findings = &mut function.findings;
        findings.retain_mut(|finding| filter.keeps(&mut finding.diagnostic));
        if format != Format::Json {
            shorten_names(function);
        }
    }
    let mut warnings = warnings(!module.bodies().is_empty(), errors);
    let mut disassembly = None;
    if args.assembler.ptxas.is_some() {
        let depth = if args.sass {
            Depth::Code
        } else {
            Depth::Report
        };
        let header = module.header().target.map(Target::text);
        match args.assembler.assemble(header, module.source(), depth)? {
            Ok(assembled) => {
                let functions = report.functions.iter_mut();
                assembled.apply(&module, functions.map(|function| &mut function.stats));
                disassembly = assembled.disassembly;
            }
            Err(refusal) => warnings.push(format!("no metrics from ptxas: {refusal}")),
        }
    }
    // After the registers that `ptxas` allocates are known.
    report.set_launch(launch);
    if let Some(grid) = args.grid {
        match args.device.or_else(|| Device::of_target(report.target.as_deref()?)) {
            Some(device) => {
                let mut launch = Launch::new(device, grid);
                launch.arguments.clone_from(&args.arguments);
                report.set_estimate(&launch);
            }
            None => warnings.push(
                "no device with the compute capability of the target is known: name one with --device"
                    .to_owned(),
            ),
        }
    }
    let code = match format {
        Format::Html => {
            let file = source.origin.file();
            html::code::of_module(&module, &chosen, file, disassembly.as_ref(), profile)
        }
        _ => Vec::new(),
    };
    Ok(FileReport {
        report,
        code,
        chosen,
        warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
    })
}

/// Shortens names in what people read: forms, objects, messages.
fn shorten_names(function: &mut Function) {
    // The name of a function is the prefix of the names of its parameters.
    let prefix = format!("{}_", function.stats.name);
    let shorten = |text: &mut String| *text = short_text(&text.replace(&prefix, ""));
    let factors = function.work.parts.iter_mut().flat_map(|p| &mut p.factors);
    factors.filter_map(|f| f.form.as_mut()).for_each(shorten);
    let trip_counts = function
        .loops
        .iter_mut()
        .filter_map(|l| l.trip_count.as_mut());
    trip_counts.for_each(|count| shorten(&mut count.form));
    for access in &mut function.accesses {
        access.object.as_mut().map(shorten);
        access.address.as_mut().map(shorten);
    }
    for finding in &mut function.findings {
        shorten(&mut finding.message);
        finding.help.as_mut().map(shorten);
    }
}

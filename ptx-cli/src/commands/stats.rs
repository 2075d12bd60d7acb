//! `ptxkit stats`: statistics about files and functions.

mod count;
mod details;
mod table;

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::assembler::{Assembler, Depth};
use crate::format::{FormatOptions, TextOrJson};
use crate::functions::Functions;
use crate::input::{self, Files, Source};
use crate::occupancy::LaunchOptions;
use crate::output::{self, Out, Status};
use crate::select::{Fields, Selection};
use count::Stats;
use ptx_ir::Limits;
use ptx_report::SCHEMA;
use ptx_report::environment::Environment;
use ptx_report::occupancy::LaunchSizes;
use table::Sort;

/// Report statistics of files and functions: instructions, loops, memory, barriers, live registers, requirements
///
/// For each file, and in total if there are several, reports a summary and a line for each function; with --details or --function, all
/// statistics of functions. Memory and registers of a function are those in the text, which differ from the ones that ptxas
/// allocates. In files with errors, unrecognized statements are not counted.
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object per file, and one for the total; the same as --format json")))]
#[command(after_help = "\
Examples:
  ptxkit stats kernel.ptx
  ptxkit stats --sort instructions kernel.ptx
  ptxkit stats --function 'gemm*' kernel.ptx
  ptxkit stats --mnemonics --json build/
  ptxkit stats --details --block 256 --shared 65536 kernel.ptx
  ptxkit stats --ptxas /usr/local/cuda/bin/ptxas kernel.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
    /// Also count instructions by mnemonic, such as ld.global.nc.v4.f32
    #[arg(long)]
    mnemonics: bool,
    #[command(flatten)]
    fields: Fields,
    #[command(flatten)]
    functions: Functions,
    /// Accept calls of functions that this program provides without a declaration: `optix`
    #[arg(long, value_name = "NAME")]
    environment: Option<Environment>,
    /// Show all statistics of every function
    #[arg(long)]
    details: bool,
    /// Order of the functions; numbers in descending order
    #[arg(long, value_enum, default_value_t = Sort::File, value_name = "KEY")]
    sort: Sort,
    #[command(flatten)]
    launch: LaunchOptions,
    #[command(flatten)]
    assembler: Assembler,
    /// Also count machine instructions, with nvdisasm
    #[arg(long, requires = "ptxas")]
    sass: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Line<'a> {
    schema: u32,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(flatten)]
    stats: &'a Stats,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let mut total = Stats::new(args.mnemonics);
    let fields = args.fields.selection(args.format.is_json())?;
    let work = |source: Source| {
        let (mut stats, chosen) = Stats::count(
            &source.bytes,
            args.mnemonics,
            &args.functions,
            args.environment,
        );
        if let Some(functions) = &mut stats.per_function {
            args.sort.apply(functions);
        }
        let compiled = match args.assembler.ptxas {
            Some(_) => compile(args, &source, &mut stats),
            None => Ok(Ok(())),
        };
        set_launch(&mut stats, args.launch.sizes());
        (source.name, stats, chosen, compiled)
    };
    let mut used = Vec::new();
    input::in_order(
        &inputs,
        &mut out,
        &mut status,
        work,
        |out, (name, stats, chosen, compiled)| {
            let compiled = compiled?;
            total.add(&stats);
            chosen.note(&mut used);
            write(args, fields.as_ref(), out, Some(&name), &stats)?;
            if let Err(refusal) = &compiled {
                out.flush()?;
                output::note(format_args!("{name}: no metrics from ptxas: {refusal}"));
            }
            Ok(Status::of(compiled.is_err()))
        },
    )?;
    args.functions.check(&used)?;
    if args.functions.is_empty() && (args.format.is_json() || inputs.len() > 1) {
        write(args, fields.as_ref(), &mut out, None, &total)?;
    }
    out.flush()?;
    fields.iter().try_for_each(Selection::check)?;
    Ok(status)
}

/// Computes the occupancy of the kernels with the sizes of a launch.
fn set_launch(stats: &mut Stats, launch: LaunchSizes) {
    let target = stats.header.as_ref().and_then(|header| header.target);
    let Some(target) = target.map(str::to_owned) else {
        return;
    };
    for function in stats.per_function.iter_mut().flatten() {
        function.set_launch(&target, launch);
    }
}

/// Adds the figures of the machine code; the inner error says why they are missing.
fn compile(args: &Args, source: &Source, stats: &mut Stats) -> Result<Result<(), String>> {
    let header = stats.header.as_ref().and_then(|header| header.target);
    let depth = if args.sass {
        Depth::Code
    } else {
        Depth::Report
    };
    let assembled = args.assembler.assemble(header, &source.bytes, depth)?;
    Ok(assembled.map(|assembled| {
        let module = ptx_parse::parse_with(source.bytes.clone(), &Limits::default()).module;
        assembled.apply(&module, stats.per_function.iter_mut().flatten());
    }))
}

fn write(
    args: &Args,
    fields: Option<&Selection>,
    out: &mut Out,
    file: Option<&str>,
    stats: &Stats,
) -> Result<()> {
    if args.format.is_json() {
        let kind = if file.is_some() { "file" } else { "total" };
        let line = Line {
            schema: SCHEMA,
            kind,
            file,
            stats,
        };
        match fields {
            Some(fields) => {
                let mut line = serde_json::to_value(&line)?;
                fields.filter(&mut line, &[]);
                out.json(&line)?;
            }
            None => out.json(&line)?,
        }
    } else {
        let functions = stats.per_function.as_deref().unwrap_or_default();
        if args.functions.is_empty() {
            table::write(out, file.unwrap_or("total"), stats)?;
            table::functions(out, functions)?;
            table::machine_code(out, functions)?;
        } else if let (Some(file), [_, ..]) = (file, functions) {
            writeln!(out, "{file}:")?;
        }
        if args.details || !args.functions.is_empty() {
            for function in functions {
                details::write(out, function)?;
            }
        }
    }
    Ok(())
}

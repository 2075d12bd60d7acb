//! `ptxkit stats`: statistics about files and functions.

mod count;
pub(crate) mod functions;
mod table;

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::input::{self, Files, Source};
use crate::output::{Out, Status};
use crate::render::SCHEMA;
use count::Stats;

/// Statistics: instructions, registers, memory and comments of files; loops, barriers and register pressure of functions
///
/// Reported for each file and, if there are several, in total. In files with errors, unrecognized statements are not
/// counted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit stats kernel.ptx
  ptxkit stats --mnemonics --json build/")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Write one JSON object per file, and one for the total
    #[arg(long)]
    json: bool,
    /// Also count instructions by mnemonic, such as ld.global.nc.v4.f32
    #[arg(long)]
    mnemonics: bool,
}

#[derive(Serialize)]
struct Line<'a> {
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
    let inputs = args.files.list(&mut status)?;
    let mut total = Stats::new(args.mnemonics);
    let work = |source: Source| {
        let stats = Stats::of(&source.bytes, args.mnemonics);
        (source.name, stats)
    };
    input::in_order(
        &inputs,
        &mut out,
        &mut status,
        work,
        |out, (name, stats)| {
            total.add(&stats);
            write(args, out, Some(&name), &stats)?;
            Ok(Status::Ok)
        },
    )?;
    if args.json || inputs.len() > 1 {
        write(args, &mut out, None, &total)?;
    }
    out.flush()?;
    Ok(status)
}

fn write(args: &Args, out: &mut Out, file: Option<&str>, stats: &Stats) -> Result<()> {
    if args.json {
        let kind = if file.is_some() { "file" } else { "total" };
        out.json(&Line {
            schema: SCHEMA,
            kind,
            file,
            stats,
        })?;
    } else {
        table::write(out, file.unwrap_or("total"), stats)?;
    }
    Ok(())
}

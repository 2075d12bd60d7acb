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
use crate::select::{Fields, Selection};
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
    #[command(flatten)]
    fields: Fields,
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
    let fields = args.fields.selection();
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
            write(args, fields.as_ref(), out, Some(&name), &stats)?;
            Ok(Status::Ok)
        },
    )?;
    if args.json || inputs.len() > 1 {
        write(args, fields.as_ref(), &mut out, None, &total)?;
    }
    out.flush()?;
    fields.iter().try_for_each(Selection::check)?;
    Ok(status)
}

fn write(
    args: &Args,
    fields: Option<&Selection>,
    out: &mut Out,
    file: Option<&str>,
    stats: &Stats,
) -> Result<()> {
    if args.json {
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
        table::write(out, file.unwrap_or("total"), stats)?;
    }
    Ok(())
}

//! `ptxkit explain`: describes diagnostics, instructions and keywords of PTX.

use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use ptx_report::explain::{self, Entry, Extent};

use crate::output::{self, Out, Status};
use ptx_report::clean;

/// Describe an instruction, another keyword of PTX, or a diagnostic code
///
/// For an opcode, the most common form is shown and the others are listed; for a mnemonic, the forms that accept its modifiers. Without an
/// argument, all codes are listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit explain add
  ptxkit explain cvt --all
  ptxkit explain add.rn.ftz.f32
  ptxkit explain --smt add.rn.ftz.f32 | z3 -in
  ptxkit explain .maxntid
  ptxkit explain %tid
  ptxkit explain PTX0104
  ptxkit explain shared-race")]
pub(crate) struct Args {
    /// An opcode or a mnemonic; a directive, special register, type, state space or modifier; a code such as PTX0104 (or 104); or the
    /// name of a lint or warning such as shared-race
    #[arg(value_name = "WORD|CODE")]
    code: Option<String>,
    /// Show all forms in full
    #[arg(long)]
    all: bool,
    /// Print the semantics of an instruction as SMT-LIB functions, which solvers use to prove rewrites; the mnemonic must be complete
    #[arg(long, requires = "code", conflicts_with = "all")]
    smt: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Copy, Clone, Debug, ValueEnum)]
enum Format {
    /// Text
    Human,
    /// A JSON object for each meaning of the word, with all forms
    Json,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let entries = match find(args) {
        Ok(entries) => entries,
        Err(message) => {
            output::note(format_args!("ptxkit: {}", clean(&message)));
            return Ok(Status::UsageError);
        }
    };
    let mut out = Out::new();
    let extent = if args.all {
        Extent::Full
    } else {
        Extent::Screen
    };
    for (i, entry) in entries.iter().enumerate() {
        match args.format {
            Format::Json => out.json(entry)?,
            Format::Human if args.smt => {
                write!(out, "{}", entry.smt.as_deref().unwrap_or_default())?;
            }
            Format::Human if entries.len() > 1 && entry.facts.is_empty() => {
                writeln!(out, "{}: {}", entry.name, entry.summary)?;
            }
            Format::Human => {
                write!(
                    out,
                    "{}{}",
                    if i > 0 { "\n" } else { "" },
                    explain::text(entry, extent)
                )?;
            }
        }
    }
    out.flush()?;
    Ok(Status::Ok)
}

/// The entries that the arguments select.
fn find(args: &Args) -> Result<Vec<Entry>, String> {
    let Some(text) = &args.code else {
        return Ok(explain::codes());
    };
    let script = args.smt.then(|| explain::smt_script(text)).transpose()?;
    let mut entries = explain::find(text)?;
    for entry in &mut entries {
        entry.smt.clone_from(&script);
    }
    Ok(entries)
}

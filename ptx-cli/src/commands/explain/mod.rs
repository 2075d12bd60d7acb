//! `ptxkit explain`: describes diagnostics, instructions and keywords of PTX.

mod markdown;

use std::io::{IsTerminal as _, Write};

use anyhow::Result;
use clap::ValueEnum;
use ptx_ir::Code;
use ptx_report::explain::{self, Entry, EntryKind, Extent};
use ptx_report::fragments;
use ptx_report::warnings::kinds::code_name;

use crate::format::{FormatOptions, OutputFormat};
use crate::output::{self, Out, Status};
use ptx_report::clean;

/// Describe an instruction, another keyword of PTX, or a diagnostic code
///
/// For an opcode, the most common form is shown and the others are listed; for a mnemonic, the forms that accept its modifiers. Without an
/// argument, everything that can be explained is listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit explain add
  ptxkit explain cvt --all
  ptxkit explain add.rn.ftz.f32
  ptxkit explain --smt add.rn.ftz.f32 | z3 -in
  ptxkit explain --fragments mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  ptxkit explain .maxntid
  ptxkit explain %tid
  ptxkit explain sm_90a
  ptxkit explain '.pragma \"nounroll\"'
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
    /// Show which lane of a warp has which element of a matrix in which register; the mnemonic must be complete. `swizzle` shows where shared memory
    /// has the bytes of swizzled tiles
    #[arg(long, requires = "code", conflicts_with_all = ["all", "smt"])]
    fragments: bool,
    #[command(flatten)]
    format: FormatOptions<Format>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Format {
    /// Text
    #[default]
    #[value(alias = "human")]
    Text,
    /// A JSON object for each meaning of the word, with all forms
    Json,
    /// With --fragments: a picture
    Svg,
}

impl OutputFormat for Format {
    const JSON: Self = Self::Json;
    const HELP: &'static str = "Output format [default: text]";
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let format = args.format.format();
    if args.fragments {
        return show_fragments(args.code.as_deref().unwrap_or_default(), format);
    }
    anyhow::ensure!(format != Format::Svg, "--format svg needs --fragments");
    let entries = match find(args) {
        Ok(entries) => entries,
        Err(message) => {
            output::note(format_args!("ptxkit: {}", clean(&message)));
            return Ok(Status::UsageError);
        }
    };
    let mut out = Out::new();
    if args.code.is_none() && format == Format::Text {
        list(&entries, &mut out)?;
        out.flush()?;
        return Ok(Status::Ok);
    }
    let extent = if args.all {
        Extent::Full
    } else {
        Extent::Screen
    };
    for (i, entry) in entries.iter().enumerate() {
        match format {
            Format::Json | Format::Svg => out.json(entry)?,
            Format::Text if args.smt => {
                write!(out, "{}", entry.smt.as_deref().unwrap_or_default())?;
            }
            Format::Text if entries.len() > 1 && entry.facts.is_empty() => {
                writeln!(out, "{}: {}", entry.name, entry.summary)?;
            }
            Format::Text => {
                let text = explain::text(entry, extent);
                let separator = if i > 0 { "\n" } else { "" };
                write!(out, "{separator}{}", shown(entry, &text))?;
            }
        }
    }
    out.flush()?;
    Ok(Status::Ok)
}

/// Writes the fragments of an instruction.
fn show_fragments(text: &str, format: Format) -> Result<Status> {
    let shown = match fragments::find(text) {
        Ok(shown) => shown,
        Err(message) => {
            output::note(format_args!("ptxkit: {}", clean(&message)));
            return Ok(Status::UsageError);
        }
    };
    let mut out = Out::new();
    match format {
        Format::Text => write!(out, "{}", fragments::text(&shown))?,
        Format::Json => out.json(&shown)?,
        Format::Svg => write!(out, "{}", fragments::svg(&shown))?,
    }
    out.flush()?;
    Ok(Status::Ok)
}

/// The text of an explanation: formatted on a terminal, and with colors where these are used.
fn shown(entry: &Entry, text: &str) -> String {
    let is_formatted = std::io::stdout().is_terminal() || output::is_colored();
    match (entry.page, is_formatted) {
        (Some(page), true) => markdown::formatted(page, output::width()),
        (None, true) => markdown::with_headings(text),
        _ => text.to_owned(),
    }
}

/// The kinds of words in the order of the list, with their titles.
const KINDS: [(EntryKind, &str); 7] = [
    (EntryKind::Instruction, "Instructions"),
    (EntryKind::Directive, "Directives"),
    (EntryKind::SpecialRegister, "Special registers"),
    (EntryKind::Type, "Types"),
    (EntryKind::StateSpace, "State spaces"),
    (EntryKind::Modifier, "Modifiers"),
    (EntryKind::Target, "Targets"),
];

/// The width of the list where that of the terminal is not known.
const LIST_WIDTH: usize = 100;

/// Writes the names of everything that can be explained, and the codes of diagnostics with their names and titles.
fn list(entries: &[Entry], out: &mut Out) -> Result<()> {
    let width = output::width().map_or(LIST_WIDTH, usize::from);
    for (kind, title) in KINDS {
        writeln!(out, "{}", output::heading(title))?;
        let mut line = String::new();
        for entry in entries.iter().filter(|entry| entry.kind == kind) {
            if line.len() + entry.name.len() + 3 > width {
                writeln!(out, " {line}")?;
                line.clear();
            }
            line.push(' ');
            line += &entry.name;
        }
        writeln!(out, " {line}\n")?;
    }
    writeln!(out, "{}", output::heading("Diagnostics"))?;
    for code in Code::ALL {
        let name = code_name(*code);
        writeln!(out, "  {code} {name:30} {}", code.title())?;
    }
    Ok(())
}

/// The entries that the arguments select.
fn find(args: &Args) -> Result<Vec<Entry>, String> {
    let Some(text) = &args.code else {
        return Ok(explain::all());
    };
    let script = args.smt.then(|| explain::smt_script(text)).transpose()?;
    let mut entries = explain::find(text)?;
    for entry in &mut entries {
        entry.smt.clone_from(&script);
    }
    Ok(entries)
}

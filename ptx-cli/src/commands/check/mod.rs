//! `ptxkit check`: reports errors and warnings.

mod allowed;
mod baseline;
mod diagnose;
mod kinds;
mod writer;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use ptx_ir::LineIndex;
use ptx_isa::{PtxVersion, Target};
use ptx_verify::Options;

use crate::destination::Destination;
use crate::input::{self, Files};
use crate::output::{self, Out, Status};
use crate::render::{clean, counted, tally};
use baseline::Baseline;
use diagnose::{Checked, check};
use kinds::{Kind, kind};
use writer::Writer;

/// Check files and report errors
///
/// Diagnostics go to standard output. The exit status is 1 if there are errors, or warnings with --deny-warnings.
///
/// A comment `// ptxkit: allow(KIND)` turns warnings off: at the end of a line for that line, on a separate line for the
/// statement, declaration or function after it, before the first token for the whole file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit check kernel.ptx
  ptxkit check --format short --max-errors 10 build/
  ptxkit check --format json - < kernel.ptx
  ptxkit check --format sarif build/ > findings.sarif
  ptxkit check --fix --write kernel.ptx
  ptxkit check --write-baseline known.json build/    # record what is found today,
  ptxkit check --baseline known.json build/          # and report only what is new")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
    /// Make the edits that diagnostics suggest. The result goes to standard output, and the remaining diagnostics to standard
    /// error, unless --output or --write names files
    #[arg(long)]
    fix: bool,
    /// Check for this target instead of the one in the header
    #[arg(long, value_name = "sm_XX", value_parser = target)]
    target: Option<Target>,
    /// Check for this PTX version instead of the one in the header
    #[arg(long, value_name = "X.Y", value_parser = version)]
    ptx_version: Option<PtxVersion>,
    /// Report unknown instructions, modifiers and directives as warnings
    #[arg(long)]
    allow_unknown: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Show at most this many errors per file
    #[arg(long, value_name = "N")]
    max_errors: Option<usize>,
    /// Exit with status 1 if there are warnings
    #[arg(long)]
    deny_warnings: bool,
    /// Report these warnings as errors: a code, its name such as ignored-modifier, `unused`, `link` or `all`
    #[arg(long, value_name = "KIND", value_parser = kind)]
    deny: Vec<Kind>,
    /// Do not report these warnings
    #[arg(long, value_name = "KIND", value_parser = kind)]
    allow: Vec<Kind>,
    /// Report these warnings, which are off by default: `unused`, `unwritten-register`, `misaligned-access`, `all`, or `link` for
    /// names that other modules must define
    #[arg(long, value_name = "KIND", value_parser = kind)]
    warn: Vec<Kind>,
    /// Do not report the findings that this file records. They are compared by file, function, code and message, not by line
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Record all findings in this file instead of reporting them
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    write_baseline: Option<PathBuf>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// Source lines with underlined errors
    Human,
    /// `FILE:LINE:COL: error[CODE]: message`
    Short,
    /// One JSON object per line
    Json,
    /// A SARIF 2.1.0 log, which code scanning services read
    Sarif,
    /// Workflow commands, which GitHub shows as annotations
    Github,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list(&mut status)?;
    let mut writer = Writer::new(args.format, output::is_colored(), args.max_errors);
    if !args.fix && !args.destination.is_stdout() {
        bail!("--output and --write need --fix");
    }
    let fixed = match args.fix {
        true => Some(args.destination.open(&args.files, &inputs)?),
        false => None,
    };
    // Where diagnostics go.
    let to_stderr = args.fix && args.destination.is_stdout();
    let mut stderr = io::stderr().lock();
    writer.begin(if to_stderr { &mut stderr } else { &mut out })?;
    let (mut errors, mut warnings, mut files) = (0, 0, 0);
    let options = Options::new(args.ptx_version, args.target);
    let mut baseline = match &args.baseline {
        Some(path) => Baseline::read(path)?,
        None => Baseline::default(),
    };
    let check = |source| check(source, &options, args);
    let result = input::in_order(&inputs, &mut out, &mut status, check, |out, mut checked| {
        report_mistakes(&checked);
        apply(args, &mut baseline, &mut checked);
        let (e, w) = tally(&checked.found.diagnostics);
        errors += e;
        warnings += w;
        files += usize::from(e + w > 0);
        let mut status = Status::of(e > 0 || args.deny_warnings && w > 0);
        if let Some((_, count)) = checked.fixed {
            let count = counted(count, "mistake");
            output::summary(format_args!("{}: {count} fixed", checked.source.name));
        }
        writer.write(&checked, if to_stderr { &mut stderr } else { out })?;
        if let Some(fixed) = &fixed {
            status.worsen(fixed.write(out, &checked.source, checked.text())?);
        }
        Ok(status)
    });
    result?;
    if let Some(path) = &args.write_baseline {
        let count = counted(baseline.len(), "finding");
        baseline.write(path)?;
        output::summary(format_args!("{count} written to {}", path.display()));
    }
    writer.end(if to_stderr { &mut stderr } else { &mut out })?;
    out.flush()?;
    if args.format == Format::Human && errors + warnings > 0 {
        let mut found = Vec::new();
        if errors > 0 {
            found.push(counted(errors, "error"));
        }
        if warnings > 0 {
            found.push(counted(warnings, "warning"));
        }
        output::summary(format_args!(
            "{} in {files} of {}",
            found.join(" and "),
            counted(inputs.len(), "file")
        ));
    }
    Ok(status)
}

/// Records the findings of a file in a baseline, or removes those that it records.
fn apply(args: &Args, baseline: &mut Baseline, checked: &mut Checked) {
    let name = &checked.source.name;
    if args.write_baseline.is_some() {
        checked.found.retain(|function, diagnostic| {
            baseline.add(name, function, diagnostic);
            false
        });
    } else if args.baseline.is_some() {
        let found = &mut checked.found;
        found.retain(|function, diagnostic| !baseline.take(name, function, diagnostic));
    }
}

/// Reports errors in comments that turn warnings off.
fn report_mistakes(checked: &Checked) {
    let mistakes = &checked.found.mistakes;
    if mistakes.is_empty() {
        return;
    }
    let lines = LineIndex::new(checked.text());
    for (span, mistake) in mistakes {
        let (name, line) = (&checked.source.name, lines.position(span.start).line);
        output::summary(format_args!("{name}:{line}: {}", clean(mistake)));
    }
}

pub(crate) fn target(text: &str) -> Result<Target, String> {
    Target::from_name(text.as_bytes())
        .ok_or_else(|| format!("unknown target {text}; expected a name such as sm_90a"))
}

pub(crate) fn version(text: &str) -> Result<PtxVersion, String> {
    PtxVersion::from_text(text.as_bytes())
        .filter(|v| v.is_known())
        .ok_or_else(|| format!("unknown PTX version {text}; expected a version such as 8.5"))
}

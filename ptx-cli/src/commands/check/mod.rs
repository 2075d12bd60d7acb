//! `ptxkit check`: reports errors and warnings.

mod kinds;
mod writer;

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::ValueEnum;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::{Code, Diagnostic, Module, Severity, SourceText};
use ptx_isa::{PtxVersion, Target};
use ptx_verify::Options;

use crate::destination::Destination;
use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};
use crate::render::source_lines::{Finder, Place};
use crate::render::{counted, tally};
use kinds::{Kind, LINK, MISTAKES, UNUSED, kind};
use writer::Writer;

/// Check files and report errors
///
/// Diagnostics go to standard output. The exit status is 1 if there are errors, or warnings with --deny-warnings.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit check kernel.ptx
  ptxkit check --format short --max-errors 10 build/
  ptxkit check --format json - < kernel.ptx
  ptxkit check --format sarif build/ > findings.sarif
  ptxkit check --fix --write kernel.ptx")]
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
    let check = |source| check(source, &options, args);
    let result = input::in_order(&inputs, &mut out, &mut status, check, |out, checked| {
        let (e, w) = tally(&checked.diagnostics);
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

struct Checked {
    source: Source,
    /// The text with fixes, if there are any, and how many. The diagnostics are about this text.
    fixed: Option<(SourceText, usize)>,
    diagnostics: Vec<Diagnostic>,
    /// The function and the source lines of each diagnostic.
    places: Vec<Place>,
}

/// How often a text is repaired: a fix can uncover another mistake.
const MOST_REPAIRS: usize = 8;

fn check(source: Source, options: &Options, args: &Args) -> Checked {
    let (mut diagnostics, mut places) = diagnose(&source.bytes, options, args);
    let mut fixed = None;
    let mut count = 0;
    for _ in 0..if args.fix { MOST_REPAIRS } else { 0 } {
        let text = fixed.as_ref().map_or(&source.bytes, |(text, _)| text);
        let Some(new) = ptx_ir::apply_fixes(text, &diagnostics) else {
            break;
        };
        count += diagnostics.iter().filter(|d| !d.fix.is_empty()).count();
        let new = SourceText::from(new.text);
        (diagnostics, places) = diagnose(&new, options, args);
        fixed = Some((new, count));
    }
    Checked {
        source,
        fixed,
        diagnostics,
        places,
    }
}

/// The diagnostics of a text that the options select, and where they are.
fn diagnose(source: &SourceText, options: &Options, args: &Args) -> (Vec<Diagnostic>, Vec<Place>) {
    let parsed = ptx_parse::parse_shared(source.clone(), &Default::default());
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(ptx_verify::verify(&parsed.module, options));
    let asked = args.warn.iter().chain(&args.deny);
    let is_asked = |codes: &[Code]| asked.clone().any(|k| codes.iter().any(|c| k.holds(*c)));
    let mut optional = Vec::new();
    if is_asked(&UNUSED) {
        optional.extend(ptx_verify::unused(&parsed.module));
    }
    if is_asked(&MISTAKES) {
        optional.extend(ptx_verify::likely_mistakes(&parsed.module));
    }
    diagnostics.extend(optional.into_iter().filter(|d| is_asked(&[d.code])));
    let errors = |d: &Diagnostic| d.severity == Severity::Error;
    if !diagnostics.iter().any(errors) {
        let wanted = |d: &Diagnostic| d.code != LINK || asked.clone().any(|k| k.holds(d.code));
        let later = ptx_verify::codegen_limits(&parsed.module);
        diagnostics.extend(later.into_iter().filter(wanted));
    }
    diagnostics.sort_by_key(|d| d.span.start);
    let warning = |d: &Diagnostic| d.severity == Severity::Warning;
    diagnostics.retain(|d| !(warning(d) && args.allow.iter().any(|k| k.holds(d.code))));
    let denied = |d: &&mut Diagnostic| warning(d) && args.deny.iter().any(|k| k.holds(d.code));
    diagnostics
        .iter_mut()
        .filter(denied)
        .for_each(|d| d.severity = Severity::Error);
    if args.allow_unknown {
        let unknown = diagnostics.iter_mut().filter(|d| is_unknown(d.code));
        unknown.for_each(|d| d.severity = Severity::Warning);
    }
    let places = places(&parsed.module, &diagnostics);
    (diagnostics, places)
}

fn places(module: &Module, diagnostics: &[Diagnostic]) -> Vec<Place> {
    if diagnostics.is_empty() {
        return Vec::new();
    }
    let lines = SourceLines::new(module);
    let mut finder = Finder::new(module, &lines);
    diagnostics
        .iter()
        .map(|d| finder.place(d.span.start))
        .collect()
}

fn is_unknown(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownOpcode | Code::UnknownModifier | Code::UnknownDirective
    )
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

impl Checked {
    /// The text that the diagnostics are about.
    fn text(&self) -> &SourceText {
        self.fixed
            .as_ref()
            .map_or(&self.source.bytes, |(text, _)| text)
    }
}

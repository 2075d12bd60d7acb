//! `ptxkit check`: reports errors and warnings.

mod baseline;
pub(crate) mod diagnose;
pub(crate) mod filter;
pub(crate) mod lint_totals;
pub(crate) mod report;
mod writer;

use std::io::{self, Write};

use anyhow::{Result, bail};
use ptx_isa::{PtxVersion, Target};
use ptx_verify::Options;

use crate::config::ConfigFile;
use crate::destination::Place;
use crate::functions::Functions;
use crate::input::{self, Files};
use crate::output::{self, Out, Status};
use diagnose::check;
use ptx_report::counted;
use ptx_report::environment::Environment;
use ptx_report::warnings::kinds::{Kind, checked_kind, kind};
use report::{Reporter, Reporting};

/// Check files and report errors
///
/// Diagnostics go to standard output. The exit status is 1 if there are errors, or warnings with --deny-warnings.
///
/// A comment `// ptxkit: allow(KIND)` suppresses warnings: at the end of a line, those of that line; on a separate line, those of the
/// statement, declaration or function after it; before the first token, those of the whole file.
///
/// The section `check` of ptxkit.toml has defaults for target, ptx-version, warn, deny, allow, deny-warnings and baseline.
#[derive(Clone, Debug, clap::Args)]
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
    functions: Functions,
    #[command(flatten)]
    destination: Place,
    /// Apply the fixes that are certain. The result goes to standard output, and the remaining diagnostics to standard
    /// error, unless --output or --write is given
    #[arg(long)]
    fix: bool,
    /// Check for this target instead of the one in the header
    #[arg(long, value_name = "sm_XX", value_parser = target)]
    target: Option<Target>,
    /// Check for this PTX version instead of the one in the header
    #[arg(long, value_name = "X.Y", value_parser = version)]
    ptx_version: Option<PtxVersion>,
    /// Accept calls of functions that this program provides without a declaration: `optix`
    #[arg(long, value_name = "NAME")]
    environment: Option<Environment>,
    /// Report unknown instructions, modifiers and directives as warnings
    #[arg(long)]
    allow_unknown: bool,
    /// Exit with status 1 if there are warnings
    #[arg(long)]
    deny_warnings: bool,
    /// Report these warnings as errors: a code, its name such as ignored-modifier, `unused`, `link` or `all`
    #[arg(long, value_name = "KIND", value_parser = checked_kind)]
    deny: Vec<Kind>,
    /// Do not report these warnings
    #[arg(long, value_name = "KIND", value_parser = kind)]
    allow: Vec<Kind>,
    /// Enable these warnings, which are off by default: `unused`, `unwritten-register`, `misaligned-access`, `all`, or `link` for
    /// names that other modules must define
    #[arg(long, value_name = "KIND", value_parser = checked_kind)]
    warn: Vec<Kind>,
    #[command(flatten)]
    reporting: Reporting,
    #[command(flatten)]
    config: ConfigFile,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let args = &args.with_defaults()?;
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let mut reporter = Reporter::new(&args.reporting)?;
    if !args.fix && !args.destination.is_stdout() {
        bail!("--output and --write need --fix");
    }
    let writer = if args.fix {
        Some(args.destination.open(&args.files, &inputs)?)
    } else {
        None
    };
    // Diagnostics go to standard error if the fixed text goes to standard output.
    let to_stderr = args.fix && args.destination.is_stdout();
    let mut stderr = io::stderr();
    reporter.begin(if to_stderr { &mut stderr } else { &mut out })?;
    let options = Options::default()
        .with_version(args.ptx_version)
        .with_target(args.target);
    let mut used = Vec::new();
    // The number of diagnostics with a change that `--fix` does not make.
    let mut proposals = 0;
    let check = |source| check(source, &options, args);
    input::in_order(&inputs, &mut out, &mut status, check, |out, mut checked| {
        checked.chosen.note(&mut used);
        if let Some((_, count)) = checked.fixed {
            let count = counted(count, "mistake");
            output::summary(format_args!("{}: {count} fixed", checked.source.name));
        }
        if args.fix {
            let diagnostics = &checked.results.diagnostics;
            proposals += diagnostics.iter().filter(|d| !d.fix.is_empty()).count();
        }
        let report_out: &mut dyn Write = if to_stderr { &mut stderr } else { out };
        let (errors, warnings) = reporter.report(&mut checked, report_out)?;
        let mut status = Status::of(errors > 0 || args.deny_warnings && warnings > 0);
        if let Some(writer) = &writer {
            status.worsen(writer.write(out, &checked.source, checked.text())?);
        }
        Ok(status)
    })?;
    reporter.end(if to_stderr { &mut stderr } else { &mut out })?;
    args.functions.check(&used)?;
    out.flush()?;
    if let Some(writer) = &writer {
        writer.summary();
    }
    if proposals > 0 {
        let count = counted(proposals, "proposed change");
        output::summary(format_args!(
            "{count} not made, since another one may be meant: see the help of the messages"
        ));
    }
    reporter.summary(inputs.len(), status, "no errors");
    Ok(status)
}

impl Args {
    /// The arguments with the defaults in the section `check` of the configuration file.
    fn with_defaults(&self) -> Result<Self> {
        let mut args = self.clone();
        let Some(text) = self.config.read()? else {
            return Ok(args);
        };
        let table = text.parse()?;
        for entry in text.section(table.get_ref(), "check")? {
            let keys = [
                "target",
                "ptx-version",
                "warn",
                "deny",
                "allow",
                "deny-warnings",
                "baseline",
            ];
            entry.expect_one_of(&keys)?;
            let value = entry.value;
            match &*entry.key {
                "target" => args.target = args.target.or(value.parsed(target)?),
                "ptx-version" => args.ptx_version = args.ptx_version.or(value.parsed(version)?),
                "warn" => args.warn.extend(value.parsed_list(checked_kind)?),
                "deny" => args.deny.extend(value.parsed_list(checked_kind)?),
                "allow" => args.allow.extend(value.parsed_list(kind)?),
                "deny-warnings" => args.deny_warnings |= value.flag()?,
                _ => args.reporting.set_baseline(value.file()?),
            }
        }
        Ok(args)
    }
}

/// Reads a target: `sm_90a`, or only its number, `90a`.
pub(crate) fn target(text: &str) -> Result<Target, String> {
    let is_number = text.starts_with(|first: char| first.is_ascii_digit());
    let name = if is_number {
        format!("sm_{text}")
    } else {
        text.to_owned()
    };
    name.parse()
        .map_err(|_| format!("unknown target {text}; expected a name such as sm_90a"))
}

pub(crate) fn version(text: &str) -> Result<PtxVersion, String> {
    PtxVersion::from_text(text.as_bytes())
        .filter(|v| v.is_known())
        .ok_or_else(|| format!("unknown PTX version {text}; expected a version such as 8.5"))
}

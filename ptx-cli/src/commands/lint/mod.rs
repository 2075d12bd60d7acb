//! `ptxkit lint`: reports likely bugs and slow code.

mod examine;

use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use ptx_lint::{Certainty, Lint, LintOptions};

use super::check::report::{Reporter, Reporting};
use crate::config::ConfigFile;
use crate::functions::Functions;
use crate::input::{self, Files};
use crate::output::{self, Out, Status};
use crate::query::similar;
use examine::examine;
use ptx_report::environment::Environment;
use ptx_report::warnings::kinds::{Kind, kind};

/// Report likely bugs and slow code
///
/// Each finding is a warning. It is definite if it is proven, and possible if it depends on values that are unknown before the kernel
/// runs. Only the syntax of files is checked; `ptxkit check` reports other errors. The exit status is 1 if there are errors or definite
/// findings, or warnings with --deny-warnings.
///
/// A comment `// ptxkit: allow(LINT)` suppresses findings: at the end of a line, those of that line; on a separate line, those of the
/// statement, declaration or function after it; before the first token, those of the whole file.
///
/// The section `lint` of ptxkit.toml has defaults for only, certainty, warn, deny, allow, deny-warnings and baseline.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit lint kernel.ptx
  ptxkit lint --certainty definite build/
  ptxkit lint --only dead-code --format json kernel.ptx
  ptxkit lint --stat build/                              # how many of each
  ptxkit lint --list
  ptxkit explain PTX1512                                 # what a code means
  ptxkit lint --write-baseline known.json build/         # record what is found today,
  ptxkit lint --baseline known.json build/               # and report only what is new")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    functions: Functions,
    /// List the lints
    #[arg(long, exclusive = true)]
    list: bool,
    /// Write a table with the number of findings of each lint instead of the findings
    #[arg(long)]
    stat: bool,
    /// Run only this lint. May be repeated
    #[arg(long, value_name = "LINT", value_parser = lint)]
    only: Vec<Lint>,
    /// Report findings with at least this certainty [default: possible]
    #[arg(long, value_enum, value_name = "CERTAINTY")]
    certainty: Option<MinCertainty>,
    /// Exit with status 1 if there are warnings
    #[arg(long)]
    deny_warnings: bool,
    /// Accept calls of functions that this program provides without a declaration: `optix`
    #[arg(long, value_name = "NAME")]
    environment: Option<Environment>,
    /// Report these findings as errors: a lint, its code or `all`
    #[arg(long, value_name = "KIND", value_parser = kind)]
    deny: Vec<Kind>,
    /// Do not report these findings
    #[arg(long, value_name = "KIND", value_parser = kind)]
    allow: Vec<Kind>,
    /// Report these findings regardless of --allow and ptxkit.toml
    #[arg(long, value_name = "KIND", value_parser = kind)]
    warn: Vec<Kind>,
    #[command(flatten)]
    reporting: Reporting,
    #[command(flatten)]
    config: ConfigFile,
}

/// The least certainty of the findings that are reported.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
enum MinCertainty {
    /// All findings
    Possible,
    /// Only proven findings
    Definite,
}

impl MinCertainty {
    fn parse(text: &str) -> Result<Self, String> {
        Self::from_str(text, false)
            .map_err(|_| format!("unknown certainty {text}; expected possible or definite"))
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    if args.list {
        list(&mut out)?;
        return Ok(Status::Ok);
    }
    let args = &args.with_defaults()?;
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let mut reporter = Reporter::new(&args.reporting)?;
    if args.stat {
        reporter.only_count()?;
    }
    reporter.begin(&mut out)?;
    let mut options = LintOptions::default();
    if !args.only.is_empty() {
        options.lints.retain(|lint| args.only.contains(lint));
    }
    if args.certainty == Some(MinCertainty::Definite) {
        options.certainty = Certainty::Definite;
    }
    let mut used = Vec::new();
    let work = |source| examine(source, &options, args);
    input::in_order(&inputs, &mut out, &mut status, work, |out, mut checked| {
        checked.chosen.note(&mut used);
        let (errors, warnings) = reporter.report(&mut checked, out)?;
        let definite = checked
            .results
            .details
            .iter()
            .filter_map(|detail| detail.linted.as_ref())
            .filter(|linted| *linted.certainty == Certainty::Definite)
            .count();
        let denied = args.deny_warnings && warnings > 0;
        Ok(Status::of(errors + definite > 0 || denied))
    })?;
    reporter.end(&mut out)?;
    args.functions.check(&used)?;
    if args.stat {
        reporter.lint_totals().write(&mut out)?;
    }
    out.flush()?;
    reporter.summary(inputs.len(), status, "no findings");
    if inputs.len() > 1 && !args.stat && reporter.is_text() && !output::is_quiet() {
        reporter.lint_totals().write(&mut std::io::stderr())?;
    }
    Ok(status)
}

/// Writes a line for each lint.
fn list(out: &mut Out) -> Result<()> {
    let width = Lint::ALL.iter().map(|l| l.name().len()).max().unwrap_or(0);
    for lint in Lint::ALL {
        let (name, code) = (lint.name(), lint.code());
        writeln!(out, "{name:width$}  {code}  {}", code.title())?;
    }
    Ok(out.flush()?)
}

impl Args {
    /// The arguments with the defaults in the section `lint` of the configuration file.
    fn with_defaults(&self) -> Result<Self> {
        let mut args = self.clone();
        let Some(text) = self.config.read()? else {
            return Ok(args);
        };
        let table = text.parse()?;
        for entry in text.section(table.get_ref(), "lint")? {
            let keys = [
                "only",
                "certainty",
                "warn",
                "deny",
                "allow",
                "deny-warnings",
                "baseline",
            ];
            entry.expect_one_of(&keys)?;
            let value = entry.value;
            match &*entry.key {
                "only" if args.only.is_empty() => args.only = value.parsed_list(lint)?,
                "only" => {}
                "certainty" => {
                    args.certainty = args.certainty.or(value.parsed(MinCertainty::parse)?)
                }
                "warn" => args.warn.extend(value.parsed_list(kind)?),
                "deny" => args.deny.extend(value.parsed_list(kind)?),
                "allow" => args.allow.extend(value.parsed_list(kind)?),
                "deny-warnings" => args.deny_warnings |= value.flag()?,
                _ => args.reporting.set_baseline(value.file()?),
            }
        }
        Ok(args)
    }
}

/// The lint with a name or a code. A name may also have the British spelling.
fn lint(text: &str) -> Result<Lint, String> {
    let is_meant = |lint: &&Lint| {
        lint.name() == text.replace("ised", "ized")
            || lint.code().to_string().eq_ignore_ascii_case(text)
    };
    let lint = Lint::ALL.iter().find(is_meant).copied();
    lint.ok_or_else(|| {
        let names: Vec<&str> = Lint::ALL.iter().map(|lint| lint.name()).collect();
        match similar(text, &names) {
            Some(hint) => format!("unknown lint {text}; {hint}"),
            None => format!("unknown lint {text}; `ptxkit lint --list` lists all"),
        }
    })
}

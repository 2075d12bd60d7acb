//! The options that say where commands write PTX, and the writer of their results.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ptx_ir::{Diagnostic, Severity};
use serde::Serialize;

use crate::format::{FormatOptions, TextOrJson};
use crate::input::{Files, Input, Origin, Source};
use crate::output::{self, Out, Status};
use crate::render::Report;
use crate::render::json::Finding;
use crate::replace::replace_file;
use ptx_report::requirements::Cause;
use ptx_report::source_frames::NOWHERE;
use ptx_report::{SCHEMA, clean, counted};

// Where the results of a command that rewrites files go.
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object per input to standard output: whether it was rewritten, the errors, and the text unless it goes to a file; the same as --format json")))]
pub(crate) struct Destination {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
}

impl Destination {
    /// Whether the results go to standard output only.
    pub(crate) fn is_stdout(&self) -> bool {
        self.place.is_stdout()
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format.is_json()
    }

    /// A writer that writes no results.
    pub(crate) fn only_list<'a>(&'a self, files: &'a Files) -> Writer<'a> {
        Writer {
            place: &self.place,
            files,
            folder: false,
            json: self.format.is_json(),
            written: Cell::new(0),
            unchanged: Cell::new(0),
        }
    }

    /// Creates the writer of the results. It is an error if several results would be written to one place.
    pub(crate) fn open<'a>(&'a self, files: &'a Files, inputs: &[Input]) -> Result<Writer<'a>> {
        self.place.to(files, inputs, self.format.is_json())
    }
}

// Where the results go.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Place {
    /// Write the result to this file; with several inputs, to files of the same names in this directory
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Write the result to the input files
    #[arg(long, conflicts_with = "output")]
    write: bool,
}

impl Place {
    /// Whether the results go to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.output.is_none() && !self.write
    }

    /// Creates the writer of the results. It is an error if several results would be written to one place.
    pub(crate) fn open<'a>(&'a self, files: &'a Files, inputs: &[Input]) -> Result<Writer<'a>> {
        self.to(files, inputs, false)
    }

    fn to<'a>(&'a self, files: &'a Files, inputs: &[Input], json: bool) -> Result<Writer<'a>> {
        if self.write && files.has_stdin() {
            bail!("standard input cannot be rewritten in place");
        }
        let container = inputs.iter().find_map(|input| input.origin().container());
        if let Some(path) = container.filter(|_| self.write) {
            let path = clean(&path.to_string_lossy()).into_owned();
            bail!(
                "{path} contains PTX, but is not a PTX file: use `--output` instead of `--write`"
            );
        }
        if self.is_stdout()
            && !json
            && let [first, _, ..] = inputs
        {
            if first.origin().container().is_some() {
                let name = first.origin().name();
                bail!("several inputs: choose one, such as `{name}`, or use `--output DIR`");
            }
            bail!("several inputs need `--output DIR` or `--write`");
        }
        let folder = match &self.output {
            Some(path) if inputs.len() > 1 && path.is_file() => {
                bail!(
                    "{}: several inputs need a directory",
                    clean(&path.to_string_lossy())
                )
            }
            Some(path) => inputs.len() > 1 || path.is_dir(),
            None => false,
        };
        let writer = Writer {
            place: self,
            files,
            folder,
            json,
            written: Cell::new(0),
            unchanged: Cell::new(0),
        };
        let mut paths = HashSet::new();
        for input in inputs.iter().filter(|_| folder) {
            if let Some(path) = writer.path(input.origin())
                && !paths.insert(path.clone())
            {
                bail!(
                    "two results would be written to {}",
                    clean(&path.to_string_lossy())
                );
            }
        }
        Ok(writer)
    }
}

/// Writes the results of the inputs of a command.
pub(crate) struct Writer<'a> {
    place: &'a Place,
    files: &'a Files,
    /// Whether the output is a directory.
    folder: bool,
    json: bool,
    written: Cell<usize>,
    unchanged: Cell<usize>,
}

/// The result of rewriting an input, in JSON.
#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Outcome<'a> {
    pub(crate) schema: u32,
    pub(crate) file: &'a str,
    /// Whether the command succeeded.
    pub(crate) done: bool,
    /// Whether the result differs from the input.
    pub(crate) changed: bool,
    pub(crate) output: Option<String>,
    pub(crate) text: Option<Cow<'a, str>>,
    /// The reasons for a failure.
    pub(crate) reason: Option<String>,
    pub(crate) diagnostics: Vec<Finding<'a>>,
    /// The features that the target does not support.
    pub(crate) blocked: Vec<Cause>,
}

/// The reasons why the result of an input is not written.
#[derive(Default)]
pub(crate) struct Refusal {
    why: String,
    pub(crate) errors: Vec<Diagnostic>,
    blocked: Vec<Cause>,
}

impl Refusal {
    pub(crate) fn new(why: impl Display) -> Self {
        Self {
            why: why.to_string(),
            ..Self::default()
        }
    }

    /// A refusal because of the errors among `diagnostics`.
    pub(crate) fn errors(mut diagnostics: Vec<Diagnostic>, why: impl Display) -> Self {
        diagnostics.retain(|d| d.severity == Severity::Error);
        Self {
            errors: diagnostics,
            ..Self::new(why)
        }
    }

    /// Adds features that the target does not support.
    pub(crate) fn with_blocked(self, blocked: Vec<Cause>) -> Self {
        Self { blocked, ..self }
    }

    /// Whether there are errors or unsupported features.
    pub(crate) fn has_causes(&self) -> bool {
        !self.errors.is_empty() || !self.blocked.is_empty()
    }

    /// Reports the refusal on standard error.
    pub(crate) fn note(&self, report: &Report<'_>) {
        for cause in &self.blocked {
            output::note(format_args!("{}:{}", report.name, cause.text()));
        }
        for error in &self.errors {
            output::note(report.short(error));
        }
        output::note(format_args!("{}: not written: {}", report.name, self.why));
    }
}

impl Writer<'_> {
    /// The file for the result of an input; `None` for standard output.
    fn path(&self, origin: &Origin) -> Option<PathBuf> {
        match &self.place.output {
            Some(folder) if self.folder => Some(folder.join(self.files.relative(origin))),
            Some(file) => Some(file.clone()),
            None if self.place.write => origin.path().map(Path::to_owned),
            None => None,
        }
    }

    /// Writes the result of an input. A file that would not change is left alone. It is reported if a file cannot be written.
    pub(crate) fn write(&self, out: &mut Out, source: &Source, text: &[u8]) -> Result<Status> {
        let path = self.path(&source.origin);
        let changed = *source.bytes != *text;
        if changed && self.place.write && source.origin.leads_out() {
            let why =
                "a link out of the directory is not followed with `--write`; name the file itself";
            output::note(format_args!("ptxkit: {}: {why}", source.name));
            return Ok(Status::UsageError);
        }
        if let Some(path) = path.as_deref() {
            let count = if changed || source.origin.path() != Some(path) {
                if let Err(error) = write_file(path, text, self.folder) {
                    let path = path.to_string_lossy();
                    output::note(format_args!("ptxkit: {}: {error}", clean(&path)));
                    return Ok(Status::UsageError);
                }
                &self.written
            } else {
                &self.unchanged
            };
            count.set(count.get() + 1);
        }
        if self.json {
            out.json(&Outcome {
                schema: SCHEMA,
                file: &source.name,
                done: true,
                changed,
                text: path.is_none().then(|| String::from_utf8_lossy(text)),
                output: path.map(|path| clean(&path.to_string_lossy()).into_owned()),
                ..Outcome::default()
            })?;
        } else if path.is_none() {
            out.write_all(text)?;
        }
        Ok(Status::Ok)
    }

    /// Writes on standard error how many files were written, unless the results went to standard output.
    pub(crate) fn summary(&self) {
        let (written, unchanged) = (self.written.get(), self.unchanged.get());
        if written + unchanged == 0 {
            return;
        }
        let place = match &self.place.output {
            Some(path) => format!(" to {}", clean(&path.to_string_lossy())),
            None => String::new(),
        };
        let kept = match unchanged {
            0 => String::new(),
            unchanged => format!(", {unchanged} unchanged"),
        };
        let written = counted(written, "file");
        output::success(format_args!("{written} written{place}{kept}"));
    }

    /// Lists an input if it would change.
    pub(crate) fn list(&self, out: &mut Out, source: &Source, changed: bool) -> Result<()> {
        if self.json {
            out.json(&Outcome {
                schema: SCHEMA,
                file: &source.name,
                done: true,
                changed,
                ..Outcome::default()
            })?;
        } else if changed {
            writeln!(out, "{}", source.name)?;
        }
        Ok(())
    }

    /// Reports that the result of an input is not written, with the reasons.
    pub(crate) fn refuse(
        &self,
        out: &mut Out,
        report: &Report<'_>,
        refusal: Refusal,
    ) -> Result<Status> {
        if self.json {
            let findings = refusal
                .errors
                .iter()
                .map(|error| report.finding(error, &NOWHERE))
                .collect();
            out.json(&Outcome {
                schema: SCHEMA,
                file: report.name,
                diagnostics: findings,
                reason: Some(refusal.why),
                blocked: refusal.blocked,
                ..Outcome::default()
            })?;
        } else {
            refusal.note(report);
        }
        Ok(Status::Findings)
    }
}

/// Writes a file, and creates its directory if the output is a directory.
fn write_file(path: &Path, text: &[u8], is_in_folder: bool) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|_| is_in_folder) {
        fs::create_dir_all(folder)?;
    }
    replace_file(path, text)
}

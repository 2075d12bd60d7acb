//! The report of findings and its options, which `check`, `lint` and `gate` share.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use ptx_ir::LineIndex;

use super::baseline::Baseline;
use super::diagnose::Checked;
use super::lint_totals::LintTotals;
use super::writer::Writer;
use crate::format::{FormatOptions, OutputFormat};
use crate::output::{self, Status};
use crate::render::{Renderer, tally};
use ptx_report::{clean, counted};

/// Options about the output.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Reporting {
    #[command(flatten)]
    format: FormatOptions<Format>,
    /// Show at most this many errors per file
    #[arg(long, value_name = "N")]
    max_errors: Option<usize>,
    /// Do not report the findings that are recorded in this file. Findings are compared by file, function, code and message, not by line
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Record all findings in this file instead of reporting them
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    write_baseline: Option<PathBuf>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// Source lines with underlined errors
    #[default]
    #[value(alias = "text")]
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

impl OutputFormat for Format {
    const JSON: Self = Self::Json;
    const HELP: &'static str = "Output format [default: human]";
}

impl Reporting {
    /// Sets the baseline if no option does.
    pub(crate) fn set_baseline(&mut self, path: PathBuf) {
        self.baseline.get_or_insert(path);
    }
}

/// Reports the findings of one file after the other.
pub(crate) struct Reporter<'a> {
    options: &'a Reporting,
    writer: Writer,
    baseline: Baseline,
    errors: usize,
    warnings: usize,
    /// The number of errors and warnings at other places with the same cause.
    repeats: usize,
    /// The number of files that have findings.
    files: usize,
    totals: LintTotals,
    /// Whether findings are counted but not written.
    is_silent: bool,
}

impl<'a> Reporter<'a> {
    /// Reads the baseline, if there is one.
    pub(crate) fn new(options: &'a Reporting) -> Result<Self> {
        let renderer = if output::is_colored() {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        Ok(Self {
            options,
            writer: Writer::new(options.format.format(), renderer, options.max_errors),
            baseline: match &options.baseline {
                Some(path) if options.write_baseline.is_none() => Baseline::read(path)?,
                _ => Baseline::default(),
            },
            errors: 0,
            warnings: 0,
            repeats: 0,
            files: 0,
            totals: LintTotals::default(),
            is_silent: false,
        })
    }

    /// Counts the findings and does not write them.
    ///
    /// # Errors
    ///
    /// The format is not text.
    pub(crate) fn only_count(&mut self) -> Result<()> {
        if self.options.format.choice().is_some() {
            bail!("--stat writes a table: it cannot be combined with --format and --json");
        }
        self.is_silent = true;
        Ok(())
    }

    /// Whether the output is text for a person.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.options.format.format(), Format::Human | Format::Short)
    }

    /// Writes the text before all findings.
    pub(crate) fn begin(&self, out: &mut dyn Write) -> Result<()> {
        self.writer.begin(out)
    }

    /// Reports the findings of a file, and returns the number of errors and of warnings that are not in the baseline.
    pub(crate) fn report(
        &mut self,
        checked: &mut Checked,
        out: &mut dyn Write,
    ) -> Result<(usize, usize)> {
        report_mistakes(checked);
        self.apply_baseline(checked);
        let (errors, warnings) = tally(&checked.results.diagnostics);
        self.errors += errors;
        self.warnings += warnings;
        let diagnostics = &checked.results.diagnostics;
        self.repeats += diagnostics.iter().map(|d| d.repeats.len()).sum::<usize>();
        self.files += usize::from(errors + warnings > 0);
        self.totals.add(&checked.results);
        if !self.is_silent {
            self.writer.write(checked, out)?;
        }
        Ok((errors, warnings))
    }

    /// Records the findings of a file in the baseline that is written, or removes those that the given baseline records.
    fn apply_baseline(&mut self, checked: &mut Checked) {
        let (baseline, name) = (&mut self.baseline, &checked.source.name);
        if self.options.write_baseline.is_some() {
            checked.results.retain(|function, diagnostic| {
                baseline.add(name, function, diagnostic);
                false
            });
        } else if self.options.baseline.is_some() {
            checked
                .results
                .retain(|function, diagnostic| !baseline.take(name, function, diagnostic));
        }
    }

    /// Writes the text after all findings, and the baseline.
    pub(crate) fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        if let Some(path) = &self.options.write_baseline {
            let count = counted(self.baseline.len(), "finding");
            std::mem::take(&mut self.baseline).write(path)?;
            output::summary(format_args!("{count} written to {}", path.display()));
        }
        self.writer.end(out)?;
        Ok(out.flush()?)
    }

    /// The number of findings of each lint.
    pub(crate) fn lint_totals(&self) -> &LintTotals {
        &self.totals
    }

    /// Writes the number of findings in this number of files, or `success` without findings. Nothing is written if the output is for programs.
    pub(crate) fn summary(&self, inputs: usize, status: Status, success: &str) {
        let inputs = counted(inputs, "file");
        if !self.is_text() || self.options.write_baseline.is_some() {
            return;
        }
        if self.errors + self.warnings == 0 {
            // A file that cannot be read was reported.
            if status < Status::UsageError {
                output::success(format_args!("{inputs}, {success}"));
            }
            return;
        }
        if self.options.format.format() != Format::Human {
            return;
        }
        let mut counts = Vec::new();
        if self.errors > 0 {
            counts.push(counted(self.errors, "error"));
        }
        if self.warnings > 0 {
            counts.push(counted(self.warnings, "warning"));
        }
        let places = match self.repeats {
            0 => String::new(),
            repeats => format!(" ({} places)", self.errors + self.warnings + repeats),
        };
        output::summary(format_args!(
            "{}{places} in {} of {inputs}",
            counts.join(" and "),
            self.files,
        ));
    }
}

/// Reports errors in comments that suppress warnings.
fn report_mistakes(checked: &Checked) {
    let mistakes = &checked.results.mistakes;
    if mistakes.is_empty() {
        return;
    }
    let lines = LineIndex::new(checked.text());
    for (span, mistake) in mistakes {
        let (name, line) = (&checked.source.name, lines.position(span.start).line);
        output::summary(format_args!("{name}:{line}: {}", clean(mistake)));
    }
}

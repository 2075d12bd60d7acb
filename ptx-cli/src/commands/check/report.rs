//! The report of findings and its options, which `check`, `lint` and `gate` share.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use ptx_ir::LineIndex;

use super::baseline::Baseline;
use super::diagnose::Checked;
use super::writer::Writer;
use crate::output;
use crate::render::{Renderer, tally};
use ptx_report::{clean, counted};

/// Options about the output.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Reporting {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
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

#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
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
    /// The number of files that have findings.
    files: usize,
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
            writer: Writer::new(options.format, renderer, options.max_errors),
            baseline: match &options.baseline {
                Some(path) if options.write_baseline.is_none() => Baseline::read(path)?,
                _ => Baseline::default(),
            },
            errors: 0,
            warnings: 0,
            files: 0,
        })
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
        let (errors, warnings) = tally(&checked.found.diagnostics);
        self.errors += errors;
        self.warnings += warnings;
        self.files += usize::from(errors + warnings > 0);
        self.writer.write(checked, out)?;
        Ok((errors, warnings))
    }

    /// Records the findings of a file in the baseline that is written, or removes those that the given baseline records.
    fn apply_baseline(&mut self, checked: &mut Checked) {
        let (baseline, name) = (&mut self.baseline, &checked.source.name);
        if self.options.write_baseline.is_some() {
            checked.found.retain(|function, diagnostic| {
                baseline.add(name, function, diagnostic);
                false
            });
        } else if self.options.baseline.is_some() {
            checked
                .found
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

    /// Writes the number of findings in this number of files.
    pub(crate) fn summary(&self, inputs: usize) {
        if self.options.format != Format::Human || self.errors + self.warnings == 0 {
            return;
        }
        let mut counts = Vec::new();
        if self.errors > 0 {
            counts.push(counted(self.errors, "error"));
        }
        if self.warnings > 0 {
            counts.push(counted(self.warnings, "warning"));
        }
        output::summary(format_args!(
            "{} in {} of {}",
            counts.join(" and "),
            self.files,
            counted(inputs, "file")
        ));
    }
}

/// Reports errors in comments that suppress warnings.
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

//! Writes the diagnostics of files in a format.

use std::io::Write;

use anyhow::Result;
use ptx_ir::{Diagnostic, LineIndex, Severity};
use rayon::prelude::*;

use super::diagnose::{Checked, Detail};
use super::report::Format;
use crate::output;
use crate::render::{Renderer, Report, demangled, json, sarif, tally};
use ptx_report::counted;
use ptx_report::source_frames;
use ptx_report::warnings::kinds::code_name;

/// The number of diagnostics that are rendered before they are written.
const BLOCK_LENGTH: usize = 1 << 12;

/// Writes diagnostics in a format.
pub(super) struct Writer {
    format: Format,
    renderer: Renderer,
    /// The largest number of errors of a file that are shown.
    max_errors: Option<usize>,
    /// The number of diagnostics that were written.
    count: usize,
}

impl Writer {
    pub(super) fn new(format: Format, renderer: Renderer, max_errors: Option<usize>) -> Self {
        Self {
            format,
            renderer,
            max_errors,
            count: 0,
        }
    }

    /// Writes the text before all diagnostics.
    pub(super) fn begin(&self, out: &mut dyn Write) -> Result<()> {
        match self.format {
            Format::Sarif => Ok(writeln!(out, "{}", sarif::head())?),
            _ => Ok(()),
        }
    }

    /// Writes the text after all diagnostics.
    pub(super) fn end(&self, out: &mut dyn Write) -> Result<()> {
        match self.format {
            Format::Sarif => Ok(writeln!(out, "{}", sarif::TAIL)?),
            _ => Ok(()),
        }
    }

    /// Writes the diagnostics of a file.
    pub(super) fn write(&mut self, checked: &Checked, out: &mut dyn Write) -> Result<()> {
        let diagnostics = &checked.results.diagnostics;
        let shown = shown_count(diagnostics, self.max_errors);
        let (shown, hidden) = diagnostics.split_at(shown);
        let (hidden_errors, _) = tally(hidden);
        if !shown.is_empty() {
            let report = &Report {
                name: &checked.source.name,
                source: checked.text(),
                lines: &LineIndex::new(checked.text()),
            };
            let details = checked
                .results
                .details
                .get(..shown.len())
                .unwrap_or_default();
            for (block, details) in shown.chunks(BLOCK_LENGTH).zip(details.chunks(BLOCK_LENGTH)) {
                let texts: Vec<String> = block
                    .par_iter()
                    .zip(details)
                    .with_min_len(64)
                    .map(|(diagnostic, detail)| self.text(report, diagnostic, detail))
                    .collect::<Result<_>>()?;
                for text in texts {
                    if self.format == Format::Sarif && self.count > 0 {
                        write!(out, ",")?;
                    }
                    writeln!(out, "{text}")?;
                    self.count += 1;
                }
            }
        }
        if diagnostics.is_empty() && self.format == Format::Json {
            let clean = json::Clean::new(&checked.source.name);
            writeln!(out, "{}", serde_json::to_string(&clean)?)?;
        }
        if hidden_errors > 0 {
            out.flush()?;
            output::summary(format_args!(
                "{}: {} not shown",
                checked.source.name,
                counted(hidden_errors, "more error")
            ));
        }
        Ok(())
    }

    fn text(
        &self,
        report: &Report<'_>,
        diagnostic: &Diagnostic,
        detail: &Detail,
    ) -> Result<String> {
        let place = &detail.place;
        match self.format {
            Format::Json => {
                let mut finding = report.finding(diagnostic, place);
                finding.measured = detail.measured.as_ref();
                finding.linted = detail.linted.as_ref();
                return Ok(serde_json::to_string(&finding)?);
            }
            Format::Short => return Ok(report.short(&with_name(diagnostic, detail))),
            _ => {}
        }
        let diagnostic = &match self.format {
            Format::Sarif => demangled(diagnostic),
            _ => with_name(&demangled(diagnostic), detail),
        };
        let text = source_frames::text(&place.source);
        let origin = (!text.is_empty()).then(|| format!("from {text}"));
        let repeats = match self.format {
            Format::Human => report.more(diagnostic),
            _ => None,
        };
        let notes: Vec<String> = origin.into_iter().chain(repeats).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let note = note.as_deref();
        match self.format {
            Format::Human => {
                let source = report.named_source();
                Ok(self.renderer.render_with(&source, diagnostic, note))
            }
            Format::Sarif => {
                let result = report.sarif(diagnostic, &place.source, detail.linted.as_ref());
                Ok(serde_json::to_string(&result)?)
            }
            _ => Ok(report.github(diagnostic, note)),
        }
    }
}

/// The diagnostic with a name after each of its messages: that of its lint and its certainty, or that of a warning, with which it can be
/// suppressed.
fn with_name(diagnostic: &Diagnostic, detail: &Detail) -> Diagnostic {
    let mut named = diagnostic.clone();
    let name = match &detail.linted {
        Some(linted) => Some(format!(" [{}, {}]", linted.lint, linted.certainty)),
        None if diagnostic.severity == Severity::Warning => {
            Some(format!(" [{}]", code_name(diagnostic.code)))
        }
        None => None,
    };
    if let Some(name) = name {
        named.message.push_str(&name);
        for message in &mut named.repeat_messages {
            message.push_str(&name);
        }
    }
    named
}

/// The number of diagnostics up to the last error that is shown.
fn shown_count(diagnostics: &[Diagnostic], max_errors: Option<usize>) -> usize {
    let Some(max_errors) = max_errors else {
        return diagnostics.len();
    };
    let Some(last) = max_errors.checked_sub(1) else {
        return 0;
    };
    diagnostics
        .iter()
        .enumerate()
        .filter(|(_, d)| d.severity == Severity::Error)
        .nth(last)
        .map_or(diagnostics.len(), |(index, _)| index + 1)
}

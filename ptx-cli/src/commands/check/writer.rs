//! Writes the diagnostics of one file after the other in a format.

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

/// The number of diagnostics that are rendered before they are written.
const BLOCK: usize = 1 << 12;

/// Writes diagnostics in a format.
pub(super) struct Writer {
    format: Format,
    renderer: Renderer,
    /// The most errors that are shown of a file.
    most: Option<usize>,
    /// How many diagnostics were written.
    count: usize,
}

impl Writer {
    pub(super) fn new(format: Format, colored: bool, most: Option<usize>) -> Self {
        Self {
            format,
            renderer: match colored {
                true => Renderer::styled(),
                false => Renderer::plain(),
            },
            most,
            count: 0,
        }
    }

    /// What comes before all diagnostics.
    pub(super) fn begin(&self, out: &mut dyn Write) -> Result<()> {
        match self.format {
            Format::Sarif => Ok(writeln!(out, "{}", sarif::head())?),
            _ => Ok(()),
        }
    }

    /// What comes after all diagnostics.
    pub(super) fn end(&self, out: &mut dyn Write) -> Result<()> {
        match self.format {
            Format::Sarif => Ok(writeln!(out, "{}", sarif::TAIL)?),
            _ => Ok(()),
        }
    }

    /// Writes the diagnostics of a file.
    pub(super) fn write(&mut self, checked: &Checked, out: &mut dyn Write) -> Result<()> {
        let shown = shown(&checked.found.diagnostics, self.most);
        let hidden = tally(
            checked
                .found
                .diagnostics
                .get(shown.len()..)
                .unwrap_or_default(),
        )
        .0;
        if !shown.is_empty() {
            let report = &Report {
                name: &checked.source.name,
                source: checked.text(),
                lines: &LineIndex::new(checked.text()),
            };
            let details = checked.found.details.get(..shown.len()).unwrap_or_default();
            for (block, details) in shown.chunks(BLOCK).zip(details.chunks(BLOCK)) {
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
        if checked.found.diagnostics.is_empty() && self.format == Format::Json {
            let clean = json::Clean::new(&checked.source.name);
            writeln!(out, "{}", serde_json::to_string(&clean)?)?;
        }
        if hidden > 0 {
            out.flush()?;
            output::summary(format_args!(
                "{}: {} not shown",
                checked.source.name,
                counted(hidden, "more error")
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
            Format::Short => return Ok(report.short(&named(diagnostic, detail))),
            _ => {}
        }
        let diagnostic = &match self.format {
            Format::Sarif => demangled(diagnostic),
            _ => named(&demangled(diagnostic), detail),
        };
        let text = source_frames::text(&place.source);
        let note = (!text.is_empty()).then(|| format!("from {text}"));
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

/// The diagnostic with the name and the certainty of its lint after the message and those of the repeats.
fn named(diagnostic: &Diagnostic, detail: &Detail) -> Diagnostic {
    let mut named = diagnostic.clone();
    if let Some(linted) = &detail.linted {
        let name = format!(" [{}, {}]", linted.lint, linted.certainty);
        named.message.push_str(&name);
        for message in &mut named.repeat_messages {
            message.push_str(&name);
        }
    }
    named
}

/// The diagnostics up to the `most`-th error.
fn shown(diagnostics: &[Diagnostic], most: Option<usize>) -> &[Diagnostic] {
    let Some(most) = most else {
        return diagnostics;
    };
    let mut errors = diagnostics
        .iter()
        .enumerate()
        .filter(|(_, d)| d.severity == Severity::Error);
    let end = match most.checked_sub(1) {
        Some(last) => errors.nth(last).map_or(diagnostics.len(), |(i, _)| i + 1),
        None => 0,
    };
    diagnostics.get(..end).unwrap_or_default()
}

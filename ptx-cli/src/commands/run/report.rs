//! The results of a run, as text and as JSON.

use std::borrow::Cow;
use std::time::Duration;

use anyhow::Result;
use indicatif::HumanCount;
use ptx_ir::{Diagnostic, Severity};
use serde::Serialize;

use super::memory::WrittenFile;
use super::profile::JsonCounts;
use super::trace::Traced;
use crate::commands::check::diagnose::details;
use crate::commands::rewrite::ParsedSource;
use crate::output::{self, Out};
use crate::render::json::Finding;
use crate::render::{Renderer, demangled};
use ptx_report::demangle::{demangle, display_name};
use ptx_report::source_frames::{self, NOWHERE};
use ptx_report::{SCHEMA, clean, counted};

/// A run in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonRun<'a> {
    schema: u32,
    file: &'a str,
    /// Whether all launches completed.
    done: bool,
    launches: Vec<JsonLaunch<'a>>,
    /// The files that were written.
    buffers: Vec<JsonBuffer<'a>>,
    /// Whether a texture or a sampler has a linear filter, whose results are approximate.
    approximate: bool,
    /// The reports of checkers, the error that ended the last launch, or the reason why nothing was run.
    diagnostics: Vec<Finding<'a>>,
}

/// A launch in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonLaunch<'a> {
    kernel: &'a str,
    demangled: Option<String>,
    /// The number of executed warp instructions; null if the launch did not complete.
    steps: Option<u64>,
    /// The output of the kernel.
    output: Cow<'a, str>,
    /// With `--trace`, the state of the trace at the end of the launch.
    trace: Option<JsonTrace>,
    /// The profile, with `--profile`.
    profile: Option<&'a [JsonCounts]>,
}

/// The trace of launches in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonTrace {
    lines: u64,
    /// Whether the trace is complete, not cut off by the limit.
    complete: bool,
}

/// A file in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonBuffer<'a> {
    file: String,
    #[serde(rename = "type")]
    ty: String,
    shape: &'a [u64],
}

/// A launch that was run.
pub(super) struct Launched<'m> {
    pub(super) kernel: &'m str,
    pub(super) steps: Option<u64>,
    pub(super) output: Vec<u8>,
    pub(super) profile: Option<Vec<JsonCounts>>,
    pub(super) trace: Option<Traced>,
}

/// The results of a run.
#[derive(Default)]
pub(super) struct RunResults<'r> {
    pub(super) launches: Vec<Launched<'r>>,
    /// Whether all launches completed.
    pub(super) is_complete: bool,
    /// Whether a texture or a sampler has a linear filter.
    pub(super) is_approximate: bool,
    pub(super) written: Vec<WrittenFile<'r>>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Writes a run as one JSON object.
pub(super) fn write_json(
    out: &mut Out,
    parsed: &ParsedSource,
    results: &RunResults<'_>,
) -> Result<()> {
    let report = parsed.report();
    let details = details(&parsed.module, &results.diagnostics);
    Ok(out.json(&JsonRun {
        schema: SCHEMA,
        file: &parsed.source.name,
        done: results.is_complete,
        approximate: results.is_approximate,
        launches: results
            .launches
            .iter()
            .map(|launch| JsonLaunch {
                kernel: launch.kernel,
                demangled: demangle(launch.kernel),
                steps: launch.steps,
                output: String::from_utf8_lossy(&launch.output),
                trace: launch.trace.map(|trace| JsonTrace {
                    lines: trace.lines,
                    complete: trace.complete,
                }),
                profile: launch.profile.as_deref(),
            })
            .collect(),
        buffers: results
            .written
            .iter()
            .map(|file| JsonBuffer {
                file: clean(&file.path.to_string_lossy()).into_owned(),
                ty: file.layout.type_text(),
                shape: file.layout.shape(),
            })
            .collect(),
        diagnostics: results
            .diagnostics
            .iter()
            .enumerate()
            .map(|(index, diagnostic)| {
                let place = details.get(index).map_or(&NOWHERE, |detail| &detail.place);
                report.finding(diagnostic, place)
            })
            .collect(),
    })?)
}

/// The kernels that ran, their steps, the time and the files that were written: ``kernel `vecadd`: 1,234 warp steps in 0.01 s; c.npy written``.
pub(super) fn summary(results: &RunResults<'_>, time: Duration) -> String {
    let steps = results
        .launches
        .iter()
        .filter_map(|launch| launch.steps)
        .fold(0, u64::saturating_add);
    let kernels = match results.launches.as_slice() {
        [launch] => format!("kernel `{}`", display_name(launch.kernel)),
        launches => counted(launches.len(), "launch"),
    };
    let written = match results.written.as_slice() {
        [] => String::new(),
        [file] => format!("; {} written", clean(&file.path.to_string_lossy())),
        files => format!("; {} written", counted(files.len(), "file")),
    };
    let steps = HumanCount(steps);
    let seconds = time.as_secs_f64();
    format!("{kernels}: {steps} warp steps in {seconds:.2} s{written}")
}

/// Writes diagnostics to standard error: one line for each, or with the lines of the source.
pub(super) fn note(parsed: &ParsedSource, diagnostics: &[Diagnostic], is_short: bool) {
    let renderer = if output::is_colored() {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let report = parsed.report();
    let details = details(&parsed.module, diagnostics);
    for (diagnostic, detail) in diagnostics.iter().zip(&details) {
        if is_short {
            output::note(report.short(diagnostic));
            continue;
        }
        let lines = source_frames::text(&detail.place.source);
        let note = (!lines.is_empty()).then(|| format!("from {lines}"));
        let source = report.named_source();
        let text = renderer.render_with(&source, &demangled(diagnostic), note.as_deref());
        output::note(text.trim_end());
    }
}

/// The errors of a module that is not run.
pub(super) fn errors(parsed: &ParsedSource, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.extend(ptx_verify::verify(&parsed.module, &Default::default()));
    diagnostics.retain(|d| d.severity == Severity::Error);
    diagnostics.sort_by_key(|d| d.span.start);
    diagnostics
}

/// The output of `printf`. On a terminal, control characters other than line ends and tabs are escaped.
pub(super) fn printed(output: &[u8], is_terminal: bool) -> Cow<'_, [u8]> {
    if !is_terminal {
        return Cow::Borrowed(output);
    }
    let text = String::from_utf8_lossy(output);
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| line.split('\t').map(clean).collect::<Vec<_>>().join("\t"))
        .collect();
    Cow::Owned(lines.join("\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        let output = b"a\tb\n\x1b]0;title\x07c\xff\n";
        assert_eq!(&*printed(output, false), output);
        let shown = printed(output, true);
        let expected = "a\tb\n\\u{1b}]0;title\\u{7}c\u{fffd}\n";
        assert_eq!(String::from_utf8_lossy(&shown), expected);
    }
}

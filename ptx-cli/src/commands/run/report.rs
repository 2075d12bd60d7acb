//! The results of a run, as text and as JSON.

use std::borrow::Cow;

use anyhow::Result;
use ptx_ir::{Diagnostic, Severity};
use serde::Serialize;

use super::memory::Written;
use super::profile::JsonCounts;
use super::trace::Traced;
use crate::commands::check::diagnose::details;
use crate::commands::rewrite::ParsedSource;
use crate::output::{self, Out};
use crate::render::json::Finding;
use crate::render::{Renderer, demangled};
use ptx_report::demangle::demangle;
use ptx_report::source_frames::{self, NOWHERE};
use ptx_report::{SCHEMA, clean};

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

/// Writes a run as one JSON object.
pub(super) fn json(
    out: &mut Out,
    read: &ParsedSource,
    (launches, done): (&[Launched<'_>], bool),
    written: &[Written<'_>],
    diagnostics: &[Diagnostic],
) -> Result<()> {
    let report = read.report();
    let places = details(&read.module, diagnostics);
    let findings = diagnostics.iter().enumerate();
    let findings = findings.map(|(at, diagnostic)| {
        let place = places.get(at).map_or(&NOWHERE, |detail| &detail.place);
        report.finding(diagnostic, place)
    });
    let launched = launches.iter().map(|launch| JsonLaunch {
        kernel: launch.kernel,
        demangled: demangle(launch.kernel),
        steps: launch.steps,
        output: String::from_utf8_lossy(&launch.output),
        trace: launch.trace.map(|trace| JsonTrace {
            lines: trace.lines,
            complete: trace.complete,
        }),
        profile: launch.profile.as_deref(),
    });
    let buffers = written.iter().map(|written| JsonBuffer {
        file: clean(&written.path.to_string_lossy()).into_owned(),
        ty: written.layout.type_text(),
        shape: written.layout.shape(),
    });
    Ok(out.json(&JsonRun {
        schema: SCHEMA,
        file: &read.source.name,
        done,
        launches: launched.collect(),
        buffers: buffers.collect(),
        diagnostics: findings.collect(),
    })?)
}

/// Writes diagnostics to standard error: one line for each, or with the lines of the source.
pub(super) fn note(read: &ParsedSource, diagnostics: &[Diagnostic], short: bool) {
    let renderer = match output::is_colored() {
        true => Renderer::styled(),
        false => Renderer::plain(),
    };
    let report = read.report();
    let places = details(&read.module, diagnostics);
    for (diagnostic, detail) in diagnostics.iter().zip(&places) {
        if short {
            output::note(report.short(diagnostic));
            continue;
        }
        let lines = source_frames::text(&detail.place.source);
        let from = (!lines.is_empty()).then(|| format!("from {lines}"));
        let source = report.named_source();
        let text = renderer.render_with(&source, &demangled(diagnostic), from.as_deref());
        output::note(text.trim_end());
    }
}

/// The errors of a module that is not run.
pub(super) fn errors(read: &ParsedSource, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.extend(ptx_verify::verify(&read.module, &Default::default()));
    found.retain(|d| d.severity == Severity::Error);
    found.sort_by_key(|d| d.span.start);
    found
}

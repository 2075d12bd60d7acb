//! The report at the end: what all launches found, and their profiles.

use std::io::Write;

use anyhow::Result;
use ptx_analysis::source_lines::SourceLines;
use ptx_report::demangle::{demangle, display_name};
use ptx_report::source_frames::{self, Finder, Place};
use ptx_report::{SCHEMA, counted, launch_log};
use serde::Serialize;

use super::Format;
use super::log::{Cause, KernelProfile, Log};
use crate::commands::run::profile::{self, JsonCounts};
use crate::render::json::Finding;
use crate::render::{Report, demangled, sarif};

/// What a program and its processes found.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonExec<'a> {
    schema: u32,
    /// The program and its arguments.
    command: Vec<String>,
    /// The exit status of the program; 128 and the number of a signal that ended it.
    status: u8,
    /// The number of processes that launched kernels.
    processes: usize,
    /// The number of these that did not end by themselves: their launches, steps and profiles are not counted.
    killed: usize,
    launches: u64,
    /// The number of executed warp instructions.
    steps: u64,
    findings: Vec<JsonFinding<'a>>,
}

/// A finding of one or several launches.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonFinding<'a> {
    /// The kernel that was launched. The file is its name in the source, and `.ptx`.
    kernel: &'a str,
    /// Whether it ended the launches.
    ended_launch: bool,
    /// The number of launches with this finding.
    launches: u64,
    /// How often it was found in them.
    occurrences: u64,
    #[serde(flatten)]
    finding: Finding<'a>,
}

/// The profiles of all kernels.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonProfile<'a> {
    schema: u32,
    kernels: Vec<JsonKernel<'a>>,
}

/// The profile of all launches of a kernel in a process.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonKernel<'a> {
    kernel: &'a str,
    demangled: Option<String>,
    launches: u64,
    /// The number of executed warp instructions.
    steps: u64,
    profile: Vec<JsonCounts>,
}

/// A cause and where it is.
struct Located<'a> {
    cause: &'a Cause,
    /// The name of the text.
    file: String,
    place: Place,
}

/// Finds the source lines of all causes.
fn locate(log: &Log) -> Vec<Located<'_>> {
    let located = log.causes.iter().filter_map(|cause| {
        let loaded = log.modules.get(cause.module)?;
        let lines = SourceLines::new(&loaded.module);
        let place = Finder::new(&loaded.module, &lines).place(cause.diagnostic.span.start);
        Some(Located {
            cause,
            file: launch_log::file_name(&cause.kernel),
            place,
        })
    });
    located.collect()
}

impl Located<'_> {
    fn report<'r>(&'r self, log: &'r Log) -> Option<Report<'r>> {
        let loaded = log.modules.get(self.cause.module)?;
        Some(Report {
            name: &self.file,
            source: loaded.module.source(),
            lines: &loaded.lines,
        })
    }
}

/// Writes the findings.
pub(super) fn write(
    out: &mut dyn Write,
    log: &Log,
    format: Format,
    command: Vec<String>,
    status: u8,
) -> Result<()> {
    let located = locate(log);
    match format {
        Format::Text => {
            for located in &located {
                writeln!(out, "{}", text(located, log))?;
            }
        }
        Format::Json => {
            let findings = located.iter().filter_map(|located| {
                let Cause {
                    kernel, diagnostic, ..
                } = located.cause;
                Some(JsonFinding {
                    kernel,
                    ended_launch: located.cause.ended_launch,
                    launches: located.cause.launches,
                    occurrences: located.cause.occurrences,
                    finding: located.report(log)?.finding(diagnostic, &located.place),
                })
            });
            let report = JsonExec {
                schema: SCHEMA,
                command,
                status,
                processes: log.processes,
                killed: log.killed,
                launches: log.launches,
                steps: log.steps,
                findings: findings.collect(),
            };
            writeln!(out, "{}", serde_json::to_string(&report)?)?;
        }
        Format::Sarif => {
            writeln!(out, "{}", sarif::head())?;
            for (index, located) in located.iter().enumerate() {
                let separator = if index > 0 { "," } else { "" };
                if let Some(report) = located.report(log) {
                    let diagnostic = demangled(&located.cause.diagnostic);
                    let mut result = report.sarif(&diagnostic, &located.place.source, None);
                    result["occurrenceCount"] = located.cause.occurrences.into();
                    writeln!(out, "{separator}{result}")?;
                }
            }
            writeln!(out, "{}", sarif::TAIL)?;
        }
    }
    Ok(())
}

/// A finding on one line, with its numbers.
fn text(located: &Located<'_>, log: &Log) -> String {
    let Cause {
        diagnostic,
        launches,
        occurrences,
        ..
    } = located.cause;
    let line = located
        .report(log)
        .map(|report| report.short(diagnostic))
        .unwrap_or_default();
    let source = source_frames::text(&located.place.source);
    let source = match source.as_str() {
        "" => String::new(),
        text => format!("; from {text}"),
    };
    let launches = counted(usize::try_from(*launches).unwrap_or(usize::MAX), "launch");
    let times = match occurrences {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    };
    format!("{line} ({launches}, {times}{source})")
}

/// What was run: `3 launches, 1,234 warp steps, 2 findings`.
pub(super) fn summary(log: &Log) -> String {
    let launches = counted(
        usize::try_from(log.launches).unwrap_or(usize::MAX),
        "launch",
    );
    let steps = indicatif::HumanCount(log.steps);
    let findings = counted(log.causes.len(), "finding");
    let killed = match log.killed {
        0 => String::new(),
        1 => "; 1 process was killed".to_owned(),
        n => format!("; {n} processes were killed"),
    };
    format!("ptxkit: {launches}, {steps} warp steps, {findings}{killed}")
}

/// Writes the profiles of all kernels as JSON.
pub(super) fn write_profile(out: &mut dyn Write, log: &Log) -> Result<()> {
    let kernels = log
        .profiles
        .iter()
        .filter_map(|kernel| json_kernel(log, kernel));
    let profile = JsonProfile {
        schema: SCHEMA,
        kernels: kernels.collect(),
    };
    Ok(writeln!(out, "{}", serde_json::to_string(&profile)?)?)
}

fn json_kernel<'a>(log: &'a Log, kernel: &'a KernelProfile) -> Option<JsonKernel<'a>> {
    let loaded = log.modules.get(kernel.module)?;
    let lines = SourceLines::new(&loaded.module);
    let mut finder = Finder::new(&loaded.module, &lines);
    let source = loaded.module.source();
    let counts = kernel.instructions.iter();
    Some(JsonKernel {
        kernel: &kernel.kernel,
        demangled: demangle(&kernel.kernel),
        launches: kernel.launches,
        steps: kernel.steps,
        profile: counts
            .map(|count| profile::logged(count, &mut finder, &loaded.lines, source))
            .collect(),
    })
}

/// The kernels that were profiled, the most executed first: ``kernel `f`: 3 launches, 1,234 warp steps``.
pub(super) fn profile_lines(log: &Log) -> Vec<String> {
    let mut kernels: Vec<&KernelProfile> = log.profiles.iter().collect();
    kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.steps));
    let line = |kernel: &&KernelProfile| {
        let launches = usize::try_from(kernel.launches).unwrap_or(usize::MAX);
        let launches = counted(launches, "launch");
        let steps = indicatif::HumanCount(kernel.steps);
        format!(
            "kernel `{}`: {launches}, {steps} warp steps",
            display_name(&kernel.kernel)
        )
    };
    kernels.iter().map(line).collect()
}

//! What a launch did.

use std::collections::BTreeMap;

use lsp_types::Range;
use ptx_ir::Diagnostic;
use ptx_vm::{Machine, Outcome, Report, RunError};
use serde::Serialize;

use super::buffer::{After, Allocated};
use crate::document::Document;

/// The answer to `ptxkit/run`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::custom) struct Ran {
    /// The number of executed warp instructions; `None` if the launch did not complete.
    steps: Option<u64>,
    /// What the kernel printed.
    output: String,
    /// What ended the launch.
    error: Option<Problem>,
    /// What checkers found.
    findings: Vec<Problem>,
    buffers: Vec<After>,
    /// What was executed, by lines.
    profile: Option<Vec<Line>>,
}

/// An error or a finding.
#[derive(Serialize)]
struct Problem {
    code: Option<String>,
    message: String,
    help: Option<String>,
    /// The instruction.
    range: Option<Range>,
}

/// What was executed of a line.
#[derive(Serialize)]
struct Line {
    /// Counted from 0.
    line: u32,
    executions: u64,
    lanes: u64,
    bytes: u64,
}

impl Problem {
    fn new(document: &Document, of: &Diagnostic) -> Self {
        Self {
            code: Some(of.code.to_string()),
            message: of.message.to_string(),
            help: of.help.as_ref().map(ToString::to_string),
            range: Some(document.range(of.span)),
        }
    }

    fn of_error(document: &Document, error: &RunError, kernel: &str) -> Self {
        let module = document.module();
        let id = module.function(kernel);
        let header = id.and_then(|id| module.interface_spans(id));
        match error.diagnostic(header.map(|h| h.name).unwrap_or_default()) {
            Some(diagnostic) => Self::new(document, &diagnostic),
            None => Self {
                code: None,
                message: error.to_string(),
                help: None,
                range: None,
            },
        }
    }
}

/// The most bytes of output in an answer.
const MOST_OUTPUT: usize = 1 << 20;

/// What a kernel printed, up to a limit.
fn output(bytes: &[u8]) -> String {
    match bytes.split_at_checked(MOST_OUTPUT) {
        Some((first, rest)) if !rest.is_empty() => {
            let first = String::from_utf8_lossy(first);
            format!("{first}\n({} more bytes)\n", rest.len())
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The answer after a launch of a kernel.
pub(super) fn answer(
    document: &Document,
    machine: &Machine<'_>,
    (kernel, ended): (&str, Result<Outcome, RunError>),
    buffers: &[Allocated],
) -> Ran {
    let findings = machine.reports().iter().map(Report::diagnostic);
    Ran {
        steps: ended.as_ref().ok().map(|outcome| outcome.steps),
        output: output(machine.output()),
        error: ended
            .err()
            .map(|error| Problem::of_error(document, &error, kernel)),
        findings: findings.map(|d| Problem::new(document, &d)).collect(),
        buffers: buffers.iter().map(|buffer| buffer.after(machine)).collect(),
        profile: profile(document, machine),
    }
}

fn profile(document: &Document, machine: &Machine<'_>) -> Option<Vec<Line>> {
    let mut lines: BTreeMap<u32, Line> = BTreeMap::new();
    for count in &machine.profile()?.instructions {
        let Some(span) = count.span else { continue };
        let number = document.position(span.start).line;
        let line = lines.entry(number).or_insert(Line {
            line: number,
            executions: 0,
            lanes: 0,
            bytes: 0,
        });
        line.executions += count.executions;
        line.lanes += count.lanes;
        line.bytes += count.memory.iter().map(|memory| memory.bytes).sum::<u64>();
    }
    Some(lines.into_values().collect())
}

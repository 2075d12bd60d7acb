//! The answer to `ptxkit/run`: the results of a launch.

use std::collections::BTreeMap;

use lsp_types::Range;
use ptx_ir::Diagnostic;
use ptx_vm::{Machine, Outcome, RunError};
use serde::Serialize;

use super::buffer::{AllocatedBuffer, FinalBuffer};
use crate::document::Document;

/// The results of a launch.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::custom) struct RunAnswer {
    /// The number of executed warp instructions; `None` if the launch did not complete.
    steps: Option<u64>,
    /// The text that the kernel printed.
    output: String,
    /// The error that ended the launch.
    error: Option<Problem>,
    /// The findings of checkers.
    findings: Vec<Problem>,
    buffers: Vec<FinalBuffer>,
    /// The executions of each line, if they were counted.
    profile: Option<Vec<Line>>,
}

/// An error or a finding.
#[derive(Serialize)]
struct Problem {
    code: Option<String>,
    message: String,
    help: Option<String>,
    /// The range of the instruction.
    range: Option<Range>,
}

/// The executions of a line.
#[derive(Serialize)]
struct Line {
    /// The line, counted from 0.
    line: u32,
    /// The number of executed warp instructions.
    executions: u64,
    /// The sum of their active lanes.
    lanes: u64,
    /// The number of bytes that they accessed in memory.
    bytes: u64,
}

impl Problem {
    fn new(document: &Document, diagnostic: &Diagnostic) -> Self {
        Self {
            code: Some(diagnostic.code.to_string()),
            message: diagnostic.message.to_string(),
            help: diagnostic.help.as_ref().map(ToString::to_string),
            range: Some(document.range(diagnostic.span)),
        }
    }

    fn from_error(document: &Document, error: &RunError, kernel: &str) -> Self {
        let module = document.module();
        let header = module
            .function(kernel)
            .and_then(|id| module.interface_spans(id));
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

/// The maximum number of bytes of output in an answer.
const MAX_OUTPUT: usize = 1 << 20;

/// The beginning of the printed text.
fn output(bytes: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_OUTPUT)]);
    if bytes.len() > MAX_OUTPUT {
        format!("{shown}\n({} more bytes)\n", bytes.len() - MAX_OUTPUT)
    } else {
        shown.into_owned()
    }
}

/// The answer after a launch of `kernel` on `machine`.
pub(super) fn answer(
    document: &Document,
    machine: &Machine<'_>,
    kernel: &str,
    result: Result<Outcome, RunError>,
    buffers: &[AllocatedBuffer],
) -> RunAnswer {
    let (steps, error) = match result {
        Ok(outcome) => (Some(outcome.steps), None),
        Err(error) => (None, Some(Problem::from_error(document, &error, kernel))),
    };
    RunAnswer {
        steps,
        output: output(machine.output()),
        error,
        findings: machine
            .reports()
            .iter()
            .map(|report| Problem::new(document, &report.diagnostic()))
            .collect(),
        buffers: buffers
            .iter()
            .map(|buffer| buffer.read_back(machine))
            .collect(),
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

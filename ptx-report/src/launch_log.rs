//! The log that the library `ptx-cuda` writes for each process, one JSON object per line, and that `ptxkit exec` reads.
//!
//! A line is complete or it is the last one: a process that is killed leaves a log that can be read.

use std::str::FromStr as _;

use ptx_ir::{Code, Diagnostic, Span};
use serde::{Deserialize, Serialize};

use crate::clean;
use crate::demangle::demangle;

/// The extension of logs.
pub const EXTENSION: &str = "jsonl";

/// The name of the PTX with a kernel, which has no file: the name of the kernel in the source, without its parameters.
#[must_use]
pub fn file_name(kernel: &str) -> String {
    let name = demangle(kernel);
    let name = name.as_deref().unwrap_or(kernel);
    let name = name.split(['(', '[', '<']).next().unwrap_or_default();
    let name = name.rsplit([':', ' ']).next().unwrap_or_default();
    format!("{}.ptx", clean(if name.is_empty() { kernel } else { name }))
}

/// A line of a log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line.
    Process {
        /// The number of the process.
        process: u32,
        /// The path of the program.
        program: String,
    },
    /// A module that later lines are about.
    Module {
        /// The number of the module in this log.
        module: u64,
        /// The PTX.
        text: String,
    },
    /// A report of a checker, or an error that ended a launch.
    Finding {
        /// The number of the finding in this log.
        finding: u64,
        /// The number of the module.
        module: u64,
        /// The name of the kernel.
        kernel: String,
        /// The number of the launch in this process, from 1.
        launch: u64,
        /// Whether it ended the launch.
        ended_launch: bool,
        /// How often it was found in the launch.
        occurrences: u64,
        /// What was found.
        diagnostic: LoggedDiagnostic,
    },
    /// The same finding in a later launch.
    Again {
        /// The number of the finding.
        finding: u64,
        /// How often it was found in the launch.
        occurrences: u64,
    },
    /// The profile of all launches of a kernel.
    Profile {
        /// The number of the module.
        module: u64,
        /// The name of the kernel.
        kernel: String,
        /// The number of launches.
        launches: u64,
        /// The number of executed warp instructions.
        steps: u64,
        /// The instructions that were executed.
        instructions: Vec<LoggedInstruction>,
    },
    /// The last line of a process that ended by itself.
    End {
        /// The number of launches.
        launches: u64,
        /// The number of executed warp instructions.
        steps: u64,
    },
}

/// A diagnostic in the text of a module.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LoggedDiagnostic {
    /// The code, such as `PTX1401`.
    pub code: String,
    /// The first offset, and the one after the last.
    pub span: [u32; 2],
    /// What was found.
    pub message: String,
    /// Other places, with their messages.
    pub labels: Vec<([u32; 2], String)>,
    /// Advice on a fix.
    pub help: Option<String>,
}

/// The profile of an instruction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LoggedInstruction {
    /// The first offset of the instruction, and the one after the last.
    pub span: [u32; 2],
    /// The number of executions by warps.
    pub executions: u64,
    /// The number of active lanes, summed over the executions.
    pub lanes: u64,
    /// The accessed memory.
    pub memory: Vec<LoggedMemory>,
    /// The matrix products that it computed.
    pub matrix: Option<LoggedMatrix>,
}

/// The accesses of an instruction to a memory, as in the profile of a launch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the fields are those of `ptx_vm::MemoryProfile`"
)]
pub struct LoggedMemory {
    pub space: String,
    pub bytes: u64,
    pub requests: u64,
    pub sectors: u64,
    pub passes: u64,
    pub least_passes: u64,
}

/// The matrix products of an instruction, as in the profile of a launch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the fields are those of `ptx_vm::MatrixProfile`"
)]
pub struct LoggedMatrix {
    pub shape: [u32; 3],
    pub factors: [String; 2],
    pub sparse: bool,
    pub products: u64,
    pub multiply_adds: u64,
}

impl From<&Diagnostic> for LoggedDiagnostic {
    fn from(diagnostic: &Diagnostic) -> Self {
        let offsets = |span: Span| [span.start, span.end];
        Self {
            code: diagnostic.code.to_string(),
            span: offsets(diagnostic.span),
            message: diagnostic.message.clone(),
            labels: diagnostic
                .labels
                .iter()
                .map(|label| (offsets(label.span), label.message.clone()))
                .collect(),
            help: diagnostic.help.clone(),
        }
    }
}

impl LoggedDiagnostic {
    /// The diagnostic; `None` if this version does not have its code.
    #[must_use]
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        let span = |[start, end]: [u32; 2]| Span::new(start, end.max(start));
        let code = Code::from_str(&self.code).ok()?;
        let mut diagnostic = Diagnostic::error(code, span(self.span), self.message.clone());
        diagnostic.help.clone_from(&self.help);
        for (place, message) in &self.labels {
            diagnostic = diagnostic.with_label(span(*place), message.clone());
        }
        Some(diagnostic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_names_of_kernels() {
        assert_eq!(file_name("vecadd"), "vecadd.ptx");
        assert_eq!(file_name("_Z4scalIfEvPT_i"), "scal.ptx");
        assert_eq!(file_name("(odd)"), "(odd).ptx");
    }

    #[test]
    fn a_diagnostic_is_the_same_after_the_log() {
        let diagnostic = Diagnostic::error(Code::MisalignedAddress, Span::new(5, 9), "misaligned")
            .with_help("align it")
            .with_label(Span::new(1, 2), "allocated here");
        let event = Event::Finding {
            finding: 1,
            module: 2,
            kernel: "k".into(),
            launch: 3,
            ended_launch: true,
            occurrences: 4,
            diagnostic: (&diagnostic).into(),
        };
        let line = serde_json::to_string(&event).unwrap_or_default();
        let read: Event = serde_json::from_str(&line).unwrap_or(Event::End {
            launches: 0,
            steps: 0,
        });
        assert_eq!(read, event);
        let Event::Finding {
            diagnostic: read, ..
        } = read
        else {
            return;
        };
        assert_eq!(read.diagnostic(), Some(diagnostic));
    }
}

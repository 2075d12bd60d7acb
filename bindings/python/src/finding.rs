//! The outcome of a launch, and the findings of checkers.

use ptxkit::vm::{self, Report};
use pyo3::prelude::*;

use crate::diagnostic::Span;
use crate::profile::InstructionProfile;

/// The outcome of a launch.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; mov.u32 %r, 1; ret; }")
/// >>> outcome = ptxkit.Machine(module).launch("k", grid=3)
/// >>> outcome.steps, outcome.output, outcome.findings
/// (6, '', [])
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Outcome {
    /// The number of instructions that warps executed.
    #[pyo3(get)]
    pub(crate) steps: u64,
    /// The text that the kernel printed.
    #[pyo3(get)]
    pub(crate) output: String,
    /// The findings of checkers.
    pub(crate) findings: Vec<Finding>,
    /// The profile, if it was counted.
    pub(crate) profile: Option<Vec<InstructionProfile>>,
}

#[pymethods]
impl Outcome {
    /// The findings of checkers.
    #[getter]
    fn findings(&self) -> Vec<Finding> {
        self.findings.clone()
    }

    /// The profile: a row for each executed instruction, in the order of the module; `None` without `profile=True`.
    #[getter]
    fn profile(&self) -> Option<Vec<InstructionProfile>> {
        self.profile.clone()
    }

    fn __repr__(&self) -> String {
        format!(
            "<Outcome: {} steps, {} findings>",
            self.steps,
            self.findings.len()
        )
    }
}

/// A finding of a checker.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; add.u32 %r, %r, 1; ret; }")
/// >>> [finding] = ptxkit.Machine(module).launch("k", checks=["initcheck"]).findings
/// >>> finding.code, finding.checker, finding.at.instruction
/// ('PTX1412', 'initcheck', 'add.u32 %r, %r, 1;')
#[pyclass(frozen, skip_from_py_object, module = "ptxkit")]
#[derive(Clone)]
pub(crate) struct Finding {
    report: Report,
}

impl Finding {
    pub(crate) fn all(reports: &[Report]) -> Vec<Self> {
        reports
            .iter()
            .map(|report| Self {
                report: report.clone(),
            })
            .collect()
    }
}

#[pymethods]
impl Finding {
    /// The code of its kind, such as `PTX1441`.
    #[getter]
    fn code(&self) -> String {
        self.report.code.to_string()
    }

    /// The checker: `memcheck`, `initcheck`, `synccheck` or `racecheck`.
    #[getter]
    fn checker(&self) -> &'static str {
        self.report.checker.name()
    }

    /// The message.
    #[getter]
    fn message(&self) -> &str {
        &self.report.message
    }

    /// The advice how to correct the mistake, if there is any.
    #[getter]
    fn help(&self) -> &str {
        &self.report.help
    }

    /// The number of times that the mistake was found at this instruction.
    #[getter]
    fn count(&self) -> u64 {
        self.report.count
    }

    /// The first thread for which the mistake was found.
    #[getter]
    fn at(&self) -> Occurrence {
        Occurrence::new(&self.report.at)
    }

    /// The related access: the earlier access of a race, or the call of `free` for freed memory.
    #[getter]
    fn other(&self) -> Option<Occurrence> {
        let other = self.report.other.as_ref();
        other.map(|(at, _)| Occurrence::new(at))
    }

    fn __str__(&self) -> String {
        self.report.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Finding {}: {}>", self.code(), self.report.message)
    }
}

/// A thread at an instruction.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; add.u32 %r, %r, 1; ret; }")
/// >>> [finding] = ptxkit.Machine(module).launch("k", block=(4, 2), checks=["initcheck"]).findings
/// >>> finding.at.function, finding.at.block, finding.at.thread, finding.count
/// ('k', (0, 0, 0), (0, 0, 0), 1)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Occurrence {
    /// The name of the function.
    #[pyo3(get)]
    function: String,
    /// The text of the instruction; empty at the end of the function.
    #[pyo3(get)]
    instruction: String,
    /// The span of the instruction in the source of the module.
    #[pyo3(get)]
    span: Option<Span>,
    /// `%ctaid` of the thread.
    #[pyo3(get)]
    block: (u32, u32, u32),
    /// `%tid` of the thread.
    #[pyo3(get)]
    thread: (u32, u32, u32),
}

impl Occurrence {
    fn new(of: &vm::Occurrence) -> Self {
        Self {
            function: of.name.clone(),
            instruction: of.instruction.clone(),
            span: of.span.map(Span::new),
            block: of.block.into(),
            thread: of.thread.into(),
        }
    }
}

#[pymethods]
impl Occurrence {
    fn __repr__(&self) -> String {
        let (block, thread) = (self.block, self.thread);
        format!(
            "<Occurrence in {}, block {block:?}, thread {thread:?}: {}>",
            self.function, self.instruction
        )
    }
}

//! The exception `PtxError`, which is written in Python.

use std::fmt::Display;

use ptxkit::ir::{Code, Diagnostic as IrDiagnostic, Severity};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::diagnostic::{Diagnostic, Span};

static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The largest number of diagnostics in a message.
const SHOWN: usize = 10;

/// The arguments of a `PtxError`.
#[derive(Default)]
pub(crate) struct Failure {
    message: String,
    code: Option<Code>,
    span: Option<ptxkit::ir::Span>,
    diagnostics: Vec<IrDiagnostic>,
}

impl Failure {
    pub(crate) fn new(message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            ..Self::default()
        }
    }

    pub(crate) fn with_code(self, code: Code) -> Self {
        Self {
            code: Some(code),
            ..self
        }
    }

    pub(crate) fn with(self, diagnostics: &[IrDiagnostic]) -> Self {
        Self {
            diagnostics: diagnostics.to_vec(),
            ..self
        }
    }

    pub(crate) fn at(self, span: ptxkit::ir::Span) -> Self {
        Self {
            span: Some(span),
            ..self
        }
    }

    /// The failure of a module with these diagnostics: its message, code and span are those of the first error.
    pub(crate) fn of_diagnostics(diagnostics: Vec<IrDiagnostic>) -> Self {
        let first = diagnostics
            .iter()
            .find(|diagnostic| diagnostic.severity == Severity::Error)
            .or(diagnostics.first());
        let (message, code, span) = match first {
            Some(first) => (first.message.clone(), Some(first.code), Some(first.span)),
            None => Default::default(),
        };
        Self {
            message,
            code,
            span,
            diagnostics,
        }
    }
}

impl Failure {
    /// Replaces the message by one that shows the first diagnostics with their lines of the source.
    pub(crate) fn rendered(mut self, what: &str, name: &str, source: &[u8]) -> Self {
        what.clone_into(&mut self.message);
        for diagnostic in self.diagnostics.iter().take(SHOWN) {
            self.message += "\n";
            self.message += diagnostic.render(name, source).trim_end();
        }
        if let hidden @ 1.. = self.diagnostics.len().saturating_sub(SHOWN) {
            self.message += &format!("\nand {hidden} more");
        }
        self
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| match raise(py, failure) {
            Ok(error) | Err(error) => error,
        })
    }
}

fn raise(py: Python<'_>, failure: Failure) -> PyResult<PyErr> {
    let class = CLASS.import(py, "ptxkit._error", "PtxError")?;
    let diagnostics = failure.diagnostics.into_iter().map(Diagnostic::new);
    let arguments = (
        failure.message,
        failure.code.map(|code| code.to_string()),
        failure.span.map(Span::new),
        diagnostics.collect::<Vec<_>>(),
    );
    Ok(PyErr::from_value(class.call1(arguments)?))
}

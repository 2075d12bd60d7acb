//! Diagnostics and places in the source.

use ptxkit::ir::{Applicability, Code, Diagnostic as IrDiagnostic, LineIndex, Severity};
use pyo3::prelude::*;

use crate::conversions::named;

/// A range of bytes in the source of a module: from `start` to before `end`.
///
/// >>> import ptxkit
/// >>> span = ptxkit.Span(2, 5)
/// >>> span.start, span.end, len(span), 4 in span
/// (2, 5, 3, True)
#[pyclass(frozen, eq, hash, ord, from_py_object, module = "ptxkit")]
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span {
    /// The offset of the first byte.
    #[pyo3(get)]
    start: u32,
    /// The offset after the last byte.
    #[pyo3(get)]
    end: u32,
}

impl Span {
    pub(crate) fn new(span: ptxkit::ir::Span) -> Self {
        let ptxkit::ir::Span { start, end, .. } = span;
        Self { start, end }
    }

    pub(crate) fn ir(self) -> ptxkit::ir::Span {
        ptxkit::ir::Span::new(self.start, self.end)
    }
}

#[pymethods]
impl Span {
    #[new]
    fn py_new(start: u32, end: u32) -> Self {
        let end = end.max(start);
        Self { start, end }
    }

    fn __len__(&self) -> usize {
        self.ir().len()
    }

    fn __contains__(&self, offset: u32) -> bool {
        (self.start..self.end).contains(&offset)
    }

    fn __repr__(&self) -> String {
        format!("Span({}, {})", self.start, self.end)
    }

    fn __getnewargs__(&self) -> (u32, u32) {
        (self.start, self.end)
    }
}

/// An error or a warning about a module.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { foo.u32 %r1; }")
/// >>> error = module.check()[0]
/// >>> error.severity, error.code, error.name, error.line
/// ('error', 'PTX0104', 'UnknownOpcode', 3)
#[pyclass(frozen, eq, hash, skip_from_py_object, module = "ptxkit")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Diagnostic {
    diagnostic: IrDiagnostic,
    /// The line and the column of the start of the span, if the source was available.
    position: Option<(u32, u32)>,
}

impl Diagnostic {
    pub(crate) fn new(diagnostic: IrDiagnostic) -> Self {
        Self {
            diagnostic,
            position: None,
        }
    }

    /// Adds the line and the column of the start of the span.
    pub(crate) fn with_position(diagnostic: IrDiagnostic, lines: &LineIndex) -> Self {
        let position = lines.position(diagnostic.span.start);
        Self {
            diagnostic,
            position: Some((position.line, position.column)),
        }
    }

    pub(crate) fn ir(&self) -> &IrDiagnostic {
        &self.diagnostic
    }
}

type Notes = Vec<(Span, String)>;
type Head = (String, bool, Span);
/// The edits of a fix and their applicability.
type Fix = (Notes, String);
type Parts = (
    Head,
    String,
    Option<String>,
    Notes,
    Vec<Span>,
    Fix,
    Option<(u32, u32)>,
);

/// A diagnostic that was pickled.
#[pyfunction]
#[pyo3(name = "_diagnostic")]
pub(crate) fn restored_diagnostic(
    head: Head,
    message: String,
    help: Option<String>,
    notes: Notes,
    repeats: Vec<Span>,
    fix: Fix,
    position: Option<(u32, u32)>,
) -> PyResult<Diagnostic> {
    let (code, is_error, span) = head;
    let code: Code = named(&code, "code")?;
    let mut diagnostic = if is_error {
        IrDiagnostic::error(code, span.ir(), message)
    } else {
        IrDiagnostic::warning(code, span.ir(), message)
    };
    diagnostic.help = help;
    for (span, text) in notes {
        diagnostic = diagnostic.with_label(span.ir(), text);
    }
    diagnostic.repeats = repeats.into_iter().map(Span::ir).collect();
    let (edits, applicability) = fix;
    diagnostic.add_fix(edits.into_iter().map(|(span, text)| (span.ir(), text)));
    if let Some(applicability) = Applicability::ALL
        .into_iter()
        .find(|a| a.name() == applicability)
    {
        diagnostic.applicability = applicability;
    }
    Ok(Diagnostic {
        diagnostic,
        position,
    })
}

#[pymethods]
impl Diagnostic {
    /// `"error"` or `"warning"`.
    #[getter]
    fn severity(&self) -> &'static str {
        self.diagnostic.severity.name()
    }

    /// Whether it is an error.
    #[getter]
    fn is_error(&self) -> bool {
        self.diagnostic.severity == Severity::Error
    }

    /// The code, such as `"PTX0104"`. `ptxkit.explain` explains it.
    #[getter]
    fn code(&self) -> String {
        self.diagnostic.code.to_string()
    }

    /// The name of the code, such as `"UnknownOpcode"`.
    #[getter]
    fn name(&self) -> &'static str {
        self.diagnostic.code.name()
    }

    /// The message.
    #[getter]
    fn message(&self) -> &str {
        &self.diagnostic.message
    }

    /// The advice how to repair the mistake, if there is any.
    #[getter]
    fn help(&self) -> Option<&str> {
        self.diagnostic.help.as_deref()
    }

    /// The place in the source.
    #[getter]
    fn span(&self) -> Span {
        Span::new(self.diagnostic.span)
    }

    /// The line in the source, from 1.
    #[getter]
    fn line(&self) -> Option<u32> {
        self.position.map(|(line, _)| line)
    }

    /// The column in the line in bytes, from 1.
    #[getter]
    fn column(&self) -> Option<u32> {
        self.position.map(|(_, column)| column)
    }

    /// Other places in the source, each with its relation to the diagnostic.
    #[getter]
    fn notes(&self) -> Notes {
        let labels = self.diagnostic.labels.iter();
        labels
            .map(|l| (Span::new(l.span), l.message.clone()))
            .collect()
    }

    /// The edits that repair the mistake: spans and their new text. Empty without a fix.
    #[getter]
    fn fix(&self) -> Notes {
        let patches = self.diagnostic.fix.iter();
        patches
            .map(|p| (Span::new(p.span), p.text.clone()))
            .collect()
    }

    /// The applicability of the edits: `"MachineApplicable"`, `"MaybeIncorrect"` or `"HasPlaceholders"`, as in rustc. `None` without
    /// edits.
    #[getter]
    fn applicability(&self) -> Option<&'static str> {
        let diagnostic = &self.diagnostic;
        (!diagnostic.fix.is_empty()).then(|| diagnostic.applicability.name())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let restore = py.import("ptxkit._native")?.getattr("_diagnostic")?;
        let repeats = self.diagnostic.repeats.iter();
        let parts = (
            (self.code(), self.is_error(), self.span()),
            self.diagnostic.message.clone(),
            self.diagnostic.help.clone(),
            self.notes(),
            repeats.map(|span| Span::new(*span)).collect(),
            (self.fix(), self.diagnostic.applicability.name().to_owned()),
            self.position,
        );
        Ok((restore, parts))
    }

    fn __str__(&self) -> String {
        let place = match self.position {
            Some((line, column)) => format!("{line}:{column}: "),
            None => String::new(),
        };
        let severity = self.diagnostic.severity.name();
        format!(
            "{place}{severity}: {}: {}",
            self.diagnostic.code, self.diagnostic.message
        )
    }

    fn __repr__(&self) -> String {
        format!("<Diagnostic {self}>", self = self.__str__())
    }
}

//! Explanations of instructions, keywords and diagnostics.

use ptx_report::explain::{self, Extent};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::conversions::to_python;

/// Explains an instruction, a modifier, a directive, a special register, a type, a state space or the code of a diagnostic.
///
/// There may be several explanations. Raises `KeyError` if there is none.
///
/// >>> import ptxkit
/// >>> entry = ptxkit.explain("bar.sync")[0]
/// >>> entry.kind, entry.name
/// ('instruction', 'bar.sync')
/// >>> ptxkit.explain("PTX0501")[0].kind
/// 'diagnostic'
#[pyfunction]
#[pyo3(name = "explain")]
pub(crate) fn explain_text(text: &str) -> PyResult<Vec<Explanation>> {
    let entries = explain::find(text).map_err(PyKeyError::new_err)?;
    Ok(entries.into_iter().map(Explanation).collect())
}

/// An explanation.
///
/// >>> import ptxkit
/// >>> entry = ptxkit.explain("%tid")[0]
/// >>> entry.kind, entry.name, entry.summary[-1]
/// ('special register', '%tid', '.')
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Explanation(explain::Entry);

#[pymethods]
impl Explanation {
    /// `"instruction"`, `"directive"`, `"special register"`, `"type"`, `"state space"`, `"modifier"` or `"diagnostic"`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    /// The name of the explained instruction, keyword or code.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The section of the PTX ISA manual.
    #[getter]
    fn section(&self) -> Option<&'static str> {
        self.0.section
    }

    /// The description, one sentence.
    #[getter]
    fn summary(&self) -> &'static str {
        self.0.summary
    }

    /// Examples.
    #[getter]
    fn examples(&self) -> Vec<String> {
        self.0.examples.iter().map(ToString::to_string).collect()
    }

    /// All facts, as the object that `ptxkit explain --json` writes.
    #[getter]
    fn details<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0)
    }

    fn __str__(&self) -> String {
        explain::text(&self.0, Extent::Full)
    }

    fn __repr__(&self) -> String {
        format!("<Explanation of {} {}>", self.0.kind, self.0.name)
    }
}

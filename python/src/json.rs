//! What the program writes as JSON, as Python objects.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|e| PyValueError::new_err(e.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

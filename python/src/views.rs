//! What all objects have in common.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::module::Module;

/// A hash for `__hash__`.
pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Whether two modules are equal: the same text.
pub(crate) fn same(left: &Py<Module>, right: &Py<Module>) -> bool {
    left.is(right) || left.get().ir.source() == right.get().ir.source()
}

/// A function of `ptxkit._pickle` and its arguments.
pub(crate) type Restored<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// What `__reduce__` returns.
pub(crate) fn restored<'py>(
    py: Python<'py>,
    function: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Restored<'py>> {
    let function = py.import("ptxkit._pickle")?.getattr(function)?;
    Ok((function, arguments.into_pyobject(py)?))
}

/// The position that an index of Python means, counted from the end if it is negative.
pub(crate) fn position(index: isize, len: usize) -> PyResult<usize> {
    let at = if index < 0 {
        index + len as isize
    } else {
        index
    };
    let at = usize::try_from(at).ok().filter(|at| *at < len);
    at.ok_or_else(|| PyIndexError::new_err(format!("index {index} of {len}")))
}

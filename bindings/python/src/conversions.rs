//! Conversions between Python and Rust: arguments, indices, hashes, pickled objects, JSON.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::str::FromStr;

use ptx_report::demangle::demangle;
use ptxkit::isa::PtxVersion;
use ptxkit::parse::suggest;
use ptxkit::verify::Options;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde::Serialize;

/// Parses the name of a target, a version, a type or a state space.
pub(crate) fn named<T: FromStr>(text: &str, what: &str) -> PyResult<T> {
    text.parse()
        .map_err(|_| PyValueError::new_err(format!("`{text}` is not a {what}")))
}

/// The options for a check with another target or version than those of the header.
pub(crate) fn options(target: Option<&str>, version: Option<&str>) -> PyResult<Options> {
    let target = target.map(|name| named(name, "target")).transpose()?;
    let version = version.map(|text| named(text, "PTX version")).transpose()?;
    Ok(Options::default().with_version(version).with_target(target))
}

/// The PTX version that a caller asks for.
pub(crate) enum RequestedVersion {
    Exact(PtxVersion),
    /// The lowest possible version.
    Lowest,
}

impl RequestedVersion {
    pub(crate) fn new(text: &str) -> PyResult<Self> {
        match text {
            "lowest" => Ok(Self::Lowest),
            text => named(text, "PTX version").map(Self::Exact),
        }
    }
}

/// Converts an index of Python, which counts from the end if it is negative, to a position.
pub(crate) fn position(index: isize, len: usize) -> PyResult<usize> {
    let position = if index < 0 {
        index + len as isize
    } else {
        index
    };
    usize::try_from(position)
        .ok()
        .filter(|position| *position < len)
        .ok_or_else(|| PyIndexError::new_err(format!("index {index} of {len}")))
}

/// A hash for `__hash__`.
pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A function of `ptxkit._pickle` and its arguments.
pub(crate) type Restored<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// The result of `__reduce__`.
pub(crate) fn restored<'py>(
    py: Python<'py>,
    function: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Restored<'py>> {
    let function = py.import("ptxkit._pickle")?.getattr(function)?;
    Ok((function, arguments.into_pyobject(py)?))
}

/// Converts a value that the program writes as JSON to Python objects.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|e| PyValueError::new_err(e.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// A question about the function that a name which no function has may mean: the similar name, or the mangled name of a function that has the name in
/// C++ or Rust. Empty if there is none.
pub(crate) fn did_you_mean<'n>(name: &str, names: impl Iterator<Item = &'n str> + Clone) -> String {
    let has_base_name = |mangled: &&str| {
        demangle(mangled).is_some_and(|text| {
            let head = text.split(['(', '<']).next().unwrap_or_default();
            head.rsplit([' ', ':']).next() == Some(name)
        })
    };
    match names
        .clone()
        .find(has_base_name)
        .or_else(|| suggest::name(name, names))
    {
        Some(similar) => format!("; did you mean `{similar}`?"),
        None => String::new(),
    }
}

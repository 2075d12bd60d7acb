//! Arguments of functions.

use std::str::FromStr;

use ptxkit::isa::PtxVersion;
use ptxkit::verify::Options;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A target, a version, a type or a state space by its name.
pub(crate) fn named<T: FromStr>(text: &str, what: &str) -> PyResult<T> {
    let wrong = |_| PyValueError::new_err(format!("`{text}` is not a {what}"));
    text.parse().map_err(wrong)
}

/// What a module is checked for, instead of what its header says.
pub(crate) fn options(target: Option<&str>, version: Option<&str>) -> PyResult<Options> {
    let target = target.map(|name| named(name, "target")).transpose()?;
    let version = version.map(|text| named(text, "PTX version")).transpose()?;
    Ok(Options::default()
        .with_version(version)
        .with_target(target))
}

/// This one, or the lowest that is possible.
pub(crate) enum Wanted<T> {
    This(T),
    Lowest,
}

impl Wanted<PtxVersion> {
    pub(crate) fn new(text: &str) -> PyResult<Self> {
        match text {
            "lowest" => Ok(Self::Lowest),
            text => named(text, "PTX version").map(Self::This),
        }
    }
}

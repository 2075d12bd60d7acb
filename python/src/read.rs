//! Texts and files.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::module::Module;

/// A text, as `str` or `bytes`.
#[derive(FromPyObject)]
pub(crate) enum Text {
    Text(String),
    Bytes(Vec<u8>),
}

/// Parses a text. This never fails: `Module.check` reports what is wrong.
///
/// >>> import ptxkit
/// >>> ptxkit.parse(b".version 8.0\n.target sm_90\n").target
/// 'sm_90'
#[pyfunction]
#[pyo3(signature = (text, name=None))]
pub(crate) fn parse(py: Python<'_>, text: Text, name: Option<String>) -> Module {
    py.detach(|| {
        let bytes = match text {
            Text::Text(text) => text.into_bytes(),
            Text::Bytes(bytes) => bytes,
        };
        Module::parsed(bytes, name)
    })
}

/// Reads a file.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, path: PathBuf) -> PyResult<Module> {
    py.detach(|| {
        let bytes = std::fs::read(&path)?;
        Ok(Module::parsed(
            bytes,
            Some(path.to_string_lossy().into_owned()),
        ))
    })
}

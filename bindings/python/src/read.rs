//! Parsing of texts and files, and modules in binary files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ptx_report::container_choice::Choice;
use ptx_report::counted;
use ptxkit::container::{
    self, ContainerEntry, ContainerError, DEFAULT_LIMIT, EntryKind, InputFormat, Unpacked,
};
use ptxkit::ir::Code;
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;

use crate::conversions::options;
use crate::diagnostic::Diagnostic;
use crate::error::Failure;
use crate::module::Module;

impl From<ContainerError> for Failure {
    fn from(error: ContainerError) -> Self {
        Self::new(error.message()).with_code(error.code())
    }
}

/// A text, as `str` or `bytes`.
#[derive(FromPyObject)]
pub(crate) enum Text {
    Text(String),
    Bytes(Vec<u8>),
}

/// Parses a text. Parsing never fails: `Module.check` reports the errors.
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

/// The reason why a file was not read: an error of the system, or its content.
enum ReadError {
    System(std::io::Error, PathBuf),
    Content(Failure),
}

impl From<ReadError> for PyErr {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::System(error, path) if error.kind() == std::io::ErrorKind::NotFound => {
                let text = error.to_string();
                PyFileNotFoundError::new_err((error.raw_os_error(), text, path))
            }
            ReadError::System(error, _) => error.into(),
            ReadError::Content(failure) => failure.into(),
        }
    }
}

/// The content of a file by its kind.
fn bytes_of(path: &Path) -> Result<(Vec<u8>, Unpacked), ReadError> {
    let bytes = std::fs::read(path).map_err(|error| ReadError::System(error, path.to_owned()))?;
    let mut unpacked = container::unpack(&bytes, DEFAULT_LIMIT)
        .map_err(|error| ReadError::Content(error.into()))?;
    Ok((unpacked.content.take().unwrap_or(bytes), unpacked))
}

fn no_ptx(message: String) -> ReadError {
    ReadError::Content(Failure::new(message).with_code(Code::NoPtx))
}

fn read_one(path: &Path) -> Result<Module, ReadError> {
    let name = path.to_string_lossy().into_owned();
    let (file, choice) = Choice::divide(path);
    let (bytes, unpacked) = bytes_of(&file)?;
    if !unpacked.format.is_container() {
        return match (unpacked.format, choice) {
            (InputFormat::Ptx | InputFormat::Text, None) => Ok(Module::parsed(bytes, Some(name))),
            _ => Err(no_ptx(format!("expected PTX, found {unpacked}"))),
        };
    }
    let mut entries = entries_of(&bytes)?;
    entries.retain(|entry| entry.kind() == EntryKind::Ptx);
    if entries.is_empty() {
        return Err(no_ptx(format!("expected PTX, found {unpacked}")));
    }
    let names: Vec<String> = entries.iter().map(ContainerEntry::name).collect();
    entries.retain(|entry| choice.as_ref().is_none_or(|choice| choice.fits(entry)));
    let [entry] = &entries[..] else {
        let count = counted(entries.len(), "PTX module");
        let names = names.join(", ");
        return Err(no_ptx(format!(
            "expected one PTX module, found {count} in {unpacked} with {names}"
        )));
    };
    let content = entry
        .content(&bytes, DEFAULT_LIMIT)
        .map_err(|error| ReadError::Content(error.into()))?;
    Ok(Module::parsed(content.into_owned(), Some(name)))
}

fn entries_of(bytes: &[u8]) -> Result<Vec<ContainerEntry>, ReadError> {
    container::entries(bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| ReadError::Content(error.into()))
}

/// Reads a file.
///
/// In a binary file, its PTX is read: `libfoo.so` if that is one module, else `libfoo.so!3.sm_90.ptx`,
/// `libfoo.so!sm_90`, `libfoo.so!3` or a pattern such as `libfoo.so!3.*` for one of them; `entries` lists them. Files may be compressed with gzip, or be in a zip archive or wheel. Raises `OSError`
/// if the file cannot be read, and `PtxError` if it contains no PTX.
///
/// >>> import os, ptxkit, tempfile
/// >>> with tempfile.TemporaryDirectory() as folder:
/// ...     path = os.path.join(folder, "kernel.ptx")
/// ...     with open(path, "w") as file:
/// ...         _ = file.write(".version 8.0\n.target sm_90\n")
/// ...     ptxkit.read(path).target
/// 'sm_90'
#[pyfunction]
pub(crate) fn read(py: Python<'_>, path: PathBuf) -> PyResult<Module> {
    Ok(py.detach(|| read_one(&path))?)
}

/// Reads several files in parallel: modules, in the order of the paths.
///
/// Raises the exception of the first file that cannot be read.
///
/// >>> import ptxkit
/// >>> ptxkit.read_many([])
/// []
#[pyfunction]
pub(crate) fn read_many(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Vec<Module>> {
    let modules = py.detach(|| {
        paths
            .par_iter()
            .map(|path| read_one(path))
            .collect::<Result<_, _>>()
    });
    Ok(modules?)
}

/// Checks several files in parallel: the diagnostics of each, in the order of the paths.
///
/// The options are those of `Module.check`. Modules are not kept, so that any number of files can be checked. Raises the
/// exception of the first file that cannot be read.
///
/// >>> import ptxkit
/// >>> ptxkit.check_many([])
/// []
#[pyfunction]
#[pyo3(signature = (paths, *, target=None, version=None, unused=false, mistakes=false))]
pub(crate) fn check_many(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    target: Option<&str>,
    version: Option<&str>,
    unused: bool,
    mistakes: bool,
) -> PyResult<Vec<Vec<Diagnostic>>> {
    let options = options(target, version)?;
    let diagnostics = py.detach(|| {
        paths
            .par_iter()
            .map(|path| {
                let module = read_one(path)?;
                let diagnostics = module.diagnose(&options, unused, mistakes);
                Ok(if diagnostics.is_empty() {
                    Vec::new()
                } else {
                    module.with_positions(diagnostics)
                })
            })
            .collect::<Result<_, ReadError>>()
    });
    Ok(diagnostics?)
}

/// The modules in a binary file: an executable, a library, an object, an archive, a fatbin, a cubin, or a zip archive or wheel of these.
///
/// Raises `OSError` if the file cannot be read, and `PtxError` if its structure is damaged.
///
/// >>> import ptxkit
/// >>> for entry in ptxkit.entries(ptxkit.__file__):
/// ...     print(entry.name)
#[pyfunction]
pub(crate) fn entries(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Entry>> {
    let entries = py.detach(|| {
        let (bytes, unpacked) = bytes_of(&path)?;
        if unpacked.format.is_container() {
            entries_of(&bytes)
        } else {
            Ok(Vec::new())
        }
    })?;
    Ok(entries
        .into_iter()
        .map(|entry| Entry {
            path: path.clone(),
            entry,
        })
        .collect())
}

/// A module in a binary file.
///
/// >>> import ptxkit
/// >>> def targets(path):
/// ...     return {entry.target for entry in ptxkit.entries(path) if entry.kind == "ptx"}
/// >>> targets(ptxkit.__file__)
/// set()
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Entry {
    path: PathBuf,
    entry: ContainerEntry,
}

#[pymethods]
impl Entry {
    /// The name in the file, as `cuobjdump` prints it, such as `"3.sm_90.ptx"`.
    #[getter]
    fn name(&self) -> String {
        self.entry.name()
    }

    /// The path for `read`.
    #[getter]
    fn path(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(OsStr::new(&format!("!{}", self.entry.name())));
        path.into()
    }

    /// The kind: `"ptx"`, `"cubin"`, `"nvvm"`, or another kind with its number.
    #[getter]
    fn kind(&self) -> String {
        self.entry.kind().to_string()
    }

    /// The target, such as `"sm_90"`.
    #[getter]
    fn target(&self) -> String {
        self.entry.target()
    }

    /// The size in bytes, decompressed.
    #[getter]
    fn size(&self) -> u64 {
        self.entry.size()
    }

    /// The compression: `"none"`, `"lz4"`, `"zstd"` or `"unknown"`.
    #[getter]
    fn compression(&self) -> &'static str {
        self.entry.compression().name()
    }

    /// The identifier of the compiler; it may be empty.
    #[getter]
    fn identifier(&self) -> &str {
        self.entry.identifier()
    }

    /// The content. Reads the file again.
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let content = py.detach(|| {
            let (bytes, _) = bytes_of(&self.path)?;
            let content = self.entry.content(&bytes, DEFAULT_LIMIT);
            content
                .map(|content| content.into_owned())
                .map_err(|error| ReadError::Content(error.into()))
        });
        Ok(PyBytes::new(py, &content?))
    }

    fn __repr__(&self) -> String {
        format!(
            "<Entry {} of {} bytes>",
            self.entry.name(),
            self.entry.size()
        )
    }
}

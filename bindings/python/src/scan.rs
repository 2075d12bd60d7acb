//! Tables of files as Arrow streams.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi::to_ffi;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array as _, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use ptx_table::{ArrowError, ScanOptions, SchemaRef, Source};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// A path, or a name and the content of a file.
#[derive(FromPyObject)]
enum Input {
    Path(PathBuf),
    Bytes(String, Vec<u8>),
}

/// One value or a list of values.
#[derive(FromPyObject)]
enum Inputs {
    One(PathBuf),
    Several(Vec<Input>),
}

fn sources(inputs: Inputs) -> Vec<Source> {
    match inputs {
        Inputs::One(path) => vec![Source::Path(path)],
        Inputs::Several(inputs) => inputs
            .into_iter()
            .map(|input| match input {
                Input::Path(path) => Source::Path(path),
                Input::Bytes(name, content) => Source::Bytes(name, content),
            })
            .collect(),
    }
}

/// The files and tables of a scan.
#[derive(Clone)]
struct Plan {
    sources: Arc<[Source]>,
    options: ScanOptions,
}

impl Plan {
    fn start(&self) -> ptx_table::Scan {
        let sources = Arc::clone(&self.sources);
        let copies = (0..sources.len()).filter_map(move |index| sources.get(index).cloned());
        ptx_table::Scan::new(copies, &self.options)
    }

    fn table(&self, name: &str) -> PyResult<Table> {
        let table: ptx_table::TableName = name.parse().map_err(value_error)?;
        let options = self.options.only(table);
        let Some((_, schema)) = options.tables().first() else {
            let message = format!("`{table}` is not a table of this scan");
            return Err(PyKeyError::new_err(message));
        };
        Ok(Table {
            name: table.name(),
            schema: SchemaRef::clone(schema),
            plan: Plan {
                sources: Arc::clone(&self.sources),
                options,
            },
        })
    }
}

fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn runtime_error(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// Reads tables of files: `scan(paths, tables=["instructions"])`.
///
/// `paths` is a file, a directory, or an iterable of these and of pairs of a name and the content of a file. A directory means every
/// `.ptx` file in it, and a binary file the PTX that it contains. Nothing is read until rows are requested, and memory does not grow with
/// the number of files. A file that cannot be read is a row of the table `diagnostics`.
///
/// >>> import ptxkit
/// >>> text = b".version 8.0\n.target sm_90\n.entry k() { ret; }"
/// >>> scan = ptxkit.scan([("a.ptx", text)], tables=["instructions", "functions"])
/// >>> scan.tables
/// ['instructions', 'functions']
/// >>> [(name, batch.num_rows) for name, batch in scan]
/// [('instructions', 1), ('functions', 1)]
#[pyfunction]
#[pyo3(signature = (paths, tables=None, *, columns=None, threads=None, batch_rows=16384))]
pub(crate) fn scan(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    tables: Option<Vec<String>>,
    columns: Option<&Bound<'_, PyDict>>,
    threads: Option<usize>,
    batch_rows: usize,
) -> PyResult<Scan> {
    let inputs: Inputs = match paths.extract() {
        Ok(inputs) => inputs,
        // Any other iterable.
        Err(_) => {
            let paths: Vec<Bound<'_, PyAny>> = paths.try_iter()?.collect::<PyResult<_>>()?;
            let inputs = paths.iter().map(|path| path.extract::<Input>());
            Inputs::Several(inputs.collect::<PyResult<_>>()?)
        }
    };
    let tables: Vec<ptx_table::TableName> = tables
        .unwrap_or_else(|| vec!["instructions".to_owned()])
        .iter()
        .map(|name| name.parse())
        .collect::<Result<_, _>>()
        .map_err(value_error)?;
    let mut options = ScanOptions::new(&tables).rows(batch_rows);
    if let Some(threads) = threads {
        options = options.threads(threads);
    }
    for (name, columns) in columns.into_iter().flatten() {
        let table = name.extract::<String>()?.parse().map_err(value_error)?;
        let names: Vec<String> = columns.extract()?;
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        options = options.columns(table, &columns).map_err(value_error)?;
    }
    let sources = py.detach(|| sources(inputs).into());
    Ok(Scan {
        plan: Plan { sources, options },
    })
}

/// Tables of files. `scan[name]` is a table as an Arrow stream, which DuckDB, Polars, pandas and pyarrow read. An iteration reads
/// the files once and yields pairs of the name of a table and a batch of its rows.
///
/// >>> import ptxkit
/// >>> scan = ptxkit.scan([("a.ptx", ".version 8.0\n.target sm_90\n.entry k() { ret; }".encode())], ["functions"])
/// >>> scan, len(scan["functions"].column_names) > 20
/// (<Scan of 1 inputs: functions>, True)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Scan {
    plan: Plan,
}

#[pymethods]
impl Scan {
    /// The names of the tables.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        let tables = self.plan.options.tables().iter();
        tables.map(|(table, _)| table.name()).collect()
    }

    /// A table by its name. Each use reads the files again.
    fn __getitem__(&self, name: &str) -> PyResult<Table> {
        self.plan.table(name)
    }

    fn __iter__(&self) -> Batches {
        Batches {
            scan: Mutex::new(self.plan.start()),
        }
    }

    /// The stream of the only table.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.only()?.__arrow_c_stream__(py, requested_schema)
    }

    /// The schema of the only table.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        self.only()?.__arrow_c_schema__(py)
    }

    fn __repr__(&self) -> String {
        let tables = self.tables().join(", ");
        format!("<Scan of {} inputs: {tables}>", self.plan.sources.len())
    }
}

impl Scan {
    fn only(&self) -> PyResult<Table> {
        match self.plan.options.tables() {
            [(table, _)] => self.plan.table(table.name()),
            _ => Err(PyTypeError::new_err(
                "a scan of several tables is not a stream; choose one, such as scan[\"instructions\"]",
            )),
        }
    }
}

/// A table of a scan: an Arrow stream. Each use reads the files again.
///
/// >>> import ptxkit
/// >>> scan = ptxkit.scan([("a.ptx", ".version 8.0\n.target sm_90\n.entry k() { ret; }".encode())], ["functions"])
/// >>> scan["functions"].name, scan["functions"].column_names[:2]
/// ('functions', ['file', 'function'])
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Table {
    name: &'static str,
    schema: SchemaRef,
    plan: Plan,
}

#[pymethods]
impl Table {
    /// The name of the table.
    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// The stream of the rows, as the Arrow PyCapsule interface defines it.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The schema that is wanted is advice.
        let _ = requested_schema;
        let stream = Stream {
            schema: SchemaRef::clone(&self.schema),
            scan: self.plan.start(),
        };
        let ffi_stream = FFI_ArrowArrayStream::new(Box::new(stream));
        PyCapsule::new_with_value(py, ffi_stream, c"arrow_array_stream")
    }

    /// The schema, as the Arrow PyCapsule interface defines it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    fn __repr__(&self) -> String {
        format!(
            "<Table {} of {} columns>",
            self.name,
            self.schema.fields().len()
        )
    }
}

fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(runtime_error)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// The batches of one table.
struct Stream {
    schema: SchemaRef,
    scan: ptx_table::Scan,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.scan.next()?.map(|(_, batch)| batch))
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

/// An iterator over the batches of all tables. It reads the files once.
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Batches {
    scan: Mutex<ptx_table::Scan>,
}

#[pymethods]
impl Batches {
    fn __iter__(of: PyRef<'_, Self>) -> PyRef<'_, Self> {
        of
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<(&'static str, Batch)>> {
        let next = py.detach(|| {
            let mut scan = self.scan.lock().unwrap_or_else(PoisonError::into_inner);
            scan.next()
        });
        match next {
            Some(Ok((table, batch))) => Ok(Some((table.name(), Batch { batch }))),
            Some(Err(error)) => Err(runtime_error(error)),
            None => Ok(None),
        }
    }
}

/// A batch of rows of a table: an Arrow record batch, which `pyarrow.record_batch(batch)` reads.
///
/// >>> import ptxkit
/// >>> scan = ptxkit.scan([("a.ptx", ".version 8.0\n.target sm_90\n.entry k() { ret; }".encode())], ["functions"])
/// >>> for name, batch in scan:
/// ...     print(name, len(batch))
/// functions 1
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Batch {
    batch: RecordBatch,
}

#[pymethods]
impl Batch {
    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The schema and the rows, as the Arrow PyCapsule interface defines them.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let rows = StructArray::from(self.batch.clone());
        let (array, schema) = to_ffi(&rows.to_data()).map_err(runtime_error)?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    /// The schema, as the Arrow PyCapsule interface defines it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.batch.schema())
    }
}

//! Counts of the instructions that a launch executed.

use ptxkit::ir::Module as IrModule;
use ptxkit::vm::{self, MatrixProfile, MemoryProfile, Profile};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::diagnostic::Span;

/// The executions of an instruction in a launch with `profile=True`.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; mov.u32 %r, %tid.x; ret; }")
/// >>> outcome = ptxkit.Machine(module).launch("k", block=40, profile=True)
/// >>> [(row.instruction, row.executions, row.lanes) for row in outcome.profile]
/// [('mov.u32 %r, %tid.x;', 2, 40), ('ret;', 2, 40)]
#[pyclass(frozen, skip_from_py_object, module = "ptxkit")]
#[derive(Clone)]
pub(crate) struct InstructionProfile {
    /// The name of the function.
    #[pyo3(get)]
    function: String,
    /// The text of the instruction.
    #[pyo3(get)]
    instruction: String,
    /// The span of the instruction in the source of the module.
    #[pyo3(get)]
    span: Option<Span>,
    /// The line of the instruction in the source of the module, from 1.
    #[pyo3(get)]
    line: Option<u32>,
    counts: vm::InstructionProfile,
}

impl InstructionProfile {
    /// The rows of a profile, in the order of the module.
    pub(crate) fn all(module: &IrModule, profile: &Profile) -> Vec<Self> {
        let lines = ptxkit::ir::LineIndex::new(module.source());
        profile
            .instructions
            .iter()
            .map(|counts| {
                let function = module.functions().get(counts.function);
                let text = counts.span.map(|span| span.of(module.source()));
                Self {
                    function: function
                        .map_or("", |function| module.name(function.name))
                        .to_owned(),
                    instruction: String::from_utf8_lossy(text.unwrap_or_default()).into_owned(),
                    span: counts.span.map(Span::new),
                    line: counts.span.map(|span| lines.position(span.start).line),
                    counts: counts.clone(),
                }
            })
            .collect()
    }
}

#[pymethods]
impl InstructionProfile {
    /// The number of executions by warps. Each attempt of an instruction that waits is counted.
    #[getter]
    fn executions(&self) -> u64 {
        self.counts.executions
    }

    /// The number of lanes for which the guard was true, summed over the executions.
    #[getter]
    fn lanes(&self) -> u64 {
        self.counts.lanes
    }

    /// The memory that the instruction accessed, at most one entry for each space.
    #[getter]
    fn memory(&self) -> Vec<MemoryCounts> {
        self.counts
            .memory
            .iter()
            .map(|m| MemoryCounts(*m))
            .collect()
    }

    /// The products of matrices that the instruction computed.
    #[getter]
    fn matrix(&self) -> Option<MatrixCounts> {
        self.counts.matrix.map(MatrixCounts)
    }

    /// The row as a dictionary of plain values, for JSON or a table.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let row = PyDict::new(py);
        row.set_item("function", &self.function)?;
        row.set_item("line", self.line)?;
        row.set_item("instruction", &self.instruction)?;
        row.set_item("executions", self.counts.executions)?;
        row.set_item("lanes", self.counts.lanes)?;
        let memory = self
            .counts
            .memory
            .iter()
            .map(|m| MemoryCounts(*m).to_dict(py));
        row.set_item("memory", memory.collect::<PyResult<Vec<_>>>()?)?;
        let matrix = self.counts.matrix.map(|m| MatrixCounts(m).to_dict(py));
        row.set_item("matrix", matrix.transpose()?)?;
        Ok(row)
    }

    fn __repr__(&self) -> String {
        format!(
            "<InstructionProfile {}: {} executions>",
            self.instruction, self.counts.executions
        )
    }
}

/// The accesses of an instruction to a memory.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.shared .u32 s[32];\n.entry k() { st.shared.u32 [s], 1; ret; }")
/// >>> outcome = ptxkit.Machine(module).launch("k", block=32, profile=True)
/// >>> [memory] = outcome.profile[0].memory
/// >>> memory.space, memory.bytes, memory.requests, memory.passes
/// ('.shared', 128, 1, 1)
#[pyclass(frozen, module = "ptxkit", name = "MemoryProfile")]
pub(crate) struct MemoryCounts(MemoryProfile);

#[pymethods]
impl MemoryCounts {
    /// The state space: `.global`, also for constants and the heap, `.shared`, `.local` or `.param`.
    #[getter]
    fn space(&self) -> &'static str {
        self.0.space.text()
    }

    /// The number of bytes that all lanes accessed.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// The number of loads, stores and atomic operations of warps; 0 for copies and other actions.
    #[getter]
    fn requests(&self) -> u64 {
        self.0.requests
    }

    /// The number of distinct 32-byte sectors of global memory, summed over the requests.
    #[getter]
    fn sectors(&self) -> u64 {
        self.0.sectors
    }

    /// The number of passes over shared memory for the requests.
    #[getter]
    fn passes(&self) -> u64 {
        self.0.passes
    }

    /// The number of passes over shared memory that bank conflicts caused.
    #[getter]
    fn bank_conflicts(&self) -> u64 {
        self.0.passes - self.0.least_passes
    }

    /// The values as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let row = PyDict::new(py);
        row.set_item("space", self.space())?;
        row.set_item("bytes", self.bytes())?;
        row.set_item("requests", self.requests())?;
        row.set_item("sectors", self.sectors())?;
        row.set_item("passes", self.passes())?;
        row.set_item("bank_conflicts", self.bank_conflicts())?;
        Ok(row)
    }

    fn __repr__(&self) -> String {
        format!("<MemoryProfile {}: {} bytes>", self.space(), self.bytes())
    }
}

/// The products of matrices that an instruction computed.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse('''.version 8.0
/// ... .target sm_90
/// ... .entry k() {
/// ...     .reg .b32 %r<5>;
/// ...     mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r0}, {%r0}, {%r3, %r4};
/// ...     ret;
/// ... }''')
/// >>> outcome = ptxkit.Machine(module).launch("k", block=32, profile=True)
/// >>> matrix = outcome.profile[0].matrix
/// >>> matrix.shape, matrix.factors, matrix.products, matrix.multiply_adds
/// ((8, 8, 16), ('.s8', '.s8'), 1, 1024)
#[pyclass(frozen, module = "ptxkit", name = "MatrixProfile")]
pub(crate) struct MatrixCounts(MatrixProfile);

#[pymethods]
impl MatrixCounts {
    /// The numbers of rows of the result, its columns, and the columns of the first factor.
    #[getter]
    fn shape(&self) -> (u32, u32, u32) {
        self.0.shape.into()
    }

    /// The types of the elements of the factors, such as `.f16`.
    #[getter]
    fn factors(&self) -> (&'static str, &'static str) {
        self.0.factors.map(|ty| ty.text()).into()
    }

    /// Whether half of the first factor is zero and not stored.
    #[getter]
    fn sparse(&self) -> bool {
        self.0.sparse
    }

    /// The number of products that warps computed.
    #[getter]
    fn products(&self) -> u64 {
        self.0.products
    }

    /// The number of multiplications of elements, each with an addition.
    #[getter]
    fn multiply_adds(&self) -> u64 {
        self.0.multiply_adds
    }

    /// The values as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let row = PyDict::new(py);
        row.set_item("shape", self.shape())?;
        row.set_item("factors", self.factors())?;
        row.set_item("sparse", self.sparse())?;
        row.set_item("products", self.products())?;
        row.set_item("multiply_adds", self.multiply_adds())?;
        Ok(row)
    }

    fn __repr__(&self) -> String {
        let ((m, n, k), products) = (self.shape(), self.products());
        format!("<MatrixProfile m{m}n{n}k{k}: {products} products>")
    }
}

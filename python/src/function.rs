//! Functions and kernels.

use std::borrow::Cow;

use ptxkit::ir::{EntityId, FuncId, FunctionKind};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyString};

use crate::instruction::Instructions;
use crate::module::Module;

/// The functions of a module, by position or by name.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry a() { ret; }\n.entry b() { ret; }")
/// >>> [function.name for function in module.functions]
/// ['a', 'b']
/// >>> module.functions[-1] == module.functions["b"], "c" in module.functions
/// (True, False)
#[pyclass(frozen, sequence, module = "ptxkit")]
pub(crate) struct Functions {
    module: Py<Module>,
    ids: Vec<FuncId>,
}

impl Functions {
    pub(crate) fn new(module: Py<Module>) -> Self {
        let ids = module.get().ir.functions().ids().collect();
        Self { module, ids }
    }

    pub(crate) fn only(self, keep: impl Fn(&ptxkit::ir::Function) -> bool) -> Self {
        let Self { module, mut ids } = self;
        let all = module.get().ir.functions();
        ids.retain(|id| all.get(*id).is_some_and(&keep));
        Self { module, ids }
    }

    fn function(&self, py: Python<'_>, id: FuncId) -> Function {
        Function {
            module: self.module.clone_ref(py),
            id,
        }
    }

    /// The definition of a name, else its first declaration.
    fn find(&self, name: &str) -> Option<FuncId> {
        let ir = &self.module.get().ir;
        let named = |id: &&FuncId| {
            let function = ir.functions().get(**id);
            function.is_some_and(|f| ir.name(f.name) == name)
        };
        let mut all = self.ids.iter().filter(named);
        let first = all.clone().next();
        all.find(|id| ir.body(**id).is_some()).or(first).copied()
    }
}

#[pymethods]
impl Functions {
    fn __len__(&self) -> usize {
        self.ids.len()
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        if let Ok(name) = key.cast::<PyString>() {
            let name: Cow<'_, str> = name.to_cow()?;
            let found = self.find(&name);
            let id = found.ok_or_else(|| PyKeyError::new_err(name.into_owned()))?;
            return Ok(self.function(py, id).into_pyobject(py)?.into_any());
        }
        if let Ok(slice) = key.cast::<PySlice>() {
            let indices = slice.indices(self.ids.len() as isize)?;
            let steps = 0..indices.slicelength as isize;
            let picked =
                steps.filter_map(|i| self.ids.get((indices.start + i * indices.step) as usize));
            let ids = picked.copied().collect();
            let module = self.module.clone_ref(py);
            return Ok(Self { module, ids }.into_pyobject(py)?.into_any());
        }
        let Ok(index) = key.extract::<isize>() else {
            return Err(PyTypeError::new_err("expected an index, a slice or a name"));
        };
        let at = if index < 0 {
            index + self.ids.len() as isize
        } else {
            index
        };
        let id = usize::try_from(at).ok().and_then(|at| self.ids.get(at));
        let id = *id.ok_or_else(|| PyIndexError::new_err("no such function"))?;
        Ok(self.function(py, id).into_pyobject(py)?.into_any())
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> bool {
        if let Ok(name) = item.cast::<PyString>() {
            return name.to_cow().is_ok_and(|name| self.find(&name).is_some());
        }
        let function = item.cast::<Function>().map(Bound::get);
        function.is_ok_and(|f| f.module.is(&self.module) && self.ids.contains(&f.id))
    }

    fn __iter__(slf: Bound<'_, Self>) -> FunctionIterator {
        FunctionIterator {
            functions: slf.unbind(),
            next: 0,
        }
    }

    fn __repr__(&self) -> String {
        format!("<{} functions>", self.ids.len())
    }
}

/// Iterates over functions.
#[pyclass(module = "ptxkit._native")]
pub(crate) struct FunctionIterator {
    functions: Py<Functions>,
    next: usize,
}

#[pymethods]
impl FunctionIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> Option<Function> {
        let functions = self.functions.get();
        let id = *functions.ids.get(self.next)?;
        self.next += 1;
        Some(functions.function(py, id))
    }
}

/// A function or a kernel.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k(.param .u64 p) { ret; }")
/// >>> kernel = module.functions["k"]
/// >>> kernel.name, kernel.kind, len(kernel.instructions)
/// ('k', 'kernel', 1)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Function {
    pub(crate) module: Py<Module>,
    pub(crate) id: FuncId,
}

impl Function {
    pub(crate) fn new(module: Py<Module>, id: FuncId) -> Self {
        Self { module, id }
    }

    pub(crate) fn ir(&self) -> &ptxkit::ir::Function {
        let function = self.module.get().ir.functions().get(self.id);
        function.unwrap_or(&ptxkit::ir::Function::EMPTY)
    }
}

#[pymethods]
impl Function {
    /// The module.
    #[getter]
    fn module(&self, py: Python<'_>) -> Py<Module> {
        self.module.clone_ref(py)
    }

    /// The name in the text.
    #[getter]
    fn name(&self) -> &str {
        self.module.get().ir.name(self.ir().name)
    }

    /// `"kernel"` for an `.entry`, `"function"` for a `.func`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.ir().kind {
            FunctionKind::Entry => "kernel",
            FunctionKind::Func => "function",
        }
    }

    /// Whether it is a kernel.
    #[getter]
    fn is_kernel(&self) -> bool {
        self.ir().kind == FunctionKind::Entry
    }

    /// Whether it has a body, which a declaration does not.
    #[getter]
    fn is_definition(&self) -> bool {
        self.ir().body.is_some()
    }

    /// The instructions, in the order of the text.
    #[getter]
    fn instructions(&self, py: Python<'_>) -> Instructions {
        Instructions::of_function(self.module.clone_ref(py), self.id)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.id == other.id
            && (self.module.is(&other.module)
                || self.module.get().ir.source() == other.module.get().ir.source())
    }

    fn __hash__(&self) -> usize {
        self.id.index()
    }

    fn __repr__(&self) -> String {
        let count = self
            .module
            .get()
            .ir
            .body(self.id)
            .map_or(0, |b| b.inst_table().len());
        format!("<Function {}: {count} instructions>", self.name())
    }
}

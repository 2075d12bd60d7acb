//! Functions and kernels.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ptx_report::demangle::demangle;
use ptx_report::function_stats::{self, FunctionStats, Signature, type_name};
use ptx_report::occupancy::{KernelOccupancy, LaunchSizes};
use ptx_report::{counted, labels};
use ptxkit::ir::{Body, Declarations, FuncId, FunctionKind, OperandPool, Param, TableRange};
use ptxkit::isa::{StateSpace, Target};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyString};

use crate::cfg::{Block, Cfg, Loop, Place, Pressure};
use crate::conversions::{self, Restored, did_you_mean, restored, to_python};
use crate::diagnostic::Span;
use crate::error::Failure;
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
        let functions = module.get().ir.functions();
        ids.retain(|id| functions.get(*id).is_some_and(&keep));
        Self { module, ids }
    }

    fn function(&self, py: Python<'_>, id: FuncId) -> Function {
        Function {
            module: self.module.clone_ref(py),
            id,
        }
    }

    /// The definition of a function, else its first declaration, by name.
    fn find(&self, name: &str) -> Option<FuncId> {
        let ir = &self.module.get().ir;
        let mut functions = self.ids.iter().copied().filter(|id| {
            let function = ir.functions().get(*id);
            function.is_some_and(|function| ir.name(function.name) == name)
        });
        let first = functions.next()?;
        if ir.body(first).is_some() {
            return Some(first);
        }
        functions.find(|id| ir.body(*id).is_some()).or(Some(first))
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
            let Some(id) = self.find(&name) else {
                let ir = &self.module.get().ir;
                let names = self.ids.iter().filter_map(|id| ir.functions().get(*id));
                let hint = did_you_mean(&name, names.map(|function| ir.name(function.name)));
                return Err(PyKeyError::new_err(format!("no function `{name}`{hint}")));
            };
            return Ok(self.function(py, id).into_pyobject(py)?.into_any());
        }
        if let Ok(slice) = key.cast::<PySlice>() {
            let indices = slice.indices(self.ids.len() as isize)?;
            let steps = 0..indices.slicelength as isize;
            let ids = steps
                .filter_map(|step| self.ids.get((indices.start + step * indices.step) as usize))
                .copied()
                .collect();
            let module = self.module.clone_ref(py);
            return Ok(Self { module, ids }.into_pyobject(py)?.into_any());
        }
        let Ok(index) = key.extract::<isize>() else {
            return Err(PyTypeError::new_err("expected an index, a slice or a name"));
        };
        let id = self.ids[conversions::position(index, self.ids.len())?];
        Ok(self.function(py, id).into_pyobject(py)?.into_any())
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> bool {
        if let Ok(name) = item.cast::<PyString>() {
            return name.to_cow().is_ok_and(|name| self.find(&name).is_some());
        }
        let function = item.cast::<Function>().map(Bound::get);
        function.is_ok_and(|function| {
            function.module.is(&self.module) && self.ids.contains(&function.id)
        })
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
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.visible .entry _Z1kPi(.param .u64 p) { ret; }")
/// >>> kernel = module.functions[0]
/// >>> kernel.name, kernel.demangled, kernel.kind, kernel.linkage, len(kernel.instructions)
/// ('_Z1kPi', 'k(int*)', 'entry', 'visible', 1)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Function {
    pub(crate) module: Py<Module>,
    pub(crate) id: FuncId,
}

impl Function {
    pub(crate) fn new(module: Py<Module>, id: FuncId) -> Self {
        Self { module, id }
    }

    fn collect_stats(&self, py: Python<'_>) -> PyResult<FunctionStats> {
        let stats =
            py.detach(|| function_stats::collect(&self.module.get().ir, |id| id == self.id));
        let missing = || Failure::new(format!("`{}` has no body here", self.name()));
        Ok(stats.into_iter().next().ok_or_else(missing)?)
    }

    pub(crate) fn copy(&self, py: Python<'_>) -> Self {
        Self::new(self.module.clone_ref(py), self.id)
    }

    pub(crate) fn record(&self) -> &ptxkit::ir::Function {
        let function = self.module.get().ir.functions().get(self.id);
        function.unwrap_or(&ptxkit::ir::Function::EMPTY)
    }

    fn body(&self) -> Option<&Body> {
        self.module.get().ir.body(self.id)
    }

    fn ir_span(&self) -> ptxkit::ir::Span {
        let ir = &self.module.get().ir;
        ir.item_of(self.id)
            .map(|item| ir.span(item))
            .unwrap_or_default()
    }

    fn signature(&self) -> Signature {
        Signature::new(&self.module.get().ir, self.record())
    }

    fn list(&self, range: TableRange, displayed: Vec<function_stats::Parameter>) -> Vec<Parameter> {
        let ir = &self.module.get().ir;
        range
            .of(ir.params())
            .iter()
            .zip(displayed)
            .map(|(param, displayed)| Parameter::new(ir, param, displayed))
            .collect()
    }

    fn functions(&self, py: Python<'_>, ids: Vec<FuncId>) -> Vec<Self> {
        ids.into_iter()
            .map(|id| Self::new(self.module.clone_ref(py), id))
            .collect()
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
    pub(crate) fn name(&self) -> &str {
        self.module.get().ir.name(self.record().name)
    }

    /// The name in the source language; `None` if the name is not a mangled one of C++ or Rust.
    #[getter]
    fn demangled(&self) -> Option<String> {
        demangle(self.name())
    }

    /// `"entry"` for a kernel, `"func"` for another function.
    #[getter]
    fn kind(&self) -> &'static str {
        labels::kind(self.record().kind)
    }

    /// Whether the function is a kernel.
    #[getter]
    fn is_kernel(&self) -> bool {
        self.record().kind == FunctionKind::Entry
    }

    /// Whether the function has a body, unlike a declaration.
    #[getter]
    fn is_definition(&self) -> bool {
        self.record().body.is_some()
    }

    /// `"visible"`, `"extern"`, `"weak"`, `"common"` or `None`.
    #[getter]
    fn linkage(&self) -> Option<&'static str> {
        let linkage = self.record().linkage?;
        Some(linkage.directive().text().trim_start_matches('.'))
    }

    /// The parameters.
    #[getter]
    fn parameters(&self) -> Vec<Parameter> {
        self.list(self.record().interface.params, self.signature().params)
    }

    /// The results.
    #[getter]
    fn results(&self) -> Vec<Parameter> {
        self.list(self.record().interface.returns, self.signature().results)
    }

    /// Launch bounds and other directives after the parameters, with their numbers.
    #[getter]
    fn directives(&self) -> BTreeMap<&'static str, Vec<i64>> {
        self.signature().directives
    }

    /// The instructions, in the order of the text.
    #[getter]
    fn instructions(&self, py: Python<'_>) -> Instructions {
        Instructions::of_function(self.module.clone_ref(py), self.id)
    }

    /// The registers that the body mentions.
    #[getter]
    fn registers(&self) -> Vec<Register> {
        let module = self.module.get();
        let Some((body, names)) = self.body().zip(module.names(self.id)) else {
            return Vec::new();
        };
        body.registers()
            .iter()
            .filter_map(|(id, register)| {
                let decl = body.reg_decls().get(register.decl)?;
                let name = names.of(id.into());
                let is_vector = decl.vector > 1;
                Some(Register {
                    name: if is_vector {
                        name.trim_end_matches(".x")
                    } else {
                        name
                    }
                    .to_owned(),
                    r#type: type_name(&module.ir, decl.ty, decl.vector),
                })
            })
            .collect()
    }

    /// The variables of the body, including parameters of calls.
    #[getter]
    fn variables(&self) -> Vec<Variable> {
        let Some(body) = self.body() else {
            return Vec::new();
        };
        Variable::list(&self.module.get().ir, body.declarations(), body.pool())
    }

    /// The names of the labels, in the order of the text.
    #[getter]
    fn labels(&self) -> Vec<&str> {
        let ir = &self.module.get().ir;
        self.body()
            .into_iter()
            .flat_map(|body| body.labels().values())
            .map(|label| ir.name(label.name))
            .collect()
    }

    /// The control-flow graph. Raises `PtxError` for a function without a body.
    #[getter]
    fn cfg(&self, py: Python<'_>) -> PyResult<Cfg> {
        Ok(Cfg {
            place: Place::new(py, self)?,
        })
    }

    /// The basic blocks, in the order of the text.
    #[getter]
    fn blocks(&self, py: Python<'_>) -> PyResult<Vec<Block>> {
        self.cfg(py)?.blocks(py)
    }

    /// The loops, outer ones before inner ones.
    #[getter]
    fn loops(&self, py: Python<'_>) -> PyResult<Vec<Loop>> {
        self.cfg(py)?.loops(py)
    }

    /// The greatest number of registers that are live at once.
    #[getter]
    fn pressure(&self, py: Python<'_>) -> PyResult<Pressure> {
        let place = Place::new(py, self)?;
        Ok(Pressure {
            pressure: py.detach(|| place.analysis().map(|analysis| analysis.pressure()))?,
            place,
        })
    }

    /// The functions that the function calls by name, each once.
    #[getter]
    fn callees(&self, py: Python<'_>) -> Vec<Self> {
        let calls = py.detach(|| self.module.get().calls());
        self.functions(py, calls.callees(self.id))
    }

    /// The functions that call the function by name, each once.
    #[getter]
    fn callers(&self, py: Python<'_>) -> Vec<Self> {
        let calls = py.detach(|| self.module.get().calls());
        self.functions(py, calls.callers(self.id))
    }

    /// Whether the function may call functions that are not known.
    #[getter]
    fn may_call_unknown(&self, py: Python<'_>) -> bool {
        py.detach(|| self.module.get().calls())
            .may_call_unknown(self.id)
    }

    /// Whether the function may call itself, directly or through others.
    #[getter]
    fn is_recursive(&self, py: Python<'_>) -> bool {
        py.detach(|| self.module.get().calls())
            .is_recursive(self.id)
    }

    /// Counts of instructions by family, loops, memory accesses, live registers and more: the object that
    /// `ptxkit stats --json` writes for the function.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.collect_stats(py)?)
    }

    /// The occupancy of a kernel on a target, by default that of the module, with `block` threads in a CTA and `shared` bytes of dynamic shared memory:
    /// the object `occupancy` that `ptxkit stats --json` writes. `None` for other functions, unknown targets and an unknown number of threads.
    #[pyo3(signature = (*, block=None, shared=None, target=None))]
    fn occupancy<'py>(
        &self,
        py: Python<'py>,
        block: Option<u32>,
        shared: Option<u64>,
        target: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if block.is_some_and(|threads| !(1..=1024).contains(&threads)) {
            return Err(PyValueError::new_err("a CTA has 1 to 1024 threads"));
        }
        let mut sizes = LaunchSizes::default();
        (sizes.block, sizes.dynamic_shared) = (block, shared);
        let header = self.module.get().ir.header().target;
        let Some(target) = target.or_else(|| header.map(Target::text)) else {
            return Ok(None);
        };
        let occupancy = KernelOccupancy::new(&self.collect_stats(py)?, target, sizes);
        occupancy.map(|o| to_python(py, &o)).transpose()
    }

    /// The text, from the linkage to the `}` or `;`.
    #[getter]
    fn text(&self) -> Cow<'_, str> {
        self.module.get().text_of(self.ir_span())
    }

    /// The place in the source.
    #[getter]
    fn span(&self) -> Span {
        Span::new(self.ir_span())
    }

    /// The line in the source, from 1.
    #[getter]
    fn line(&self) -> u32 {
        self.module
            .get()
            .lines()
            .position(self.ir_span().start)
            .line
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Restored<'py>> {
        let function = slf.get();
        let module = function.module.clone_ref(slf.py());
        restored(slf.py(), "function", (module, function.id.as_u32()))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.id == other.id && Module::same(&self.module, &other.module)
    }

    fn __hash__(&self) -> u64 {
        conversions::hash(&(self.id.as_u32(), self.name()))
    }

    fn __repr__(&self) -> String {
        let count = self.body().map_or(0, |body| body.inst_table().len());
        format!(
            "<Function {}: {}>",
            self.name(),
            counted(count, "instruction")
        )
    }
}

/// A parameter or a result of a function.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k(.param .u64 .ptr .global .align 16 p, .param .b8 s[12]) { ret; }")
/// >>> [(p.name, p.type, p.space, p.bytes) for p in module.functions["k"].parameters]
/// [('p', '.u64 .ptr .global .align 16', 'param', 8), ('s', '.b8[12]', 'param', 12)]
#[pyclass(frozen, eq, hash, get_all, module = "ptxkit")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Parameter {
    /// The name, if there is one.
    name: Option<String>,
    /// The type as written, with the attributes of a pointer and the dimensions.
    r#type: String,
    /// `"param"` or `"reg"`.
    space: &'static str,
    /// The size in bytes, if it is known.
    bytes: Option<u64>,
}

impl Parameter {
    fn new(ir: &ptxkit::ir::Module, param: &Param, displayed: function_stats::Parameter) -> Self {
        Self {
            name: displayed.name,
            r#type: displayed.ty,
            space: param.space.text().trim_start_matches('.'),
            bytes: param.layout(ir.pool()).and_then(|layout| layout.size),
        }
    }
}

#[pymethods]
impl Parameter {
    fn __repr__(&self) -> String {
        format!(
            "<Parameter {}: {}>",
            self.name.as_deref().unwrap_or("_"),
            self.r#type
        )
    }
}

/// A register of a function.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r<3>; mov.b32 %r1, %r2; }")
/// >>> [(register.name, register.type) for register in module.functions["k"].registers]
/// [('%r1', '.b32'), ('%r2', '.b32')]
#[pyclass(frozen, eq, hash, get_all, module = "ptxkit")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Register {
    /// The name. Where several registers have one name, a number follows: `%r1#2`.
    name: String,
    /// The declared type, such as `".b32"`.
    r#type: String,
}

#[pymethods]
impl Register {
    fn __repr__(&self) -> String {
        format!("<Register {} {}>", self.r#type, self.name)
    }
}

/// A variable of a module or of a function.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.visible .global .align 8 .f32 table[16];")
/// >>> variable = module.variables[0]
/// >>> variable.name, variable.space, variable.type, variable.bytes, variable.alignment, variable.linkage
/// ('table', 'global', '.f32', 64, 8, 'visible')
#[pyclass(frozen, eq, hash, get_all, module = "ptxkit")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Variable {
    /// The name.
    name: String,
    /// The state space, such as `"shared"`.
    space: &'static str,
    /// The type of an element, such as `".f32"` or `".v4.f32"`.
    r#type: String,
    /// The size in bytes, if it is known.
    bytes: Option<u64>,
    /// The alignment in bytes, if it is known.
    alignment: Option<u64>,
    /// `"visible"`, `"extern"`, `"weak"`, `"common"` or `None`.
    linkage: Option<&'static str>,
}

impl Variable {
    pub(crate) fn list(
        ir: &ptxkit::ir::Module,
        declarations: &Declarations,
        pool: &OperandPool,
    ) -> Vec<Self> {
        let mut variables = Vec::new();
        for (id, decl) in declarations.decls.iter() {
            if decl.space == StateSpace::Reg {
                continue;
            }
            for declarator in declarations.declarators(id) {
                let layout = decl.layout(declarator, pool);
                let linkage = decl.linkage.map(|linkage| linkage.directive().text());
                variables.push(Self {
                    name: ir.name(declarator.name).to_owned(),
                    space: decl.space.text().trim_start_matches('.'),
                    r#type: type_name(ir, decl.ty, decl.vector),
                    bytes: layout.and_then(|layout| layout.size),
                    alignment: layout.map(|layout| layout.align),
                    linkage: linkage.map(|text| text.trim_start_matches('.')),
                });
            }
        }
        variables
    }
}

#[pymethods]
impl Variable {
    fn __repr__(&self) -> String {
        format!("<Variable .{} {} {}>", self.space, self.r#type, self.name)
    }
}

//! The attributes and methods of a module in Python.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ptxkit::analysis::source_lines::{SourceLines, file_number};
use ptxkit::ir::FunctionKind;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::conversions::{self, Restored, options, restored};
use crate::diagnostic::Diagnostic;
use crate::function::{Functions, Variable};
use crate::instruction::Instructions;
use crate::module::Module;

#[pymethods]
impl Module {
    /// The path of the file, or the name that was passed to `parse`.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The text as bytes. Spans are ranges of these bytes.
    #[getter]
    fn source<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.ir.source())
    }

    /// The text. Bytes that are not UTF-8 are replaced by U+FFFD.
    #[getter]
    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.ir.source())
    }

    /// The PTX version, such as `"8.0"`.
    #[getter]
    fn version(&self) -> Option<String> {
        self.ir.header().version.map(|v| v.to_string())
    }

    /// The target, such as `"sm_90a"`.
    #[getter]
    fn target(&self) -> Option<String> {
        self.ir.header().target.map(|t| t.to_string())
    }

    /// The size of addresses in bits: 32 or 64.
    #[getter]
    fn address_size(&self) -> Option<u8> {
        self.ir.header().address_size
    }

    /// All functions and kernels, by position or by name.
    #[getter]
    fn functions(slf: Bound<'_, Self>) -> Functions {
        Functions::new(slf.unbind())
    }

    /// The kernels, by position or by name.
    #[getter]
    fn kernels(slf: Bound<'_, Self>) -> Functions {
        Functions::new(slf.unbind()).only(|f| f.kind == FunctionKind::Entry)
    }

    /// The variables outside of functions.
    #[getter]
    fn variables(&self) -> Vec<Variable> {
        Variable::list(&self.ir, self.ir.declarations(), self.ir.pool())
    }

    /// The names of the source files, by their numbers.
    #[getter]
    fn files(&self) -> BTreeMap<i64, String> {
        let lines = SourceLines::new(&self.ir);
        self.ir
            .directives()
            .values()
            .filter_map(|directive| file_number(&self.ir, directive))
            .filter_map(|number| Some((number, lines.path(number)?.into_owned())))
            .collect()
    }

    /// The instructions of all functions.
    #[getter]
    fn instructions(slf: Bound<'_, Self>) -> Instructions {
        Instructions::of_module(slf)
    }

    /// The diagnostics of the parser.
    #[getter]
    fn diagnostics(&self) -> Vec<Diagnostic> {
        self.with_positions(self.diagnostics.clone())
    }

    /// All errors and warnings, in the order of the text.
    ///
    /// `target` and `version` replace those of the header. `unused` adds warnings about unused code, and `mistakes` adds warnings about
    /// registers that are never written and accesses that are never aligned.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; redux.sync.add.s32 %r, %r, -1; }")
    /// >>> module.check()
    /// []
    /// >>> [diagnostic.code for diagnostic in module.check(target="sm_70")]
    /// ['PTX0513']
    #[pyo3(signature = (*, target=None, version=None, unused=false, mistakes=false))]
    fn check(
        &self,
        py: Python<'_>,
        target: Option<&str>,
        version: Option<&str>,
        unused: bool,
        mistakes: bool,
    ) -> PyResult<Vec<Diagnostic>> {
        let options = options(target, version)?;
        Ok(py.detach(|| self.with_positions(self.diagnose(&options, unused, mistakes))))
    }

    /// The text of a diagnostic with its lines of the source.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { ret }", name="k.ptx")
    /// >>> print(module.render(module.check()[0]).splitlines()[1])
    ///  --> k.ptx:3:18
    fn render(&self, diagnostic: &Diagnostic) -> String {
        let name = self.name.as_deref().unwrap_or("text");
        diagnostic.ir().render(name, self.ir.source())
    }

    /// The line and the column of the start of a span, both from 1.
    fn position(&self, offset: u32) -> (u32, u32) {
        let position = self.lines().position(offset);
        (position.line, position.column)
    }

    fn __repr__(&self) -> String {
        let name = self.name.as_deref().unwrap_or("text");
        let count = self.ir.functions().len();
        format!("<Module {name}: {count} functions>")
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.ir.source() == other.ir.source()
    }

    fn __hash__(&self) -> u64 {
        conversions::hash(&self.ir.source())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Restored<'py>> {
        let module = slf.get();
        let arguments = (module.source(slf.py()), module.name.clone());
        restored(slf.py(), "parse", arguments)
    }
}

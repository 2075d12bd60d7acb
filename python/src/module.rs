//! A module: one PTX file, and what is worked out about it when it is asked for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ptx_report::register_names::RegisterNames;
use ptxkit::analysis::calls::CallGraph;
use ptxkit::analysis::function_analysis::{FunctionAnalysis, SavedAnalysis};
use ptxkit::analysis::reg_lanes::{VariableId, Variables};
use ptxkit::analysis::source_lines::{SourceLines, file_number};
use ptxkit::analysis::uniformity::ModuleUniformity;
use ptxkit::ir::facts::{FactTables, FunctionFacts, ModuleFacts, RegLane};
use ptxkit::ir::{
    Body, Diagnostic as IrDiagnostic, EntityId, FuncId, FunctionKind, LineIndex, SigId, SourceText,
    Statement, StmtId,
};
use ptxkit::verify::Options;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::diagnostic::Diagnostic;
use crate::facts::Lines;
use crate::function::{Functions, Variable};
use crate::instruction::Instructions;
use crate::parameters::options;
use crate::views::{self, Restored, restored};

/// One PTX file. Modules do not change: edits and rewrites make new ones.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { ret; }")
/// >>> module.version, module.target, len(module.functions)
/// ('8.0', 'sm_90', 1)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Module {
    pub(crate) ir: ptxkit::ir::Module,
    pub(crate) name: Option<String>,
    diagnostics: Vec<IrDiagnostic>,
    lines: OnceLock<LineIndex>,
    facts: OnceLock<Arc<FactTables>>,
    functions: Vec<PerFunction>,
    source_lines: OnceLock<Lines>,
    calls: OnceLock<CallGraph>,
    uniformity: OnceLock<ModuleUniformity>,
    /// The number of instructions before each function, and of all.
    starts: Vec<u32>,
    mnemonics: Vec<Mnemonic>,
}

/// The opcode and the modifiers of a mnemonic.
struct Mnemonic {
    opcode: PyOnceLock<Py<PyString>>,
    modifiers: PyOnceLock<Py<PyTuple>>,
}

impl Mnemonic {
    const fn new() -> Self {
        Self {
            opcode: PyOnceLock::new(),
            modifiers: PyOnceLock::new(),
        }
    }
}

/// What is worked out about a function.
#[derive(Default)]
struct PerFunction {
    statements: OnceLock<Vec<StmtId>>,
    names: OnceLock<Names>,
    analysis: OnceLock<SavedAnalysis>,
}

/// The names of the registers of a function.
pub(crate) struct Names {
    pub(crate) variables: Variables,
    text: RegisterNames,
    strings: Vec<PyOnceLock<Py<PyString>>>,
}

impl Names {
    fn new(ir: &ptxkit::ir::Module, body: &Body) -> Self {
        let variables = Variables::new(body);
        Self {
            text: RegisterNames::new(ir, body, &variables),
            strings: (0..variables.len()).map(|_| PyOnceLock::new()).collect(),
            variables,
        }
    }

    /// The name of a variable. The same object each time.
    pub(crate) fn get(&self, py: Python<'_>, variable: VariableId) -> Py<PyString> {
        let new = || PyString::new(py, self.text.get(variable)).unbind();
        match self.strings.get(variable.index()) {
            Some(cell) => cell.get_or_init(py, new).clone_ref(py),
            None => new(),
        }
    }

    /// The names as text.
    pub(crate) const fn text(&self) -> &RegisterNames {
        &self.text
    }

    /// All names, by variable.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.text.iter()
    }

    /// The name of a register.
    pub(crate) fn of(&self, place: RegLane) -> &str {
        self.text.get(self.variables.of(place).first())
    }
}

impl Module {
    /// Parses a text. Needs no GIL.
    pub(crate) fn parsed(text: impl Into<SourceText>, name: Option<String>) -> Self {
        let parsed = ptxkit::parse::parse_with(text, &Default::default());
        let ir = parsed.module;
        let mut starts = vec![0];
        let mut count = 0;
        let length = |body: &Body| body.inst_table().len() as u32;
        for id in ir.functions().ids() {
            count += ir.body(id).map_or(0, length);
            starts.push(count);
        }
        Self {
            name,
            diagnostics: parsed.diagnostics,
            lines: OnceLock::new(),
            facts: OnceLock::new(),
            source_lines: OnceLock::new(),
            calls: OnceLock::new(),
            uniformity: OnceLock::new(),
            functions: ir.functions().ids().map(|_| Default::default()).collect(),
            starts,
            mnemonics: ir.signatures().ids().map(|_| Mnemonic::new()).collect(),
            ir,
        }
    }

    pub(crate) fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(self.ir.source()))
    }

    /// What all instructions do.
    pub(crate) fn facts(&self) -> ModuleFacts<'_> {
        // The module is never edited.
        ModuleFacts::with_tables(&self.ir, self.tables().clone())
            .unwrap_or_else(|_| ModuleFacts::new(&self.ir))
    }

    fn tables(&self) -> &Arc<FactTables> {
        let new = || ModuleFacts::new(&self.ir).tables().clone();
        self.facts.get_or_init(new)
    }

    fn function_facts(&self, id: FuncId) -> Option<FunctionFacts<'_>> {
        self.tables().function(&self.ir, id).ok().flatten()
    }

    /// What the instructions of a function do, and its analyses. `None` for a function without a body.
    pub(crate) fn with_facts<T>(
        &self,
        id: FuncId,
        f: impl FnOnce(FunctionFacts<'_>) -> T,
    ) -> Option<T> {
        self.function_facts(id).map(f)
    }

    /// The analyses of a function that has a body. They are shared by all that ask for them.
    pub(crate) fn analysis(&self, id: FuncId) -> Option<FunctionAnalysis<'_>> {
        let facts = self.function_facts(id)?;
        let cell = &self.functions.get(id.index())?.analysis;
        let saved = cell.get_or_init(|| FunctionAnalysis::new(facts).save());
        FunctionAnalysis::resume(facts, saved).ok()
    }

    /// In which threads values are the same.
    pub(crate) fn uniformity(&self) -> &ModuleUniformity {
        let new = || ModuleUniformity::new(&self.facts());
        self.uniformity.get_or_init(new)
    }

    /// The names of the registers of a function that has a body.
    pub(crate) fn names(&self, id: FuncId) -> Option<&Names> {
        let body = self.ir.body(id)?;
        let cell = &self.functions.get(id.index())?.names;
        Some(cell.get_or_init(|| Names::new(&self.ir, body)))
    }

    /// Which functions call which ones.
    pub(crate) fn calls(&self) -> &CallGraph {
        self.calls.get_or_init(|| CallGraph::new(&self.facts()))
    }

    /// The source lines of all instructions.
    pub(crate) fn source_lines(&self) -> &Lines {
        let new = || Lines::new(&self.ir, &self.starts);
        self.source_lines.get_or_init(new)
    }

    /// The statements that the instructions of a function are, by instruction.
    pub(crate) fn statements(&self, id: FuncId) -> &[StmtId] {
        let Some((body, cell)) = self.ir.body(id).zip(self.functions.get(id.index())) else {
            return &[];
        };
        cell.statements.get_or_init(|| {
            let mut found = vec![StmtId::new(0); body.inst_table().len()];
            for (stmt, statement) in body.statements() {
                if let Statement::Inst(inst) = statement
                    && let Some(entry) = found.get_mut(inst.index())
                {
                    *entry = stmt;
                }
            }
            found
        })
    }

    /// The number of instructions before each function, and of all.
    pub(crate) fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The opcode of a mnemonic. The same object each time.
    pub(crate) fn opcode(&self, py: Python<'_>, id: SigId) -> Py<PyString> {
        let new = || PyString::intern(py, self.ir.signature(id).opcode_text()).unbind();
        match self.mnemonics.get(id.index()) {
            Some(known) => known.opcode.get_or_init(py, new).clone_ref(py),
            None => new(),
        }
    }

    /// The modifiers of a mnemonic. The same object each time.
    pub(crate) fn modifiers(&self, py: Python<'_>, id: SigId) -> PyResult<Py<PyTuple>> {
        let new = || {
            let signature = self.ir.signature(id);
            let words = signature.words().iter();
            let texts = words.map(|w| signature.word_text(*w).trim_start_matches('.'));
            Ok(PyTuple::new(py, texts.collect::<Vec<_>>())?.unbind())
        };
        match self.mnemonics.get(id.index()) {
            Some(known) => Ok(known.modifiers.get_or_try_init(py, new)?.clone_ref(py)),
            None => new(),
        }
    }

    /// The text of a place.
    pub(crate) fn text_of(&self, span: ptxkit::ir::Span) -> Cow<'_, str> {
        String::from_utf8_lossy(span.of(self.ir.source()))
    }

    pub(crate) fn with_places(&self, diagnostics: Vec<IrDiagnostic>) -> Vec<Diagnostic> {
        let diagnostics = diagnostics.into_iter();
        diagnostics
            .map(|d| Diagnostic::in_module(d, self))
            .collect()
    }
}

#[pymethods]
impl Module {
    /// The path of the file, or the name that `parse` was given.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The text, as bytes. Spans are ranges of these.
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
        let directives = self.ir.directives().values();
        let numbers = directives.filter_map(|d| file_number(&self.ir, d));
        let named = numbers.filter_map(|n| Some((n, lines.path(n)?.into_owned())));
        named.collect()
    }

    /// The instructions of all functions.
    #[getter]
    fn instructions(slf: Bound<'_, Self>) -> Instructions {
        Instructions::of_module(slf)
    }

    /// What the parser reports.
    #[getter]
    fn diagnostics(&self) -> Vec<Diagnostic> {
        self.with_places(self.diagnostics.clone())
    }

    /// All errors and warnings, in the order of the text.
    ///
    /// `target` and `version` replace those of the header. `unused` adds warnings about unused code, `mistakes` those about
    /// registers that nothing writes and accesses that are never aligned.
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
        Ok(py.detach(|| self.with_places(self.diagnose(&options, unused, mistakes))))
    }

    /// A diagnostic with the lines of the source that it is about.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { ret }", name="k.ptx")
    /// >>> print(module.render(module.check()[0]).splitlines()[1])
    ///  --> k.ptx:3:18
    fn render(&self, diagnostic: &Diagnostic) -> String {
        let name = self.name.as_deref().unwrap_or("text");
        diagnostic.ir().render(name, self.ir.source())
    }

    /// Where a place in the source begins: line and column, both from 1.
    fn position(&self, offset: u32) -> (u32, u32) {
        let at = self.lines().position(offset);
        (at.line, at.column)
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
        views::hash(&self.ir.source())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Restored<'py>> {
        let this = slf.get();
        restored(
            slf.py(),
            "parse",
            (this.source(slf.py()), this.name.clone()),
        )
    }
}

impl Module {
    /// All diagnostics that the options select. Needs no GIL.
    pub(crate) fn diagnose(
        &self,
        options: &Options,
        unused: bool,
        mistakes: bool,
    ) -> Vec<IrDiagnostic> {
        let mut all = self.diagnostics.clone();
        all.extend(ptxkit::verify::verify(&self.ir, options));
        if unused {
            all.extend(ptxkit::verify::unused(&self.ir));
        }
        if mistakes {
            all.extend(ptxkit::verify::likely_mistakes(&self.ir));
        }
        if !all
            .iter()
            .any(|d| d.severity == ptxkit::ir::Severity::Error)
        {
            all.extend(ptxkit::verify::codegen_limits(&self.ir));
        }
        all.sort_by_key(|d| d.span.start);
        all
    }
}

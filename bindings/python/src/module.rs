//! A module: one PTX file, and results about it that are computed on demand.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use ptx_report::register_names::RegisterNames;
use ptxkit::analysis::calls::CallGraph;
use ptxkit::analysis::function_analysis::{FunctionAnalysis, SavedAnalysis};
use ptxkit::analysis::reg_lanes::{VariableId, Variables};
use ptxkit::analysis::uniformity::ModuleUniformity;
use ptxkit::ir::facts::{FactTables, FunctionFacts, ModuleFacts, RegisterComponent};
use ptxkit::ir::{
    Body, Diagnostic as IrDiagnostic, EntityId, FuncId, LineIndex, Severity, SigId, SourceText,
    Statement, StmtId,
};
use ptxkit::verify::Options;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use crate::diagnostic::Diagnostic;
use crate::facts::Lines;

/// A PTX file. Modules do not change: edits and rewrites return new ones.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { ret; }")
/// >>> module.version, module.target, len(module.functions)
/// ('8.0', 'sm_90', 1)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Module {
    pub(crate) ir: ptxkit::ir::Module,
    pub(crate) name: Option<String>,
    /// The diagnostics of the parser.
    pub(crate) diagnostics: Vec<IrDiagnostic>,
    lines: OnceLock<LineIndex>,
    facts: OnceLock<Arc<FactTables>>,
    functions: Vec<FunctionCache>,
    source_lines: OnceLock<Lines>,
    calls: OnceLock<CallGraph>,
    uniformity: OnceLock<ModuleUniformity>,
    /// The number of instructions before each function, and the number of all instructions.
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

/// Results about a function that are computed on demand.
#[derive(Default)]
struct FunctionCache {
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

    /// The name of a variable. Every call returns the same object.
    pub(crate) fn get(&self, py: Python<'_>, variable: VariableId) -> Py<PyString> {
        let new_string = || PyString::new(py, self.text.get(variable)).unbind();
        match self.strings.get(variable.index()) {
            Some(cell) => cell.get_or_init(py, new_string).clone_ref(py),
            None => new_string(),
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
    pub(crate) fn of(&self, place: RegisterComponent) -> &str {
        self.text.get(self.variables.of(place).first())
    }
}

impl Module {
    /// Parses a text. The caller need not hold the GIL.
    pub(crate) fn parsed(text: impl Into<SourceText>, name: Option<String>) -> Self {
        let parsed = ptxkit::parse::parse_with(text, &Default::default());
        let ir = parsed.module;
        let mut starts = vec![0];
        let mut instruction_count = 0;
        for id in ir.functions().ids() {
            instruction_count += ir.body(id).map_or(0, |body| body.inst_table().len() as u32);
            starts.push(instruction_count);
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

    /// Whether two modules have the same text.
    pub(crate) fn same(left: &Py<Self>, right: &Py<Self>) -> bool {
        left.is(right) || left.get().ir.source() == right.get().ir.source()
    }

    pub(crate) fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(self.ir.source()))
    }

    /// The facts about all instructions.
    pub(crate) fn facts(&self) -> ModuleFacts<'_> {
        // The module is never edited.
        ModuleFacts::with_tables(&self.ir, self.tables().clone())
            .unwrap_or_else(|_| ModuleFacts::new(&self.ir))
    }

    fn tables(&self) -> &Arc<FactTables> {
        self.facts
            .get_or_init(|| ModuleFacts::new(&self.ir).tables().clone())
    }

    /// The facts about the instructions of a function. `None` for a function without a body.
    pub(crate) fn function_facts(&self, id: FuncId) -> Option<FunctionFacts<'_>> {
        self.tables().function(&self.ir, id).ok().flatten()
    }

    /// The analyses of a function that has a body. All callers share them.
    pub(crate) fn analysis(&self, id: FuncId) -> Option<FunctionAnalysis<'_>> {
        let facts = self.function_facts(id)?;
        let cell = &self.functions.get(id.index())?.analysis;
        let saved = cell.get_or_init(|| FunctionAnalysis::new(facts).save());
        FunctionAnalysis::resume(facts, saved).ok()
    }

    /// The uniformity of the values of all functions.
    pub(crate) fn uniformity(&self) -> &ModuleUniformity {
        self.uniformity
            .get_or_init(|| ModuleUniformity::new(&self.facts()))
    }

    /// The names of the registers of a function that has a body.
    pub(crate) fn names(&self, id: FuncId) -> Option<&Names> {
        let body = self.ir.body(id)?;
        let cell = &self.functions.get(id.index())?.names;
        Some(cell.get_or_init(|| Names::new(&self.ir, body)))
    }

    /// The calls between functions.
    pub(crate) fn calls(&self) -> &CallGraph {
        self.calls.get_or_init(|| CallGraph::new(&self.facts()))
    }

    /// The source lines of all instructions.
    pub(crate) fn source_lines(&self) -> &Lines {
        self.source_lines
            .get_or_init(|| Lines::new(&self.ir, &self.starts))
    }

    /// The statement of each instruction of a function.
    pub(crate) fn statements(&self, id: FuncId) -> &[StmtId] {
        let Some((body, cell)) = self.ir.body(id).zip(self.functions.get(id.index())) else {
            return &[];
        };
        cell.statements.get_or_init(|| {
            let mut statements = vec![StmtId::new(0); body.inst_table().len()];
            for (stmt, statement) in body.statements() {
                if let Statement::Inst(inst) = statement
                    && let Some(entry) = statements.get_mut(inst.index())
                {
                    *entry = stmt;
                }
            }
            statements
        })
    }

    /// The number of instructions before each function, and the number of all instructions.
    pub(crate) fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The number of instructions before the function at a position.
    pub(crate) fn start(&self, function: usize) -> u32 {
        self.starts.get(function).copied().unwrap_or(0)
    }

    /// The opcode of a mnemonic. Every call returns the same object.
    pub(crate) fn opcode(&self, py: Python<'_>, id: SigId) -> Py<PyString> {
        let new_string = || PyString::intern(py, self.ir.signature(id).opcode_text()).unbind();
        match self.mnemonics.get(id.index()) {
            Some(mnemonic) => mnemonic.opcode.get_or_init(py, new_string).clone_ref(py),
            None => new_string(),
        }
    }

    /// The modifiers of a mnemonic. Every call returns the same object.
    pub(crate) fn modifiers(&self, py: Python<'_>, id: SigId) -> PyResult<Py<PyTuple>> {
        let new_tuple = || {
            let signature = self.ir.signature(id);
            let texts: Vec<_> = signature
                .words()
                .iter()
                .map(|word| signature.word_text(*word).trim_start_matches('.'))
                .collect();
            Ok(PyTuple::new(py, texts)?.unbind())
        };
        match self.mnemonics.get(id.index()) {
            Some(mnemonic) => Ok(mnemonic
                .modifiers
                .get_or_try_init(py, new_tuple)?
                .clone_ref(py)),
            None => new_tuple(),
        }
    }

    /// The text of a span.
    pub(crate) fn text_of(&self, span: ptxkit::ir::Span) -> Cow<'_, str> {
        String::from_utf8_lossy(span.of(self.ir.source()))
    }

    /// Adds lines and columns to diagnostics.
    pub(crate) fn with_positions(&self, diagnostics: Vec<IrDiagnostic>) -> Vec<Diagnostic> {
        diagnostics
            .into_iter()
            .map(|diagnostic| Diagnostic::with_position(diagnostic, self.lines()))
            .collect()
    }
}

impl Module {
    /// All diagnostics that the options select. The caller need not hold the GIL.
    pub(crate) fn diagnose(
        &self,
        options: &Options,
        unused: bool,
        mistakes: bool,
    ) -> Vec<IrDiagnostic> {
        let mut diagnostics = self.diagnostics.clone();
        diagnostics.extend(ptxkit::verify::verify(&self.ir, options));
        if unused {
            diagnostics.extend(ptxkit::verify::unused(&self.ir));
        }
        if mistakes {
            diagnostics.extend(ptxkit::verify::likely_mistakes(&self.ir));
        }
        if !diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
        {
            diagnostics.extend(ptxkit::verify::codegen_limits(&self.ir));
        }
        diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
        diagnostics
    }
}

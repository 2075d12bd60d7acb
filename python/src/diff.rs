//! What differs between two modules.

use ptxkit::diff::{self, Line, ModuleDiff};
use ptxkit::ir::{FuncId, Module as IrModule, StmtId};
use pyo3::prelude::*;

use crate::function::Function;
use crate::module::Module;

/// What differs between two modules.
///
/// >>> import ptxkit
/// >>> old = ptxkit.parse(".version 8.0\n.target sm_80\n.entry k() { ret; }")
/// >>> new = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { ret; }")
/// >>> diff = old.diff(new)
/// >>> diff.is_equal, diff.changes, diff.functions
/// (False, [('target', '', 'sm_80', 'sm_90')], [])
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Diff {
    left: Py<Module>,
    right: Py<Module>,
    diff: ModuleDiff,
}

/// What it is about, its name, the old text and the new one.
type Change = (String, String, Option<String>, Option<String>);

fn changes(changes: &[diff::Change]) -> Vec<Change> {
    let change = |c: &diff::Change| {
        let mut subject = String::new();
        for c in format!("{:?}", c.subject).chars() {
            if c.is_uppercase() && !subject.is_empty() {
                subject.push('_');
            }
            subject.extend(c.to_lowercase());
        }
        (subject, c.name.clone(), c.left.clone(), c.right.clone())
    };
    changes.iter().map(change).collect()
}

/// `-target: sm_80`, `+target: sm_90`
fn change_lines((subject, name, left, right): Change) -> String {
    let what = if name.is_empty() {
        subject
    } else {
        format!("{subject} {name}")
    };
    let sides = [("-", left), ("+", right)].into_iter();
    let lines = sides.filter_map(|(sign, text)| Some(format!("{sign}{what}: {}\n", text?)));
    lines.collect()
}

impl Diff {
    pub(crate) fn new(left: Py<Module>, right: Py<Module>, diff: ModuleDiff) -> Self {
        Self { left, right, diff }
    }

    fn name(&self, diff: &diff::FunctionDiff) -> &str {
        let of = |module: &'_ Py<Module>, id: Option<FuncId>| -> Option<ptxkit::ir::NameId> {
            Some(module.get().ir.functions().get(id?)?.name)
        };
        match (of(&self.right, diff.right), of(&self.left, diff.left)) {
            (Some(name), _) => self.right.get().ir.name(name),
            (None, Some(name)) => self.left.get().ir.name(name),
            (None, None) => "",
        }
    }
}

#[pymethods]
impl Diff {
    /// Whether nothing differs.
    #[getter]
    fn is_equal(&self) -> bool {
        self.diff.is_equal()
    }

    /// The changes outside of functions: what each is about, its name, the old text and the new one.
    #[getter]
    fn changes(&self) -> Vec<Change> {
        changes(&self.diff.changes)
    }

    /// The functions that differ.
    #[getter]
    fn functions(&self, py: Python<'_>) -> Vec<FunctionDiff> {
        let differ = self.diff.functions.iter().filter(|f| !f.is_equal());
        let function = |module: &Py<Module>, id: Option<FuncId>| {
            Some(Function::new(module.clone_ref(py), id?))
        };
        let new = |diff: &diff::FunctionDiff| {
            let body = |module: &Py<Module>, id: Option<FuncId>| Some((module.clone_ref(py), id?));
            FunctionDiff {
                name: self.name(diff).to_owned(),
                left: function(&self.left, diff.left),
                right: function(&self.right, diff.right),
                changes: changes(&diff.changes),
                lines: lines(
                    body(&self.left, diff.left),
                    body(&self.right, diff.right),
                    &diff.lines,
                ),
                similarity: diff.similarity,
                edits: diff.edits(),
            }
        };
        differ.map(new).collect()
    }

    fn __bool__(&self) -> bool {
        !self.is_equal()
    }

    fn __str__(&self, py: Python<'_>) -> String {
        let outside = self.changes().into_iter().map(change_lines);
        let functions = self
            .functions(py)
            .into_iter()
            .map(|f| format!("{}:\n{}\n", f.name, f.__str__()));
        let text: String = outside.chain(functions).collect();
        text.trim_end().to_owned()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (changes, functions) = (self.diff.changes.len(), self.functions(py).len());
        format!("<Diff: {changes} changes, {functions} functions differ>")
    }
}

/// The lines of a comparison: `" "`, `"-"` or `"+"` and the text of a statement.
fn lines(
    left: Option<(Py<Module>, FuncId)>,
    right: Option<(Py<Module>, FuncId)>,
    lines: &[Line],
) -> Vec<(&'static str, String)> {
    let text = |ir: &IrModule, id: FuncId, stmt: StmtId| {
        let body = ir.body(id)?;
        Some(String::from_utf8_lossy(body.source_span(stmt).of(ir.source())).into_owned())
    };
    let of = |side: &Option<(Py<Module>, FuncId)>, stmt: StmtId| {
        let (module, id) = side.as_ref()?;
        text(&module.get().ir, *id, stmt)
    };
    let line = |line: &Line| match *line {
        Line::Same(old, _) => Some((" ", of(&left, old)?)),
        Line::Removed(old) => Some(("-", of(&left, old)?)),
        Line::Added(new) => Some(("+", of(&right, new)?)),
    };
    lines.iter().filter_map(line).collect()
}

/// A function that differs between two modules.
///
/// >>> import ptxkit
/// >>> old = ptxkit.parse(".version 8.0\n.target sm_80\n.entry k() { bar.sync 0; ret; }")
/// >>> new = ptxkit.parse(".version 8.0\n.target sm_80\n.entry k() { ret; }")
/// >>> function = old.diff(new).functions[0]
/// >>> function.name, function.removed, function.added, function.lines
/// ('k', 1, 0, [('-', 'bar.sync 0;'), (' ', 'ret;')])
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct FunctionDiff {
    /// The name, in the new module if the function is there.
    #[pyo3(get)]
    name: String,
    left: Option<Function>,
    right: Option<Function>,
    /// The changes of the header: what each is about, its name, the old text and the new one.
    #[pyo3(get)]
    changes: Vec<Change>,
    /// All statements: `" "` before those of both functions, `"-"` before those of the old one and `"+"` before those of the new
    /// one.
    #[pyo3(get)]
    lines: Vec<(&'static str, String)>,
    /// The share of statements that are equal, from 0 to 1.
    #[pyo3(get)]
    similarity: Option<f32>,
    edits: (usize, usize),
}

#[pymethods]
impl FunctionDiff {
    /// The function in the old module.
    #[getter]
    fn left(&self, py: Python<'_>) -> Option<Function> {
        Some(self.left.as_ref()?.copy(py))
    }

    /// The function in the new module.
    #[getter]
    fn right(&self, py: Python<'_>) -> Option<Function> {
        Some(self.right.as_ref()?.copy(py))
    }

    /// The number of statements that were removed.
    #[getter]
    fn removed(&self) -> usize {
        self.edits.0
    }

    /// The number of statements that were added.
    #[getter]
    fn added(&self) -> usize {
        self.edits.1
    }

    fn __str__(&self) -> String {
        let changes: String = self.changes.iter().cloned().map(change_lines).collect();
        let differ = self.lines.iter().filter(|(sign, _)| *sign != " ");
        let lines: Vec<String> = differ.map(|(sign, text)| format!("{sign}{text}")).collect();
        format!("{changes}{}", lines.join("\n"))
    }

    fn __repr__(&self) -> String {
        format!(
            "<FunctionDiff {}: -{} +{}>",
            self.name, self.edits.0, self.edits.1
        )
    }
}

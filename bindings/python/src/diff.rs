//! Differences between two modules.

use ptxkit::diff::{self, Line, ModuleDiff};
use ptxkit::ir::{FuncId, StmtId};
use pyo3::prelude::*;

use crate::function::Function;
use crate::module::Module;

/// The differences between two modules.
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

/// The subject, its name, the old text and the new one.
type Change = (String, String, Option<String>, Option<String>);

fn changes(changes: &[diff::Change]) -> Vec<Change> {
    changes
        .iter()
        .map(|change| {
            (
                snake_case(&format!("{:?}", change.subject)),
                change.name.clone(),
                change.left.clone(),
                change.right.clone(),
            )
        })
        .collect()
}

fn snake_case(name: &str) -> String {
    let mut snake_case = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !snake_case.is_empty() {
            snake_case.push('_');
        }
        snake_case.extend(character.to_lowercase());
    }
    snake_case
}

/// The lines of a change, such as `-target: sm_80` and `+target: sm_90`.
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

/// The name of a function of a module.
fn function_name(module: &Py<Module>, id: Option<FuncId>) -> Option<&str> {
    let ir = &module.get().ir;
    Some(ir.name(ir.functions().get(id?)?.name))
}

impl Diff {
    pub(crate) fn new(left: Py<Module>, right: Py<Module>, diff: ModuleDiff) -> Self {
        Self { left, right, diff }
    }

    fn name(&self, diff: &diff::FunctionDiff) -> &str {
        function_name(&self.right, diff.right)
            .or_else(|| function_name(&self.left, diff.left))
            .unwrap_or_default()
    }
}

#[pymethods]
impl Diff {
    /// Whether nothing differs.
    #[getter]
    fn is_equal(&self) -> bool {
        self.diff.is_equal()
    }

    /// The changes outside of functions: the subject, its name, the old text and the new one.
    #[getter]
    fn changes(&self) -> Vec<Change> {
        changes(&self.diff.changes)
    }

    /// The functions that differ.
    #[getter]
    fn functions(&self, py: Python<'_>) -> Vec<FunctionDiff> {
        self.diff
            .functions
            .iter()
            .filter(|function| !function.is_equal())
            .map(|diff| {
                let left = diff
                    .left
                    .map(|id| Function::new(self.left.clone_ref(py), id));
                let right = diff
                    .right
                    .map(|id| Function::new(self.right.clone_ref(py), id));
                FunctionDiff {
                    name: self.name(diff).to_owned(),
                    changes: changes(&diff.changes),
                    lines: lines(left.as_ref(), right.as_ref(), &diff.lines),
                    similarity: diff.similarity,
                    edits: diff.edits(),
                    left,
                    right,
                }
            })
            .collect()
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

/// The lines of a comparison: `" "`, `"-"` or `"+"`, and the text of a statement.
fn lines(
    left: Option<&Function>,
    right: Option<&Function>,
    lines: &[Line],
) -> Vec<(&'static str, String)> {
    lines
        .iter()
        .filter_map(|line| match *line {
            Line::Same(old, _) => Some((" ", statement_text(left?, old)?)),
            Line::Removed(old) => Some(("-", statement_text(left?, old)?)),
            Line::Added(new) => Some(("+", statement_text(right?, new)?)),
        })
        .collect()
}

fn statement_text(function: &Function, stmt: StmtId) -> Option<String> {
    let module = function.module.get();
    let body = module.ir.body(function.id)?;
    Some(module.text_of(body.source_span(stmt)).into_owned())
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
    /// The changes of the header: the subject, its name, the old text and the new one.
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

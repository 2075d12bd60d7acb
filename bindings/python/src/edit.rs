//! Edits of modules.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ptxkit::edit::{EditError, EditModule as _, Editor as IrEditor};
use ptxkit::ir::{
    FuncId, GuardSense, Linkage, Module as IrModule, Operand as IrOperand, RegId, RemovedComments,
    Statement, StmtId,
};
use ptxkit::isa::Directive;
use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::conversions::named;
use crate::error::Failure;
use crate::function::Function;
use crate::instruction::Instruction;
use crate::module::Module;

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        match &error {
            EditError::Syntax { span, .. } => Self::new(&error).at(*span),
            _ => Self::new(error),
        }
    }
}

/// An editor of a module, which `Module.edit` returns, usually for a `with` block. `module` is the result.
///
/// All bytes outside of the edited statements stay unchanged. An edit after which a name would mean something else raises `PtxError` and
/// changes nothing. If the block raises an exception, there is no result.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() {\n  .reg .b32 %r<3>;\n  add.s32 %r1, %r2, 4; // sum\n  ret;\n}\n")
/// >>> add, ret = module.functions["k"].instructions
/// >>> with module.edit() as edit:
/// ...     edit.set_operand(add, 2, 8)
/// ...     edit.insert_before(ret, "bar.sync 0;")
/// >>> print(edit.module.functions["k"].text)
/// .entry k() {
///   .reg .b32 %r<3>;
///   add.s32 %r1, %r2, 8; // sum
///   bar.sync 0;
///   ret;
/// }
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Editor {
    old: Py<Module>,
    /// The edited module; `None` after the `with` block raised an exception.
    ir: Mutex<Option<IrModule>>,
}

#[pymethods]
impl Module {
    /// Begins to edit the module. The module itself does not change.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { ret; }")
    /// >>> with module.edit() as edit:
    /// ...     edit.set_version("8.5")
    /// >>> module.version, edit.module.version
    /// ('8.0', '8.5')
    fn edit(slf: Bound<'_, Self>) -> Editor {
        let ir = Mutex::new(Some(slf.get().ir.clone()));
        Editor {
            old: slf.unbind(),
            ir,
        }
    }
}

/// The text of an operand.
pub(crate) fn text_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(value.str()?.to_cow()?.into_owned())
}

impl Editor {
    fn lock(&self) -> MutexGuard<'_, Option<IrModule>> {
        self.ir.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn with<T>(
        &self,
        edit: impl FnOnce(&mut IrModule) -> Result<T, Failure>,
    ) -> PyResult<T> {
        match self.lock().as_mut() {
            Some(ir) => Ok(edit(ir)?),
            None => Err(Failure::new("the block of these edits has failed").into()),
        }
    }

    fn edit<T>(
        &self,
        function: FuncId,
        edit: impl FnOnce(&mut IrEditor<'_>) -> Result<T, Failure>,
    ) -> PyResult<T> {
        self.with(|ir| edit(&mut ir.edit(function)?))
    }

    /// Edits the function of an instruction, at the statement of the instruction.
    fn at<T>(
        &self,
        instruction: &Instruction,
        edit: impl FnOnce(&mut IrEditor<'_>, StmtId) -> Result<T, Failure>,
    ) -> PyResult<T> {
        self.check(&instruction.module)?;
        let stmt = instruction
            .stmt()
            .ok_or_else(|| Failure::new("no such instruction"))?;
        self.edit(instruction.function, |editor| edit(editor, stmt))
    }

    pub(crate) fn check(&self, module: &Py<Module>) -> PyResult<()> {
        if Module::same(module, &self.old) {
            Ok(())
        } else {
            Err(Failure::new("it belongs to another module").into())
        }
    }
}

/// The texts of the operands of an instruction.
fn operand_texts(editor: &IrEditor<'_>, stmt: StmtId) -> Vec<String> {
    let (ir, body) = (editor.module(), editor.body());
    let Ok(Statement::Inst(inst)) = editor.statement(stmt) else {
        return Vec::new();
    };
    body.operands(inst)
        .iter()
        .map(|operand| {
            let text = ptxkit::print::canonical_operand(ir, body, *operand);
            String::from_utf8_lossy(&text).into_owned()
        })
        .collect()
}

/// The guard of an instruction.
fn predicate(editor: &IrEditor<'_>, stmt: StmtId) -> Option<(RegId, GuardSense)> {
    let Statement::Inst(inst) = editor.statement(stmt).ok()? else {
        return None;
    };
    let guard = editor.body().inst(inst)?.guard()?;
    match editor.body().pool().get(guard.predicate) {
        IrOperand::Reg(register) => Some((register, guard.sense)),
        _ => None,
    }
}

/// Inserts a statement temporarily, so that its names are resolved at this position.
pub(crate) fn probe(
    editor: &mut IrEditor<'_>,
    at: StmtId,
    text: &str,
    f: impl FnOnce(&mut IrEditor<'_>, StmtId) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let new = editor.insert_text_before(at, text)?;
    let result = match new.first() {
        Some(stmt) => f(editor, *stmt),
        None => Err(Failure::new(format!("cannot use `{text}`"))),
    };
    for stmt in new {
        editor.remove(stmt)?;
    }
    result
}

#[pymethods]
impl Editor {
    /// The module with all edits so far.
    #[getter]
    fn module(&self, py: Python<'_>) -> PyResult<Module> {
        py.detach(|| {
            let text = self.with(|ir| Ok(ptxkit::print::verbatim(ir)))?;
            Ok(self.old.get().with_text(text))
        })
    }

    /// Inserts statements before an instruction.
    fn insert_before(&self, at: &Instruction, text: &str) -> PyResult<()> {
        self.at(at, |editor, stmt| {
            editor.insert_text_before(stmt, text)?;
            Ok(())
        })
    }

    /// Inserts statements after an instruction.
    fn insert_after(&self, at: &Instruction, text: &str) -> PyResult<()> {
        self.at(at, |editor, stmt| {
            editor.insert_text_after(stmt, text)?;
            Ok(())
        })
    }

    /// Inserts statements, such as declarations of registers, at the beginning of a function that has statements.
    fn prepend(&self, function: &Function, text: &str) -> PyResult<()> {
        self.check(&function.module)?;
        self.edit(function.id, |editor| {
            let first = editor.body().statements().next();
            let (first, _) = first.ok_or_else(|| Failure::new("the function is empty"))?;
            editor.insert_text_before(first, text)?;
            Ok(())
        })
    }

    /// Removes an instruction, or a function.
    fn remove(&self, what: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(function) = what.cast::<Function>() {
            self.check(&function.get().module)?;
            let id = function.get().id;
            return self.with(|ir| Ok(ir.editor().remove_function(id, RemovedComments::Inside)?));
        }
        self.at(what.cast::<Instruction>()?.get(), |editor, stmt| {
            Ok(editor.remove(stmt)?)
        })
    }

    /// Replaces an instruction by statements.
    fn replace(&self, at: &Instruction, text: &str) -> PyResult<()> {
        self.at(at, |editor, stmt| {
            editor.insert_text_before(stmt, text)?;
            Ok(editor.remove(stmt)?)
        })
    }

    /// Replaces an operand by a number or by the operand that a text denotes.
    fn set_operand(
        &self,
        at: &Instruction,
        index: usize,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let value = text_of(value)?;
        let mnemonic = at.mnemonic().to_owned();
        self.at(at, |editor, stmt| {
            let mut operands = operand_texts(editor, stmt);
            let count = operands.len();
            let Some(operand) = operands.get_mut(index) else {
                return Err(Failure::new(format!("operand {index} of {count}")));
            };
            *operand = value;
            let text = format!("{mnemonic} {};", operands.join(", "));
            probe(editor, stmt, &text, |editor, new| {
                let operand = editor
                    .operand(new, index)
                    .ok_or_else(|| Failure::new("no operand"))?;
                Ok(editor.set_operand(stmt, index, operand)?)
            })
        })
    }

    /// Replaces the guard by one such as `"%p"` or `"!%p"`, or removes it.
    fn set_guard(&self, at: &Instruction, guard: Option<&str>) -> PyResult<()> {
        let mnemonic = at.mnemonic();
        self.at(at, |editor, stmt| {
            let Some(guard) = guard else {
                return Ok(editor.set_guard(stmt, None)?);
            };
            let operands = operand_texts(editor, stmt).join(", ");
            let text = format!("@{guard} {mnemonic} {operands};");
            probe(editor, stmt, &text, |editor, new| {
                let guard =
                    predicate(editor, new).ok_or_else(|| Failure::new("expected a predicate"))?;
                Ok(editor.set_guard(stmt, Some(guard))?)
            })
        })
    }

    /// Replaces the opcode and the modifiers, such as `"add.f32"`.
    fn set_mnemonic(&self, at: &Instruction, mnemonic: &str) -> PyResult<()> {
        self.at(at, |editor, stmt| Ok(editor.set_mnemonic(stmt, mnemonic)?))
    }

    /// Replaces the linkage of a function by `"visible"`, `"extern"`, `"weak"` or none.
    fn set_linkage(&self, function: &Function, linkage: Option<&str>) -> PyResult<()> {
        self.check(&function.module)?;
        let linkage = linkage
            .map(|text| {
                Directive::from_text(format!(".{text}").as_bytes())
                    .and_then(Linkage::from_directive)
                    .ok_or_else(|| Failure::new(format!("`{text}` is not a linkage")))
            })
            .transpose()?;
        self.with(|ir| {
            let item = ir
                .item_of(function.id)
                .ok_or_else(|| Failure::new("it was removed"))?;
            Ok(ir.editor().set_linkage(item, linkage)?)
        })
    }

    /// Replaces the PTX version in the header.
    fn set_version(&self, version: &str) -> PyResult<()> {
        let version = named(version, "PTX version")?;
        self.with(|ir| Ok(ir.editor().set_version(version)?))
    }

    /// Replaces the target in the header.
    fn set_target(&self, target: &str) -> PyResult<()> {
        let target = named(target, "target")?;
        self.with(|ir| Ok(ir.editor().set_target(target)?))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (exception_type, _exception, _traceback))]
    fn __exit__(
        &self,
        exception_type: Option<&Bound<'_, PyAny>>,
        _exception: Option<&Bound<'_, PyAny>>,
        _traceback: Option<&Bound<'_, PyAny>>,
    ) -> bool {
        if exception_type.is_some() {
            *self.lock() = None;
        }
        false
    }

    fn __repr__(&self) -> String {
        let state = if self.lock().is_some() {
            "open"
        } else {
            "failed"
        };
        format!("<Editor: {state}>")
    }
}

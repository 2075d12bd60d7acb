//! The builder of a function, to which instructions are added by their names.

use std::sync::Mutex;

use ptxkit::build::{
    BuildError, Declaration, Func, FunctionBuilder as IrFunction, OperandExpr, PausedFunction,
};
use ptxkit::isa::StateSpace;
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::value::{self, Precision, Value, operand, values};
use super::{Builder, declaration, lock, scalar, state_space};
use crate::conversions::named;
use crate::error::Failure;
use crate::indirect::CallTable;

/// A builder of a function or a kernel, which `Builder.kernel` and `Builder.function` return, usually for a `with` block.
///
/// `inst("add.s32", d, a, b)` and `add.s32(d, a, b)` add the same instruction. In names of modifiers `__` means `::`, and an
/// underscore at the end, which Python needs for `global_` or `and_`, is ignored, as is one before a digit: `_2d`. Operands are
/// values of the builder, numbers, special registers such as `"%tid.x"` and constants as text, `None` for `_`, lists for brackets
/// and tuples for vectors. If the block raises an exception, the function is not added.
///
/// >>> import ptxkit
/// >>> with ptxkit.Builder("8.0", "sm_90") as builder:
/// ...     with builder.kernel("k") as k:
/// ...         i, p = k.register("b32"), k.register("pred")
/// ...         k.mov.u32(i, "%tid.x")
/// ...         loop = k.label("LOOP")
/// ...         k.place(loop)
/// ...         k.inst("sub.s32", i, i, 1)
/// ...         k.setp.gt.s32(p, i, 0)
/// ...         k.bra(loop, guard=p)
/// ...         k.ret()
/// >>> len(builder.module.functions["k"].loops)
/// 1
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct FunctionBuilder {
    builder: Py<Builder>,
    /// The state of the builder between two calls; `None` after the function was finished or abandoned.
    paused: Mutex<Option<PausedFunction>>,
    func: Func,
    /// The tables and prototypes for indirect calls of the function.
    pub(crate) tables: Mutex<Vec<CallTable>>,
}

impl FunctionBuilder {
    pub(super) fn new(builder: Py<Builder>, paused: PausedFunction, func: Func) -> Self {
        Self {
            builder,
            paused: Mutex::new(Some(paused)),
            func,
            tables: Mutex::default(),
        }
    }

    fn resume<T>(
        &self,
        f: impl FnOnce(IrFunction<'_>) -> (Result<T, BuildError>, Option<PausedFunction>),
    ) -> PyResult<T> {
        let mut paused = lock(&self.paused);
        let function = paused
            .take()
            .ok_or_else(|| Failure::new("the function is complete"))?;
        self.builder.get().with(|module| {
            let (result, remaining) = f(module.resume(function)?);
            *paused = remaining;
            result
        })
    }

    pub(crate) fn with<T>(
        &self,
        f: impl FnOnce(&mut IrFunction<'_>) -> Result<T, BuildError>,
    ) -> PyResult<T> {
        self.resume(|mut function| {
            let result = f(&mut function);
            (result, Some(function.pause()))
        })
    }

    fn add(
        &self,
        mnemonic: &str,
        operands: &Bound<'_, PyTuple>,
        guard: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let precision = Precision::of(mnemonic);
        let operands = value::operands(operands.iter(), precision)?;
        let guard = guard.map(|value| operand(value, precision)).transpose()?;
        let (predicate, is_negated) = match guard {
            Some(OperandExpr::Not(predicate)) => (Some(*predicate), true),
            predicate => (predicate, false),
        };
        let register = match predicate {
            Some(OperandExpr::Reg(register)) => Some(register),
            Some(_) => return Err(PyTypeError::new_err("the guard is not a register")),
            None => None,
        };
        self.with(|function| {
            match register {
                Some(register) if is_negated => drop(function.guard_not(register)),
                Some(register) => drop(function.guard(register)),
                None => {}
            }
            function.inst(mnemonic, &operands[..])
        })
    }
}

/// Converts the name of an attribute to a word of a mnemonic.
fn word(name: &str) -> String {
    let name = name.strip_suffix('_').unwrap_or(name);
    let dimension = name
        .strip_prefix('_')
        .filter(|text| text.starts_with(|c: char| c.is_ascii_digit()));
    dimension.unwrap_or(name).replace("__", "::")
}

#[pymethods]
impl FunctionBuilder {
    /// Adds an instruction. It executes if the predicate `guard` is true, or with `~p` if `p` is false.
    #[pyo3(signature = (mnemonic, *operands, guard=None))]
    fn inst(
        &self,
        mnemonic: &str,
        operands: &Bound<'_, PyTuple>,
        guard: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.add(mnemonic, operands, guard)
    }

    /// Declares a register; `vector` is the number of elements of a vector register.
    #[pyo3(signature = (r#type, name=None, *, vector=None))]
    fn register(&self, r#type: &str, name: Option<&str>, vector: Option<u8>) -> PyResult<Value> {
        let r#type = scalar(r#type)?;
        let register = self.with(|function| match (name, vector) {
            (Some(name), Some(vector)) => function.named_vector(r#type, vector, name),
            (Some(name), None) => function.named_reg(r#type, name),
            (None, _) => Ok(function.reg(r#type)),
        })?;
        Ok(Value(OperandExpr::Reg(register)))
    }

    /// Adds a parameter. `pointer` and `align` are the state space and the alignment of the memory that it points to, and `count` is the number of elements of an array.
    #[pyo3(signature = (name, r#type, *, count=None, pointer=None, align=None))]
    fn parameter(
        &self,
        name: &str,
        r#type: &str,
        count: Option<u64>,
        pointer: Option<&str>,
        align: Option<u32>,
    ) -> PyResult<Value> {
        let mut declaration = Declaration::new(StateSpace::Param, scalar(r#type)?, name);
        match (pointer, align) {
            (Some(space), align) => {
                declaration = declaration.pointer(Some(state_space(space)?), align);
            }
            (None, Some(align)) => declaration = declaration.align(align),
            (None, None) => {}
        }
        if let Some(count) = count {
            declaration = declaration.array([count]);
        }
        let variable = self.with(|function| function.add_param(declaration))?;
        Ok(Value(OperandExpr::Variable(variable)))
    }

    /// Adds a result of a function.
    fn result(&self, name: &str, r#type: &str) -> PyResult<Value> {
        let declaration = Declaration::new(StateSpace::Param, scalar(r#type)?, name);
        let variable = self.with(|function| function.result(declaration))?;
        Ok(Value(OperandExpr::Variable(variable)))
    }

    /// Declares a variable inside of the function.
    #[pyo3(signature = (name, r#type, *, space="local", count=None, align=None))]
    fn variable(
        &self,
        name: &str,
        r#type: &str,
        space: &str,
        count: Option<u64>,
        align: Option<u32>,
    ) -> PyResult<Value> {
        let declaration = declaration(space, r#type, name, count, align)?;
        let variable = self.with(|function| function.declare(declaration))?;
        Ok(Value(OperandExpr::Variable(variable)))
    }

    /// Adds a directive between the parameters and the body, such as `maxntid`, with its numbers.
    fn directive(&self, name: &str, numbers: Vec<u32>) -> PyResult<()> {
        let directive = named(&format!(".{}", name.trim_start_matches('.')), "directive")?;
        self.with(|function| {
            function.directive(directive, &numbers);
            Ok(())
        })
    }

    /// A new label, which `place` inserts.
    #[pyo3(signature = (name=None))]
    fn label(&self, name: Option<&str>) -> PyResult<Value> {
        let label = self.with(|function| match name {
            Some(name) => function.named_label(name),
            None => Ok(function.label()),
        })?;
        Ok(Value(OperandExpr::Label(label)))
    }

    /// Inserts a label before the next statement.
    fn place(&self, label: &Value) -> PyResult<()> {
        match label.0 {
            OperandExpr::Label(label) => self.with(|function| function.place(label)),
            _ => Err(PyTypeError::new_err("expected a label")),
        }
    }

    /// Calls a function: declares its parameters, stores the arguments, calls, and loads the results into registers.
    #[pyo3(signature = (function, arguments, results=None))]
    fn call_function(
        &self,
        function: &Value,
        arguments: Vec<Bound<'_, PyAny>>,
        results: Option<Vec<Bound<'_, PyAny>>>,
    ) -> PyResult<()> {
        let OperandExpr::Func(callee) = function.0 else {
            return Err(PyTypeError::new_err("expected a function"));
        };
        let (arguments, results) = (values(&arguments)?, values(&results.unwrap_or_default())?);
        self.with(|function| function.call_function(callee, &results, &arguments))
    }

    /// The function as an operand, for calls.
    #[getter]
    fn value(&self) -> Value {
        Value(OperandExpr::Func(self.func))
    }

    /// Adds the line of the source program for the statements that follow.
    fn loc(&self, file: u32, line: u32, column: u32) -> PyResult<()> {
        self.with(|function| {
            function.loc(file, line, column);
            Ok(())
        })
    }

    /// Adds a comment.
    fn comment(&self, text: &str) -> PyResult<()> {
        self.with(|function| {
            function.comment(text);
            Ok(())
        })
    }

    /// Adds the function to the module, as at the end of a `with` block.
    fn finish(&self) -> PyResult<()> {
        self.resume(|function| (function.finish().map(drop), None))
    }

    /// Discards the function.
    fn abandon(&self) -> PyResult<()> {
        self.resume(|function| {
            function.abandon();
            (Ok(()), None)
        })
    }

    fn __getattr__(slf: Bound<'_, Self>, name: &str) -> PyResult<Mnemonic> {
        if name.starts_with("__") {
            return Err(PyAttributeError::new_err(name.to_owned()));
        }
        Ok(Mnemonic {
            function: slf.unbind(),
            text: word(name),
        })
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
    ) -> PyResult<bool> {
        let is_open = lock(&self.paused).is_some();
        match exception_type {
            Some(_) if is_open => self.abandon()?,
            None if is_open => self.finish()?,
            _ => {}
        }
        Ok(false)
    }

    fn __repr__(&self) -> &'static str {
        if lock(&self.paused).is_some() {
            "<FunctionBuilder>"
        } else {
            "<FunctionBuilder: complete>"
        }
    }
}

/// The beginning of an instruction, such as `k.add.s32`: attributes add modifiers, a call adds the instruction.
///
/// >>> import ptxkit
/// >>> builder = ptxkit.Builder("8.0", "sm_90")
/// >>> k = builder.kernel("k")
/// >>> k.ld.shared__cta.v4.u32
/// <Mnemonic ld.shared::cta.v4.u32>
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Mnemonic {
    function: Py<FunctionBuilder>,
    text: String,
}

#[pymethods]
impl Mnemonic {
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        if name.starts_with("__") {
            return Err(PyAttributeError::new_err(name.to_owned()));
        }
        Ok(Self {
            function: self.function.clone_ref(py),
            text: format!("{}.{}", self.text, word(name)),
        })
    }

    #[pyo3(signature = (*operands, guard=None))]
    fn __call__(
        &self,
        operands: &Bound<'_, PyTuple>,
        guard: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.function.get().add(&self.text, operands, guard)
    }

    fn __repr__(&self) -> String {
        format!("<Mnemonic {}>", self.text)
    }
}

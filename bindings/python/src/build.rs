//! `Builder` and `FunctionBuilder`, which build modules.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ptxkit::build::{
    Argument, BuildError, Declaration, Func, FunctionBuilder as IrFunction, Init, ModuleBuilder,
    OperandExpr, PausedFunction, select,
};
use ptxkit::ir::{AddressForm, Linkage};
use ptxkit::isa::{Directive, PtxVersion, ScalarType, Selector, SpecialReg, StateSpace, Target};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::conversions::named;
use crate::error::Failure;
use crate::indirect::CallTable;
use crate::module::Module;

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let text = match error.help() {
            Some(help) => format!("{} ({help})", error.message()),
            None => error.message().to_owned(),
        };
        Self::new(text)
            .with_code(error.code())
            .with(error.diagnostics())
    }
}

/// A type by its name, with or without a dot.
pub(crate) fn scalar(name: &str) -> PyResult<ScalarType> {
    named(&format!(".{}", name.trim_start_matches('.')), "type")
}

pub(crate) fn state_space(name: &str) -> PyResult<StateSpace> {
    named(&format!(".{}", name.trim_start_matches('.')), "state space")
}

fn linkage_of(name: &str) -> PyResult<Linkage> {
    let directive: Directive = named(&format!(".{}", name.trim_start_matches('.')), "linkage")?;
    let linkage = Linkage::from_directive(directive);
    Ok(linkage.ok_or_else(|| Failure::new(format!("`{name}` is not a linkage")))?)
}

/// A value of a `Builder`: a register, a label, a variable, a function, or an operand that contains them.
///
/// `a + 4` is an address, and `[a + 4]` is the memory there; `-a`, `~p` (`!p` in PTX), `p | q` and `a["x"]` are operands.
///
/// >>> import ptxkit
/// >>> with ptxkit.Builder("8.0", "sm_90") as builder:
/// ...     with builder.kernel("k") as k:
/// ...         a, p = k.register("b64"), k.register("pred")
/// ...         k.ld.global_.u64(a, [a + 8])
/// ...         k.setp.eq.u64(p, a, 0)
/// ...         k.ret(guard=~p)
/// >>> [i.text for i in builder.module.instructions]
/// ['ld.global.u64 %rd1, [%rd1+8];', 'setp.eq.u64 %p1, %rd1, 0;', '@!%p1 ret;']
#[pyclass(frozen, skip_from_py_object, module = "ptxkit")]
#[derive(Clone)]
pub(crate) struct Value(pub(crate) OperandExpr);

#[pymethods]
impl Value {
    fn __add__(&self, offset: i64) -> Self {
        let base = Box::new(self.0.clone());
        let offset = Some(Box::new(OperandExpr::Int(offset)));
        Self(OperandExpr::Address(base, offset, AddressForm::Bare))
    }

    fn __radd__(&self, offset: i64) -> Self {
        self.__add__(offset)
    }

    fn __sub__(&self, offset: i64) -> PyResult<Self> {
        let negative = offset.checked_neg();
        Ok(self.__add__(negative.ok_or_else(|| Failure::new("the offset is too small"))?))
    }

    fn __neg__(&self) -> Self {
        Self(OperandExpr::Neg(Box::new(self.0.clone())))
    }

    fn __invert__(&self) -> Self {
        Self(OperandExpr::Not(Box::new(self.0.clone())))
    }

    fn __or__(&self, other: &Self) -> Self {
        Self(OperandExpr::Pair(
            Box::new(self.0.clone()),
            Box::new(other.0.clone()),
        ))
    }

    fn __getitem__(&self, selector: &str) -> Self {
        Self(selected(self.0.clone(), selector.trim_start_matches('.')))
    }

    fn __repr__(&self) -> String {
        format!("<Value {:?}>", self.0)
    }
}

/// The operand of a Python list: an address for one element, else several operands in one bracket.
fn bracket(mut parts: Vec<OperandExpr>) -> OperandExpr {
    if parts.len() != 1 {
        return OperandExpr::Bracket(parts);
    }
    match parts.pop() {
        Some(OperandExpr::Address(base, offset, _)) => {
            OperandExpr::Address(base, offset, AddressForm::Bracketed)
        }
        Some(base) => OperandExpr::Address(Box::new(base), None, AddressForm::Bracketed),
        None => OperandExpr::Bracket(Vec::new()),
    }
}

/// The type of floating-point constants.
#[derive(Copy, Clone)]
enum Precision {
    Single,
    Double,
}

impl Precision {
    fn of(mnemonic: &str) -> Self {
        let is_double = mnemonic.split('.').any(|word| word == "f64");
        if is_double {
            Self::Double
        } else {
            Self::Single
        }
    }
}

/// Converts a Python object to an operand.
fn operand(value: &Bound<'_, PyAny>, precision: Precision) -> PyResult<OperandExpr> {
    if let Ok(value) = value.cast::<Value>() {
        return Ok(value.get().0.clone());
    }
    if value.is_none() {
        return Ok(OperandExpr::Sink);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(OperandExpr::Int(value.is_truthy()?.into()));
    }
    if value.is_instance_of::<PyInt>() {
        let signed = value.extract::<i64>().map(OperandExpr::Int);
        return signed.or_else(|_| value.extract::<u64>().map(OperandExpr::Unsigned));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(match precision {
            Precision::Single => OperandExpr::F32(number.extract::<f32>()?),
            Precision::Double => OperandExpr::F64(number.extract::<f64>()?),
        });
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_cow()?;
        let special = SpecialReg::from_text(text.as_bytes());
        return Ok(special.map_or_else(|| words(&text), OperandExpr::Special));
    }
    if let Ok(list) = value.cast::<PyList>() {
        return Ok(bracket(operands(list.iter(), precision)?));
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Ok(OperandExpr::Vector(operands(tuple.iter(), precision)?));
    }
    let class = value.get_type();
    Err(PyTypeError::new_err(format!("{class} is not an operand")))
}

/// Converts the elements of a list or a tuple to operands.
fn operands<'py>(
    elements: impl Iterator<Item = Bound<'py, PyAny>>,
    precision: Precision,
) -> PyResult<Vec<OperandExpr>> {
    elements
        .map(|element| operand(&element, precision))
        .collect()
}

/// The arguments or results of a call.
pub(crate) fn values(values: &[Bound<'_, PyAny>]) -> PyResult<Vec<Argument>> {
    values
        .iter()
        .map(|value| Ok(Argument::Value(operand(value, Precision::Single)?)))
        .collect()
}

/// A component such as `v.x`. Text that is not a selector is refused when the operand is used.
fn selected(base: impl Into<OperandExpr>, selector: &str) -> OperandExpr {
    selector.parse::<Selector>().map_or_else(
        |_| OperandExpr::Constant(selector.to_owned()),
        |selector| select(base, selector),
    )
}

/// A component of a special register such as `%tid.x`, or else a constant.
fn words(text: &str) -> OperandExpr {
    let component = text
        .rsplit_once('.')
        .and_then(|(name, selector)| Some((SpecialReg::from_text(name.as_bytes())?, selector)));
    match component {
        Some((register, selector)) => selected(register, selector),
        None => OperandExpr::Constant(text.to_owned()),
    }
}

/// A builder of a module. Declarations and functions are added one after the other, and each statement is checked when it is added.
///
/// At the end of a `with` block the module is completed; `module` is the result. A statement that is not legal raises
/// `PtxError` and adds nothing.
///
/// >>> import ptxkit
/// >>> with ptxkit.Builder("8.0", "sm_90") as builder:
/// ...     with builder.kernel("scale", visible=True) as k:
/// ...         data = k.parameter("data", "u64")
/// ...         address, value = k.register("b64"), k.register("f32")
/// ...         k.ld.param.u64(address, [data])
/// ...         k.ld.global_.f32(value, [address])
/// ...         k.mul.f32(value, value, 2.0)
/// ...         k.st.global_.f32([address], value)
/// ...         k.ret()
/// >>> builder.module.check()
/// []
/// >>> builder.module.functions["scale"].instructions[2].text
/// 'mul.f32 %f1, %f1, 0f40000000;'
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Builder {
    state: Mutex<Option<ModuleBuilder>>,
    text: Mutex<Option<Vec<u8>>>,
}

/// The declaration of a variable, an array if it has a `count` of elements.
fn declaration(
    space: &str,
    ty: &str,
    name: &str,
    count: Option<u64>,
    align: Option<u32>,
) -> PyResult<Declaration> {
    let mut declaration = Declaration::new(state_space(space)?, scalar(ty)?, name);
    if let Some(count) = count {
        declaration = declaration.array([count]);
    }
    if let Some(align) = align {
        declaration = declaration.align(align);
    }
    Ok(declaration)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Builder {
    fn with<T>(&self, f: impl FnOnce(&mut ModuleBuilder) -> Result<T, BuildError>) -> PyResult<T> {
        let mut state = lock(&self.state);
        let module = state
            .as_mut()
            .ok_or_else(|| Failure::new("the module is complete"))?;
        Ok(f(module).map_err(Failure::from)?)
    }

    fn complete(&self) -> PyResult<()> {
        let module = lock(&self.state).take();
        let Some(module) = module else {
            return Ok(());
        };
        let ir = module.finish().map_err(Failure::from)?;
        *lock(&self.text) = Some(ptxkit::print::verbatim(&ir));
        Ok(())
    }

    fn begin(
        slf: &Bound<'_, Self>,
        visible: bool,
        begin: impl FnOnce(&mut ModuleBuilder) -> Result<IrFunction<'_>, BuildError>,
    ) -> PyResult<FunctionBuilder> {
        let (func, paused) = slf.get().with(|module| {
            let mut function = begin(module)?;
            if visible {
                function.linkage(Linkage::Visible);
            }
            Ok((function.handle(), function.pause()))
        })?;
        Ok(FunctionBuilder {
            builder: slf.clone().unbind(),
            paused: Mutex::new(Some(paused)),
            func,
            tables: Mutex::default(),
        })
    }
}

#[pymethods]
impl Builder {
    #[new]
    #[pyo3(signature = (version, target, *, address_size=64))]
    fn new(version: &str, target: &str, address_size: u8) -> PyResult<Self> {
        let version: PtxVersion = named(version, "PTX version")?;
        let target: Target = named(target, "target")?;
        let mut module = ModuleBuilder::new(version, target);
        module.set_address_size(address_size);
        let (state, text) = (Mutex::new(Some(module)), Mutex::default());
        Ok(Self { state, text })
    }

    /// Declares a variable outside of functions. Returns a value that denotes it in operands.
    ///
    /// `count` is the number of elements of an array, and `init` the initial integers.
    ///
    /// >>> import ptxkit
    /// >>> with ptxkit.Builder("8.0", "sm_90") as builder:
    /// ...     _ = builder.variable("table", "b32", space="global", count=4, init=[1, 2], linkage="visible")
    /// >>> builder.module.variables[0].bytes
    /// 16
    #[pyo3(signature = (name, r#type, *, space="global", count=None, align=None, vector=None, linkage=None, init=None))]
    #[expect(clippy::too_many_arguments, reason = "all but two have defaults")]
    fn variable(
        &self,
        name: &str,
        r#type: &str,
        space: &str,
        count: Option<u64>,
        align: Option<u32>,
        vector: Option<u8>,
        linkage: Option<&str>,
        init: Option<Vec<i64>>,
    ) -> PyResult<Value> {
        let mut declaration = declaration(space, r#type, name, count, align)?;
        if let Some(vector) = vector {
            declaration = declaration.vector(vector);
        }
        if let Some(linkage) = linkage {
            declaration = declaration.linkage(linkage_of(linkage)?);
        }
        match init.as_deref() {
            Some([value]) if count.is_none() => declaration = declaration.init(Init::Int(*value)),
            Some(values) => {
                let values = values.iter().map(|value| Init::Int(*value));
                declaration = declaration.init(Init::List(values.collect()));
            }
            None => {}
        }
        let variable = self.with(|module| module.declare(declaration))?;
        Ok(Value(OperandExpr::Variable(variable)))
    }

    /// Begins a kernel.
    #[pyo3(signature = (name, *, visible=false))]
    fn kernel(slf: &Bound<'_, Self>, name: &str, visible: bool) -> PyResult<FunctionBuilder> {
        Self::begin(slf, visible, |module| module.kernel(name))
    }

    /// Begins a function.
    #[pyo3(signature = (name, *, visible=false))]
    fn function(slf: &Bound<'_, Self>, name: &str, visible: bool) -> PyResult<FunctionBuilder> {
        Self::begin(slf, visible, |module| module.func(name))
    }

    /// Adds a comment.
    fn comment(&self, text: &str) -> PyResult<()> {
        self.with(|module| {
            module.comment(text);
            Ok(())
        })
    }

    /// Adds a source file, for `FunctionBuilder.loc`.
    fn file(&self, number: u32, path: &str) -> PyResult<()> {
        self.with(|module| module.file(number, path))
    }

    /// Adds the text of a declaration or a directive.
    fn item(&self, text: &str) -> PyResult<()> {
        self.with(|module| module.item(text))
    }

    /// The module. Nothing can be added to it afterwards.
    #[getter]
    fn module(&self, py: Python<'_>) -> PyResult<Module> {
        self.complete()?;
        let text = lock(&self.text)
            .clone()
            .ok_or_else(|| Failure::new("the module could not be completed"))?;
        Ok(py.detach(|| Module::parsed(text, None)))
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
        match exception_type {
            Some(_) => *lock(&self.state) = None,
            None => self.complete()?,
        }
        Ok(false)
    }

    fn __repr__(&self) -> &'static str {
        if lock(&self.state).is_some() {
            "<Builder>"
        } else {
            "<Builder: complete>"
        }
    }
}

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
        let operands = self::operands(operands.iter(), precision)?;
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

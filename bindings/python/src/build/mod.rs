//! `Builder` and `FunctionBuilder`, which build modules: the builder of modules, and names that all builders accept.

mod function;
mod value;

use std::sync::{Mutex, MutexGuard, PoisonError};

use ptxkit::build::{
    BuildError, Declaration, FunctionBuilder as IrFunction, Init, ModuleBuilder, OperandExpr,
};
use ptxkit::ir::Linkage;
use ptxkit::isa::{Directive, PtxVersion, ScalarType, StateSpace, Target};
use pyo3::prelude::*;

use crate::conversions::named;
use crate::error::Failure;
use crate::module::Module;

pub(crate) use function::{FunctionBuilder, Mnemonic};
pub(crate) use value::{Value, values};

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
        Ok(FunctionBuilder::new(slf.clone().unbind(), paused, func))
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

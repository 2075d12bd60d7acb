//! The values of builders, and the conversion of Python objects to operands.

use ptxkit::build::{Argument, OperandExpr, select};
use ptxkit::ir::AddressForm;
use ptxkit::isa::{Selector, SpecialReg};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::error::Failure;

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
pub(super) enum Precision {
    Single,
    Double,
}

impl Precision {
    pub(super) fn of(mnemonic: &str) -> Self {
        let is_double = mnemonic.split('.').any(|word| word == "f64");
        if is_double {
            Self::Double
        } else {
            Self::Single
        }
    }
}

/// Converts a Python object to an operand.
pub(super) fn operand(value: &Bound<'_, PyAny>, precision: Precision) -> PyResult<OperandExpr> {
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
pub(super) fn operands<'py>(
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

//! Arguments of a kernel, from Python objects.

use ptxkit::ir::{Module as IrModule, Param};
use ptxkit::isa::{ScalarType, TypeKind};
use ptxkit::semantics::fold::number_bits;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice};

/// A value that is passed for a parameter.
pub(crate) enum Argument<'py> {
    Bytes(Vec<u8>),
    /// The address of a copy of a buffer.
    Buffer(Buffer<'py>),
}

/// An object with the buffer protocol.
pub(crate) struct Buffer<'py> {
    view: Bound<'py, PyAny>,
    is_read_only: bool,
}

impl<'py> Buffer<'py> {
    /// The bytes of a contiguous object; `None` if it has no buffer.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let class = object.py().import("builtins")?.getattr("memoryview")?;
        let Ok(view) = class.call1((object,)) else {
            return Ok(None);
        };
        // A scalar of NumPy is a number.
        if view.getattr("ndim")?.extract::<usize>()? == 0 {
            return Ok(None);
        }
        if !view.getattr("c_contiguous")?.extract::<bool>()? {
            let why = "the array is not contiguous: numpy.ascontiguousarray makes one that is";
            return Err(PyValueError::new_err(why));
        }
        let is_read_only = view.getattr("readonly")?.extract()?;
        // An empty array cannot be cast.
        let view = match view.getattr("nbytes")?.extract::<usize>()? {
            0 => view,
            _ => view.call_method1("cast", ("B",))?,
        };
        Ok(Some(Self { view, is_read_only }))
    }

    pub(crate) fn bytes(&self) -> PyResult<Vec<u8>> {
        self.view.call_method0("tobytes")?.extract()
    }

    /// Copies bytes to the object, unless it is read-only.
    pub(crate) fn set(&self, bytes: &[u8]) -> PyResult<()> {
        if self.is_read_only || bytes.is_empty() {
            return Ok(());
        }
        let py = self.view.py();
        self.view
            .set_item(PySlice::full(py), PyBytes::new(py, bytes))
    }
}

impl<'py> Argument<'py> {
    /// The argument for a parameter.
    pub(crate) fn new(
        module: &IrModule,
        param: &Param,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        let layout = param.layout(module.pool());
        let size = layout.and_then(|layout| layout.size);
        let ty = param.ty.known().filter(|ty| ty.kind() != TypeKind::Opaque);
        let (Some(size), Some(ty)) = (size, ty) else {
            let why = "textures, samplers and surfaces are not supported";
            return Err(PyTypeError::new_err(why));
        };
        let pointer = u64::from(module.header().address_size.unwrap_or(32)) / 8;
        let is_scalar = u64::from(ty.bits()) == size * 8;
        if let Some(buffer) = Buffer::of(object)? {
            if is_scalar && size == pointer {
                return Ok(Self::Buffer(buffer));
            }
            let bytes = buffer.bytes()?;
            if bytes.len() as u64 == size {
                return Ok(Self::Bytes(bytes));
            }
            let why = format!("it has {} bytes, the parameter {size}", bytes.len());
            return Err(PyValueError::new_err(why));
        }
        if !is_scalar {
            let why = format!("the parameter takes {size} bytes, such as those of struct.pack");
            return Err(PyTypeError::new_err(why));
        }
        number(ty, object).map(Self::Bytes)
    }
}

/// The bytes of a number of a type.
fn number(ty: ScalarType, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let bits = match ty.kind() {
        TypeKind::Float => fraction(ty, object)?,
        TypeKind::Bits if !object.hasattr("__index__")? && object.hasattr("__float__")? => {
            let float_type = match ty.bits() {
                16 => ScalarType::F16,
                32 => ScalarType::F32,
                _ => ScalarType::F64,
            };
            fraction(float_type, object)?
        }
        _ => integer(ty, object)?,
    };
    let bytes = usize::from(ty.bits() / 8);
    Ok(bits.to_le_bytes().get(..bytes).unwrap_or_default().to_vec())
}

fn fraction(ty: ScalarType, object: &Bound<'_, PyAny>) -> PyResult<u128> {
    let number = object.extract::<f64>()?;
    let bits = number_bits(ty, number).map(u128::from);
    bits.ok_or_else(|| PyOverflowError::new_err(format!("{number} is not a number of `{ty}`")))
}

fn integer(ty: ScalarType, object: &Bound<'_, PyAny>) -> PyResult<u128> {
    let value = object.extract::<i128>()?;
    let bits = u32::from(ty.bits()).clamp(1, 127);
    let (least, end) = match ty.kind() {
        TypeKind::Unsigned => (0, 1 << bits),
        TypeKind::Signed => (-(1 << (bits - 1)), 1 << (bits - 1)),
        _ => (-(1 << (bits - 1)), 1 << bits),
    };
    if bits < 127 && !(least..end).contains(&value) {
        let why = format!("{value} is not a value of `{ty}`");
        return Err(PyOverflowError::new_err(why));
    }
    Ok(value as u128)
}

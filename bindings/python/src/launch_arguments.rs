//! Arguments of a kernel, from Python objects.

use ptxkit::ir::{Module as IrModule, Param};
use ptxkit::isa::{ScalarType, TypeKind};
use ptxkit::semantics::fold::number_bits;
use ptxkit::vm::StructArgument;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::buffer::{Buffer, about, type_name};
use crate::build::scalar;

/// A value that is passed for a parameter.
pub(crate) enum Argument<'py> {
    Bytes(Vec<u8>),
    /// The address of a copy of a buffer.
    Buffer(Buffer<'py>),
    /// The bytes of a struct, and the offsets of the addresses of copies of buffers.
    Struct(Vec<u8>, Vec<(usize, Buffer<'py>)>),
}

/// The largest depth of structs in structs.
const DEPTH: usize = 16;

/// The layout of a struct that is being read, and the buffers in it.
#[derive(Default)]
struct Struct<'py> {
    layout: StructArgument,
    buffers: Vec<(usize, Buffer<'py>)>,
    /// The fields that remain, the last one first.
    remaining: Vec<Bound<'py, PyAny>>,
}

impl<'py> Struct<'py> {
    /// A struct with the fields of a tuple.
    fn new(tuple: &Bound<'py, PyTuple>) -> Self {
        Self {
            remaining: tuple.iter().rev().collect(),
            ..Self::default()
        }
    }

    /// Reads a tuple of fields: arrays, pairs of the name of a type and values, and tuples of fields.
    fn read(tuple: &Bound<'py, PyTuple>) -> PyResult<Self> {
        let mut open = vec![Self::new(tuple)];
        while let Some(mut current) = open.pop() {
            let Some(field) = current.remaining.pop() else {
                let Some(outer) = open.last_mut() else {
                    return Ok(current);
                };
                let start = outer.layout.structure(&current.layout);
                let buffers = current.buffers.into_iter();
                outer
                    .buffers
                    .extend(buffers.map(|(offset, buffer)| (start + offset, buffer)));
                continue;
            };
            let inner = field.cast::<PyTuple>().ok();
            match inner {
                Some(pair) if pair.len() == 2 && pair.get_item(0)?.is_instance_of::<PyString>() => {
                    current
                        .add_values(&pair.get_item(0)?.extract::<String>()?, &pair.get_item(1)?)?;
                }
                Some(_) if open.len() >= DEPTH => {
                    let why = format!("there are more than {DEPTH} structs in each other");
                    return Err(PyValueError::new_err(why));
                }
                Some(tuple) => {
                    let inner = Self::new(tuple);
                    open.extend([current, inner]);
                    continue;
                }
                None => {
                    let why = "a field of a struct is an array, a pair such as (\"u32\", 5), or a tuple of fields";
                    let buffer = Buffer::of(&field)?.ok_or_else(|| PyTypeError::new_err(why))?;
                    let offset = current.layout.field(&[0; 8], 8);
                    current.buffers.push((offset, buffer));
                }
            }
            open.push(current);
        }
        Ok(Self::default())
    }

    /// Adds values of a type, or the bytes of an object with the buffer protocol.
    fn add_values(&mut self, name: &str, values: &Bound<'py, PyAny>) -> PyResult<()> {
        if name == "bytes" {
            let bytes = Buffer::required_bytes("bytes", values)?;
            self.layout.field(&bytes, 1);
            return Ok(());
        }
        if name == "align" {
            let align = values.extract::<usize>()?;
            if !align.is_power_of_two() || align > 4096 {
                let why = "an alignment is a power of two up to 4096";
                return Err(PyValueError::new_err(why));
            }
            self.layout.align(align);
            return Ok(());
        }
        let ty = Some(scalar(name)?)
            .filter(|ty| ty.bits() >= 8 && ty.kind() != TypeKind::Opaque && ty.element().is_none())
            .ok_or_else(|| PyValueError::new_err(format!("`{name}` is not a type of a field")))?;
        let elements = match values.extract::<Vec<Bound<'py, PyAny>>>() {
            Ok(elements) => elements,
            Err(_) => vec![values.clone()],
        };
        for element in elements {
            let bytes = number(ty, &element)?;
            self.layout.field(&bytes, bytes.len());
        }
        Ok(())
    }
}

/// The name of a parameter.
pub(crate) fn parameter_name<'m>(module: &'m IrModule, param: &Param) -> &'m str {
    param.name.map_or("_", |name| module.name(name))
}

impl<'py> Argument<'py> {
    /// The argument for a parameter. Errors name the parameter.
    pub(crate) fn new(
        module: &IrModule,
        param: &Param,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        Self::of(module, param, object).map_err(|error| {
            let what = format!("parameter `{}`", parameter_name(module, param));
            about(object.py(), &what, error)
        })
    }

    fn of(module: &IrModule, param: &Param, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let ty = param.ty.known();
        if ty.is_some_and(|ty| ty.kind() == TypeKind::Opaque)
            || param.ptr.is_some_and(|pointer| pointer.opaque.is_some())
        {
            return number(ScalarType::U64, object).map(Self::Bytes);
        }
        let layout = param.layout(module.pool());
        let size = layout.and_then(|layout| layout.size);
        let (Some(size), Some(ty)) = (size, ty) else {
            return Err(PyTypeError::new_err("the size of the parameter is unknown"));
        };
        let pointer = u64::from(module.header().address_size.unwrap_or(32)) / 8;
        let is_scalar = u64::from(ty.bits()) == size * 8;
        if !is_scalar && let Ok(tuple) = object.cast::<PyTuple>() {
            let Struct {
                layout, buffers, ..
            } = Struct::read(tuple)?;
            let bytes = layout.bytes();
            if bytes.len() as u64 != size {
                let why = format!("the struct has {} bytes, the parameter {size}", bytes.len());
                return Err(PyValueError::new_err(why));
            }
            if pointer != 8 && !buffers.is_empty() {
                let why = "a struct with addresses needs a module with `.address_size 64`";
                return Err(PyValueError::new_err(why));
            }
            return Ok(Self::Struct(bytes, buffers));
        }
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
            let why = format!(
                "the parameter takes {size} bytes: a tuple of fields, or bytes such as those of struct.pack"
            );
            return Err(PyTypeError::new_err(why));
        }
        if size == pointer && !is_number(object)? {
            let type_name = type_name(object);
            return Err(PyTypeError::new_err(format!(
                "expected a number, an address or an array with the buffer protocol, found a value of type `{type_name}`"
            )));
        }
        number(ty, object).map(Self::Bytes)
    }
}

/// Whether an object can be converted to a number.
fn is_number(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("__index__")? || object.hasattr("__float__")?)
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

/// The error of an object that cannot be converted to a number of a type.
fn not_a_number(expected: &str, ty: ScalarType, object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyTypeError>(object.py()) {
        return error;
    }
    let type_name = type_name(object);
    PyTypeError::new_err(format!(
        "expected {expected} for `{ty}`, found a value of type `{type_name}`"
    ))
}

fn fraction(ty: ScalarType, object: &Bound<'_, PyAny>) -> PyResult<u128> {
    let number = object
        .extract::<f64>()
        .map_err(|error| not_a_number("a number", ty, object, error))?;
    let bits = number_bits(ty, number).map(u128::from);
    bits.ok_or_else(|| PyOverflowError::new_err(format!("{number} is not a number of `{ty}`")))
}

fn integer(ty: ScalarType, object: &Bound<'_, PyAny>) -> PyResult<u128> {
    let value = object
        .extract::<i128>()
        .map_err(|error| not_a_number("an integer", ty, object, error))?;
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

//! The bytes of the parameters of a kernel, made from arguments.

use anyhow::{Result, bail};
use ptx_ir::{Function, Module, Param};
use ptx_isa::{ScalarType, TypeKind};
use ptx_report::counted;
use ptx_report::function_stats::{Parameter, Signature};
use ptx_vm::TensorMap;

use super::memory::Memory;
use super::plan::Passed;
use ptx_report::scalars;

/// The bytes of each parameter.
pub(super) fn bytes(
    module: &Module,
    function: &Function,
    arguments: &[Passed],
    memory: &Memory,
) -> Result<Vec<Vec<u8>>> {
    let params = function.interface.params.of(module.params());
    let described_params = Signature::new(module, function).params;
    if params.len() != arguments.len() {
        bail!(
            "{}, but the kernel has {}: {}",
            counted(arguments.len(), "argument"),
            counted(params.len(), "parameter"),
            list(&described_params)
        );
    }
    let mut values = Vec::new();
    for (index, (param, argument)) in params.iter().zip(arguments).enumerate() {
        match parameter_bytes(module, param, argument, memory) {
            Ok(bytes) => values.push(bytes),
            Err(reason) => {
                let parameter = described_params.get(index).map_or(String::new(), describe);
                bail!("parameter {} {parameter}: {reason}", index + 1);
            }
        }
    }
    Ok(values)
}

/// `.param .u64 x, .param .f32 alpha`
fn list(params: &[Parameter]) -> String {
    match params {
        [] => "it takes no arguments".to_owned(),
        _ => params.iter().map(describe).collect::<Vec<_>>().join(", "),
    }
}

/// `` `x` (.u64) ``
fn describe(param: &Parameter) -> String {
    let name = param.name.as_deref().unwrap_or("_");
    format!("`{name}` ({})", param.ty)
}

/// The bytes of one parameter.
fn parameter_bytes(
    module: &Module,
    param: &Param,
    passed: &Passed,
    memory: &Memory,
) -> Result<Vec<u8>, String> {
    let ty = param.ty.known();
    if ty.is_some_and(|ty| ty.kind() == TypeKind::Opaque)
        || param.ptr.is_some_and(|p| p.opaque.is_some())
    {
        return match passed {
            Passed::Object(object) => Ok(memory.handle(*object).to_le_bytes().to_vec()),
            _ => Err("expected `texture:ARRAY`, `sampler:FIELDS` or `surface:ARRAY`".to_owned()),
        };
    }
    let size = param
        .layout(module.pool())
        .and_then(|layout| layout.size)
        .ok_or("its size is unknown")?;
    match passed {
        Passed::Object(object) if size == 8 && ty.is_none_or(|ty| !ty.is_float()) => {
            Ok(memory.handle(*object).to_le_bytes().to_vec())
        }
        Passed::Object(_) => Err(format!(
            "the handle of a texture, a sampler or a surface has 8 bytes; {}",
            expected(ty, size)
        )),
        Passed::Buffer(buffer, offset) => {
            let (fits, declared) = match module.header().address_size {
                Some(bits) => (size == u64::from(bits) / 8, ""),
                // Without the directive, the size of addresses is 32, but old modules for 64 bits have no directive, too.
                None => (size == 4 || size == 8, " (no `.address_size`: 32)"),
            };
            if !fits {
                let bytes = module.header().address_size.unwrap_or(32) / 8;
                return Err(format!(
                    "a buffer is an address of {bytes} bytes{declared}; {}",
                    expected(ty, size)
                ));
            }
            let address = memory.address(*buffer).wrapping_add(*offset);
            Ok(address.to_le_bytes()[..size as usize].to_vec())
        }
        Passed::TensorMap(buffer, offset, map) => {
            let bytes = map_bytes(map, memory.address(*buffer).wrapping_add(*offset))?;
            if bytes.len() as u64 != size {
                return Err(format!(
                    "a tensor map has {} bytes; {}",
                    bytes.len(),
                    expected(ty, size)
                ));
            }
            Ok(bytes)
        }
        Passed::Number(text) => number_bytes(ty, size, text),
        Passed::Bytes(bytes) if bytes.len() as u64 == size => Ok(bytes.clone()),
        Passed::Bytes(bytes) => Err(format!(
            "`bytes:` has {}, not {size}",
            counted(bytes.len(), "byte")
        )),
        Passed::Values(argument_ty, bytes) if bytes.len() as u64 != size => Err(format!(
            "`{}:` has {}; {}",
            scalars::name(*argument_ty),
            counted(bytes.len(), "byte"),
            expected(ty, size)
        )),
        Passed::Values(argument_ty, _) if ty.is_some_and(|ty| differ(ty, *argument_ty)) => {
            Err(format!(
                "`{}:` is a value of a different kind; {}",
                scalars::name(*argument_ty),
                expected(ty, size)
            ))
        }
        Passed::Values(_, bytes) => Ok(bytes.clone()),
        Passed::Structure(_, struct_size) if *struct_size as u64 != size => Err(format!(
            "`struct:` has {}; {}",
            counted(*struct_size, "byte"),
            expected(ty, size)
        )),
        Passed::Structure(fields, struct_size) => {
            structure_bytes(module, fields, *struct_size, memory)
        }
    }
}

/// The bytes of the map of a tensor at an address.
fn map_bytes(map: &TensorMap, address: u64) -> Result<Vec<u8>, String> {
    let map = map.clone().address(address);
    let bytes = map.to_bytes().map_err(|why| why.to_string())?;
    Ok(bytes.to_vec())
}

/// The bytes of a struct with fields at offsets.
fn structure_bytes(
    module: &Module,
    fields: &[(usize, Passed)],
    size: usize,
    memory: &Memory,
) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; size];
    for (offset, field) in fields {
        let field = field_bytes(module, field, memory)?;
        if let Some(place) = bytes.get_mut(*offset..*offset + field.len()) {
            place.copy_from_slice(&field);
        }
    }
    Ok(bytes)
}

/// The bytes of a field of a struct.
fn field_bytes(module: &Module, passed: &Passed, memory: &Memory) -> Result<Vec<u8>, String> {
    match passed {
        Passed::Buffer(..) if module.header().address_size == Some(32) => {
            Err("a struct with addresses needs a module with `.address_size 64`".to_owned())
        }
        Passed::Buffer(buffer, offset) => {
            let address = memory.address(*buffer).wrapping_add(*offset);
            Ok(address.to_le_bytes().to_vec())
        }
        Passed::TensorMap(buffer, offset, map) => {
            map_bytes(map, memory.address(*buffer).wrapping_add(*offset))
        }
        Passed::Object(object) => Ok(memory.handle(*object).to_le_bytes().to_vec()),
        Passed::Values(_, bytes) | Passed::Bytes(bytes) => Ok(bytes.clone()),
        Passed::Number(_) | Passed::Structure(..) => {
            Err("a field of a struct has no size".to_owned())
        }
    }
}

/// The bytes of a number for a parameter of a type and a size in bytes.
pub(super) fn number_bytes(
    ty: Option<ScalarType>,
    size: u64,
    text: &str,
) -> Result<Vec<u8>, String> {
    let scalar = ty.filter(|ty| size == u64::from(ty.bits() / 8));
    let Some(ty) = scalar else {
        return Err(format!("`{text}` is one number; {}", expected(ty, size)));
    };
    scalars::bytes(ty, text).map_err(|why| {
        let is_fraction = ty.kind() == TypeKind::Bits && text.parse::<f64>().is_ok();
        let alternative = if is_fraction {
            format!(
                "; for the bits of a number with a fraction, write `f{}:{text}`",
                ty.bits()
            )
        } else {
            String::new()
        };
        format!("{why}{alternative}")
    })
}

/// Whether one of the types contains integers and the other one numbers with a fraction.
fn differ(ty: ScalarType, argument_ty: ScalarType) -> bool {
    let elements = [ty, argument_ty].map(|ty| ty.element().unwrap_or(ty));
    elements.iter().any(|ty| ty.is_integer()) && elements.iter().any(|ty| ty.is_float())
}

/// The expected form of an argument for a parameter.
fn expected(ty: Option<ScalarType>, size: u64) -> String {
    let Some(ty) = ty else {
        return format!("expected `bytes:` or `struct:` with {size} bytes");
    };
    match size / u64::from(ty.bits() / 8).max(1) {
        1 if ty.bits() == 64 && !ty.is_float() => {
            format!(
                "expected `{}:VALUE` or a buffer such as `in:FILE.npy`",
                scalars::name(ty)
            )
        }
        1 => format!("expected `{}:VALUE`", scalars::name(ty)),
        _ => format!("expected `bytes:` or `struct:` with {size} bytes"),
    }
}

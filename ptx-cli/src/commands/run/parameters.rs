//! Arguments as the bytes of the parameters of a kernel.

use anyhow::{Result, bail};
use ptx_ir::{Function, Module, Param};
use ptx_isa::{ScalarType, TypeKind};
use ptx_report::counted;
use ptx_report::function_stats::{Parameter, Signature};

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
    let shown = Signature::new(module, function).params;
    if params.len() != arguments.len() {
        bail!(
            "{}, but the kernel has {}: {}",
            counted(arguments.len(), "argument"),
            counted(params.len(), "parameter"),
            list(&shown)
        );
    }
    let mut all = Vec::new();
    for (at, (param, argument)) in params.iter().zip(arguments).enumerate() {
        match one(module, param, argument, memory) {
            Ok(bytes) => all.push(bytes),
            Err(why) => {
                let parameter = shown.get(at).map_or(String::new(), describe);
                bail!("parameter {} {parameter}: {why}", at + 1);
            }
        }
    }
    Ok(all)
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
fn one(
    module: &Module,
    param: &Param,
    passed: &Passed,
    memory: &Memory,
) -> Result<Vec<u8>, String> {
    let layout = param.layout(module.pool());
    let size = layout.and_then(|layout| layout.size);
    let size = size.ok_or("its size is unknown")?;
    let ty = param.ty.known();
    if ty.is_some_and(|ty| ty.kind() == TypeKind::Opaque)
        || param.ptr.is_some_and(|p| p.opaque.is_some())
    {
        return Err("textures, samplers and surfaces are not supported".to_owned());
    }
    match passed {
        Passed::Buffer(buffer, offset) => {
            let (fits, declared) = match module.header().address_size {
                Some(bits) => (size == u64::from(bits) / 8, ""),
                // The size of addresses is 32 then, but old modules for 64 bits have none, too.
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
        Passed::Bytes(bytes) if bytes.len() as u64 == size => Ok(bytes.clone()),
        Passed::Bytes(bytes) => Err(format!(
            "`bytes:` has {}, not {size}",
            counted(bytes.len(), "byte")
        )),
        Passed::Values(of, bytes) if bytes.len() as u64 != size => Err(format!(
            "`{}:` has {}; {}",
            scalars::name(*of),
            counted(bytes.len(), "byte"),
            expected(ty, size)
        )),
        Passed::Values(of, _) if ty.is_some_and(|ty| differ(ty, *of)) => Err(format!(
            "`{}:` is a value of a different kind; {}",
            scalars::name(*of),
            expected(ty, size)
        )),
        Passed::Values(_, bytes) => Ok(bytes.clone()),
    }
}

/// Whether a value of one type makes no sense as one of the other: an integer as a number with a fraction, or the reverse.
fn differ(ty: ScalarType, of: ScalarType) -> bool {
    let whole = [ty, of].map(|ty| ty.element().unwrap_or(ty));
    whole.iter().any(|ty| ty.is_integer()) && whole.iter().any(|ty| ty.is_float())
}

/// How to write an argument for a parameter.
fn expected(ty: Option<ScalarType>, size: u64) -> String {
    let Some(ty) = ty else {
        return format!("expected `bytes:` with {size} bytes");
    };
    match size / u64::from(ty.bits() / 8).max(1) {
        1 if ty.bits() == 64 && !ty.is_float() => {
            format!(
                "expected `{}:VALUE` or a buffer such as `in:FILE.npy`",
                scalars::name(ty)
            )
        }
        1 => format!("expected `{}:VALUE`", scalars::name(ty)),
        _ => format!("expected `bytes:` with {size} bytes"),
    }
}

//! `ptxkit/kernels`: what can be run, and which arguments it takes.

use ptx_ir::{FunctionKind, Module, Param};
use ptx_report::demangle::demangle;
use ptx_report::function_stats::Signature;
use serde::Serialize;

use crate::document::Document;

/// A kernel.
#[derive(Serialize)]
pub(in crate::custom) struct Kernel {
    name: String,
    demangled: Option<String>,
    parameters: Vec<Parameter>,
}

#[derive(Serialize)]
struct Parameter {
    name: Option<String>,
    /// As it is declared.
    #[serde(rename = "type")]
    ty: String,
    /// Its size in bytes; `None` if it is not known.
    bytes: Option<u64>,
    /// Whether it may be the address of a buffer.
    pointer: bool,
}

/// All kernels, in the order of the text.
pub(in crate::custom) fn kernels(document: &Document) -> Vec<Kernel> {
    let module = document.module();
    let kernels = module.definitions();
    let kernels = kernels.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
    let pointer = u64::from(module.header().address_size.unwrap_or(32)) / 8;
    let of_kernel = |function: &ptx_ir::Function| {
        let name = module.name(function.name);
        let params = function.interface.params.of(module.params());
        let shown = Signature::new(module, function).params;
        let parameters = shown.into_iter().zip(params).map(|(shown, param)| {
            let bytes = size(module, param);
            let is_integer = param.ty.known().is_some_and(|ty| !ty.is_float());
            let whole = param.ty.known().map(|ty| u64::from(ty.bits() / 8));
            Parameter {
                name: shown.name,
                ty: shown.ty,
                bytes,
                pointer: is_integer && bytes == Some(pointer) && bytes == whole,
            }
        });
        Kernel {
            name: name.to_owned(),
            demangled: demangle(name),
            parameters: parameters.collect(),
        }
    };
    kernels
        .map(|(_, function, _)| of_kernel(function))
        .collect()
}

/// The bytes of a parameter.
pub(super) fn size(module: &Module, param: &Param) -> Option<u64> {
    param.layout(module.pool())?.size
}

//! `ptxkit/functions`, `ptxkit/kernels` and `ptxkit/statistics`: the functions with a body.

use lsp_types::Range;
use ptx_ir::{FunctionKind, Item, Module, Param};
use ptx_report::demangle::demangle;
use ptx_report::function_stats::{self, FunctionStats, Signature};
use serde::Serialize;

use super::FunctionParams;
use crate::document::Document;
use crate::message::Failure;

/// A function with a body.
#[derive(Serialize)]
pub(super) struct Function {
    /// Its name in the text.
    name: String,
    /// Its name in the source language, if it is mangled.
    demangled: Option<String>,
    kind: &'static str,
    range: Range,
}

/// The name of a kind of functions in answers.
pub(super) const fn kind(kind: FunctionKind) -> &'static str {
    match kind {
        FunctionKind::Entry => "kernel",
        FunctionKind::Func => "function",
    }
}

/// The functions with a body, in the order of the text.
pub(super) fn functions(document: &Document) -> Vec<Function> {
    let module = document.module();
    let mut functions = Vec::new();
    for (item, content) in module.items() {
        if let Item::Function(id) = content
            && let Some(function) = module.functions().get(id)
            && function.body.is_some()
        {
            let name = module.name(function.name);
            functions.push(Function {
                name: name.to_owned(),
                demangled: demangle(name),
                kind: kind(function.kind),
                range: document.range(module.span(item)),
            });
        }
    }
    functions
}

/// A kernel that can be run.
#[derive(Serialize)]
pub(super) struct Kernel {
    name: String,
    demangled: Option<String>,
    parameters: Vec<Parameter>,
}

#[derive(Serialize)]
struct Parameter {
    name: Option<String>,
    /// The declared type.
    #[serde(rename = "type")]
    ty: String,
    /// The size in bytes; `None` if it is unknown.
    bytes: Option<u64>,
    /// The parameter is an integer of the size of addresses, so that it may be the address of a buffer.
    pointer: bool,
}

/// The kernels with a body, in the order of the text.
pub(super) fn kernels(document: &Document) -> Vec<Kernel> {
    let module = document.module();
    module
        .definitions()
        .filter(|(_, function, _)| function.kind == FunctionKind::Entry)
        .map(|(_, function, _)| kernel(module, function))
        .collect()
}

fn kernel(module: &Module, function: &ptx_ir::Function) -> Kernel {
    let address_bytes = u64::from(module.header().address_size.unwrap_or(32)) / 8;
    let name = module.name(function.name);
    let params = function.interface.params.of(module.params());
    let descriptions = Signature::new(module, function).params;
    let parameters = descriptions
        .into_iter()
        .zip(params)
        .map(|(description, param)| {
            let bytes = parameter_size(module, param);
            let is_address = param.ty.known().is_some_and(|ty| {
                // An array has another size than its element type.
                !ty.is_float() && bytes == Some(u64::from(ty.bits() / 8))
            });
            Parameter {
                name: description.name,
                ty: description.ty,
                bytes,
                pointer: is_address && bytes == Some(address_bytes),
            }
        });
    Kernel {
        name: name.to_owned(),
        demangled: demangle(name),
        parameters: parameters.collect(),
    }
}

/// The size of a parameter in bytes; `None` if it is unknown.
pub(super) fn parameter_size(module: &Module, param: &Param) -> Option<u64> {
    param.layout(module.pool())?.size
}

/// The statistics that `ptxkit stats --json` writes, of the function that the parameters name, or of all functions.
pub(super) fn statistics(
    document: &Document,
    params: &FunctionParams,
) -> Result<Vec<FunctionStats>, Failure> {
    let module = document.module();
    let function = match params.function {
        Some(_) => Some(super::function(module, params)?),
        None => None,
    };
    Ok(function_stats::collect(module, |id| {
        function.is_none_or(|function| function == id)
    }))
}

//! `ptxkit/functions`: the functions with a body.

use lsp_types::Range;
use ptx_ir::{FunctionKind, Item};
use ptx_report::demangle::demangle;
use serde::Serialize;

use crate::document::Document;

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

/// `kernel` or `function`.
pub(super) const fn kind(kind: FunctionKind) -> &'static str {
    match kind {
        FunctionKind::Entry => "kernel",
        FunctionKind::Func => "function",
    }
}

/// All of them, in the order of the text.
pub(super) fn functions(document: &Document) -> Vec<Function> {
    let module = document.module();
    let items = module.items();
    let of_item = |(item, what)| {
        let Item::Function(id) = what else {
            return None;
        };
        let function = module.functions().get(id)?;
        function.body?;
        let name = module.name(function.name);
        Some(Function {
            name: name.to_owned(),
            demangled: demangle(name),
            kind: kind(function.kind),
            range: document.range(module.span(item)),
        })
    };
    items.filter_map(of_item).collect()
}

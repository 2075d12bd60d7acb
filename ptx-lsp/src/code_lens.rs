//! Code lenses with the requirements of kernels and functions.

use lsp_types::{CodeLens, Command};
use ptx_ir::Item;
use serde_json::json;

use crate::document::Document;
use crate::symbols;

/// A lens for each function with a body. Its text is computed when the client shows it.
pub(crate) fn lenses(document: &Document) -> Vec<CodeLens> {
    let module = document.module();
    module
        .items()
        .filter_map(|(id, item)| {
            let Item::Function(function) = item else {
                return None;
            };
            module.body(function)?;
            let name = symbols::declared_names(module, id, item).first()?.span;
            Some(CodeLens {
                range: document.range(name),
                command: None,
                data: Some(json!({"uri": document.uri.as_str(), "function": document.text(name)})),
            })
        })
        .collect()
}

/// Adds the text to a lens.
pub(crate) fn resolve(document: &Document, mut lens: CodeLens) -> CodeLens {
    let name = lens.data.as_ref().and_then(|d| d.get("function")?.as_str());
    let text = name.and_then(|name| document.requirements_of(name));
    lens.command = Some(Command {
        title: text.unwrap_or_else(|| "legal on no target".to_owned()),
        // Without a command, the client only shows the text.
        command: String::new(),
        arguments: None,
    });
    lens
}

//! Some functions with all that they depend on, or the rest of the document.

use ptx_report::demangle::Wanted;

use super::options::{OptionOf, Values};
use super::{Outcome, Rewrite, listed};
use crate::document::Document;

/// Which part of the document remains.
const PARTS: [&str; 3] = ["functions", "linkable", "rest"];

pub(super) fn rewrite() -> Rewrite {
    Rewrite {
        name: "extract",
        title: "Extract functions",
        description: "Keeps some functions with everything they depend on.",
        options: vec![
            OptionOf::string(
                "functions",
                None,
                "names, mangled or demangled, or patterns with `*` and `?`, separated by `;`",
            ),
            OptionOf::choice(
                "part",
                PARTS,
                Some("functions"),
                "`linkable` makes all symbols visible that the rest references; `rest` selects the rest",
            ),
        ],
        apply,
    }
}

fn apply(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let module = document.module();
    let mut names = Vec::new();
    // The parameters of a demangled name contain commas.
    let wanted = values.text("functions").split(';').map(str::trim);
    for text in wanted.filter(|t| !t.is_empty()) {
        let functions = module.functions().values();
        let found = Wanted::new(text).among(functions.map(|f| module.name(f.name)));
        let found = found.map_err(|e| e.to_string())?;
        if found.is_empty() {
            return Err(format!("unknown function or kernel `{text}`"));
        }
        names.extend(found);
    }
    let split = || ptx_transform::split(module, &names);
    let part = match values.text("part") {
        "linkable" => split().map(|s| s.part),
        "rest" => split().map(|s| s.rest),
        _ => ptx_transform::extract(module, &names),
    };
    let part = part.map_err(|e| e.to_string())?;
    let notes = part.notes.iter().map(|note| listed(document, &[note]));
    Ok(Outcome::new(&part.rewritten.text).with_notes(notes))
}

//! The rewrite that keeps some functions with their dependencies, or the remainder of the document.

use ptx_report::demangle::FunctionPattern;

use super::options::{RewriteOption, Values};
use super::{Outcome, Rewrite, in_one_line};
use crate::document::Document;

/// The parts of the document that may be kept.
const PARTS: [&str; 3] = ["functions", "linkable", "rest"];

pub(super) fn rewrite() -> Rewrite {
    Rewrite {
        name: "extract",
        title: "Extract functions",
        description: "Keeps some functions with everything they depend on.",
        options: vec![
            RewriteOption::string(
                "functions",
                None,
                "names, mangled or demangled, or patterns with `*` and `?`, separated by `;`",
            ),
            RewriteOption::choice(
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
    let mut functions = Vec::new();
    // Patterns are not separated by commas, because the parameters of a demangled name contain commas.
    for pattern in values.text("functions").split(';').map(str::trim) {
        if pattern.is_empty() {
            continue;
        }
        let names = module.functions().values().map(|f| module.name(f.name));
        let matches = FunctionPattern::new(pattern)
            .select(names)
            .map_err(|e| e.to_string())?;
        if matches.is_empty() {
            return Err(format!("unknown function or kernel `{pattern}`"));
        }
        functions.extend(matches);
    }
    let part = match values.text("part") {
        "linkable" => ptx_transform::split(module, &functions).map(|split| split.part),
        "rest" => ptx_transform::split(module, &functions).map(|split| split.rest),
        _ => ptx_transform::extract(module, &functions),
    }
    .map_err(|error| error.to_string())?;
    let notes = part
        .report
        .iter()
        .map(|note| in_one_line(document, &[note]));
    Ok(Outcome::new(part.text()).with_notes(notes))
}

//! Rewrites that are possible for every document without syntax errors, and the prefix for names.

use ptx_edit::{Names, OwnSymbols, Renaming};
use ptx_ir::{Module, Rewritten};
use ptx_print::{Indent, Style};
use ptx_transform::Minify;

use super::options::{OptionOf, Values};
use super::{Outcome, Rewrite};
use crate::document::Document;
use crate::formatting;

pub(super) fn all() -> Vec<Rewrite> {
    vec![
        Rewrite {
            name: "format",
            title: "Format",
            description: "Writes the document in the canonical style: one statement per line, one indentation.",
            options: vec![
                OptionOf::bool("tabs", true, "indent by tabs"),
                OptionOf::number("spaces", (0, 4, 16), "how many spaces indent without tabs"),
            ],
            apply: format,
        },
        Rewrite {
            name: "strip",
            title: "Strip",
            description: "Removes comments and debug information.",
            options: Vec::new(),
            apply: |d, _| rewritten(d, ptx_transform::strip),
        },
        Rewrite {
            name: "minify",
            title: "Minify",
            description: "Removes whitespace, comments and unused registers, and shortens names; the machine code stays the same.",
            options: vec![
                OptionOf::bool(
                    "symbols",
                    false,
                    "also rename functions and variables that are not visible to other modules",
                ),
                OptionOf::bool(
                    "dead",
                    false,
                    "remove functions and variables that are not visible to other modules and not used by kernels",
                ),
            ],
            apply: minify,
        },
        Rewrite {
            name: "renumber",
            title: "Renumber registers",
            description: "Numbers registers in the order of their first use.",
            options: Vec::new(),
            apply: |d, _| rewritten(d, ptx_transform::renumber),
        },
        Rewrite {
            name: "flatten",
            title: "Flatten blocks",
            description: "Removes blocks in braces inside of functions; names in them become different ones.",
            options: Vec::new(),
            apply: |d, _| rewritten(d, ptx_transform::flatten),
        },
        Rewrite {
            name: "prefix",
            title: "Prefix names",
            description: "Adds a prefix to the names of functions and variables that are not visible to other modules.",
            options: vec![
                OptionOf::string("prefix", None, "the prefix"),
                OptionOf::bool(
                    "visible",
                    false,
                    "also rename visible functions, kernels and variables that are defined here",
                ),
            ],
            apply: prefix,
        },
    ]
}

fn rewritten(document: &Document, rewrite: fn(&Module) -> Rewritten) -> Result<Outcome, String> {
    Ok(Outcome::new(&rewrite(document.module()).text))
}

fn format(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let spaces = u8::try_from(values.number("spaces")).unwrap_or(u8::MAX);
    let indent = match values.is_set("tabs") {
        true => Indent::Tab,
        false => Indent::Spaces(spaces),
    };
    let text = formatting::canonical(document, &Style::with_indent(indent))?;
    Ok(Outcome::new(&text))
}

fn minify(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let how = Minify::new()
        .with_symbols(values.is_set("symbols"))
        .with_dead(values.is_set("dead"));
    let new = ptx_transform::minify(document.module(), how);
    Ok(Outcome::new(&new.text))
}

fn prefix(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let module = document.module();
    let which = match values.is_set("visible") {
        true => OwnSymbols::WithVisible,
        false => OwnSymbols::Private,
    };
    let names = Names::of(module);
    let renaming = Renaming::prefix(module, &names, values.text("prefix"), which);
    let new = renaming.apply(module, &names).map_err(|e| e.to_string())?;
    Ok(Outcome::new(&new.text))
}

//! Rewrites that keep the behavior of kernels: layout, names, blocks and clean-ups.

use ptx_edit::{Names, OwnSymbols, Renaming, Rewriting};
use ptx_ir::Module;
use ptx_print::{Indent, Style};
use ptx_report::demangle::display_name;
use ptx_transform::MinifyOptions;
use ptx_transform::clean::{self, Pass};

use super::options::{NumberKind, RewriteOption, Values};
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
                RewriteOption::bool("tabs", true, "indent by tabs"),
                RewriteOption::number(
                    "spaces",
                    NumberKind {
                        minimum: 0,
                        default: 4,
                        maximum: 16,
                    },
                    "how many spaces indent without tabs",
                ),
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
                RewriteOption::bool(
                    "symbols",
                    false,
                    "also rename functions and variables that are not visible to other modules",
                ),
                RewriteOption::bool(
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
                RewriteOption::string("prefix", None, "the prefix"),
                RewriteOption::bool(
                    "visible",
                    false,
                    "also rename visible functions, kernels and variables that are defined here",
                ),
            ],
            apply: prefix,
        },
        Rewrite {
            name: "clean",
            title: "Clean up",
            description: "Eliminates dead and unreachable code, folds constants, propagates copies, infers address spaces.",
            options: Pass::ALL.iter().map(pass_option).collect(),
            apply: clean,
        },
    ]
}

fn pass_option(pass: &Pass) -> RewriteOption {
    let description = format!("{}: {}", pass.term(), pass.summary());
    RewriteOption::bool(pass.name(), pass.is_default(), description)
}

fn rewritten(document: &Document, rewrite: fn(&Module) -> Rewriting) -> Result<Outcome, String> {
    Ok(Outcome::new(rewrite(document.module()).text()))
}

fn format(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let spaces = u8::try_from(values.number("spaces")).unwrap_or(u8::MAX);
    let indent = if values.is_set("tabs") {
        Indent::Tab
    } else {
        Indent::Spaces(spaces)
    };
    let text = formatting::canonical(document, &Style::default().with_indent(indent))?;
    Ok(Outcome::new(&text))
}

fn minify(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let options = MinifyOptions::default()
        .with_symbols(values.is_set("symbols"))
        .with_dead(values.is_set("dead"));
    let minified = ptx_transform::minify(document.module(), &options);
    Ok(Outcome::new(minified.text()))
}

fn prefix(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let module = document.module();
    let symbols = if values.is_set("visible") {
        OwnSymbols::WithVisible
    } else {
        OwnSymbols::Private
    };
    let names = Names::of(module);
    let renaming = Renaming::prefix(module, &names, values.text("prefix"), symbols);
    let renamed = renaming.apply(module, &names).map_err(|e| e.to_string())?;
    Ok(Outcome::new(renamed.text()))
}

fn clean(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let passes: Vec<Pass> = Pass::ALL
        .iter()
        .copied()
        .filter(|pass| values.is_set(pass.name()))
        .collect();
    let module = document.module();
    let cleaned = clean::clean(module, &clean::Options::default().with_passes(passes));
    let notes = cleaned.report.skipped.iter().map(|skipped| {
        let function = module.functions().get(skipped.function);
        let name = function.map_or("", |f| module.name(f.name));
        format!(
            "`{}` is left unchanged: {}",
            display_name(name),
            skipped.reason
        )
    });
    Ok(Outcome::new(cleaned.text()).with_notes(notes))
}

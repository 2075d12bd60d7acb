//! Clean-ups of functions.

use ptx_report::demangle::shown;
use ptx_transform::clean::{self, Options, Pass};

use super::options::{OptionOf, Values};
use super::{Outcome, Rewrite};
use crate::document::Document;

pub(super) fn rewrite() -> Rewrite {
    let passes = Pass::ALL.iter();
    let option = |pass: &Pass| {
        let description = format!("{}: {}", pass.term(), pass.summary());
        OptionOf::bool(pass.name(), pass.is_default(), description)
    };
    Rewrite {
        name: "clean",
        title: "Clean up",
        description: "Eliminates dead and unreachable code, folds constants, propagates copies, infers address spaces.",
        options: passes.map(option).collect(),
        apply,
    }
}

fn apply(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let passes = Pass::ALL.iter().copied();
    let passes: Vec<Pass> = passes.filter(|p| values.is_set(p.name())).collect();
    let mut module = document.module().clone();
    let report = match passes.is_empty() {
        true => clean::Report::default(),
        false => clean::clean(&mut module, &Options::new(passes)),
    };
    let skipped = report.skipped.iter().map(|skipped| {
        let function = module.functions().get(skipped.function);
        let name = function.map_or("", |f| module.name(f.name));
        format!("`{}` is left unchanged: {}", shown(name), skipped.reason)
    });
    Ok(Outcome::new(&ptx_print::verbatim(&module)).with_notes(skipped))
}

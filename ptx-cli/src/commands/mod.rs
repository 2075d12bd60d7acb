//! One module per command.

pub(crate) mod callgraph;
pub(crate) mod cfg;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod debug;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod explore;
pub(crate) mod extract;
pub(crate) mod fmt;
pub(crate) mod gate;
pub(crate) mod grep;
pub(crate) mod instrument;
pub(crate) mod line_info;
pub(crate) mod link;
pub(crate) mod lint;
pub(crate) mod list;
pub(crate) mod litmus;
pub(crate) mod lsp;
pub(crate) mod minify;
pub(crate) mod rename;
pub(crate) mod report;
pub(crate) mod requires;
pub(crate) mod retarget;
pub(crate) mod rewrite;
pub(crate) mod run;
pub(crate) mod sass;
pub(crate) mod source;
pub(crate) mod stats;
pub(crate) mod table;

use anyhow::{Result, bail};
use ptx_ir::Module;

use ptx_report::demangle::FunctionPattern;

/// The names of the functions of a module that the command line selects.
fn select_functions<'m>(module: &'m Module, patterns: &[FunctionPattern]) -> Result<Vec<&'m str>> {
    let mut selected = Vec::new();
    for pattern in patterns {
        let functions = module.functions().values();
        let names = pattern.select(functions.map(|f| module.name(f.name)))?;
        if names.is_empty() {
            bail!("unknown function or kernel `{pattern}`");
        }
        selected.extend(names);
    }
    Ok(selected)
}

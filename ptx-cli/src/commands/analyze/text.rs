//! The analysis as one line per function.

use std::io::Write as _;

use ptx_analysis::function_analysis::{FunctionAnalysis, map_functions};
use ptx_ir::Module;
use ptx_ir::facts::ModuleFacts;

use crate::functions::Chosen;
use ptx_report::counted;
use ptx_report::demangle::shown;

/// Writes a line for each function.
pub(crate) fn write(file: &str, module: &Module, functions: &Chosen, out: &mut Vec<u8>) {
    let facts = ModuleFacts::of(module, |id| functions.contains(id));
    let lines = map_functions(&facts, |id, of| {
        if !functions.contains(id) {
            return None;
        }
        let analysis = FunctionAnalysis::new(of);
        let blocks = analysis.cfg().blocks().filter(|(_, b)| !b.is_dispatch);
        let (mut count, mut loops, mut depth) = (0, 0, 0);
        for (id, _) in blocks {
            count += 1;
            loops += usize::from(analysis.loops().header(id) == Some(id));
            depth = depth.max(analysis.loops().depth(id));
        }
        let name = shown(module.name(module.functions()[id].name));
        Some(format!(
            "{file}: {name}: {}, {}, loop depth {depth}, at most {} 32-bit registers live",
            counted(count, "block"),
            counted(loops, "loop"),
            analysis.pressure().units
        ))
    });
    for line in lines.into_iter().flatten() {
        let _ = writeln!(out, "{line}");
    }
}

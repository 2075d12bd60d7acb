//! How the lanes of a warp access memory, as text.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::memory_access::Access;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, Module, StmtId};
use ptx_report::counted;
use ptx_report::function_values::{Coalescing, FunctionValues, is_param};
use ptx_report::labels;
use ptx_report::register_names::RegisterNames;

/// Lines about the access of a statement to memory; none if it has none, or only to parameters.
pub(crate) fn lines(module: &Module, function: FuncId, stmt: StmtId) -> Vec<String> {
    let facts = ModuleFacts::of(module, |id| id == function);
    let found = facts.function(function).and_then(|of| {
        let analysis = FunctionAnalysis::new(of);
        let values = FunctionValues::new(of, &analysis)?;
        let access = values.access(stmt)?;
        let names = RegisterNames::new(module, of.body(), analysis.variables());
        Some(of_access(of, &values, &names, access))
    });
    found.unwrap_or_default()
}

fn of_access(
    of: FunctionFacts<'_>,
    values: &FunctionValues,
    names: &RegisterNames,
    access: &Access,
) -> Vec<String> {
    let space = labels::space(access.space);
    let bytes = access.access.bytes.map(|n| counted(n as usize, "byte"));
    let bytes = bytes.map_or(String::new(), |bytes| format!(", {bytes} for each lane"));
    let mut lines = vec![format!("access to `{space}` memory{bytes}")];
    if let Some(form) = access.address {
        let text = values.text(of, names).form(&form);
        lines.push(format!("address: `{text}`"));
    }
    let Some(coalescing) = Coalescing::of(access) else {
        return lines;
    };
    let mut pattern = format!("lanes: {}", coalescing.pattern);
    if let Some(stride) = coalescing.stride.filter(|_| is_strided(&coalescing)) {
        pattern += &format!(", {stride} bytes from one to the next");
    }
    if coalescing.assumes.contains(&"one_dimension") {
        pattern += " (in a warp of one row of threads)";
    }
    lines.push(pattern);
    if let Some(sectors) = coalescing.sectors {
        let least = access
            .access
            .bytes
            .and_then(|b| coalescing.least_sectors(b));
        let least = least.filter(|least| *least < sectors);
        let least = least.map_or(String::new(), |n| format!(" instead of {n}"));
        lines.push(format!("{}{least}", counted(sectors as usize, "sector")));
    }
    lines.extend(coalescing.degree.map(|degree| match degree {
        0 | 1 => "no bank conflict".to_owned(),
        _ => format!("{degree}-way bank conflict"),
    }));
    lines
}

fn is_strided(coalescing: &Coalescing) -> bool {
    !matches!(coalescing.pattern, "uniform" | "consecutive")
}

/// What an access costs more than the same bytes at contiguous addresses, in few words.
pub(crate) fn cost(access: &Access) -> Option<String> {
    let coalescing = Coalescing::of(access).filter(|_| !is_param(access))?;
    if let Some(degree) = coalescing.degree.filter(|degree| *degree > 1) {
        return Some(format!("{degree}-way bank conflict"));
    }
    let (sectors, bytes) = (coalescing.sectors?, access.access.bytes?);
    let least = coalescing.least_sectors(bytes)?;
    // An address that is not aligned needs one sector more.
    (sectors > least + 1).then(|| format!("{sectors} sectors instead of {least}"))
}

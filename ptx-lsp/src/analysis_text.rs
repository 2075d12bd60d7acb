//! Results of analyses as text, for hovers and hints: the value of a register and the memory access of a statement.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::memory_access::{Access, Pattern};
use ptx_analysis::module_analysis::ModuleAnalysis;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::uniformity::Uniformity;
use ptx_analysis::values::{Affine, AffineSymbol, Values};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, Module, RegId, StmtId};
use ptx_report::affine_text::AffineText;
use ptx_report::function_values::{Assumption, Coalescing, FunctionValues, is_param};
use ptx_report::register_names::RegisterNames;
use ptx_report::{counted, labels};

/// The size of a source, in bytes, up to which analyses of the whole module are done. For larger sources the client would wait too long, so only the
/// function in question is analyzed, without knowledge of its callers and callees.
pub(crate) const MAX_WHOLE_MODULE: usize = 4 << 20;

/// Describes the memory access of a statement, in lines. Empty if the statement accesses no memory or only parameters.
pub(crate) fn access_lines(module: &Module, function: FuncId, stmt: StmtId) -> Vec<String> {
    let facts = ModuleFacts::of(module, |id| id == function);
    let lines = facts.function(function).and_then(|facts| {
        let analysis = FunctionAnalysis::new(facts);
        let values = FunctionValues::new(&analysis)?;
        let access = values.access(stmt)?;
        let names = RegisterNames::new(module, facts.body(), analysis.variables());
        Some(describe_access(values, &names, access))
    });
    lines.unwrap_or_default()
}

fn describe_access(
    values: FunctionValues<'_>,
    names: &RegisterNames,
    access: &Access,
) -> Vec<String> {
    let space = labels::space(access.space);
    let bytes = match access.access.bytes {
        Some(bytes) => format!(", {} for each lane", counted(bytes as usize, "byte")),
        None => String::new(),
    };
    let mut lines = vec![format!("access to `{space}` memory{bytes}")];
    if let Some(form) = access.address {
        let text = values.text(names).form(&form);
        lines.push(format!("address: `{text}`"));
    }
    if let Some(coalescing) = Coalescing::of(access) {
        describe_coalescing(&coalescing, access, &mut lines);
    }
    lines
}

fn describe_coalescing(coalescing: &Coalescing, access: &Access, lines: &mut Vec<String>) {
    let mut pattern = format!("lanes: {}", coalescing.pattern);
    if let Some(stride) = coalescing.stride
        && !matches!(*coalescing.pattern, Pattern::Uniform | Pattern::Consecutive)
    {
        pattern += &format!(", {stride} bytes from one to the next");
    }
    if coalescing.assumes.contains(&Assumption::OneDimension) {
        pattern += " (in a warp of one row of threads)";
    }
    lines.push(pattern);
    if let Some(sectors) = coalescing.sectors {
        let minimum = access
            .access
            .bytes
            .and_then(|bytes| coalescing.least_sectors(bytes));
        let comparison = match minimum {
            Some(minimum) if minimum < sectors => format!(" instead of {minimum}"),
            _ => String::new(),
        };
        let sectors = counted(sectors as usize, "sector");
        lines.push(format!("{sectors}{comparison}"));
    }
    match coalescing.degree {
        None => {}
        Some(0 | 1) => lines.push("no bank conflict".to_owned()),
        Some(degree) => lines.push(format!("{degree}-way bank conflict")),
    }
}

/// Describes the cost of an access beyond that of the same number of bytes at consecutive addresses, in a few words; `None` if there is none.
pub(crate) fn extra_cost(access: &Access) -> Option<String> {
    if is_param(access) {
        return None;
    }
    let coalescing = Coalescing::of(access)?;
    if let Some(degree) = coalescing.degree.filter(|degree| *degree > 1) {
        return Some(format!("{degree}-way bank conflict"));
    }
    let (sectors, bytes) = (coalescing.sectors?, access.access.bytes?);
    let minimum = coalescing.least_sectors(bytes)?;
    // Consecutive addresses that are not aligned to a sector take one sector more.
    (sectors > minimum + 1).then(|| format!("{sectors} sectors instead of {minimum}"))
}

/// Describes the value of a register that a statement writes, or else the value that it reads, in lines: its affine form, the object that it points to,
/// and the threads that have the same value.
pub(crate) fn value_lines(
    module: &Module,
    function: FuncId,
    stmt: StmtId,
    register: RegId,
) -> Vec<String> {
    let is_whole_module = module.source().len() <= MAX_WHOLE_MODULE;
    let module_facts = ModuleFacts::of(module, |id| is_whole_module || id == function);
    let module_analysis = ModuleAnalysis::new(&module_facts);
    let Some(analysis) = module_analysis.function(function) else {
        return Vec::new();
    };
    let analysis = match is_whole_module {
        true => analysis.with_calls(module_analysis.summaries()),
        false => analysis,
    };
    let facts = analysis.facts();
    let variables = analysis.variables();
    let (Ok(ssa), Ok(values)) = (analysis.ssa(), analysis.values()) else {
        return Vec::new();
    };
    // A register with several variables has no single value.
    let Some(variable) = variables.of(register.into()).single() else {
        return Vec::new();
    };
    let written = ssa.defs(stmt).find(|d| ssa.variable(*d) == Some(variable));
    let Some(value) = written.or_else(|| ssa.read(stmt, variable)) else {
        return Vec::new();
    };
    let names = RegisterNames::new(module, facts.body(), variables);
    let text = AffineText::new(module, facts.body(), values, ssa, &names);
    let mut lines = Vec::new();
    let form = values.affine(value);
    if has_only_known_symbols(values, &form) {
        lines.push(format!("value: `{}`", text.form(&form)));
    }
    if let Some(pointer) = analysis
        .provenance()
        .ok()
        .and_then(|all| all.pointer(value))
    {
        let kind = if pointer.is_generic {
            "generic address"
        } else {
            "address"
        };
        let object = pointer.object.map(|o| format!(" of `{}`", text.object(o)));
        let space = pointer.space.map(|s| format!(" in `{s}`"));
        let (object, space) = (object.unwrap_or_default(), space.unwrap_or_default());
        lines.push(format!("{kind}{object}{space}"));
    }
    if is_whole_module && let Some(level) = uniformity(&module_analysis, &analysis, value) {
        lines.push(match level {
            Uniformity::Varying => "differs between the threads of a warp".to_owned(),
            level => format!("the same for each thread of a {}", level.name()),
        });
    }
    lines
}

/// Whether no term of a form is an unknown value or a product.
fn has_only_known_symbols(values: &Values, form: &Affine) -> bool {
    form.terms()
        .iter()
        .map(|term| values.symbol(term.symbol))
        .all(|symbol| {
            !matches!(
                symbol,
                None | Some(AffineSymbol::Value { .. } | AffineSymbol::Product(..))
            )
        })
}

/// The uniformity of a value; `None` if no statement defines it.
fn uniformity(
    module: &ModuleAnalysis<'_>,
    function: &FunctionAnalysis<'_>,
    value: ValueId,
) -> Option<Uniformity> {
    let Value::Def { stmt, variable, .. } = function.ssa().ok()?.value(value) else {
        return None;
    };
    let uniformity = module.uniformity().function(function.id())?;
    Some(uniformity.def(stmt, variable))
}

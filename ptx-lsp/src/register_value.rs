//! What is known of the value of a register at a place: its affine form, what it points into, and in which threads it is the same.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::provenance::{CallSummaries, FunctionProvenance};
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_analysis::uniformity::{ModuleUniformity, Uniformity};
use ptx_analysis::values::{Affine, Symbol, Values};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, Module, RegId, StmtId};
use ptx_report::affine_text::AffineText;
use ptx_report::register_names::RegisterNames;

/// Only modules up to this size are analyzed as a whole, for what functions give to each other: a hover does not wait longer.
pub(crate) const MOST_BYTES: usize = 4 << 20;

/// Lines about the value that a statement writes to a register, or else reads in it.
pub(crate) fn lines(
    module: &Module,
    function: FuncId,
    stmt: StmtId,
    register: RegId,
) -> Vec<String> {
    let whole = module.source().len() <= MOST_BYTES;
    let facts = ModuleFacts::of(module, |id| whole || id == function);
    let Some(of) = facts.function(function) else {
        return Vec::new();
    };
    let analysis = FunctionAnalysis::new(of);
    let (cfg, variables) = (analysis.cfg(), analysis.variables());
    let Ok(ssa) = Ssa::new(of, cfg, analysis.dominators(), variables) else {
        return Vec::new();
    };
    let mut range = variables.of(register.into());
    let (Some(variable), None) = (range.next(), range.next()) else {
        return Vec::new();
    };
    let written = ssa.defs(stmt).find(|d| ssa.variable(*d) == Some(variable));
    let Some(value) = written.or_else(|| ssa.read(stmt, variable)) else {
        return Vec::new();
    };
    let values = Values::new(of, &analysis, &ssa);
    let names = RegisterNames::new(module, of.body(), variables);
    let text = AffineText::new(module, of.body(), &values, &ssa, &names);
    let mut lines = Vec::new();
    let form = values.affine(value);
    if is_composed(&values, &form) {
        lines.push(format!("value: `{}`", text.form(&form)));
    }
    let calls = whole.then(|| CallSummaries::new(&facts));
    let provenance = FunctionProvenance::new(of, &analysis, &ssa, calls.as_ref());
    if let Some(pointer) = provenance.pointer(value) {
        let space = pointer.space.map(|s| format!(" in `{s}`"));
        let object = pointer.object.map(|o| format!(" of `{}`", text.object(o)));
        let kind = if pointer.is_generic {
            "generic address"
        } else {
            "address"
        };
        let (object, space) = (object.unwrap_or_default(), space.unwrap_or_default());
        lines.push(format!("{kind}{object}{space}"));
    }
    if whole && let Some(level) = uniformity(&facts, function, &ssa, value) {
        lines.push(match level {
            Uniformity::Varying => "differs between the threads of a warp".to_owned(),
            other => format!("the same for each thread of a {}", other.name()),
        });
    }
    lines
}

/// Whether a form consists of known symbols.
fn is_composed(values: &Values, form: &Affine) -> bool {
    let mut symbols = form.terms().iter().map(|t| values.symbol(t.symbol));
    symbols.all(|s| !matches!(s, None | Some(Symbol::Value { .. } | Symbol::Product(..))))
}

/// In which threads a value is the same that a statement writes.
fn uniformity(
    facts: &ModuleFacts<'_>,
    function: FuncId,
    ssa: &Ssa,
    value: ValueId,
) -> Option<Uniformity> {
    let Value::Def { stmt, variable, .. } = ssa.value(value) else {
        return None;
    };
    let all = ModuleUniformity::new(facts);
    Some(all.function(function)?.def(stmt, variable))
}

//! Registers, labels and functions that are declared and never used.

use alloc::vec::Vec;
use ptx_ir::raw::{EntitySet, query::Environment};
use ptx_ir::{
    Body, Diagnostic, EntityId, FunctionKind, Item, Linkage, Module, NameId, Operand, Statement,
    SymbolId, SymbolKind,
};

use crate::context::Context;
use crate::location::Location;
use crate::problem::module::ResourceProblem;
use crate::uses::{operands, used_labels};

/// Returns warnings about registers, labels and functions that are never used. Compilers leave many unused declarations, so
/// [`verify`](crate::verify) does not report them.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .address_size 64 .entry k() { .reg .b32 %a, %b; mov.b32 %a, 1; ret; }";
/// let warnings = ptx_verify::unused(&ptx_parse::parse(text).module);
/// assert_eq!(warnings.len(), 1);
/// assert!(warnings[0].message.contains("%b"));
/// ```
#[must_use]
pub fn unused(module: &Module) -> Vec<Diagnostic> {
    let mut context = Context::new(module, Environment::of(module));
    // Debug information refers to labels of functions by name.
    let names: EntitySet<NameId> = operands(module.pool())
        .filter_map(|operand| match operand {
            Operand::Name(id) => Some(id),
            _ => None,
        })
        .collect();
    let mut symbols: EntitySet<SymbolId> = operands(module.pool())
        .filter_map(|operand| operand.symbol())
        .collect();
    for (_, _, body) in module.definitions() {
        symbols.extend(operands(body.pool()).filter_map(|operand| operand.symbol()));
        check_registers(&mut context, body);
        check_labels(&mut context, body, &names);
    }
    check_functions(&mut context, &symbols);
    let mut diagnostics = context.into_diagnostics();
    ptx_ir::sort_by_position(&mut diagnostics);
    diagnostics
}

fn check_registers(context: &mut Context<'_>, body: &Body) {
    let mut is_used = vec![false; body.reg_decls().len()];
    for operand in operands(body.pool()) {
        if let Operand::Reg(id) = operand
            && let Some(register) = body.registers().get(id)
            && let Some(is_used) = is_used.get_mut(register.decl.index())
        {
            *is_used = true;
        }
    }
    for (decl, is_used) in body.reg_decls().values().zip(is_used) {
        if !is_used && let Some(stmt) = decl.stmt {
            let location = Location::name(body.source_span(stmt), decl.name);
            context.report(location, ResourceProblem::UnusedRegister(decl.name));
        }
    }
}

/// Reports unused labels. `names` are the names in debug information.
fn check_labels(context: &mut Context<'_>, body: &Body, names: &EntitySet<NameId>) {
    let is_used = used_labels(body);
    for (label, is_used) in body.labels().values().zip(is_used) {
        let is_defined = matches!(body.statement(label.stmt), Some(Statement::Label(_)));
        if !is_used && is_defined && !names.contains(label.name) {
            let location = Location::name(body.source_span(label.stmt), label.name);
            context.report(location, ResourceProblem::UnusedLabel(label.name));
        }
    }
}

/// Reports functions that are invisible to other modules and not referenced in this one.
fn check_functions(context: &mut Context<'_>, symbols: &EntitySet<SymbolId>) {
    let module = context.module;
    for (item_id, item) in module.items() {
        let Item::Function(id) = item else {
            continue;
        };
        let Some(function) = module.functions().get(id) else {
            continue;
        };
        let is_referenced = function
            .symbol
            .is_none_or(|symbol| symbols.contains(symbol));
        if function.kind == FunctionKind::Func
            && function.linkage.is_none()
            && function.body.is_some()
            && !is_referenced
            && !function
                .symbol
                .is_some_and(|symbol| is_visible(module, symbol))
        {
            let location = Location::name(module.span(item_id), function.name);
            context.report(location, ResourceProblem::UnusedFunction(function.name));
        }
    }
}

/// Returns `true` if the first declaration of a name makes it visible to other modules.
fn is_visible(module: &Module, symbol: SymbolId) -> bool {
    let Some(symbol) = module.symbols().get(symbol) else {
        return false;
    };
    let SymbolKind::Function(first) = symbol.kind else {
        return true;
    };
    let linkage = module.functions().get(first).and_then(|f| f.linkage);
    matches!(
        linkage,
        Some(Linkage::Visible | Linkage::Weak | Linkage::Extern)
    )
}

//! Registers, labels and functions that are declared and never used.

use alloc::vec::Vec;
use ptx_ir::query::Environment;
use ptx_ir::{
    Body, Diagnostic, EntityId, EntitySet, FunctionKind, Item, Linkage, Module, NameId, Operand,
    Statement, SymbolId, SymbolKind,
};

use crate::context::Context;
use crate::location::Location;
use crate::problem::resource::ResourceProblem;
use crate::uses::{operands, symbol};

/// Warns of registers, labels and functions that are never used. Compilers leave many unused declarations, so [`verify`](crate::verify)
/// does not report them.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .address_size 64 .entry k() { .reg .b32 %a, %b; mov.b32 %a, 1; ret; }";
/// let found = ptx_verify::unused(&ptx_parse::parse(text).module);
/// assert_eq!(found.len(), 1);
/// assert!(found[0].message.contains("%b"));
/// ```
#[must_use]
pub fn unused(module: &Module) -> Vec<Diagnostic> {
    let mut context = Context::new(module, Environment::of(module));
    // Debug information refers to labels of functions by name.
    let name = |operand| match operand {
        Operand::Name(id) => Some(id),
        _ => None,
    };
    let names: EntitySet<NameId> = operands(module.pool()).filter_map(name).collect();
    let mut symbols: EntitySet<SymbolId> = operands(module.pool()).filter_map(symbol).collect();
    for (_, _, body) in module.definitions() {
        symbols.extend(operands(body.pool()).filter_map(symbol));
        registers(&mut context, body);
        labels(&mut context, body, &names);
    }
    functions(&mut context, &symbols);
    let mut diagnostics = context.into_diagnostics();
    ptx_ir::sort_by_position(&mut diagnostics);
    diagnostics
}

fn registers(context: &mut Context<'_>, body: &Body) {
    let mut used = vec![false; body.reg_decls().len()];
    for operand in operands(body.pool()) {
        let Operand::Reg(id) = operand else { continue };
        let decl = body.registers().get(id).map(|r| r.decl.index());
        if let Some(used) = decl.and_then(|d| used.get_mut(d)) {
            *used = true;
        }
    }
    for (decl, used) in body.reg_decls().values().zip(used) {
        if let (false, Some(stmt)) = (used, decl.stmt) {
            let location = Location::name(body.source_span(stmt), decl.name);
            context.report(location, ResourceProblem::UnusedRegister(decl.name));
        }
    }
}

fn labels(context: &mut Context<'_>, body: &Body, names: &EntitySet<NameId>) {
    let mut used = vec![false; body.labels().len()];
    for operand in operands(body.pool()) {
        let Operand::Label(id) = operand else {
            continue;
        };
        if let Some(used) = used.get_mut(id.index()) {
            *used = true;
        }
    }
    for (label, used) in body.labels().values().zip(used) {
        let set = matches!(body.statement(label.stmt), Some(Statement::Label(_)));
        if !used && set && !names.contains(label.name) {
            let location = Location::name(body.source_span(label.stmt), label.name);
            context.report(location, ResourceProblem::UnusedLabel(label.name));
        }
    }
}

/// Functions that no other module sees and that nothing in this one names.
fn functions(context: &mut Context<'_>, symbols: &EntitySet<SymbolId>) {
    let module = context.module;
    for (item, of_module) in module.items() {
        let Item::Function(id) = of_module else {
            continue;
        };
        let Some(function) = module.functions().get(id) else {
            continue;
        };
        let hidden = function.kind == FunctionKind::Func && function.linkage.is_none();
        let named = function.symbol.is_none_or(|s| symbols.contains(s));
        let visible = || function.symbol.is_some_and(|s| is_visible(module, s));
        if hidden && function.body.is_some() && !named && !visible() {
            let location = Location::name(module.span(item), function.name);
            context.report(location, ResourceProblem::UnusedFunction(function.name));
        }
    }
}

/// Whether the first declaration of a name makes it visible to other modules.
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

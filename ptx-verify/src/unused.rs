//! What is declared and never used: registers, labels, functions.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use ptx_ir::{
    Body, Code, Diagnostic, EntityId, FunctionKind, Linkage, Module, NameId, Operand, OperandPool,
    Span, Statement, SymbolId, SymbolKind,
};

use crate::stmt_tokens::Statement as Words;

/// Warns of what nothing mentions. Compilers leave much of it behind, so that one has to ask for it.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .address_size 64 .entry k() { .reg .b32 %a, %b; mov.b32 %a, 1; ret; }";
/// let found = ptx_verify::unused(&ptx_parse::parse(text).module);
/// assert_eq!(found.len(), 1);
/// assert!(found[0].message.contains("%b"));
/// ```
pub fn unused(module: &Module) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    // Debug information names labels of functions.
    let names: BTreeSet<NameId> = each(module.pool()).filter_map(name).collect();
    let mut symbols: BTreeSet<SymbolId> = each(module.pool()).filter_map(symbol).collect();
    for (_, _, body) in module.definitions() {
        symbols.extend(each(body.pool()).filter_map(symbol));
        registers(module, body, &mut found);
        labels(module, body, &names, &mut found);
    }
    functions(module, &symbols, &mut found);
    found.sort_by_key(|d| d.span.start);
    found
}

/// Every operand, the parts of composed ones included.
fn each(pool: &OperandPool) -> impl Iterator<Item = Operand> {
    let addresses = pool.addresses().iter().flat_map(|a| [a.base, a.offset]);
    pool.operands().iter().copied().chain(addresses)
}

fn name(operand: Operand) -> Option<NameId> {
    match operand {
        Operand::Name(id) => Some(id),
        _ => None,
    }
}

fn symbol(operand: Operand) -> Option<SymbolId> {
    match operand {
        Operand::Symbol(id) => Some(id),
        _ => None,
    }
}

fn warn(
    module: &Module,
    found: &mut Vec<Diagnostic>,
    code: Code,
    statement: Span,
    what: &str,
    name: NameId,
) {
    let text = module.name(name);
    let at = Words::new(module, statement, true).find(text);
    let message = format!("nothing mentions the {what} `{text}`");
    found.push(Diagnostic::warning(code, at, message).with_help("take it away"));
}

fn registers(module: &Module, body: &Body, found: &mut Vec<Diagnostic>) {
    let mut used = alloc::vec![false; body.reg_decls().len()];
    for operand in each(body.pool()) {
        let Operand::Reg(id) = operand else { continue };
        let decl = body.registers().get(id).map(|r| r.decl.index());
        if let Some(used) = decl.and_then(|d| used.get_mut(d)) {
            *used = true;
        }
    }
    for (decl, used) in body.reg_decls().values().zip(used) {
        if let (false, Some(stmt)) = (used, decl.stmt) {
            let span = body.source_span(stmt);
            warn(
                module,
                found,
                Code::UnusedRegister,
                span,
                "register",
                decl.name,
            );
        }
    }
}

fn labels(module: &Module, body: &Body, names: &BTreeSet<NameId>, found: &mut Vec<Diagnostic>) {
    let mut used = alloc::vec![false; body.labels().len()];
    for operand in each(body.pool()) {
        let Operand::Label(id) = operand else {
            continue;
        };
        if let Some(used) = used.get_mut(id.index()) {
            *used = true;
        }
    }
    for (label, used) in body.labels().values().zip(used) {
        let set = matches!(body.statement(label.stmt), Some(Statement::Label(_)));
        if !used && set && !names.contains(&label.name) {
            let span = body.source_span(label.stmt);
            warn(module, found, Code::UnusedLabel, span, "label", label.name);
        }
    }
}

/// Functions that no other module sees and that nothing here names.
fn functions(module: &Module, symbols: &BTreeSet<SymbolId>, found: &mut Vec<Diagnostic>) {
    for (item, of_module) in module.items() {
        let ptx_ir::Item::Function(id) = of_module else {
            continue;
        };
        let Some(function) = module.functions().get(id) else {
            continue;
        };
        let hidden = function.kind == FunctionKind::Func && function.linkage.is_none();
        let visible_before = function
            .symbol
            .and_then(|s| module.symbols().get(s))
            .is_some_and(|s| {
                let SymbolKind::Function(first) = s.kind else {
                    return true;
                };
                let linkage = module.functions().get(first).and_then(|f| f.linkage);
                matches!(
                    linkage,
                    Some(Linkage::Visible | Linkage::Weak | Linkage::Extern)
                )
            });
        let named = function.symbol.is_none_or(|s| symbols.contains(&s));
        if hidden && !visible_before && !named && function.body.is_some() {
            let span = module.span(item);
            warn(
                module,
                found,
                Code::UnusedFunction,
                span,
                "function",
                function.name,
            );
        }
    }
}

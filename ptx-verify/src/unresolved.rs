//! Names that a module uses and does not define.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use ptx_ir::{
    Binding, Body, Code, Declarator, Diagnostic, DirectiveStmt, FuncId, Function, FunctionKind,
    Item, Linkage, Module, Operand, OperandPool, SymbolId,
};
use ptx_isa::{Directive, StateSpace};

use crate::codegen_limits::{Uses, at_name};
use crate::stmt_tokens::Statement as Words;

/// Functions that the driver brings along.
fn of_the_system(name: &str) -> bool {
    matches!(name, "vprintf" | "malloc" | "free" | "__assertfail")
        || name.starts_with("__cuda_syscall")
}

/// Functions that are declared and not defined.
pub(crate) fn functions(module: &Module, uses: &Uses, found: &mut Vec<Diagnostic>) {
    let used: BTreeSet<SymbolId> = uses.values().flatten().copied().collect();
    let defined: BTreeSet<SymbolId> = module
        .definitions()
        .filter_map(|(_, function, _)| function.symbol)
        .collect();
    let mut seen = BTreeSet::new();
    for function in module.functions().values() {
        let Some(symbol) = function.symbol else {
            continue;
        };
        let name = module.name(function.name);
        let known = defined.contains(&symbol) || of_the_system(name);
        if known || function.kind == FunctionKind::Entry || !seen.insert(symbol) {
            continue;
        }
        if is_alias(module, symbol) {
            continue;
        }
        if function.linkage != Some(Linkage::Extern) {
            let message = format!("nothing defines the function `{name}`");
            found.push(
                Diagnostic::warning(Code::UndefinedFunction, at_name(module, function), message)
                    .with_help(format!(
                        "give `{name}` a body, or declare it `.extern` if another module has it"
                    )),
            );
        } else if used.contains(&symbol) {
            let message = format!("another module has to define the function `{name}`");
            found.push(Diagnostic::warning(
                Code::UnresolvedExtern,
                at_name(module, function),
                message,
            ));
        }
    }
}

/// Variables that are declared `.extern` and not defined.
pub(crate) fn variables(module: &Module, found: &mut Vec<Diagnostic>) {
    let declarations = module.declarations();
    let own = declarations.decls.iter();
    let own = own.filter(|(_, d)| d.linkage != Some(Linkage::Extern));
    let mut known: BTreeSet<SymbolId> = own
        .flat_map(|(id, _)| declarations.declarators(id))
        .filter_map(symbol)
        .collect();
    for (id, item) in module.items() {
        let Item::Decl(decl) = item else { continue };
        let Some(of) = declarations.decls.get(decl) else {
            continue;
        };
        for declarator in declarations.declarators(decl) {
            // The size of this one comes with the launch.
            let first = module.pool().slice(declarator.dims).first();
            let dynamic = of.space.base() == StateSpace::Shared && first == Some(&Operand::Absent);
            if dynamic || !symbol(declarator).is_some_and(|s| known.insert(s)) {
                continue;
            }
            let name = module.name(declarator.name);
            let at = Words::new(module, module.span(id), true).find(name);
            let message = format!("another module has to define the variable `{name}`");
            found.push(Diagnostic::warning(Code::UnresolvedExtern, at, message));
        }
    }
}

fn symbol(declarator: &Declarator) -> Option<SymbolId> {
    match declarator.binding {
        Binding::Symbol(symbol) => Some(symbol),
        _ => None,
    }
}

/// Whether a name is another one of a function.
fn is_alias(module: &Module, symbol: SymbolId) -> bool {
    let named = |stmt: &DirectiveStmt, pool: &OperandPool| {
        stmt.directive == Directive::Alias
            && pool.slice(stmt.args).first() == Some(&Operand::Symbol(symbol))
    };
    let in_body = |(_, _, body): (FuncId, &Function, &Body)| {
        body.directives().values().any(|d| named(d, body.pool()))
    };
    module
        .directives()
        .values()
        .any(|d| named(d, module.pool()))
        || module.definitions().any(in_body)
}

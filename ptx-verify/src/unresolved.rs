//! Names that a module uses and does not define.

use ptx_ir::raw::EntitySet;
use ptx_ir::{
    Binding, Declarator, DirectiveStmt, FunctionKind, Item, Linkage, Module, Operand, OperandPool,
    SymbolId,
};
use ptx_isa::{Directive, StateSpace};

use crate::context::Context;
use crate::location::Location;
use crate::problem::module::{LibraryName, ResourceProblem};

use crate::uses::{ModuleNames, Uses};

/// Returns `true` for functions that the driver provides.
fn is_provided_by_driver(name: &str) -> bool {
    matches!(name, "vprintf" | "malloc" | "free" | "__assertfail")
        || name.starts_with("__cuda_syscall")
}

/// Reports functions that are declared and not defined.
pub(crate) fn check_functions(context: &mut Context<'_>, uses: &Uses, names: &ModuleNames) {
    let module = context.module;
    let used = uses.all();
    let mut resolved: EntitySet<SymbolId> = module
        .definitions()
        .filter_map(|(_, f, _)| f.symbol)
        .collect();
    resolved.extend(aliases(module));
    for (id, function) in module.functions().iter() {
        let Some(symbol) = function.symbol else {
            continue;
        };
        let name = function.name;
        if function.kind == FunctionKind::Entry
            || is_provided_by_driver(module.name(name))
            || !resolved.insert(symbol)
        {
            continue;
        }
        let library =
            ptx_isa::internals::library_function(module.name(name)).map(|_| LibraryName(name));
        let is_extern = function.linkage == Some(Linkage::Extern);
        if is_extern && !used.contains(symbol) {
            continue;
        }
        let problem = match (is_extern, library) {
            (true, Some(library)) => ResourceProblem::ExternLibraryFunction(name, library),
            (true, None) => ResourceProblem::ExternFunction(name),
            (false, Some(library)) => ResourceProblem::UndefinedLibraryFunction(name, library),
            (false, None) => ResourceProblem::UndefinedFunction(name),
        };
        context.report(names.function(id), problem);
    }
}

/// Returns the names that are aliases of functions.
fn aliases(module: &Module) -> impl Iterator<Item = SymbolId> + '_ {
    let at_module_level = module
        .directives()
        .values()
        .filter_map(move |stmt| alias(stmt, module.pool()));
    let in_bodies = module.definitions().flat_map(move |(_, _, body)| {
        let directives = body.directives().values();
        directives.filter_map(move |stmt| alias(stmt, body.pool()))
    });
    at_module_level.chain(in_bodies)
}

/// Returns the name that a directive declares as an alias.
fn alias(stmt: &DirectiveStmt, pool: &OperandPool) -> Option<SymbolId> {
    if stmt.directive != Directive::Alias {
        return None;
    }
    pool.slice(stmt.args).first()?.symbol()
}

/// Reports variables that are declared `.extern` and not defined.
pub(crate) fn check_variables(context: &mut Context<'_>) {
    let module = context.module;
    let declarations = module.declarations();
    let mut defined: EntitySet<SymbolId> = declarations
        .decls
        .iter()
        .filter(|(_, decl)| decl.linkage != Some(Linkage::Extern))
        .flat_map(|(id, _)| declarations.declarators(id))
        .filter_map(symbol)
        .collect();
    for (id, item) in module.items() {
        let Item::Decl(decl) = item else { continue };
        let Some(declaration) = declarations.decls.get(decl) else {
            continue;
        };
        for declarator in declarations.declarators(decl) {
            // The launch gives the size of dynamic shared memory.
            let first_dimension = module.pool().slice(declarator.dims).first();
            let is_dynamic = declaration.space.base() == StateSpace::Shared
                && first_dimension == Some(&Operand::Absent);
            if is_dynamic || !symbol(declarator).is_some_and(|symbol| defined.insert(symbol)) {
                continue;
            }
            let location = Location::name(module.span(id), declarator.name);
            context.report(location, ResourceProblem::ExternVariable(declarator.name));
        }
    }
}

fn symbol(declarator: &Declarator) -> Option<SymbolId> {
    match declarator.binding {
        Binding::Symbol(symbol) => Some(symbol),
        _ => None,
    }
}

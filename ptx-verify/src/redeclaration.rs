//! Names that are declared more than once: linkage, types and prototypes must agree. Manual 7.1, 11.6.

use hashbrown::HashMap;
use ptx_ir::{
    Binding, DeclId, FuncId, Function, Item, Linkage, Module, Operand, OperandPool, Span, SymbolId,
    SymbolKind,
};
use ptx_isa::{Directive, StateSpace};

use crate::alias::Aliases;
use crate::context::Context;
use crate::location::{FunctionSpans, Location};
use crate::problem::redeclaration::RedeclarationProblem;
use crate::prototype;

/// A declaration of a function.
#[derive(Copy, Clone)]
struct FunctionDeclaration {
    id: FuncId,
    header: Span,
    /// This declaration or a later one has a body.
    is_defined: bool,
}

/// A declaration of a variable.
#[derive(Copy, Clone)]
struct VariableDeclaration {
    decl: DeclId,
    /// The index of the declarator among all of the module.
    declarator: usize,
    span: Span,
}

/// The first declaration of each name so far.
#[derive(Default)]
struct FirstDeclarations {
    functions: HashMap<SymbolId, FunctionDeclaration>,
    variables: HashMap<SymbolId, VariableDeclaration>,
}

/// Checks all declarations at module level.
pub(crate) fn check(context: &mut Context<'_>) {
    let module = context.module;
    let mut first_declarations = FirstDeclarations::default();
    let mut aliases = Aliases::new(module);
    for (id, item) in module.items() {
        let span = module.span(id);
        match item {
            Item::Function(id) => {
                if let Some(function) = module.functions().get(id) {
                    check_function(context, &mut first_declarations, id, function, span);
                }
                if let Some(body) = module.body(id) {
                    aliases.check_body(context, body);
                }
            }
            Item::Decl(id) => check_variables(context, &mut first_declarations, id, span),
            Item::Directive(id) => {
                let stmt = module.directives().get(id);
                if let Some(stmt) = stmt.filter(|s| s.directive == Directive::Alias) {
                    aliases.check(context, span, module.pool().slice(stmt.args));
                }
            }
            _ => {}
        }
    }
}

/// Compares a declaration of a function with the first one. `item` is the span of the function with its body.
fn check_function(
    context: &mut Context<'_>,
    first_declarations: &mut FirstDeclarations,
    id: FuncId,
    function: &Function,
    item: Span,
) {
    let (Some(symbol), false) = (function.symbol, function.raw_header) else {
        return;
    };
    let module = context.module;
    let spans = FunctionSpans::new(module, id, item);
    let (name, open) = (function.name, Location::exact(spans.open));
    if function.linkage == Some(Linkage::Extern) && spans.is_defined {
        context.report(open, RedeclarationProblem::ExternDefinition(name));
        return;
    }
    let Some(first) = first_declarations.functions.get_mut(&symbol) else {
        let declaration = FunctionDeclaration {
            id,
            header: spans.header,
            is_defined: spans.is_defined,
        };
        first_declarations.functions.insert(symbol, declaration);
        return;
    };
    let was_defined = first.is_defined;
    first.is_defined |= spans.is_defined;
    let Some(first_function) = module.functions().get(first.id) else {
        return;
    };
    let first_location = Location::name(first.header, name);
    if was_defined && !spans.is_defined {
        context
            .report(open, RedeclarationProblem::DeclaredAfterDefinition(name))
            .with_label(first_location, "first declared here");
        return;
    }
    if let Some(problem) = difference(module, first_function, function) {
        context
            .report(open, problem)
            .with_label(Location::name(spans.header, name), "declared here")
            .with_label(first_location, "first declared here");
    }
}

/// Checks the declaration of a function inside a body.
pub(crate) fn check_in_body(context: &mut Context<'_>, id: FuncId, span: Span) {
    let module = context.module;
    let Some(function) = module.functions().get(id) else {
        return;
    };
    let symbol = function
        .symbol
        .and_then(|symbol| module.symbols().get(symbol));
    let Some(SymbolKind::Function(definition)) = symbol.map(|symbol| symbol.kind) else {
        return;
    };
    if module
        .body(definition)
        .is_some_and(|b| b.base() < span.start)
    {
        let problem = RedeclarationProblem::DeclaredAfterDefinition(function.name);
        context.report(Location::name(span, function.name), problem);
    }
}

/// Returns the problem of a later declaration of a function.
fn difference(module: &Module, first: &Function, later: &Function) -> Option<RedeclarationProblem> {
    let name = later.name;
    if first.kind != later.kind {
        return Some(RedeclarationProblem::Kind(name, later.kind, first.kind));
    }
    // After `.visible` or `.weak`, the linkage may be omitted.
    let agrees_in_linkage = first.linkage == later.linkage
        || matches!(
            (first.linkage, later.linkage),
            (Some(Linkage::Visible | Linkage::Weak), None)
        );
    if !agrees_in_linkage {
        let (found, expected) = (later.linkage, first.linkage);
        return Some(RedeclarationProblem::Linkage(name, found, expected));
    }
    if prototype::is_noreturn(module, &first.interface)
        != prototype::is_noreturn(module, &later.interface)
    {
        return Some(RedeclarationProblem::Noreturn(name));
    }
    let difference = prototype::difference(module, &first.interface, &later.interface)?;
    Some(RedeclarationProblem::Prototype(name, difference))
}

/// Compares the variables of a declaration with their first declarations.
fn check_variables(
    context: &mut Context<'_>,
    first_declarations: &mut FirstDeclarations,
    id: DeclId,
    span: Span,
) {
    let module = context.module;
    let Some(decl) = module.declarations().decls.get(id) else {
        return;
    };
    let start = decl.declarators.start as usize;
    for (index, declarator) in module.declarations().declarators(id).iter().enumerate() {
        let Binding::Symbol(symbol) = declarator.binding else {
            continue;
        };
        let declaration = VariableDeclaration {
            decl: id,
            declarator: start + index,
            span,
        };
        let Some(&first) = first_declarations.variables.get(&symbol) else {
            first_declarations.variables.insert(symbol, declaration);
            continue;
        };
        if let Some(problem) = variable_difference(module, first, declaration) {
            let name = declarator.name;
            context
                .report(Location::name(span, name), problem)
                .with_label(Location::name(first.span, name), "first declared here");
        }
    }
}

/// Returns the problem of a later declaration of a variable.
fn variable_difference(
    module: &Module,
    first: VariableDeclaration,
    later: VariableDeclaration,
) -> Option<RedeclarationProblem> {
    let declarations = module.declarations();
    let first_decl = declarations.decls.get(first.decl)?;
    let later_decl = declarations.decls.get(later.decl)?;
    let is_extern = |linkage: Option<Linkage>| linkage == Some(Linkage::Extern);
    if !is_extern(first_decl.linkage) && !is_extern(later_decl.linkage) {
        // The parser reports duplicate names.
        return None;
    }
    let name = declarations.declarators.get(later.declarator)?.name;
    let dims = |declaration: VariableDeclaration| {
        let declarator = declarations.declarators.get(declaration.declarator)?;
        Some(module.pool().slice(declarator.dims))
    };
    let has_same_dims = has_same_dims(module.pool(), dims(first)?, dims(later)?);
    if first_decl.ty != later_decl.ty || first_decl.vector != later_decl.vector || !has_same_dims {
        return Some(RedeclarationProblem::VariableType(name));
    }
    let lacks_linkage = is_extern(first_decl.linkage)
        && later_decl.linkage.is_none()
        && later_decl.space != StateSpace::Reg;
    lacks_linkage.then_some(RedeclarationProblem::VariableLinkage(name))
}

/// Compares the dimensions of two declarations. The first dimension may be missing in one of them.
fn has_same_dims(pool: &OperandPool, first: &[Operand], later: &[Operand]) -> bool {
    let size = |dim: &Operand| pool.integer(*dim).unwrap_or(0);
    first.len() == later.len()
        && first.iter().zip(later).enumerate().all(|(index, (a, b))| {
            let (a, b) = (size(a), size(b));
            a == b || index == 0 && (a == 0 || b == 0)
        })
}

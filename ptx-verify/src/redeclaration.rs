//! Names declared more than once: linkage, types and prototypes must agree. Manual 7.1, 11.6.

use hashbrown::HashMap;
use ptx_ir::{
    Binding, DeclId, FuncId, Function, Item, Linkage, Module, Operand, Span, SymbolId, SymbolKind,
};
use ptx_isa::{Directive, StateSpace};

use crate::alias::Aliases;
use crate::context::Context;
use crate::header_ends::Ends;
use crate::location::Location;
use crate::problem::redeclaration::RedeclarationProblem;
use crate::prototype;

/// The first declaration of a variable.
#[derive(Copy, Clone)]
struct First {
    decl: DeclId,
    declarator: usize,
    span: Span,
}

/// The first declaration of every name so far.
#[derive(Default)]
struct Declared {
    /// With the header, and whether a definition came since.
    functions: HashMap<SymbolId, (FuncId, Span, bool)>,
    variables: HashMap<SymbolId, First>,
}

/// Checks all declarations at module level.
pub(crate) fn check(context: &mut Context<'_>) {
    let module = context.module;
    let mut declared = Declared::default();
    let mut aliases = Aliases::new(module);
    for (id, item) in module.items() {
        let span = module.span(id);
        match item {
            Item::Function(id) => {
                if let Some(f) = module.functions().get(id) {
                    function(context, &mut declared, id, f, span);
                }
                if let Some(body) = module.body(id) {
                    aliases.check_body(context, body);
                }
            }
            Item::Decl(id) => variables(context, &mut declared, id, span),
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

/// Checks a declaration of a function against the first one.
fn function(
    context: &mut Context<'_>,
    declared: &mut Declared,
    id: FuncId,
    function: &Function,
    whole: Span,
) {
    let (Some(symbol), false) = (function.symbol, function.raw_header) else {
        return;
    };
    let module = context.module;
    let ends = Ends::new(module, id, whole);
    let (name, open) = (function.name, Location::exact(ends.open));
    if function.linkage == Some(Linkage::Extern) && ends.defined {
        context.report(open, RedeclarationProblem::ExternDefinition(name));
        return;
    }
    let known = declared.functions.get_mut(&symbol);
    let Some(&mut (first, header, ref mut defined)) = known else {
        declared
            .functions
            .insert(symbol, (id, ends.header, ends.defined));
        return;
    };
    let was_defined = core::mem::replace(defined, *defined || ends.defined);
    let Some(before) = module.functions().get(first) else {
        return;
    };
    let first = Location::name(header, name);
    if was_defined && !ends.defined {
        context
            .report(open, RedeclarationProblem::DeclaredAfterDefinition(name))
            .with_label(first, "first declared here");
        return;
    }
    if let Some(problem) = difference(module, before, function) {
        context
            .report(open, problem)
            .with_label(Location::name(ends.header, name), "declared here")
            .with_label(first, "first declared here");
    }
}

/// Checks the declaration of a function inside a body.
pub(crate) fn in_body(context: &mut Context<'_>, id: FuncId, span: Span) {
    let module = context.module;
    let Some(function) = module.functions().get(id) else {
        return;
    };
    let symbol = function.symbol.and_then(|s| module.symbols().get(s));
    let Some(SymbolKind::Function(definition)) = symbol.map(|s| s.kind) else {
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

fn difference(module: &Module, first: &Function, now: &Function) -> Option<RedeclarationProblem> {
    let name = now.name;
    if first.kind != now.kind {
        return Some(RedeclarationProblem::Kind(name, now.kind, first.kind));
    }
    // After `.visible` or `.weak`, the linkage may be omitted.
    let kept = match (first.linkage, now.linkage) {
        (a, b) if a == b => true,
        (Some(Linkage::Visible | Linkage::Weak), None) => true,
        _ => false,
    };
    if !kept {
        let (found, expected) = (now.linkage, first.linkage);
        return Some(RedeclarationProblem::Linkage(name, found, expected));
    }
    if prototype::is_noreturn(module, &first.interface)
        != prototype::is_noreturn(module, &now.interface)
    {
        return Some(RedeclarationProblem::Noreturn(name));
    }
    let difference = prototype::difference(module, &first.interface, &now.interface)?;
    Some(RedeclarationProblem::Prototype(name, difference))
}

/// Checks a declaration of variables against the first ones.
fn variables(context: &mut Context<'_>, declared: &mut Declared, id: DeclId, span: Span) {
    let module = context.module;
    let Some(decl) = module.declarations().decls.get(id) else {
        return;
    };
    let start = decl.declarators.start as usize;
    for (i, declarator) in module.declarations().declarators(id).iter().enumerate() {
        let Binding::Symbol(symbol) = declarator.binding else {
            continue;
        };
        let here = First {
            decl: id,
            declarator: start + i,
            span,
        };
        let Some(&first) = declared.variables.get(&symbol) else {
            declared.variables.insert(symbol, here);
            continue;
        };
        if let Some(problem) = variable_difference(module, first, here) {
            let name = declarator.name;
            context
                .report(Location::name(span, name), problem)
                .with_label(Location::name(first.span, name), "first declared here");
        }
    }
}

fn variable_difference(module: &Module, a: First, b: First) -> Option<RedeclarationProblem> {
    let decls = module.declarations();
    let (da, db) = (decls.decls.get(a.decl)?, decls.decls.get(b.decl)?);
    let external = |l: Option<Linkage>| l == Some(Linkage::Extern);
    if !external(da.linkage) && !external(db.linkage) {
        // The parser reports duplicate names.
        return None;
    }
    let name = decls.declarators.get(b.declarator)?.name;
    let dims = |f: First| {
        let declarator = decls.declarators.get(f.declarator)?;
        Some(module.pool().slice(declarator.dims))
    };
    let (na, nb) = (dims(a)?, dims(b)?);
    let size = |d: &Operand| module.pool().integer(*d).unwrap_or(0);
    let agree = |(i, (x, y)): (usize, (&Operand, &Operand))| {
        let (x, y) = (size(x), size(y));
        x == y || i == 0 && (x == 0 || y == 0)
    };
    let same_dims = na.len() == nb.len() && na.iter().zip(nb).enumerate().all(agree);
    if da.ty != db.ty || da.vector != db.vector || !same_dims {
        return Some(RedeclarationProblem::VariableType(name));
    }
    let hidden = external(da.linkage) && db.linkage.is_none() && db.space != StateSpace::Reg;
    hidden.then_some(RedeclarationProblem::VariableLinkage(name))
}

//! Names declared more than once: linkage, types and prototypes must agree. Manual 7.1, 11.6.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use ptx_ir::{
    Binding, Code, FuncId, Function, FunctionKind, Interface, Item, Linkage, Operand, Param, Span,
    SymbolId,
};
use ptx_isa::{Directive, StateSpace};

use crate::context::{Context, integer};
use crate::interface::{self, Ends};

/// The first declaration of every name so far.
#[derive(Default)]
pub(crate) struct Declared {
    functions: BTreeMap<SymbolId, (FuncId, Span)>,
    variables: BTreeMap<SymbolId, First>,
}

/// The first declaration of a variable.
#[derive(Copy, Clone)]
struct First {
    decl: ptx_ir::DeclId,
    declarator: usize,
    span: Span,
}

/// Holds a declaration of a function against the earlier ones.
pub(crate) fn function(
    context: &mut Context<'_>,
    declared: &mut Declared,
    id: FuncId,
    function: &Function,
    whole: Span,
) {
    let (Some(symbol), false) = (function.symbol, function.raw_header) else {
        return;
    };
    let ends = Ends::new(context, id, whole);
    let name = context.module.name(function.name);
    if function.linkage == Some(Linkage::Extern) && function.body.is_some() {
        let message = format!("`{name}` is external and defined here");
        context.error(Code::Linkage, ends.open, message).help =
            Some("leave `.extern` out, or the body".into());
        return;
    }
    let Some(&(first, header)) = declared.functions.get(&symbol) else {
        declared.functions.insert(symbol, (id, ends.header));
        return;
    };
    let Some(&before) = context.module.functions().get(first) else {
        return;
    };
    let place = |c: &Context<'_>| c.statement(header).find(name);
    if before.body.is_some() && function.body.is_none() {
        let message = format!("`{name}` is defined already, and cannot be declared after that");
        let place = place(context);
        let error = context.error(Code::Redeclaration, ends.open, message);
        *error = error.clone().with_label(place, "declared first here");
        return;
    }
    if let Some((code, message)) = difference(context, &before, function) {
        let (at, place) = (context.statement(ends.header).find(name), place(context));
        let error = context.error(code, ends.open, format!("`{name}` {message}"));
        *error = error
            .clone()
            .with_label(at, "declared here")
            .with_label(place, "declared first here");
    }
}

fn difference(context: &Context<'_>, before: &Function, now: &Function) -> Option<(Code, String)> {
    let sort = |f: &Function| match f.kind {
        FunctionKind::Entry => "a kernel",
        FunctionKind::Func => "a function",
    };
    if before.kind != now.kind {
        let message = format!("is {} here and was {}", sort(now), sort(before));
        return Some((Code::Redeclaration, message));
    }
    // What was visible or weak need not say so again.
    let kept = match (before.linkage, now.linkage) {
        (a, b) if a == b => true,
        (Some(Linkage::Visible | Linkage::Weak), None) => true,
        _ => false,
    };
    if !kept {
        let text = |l: Option<Linkage>| l.map_or("no linkage", |l| l.directive().text());
        let message = format!(
            "has {} here and had {} before",
            text(now.linkage),
            text(before.linkage)
        );
        return Some((Code::Redeclaration, message));
    }
    if no_return(context, &before.interface) != no_return(context, &now.interface) {
        let message = "does not return in one declaration, and does in the other".into();
        return Some((Code::Redeclaration, message));
    }
    let message = interfaces(context, &before.interface, &now.interface)?;
    Some((Code::Prototype, message))
}

pub(crate) fn no_return(context: &Context<'_>, interface: &Interface) -> bool {
    let all = interface
        .directives
        .of(context.module.interface_directives());
    all.iter().any(|d| d.directive == Directive::Noreturn)
}

/// In what two prototypes differ.
pub(crate) fn interfaces(context: &Context<'_>, a: &Interface, b: &Interface) -> Option<String> {
    let params = context.module.params();
    let pairs = [
        (a.returns, b.returns, "results"),
        (a.params, b.params, "parameters"),
    ];
    for (a, b, what) in pairs {
        if a.len != b.len {
            return Some(format!("has {} {what} here and had {}", b.len, a.len));
        }
        for (i, (a, b)) in a.of(params).iter().zip(b.of(params)).enumerate() {
            if let Some(what_differs) = parameters(context, a, b) {
                let nth = i + 1;
                return Some(format!("differs in {what}, number {nth}: {what_differs}"));
            }
        }
    }
    None
}

fn parameters(context: &Context<'_>, a: &Param, b: &Param) -> Option<&'static str> {
    let pool = context.module.pool();
    let dims = |p: &Param| {
        let all = pool.slice(p.dims).iter();
        all.map(|d| integer(pool, *d).unwrap_or(0))
            .collect::<alloc::vec::Vec<_>>()
    };
    if a.ty != b.ty || a.vector != b.vector || dims(a) != dims(b) {
        return Some("another type");
    }
    if a.space != b.space {
        return Some("another state space");
    }
    let align = |p: &Param| {
        let natural = p.ty.known().map_or(1, |t| i64::from(t.bits() / 8));
        integer(pool, p.align).unwrap_or(natural)
    };
    (align(a) != align(b)).then_some("another alignment")
}

/// Holds a declaration of variables against the earlier ones.
pub(crate) fn variables(
    context: &mut Context<'_>,
    declared: &mut Declared,
    id: ptx_ir::DeclId,
    span: Span,
) {
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
        let Some(message) = variable_difference(context, first, here) else {
            continue;
        };
        let name = module.name(declarator.name);
        let at = context.statement(span).find(name);
        let place = context.statement(first.span).find(name);
        let error = context.error(Code::Redeclaration, at, format!("`{name}` {message}"));
        *error = error.clone().with_label(place, "declared first here");
    }
}

fn variable_difference(context: &Context<'_>, a: First, b: First) -> Option<&'static str> {
    let module = context.module;
    let decls = module.declarations();
    let (da, db) = (decls.decls.get(a.decl)?, decls.decls.get(b.decl)?);
    let external = |l: Option<Linkage>| l == Some(Linkage::Extern);
    if !external(da.linkage) && !external(db.linkage) {
        // Declared twice: a matter of names.
        return None;
    }
    let dims = |f: First| {
        let declarator = decls.declarators.get(f.declarator)?;
        Some(module.pool().slice(declarator.dims))
    };
    let (na, nb) = (dims(a)?, dims(b)?);
    let size = |d: &Operand| integer(module.pool(), *d).unwrap_or(0);
    let same_dims = na.len() == nb.len()
        && na
            .iter()
            .zip(nb)
            .enumerate()
            .all(|(i, (x, y))| size(x) == size(y) || i == 0 && (size(x) == 0 || size(y) == 0));
    if da.ty != db.ty || da.vector != db.vector || !same_dims {
        return Some("has another type than before");
    }
    if external(da.linkage) && db.linkage.is_none() && db.space != StateSpace::Reg {
        return Some("was external; its definition must be `.visible`, `.weak` or `.common`");
    }
    None
}

/// Checks an `.alias`.
pub(crate) fn alias(
    context: &mut Context<'_>,
    aliased: &mut BTreeMap<FuncId, Span>,
    span: Span,
    args: &[Operand],
) {
    let [alias, aliasee] = args else { return };
    let module = context.module;
    let symbol = |o: &Operand| match o {
        Operand::Symbol(id) => Some((*id, *module.symbols().get(*id)?)),
        _ => None,
    };
    let (Some((_, alias)), Some((_, aliasee))) = (symbol(alias), symbol(aliasee)) else {
        return;
    };
    let (a, b) = (module.name(alias.name), module.name(aliasee.name));
    let statement = context.statement(span);
    let (at_alias, at_aliasee) = (statement.find(a), statement.nth(b, usize::from(a == b)));
    let ptx_ir::SymbolKind::Function(target) = aliasee.kind else {
        let message = format!("`{b}` is a variable, and aliases are for functions");
        context.error(Code::Alias, at_aliasee, message);
        return;
    };
    let ptx_ir::SymbolKind::Function(name) = alias.kind else {
        let message = format!("`{a}` is a variable already");
        context.error(Code::Alias, at_alias, message);
        return;
    };
    let declarations =
        |of: ptx_ir::NameId| module.functions().values().filter(move |f| f.name == of);
    let (Some(&first), Some(&whole)) =
        (module.functions().get(name), module.functions().get(target))
    else {
        return;
    };
    let problem: Option<(Span, String)> = if whole.kind == FunctionKind::Entry {
        Some((
            at_aliasee,
            format!("`{b}` is a kernel, and aliases are for functions"),
        ))
    } else if let Some(l @ (Linkage::Weak | Linkage::Extern)) = whole.linkage {
        Some((
            at_aliasee,
            format!(
                "`{b}` is `{}` and cannot have an alias",
                l.directive().text()
            ),
        ))
    } else if declarations(alias.name).any(|f| f.body.is_some() && defined_before(context, f, span))
    {
        Some((at_alias, format!("`{a}` is a function of its own already")))
    } else if let Some(&before) = aliased.get(&name) {
        let _ = before;
        Some((at_alias, format!("`{a}` is an alias already")))
    } else if no_return(context, &first.interface) != no_return(context, &whole.interface) {
        Some((at_alias, format!("`{a}` and `{b}` differ in `.noreturn`")))
    } else {
        interfaces(context, &whole.interface, &first.interface)
            .map(|d| (at_alias, format!("`{a}` is no alias of `{b}`: it {d}")))
    };
    aliased.insert(name, span);
    if let Some((at, message)) = problem {
        context.error(Code::Alias, at, message);
    }
}

fn defined_before(context: &Context<'_>, function: &Function, place: Span) -> bool {
    let body = function.body.and_then(|b| context.module.bodies().get(b));
    body.is_some_and(|b| b.base() < place.start)
}

/// The items of a module that declare something, with their places.
pub(crate) fn check(context: &mut Context<'_>) {
    let module = context.module;
    let mut declared = Declared::default();
    let mut aliased = BTreeMap::new();
    for (id, item) in module.items() {
        let span = module.span(id);
        match item {
            Item::Function(at) => {
                if let Some(f) = module.functions().get(at) {
                    function(context, &mut declared, at, f, span);
                }
            }
            Item::Decl(at) => variables(context, &mut declared, at, span),
            Item::Directive(at) => {
                let stmt = module.directives().get(at);
                if let Some(stmt) = stmt.filter(|s| s.directive == Directive::Alias) {
                    interface::floor(context, Directive::Alias, span);
                    alias(context, &mut aliased, span, module.pool().slice(stmt.args));
                }
            }
            _ => {}
        }
    }
}

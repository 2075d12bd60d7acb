//! Finds the names that modules share, with their declarations. Manual 11.6.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::name::split_numeric_suffix;
use ptx_ir::{DeclId, Declarator, FuncId, Item, ItemId, Linkage, Module, Operand, Span, SymbolId};
use ptx_isa::Directive;

use super::variable::Variable;
use crate::dependencies::symbol;

/// What a name is in a module.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Private to the module.
    Private,
    /// Defined in another module.
    External,
    /// A definition that is visible to others: weak, common or, with `.visible`, strong.
    Defined(Linkage),
}

/// The declaration of a name in a module.
#[derive(Copy, Clone, Debug)]
pub(super) struct Global {
    pub(super) symbol: SymbolId,
    pub(super) role: Role,
    /// The definition, or else the first declaration.
    pub(super) item: ItemId,
    pub(super) what: SymbolKind,
}

/// What a name denotes.
#[derive(Copy, Clone, Debug)]
pub(super) enum SymbolKind {
    Function(FuncId),
    /// The declaration, and the index of the name in it.
    Variable(DeclId, usize),
}

/// A name, and whether it is a range such as `t<4>`, which differs from a plain `t`.
pub(super) type Name<'m> = (&'m str, bool);

/// The names of a module.
pub(super) type Globals<'m> = BTreeMap<Name<'m>, Global>;

/// The name that a declarator declares.
pub(super) fn declared<'m>(module: &'m Module, declarator: &Declarator) -> Name<'m> {
    let range = declarator.count != Operand::Absent;
    (module.name(declarator.name), range)
}

/// The names of a module with their declarations.
pub(super) fn of(module: &Module) -> Globals<'_> {
    let mut all = Globals::new();
    for (item, kind) in module.items() {
        match kind {
            Item::Function(id) => function(module, &mut all, item, id),
            Item::Decl(id) => {
                let Some(decl) = module.declarations().decls.get(id) else {
                    continue;
                };
                let role = role(decl.linkage, decl.linkage != Some(Linkage::Extern));
                for (i, d) in module.declarations().declarators(id).iter().enumerate() {
                    let Some(symbol) = symbol(d) else { continue };
                    let global = Global {
                        symbol,
                        role,
                        item,
                        what: SymbolKind::Variable(id, i),
                    };
                    let entry = all.entry(declared(module, d)).or_insert(global);
                    if entry.role == Role::External {
                        *entry = global;
                    }
                }
            }
            Item::Directive(id) => {
                // An alias is a definition.
                let Some(d) = module.directives().get(id) else {
                    continue;
                };
                let first = module.pool().slice(d.args).first();
                if let (Directive::Alias, Some(Operand::Symbol(alias))) = (d.directive, first)
                    && let Some(name) = module.symbols().get(*alias).map(|s| module.name(s.name))
                    && let Some(global) = all.get_mut(&(name, false))
                    && let SymbolKind::Function(f) = global.what
                {
                    let linkage = module.functions().get(f).and_then(|f| f.linkage);
                    global.role = role_of(linkage);
                }
            }
            _ => {}
        }
    }
    all
}

fn role(linkage: Option<Linkage>, defined: bool) -> Role {
    match linkage {
        _ if !defined => Role::External,
        other => role_of(other),
    }
}

fn role_of(linkage: Option<Linkage>) -> Role {
    match linkage {
        Some(Linkage::Extern) => Role::External,
        Some(other) => Role::Defined(other),
        None => Role::Private,
    }
}

fn function<'m>(module: &'m Module, all: &mut Globals<'m>, item: ItemId, id: FuncId) {
    // A function that is declared inside of a function is a name of the module afterwards.
    let inner = module.body(id).into_iter().flat_map(|b| b.statements());
    for (_, statement) in inner {
        if let ptx_ir::Statement::Function(inner) = statement {
            declare(module, all, item, inner);
        }
    }
    declare(module, all, item, id);
}

fn declare<'m>(module: &'m Module, all: &mut Globals<'m>, item: ItemId, id: FuncId) {
    let Some(f) = module.functions().get(id) else {
        return;
    };
    let Some(symbol) = f.symbol else { return };
    // A declaration without linkage is defined in the same module.
    let role = match f.linkage {
        None => Role::Private,
        linkage => role(linkage, f.body.is_some()),
    };
    let global = Global {
        symbol,
        role,
        item,
        what: SymbolKind::Function(id),
    };
    let entry = all.entry((module.name(f.name), false)).or_insert(global);
    if f.body.is_some() {
        // Visibility need not be repeated.
        let before = match entry.what {
            SymbolKind::Function(first) => module.functions().get(first).and_then(|f| f.linkage),
            SymbolKind::Variable(..) => None,
        };
        *entry = Global {
            role: role_of(f.linkage.or(before)),
            ..global
        };
    }
}

/// The span of a name in an item.
pub(super) fn place(module: &Module, item: ItemId, name: &str) -> Span {
    let span = module.span(item);
    let text = span.of(module.source());
    let mut tokens = Lexer::fragment(text);
    let same = |t: &ptx_ir::lex::Token| {
        let word = t.span.of(text);
        let names = [word, split_numeric_suffix(word).0];
        t.kind == TokenKind::Ident && names.contains(&name.as_bytes())
    };
    tokens
        .find(same)
        .map_or(span, |t| t.span.shifted(span.start))
}

/// The module whose definition is kept: the first strong one, else the first weak one, else the largest common one.
pub(super) fn winner(modules: &[&Module], all: &[(usize, Global)]) -> Option<usize> {
    let of = |linkage: Linkage| {
        let mut found = all.iter();
        found.find(|(_, g)| g.role == Role::Defined(linkage))
    };
    let strong = of(Linkage::Visible).or_else(|| of(Linkage::Weak));
    if let Some((input, _)) = strong {
        return Some(*input);
    }
    let common = all
        .iter()
        .filter(|(_, g)| matches!(g.role, Role::Defined(_)));
    let size = |(input, g): &&(usize, Global)| {
        let module = modules.get(*input)?;
        Variable::of(module, g)?.size()
    };
    // The first of the largest.
    common.rev().max_by_key(size).map(|(input, _)| *input)
}

/// The names that several modules share, with their declarations.
pub(super) fn shared<'m>(modules: &[&'m Module]) -> BTreeMap<Name<'m>, Vec<(usize, Global)>> {
    let mut all: BTreeMap<Name<'_>, Vec<(usize, Global)>> = BTreeMap::new();
    for (input, module) in modules.iter().enumerate() {
        for (name, global) in of(module) {
            if global.role != Role::Private {
                all.entry(name).or_default().push((input, global));
            }
        }
    }
    all.retain(|_, globals| globals.len() > 1);
    all
}

//! Finds what the kernels and the visible names of a module use.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_ir::{Binding, FunctionKind, Item, ItemId, Linkage, Module, Operand, Span, SymbolId};

use crate::names::{Entity, Names};

/// Whether a name with this linkage is visible to other modules.
pub(crate) fn is_seen(linkage: Option<Linkage>) -> bool {
    linkage.is_some()
}

/// Functions and variables that are not visible to other modules: without linkage, and neither kernels nor named by an alias.
pub(crate) fn private(module: &Module) -> BTreeSet<Entity> {
    own(module, false)
}

/// The same, and with `visible` also kernels and `.visible` names.
pub(crate) fn own(module: &Module, visible: bool) -> BTreeSet<Entity> {
    let mut kept: BTreeSet<Entity> = BTreeSet::new();
    let mut all: BTreeSet<Entity> = BTreeSet::new();
    // The first symbol of a name represents it, as in `NameRef`.
    let mut first: BTreeMap<&str, SymbolId> = BTreeMap::new();
    for (id, symbol) in module.symbols().iter() {
        first.entry(module.name(symbol.name)).or_insert(id);
    }
    let mut note = |symbol: SymbolId, keep: bool| {
        let name = module.symbols().get(symbol).map(|s| module.name(s.name));
        if let Some(&id) = name.and_then(|n| first.get(n)) {
            let set = if keep { &mut kept } else { &mut all };
            set.insert(Entity::Symbol(id));
        }
    };
    let keeps = |linkage: Option<Linkage>| match linkage {
        None => false,
        Some(Linkage::Visible) => !visible,
        Some(_) => true,
    };
    for f in module.functions().values() {
        if let Some(symbol) = f.symbol {
            let kernel = f.kind == FunctionKind::Entry && !visible;
            note(symbol, kernel || keeps(f.linkage));
        }
    }
    for item in module.item_table().values() {
        match *item {
            Item::Decl(d) => {
                let linkage = module.declarations().decls.get(d).and_then(|d| d.linkage);
                for d in module.declarations().declarators(d) {
                    if let Binding::Symbol(symbol) = d.binding {
                        note(symbol, keeps(linkage));
                    }
                }
            }
            Item::Directive(d) if !visible => {
                let args = module.directives().get(d).map(|d| d.args);
                for operand in module.pool().slice(args.unwrap_or_default()) {
                    if let Operand::Symbol(symbol) = *operand {
                        note(symbol, true);
                    }
                }
            }
            _ => {}
        }
    }
    all.retain(|e| !kept.contains(e));
    all
}

/// The items that only declare or define private names that are not used.
pub(crate) fn dead(module: &Module, names: &Names) -> Vec<(ItemId, Span)> {
    let mut private = private(module);
    // Unused external functions and variables are removed as well.
    let mut declared: BTreeMap<Entity, Vec<Span>> = BTreeMap::new();
    let mut items: Vec<(ItemId, Span, Vec<Entity>)> = Vec::new();
    let mut todo: Vec<Span> = Vec::new();
    for (id, item) in module.items() {
        let span = module.span(id);
        let declares: Vec<Entity> = match item {
            Item::Function(_) | Item::Decl(_) => names
                .within(span)
                .iter()
                .filter(|m| m.declares && matches!(m.entity, Entity::Symbol(_)))
                .map(|m| m.entity)
                .collect(),
            _ => Vec::new(),
        };
        let external = match item {
            Item::Function(f) => module.functions().get(f).is_some_and(|f| f.body.is_none()),
            Item::Decl(d) => {
                let linkage = module.declarations().decls.get(d).and_then(|d| d.linkage);
                linkage == Some(Linkage::Extern)
            }
            _ => false,
        };
        let only = |e: &Entity| external || private.contains(e);
        if declares.is_empty() || !declares.iter().all(only) {
            todo.push(span);
            continue;
        }
        for entity in &declares {
            declared.entry(*entity).or_default().push(span);
        }
        items.push((id, span, declares));
    }
    // From what stays to everything that it uses.
    private.clear();
    let mut reached = private;
    while let Some(span) = todo.pop() {
        for m in names.within(span) {
            if reached.insert(m.entity) {
                todo.extend(declared.remove(&m.entity).unwrap_or_default());
            }
        }
    }
    items.retain(|(_, _, declares)| !declares.iter().any(|e| reached.contains(e)));
    items.into_iter().map(|(id, span, _)| (id, span)).collect()
}

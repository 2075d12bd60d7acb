//! Finds what the kernels and the visible names of a module use.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::{Item, ItemId, Linkage, Module, Span};

use ptx_edit::{Entity, Names, OwnSymbols, own_symbols};

/// Whether a name with this linkage is visible to other modules.
pub(crate) fn is_seen(linkage: Option<Linkage>) -> bool {
    linkage.is_some()
}

/// The items that only declare or define private names that are not used.
pub(crate) fn dead(module: &Module, names: &Names) -> Vec<(ItemId, Span)> {
    let mut private = own_symbols(module, OwnSymbols::Private);
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

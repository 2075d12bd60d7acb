//! Finds the functions and module variables that nothing uses.

use alloc::vec::Vec;

use ptx_edit::raw::EntityMap;
use ptx_edit::{Entity, Names, OwnSymbols, own_symbols};
use ptx_ir::{EntityId, Item, Linkage, Module, Span, SymbolId};

/// The items that only declare or define private names that are not used. Kernels and visible names are used by other modules.
pub(super) fn dead(module: &Module, names: &Names) -> Vec<Span> {
    let private = own_symbols(module, OwnSymbols::Private);
    // Unused external functions and variables are removed as well.
    let mut declared: Vec<Vec<Span>> = vec![Vec::new(); module.symbols().len()];
    let mut items: Vec<(Span, Vec<SymbolId>)> = Vec::new();
    let mut todo: Vec<Span> = Vec::new();
    for (id, item) in module.items() {
        let span = module.span(id);
        let external = match item {
            Item::Function(f) => module.functions().get(f).is_some_and(|f| f.body.is_none()),
            Item::Decl(d) => {
                let linkage = module.declarations().decls.get(d).and_then(|d| d.linkage);
                linkage == Some(Linkage::Extern)
            }
            _ => {
                todo.push(span);
                continue;
            }
        };
        let declares = names.within(span).iter().filter(|m| m.declares);
        let declares = declares.filter_map(|m| match m.entity {
            Entity::Symbol(symbol) => Some(symbol),
            _ => None,
        });
        let declares: Vec<SymbolId> = declares.collect();
        if declares.is_empty() || !declares.iter().all(|s| external || private.contains(*s)) {
            todo.push(span);
            continue;
        }
        for symbol in &declares {
            if let Some(spans) = declared.get_mut(symbol.index()) {
                spans.push(span);
            }
        }
        items.push((span, declares));
    }
    // From what stays to everything that it uses.
    let mut reached: EntityMap<bool> = EntityMap::new(module);
    while let Some(span) = todo.pop() {
        for m in names.within(span) {
            if reached.replace(m.entity, true) == Some(false)
                && let Entity::Symbol(symbol) = m.entity
                && let Some(spans) = declared.get_mut(symbol.index())
            {
                todo.append(spans);
            }
        }
    }
    let is_reached = |s: &SymbolId| reached.get(Entity::Symbol(*s)) == Some(&true);
    items.retain(|(_, declares)| !declares.iter().any(is_reached));
    items.into_iter().map(|(span, _)| span).collect()
}

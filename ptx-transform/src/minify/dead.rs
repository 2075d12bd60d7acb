//! Finds the functions and module variables that nothing uses.

use alloc::vec::Vec;

use ptx_edit::raw::{EntityMap, own_symbols};
use ptx_edit::{Entity, Names, OwnSymbols};
use ptx_ir::{EntityId, Item, Linkage, Module, Span, SymbolId};

/// The items that only declare or define private names that are not used. Kernels and visible names are used by other modules.
pub(super) fn dead(module: &Module, names: &Names) -> Vec<Span> {
    let private = own_symbols(module, OwnSymbols::Private);
    // Unused external functions and variables are removed as well.
    let mut declared: Vec<Vec<Span>> = vec![Vec::new(); module.symbols().len()];
    let mut items: Vec<(Span, Vec<SymbolId>)> = Vec::new();
    let mut worklist: Vec<Span> = Vec::new();
    for (id, item) in module.items() {
        let span = module.span(id);
        let is_external = match item {
            Item::Function(f) => module.functions().get(f).is_some_and(|f| f.body.is_none()),
            Item::Decl(d) => {
                let linkage = module.declarations().decls.get(d).and_then(|d| d.linkage);
                linkage == Some(Linkage::Extern)
            }
            _ => {
                worklist.push(span);
                continue;
            }
        };
        let symbols: Vec<SymbolId> = names
            .within(span)
            .iter()
            .filter(|name| name.declares)
            .filter_map(|name| match name.entity {
                Entity::Symbol(symbol) => Some(symbol),
                _ => None,
            })
            .collect();
        if symbols.is_empty() || !symbols.iter().all(|s| is_external || private.contains(*s)) {
            worklist.push(span);
            continue;
        }
        for symbol in &symbols {
            if let Some(spans) = declared.get_mut(symbol.index()) {
                spans.push(span);
            }
        }
        items.push((span, symbols));
    }
    // The items that stay, and the declarations of everything that they use.
    let mut reached: EntityMap<bool> = EntityMap::new(module);
    while let Some(span) = worklist.pop() {
        for name in names.within(span) {
            if reached.replace(name.entity, true) == Some(false)
                && let Entity::Symbol(symbol) = name.entity
                && let Some(spans) = declared.get_mut(symbol.index())
            {
                worklist.append(spans);
            }
        }
    }
    items.retain(|(_, symbols)| {
        !symbols
            .iter()
            .any(|symbol| reached.get(Entity::Symbol(*symbol)) == Some(&true))
    });
    items.into_iter().map(|(span, _)| span).collect()
}

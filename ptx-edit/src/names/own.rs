//! Which symbols belong to a module alone.

use alloc::collections::{BTreeMap, BTreeSet};

use ptx_ir::{Binding, FunctionKind, Item, Linkage, Module, Operand, SymbolId};

use super::Entity;

/// Which symbols [`own_symbols`] gives.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OwnSymbols {
    /// Functions and variables that other modules cannot see: without linkage, and neither kernels nor named by an alias.
    Private,
    /// Kernels and `.visible` definitions as well. What other modules provide or may define, too, is left out: `.extern`,
    /// `.weak` and `.common`.
    WithVisible,
}

/// The functions and variables of a module that no other module provides or defines as well. The time is linear in the
/// symbols, but for a logarithm.
#[must_use]
pub fn own_symbols(module: &Module, which: OwnSymbols) -> BTreeSet<Entity> {
    let visible = which == OwnSymbols::WithVisible;
    let mut kept: BTreeSet<Entity> = BTreeSet::new();
    let mut all: BTreeSet<Entity> = BTreeSet::new();
    // The first symbol of a name represents it, as in `Entity`.
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

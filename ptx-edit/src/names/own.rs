//! Finds the symbols that belong to a module alone.

use ptx_ir::{EntityId, EntitySet, FunctionKind, Item, Linkage, Module, Operand, SymbolId};

/// The symbols that [`own_symbols`] returns.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OwnSymbols {
    /// Functions and variables that other modules cannot see: without linkage, and neither kernels nor named by an alias.
    Private,
    /// Kernels and `.visible` definitions as well. What other modules provide or may define, too, is left out: `.extern`,
    /// `.weak` and `.common`.
    WithVisible,
}

/// The functions and variables of a module that no other module provides or defines as well, each as the
/// [first symbol](Module::first_symbols) of its name. Linear in the symbols.
#[must_use]
pub fn own_symbols(module: &Module, which: OwnSymbols) -> EntitySet<SymbolId> {
    let visible = which == OwnSymbols::WithVisible;
    let first = module.first_symbols();
    let (mut own, mut others) = (EntitySet::new(), EntitySet::new());
    let mut note = |symbol: SymbolId, is_own: bool| {
        let set = if is_own { &mut own } else { &mut others };
        set.extend(first.get(symbol.index()).copied());
    };
    let is_own = |linkage: Option<Linkage>| match linkage {
        None => true,
        Some(Linkage::Visible) => visible,
        Some(_) => false,
    };
    for f in module.functions().values() {
        if let Some(symbol) = f.symbol {
            let kernel = f.kind == FunctionKind::Entry && !visible;
            note(symbol, !kernel && is_own(f.linkage));
        }
    }
    for &item in module.item_table().values() {
        match item {
            Item::Decl(d) => {
                let linkage = module.declarations().decls.get(d).and_then(|d| d.linkage);
                for symbol in module.declared_symbols(item) {
                    note(symbol, is_own(linkage));
                }
            }
            Item::Directive(d) if !visible => {
                let args = module.directives().get(d).map(|d| d.args);
                let args = module.pool().slice(args.unwrap_or_default()).iter();
                for symbol in args.copied().filter_map(Operand::symbol) {
                    note(symbol, false);
                }
            }
            _ => {}
        }
    }
    own.iter().filter(|s| !others.contains(*s)).collect()
}

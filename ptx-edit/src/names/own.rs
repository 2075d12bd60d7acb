//! Finds the symbols that only one module declares or defines.

use ptx_ir::raw::EntitySet;
use ptx_ir::{EntityId, FunctionKind, Item, Linkage, Module, Operand, SymbolId};

/// The symbols that [`own_symbols`] returns.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OwnSymbols {
    /// Functions and variables that other modules cannot see: without linkage, and neither kernels nor named by an alias.
    Private,
    /// The private symbols, kernels and `.visible` definitions, without the symbols that other modules provide or may also
    /// define: `.extern`, `.weak` and `.common`.
    WithVisible,
}

/// The functions and variables of a module that no other module provides or defines as well, each as the
/// [first symbol](Module::first_symbols) of its name. Linear in the symbols.
#[must_use]
pub fn own_symbols(module: &Module, selection: OwnSymbols) -> EntitySet<SymbolId> {
    let with_visible = selection == OwnSymbols::WithVisible;
    let first = module.first_symbols();
    let (mut own_declared, mut shared_declared) = (EntitySet::new(), EntitySet::new());
    let mut add_declaration = |symbol: SymbolId, is_own: bool| {
        let set = if is_own {
            &mut own_declared
        } else {
            &mut shared_declared
        };
        set.extend(first.get(symbol.index()).copied());
    };
    let is_own = |linkage: Option<Linkage>| match linkage {
        None => true,
        Some(Linkage::Visible) => with_visible,
        Some(_) => false,
    };
    for f in module.functions().values() {
        if let Some(symbol) = f.symbol {
            let is_public_kernel = f.kind == FunctionKind::Entry && !with_visible;
            add_declaration(symbol, !is_public_kernel && is_own(f.linkage));
        }
    }
    for &item in module.item_table().values() {
        match item {
            Item::Decl(d) => {
                let linkage = module.declarations().decls.get(d).and_then(|d| d.linkage);
                for symbol in module.declared_symbols(item) {
                    add_declaration(symbol, is_own(linkage));
                }
            }
            Item::Directive(d) if !with_visible => {
                let args = module
                    .directives()
                    .get(d)
                    .map(|d| d.args)
                    .unwrap_or_default();
                let args = module.pool().slice(args);
                for symbol in args.iter().copied().filter_map(Operand::symbol) {
                    add_declaration(symbol, false);
                }
            }
            _ => {}
        }
    }
    own_declared
        .iter()
        .filter(|s| !shared_declared.contains(*s))
        .collect()
}

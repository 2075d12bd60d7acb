//! Which names of the module each body uses, and where functions are declared.

use alloc::vec::Vec;

use ptx_ir::{
    Body, EntityId, EntitySet, FuncId, Item, Module, Operand, OperandPool, SymbolId, parallel,
};

use crate::location::Location;

/// The names of the module that the body of each function uses, in order.
pub(crate) struct Uses(Vec<Vec<SymbolId>>);

impl Uses {
    pub(crate) fn new(module: &Module) -> Self {
        let of = |f: &FuncId| Some((*f, of_body(module.body(*f)?)));
        let found = parallel::map_functions(module, |run| run.iter().filter_map(of).collect());
        let mut all = vec![Vec::new(); module.functions().len()];
        for (id, names) in found {
            if let Some(of_function) = all.get_mut(id.index()) {
                *of_function = names;
            }
        }
        Self(all)
    }

    pub(crate) fn of(&self, function: FuncId) -> &[SymbolId] {
        self.0.get(function.index()).map_or(&[], Vec::as_slice)
    }

    /// How many names all bodies use.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// The names that any body uses.
    pub(crate) fn all(&self) -> EntitySet<SymbolId> {
        self.0.iter().flatten().copied().collect()
    }
}

/// The names of the module that a body uses, in order.
pub(crate) fn of_body(body: &Body) -> Vec<SymbolId> {
    let mut symbols: Vec<SymbolId> = operands(body.pool()).filter_map(symbol).collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}

/// Every operand of a pool, parts of composed ones included.
pub(crate) fn operands(pool: &OperandPool) -> impl Iterator<Item = Operand> {
    let addresses = pool.addresses().iter().flat_map(|a| [a.base, a.offset]);
    pool.operands().iter().copied().chain(addresses)
}

pub(crate) fn symbol(operand: Operand) -> Option<SymbolId> {
    match operand {
        Operand::Symbol(id) => Some(id),
        _ => None,
    }
}

/// The location of the name in each function's header.
pub(crate) struct FunctionNames(Vec<Option<Location>>);

impl FunctionNames {
    pub(crate) fn new(module: &Module) -> Self {
        let mut all = vec![None; module.functions().len()];
        for (item, of_module) in module.items() {
            if let Item::Function(id) = of_module
                && let Some(function) = module.functions().get(id)
                && let Some(entry) = all.get_mut(id.index())
            {
                *entry = Some(Location::name(module.span(item), function.name));
            }
        }
        Self(all)
    }

    pub(crate) fn get(&self, id: FuncId) -> Location {
        let known = self.0.get(id.index()).copied().flatten();
        known.unwrap_or(Location::exact(ptx_ir::Span::default()))
    }
}

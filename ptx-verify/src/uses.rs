//! Which names of the module each body uses, and where functions are declared.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ptx_ir::{Body, EntityId, FuncId, Item, Module, Operand, OperandPool, SymbolId, parallel};

use crate::location::Location;

/// The names of the module that each body uses.
pub(crate) type Uses = BTreeMap<FuncId, BTreeSet<SymbolId>>;

pub(crate) fn uses(module: &Module) -> Uses {
    let symbols = |body: &Body| operands(body.pool()).filter_map(symbol).collect();
    let of = |f: &FuncId| Some((*f, symbols(module.body(*f)?)));
    let all = parallel::map_functions(module, |run| run.iter().filter_map(of).collect());
    all.into_iter().collect()
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
        let mut all = alloc::vec![None; module.functions().len()];
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

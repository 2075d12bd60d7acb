//! The dependencies between the names of a module.

use alloc::vec::Vec;

use ptx_ir::raw::EntitySet;
use ptx_ir::{
    Body, EntityId, FuncId, Item, Module, Operand, OperandPool, Statement, SymbolId, SymbolKind,
};
use ptx_isa::Directive;

/// The symbols of a module as a graph. The first symbol of a range such as `t<4>` represents all its members.
pub(crate) struct Dependencies {
    /// For each symbol, the symbols that it depends on; unsorted, with duplicates.
    needs: Vec<Vec<SymbolId>>,
    /// For each symbol, the first symbol of its range.
    first: Vec<SymbolId>,
    /// The symbols that unrecognized statements mention, and on which they may depend.
    pub(crate) opaque: Vec<SymbolId>,
}

impl Dependencies {
    pub(crate) fn of(module: &Module) -> Self {
        let mut needs = Self {
            needs: vec![Vec::new(); module.symbols().len()],
            first: module.first_symbols(),
            opaque: Vec::new(),
        };
        for (_, item) in module.items() {
            match item {
                Item::Decl(id) => {
                    for d in module.declarations().declarators(id) {
                        if let Some(symbol) = d.binding.symbol() {
                            needs.add(symbol, mentioned(module.pool(), &[d.init]));
                        }
                    }
                }
                Item::Directive(id) => {
                    let directive = module.directives().get(id);
                    if let Some(d) = directive.filter(|d| d.directive == Directive::Alias) {
                        let args = mentioned(module.pool(), module.pool().slice(d.args));
                        if let Some((&alias, aliasee)) = args.split_first() {
                            needs.add(alias, aliasee.to_vec());
                        }
                    }
                }
                Item::Function(id) => needs.function(module, id),
                Item::Opaque(id) => {
                    if let Some(opaque) = module.opaques().get(id) {
                        let operands = module.pool().slice(opaque.mentions);
                        needs.opaque.extend(mentioned(module.pool(), operands));
                    }
                }
                _ => {}
            }
        }
        needs
    }

    fn add(&mut self, symbol: SymbolId, needs: Vec<SymbolId>) {
        let first = self.first(symbol);
        if let Some(dependencies) = self.needs.get_mut(first.index()) {
            dependencies.extend(needs);
        }
    }

    /// Makes these first symbols depend on everything that depends on them.
    pub(crate) fn bind(&mut self, bound: &EntitySet<SymbolId>) {
        for index in 0..self.needs.len() {
            let user = SymbolId::from_index(index);
            for needed in self.of_symbol(user).to_vec() {
                let needed = self.first(needed);
                if bound.contains(needed) {
                    self.add(needed, vec![user]);
                }
            }
        }
    }

    fn function(&mut self, module: &Module, id: FuncId) {
        let Some(body) = module.body(id) else { return };
        let symbol = module.functions().get(id).and_then(|f| f.symbol);
        // ptxas requires a definition of everything that is declared, even if it is not called.
        let mut used: Vec<SymbolId> = body
            .functions()
            .filter_map(|id| module.functions().get(id)?.symbol)
            .collect();
        let addresses = body.pool().addresses().iter();
        let address_operands = addresses.flat_map(|address| [address.base, address.offset]);
        let operands = body.pool().operands().iter().copied();
        // An initializer that is one name is not in the pool.
        let initializers = body.declarations().declarators.iter().map(|d| d.init);
        used.extend(
            operands
                .chain(address_operands)
                .chain(initializers)
                .filter_map(Operand::symbol),
        );
        let Some(symbol) = symbol else {
            return self.opaque.append(&mut used);
        };
        used.sort_unstable();
        used.dedup();
        self.add(symbol, used);
        for inner in inner(module, body) {
            self.add(inner, vec![symbol]);
        }
    }

    /// The symbol that represents the range of `symbol`; `symbol` itself if it is not in a range.
    pub(crate) fn first(&self, symbol: SymbolId) -> SymbolId {
        self.first.get(symbol.index()).copied().unwrap_or(symbol)
    }

    /// The symbols that `roots` and unrecognized statements depend on, directly or not, including `roots`. Ranges are represented
    /// by their first symbols.
    pub(crate) fn reach(&self, roots: &[SymbolId]) -> EntitySet<SymbolId> {
        let mut reached = EntitySet::new();
        let mut worklist = [roots, &self.opaque].concat();
        while let Some(symbol) = worklist.pop() {
            if reached.insert(self.first(symbol)) {
                worklist.extend(self.of_symbol(symbol));
            }
        }
        reached
    }

    /// The symbols that a symbol depends on directly.
    pub(crate) fn of_symbol(&self, symbol: SymbolId) -> &[SymbolId] {
        let needs = self.needs.get(self.first(symbol).index());
        needs.map_or(&[], Vec::as_slice)
    }
}

/// The functions that a body declares before the items after it do, and the aliases that it defines.
fn inner<'m>(module: &'m Module, body: &'m Body) -> impl Iterator<Item = SymbolId> + use<'m> {
    body.statements()
        .filter_map(move |(_, statement)| match statement {
            Statement::Function(id) => {
                let symbol = module.functions().get(id)?.symbol?;
                // A definition replaces the first declaration.
                let is_declared_here = match module.symbols().get(symbol)?.kind {
                    SymbolKind::Function(first) => first == id || is_later(module, first, body),
                    _ => false,
                };
                is_declared_here.then_some(symbol)
            }
            Statement::Directive(id) => {
                let directive = body.directives().get(id)?;
                let is_alias = directive.directive == Directive::Alias;
                match body.pool().slice(directive.args).first() {
                    Some(Operand::Symbol(symbol)) if is_alias => Some(*symbol),
                    _ => None,
                }
            }
            _ => None,
        })
}

/// Whether a function is defined after a body.
fn is_later(module: &Module, function: FuncId, body: &Body) -> bool {
    module
        .body(function)
        .is_some_and(|other| other.base() > body.base())
}

/// The names of the module in operands and their parts, in the order of the text.
pub(crate) fn mentioned(pool: &OperandPool, operands: &[Operand]) -> Vec<SymbolId> {
    operands
        .iter()
        .flat_map(|&operand| pool.walk_operand(operand))
        .filter_map(Operand::symbol)
        .collect()
}

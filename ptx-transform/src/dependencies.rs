//! The dependencies between the names of a module.

use alloc::vec::Vec;

use ptx_ir::{
    Body, EntityId, EntitySet, FuncId, Item, Module, Operand, OperandPool, Statement, SymbolId,
    SymbolKind,
};
use ptx_isa::Directive;

/// The symbols of a module as a graph. The first symbol of a range such as `t<4>` represents all its members.
pub(crate) struct Dependencies {
    /// What each symbol depends on, by its number; unsorted, with duplicates.
    needs: Vec<Vec<SymbolId>>,
    first: Vec<SymbolId>,
    /// What unrecognized statements mention, which may depend on it.
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
                        let mentions = module.pool().slice(opaque.mentions);
                        let mentions = mentioned(module.pool(), mentions);
                        needs.opaque.extend(mentions);
                    }
                }
                _ => {}
            }
        }
        needs
    }

    fn add(&mut self, symbol: SymbolId, needs: Vec<SymbolId>) {
        let first = self.first(symbol);
        if let Some(all) = self.needs.get_mut(first.index()) {
            all.extend(needs);
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
        let declared = body.functions();
        let declared = declared.filter_map(|id| module.functions().get(id)?.symbol);
        let mut used: Vec<SymbolId> = declared.collect();
        let addresses = body.pool().addresses().iter();
        let addresses = addresses.flat_map(|a| [a.base, a.offset]);
        let operands = body.pool().operands().iter().copied().chain(addresses);
        used.extend(operands.filter_map(Operand::symbol));
        // An initializer that is one name is not in the pool.
        let initial = body.declarations().declarators.iter().map(|d| d.init);
        used.extend(initial.filter_map(Operand::symbol));
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

    /// The symbol that represents its range.
    pub(crate) fn first(&self, symbol: SymbolId) -> SymbolId {
        self.first.get(symbol.index()).copied().unwrap_or(symbol)
    }

    /// The first symbols of these, of what unrecognized statements mention, and of everything that they depend on.
    pub(crate) fn reach(&self, roots: &[SymbolId]) -> EntitySet<SymbolId> {
        let mut reached = EntitySet::new();
        let mut todo = [roots, &self.opaque].concat();
        while let Some(symbol) = todo.pop() {
            if reached.insert(self.first(symbol)) {
                todo.extend(self.of_symbol(symbol));
            }
        }
        reached
    }

    /// What a symbol depends on directly.
    pub(crate) fn of_symbol(&self, symbol: SymbolId) -> &[SymbolId] {
        let needs = self.needs.get(self.first(symbol).index());
        needs.map_or(&[], Vec::as_slice)
    }
}

/// The functions that a body declares first, for what follows, or gives an alias.
fn inner<'m>(module: &'m Module, body: &'m Body) -> impl Iterator<Item = SymbolId> + use<'m> {
    let of_statement = move |(_, statement): (ptx_ir::StmtId, Statement)| match statement {
        Statement::Function(id) => {
            let symbol = module.functions().get(id)?.symbol?;
            // A definition replaces the first declaration.
            let own = match module.symbols().get(symbol)?.kind {
                SymbolKind::Function(first) => first == id || is_later(module, first, body),
                _ => false,
            };
            own.then_some(symbol)
        }
        Statement::Directive(id) => {
            let directive = body.directives().get(id)?;
            let alias = directive.directive == Directive::Alias;
            match body.pool().slice(directive.args).first() {
                Some(Operand::Symbol(symbol)) if alias => Some(*symbol),
                _ => None,
            }
        }
        _ => None,
    };
    body.statements().filter_map(of_statement)
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

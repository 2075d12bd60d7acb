//! The dependencies between the names of a module.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::{
    Binding, Body, Declarations, Declarator, EntityId, FuncId, Item, Module, NameId, Operand,
    OperandPool, OperandSlot, Statement, SymbolId, SymbolKind,
};
use ptx_isa::Directive;

/// The names of a module as a graph. All members of a range such as `t<4>` are one name, its first symbol.
pub(crate) struct Needs {
    /// What each symbol depends on, by its number; unsorted, with duplicates.
    needs: Vec<Vec<SymbolId>>,
    /// The representative of each symbol.
    first: Vec<SymbolId>,
    /// What unrecognized statements mention, which may depend on it.
    pub(crate) opaque: Vec<SymbolId>,
}

impl Needs {
    pub(crate) fn of(module: &Module) -> Self {
        let mut needs = Self {
            needs: alloc::vec![Vec::new(); module.symbols().len()],
            first: firsts(module),
            opaque: Vec::new(),
        };
        for (_, item) in module.items() {
            match item {
                Item::Decl(id) => {
                    let declarators = module.declarations().declarators(id);
                    for d in declarators {
                        let mentioned = mentioned(module.pool(), &[d.init]);
                        if let Some(symbol) = symbol(d) {
                            needs.add(symbol, mentioned);
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

    fn function(&mut self, module: &Module, id: FuncId) {
        let Some(body) = module.body(id) else { return };
        let symbol = module.functions().get(id).and_then(|f| f.symbol);
        // ptxas requires a definition of everything that is declared, even if it is not called.
        let declared = body.statements().filter_map(|(_, s)| match s {
            Statement::Function(id) => module.functions().get(id)?.symbol,
            _ => None,
        });
        let used = symbols(body.pool()).chain(declared);
        let initial = initial(body.declarations(), body.pool());
        let Some(symbol) = symbol else {
            self.opaque.extend(used.chain(initial));
            return;
        };
        let mut all: Vec<SymbolId> = used.chain(initial).collect();
        all.sort_unstable();
        all.dedup();
        self.add(symbol, all);
        for inner in inner(module, body) {
            self.add(inner, alloc::vec![symbol]);
        }
    }

    /// The symbol that represents its range.
    pub(crate) fn first(&self, symbol: SymbolId) -> SymbolId {
        self.first.get(symbol.index()).copied().unwrap_or(symbol)
    }

    /// Whether each symbol is one of these, or one of them depends on it, directly or not.
    pub(crate) fn reach(&self, roots: impl IntoIterator<Item = SymbolId>) -> Reached {
        let mut reached = Reached {
            symbols: alloc::vec![false; self.needs.len()],
        };
        let mut todo: Vec<SymbolId> = roots.into_iter().collect();
        while let Some(symbol) = todo.pop() {
            let first = self.first(symbol);
            match reached.symbols.get_mut(first.index()) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            todo.extend(self.of_symbol(first));
        }
        reached
    }

    /// What a symbol depends on directly.
    pub(crate) fn of_symbol(&self, symbol: SymbolId) -> &[SymbolId] {
        let needs = self.needs.get(self.first(symbol).index());
        needs.map_or(&[], Vec::as_slice)
    }
}

/// A set of names.
#[derive(Clone)]
pub(crate) struct Reached {
    symbols: Vec<bool>,
}

impl Reached {
    /// Whether the first symbol of a range is one of them.
    pub(crate) fn has(&self, first: SymbolId) -> bool {
        self.symbols.get(first.index()).copied().unwrap_or(false)
    }
}

/// The symbol that a declarator of a module declares.
pub(crate) fn symbol(declarator: &Declarator) -> Option<SymbolId> {
    match declarator.binding {
        Binding::Symbol(symbol) => Some(symbol),
        _ => None,
    }
}

/// The first symbol of the range of each symbol.
fn firsts(module: &Module) -> Vec<SymbolId> {
    let mut ranges: BTreeMap<NameId, SymbolId> = BTreeMap::new();
    let first = |(id, symbol): (SymbolId, &ptx_ir::Symbol)| match symbol.number {
        Some(_) => *ranges.entry(symbol.name).or_insert(id),
        None => id,
    };
    module.symbols().iter().map(first).collect()
}

/// The names of the module in a pool.
fn symbols(pool: &OperandPool) -> impl Iterator<Item = SymbolId> + '_ {
    let addresses = pool.addresses().iter().flat_map(|a| [a.base, a.offset]);
    let all = pool.operands().iter().copied().chain(addresses);
    all.filter_map(|operand| match operand {
        Operand::Symbol(id) => Some(id),
        _ => None,
    })
}

/// The names in the initializers of a body.
fn initial<'b>(
    tables: &'b Declarations,
    pool: &'b OperandPool,
) -> impl Iterator<Item = SymbolId> + 'b {
    let with = tables.declarators.iter();
    let with = with.filter(|d| d.init != Operand::Absent);
    with.flat_map(|d| mentioned(pool, &[d.init]))
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
    let slot = OperandSlot::Initializer(0);
    let all = operands.iter().flat_map(|&o| pool.walk_operand(slot, o));
    let symbol = |(_, operand)| match operand {
        Operand::Symbol(id) => Some(id),
        _ => None,
    };
    all.filter_map(symbol).collect()
}

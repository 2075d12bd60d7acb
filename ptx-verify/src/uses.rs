//! The names of the module that each body uses, and their declarations.

use alloc::vec::Vec;

use ptx_ir::lex::Lexer;
use ptx_ir::{
    Body, EntityId, EntitySet, FuncId, Item, Module, NameId, Operand, OperandPool, Span, SymbolId,
    SymbolKind, TextChange, parallel,
};

use crate::header_ends::Ends;
use crate::location::Location;
use crate::memory;

/// The names of the module that the body of a function uses.
#[derive(Clone, Default, Debug)]
pub(crate) struct BodyUses {
    /// The names of the module that it uses, in order.
    names: Vec<SymbolId>,
    /// The bytes of the shared variables that it declares.
    shared: i64,
}

impl BodyUses {
    pub(crate) fn new(body: &Body) -> Self {
        Self {
            names: of_body(body),
            shared: memory::shared_of(body),
        }
    }
}

/// The names of the module that the bodies of all functions use.
#[derive(Clone, Default, Debug)]
pub(crate) struct Uses(Vec<BodyUses>);

impl Uses {
    pub(crate) fn new(module: &Module) -> Self {
        let of = |f: &FuncId| Some((*f, BodyUses::new(module.body(*f)?)));
        let found = parallel::map_functions(module, |run| run.iter().filter_map(of).collect());
        let mut all = Self::default();
        for (id, uses) in found {
            all.set(id, uses);
        }
        all
    }

    pub(crate) fn set(&mut self, function: FuncId, uses: BodyUses) {
        let index = function.index();
        if self.0.len() <= index {
            self.0.resize_with(index + 1, BodyUses::default);
        }
        if let Some(place) = self.0.get_mut(index) {
            *place = uses;
        }
    }

    pub(crate) fn of(&self, function: FuncId) -> &[SymbolId] {
        self.0.get(function.index()).map_or(&[], |uses| &uses.names)
    }

    /// The bytes of the shared variables that a body declares.
    pub(crate) fn shared_of(&self, function: FuncId) -> i64 {
        self.0.get(function.index()).map_or(0, |uses| uses.shared)
    }

    /// The bytes of the shared variables of each body.
    pub(crate) fn shared(&self) -> impl Iterator<Item = i64> {
        self.0.iter().map(|uses| uses.shared)
    }

    /// The number of names that all bodies use.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|uses| uses.names.len()).sum()
    }

    /// The names that any body uses.
    pub(crate) fn all(&self) -> EntitySet<SymbolId> {
        let names = self.0.iter().flat_map(|uses| &uses.names);
        names.copied().collect()
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

/// The items that declare the functions and variables of the module.
#[derive(Clone, Debug)]
pub(crate) struct ModuleNames {
    /// The name in the header of each function.
    functions: Vec<Option<Location>>,
    /// The statement of each declaration.
    declarations: Vec<Span>,
}

impl ModuleNames {
    pub(crate) fn new(module: &Module) -> Self {
        let mut names = Self {
            functions: vec![None; module.functions().len()],
            declarations: vec![Span::default(); module.declarations().decls.len()],
        };
        for (item, of_module) in module.items() {
            match of_module {
                Item::Function(id) => {
                    let function = module.functions().get(id);
                    if let (Some(f), Some(entry)) = (function, names.functions.get_mut(id.index()))
                    {
                        let header = Ends::new(module, id, module.span(item)).header;
                        *entry = Some(Location::name(header, f.name));
                    }
                }
                Item::Decl(id) => {
                    if let Some(entry) = names.declarations.get_mut(id.index()) {
                        *entry = module.span(item);
                    }
                }
                _ => {}
            }
        }
        names
    }

    /// The text of the module has changed in the body of a function.
    pub(crate) fn move_text(&mut self, change: TextChange) {
        let functions = self.functions.iter_mut().flatten();
        let declarations = self.declarations.iter_mut();
        for span in functions.map(|f| &mut f.statement).chain(declarations) {
            *span = change.place(*span);
        }
    }

    pub(crate) fn function(&self, id: FuncId) -> Location {
        let known = self.functions.get(id.index()).copied().flatten();
        known.unwrap_or(Location::exact(Span::default()))
    }

    /// The declaration of a name of the module.
    pub(crate) fn symbol(&self, module: &Module, id: SymbolId) -> Option<Location> {
        let symbol = module.symbols().get(id)?;
        let statement = match symbol.kind {
            SymbolKind::Function(id) => self.functions.get(id.index()).copied()??.statement,
            SymbolKind::Variable(_, id) => *self.declarations.get(id.index())?,
            _ => return None,
        };
        first(module, statement, symbol.name)
    }

    /// A parameter or result of a function.
    pub(crate) fn parameter(
        &self,
        module: &Module,
        function: FuncId,
        name: NameId,
    ) -> Option<Location> {
        let header = self.functions.get(function.index()).copied()??;
        first(module, header.statement, name)
    }
}

/// The first token with the text of a name; what follows it is not read, such as the initial value of an array.
fn first(module: &Module, statement: Span, name: NameId) -> Option<Location> {
    let text = statement.of(module.source());
    let name = module.name_bytes(name);
    let token = Lexer::fragment(text).find(|t| t.span.of(text) == name)?;
    Some(Location::exact(token.span.shifted(statement.start)))
}

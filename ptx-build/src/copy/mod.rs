//! Copies records from one module to another or inside of a module, numbered in the order in which the parser numbers them.

mod body;
mod operand;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::raw::RawModule;
use ptx_ir::{
    Binding, DeclId, Declarations, Declarator, DirectiveStmt, EntityId, FuncId, Function,
    Interface, Item, Module, NameId, Operand, OperandRange, Param, Section, SectionEntry, SigId,
    Symbol, SymbolId, SymbolKind, TableRange, VarDecl,
};

pub(crate) use body::{BodyCopier, BodyNames, UNPLACED, parameters};
use operand::{CopyDeclarations, Leaves, copy_operand, copy_range};

/// The relation of the ids in the source of a copy to those in its destination.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Relation {
    /// Both are one module: a body is copied inside of it.
    SameModule,
    /// No ids agree.
    Separate,
}

/// Operands by their names.
pub(crate) struct NamedOperands(Vec<(String, Operand)>);

impl NamedOperands {
    pub(crate) fn new(mut names: Vec<(String, Operand)>) -> Self {
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Self(names)
    }

    pub(crate) fn get(&self, name: &str) -> Option<Operand> {
        let index = self.0.binary_search_by_key(&name, |(n, _)| n).ok()?;
        self.0.get(index).map(|(_, operand)| *operand)
    }

    pub(crate) fn symbol(&self, name: &str) -> Option<SymbolId> {
        match self.get(name)? {
            Operand::Symbol(id) => Some(id),
            _ => None,
        }
    }
}

/// The spelling of a name, with its number if it is a member of a range.
pub(crate) fn numbered(module: &Module, name: NameId, number: Option<u32>) -> String {
    match number {
        Some(number) => format!("{}{number}", module.name(name)),
        None => module.name(name).to_string(),
    }
}

/// Copies records from one module to another.
pub(crate) struct Copier<'f, 't> {
    source: &'f Module,
    pub(crate) target: &'t mut Module,
    relation: Relation,
    symbols: Vec<Option<SymbolId>>,
    declarations: Vec<Option<DeclId>>,
    functions: Vec<Option<FuncId>>,
}

impl<'f, 't> Copier<'f, 't> {
    pub(crate) fn new(source: &'f Module, target: &'t mut Module, relation: Relation) -> Self {
        Self {
            symbols: vec![None; source.symbols().len()],
            declarations: vec![None; source.declarations().decls.len()],
            functions: vec![None; source.functions().len()],
            source,
            target,
            relation,
        }
    }

    /// Maps a name of the source module to an existing name of the target module.
    pub(crate) fn map_symbol(&mut self, id: SymbolId, target: SymbolId) {
        set(&mut self.symbols, id, target);
    }

    /// The names of the module that were copied, and those that existed already.
    pub(crate) fn copied_symbols(&self) -> NamedOperands {
        let mut operands = Vec::new();
        for (id, symbol) in self.source.symbols().iter() {
            if let Some(copy) = get(&self.symbols, id) {
                let name = numbered(self.source, symbol.name, symbol.number);
                operands.push((name, Operand::Symbol(copy)));
            }
        }
        NamedOperands::new(operands)
    }

    fn name(&mut self, id: NameId) -> NameId {
        if self.relation == Relation::SameModule {
            return id;
        }
        let text = self.source.name_bytes(id);
        NameId::new(self.target.names_mut().intern(text).0)
    }

    fn signature(&mut self, id: SigId) -> SigId {
        if self.relation == Relation::SameModule {
            return id;
        }
        let text = self.source.signature(id).text();
        self.target.signatures_mut().intern(text.as_bytes())
    }

    /// Copies a name of the module. A member of a range is numbered at its first mention.
    fn symbol(&mut self, id: SymbolId) -> Option<SymbolId> {
        if self.relation == Relation::SameModule {
            return Some(id);
        }
        if let Some(copied_id) = get(&self.symbols, id) {
            return Some(copied_id);
        }
        let symbol = *self.source.symbols().get(id)?;
        let kind = match symbol.kind {
            SymbolKind::Variable(space, decl) => {
                SymbolKind::Variable(space, get(&self.declarations, decl)?)
            }
            SymbolKind::Function(f) => SymbolKind::Function(get(&self.functions, f)?),
            _ => return None,
        };
        Some(self.add_symbol(id, symbol, kind))
    }

    fn add_symbol(&mut self, id: SymbolId, symbol: Symbol, kind: SymbolKind) -> SymbolId {
        let name = self.name(symbol.name);
        let mut copied = Symbol::new(name, kind);
        copied.number = symbol.number;
        let new = self.target.symbols_mut().push(copied);
        set(&mut self.symbols, id, new);
        new
    }

    // --- items ---

    /// Copies an item.
    pub(crate) fn item(&mut self, item: Item) -> Option<Item> {
        match item {
            Item::Directive(id) => self.source.directives().get(id).copied().map(|stmt| {
                let stmt = self.directive(stmt);
                Item::Directive(self.target.directives_mut().push(stmt))
            }),
            Item::Decl(id) => self.declaration(id).map(|new| {
                set(&mut self.declarations, id, new);
                Item::Decl(new)
            }),
            Item::Function(id) => match self.source.body(id) {
                Some(body) => self.definition(id, body),
                None => self.function(id),
            }
            .map(Item::Function),
            Item::Section(id) => self.source.sections().get(id).map(|section| {
                let section = self.section(section);
                Item::Section(self.target.sections_mut().push(section))
            }),
            _ => None,
        }
    }

    fn directive(&mut self, stmt: DirectiveStmt) -> DirectiveStmt {
        DirectiveStmt::new(stmt.directive, self.range(stmt.args))
    }

    fn section(&mut self, section: &Section) -> Section {
        let name = self.name(section.name);
        let entries = section
            .entries
            .iter()
            .map(|entry| match *entry {
                SectionEntry::Label(label) => SectionEntry::Label(self.name(label)),
                SectionEntry::Other { ty, first, value } => {
                    let value = self.operand(self.source.pool().get(value));
                    let value = self.target.pool_mut().extend(&[value]).at(0);
                    SectionEntry::Other { ty, first, value }
                }
                other => other,
            })
            .collect();
        Section::new(name, entries)
    }

    // --- functions ---

    /// Copies the declaration of a function; `None` for one that does not exist.
    pub(crate) fn function(&mut self, id: FuncId) -> Option<FuncId> {
        if self.relation == Relation::SameModule {
            return Some(id);
        }
        let new = self.begin_function(id)?;
        let function = *self.source.functions().get(id)?;
        let interface = self.interface(&function.interface, |_| ());
        if let Some(copied) = self.target.functions_mut().get_mut(new) {
            copied.interface = interface;
        }
        Some(new)
    }

    /// Copies what precedes the parameters of a function.
    fn begin_function(&mut self, id: FuncId) -> Option<FuncId> {
        let function = *self.source.functions().get(id)?;
        let new = self.target.functions_mut().push(Function::EMPTY);
        set(&mut self.functions, id, new);
        let attributes = self.attributes(function.attributes);
        let symbol = function.symbol.and_then(|symbol| {
            let row = self.source.symbols().get(symbol).copied()?;
            let kind = SymbolKind::Function(new);
            let copied = get(&self.symbols, symbol);
            Some(copied.unwrap_or_else(|| self.add_symbol(symbol, row, kind)))
        });
        let mut copied = function;
        copied.name = self.name(function.name);
        copied.symbol = symbol;
        copied.attributes = attributes;
        copied.body = None;
        if let Some(place) = self.target.functions_mut().get_mut(new) {
            *place = copied;
        }
        Some(new)
    }

    fn interface(&mut self, interface: &Interface, mut bind: impl FnMut(&mut Param)) -> Interface {
        if self.relation == Relation::SameModule {
            return *interface;
        }
        let returns = self.params(interface.returns, &mut bind);
        let params = self.params(interface.params, &mut bind);
        let directives = interface.directives.of(self.source.interface_directives());
        let start = self.target.interface_directives().len() as u32;
        for stmt in directives {
            let stmt = self.directive(*stmt);
            self.target.interface_directives_mut().push(stmt);
        }
        let mut copied = *interface;
        copied.returns = returns;
        copied.params = params;
        copied.directives.start = start;
        copied
    }

    fn params(&mut self, range: TableRange, bind: &mut impl FnMut(&mut Param)) -> TableRange {
        let start = self.target.params().len() as u32;
        for param in range.of(self.source.params()) {
            let mut copied = *param;
            copied.align = self.operand(param.align);
            copied.ty = self.type_name(param.ty);
            copied.trailing_align = self.operand(param.trailing_align);
            if let Some(ptr) = &mut copied.ptr {
                ptr.align = self.operand(ptr.align);
            }
            copied.name = param.name.map(|name| self.name(name));
            copied.dims = self.range(param.dims);
            bind(&mut copied);
            self.target.params_mut().push(copied);
        }
        TableRange { start, ..range }
    }
}

impl<'f> CopyDeclarations<'f> for Copier<'f, '_> {
    fn source(&self) -> &'f Declarations {
        self.source.declarations()
    }

    fn target(&mut self) -> &mut Declarations {
        self.target.declarations_mut()
    }

    fn name(&mut self, name: NameId) -> NameId {
        Copier::name(self, name)
    }

    fn operand(&mut self, operand: Operand) -> Operand {
        let mut pool = core::mem::take(self.target.pool_mut());
        let copied = copy_operand(self, self.source.pool(), &mut pool, operand);
        *self.target.pool_mut() = pool;
        copied
    }

    fn range(&mut self, operands: OperandRange) -> OperandRange {
        let mut pool = core::mem::take(self.target.pool_mut());
        let copied = copy_range(self, self.source.pool(), &mut pool, operands);
        *self.target.pool_mut() = pool;
        copied
    }

    fn bind(&mut self, declarator: &Declarator, decl: VarDecl, new: DeclId) -> Binding {
        let Binding::Symbol(id) = declarator.binding else {
            return Binding::None;
        };
        if let Some(copied_id) = get(&self.symbols, id) {
            return Binding::Symbol(copied_id);
        }
        let Some(symbol) = self.source.symbols().get(id).copied() else {
            return Binding::None;
        };
        let kind = SymbolKind::Variable(decl.space, new);
        Binding::Symbol(self.add_symbol(id, symbol, kind))
    }
}

impl Leaves for Copier<'_, '_> {
    fn name(&mut self, name: NameId) -> NameId {
        Copier::name(self, name)
    }

    fn leaf(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Symbol(id) => match self.symbol(id) {
                Some(symbol) => Operand::Symbol(symbol),
                None => {
                    let name = self.source.symbols().get(id).map(|s| s.name);
                    name.map_or(Operand::Absent, |n| Operand::Name(self.name(n)))
                }
            },
            other => other,
        }
    }
}

fn get<K: EntityId, V: Copy>(map: &[Option<V>], id: K) -> Option<V> {
    map.get(id.index()).copied().flatten()
}

fn set<K: EntityId, V>(map: &mut [Option<V>], id: K, copied_id: V) {
    if let Some(entry) = map.get_mut(id.index()) {
        *entry = Some(copied_id);
    }
}

//! The names of the module that each body uses, and the declarations of the names in operands.

use alloc::vec::Vec;

use ptx_ir::lex::Lexer;
use ptx_ir::raw::{EntitySet, TextChange, parallel};
use ptx_ir::{
    Body, EntityId, FuncId, Item, Module, NameId, Operand, OperandPool, RegId, Span, SymbolId,
    SymbolKind,
};

use crate::location::{FunctionSpans, Location, Part};
use crate::memory;

/// The names of the module that the body of a function uses.
#[derive(Clone, Default, Debug)]
pub(crate) struct BodyUses {
    /// The names, in ascending order.
    names: Vec<SymbolId>,
    /// The total size in bytes of the shared variables that the body declares.
    shared_bytes: i64,
}

impl BodyUses {
    pub(crate) fn new(body: &Body) -> Self {
        Self {
            names: used_symbols(body),
            shared_bytes: memory::shared_bytes(body),
        }
    }
}

/// The names of the module that the bodies of all functions use.
#[derive(Clone, Default, Debug)]
pub(crate) struct Uses(Vec<BodyUses>);

impl Uses {
    pub(crate) fn new(module: &Module) -> Self {
        let body_uses = parallel::map_functions(module, |functions| {
            functions
                .iter()
                .filter_map(|id| Some((*id, BodyUses::new(module.body(*id)?))))
                .collect()
        });
        let mut uses = Self::default();
        for (id, body_uses) in body_uses {
            uses.set(id, body_uses);
        }
        uses
    }

    pub(crate) fn set(&mut self, function: FuncId, uses: BodyUses) {
        let index = function.index();
        if self.0.len() <= index {
            self.0.resize_with(index + 1, BodyUses::default);
        }
        if let Some(entry) = self.0.get_mut(index) {
            *entry = uses;
        }
    }

    /// The names that the body of a function uses, in ascending order.
    pub(crate) fn names(&self, function: FuncId) -> &[SymbolId] {
        self.0.get(function.index()).map_or(&[], |uses| &uses.names)
    }

    /// The total size in bytes of the shared variables that the body of a function declares.
    pub(crate) fn shared_bytes(&self, function: FuncId) -> i64 {
        self.0
            .get(function.index())
            .map_or(0, |uses| uses.shared_bytes)
    }

    /// The total size in bytes of the shared variables that all bodies declare.
    pub(crate) fn total_shared_bytes(&self) -> i64 {
        self.0
            .iter()
            .fold(0, |sum, uses| sum.saturating_add(uses.shared_bytes))
    }

    /// The sum of the numbers of names that the bodies use.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|uses| uses.names.len()).sum()
    }

    /// Returns the names that any body uses.
    pub(crate) fn all(&self) -> EntitySet<SymbolId> {
        self.0
            .iter()
            .flat_map(|uses| &uses.names)
            .copied()
            .collect()
    }
}

/// Returns the names of the module that a body uses, in ascending order.
pub(crate) fn used_symbols(body: &Body) -> Vec<SymbolId> {
    let mut symbols: Vec<SymbolId> = operands(body.pool())
        .filter_map(|operand| operand.symbol())
        .collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}

/// Returns for each label of a body whether an operand names it.
pub(crate) fn used_labels(body: &Body) -> Vec<bool> {
    let mut is_used = vec![false; body.labels().len()];
    for operand in operands(body.pool()) {
        if let Operand::Label(id) = operand
            && let Some(is_used) = is_used.get_mut(id.index())
        {
            *is_used = true;
        }
    }
    is_used
}

/// Returns all operands of a pool, including the parts of composed operands.
pub(crate) fn operands(pool: &OperandPool) -> impl Iterator<Item = Operand> {
    let addresses = pool
        .addresses()
        .iter()
        .flat_map(|address| [address.base, address.offset]);
    pool.operands().iter().copied().chain(addresses)
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
        for (item_id, item) in module.items() {
            let span = module.span(item_id);
            match item {
                Item::Function(id) => {
                    if let Some(function) = module.functions().get(id)
                        && let Some(entry) = names.functions.get_mut(id.index())
                    {
                        let header = FunctionSpans::new(module, id, span).header;
                        *entry = Some(Location::name(header, function.name));
                    }
                }
                Item::Decl(id) => {
                    if let Some(entry) = names.declarations.get_mut(id.index()) {
                        *entry = span;
                    }
                }
                _ => {}
            }
        }
        names
    }

    /// Moves the locations after a change of the text in the body of a function.
    pub(crate) fn move_text(&mut self, change: TextChange) {
        for location in self.functions.iter_mut().flatten() {
            location.statement = change.place(location.statement);
        }
        for span in &mut self.declarations {
            *span = change.place(*span);
        }
    }

    /// Returns the location of the name in the header of a function.
    pub(crate) fn function(&self, id: FuncId) -> Location {
        self.functions
            .get(id.index())
            .copied()
            .flatten()
            .unwrap_or(Location::exact(Span::default()))
    }

    /// Returns the location of a name of the module in its declaration.
    pub(crate) fn symbol(&self, module: &Module, id: SymbolId) -> Option<Location> {
        let symbol = module.symbols().get(id)?;
        let statement = match symbol.kind {
            SymbolKind::Function(id) => self.functions.get(id.index()).copied()??.statement,
            SymbolKind::Variable(_, id) => *self.declarations.get(id.index())?,
            _ => return None,
        };
        first_token(module, statement, symbol.name)
    }

    /// Returns the location of the name of a parameter or result in the header of a function.
    pub(crate) fn parameter(
        &self,
        module: &Module,
        function: FuncId,
        name: NameId,
    ) -> Option<Location> {
        let header = self.functions.get(function.index()).copied()??;
        first_token(module, header.statement, name)
    }
}

/// Returns the first token with the text of a name. The text after it, such as the initial value of an array, is not read.
fn first_token(module: &Module, statement: Span, name: NameId) -> Option<Location> {
    let text = statement.of(module.source());
    let name = module.name_bytes(name);
    let token = Lexer::fragment(text).find(|t| t.span.of(text) == name)?;
    Some(Location::exact(token.span.shifted(statement.start)))
}

/// Returns the first operand in a part of an instruction.
fn first_operand(body: &Body, operands: &[Operand], part: Part) -> Option<Operand> {
    let pool = body.pool();
    let (index, element) = match part {
        Part::Operand(index) => (index, 0),
        Part::Element(index, element) => (index, element as usize),
        _ => return None,
    };
    let operand = *operands.get(index as usize)?;
    match operand {
        Operand::Bracket(list) | Operand::Vector(list) | Operand::List(list) => {
            pool.list(list).get(element).copied()
        }
        Operand::Pair(parts) if element > 0 => Some(pool.pair(parts).1),
        Operand::Pair(parts) => Some(pool.get(parts)),
        operand => Some(operand),
    }
}

/// Returns the register, variable or function that a part of an instruction names.
fn named_operand(body: &Body, operands: &[Operand], part: Part) -> Option<Operand> {
    let pool = body.pool();
    let mut operand = first_operand(body, operands, part)?;
    loop {
        operand = match operand {
            Operand::Reg(_) | Operand::Var(_) | Operand::Symbol(_) => return Some(operand),
            Operand::Address(id) => pool.address(id)?.base,
            Operand::Not(parts) | Operand::Neg(parts) | Operand::Component(_, parts) => {
                pool.get(parts)
            }
            _ => return None,
        };
        // Addresses are not nested.
        if matches!(operand, Operand::Address(_)) {
            return None;
        }
    }
}

/// Returns the register in a part of an instruction.
pub(crate) fn register_of(body: &Body, operands: &[Operand], part: Part) -> Option<RegId> {
    match named_operand(body, operands, part)? {
        Operand::Reg(id) => Some(id),
        _ => None,
    }
}

/// The declarations of the names in the operands of a function.
pub(crate) struct OperandDeclarations<'a> {
    pub(crate) module: &'a Module,
    pub(crate) names: &'a ModuleNames,
    pub(crate) function: FuncId,
    pub(crate) body: &'a Body,
}

impl OperandDeclarations<'_> {
    /// Returns the declaration of the register, variable, parameter or function in a part of an instruction.
    pub(crate) fn declaration(&self, operands: &[Operand], part: Part) -> Option<Location> {
        let (stmt, name) = match named_operand(self.body, operands, part)? {
            Operand::Reg(id) => self.body.reg_decl_of(id).map(|d| (d.stmt, d.name))?,
            Operand::Var(id) => self.body.vars().get(id).map(|v| (v.stmt, v.name))?,
            Operand::Symbol(id) => return self.names.symbol(self.module, id),
            _ => return None,
        };
        match stmt {
            Some(stmt) => Some(Location::exact(self.body.source_span(stmt))),
            None => self.names.parameter(self.module, self.function, name),
        }
    }
}

//! Checks that a symbol of the module is declared before the function that uses it.

use ptx_ir::{Binding, Body, FuncId, Item, Operand, Statement, SymbolId, SymbolKind};

use crate::names::{NameForm, TakenNames, body_names};
use crate::{EditError, Editor};

impl Editor<'_> {
    /// Records for the symbols of a statement whether they are declared before this function, and whether the function also
    /// declares their names.
    pub(crate) fn look_up_symbols(&mut self, statement: Statement) {
        let operands: alloc::vec::Vec<Operand> = self.body().walk(statement).collect();
        self.look_up_operand_symbols(&operands);
    }

    /// Records for the symbols among operands whether they are declared before this function, and whether the function also
    /// declares their names. Each symbol is looked up once.
    pub(crate) fn look_up_operand_symbols(&mut self, operands: &[Operand]) {
        for &operand in operands {
            if let Operand::Symbol(symbol) = operand
                && self.seen.insert(symbol)
            {
                if !self.is_declared(symbol) {
                    self.undeclared.insert(symbol);
                }
                // Names that are declared in the function later are checked against all symbols.
                if self.is_repeated(symbol) {
                    self.repeated.insert(symbol);
                }
            }
        }
    }

    /// Returns whether a declaration of the function has the name of a symbol, or may have a member of that name.
    fn is_repeated(&self, symbol: SymbolId) -> bool {
        let Some(symbol) = self.module.symbols().get(symbol) else {
            return false;
        };
        let mut names = TakenNames::default();
        let name = self.spelled(symbol.name, symbol.number);
        names.add(name.as_bytes(), NameForm::Plain);
        body_names(self.body())
            .any(|(name, form)| names.conflicts(self.module.name_bytes(name), form))
    }

    /// Returns whether an item up to this function declares a symbol, or an earlier function declares it inside its body. Most
    /// symbols are declared early, so that the search starts at the first item.
    fn is_declared(&self, symbol: SymbolId) -> bool {
        let module = &*self.module;
        let kind = module.symbols().get(symbol).map(|s| s.kind);
        let tables = module.declarations();
        for (_, item) in module.items() {
            let declares = match item {
                // All members of a range have the kind of the first one, with its declaration.
                Item::Decl(id) => {
                    let declarators = tables.declarators(id);
                    matches!(kind, Some(SymbolKind::Variable(_, decl)) if decl == id)
                        || declarators
                            .iter()
                            .any(|d| d.binding == Binding::Symbol(symbol))
                }
                Item::Function(id) => {
                    module.functions().get(id).and_then(|f| f.symbol) == Some(symbol)
                }
                _ => false,
            };
            if declares {
                return true;
            }
            if item == Item::Function(self.function) {
                break;
            }
        }
        matches!(kind, Some(SymbolKind::Function(_))) && self.is_declared_inside(symbol)
    }

    /// Returns whether a function is declared inside the body of an earlier one. Linear in the module.
    fn is_declared_inside(&self, symbol: SymbolId) -> bool {
        let module = &*self.module;
        module
            .items()
            .map(|(_, item)| item)
            .take_while(|item| *item != Item::Function(self.function))
            .filter_map(|item| match item {
                Item::Function(id) => module.body(id),
                _ => None,
            })
            .flat_map(Body::functions)
            .any(|id| self.is_function(id, symbol))
    }

    /// Returns whether a function has this symbol.
    fn is_function(&self, id: FuncId, symbol: SymbolId) -> bool {
        self.module.functions().get(id).and_then(|f| f.symbol) == Some(symbol)
    }

    /// Checks that a symbol is visible at a place: it is declared before this function or, if it is a function, inside this or
    /// an earlier one, and no declaration of this function hides it.
    pub(crate) fn check_symbol_visible(&self, key: u64, symbol: SymbolId) -> Result<(), EditError> {
        let body = self.body();
        let record = self
            .module
            .symbols()
            .get(symbol)
            .ok_or(EditError::UnknownId)?;
        let hidden = || Err(EditError::Hidden(self.spelled(record.name, record.number)));
        if self.repeated.contains(symbol) {
            let name = self.spelled(record.name, record.number);
            if self.scope_of_name(key, &name).is_some() {
                return hidden();
            }
        }
        if !self.undeclared.contains(symbol) {
            return Ok(());
        }
        if let SymbolKind::Function(_) = record.kind {
            let declaration = body.statements().find(|(_, statement)| match statement {
                Statement::Function(id) => self.is_function(*id, symbol),
                _ => false,
            });
            if declaration.is_some_and(|(stmt, _)| ptx_ir::raw::stmt_key(body, stmt) < key) {
                return Ok(());
            }
        }
        hidden()
    }
}

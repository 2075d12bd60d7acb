//! Whether a symbol of the module is declared before the function that uses it.

use ptx_ir::{Binding, Body, FuncId, Item, Operand, Statement, StmtId, SymbolId, SymbolKind};

use crate::names::{NameForm, TakenNames, body_names};
use crate::{EditError, Editor};

impl Editor<'_> {
    /// Looks up the symbols that a statement mentions: whether an item up to the function declares them, or a function before it does.
    pub(crate) fn look_up_symbols(&mut self, statement: Statement) {
        let mut found = alloc::vec::Vec::new();
        found.extend(self.body().walk(statement));
        self.look_up_symbols_of(&found);
    }

    /// The same for operands.
    pub(crate) fn look_up_symbols_of(&mut self, operands: &[Operand]) {
        for &operand in operands {
            if let Operand::Symbol(symbol) = operand
                && self.seen.insert(symbol)
            {
                if !self.is_declared(symbol) {
                    self.undeclared.insert(symbol);
                }
                // What is declared in the function later has another name than all symbols.
                if self.is_repeated(symbol) {
                    self.repeated.insert(symbol);
                }
            }
        }
    }

    /// Whether something in the function has the name of a symbol, or may have it as a member.
    fn is_repeated(&self, symbol: SymbolId) -> bool {
        let Some(symbol) = self.module.symbols().get(symbol) else {
            return false;
        };
        let mut names = TakenNames::default();
        let name = self.spelled(symbol.name, symbol.number);
        names.add(name.as_bytes(), NameForm::Plain);
        let conflicts = |(name, form)| names.conflicts(self.module.name_bytes(name), form);
        body_names(self.body()).any(conflicts)
    }

    /// Most symbols are declared early: the search starts at the first item.
    fn is_declared(&self, symbol: SymbolId) -> bool {
        let module = &*self.module;
        let kind = module.symbols().get(symbol).map(|s| s.kind);
        let tables = module.declarations();
        for (_, item) in module.items() {
            let declares = match item {
                // All members of a range have the kind of the first.
                Item::Decl(id) => {
                    let mut all = tables.declarators(id).iter();
                    matches!(kind, Some(SymbolKind::Variable(_, decl)) if decl == id)
                        || all.any(|d| d.binding == Binding::Symbol(symbol))
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

    /// Whether a function is declared inside an earlier one. Linear in the module.
    fn is_declared_inside(&self, symbol: SymbolId) -> bool {
        let module = &*self.module;
        let items = module.items().map(|(_, item)| item);
        let before = items.take_while(|item| *item != Item::Function(self.function));
        let bodies = before.filter_map(|item| match item {
            Item::Function(id) => module.body(id),
            _ => None,
        });
        let mut inner = bodies.flat_map(Body::functions);
        inner.any(|id| self.is_function(id, symbol))
    }

    /// Whether a function has this name.
    fn is_function(&self, id: FuncId, symbol: SymbolId) -> bool {
        self.module.functions().get(id).and_then(|f| f.symbol) == Some(symbol)
    }

    /// A symbol is declared before the function or, as functions may be, inside it or an earlier one.
    pub(crate) fn check_symbol_visible(&self, key: u64, symbol: SymbolId) -> Result<(), EditError> {
        let body = self.body();
        let known = self.module.symbols().get(symbol);
        let known = known.ok_or(EditError::UnknownId)?;
        let hidden = || Err(EditError::Hidden(self.spelled(known.name, known.number)));
        if self.repeated.contains(symbol) {
            let name = self.spelled(known.name, known.number);
            if self.scope_of_name(key, &name).is_some() {
                return hidden();
            }
        }
        if !self.undeclared.contains(symbol) {
            return Ok(());
        }
        if let SymbolKind::Function(_) = known.kind {
            let is_it = |(_, s): &(StmtId, Statement)| matches!(s, Statement::Function(id) if self.is_function(*id, symbol));
            let declared = body.statements().find(is_it);
            if declared.is_some_and(|(stmt, _)| ptx_ir::raw::stmt_key(body, stmt) < key) {
                return Ok(());
            }
        }
        hidden()
    }
}

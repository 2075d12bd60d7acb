//! Whether a symbol of the module is declared before the function that uses it.

use ptx_ir::{Binding, Item, Operand, Statement, StmtId, SymbolId, SymbolKind};

use crate::{EditError, Editor};

impl Editor<'_> {
    /// Looks up the symbols that a statement mentions: whether an item up to the function declares them.
    pub(crate) fn look_up_symbols(&mut self, statement: Statement) {
        let mut found = alloc::vec::Vec::new();
        self.body().mentions(statement, &mut found);
        self.look_up_symbols_of(&found);
    }

    /// The same for operands.
    pub(crate) fn look_up_symbols_of(&mut self, operands: &[Operand]) {
        for &operand in operands {
            if let Operand::Symbol(symbol) = operand
                && self.seen.insert(symbol)
                && !self.is_declared(symbol)
            {
                self.undeclared.insert(symbol);
            }
        }
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
        false
    }

    /// A symbol is declared before the function or, as functions may be, inside it or an earlier one.
    pub(crate) fn check_symbol_visible(&self, key: u64, symbol: SymbolId) -> Result<(), EditError> {
        let body = self.body();
        let known = self.module.symbols().get(symbol);
        let known = known.ok_or(EditError::UnknownId)?;
        if !self.undeclared.contains(symbol) {
            return Ok(());
        }
        if let SymbolKind::Function(function) = known.kind {
            let is_it = |(_, s): &(StmtId, Statement)| *s == Statement::Function(function);
            let visible = match body.statements().find(is_it) {
                Some((stmt, _)) => ptx_ir::raw::stmt_key(body, stmt) < key,
                // Functions are numbered in the order of the text.
                None => {
                    let mut items = self.module.items();
                    function < self.function && !items.any(|(_, i)| i == Item::Function(function))
                }
            };
            if visible {
                return Ok(());
            }
        }
        let name = self.module.name(known.name);
        Err(EditError::Hidden(alloc::string::String::from(name)))
    }
}

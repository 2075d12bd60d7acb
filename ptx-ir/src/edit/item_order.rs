//! Items of the module in another order.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::{EditError, operand_walk};
use crate::body::Statement;
use crate::operand::{Operand, OperandPool};
use crate::{Item, ItemId, Module, SymbolId};

impl Module {
    /// Moves an item, with its comments, behind another one. What it declares still stands before all who mention it, and what
    /// it mentions before it. The header, debug sections, what was not understood, and functions that declare others inside stay
    /// where they are. Linear in the module.
    ///
    /// ```
    /// let text = b".version 8.0 .target sm_80\n// the first\n.entry a() { ret; }\n.entry b() { ret; }\n";
    /// let mut module = ptx_parse::parse(text).module;
    /// let items: Vec<_> = module.items().map(|(id, _)| id).collect();
    /// if let [.., a, b] = items[..] {
    ///     module.move_item(a, b)?;
    /// }
    /// let now = String::from_utf8(ptx_print::verbatim(&module))?;
    /// assert!(now.ends_with("\n.entry b() { ret; }\n// the first\n.entry a() { ret; }\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn move_item(&mut self, id: ItemId, at: ItemId) -> Result<(), EditError> {
        let item = self.item_or_error(id)?;
        if id == at {
            return Ok(());
        }
        let inner = |f: crate::FuncId| {
            self.body(f).is_some_and(|b| {
                b.statements()
                    .any(|(_, s)| matches!(s, Statement::Function(_)))
            })
        };
        let fixed = match item {
            Item::Section(_) | Item::Opaque(_) => true,
            Item::Function(f) => inner(f),
            other => self.is_header(other),
        };
        if fixed {
            return Err(EditError::Immovable);
        }
        self.may_be_behind(at)?;
        // Of several declarations of one name, which comes first matters.
        let declared = self.declared_by(item);
        let others = |module: &Self| -> Vec<ItemId> {
            let all = module.items();
            all.filter(|(_, i)| module.declared_by(*i).iter().any(|s| declared.contains(s)))
                .map(|(id, _)| id)
                .collect()
        };
        let before = others(self);
        let previous = self.item_edits().layout.spot(id);
        self.item_edits().layout.insert_after(id, Some(at));
        let seen = match others(self) == before {
            true => self.users_see(item),
            false => Err(EditError::Immovable),
        };
        if let Err(e) = seen {
            self.item_edits().layout.restore(id, previous);
            return Err(e);
        }
        self.directive_revision = self.revision;
        Ok(())
    }

    /// Whether everything that an item declares or mentions is declared before it is mentioned.
    fn users_see(&self, moved: Item) -> Result<(), EditError> {
        let mut unseen: BTreeSet<SymbolId> = self.declared_by(moved).into_iter().collect();
        self.each_mention(moved, |s| {
            unseen.insert(s);
        });
        for (_, item) in self.items() {
            for symbol in self.declared_by(item) {
                unseen.remove(&symbol);
            }
            if unseen.is_empty() {
                break;
            }
            if let Item::Function(f) = item
                && let Some(body) = self.body(f)
            {
                for (_, statement) in body.statements() {
                    if let Statement::Function(inner) = statement
                        && let Some(symbol) = self.functions.get(inner).and_then(|f| f.symbol)
                    {
                        unseen.remove(&symbol);
                    }
                }
            }
            let mut early = None;
            self.each_mention(item, |s| early = early.or(unseen.get(&s).copied()));
            if let Some(symbol) = early.and_then(|s| self.symbols.get(s)) {
                return Err(EditError::Hidden(String::from(self.name(symbol.name))));
            }
        }
        Ok(())
    }

    /// Calls a function with every symbol that an item mentions.
    fn each_mention(&self, item: Item, mut see: impl FnMut(SymbolId)) {
        let mut all = |pool: &OperandPool, todo| {
            operand_walk::any(pool, todo, |operand| {
                if let Operand::Symbol(symbol) = operand {
                    see(symbol);
                }
                false
            });
        };
        match item {
            Item::Decl(id) => all(
                &self.pool,
                operand_walk::of_declaration(&self.declarations, id),
            ),
            Item::Directive(id) => {
                if let Some(directive) = self.directives.get(id) {
                    let mut todo = Vec::new();
                    operand_walk::of_range(&self.pool, directive.args, &mut todo);
                    all(&self.pool, todo);
                }
            }
            Item::Function(id) => {
                if let Some(body) = self.body(id) {
                    for (_, statement) in body.statements() {
                        all(&body.pool, operand_walk::of_statement(body, statement));
                    }
                }
            }
            _ => {}
        }
    }
}

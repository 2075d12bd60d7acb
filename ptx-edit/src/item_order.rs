//! Moving the items of a module.

use alloc::vec::Vec;

use ptx_ir::raw::EntitySet;
use ptx_ir::{Body, Item, ItemId, Module, Operand, SymbolId};

use crate::error::symbol_name;
use crate::items::{check_item, check_place_after};
use crate::{EditError, ModuleEditor};

impl ModuleEditor<'_> {
    /// Moves an item, with its comments, after another one. Its declarations stay before all their uses, and it
    /// stays after the declarations that it uses. Linear in the module.
    ///
    /// ```
    /// use ptx_edit::EditModule as _;
    /// let text = b".version 8.0 .target sm_80\n// the first\n.entry a() { ret; }\n.entry b() { ret; }\n";
    /// let mut module = ptx_parse::parse(text).module;
    /// let items: Vec<_> = module.items().map(|(id, _)| id).collect();
    /// if let [.., a, b] = items[..] {
    ///     module.editor().move_item(a, b)?;
    /// }
    /// let now = String::from_utf8(ptx_print::verbatim(&module))?;
    /// assert!(now.ends_with("\n.entry b() { ret; }\n// the first\n.entry a() { ret; }\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::Immovable`] for the header, debug sections, opaque items, and functions that declare others inside;
    /// [`EditError::Hidden`] if a name would be used before it is declared.
    pub fn move_item(&mut self, id: ItemId, predecessor: ItemId) -> Result<(), EditError> {
        let item = check_item(self.module, id)?;
        if id == predecessor {
            return Ok(());
        }
        let immovable = match item {
            Item::Section(_) | Item::Opaque(_) => true,
            Item::Function(f) => self
                .module
                .body(f)
                .is_some_and(|b| b.functions().next().is_some()),
            other => self.module.is_header(other),
        };
        if immovable {
            return Err(EditError::Immovable);
        }
        check_place_after(self.module, predecessor)?;
        // The first of several declarations of a name differs from the others: their order must not change.
        let symbols = self.module.declared_symbols(item);
        let old_order = items_that_declare(self.module, &symbols);
        let position = self.edits().position(id);
        self.edits().insert_after(id, Some(predecessor));
        let result = if items_that_declare(self.module, &symbols) == old_order {
            check_declared_before_use(self.module, item)
        } else {
            Err(EditError::Immovable)
        };
        if let Err(e) = result {
            self.edits().restore(id, position);
            return Err(e);
        }
        self.directives_changed();
        Ok(())
    }
}

/// The items that declare one of these symbols, in the order of the module.
fn items_that_declare(module: &Module, symbols: &[SymbolId]) -> Vec<ItemId> {
    module
        .items()
        .filter(|(_, item)| {
            let declared = module.declared_symbols(*item);
            declared.iter().any(|s| symbols.contains(s))
        })
        .map(|(id, _)| id)
        .collect()
}

/// Checks that every symbol which an item declares or uses is declared before it is used.
fn check_declared_before_use(module: &Module, moved: Item) -> Result<(), EditError> {
    let mut not_yet_declared: EntitySet<SymbolId> =
        module.declared_symbols(moved).into_iter().collect();
    each_use(module, moved, |s| {
        not_yet_declared.insert(s);
    });
    for (_, item) in module.items() {
        for symbol in module.declared_symbols(item) {
            not_yet_declared.remove(symbol);
        }
        if not_yet_declared.is_empty() {
            break;
        }
        if let Item::Function(f) = item {
            for inner in module.body(f).into_iter().flat_map(Body::functions) {
                let symbol = module.functions().get(inner).and_then(|f| f.symbol);
                symbol.map(|s| not_yet_declared.remove(s));
            }
        }
        let mut undeclared_use = None;
        each_use(module, item, |s| {
            undeclared_use = undeclared_use.or(not_yet_declared.contains(s).then_some(s))
        });
        if let Some(symbol) = undeclared_use {
            return Err(EditError::Hidden(symbol_name(module, symbol)));
        }
    }
    Ok(())
}

/// Calls `visit` with every symbol that an item uses.
fn each_use(module: &Module, item: Item, mut visit: impl FnMut(SymbolId)) {
    let mut visit_operand = |operand: Operand| {
        if let Operand::Symbol(symbol) = operand {
            visit(symbol);
        }
    };
    match item {
        Item::Decl(id) => {
            let walk = module.declarations().walk(id, module.pool());
            walk.for_each(&mut visit_operand);
        }
        Item::Directive(id) => {
            if let Some(directive) = module.directives().get(id) {
                let walk = module.pool().walk(directive.args);
                walk.for_each(&mut visit_operand);
            }
        }
        Item::Function(id) => {
            if let Some(body) = module.body(id) {
                for (_, statement) in body.statements() {
                    body.walk(statement).for_each(&mut visit_operand);
                }
            }
        }
        _ => {}
    }
}

//! Moving the items of a module.

use alloc::vec::Vec;

use ptx_ir::{Body, EntitySet, Item, ItemId, Module, Operand, SymbolId};

use crate::error::symbol_name;
use crate::items::{check_item, check_place_after};
use crate::{EditError, ModuleEditor};

impl ModuleEditor<'_> {
    /// Moves an item, with its comments, after another one. What it declares stays before everything that uses it, and it
    /// stays after what it uses. Linear in the module.
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
    pub fn move_item(&mut self, id: ItemId, at: ItemId) -> Result<(), EditError> {
        let item = check_item(self.module, id)?;
        if id == at {
            return Ok(());
        }
        let immovable = match item {
            Item::Section(_) | Item::Opaque(_) => true,
            Item::Function(f) => {
                let body = self.module.body(f);
                body.is_some_and(|b| b.functions().next().is_some())
            }
            other => self.module.is_header(other),
        };
        if immovable {
            return Err(EditError::Immovable);
        }
        check_place_after(self.module, at)?;
        // Of several declarations of one name, which comes first matters.
        let declared = self.module.declared_symbols(item);
        let declares = |module: &Module| -> Vec<ItemId> {
            let is_it = |i: Item| {
                let symbols = module.declared_symbols(i);
                symbols.iter().any(|s| declared.contains(s))
            };
            let all = module.items().filter(|(_, i)| is_it(*i));
            all.map(|(id, _)| id).collect()
        };
        let before = declares(self.module);
        let position = self.edits().position(id);
        self.edits().insert_after(id, Some(at));
        let visible = match declares(self.module) == before {
            true => check_declared_before_use(self.module, item),
            false => Err(EditError::Immovable),
        };
        if let Err(e) = visible {
            self.edits().restore(id, position);
            return Err(e);
        }
        self.directives_changed();
        Ok(())
    }
}

/// Checks that everything which an item declares or uses is declared before it is used.
fn check_declared_before_use(module: &Module, moved: Item) -> Result<(), EditError> {
    let mut unseen: EntitySet<SymbolId> = module.declared_symbols(moved).into_iter().collect();
    each_use(module, moved, |s| {
        unseen.insert(s);
    });
    for (_, item) in module.items() {
        for symbol in module.declared_symbols(item) {
            unseen.remove(symbol);
        }
        if unseen.is_empty() {
            break;
        }
        if let Item::Function(f) = item {
            for inner in module.body(f).into_iter().flat_map(Body::functions) {
                let symbol = module.functions().get(inner).and_then(|f| f.symbol);
                symbol.map(|s| unseen.remove(s));
            }
        }
        let mut early = None;
        each_use(module, item, |s| {
            early = early.or(unseen.contains(s).then_some(s))
        });
        if let Some(symbol) = early {
            return Err(EditError::Hidden(symbol_name(module, symbol)));
        }
    }
    Ok(())
}

/// Calls a function with every symbol that an item uses.
fn each_use(module: &Module, item: Item, mut see: impl FnMut(SymbolId)) {
    let mut operand = |operand: Operand| {
        if let Operand::Symbol(symbol) = operand {
            see(symbol);
        }
    };
    match item {
        Item::Decl(id) => {
            let walk = module.declarations().walk(id, module.pool());
            walk.for_each(&mut operand);
        }
        Item::Directive(id) => {
            if let Some(directive) = module.directives().get(id) {
                let walk = module.pool().walk(directive.args);
                walk.for_each(&mut operand);
            }
        }
        Item::Function(id) => {
            if let Some(body) = module.body(id) {
                for (_, statement) in body.statements() {
                    body.walk(statement).for_each(&mut operand);
                }
            }
        }
        _ => {}
    }
}

//! Finds the declarations of a module that a text depends on, by the names in the text.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Binding, DeclId, EntityId as _, FuncId, Item, ItemId, Module, SymbolId};

/// The declarations of a module by the names that they declare.
pub(crate) struct Declarations<'m> {
    module: &'m Module,
    by_name: BTreeMap<Cow<'m, str>, Vec<ItemId>>,
    /// Whether a name begins with a byte.
    begins: [bool; 256],
    kinds: Vec<Item>,
}

/// The part of a function that matters to functions that reference it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Parts {
    Header,
    All,
}

impl<'m> Declarations<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        let mut new = Self {
            module,
            by_name: BTreeMap::new(),
            begins: [false; 256],
            kinds: vec![
                Item::Removed;
                module
                    .items()
                    .map(|(id, _)| id.index() + 1)
                    .max()
                    .unwrap_or(0)
            ],
        };
        for (item, kind) in module.items() {
            new.kinds[item.index()] = kind;
            match kind {
                Item::Decl(decl) => new.variable(item, decl),
                Item::Function(function) => new.function(item, function),
                _ => {}
            }
        }
        new
    }

    fn add(&mut self, name: Cow<'m, str>, item: ItemId) {
        if let Some(first) = name.bytes().next() {
            self.begins[usize::from(first)] = true;
            self.by_name.entry(name).or_default().push(item);
        }
    }

    fn function(&mut self, item: ItemId, id: FuncId) {
        if let Some(function) = self.module.functions().get(id) {
            self.add(Cow::Borrowed(self.module.name(function.name)), item);
        }
    }

    fn variable(&mut self, item: ItemId, id: DeclId) {
        for declarator in self.module.declarations().declarators(id) {
            let Binding::Symbol(symbol) = declarator.binding else {
                continue;
            };
            self.add(symbol_name(self.module, symbol), item);
        }
    }

    /// The declarations that a text depends on, directly or through others.
    pub(crate) fn mentioned(&self, text: &[u8], parts: Parts) -> BTreeSet<ItemId> {
        let mut found = BTreeSet::new();
        let mut work = self.named(text);
        while let Some(item) = work.pop() {
            if found.insert(item) {
                work.extend(self.named(&self.text(item, parts)));
            }
        }
        found
    }

    /// The text of the part of an item that others depend on, as it is now.
    pub(crate) fn text(&self, item: ItemId, parts: Parts) -> Cow<'m, [u8]> {
        match parts {
            Parts::Header => ptx_print::verbatim_header(self.module, item),
            Parts::All => ptx_print::verbatim_item(self.module, item),
        }
    }

    /// The declarations of the names in a text.
    fn named(&self, text: &[u8]) -> Vec<ItemId> {
        let is_name = |kind| kind == TokenKind::Ident;
        let names = Lexer::fragment(text).filter(|token| is_name(token.kind));
        let mut found = Vec::new();
        for token in names {
            let name = token.span.of(text);
            let begins = name.first().map(|b| self.begins[usize::from(*b)]);
            if begins == Some(true)
                && let Ok(name) = core::str::from_utf8(name)
                && let Some(items) = self.by_name.get(name)
            {
                found.extend(items);
            }
        }
        found
    }
}

/// The name of a symbol, as it is written where it is used.
pub(crate) fn symbol_name(module: &Module, symbol: SymbolId) -> Cow<'_, str> {
    let Some(symbol) = module.symbols().get(symbol) else {
        return Cow::Borrowed("");
    };
    let name = module.name(symbol.name);
    match symbol.number {
        Some(number) => Cow::Owned(format!("{name}{number}")),
        None => Cow::Borrowed(name),
    }
}

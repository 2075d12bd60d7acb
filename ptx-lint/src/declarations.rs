//! Finds the declarations of a module that a text depends on, by the names in the text.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Binding, DeclId, FuncId, Item, ItemId, Module, SymbolId};

/// The declarations of a module by the names that they declare.
pub(crate) struct Declarations<'m> {
    module: &'m Module,
    by_name: BTreeMap<Cow<'m, str>, Vec<ItemId>>,
    /// Entry `b` is `true` if a declared name begins with the byte `b`. Most identifiers of a text are rejected by it without a search.
    is_first_byte: [bool; 256],
}

/// The part of an item that matters to the code that references it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum ItemPart {
    /// The item without the body of a function.
    Header,
    /// The complete item.
    Complete,
}

impl<'m> Declarations<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        let mut declarations = Self {
            module,
            by_name: BTreeMap::new(),
            is_first_byte: [false; 256],
        };
        for (id, item) in module.items() {
            match item {
                Item::Decl(declaration) => declarations.add_variables(id, declaration),
                Item::Function(function) => declarations.add_function(id, function),
                _ => {}
            }
        }
        declarations
    }

    fn add(&mut self, name: Cow<'m, str>, item: ItemId) {
        if let Some(first_byte) = name.bytes().next() {
            self.is_first_byte[usize::from(first_byte)] = true;
            self.by_name.entry(name).or_default().push(item);
        }
    }

    fn add_function(&mut self, item: ItemId, id: FuncId) {
        if let Some(function) = self.module.functions().get(id) {
            self.add(Cow::Borrowed(self.module.name(function.name)), item);
        }
    }

    fn add_variables(&mut self, item: ItemId, id: DeclId) {
        for declarator in self.module.declarations().declarators(id) {
            let Binding::Symbol(symbol) = declarator.binding else {
                continue;
            };
            self.add(symbol_name(self.module, symbol), item);
        }
    }

    /// Returns the declarations that a text depends on, directly or through the given part of other declarations.
    pub(crate) fn dependencies(&self, text: &[u8], part: ItemPart) -> BTreeSet<ItemId> {
        let mut dependencies = BTreeSet::new();
        let mut worklist = self.declared_names(text);
        while let Some(item) = worklist.pop() {
            if dependencies.insert(item) {
                worklist.extend(self.declared_names(&self.text(item, part)));
            }
        }
        dependencies
    }

    /// Returns the current text of a part of an item.
    pub(crate) fn text(&self, item: ItemId, part: ItemPart) -> Cow<'m, [u8]> {
        match part {
            ItemPart::Header => ptx_print::verbatim_header(self.module, item),
            ItemPart::Complete => ptx_print::verbatim_item(self.module, item),
        }
    }

    /// Returns the items that declare the names in a text.
    fn declared_names(&self, text: &[u8]) -> Vec<ItemId> {
        let mut items = Vec::new();
        for token in Lexer::fragment(text).filter(|token| token.kind == TokenKind::Ident) {
            let name = token.span.of(text);
            let first_byte = name.first().copied();
            if first_byte.is_some_and(|byte| self.is_first_byte[usize::from(byte)])
                && let Ok(name) = core::str::from_utf8(name)
                && let Some(declared) = self.by_name.get(name)
            {
                items.extend(declared);
            }
        }
        items
    }
}

/// Returns the name of a symbol, as it is written where it is used.
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

//! The records of a module while it is built.
//!
//! Names, mnemonics, functions, declarations and bodies are numbered in the order in which they are made, also those that
//! are refused or abandoned later. [`Draft::finish`] copies what the module has in the end.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use ptx_ir::raw::{self, RawBody, RawModule, SHARED_TEXT, push_item, set_source};
use ptx_ir::{
    Binding, Body, Diagnostic, DirectiveStmt, FuncId, Function, FunctionKind, Item, Module, NameId,
    Operand, Span, StmtId, StmtSpan, Symbol, SymbolId, SymbolKind,
};
use ptx_isa::{Directive, Opcode};
use ptx_verify::StatementChecker;

use crate::copy::{Copier, NamedOperands, Spellings};
use crate::mnemonic::{Mnemonic, RecentMnemonics, Signature};
use crate::text::{ModuleText, Text};

/// Statements in the order of the text.
pub(crate) type Order = Vec<(StmtId, StmtSpan)>;

/// The body of a function that was built.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) body: Body,
    /// The order in which its statements are to be copied; `None` if it is numbered like a parsed one.
    pub(crate) order: Option<Order>,
    /// Whether it mentions names of the module.
    pub(crate) has_symbols: bool,
}

/// An item and its place in the text, counted from the end of the header.
#[derive(Debug)]
struct DraftItem {
    item: Item,
    span: StmtSpan,
    /// Its body, unless that is in the module.
    definition: Option<Box<Definition>>,
}

#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) module: Module,
    pub(crate) checker: StatementChecker,
    /// The function whose body the checker entered.
    pub(crate) entered: u32,
    /// The items of the header.
    header: Module,
    items: Vec<DraftItem>,
    /// The tables of successive bodies, which share allocations; `None` while a function is built.
    storage: Option<Body>,
    /// The first item whose body is not attached to its allocations, and the end of the text before it.
    unattached: (usize, usize),
    recent: RecentMnemonics,
    /// Whether the header changed after something was checked.
    is_header_late: bool,
}

impl Draft {
    pub(crate) fn new() -> Self {
        let module = Module::default();
        Self {
            checker: StatementChecker::new(&module),
            module,
            entered: 0,
            header: Module::default(),
            items: Vec::new(),
            storage: Some(Body::default()),
            unattached: (0, 0),
            recent: RecentMnemonics::default(),
            is_header_late: false,
        }
    }

    /// Replaces the header.
    pub(crate) fn set_header(&mut self, text: &str) {
        self.is_header_late |= !self.module.functions().is_empty() || !self.items.is_empty();
        self.header = ptx_parse::parse_str(text).module;
        *self.module.header_mut() = self.header.header();
        let mut copier = Copier::new(&self.header, &mut self.module, Spellings::Copied);
        for (_, item) in self.header.items() {
            copier.item(item, StmtSpan::new(Span::default(), false));
        }
        self.checker = StatementChecker::new(&self.module);
        self.entered = 0;
    }

    /// Writes a mnemonic.
    #[inline]
    pub(crate) fn mnemonic(&mut self, mnemonic: &mut Mnemonic, out: &mut Text) -> Signature {
        match self.recent.write(mnemonic, out) {
            Some(known) => known,
            None => self.other_mnemonic(mnemonic, out),
        }
    }

    #[cold]
    fn other_mnemonic(&mut self, mnemonic: &mut Mnemonic, out: &mut Text) -> Signature {
        let mut packed = mnemonic.clone();
        let text = mnemonic.text();
        out.push_str(text);
        let id = self.module.signatures_mut().intern(text.as_bytes());
        self.checker.extend_mnemonics(&self.module);
        let opcode = self.module.signature(id).opcode();
        let takes_lists = opcode.is_none_or(Opcode::takes_lists);
        let known = Signature { id, takes_lists };
        self.recent.add(&mut packed, known);
        known
    }

    pub(crate) fn intern(&mut self, text: &str) -> NameId {
        NameId::new(self.module.names_mut().intern(text.as_bytes()).0)
    }

    // --- names of the module ---

    pub(crate) fn add_symbol(
        &mut self,
        name: NameId,
        number: Option<u32>,
        kind: SymbolKind,
    ) -> SymbolId {
        let mut symbol = Symbol::new(name, kind);
        symbol.number = number;
        let id = self.module.symbols_mut().push(symbol);
        self.checker.extend_symbols(&self.module);
        id
    }

    /// Adds a function, under a name that it shares with its declarations if there are any.
    pub(crate) fn add_function(
        &mut self,
        name: &str,
        kind: FunctionKind,
        declared: Option<SymbolId>,
    ) -> (FuncId, SymbolId) {
        let name = self.intern(name);
        let mut function = Function::EMPTY;
        function.name = name;
        function.kind = kind;
        let id = self.module.functions_mut().push(function);
        let symbol = match declared {
            Some(symbol) => symbol,
            None => self.add_symbol(name, None, SymbolKind::Function(id)),
        };
        if let Some(function) = self.module.functions_mut().get_mut(id) {
            function.symbol = Some(symbol);
        }
        (id, symbol)
    }

    // --- bodies ---

    /// Takes the tables for the body of a function; `None` if another function is being built.
    pub(crate) fn take_storage(&mut self) -> Option<Body> {
        self.storage.take()
    }

    /// Gives back the tables, from which bodies of a text of this length were split off.
    pub(crate) fn return_storage(&mut self, storage: Body, text_len: usize) {
        let storage = self.storage.insert(storage);
        // Statements of a body that is being built count from the start of their text.
        *storage.base_mut() = 0;
        let (first, start) = self.unattached;
        if text_len - start >= SHARED_TEXT {
            raw::share(storage, bodies(&mut self.items, first));
            self.unattached = (self.items.len(), text_len);
        }
    }

    /// Whether no function is being built.
    pub(crate) fn has_storage(&self) -> bool {
        self.storage.is_some()
    }

    // --- items ---

    fn push(&mut self, item: Item, span: Span, definition: Option<Box<Definition>>) {
        self.items.push(DraftItem {
            item,
            span: StmtSpan::new(span, false),
            definition,
        });
    }

    /// Adds a function whose body is complete.
    pub(crate) fn push_definition(&mut self, id: FuncId, span: Span, definition: Definition) {
        let function = self.module.functions().get(id);
        let symbol = function.and_then(|f| f.symbol);
        if let Some(symbol) = symbol.and_then(|s| self.module.symbols_mut().get_mut(s)) {
            symbol.kind = SymbolKind::Function(id);
        }
        self.push(Item::Function(id), span, Some(Box::new(definition)));
    }

    pub(crate) fn push_function(&mut self, id: FuncId, span: Span) {
        self.push(Item::Function(id), span, None);
    }

    pub(crate) fn push_alias(&mut self, alias: SymbolId, of: SymbolId, span: Span) {
        let operands = [alias, of].map(Operand::Symbol);
        let stmt = DirectiveStmt::new(Directive::Alias, self.module.pool_mut().extend(&operands));
        let id = self.module.directives_mut().push(stmt);
        self.push(Item::Directive(id), span, None);
    }

    /// Copies the items of a module that begin at or after `start`; `at` is where the text of that place is. Names that
    /// `known` knows are there already. Gives the names that the items have, and their spellings.
    pub(crate) fn import(
        &mut self,
        parsed: &Module,
        start: usize,
        at: usize,
        known: &dyn Fn(&str) -> Option<SymbolId>,
    ) -> NamedOperands {
        let mut copier = Copier::new(parsed, &mut self.module, Spellings::Copied);
        for (id, symbol) in parsed.symbols().iter() {
            // A range declares its members in each of its declarations.
            if symbol.number.is_none()
                && let Some(to) = known(parsed.name(symbol.name))
            {
                copier.map_symbol(id, to);
            }
        }
        let mut items = Vec::new();
        for (id, item) in parsed.items() {
            let span = parsed.span(id);
            if (span.start as usize) < start {
                continue;
            }
            let moved = |at_start: u32| (at_start as usize - start + at) as u32;
            let comments = parsed.item_spans().get(id.as_u32() as usize);
            let comments = comments.is_some_and(|s| s.has_comments());
            let place = Span::new(moved(span.start), moved(span.end));
            if let Some(item) = copier.import_item(item, moved) {
                let span = StmtSpan::new(place, comments);
                let definition = None;
                items.push(DraftItem {
                    item,
                    span,
                    definition,
                });
            }
        }
        let symbols = copier.copied_symbols();
        self.items.extend(items);
        self.checker.extend_symbols(&self.module);
        symbols
    }

    /// Copies the declaration of a function that begins at or after `start`, but adds no item.
    pub(crate) fn import_function(
        &mut self,
        parsed: &Module,
        start: usize,
        symbol: Option<SymbolId>,
    ) -> Option<(FuncId, SymbolId)> {
        let mut items = parsed.items();
        let function = items.find_map(|(id, item)| match item {
            Item::Function(function) if parsed.span(id).start as usize >= start => Some(function),
            _ => None,
        })?;
        let mut copier = Copier::new(parsed, &mut self.module, Spellings::Copied);
        if let (Some(of), Some(to)) = (parsed.functions().get(function)?.symbol, symbol) {
            copier.map_symbol(of, to);
        }
        let id = copier.function(function)?;
        self.checker.extend_symbols(&self.module);
        Some((id, self.module.functions().get(id)?.symbol?))
    }

    /// Gives a function that exists already the header of the function that begins at or after `start`.
    pub(crate) fn set_function_header(
        &mut self,
        parsed: &Module,
        start: usize,
        record: FuncId,
        parameters: impl IntoIterator<Item = (Option<NameId>, Binding)>,
    ) {
        let mut items = parsed.items();
        let function = items.find_map(|(id, item)| match item {
            Item::Function(function) if parsed.span(id).start as usize >= start => Some(function),
            _ => None,
        });
        if let Some(function) = function {
            let mut copier = Copier::new(parsed, &mut self.module, Spellings::Copied);
            copier.header(function, record, parameters);
        }
    }

    // --- the end ---

    /// The module over its text.
    pub(crate) fn finish(mut self, header: usize, text: ModuleText) -> Module {
        if let Some(storage) = self.storage.take() {
            raw::finish(storage, bodies(&mut self.items, self.unattached.0));
        }
        let mut module = Module::default();
        set_source(&mut module, Some(text.into_bytes()));
        *module.header_mut() = self.header.header();
        *module.names_mut() = mem::take(self.module.names_mut());
        *module.signatures_mut() = mem::take(self.module.signatures_mut());
        let mut copier = Copier::new(&self.header, &mut module, Spellings::Copied);
        for (id, item) in self.header.items() {
            copier.item(item, StmtSpan::new(self.header.span(id), false));
        }
        let start = header as u32;
        let mut copier = Copier::new(&self.module, &mut module, Spellings::Shared);
        for item in &mut self.items {
            let span = StmtSpan::new(item.span.span().shifted(start), item.span.has_comments());
            match (item.item, &mut item.definition) {
                (Item::Function(id), Some(definition)) => match &definition.order {
                    Some(order) => {
                        let order = order.iter().copied();
                        copier.final_function(id, &definition.body, order, span, start);
                    }
                    None => copier.final_body(id, definition, span, start),
                },
                (item, _) => copier.final_item(item, span, start),
            }
        }
        module
    }

    /// The errors of the module as a whole. Statements were checked one by one, unless the header changed since.
    pub(crate) fn errors(module: &Module, is_header_late: bool) -> Vec<Diagnostic> {
        let mut found = match is_header_late {
            true => ptx_verify::verify(module, &ptx_verify::Options::default()),
            false => ptx_verify::verify_items(module),
        };
        found.retain(|d| d.severity == ptx_ir::Severity::Error);
        found
    }

    pub(crate) fn is_header_late(&self) -> bool {
        self.is_header_late
    }
}

/// The bodies of the items from number `first` on.
fn bodies(items: &mut [DraftItem], first: usize) -> impl Iterator<Item = &mut Body> {
    let definitions = items
        .iter_mut()
        .skip(first)
        .filter_map(|i| i.definition.as_mut());
    definitions.map(|d| &mut d.body)
}

impl<'f> Copier<'f, '_> {
    /// Copies an item that was parsed, with its body.
    fn import_item(&mut self, item: Item, moved: impl Fn(u32) -> u32) -> Option<Item> {
        let Item::Function(id) = item else {
            return self.copy_item(item);
        };
        let Some(body) = self.source().body(id) else {
            return self.function(id).map(Item::Function);
        };
        let new = self.definition(id, body, in_order(body))?;
        self.set_extent(new, moved(body.base()), body.end());
        Some(Item::Function(new))
    }

    fn final_item(&mut self, item: Item, span: StmtSpan, shift: u32) {
        match item {
            Item::Function(id) => match self.source().body(id) {
                Some(body) => self.final_function(id, body, in_order(body), span, shift),
                None => self.item(item, span),
            },
            _ => self.item(item, span),
        }
    }

    fn final_function(
        &mut self,
        id: FuncId,
        body: &'f Body,
        statements: impl IntoIterator<Item = (StmtId, StmtSpan)>,
        span: StmtSpan,
        shift: u32,
    ) {
        if let Some(new) = self.definition(id, body, statements) {
            self.set_extent(new, body.base() + shift, body.end());
            push_item(self.to, Item::Function(new), span);
        }
    }

    fn final_body(&mut self, id: FuncId, of: &mut Definition, span: StmtSpan, shift: u32) {
        let mut body = mem::take(&mut of.body);
        *body.base_mut() += shift;
        if let Some(new) = self.move_definition(id, body, of.has_symbols) {
            push_item(self.to, Item::Function(new), span);
        }
    }

    /// Sets where the body of a function is.
    fn set_extent(&mut self, id: FuncId, base: u32, end: u32) {
        let body = self.to.functions().get(id).and_then(|f| f.body);
        if let Some(body) = body.and_then(|b| self.to.bodies_mut().get_mut(b)) {
            *body.base_mut() = base;
            *body.end_mut() = end;
            *body.closed_mut() = true;
        }
    }
}

/// The statements of a body whose statements are in order.
fn in_order(body: &Body) -> impl Iterator<Item = (StmtId, StmtSpan)> + '_ {
    let spans = body.stmt_spans();
    let place = move |id: StmtId| spans.get(id.as_u32() as usize).copied();
    body.statements()
        .filter_map(move |(id, _)| Some((id, place(id)?)))
}

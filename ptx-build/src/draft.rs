//! The records of a module while it is built.
//!
//! Names, mnemonics, functions and declarations are numbered in the order in which they are made, also those that are
//! abandoned later. If there are such leftovers, [`Draft::finish`] copies what the module has in the end.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use ptx_ir::raw::{RawModule, StmtSpan, push_item};
use ptx_ir::{
    Binding, Body, CommentPlace, Comments, Diagnostic, DirectiveStmt, FuncId, Function,
    FunctionKind, Item, ItemId, Module, NameId, Operand, Span, StmtId, Symbol, SymbolId,
    SymbolKind,
};
use ptx_isa::{Directive, Opcode};
use ptx_verify::StatementChecker;

use crate::copy::{Copier, NamedOperands, Relation, parameters};
use crate::mnemonic::{Mnemonic, RecentMnemonics, Signature};
use crate::sequence::comments_in;

#[derive(Debug)]
pub(crate) struct Draft {
    /// The module with the items so far; functions without items are being built, or were abandoned.
    pub(crate) module: Module,
    pub(crate) checker: StatementChecker,
    /// The function whose body the checker entered.
    pub(crate) entered: u32,
    /// The number of items of the header, which come first.
    header_len: usize,
    /// The comments since the last item.
    comments: Vec<String>,
    /// The number of functions that are neither finished nor abandoned.
    open_functions: u32,
    recent: RecentMnemonics,
    /// Whether the header changed after something was checked.
    is_header_late: bool,
    /// Whether the tables of the module have rows of abandoned functions, of an earlier header, or of members of ranges that no
    /// statement may mention.
    has_leftovers: bool,
}

impl Draft {
    pub(crate) fn new() -> Self {
        let module = Module::default();
        Self {
            checker: StatementChecker::new(&module),
            module,
            entered: 0,
            header_len: 0,
            comments: Vec::new(),
            open_functions: 0,
            recent: RecentMnemonics::default(),
            is_header_late: false,
            has_leftovers: false,
        }
    }

    /// Replaces the header.
    pub(crate) fn set_header(&mut self, text: &str) {
        let items: Vec<Item> = self.module.items().map(|(_, item)| item).collect();
        let body = items.get(self.header_len..).unwrap_or_default();
        if body.is_empty() && self.module.functions().is_empty() {
            self.module = Module::default();
            self.recent = RecentMnemonics::default();
        } else {
            (self.is_header_late, self.has_leftovers) = (true, true);
        }
        let parsed = ptx_parse::parse_str(text).module;
        *self.module.header_mut() = parsed.header();
        let mut copier = Copier::new(&parsed, &mut self.module, Relation::Separate);
        let header = parsed.items().filter_map(|(_, item)| copier.item(item));
        let header: Vec<Item> = header.collect();
        let comments = mem::take(self.module.comments_mut());
        self.module.items_mut().clear();
        self.module.origins_mut().clear();
        for item in header.iter().chain(body) {
            push_item(&mut self.module, *item, NOWHERE);
        }
        for (id, place, text) in comments.iter() {
            let index = id.map_or(0, ItemId::as_u32) as usize + header.len() - self.header_len;
            let id = ItemId::new(index as u32);
            self.module.comments_mut().push(Some(id), place, text);
        }
        self.header_len = header.len();
        self.checker = StatementChecker::new(&self.module);
        self.entered = 0;
    }

    /// The signature of a mnemonic.
    #[inline]
    pub(crate) fn mnemonic(&mut self, mnemonic: &mut Mnemonic) -> Signature {
        match self.recent.get(mnemonic) {
            Some(signature) => signature,
            None => self.other_mnemonic(mnemonic),
        }
    }

    #[cold]
    fn other_mnemonic(&mut self, mnemonic: &mut Mnemonic) -> Signature {
        let packed = mnemonic.clone();
        let id = (self.module.signatures_mut()).intern(mnemonic.text().as_bytes());
        self.checker.extend_mnemonics(&self.module);
        let opcode = self.module.signature(id).opcode();
        let takes_lists = opcode.is_none_or(Opcode::takes_lists);
        let signature = Signature { id, takes_lists };
        self.recent.add(&packed, signature);
        signature
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
        self.has_leftovers |= number.is_some();
        let mut symbol = Symbol::new(name, kind);
        symbol.number = number;
        let id = self.module.symbols_mut().push(symbol);
        self.checker.extend_symbols(&self.module);
        id
    }

    /// Begins a function, under a name that it shares with its declarations if there are any.
    pub(crate) fn begin_function(
        &mut self,
        name: &str,
        kind: FunctionKind,
        declared: Option<SymbolId>,
    ) -> (FuncId, SymbolId) {
        self.open_functions += 1;
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

    /// A function is abandoned: its record stays without an item.
    pub(crate) fn abandon_function(&mut self) {
        self.open_functions -= 1;
        self.has_leftovers = true;
    }

    /// Adds a function with its complete body.
    pub(crate) fn add_definition(&mut self, id: FuncId, body: Body) {
        self.open_functions -= 1;
        let body = self.module.bodies_mut().push(body);
        let mut symbol = None;
        if let Some(function) = self.module.functions_mut().get_mut(id) {
            function.body = Some(body);
            symbol = function.symbol;
        }
        if let Some(symbol) = symbol.and_then(|s| self.module.symbols_mut().get_mut(s)) {
            symbol.kind = SymbolKind::Function(id);
        }
        self.push(Item::Function(id));
    }

    /// Copies statements of a body in this order, numbered like those of a parsed body. The parameters of the function `id`
    /// are those of the copy afterwards.
    pub(crate) fn renumber(
        &mut self,
        id: FuncId,
        body: &Body,
        statements: impl Iterator<Item = StmtId>,
    ) -> Body {
        let Some(interface) = self.module.functions().get(id).map(|f| f.interface) else {
            return Body::default();
        };
        let params = parameters(&self.module, &interface);
        let none = Module::default();
        let mut copier = Copier::new(&none, &mut self.module, Relation::SameModule);
        let (body, bindings) = copier.body(body, &params, statements);
        let lists = [interface.returns, interface.params];
        let rows = lists.map(|l| l.start as usize..(l.start + l.len) as usize);
        for (row, binding) in rows.into_iter().flatten().zip(bindings) {
            if let Some(param) = self.module.params_mut().get_mut(row) {
                param.binding = binding;
            }
        }
        body
    }

    // --- items ---

    /// Adds an item after the comments since the last one.
    fn push(&mut self, item: Item) {
        let id = push_item(&mut self.module, item, NOWHERE);
        for text in self.comments.drain(..) {
            let comments = self.module.comments_mut();
            comments.push(Some(id), CommentPlace::Above, &text);
        }
    }

    /// Adds a comment with its delimiters.
    pub(crate) fn comment(&mut self, text: &str) {
        self.comments.push(text.to_string());
    }

    pub(crate) fn push_function(&mut self, id: FuncId) {
        self.push(Item::Function(id));
    }

    pub(crate) fn push_alias(&mut self, alias: SymbolId, aliasee: SymbolId) {
        let operands = [alias, aliasee].map(Operand::Symbol);
        let stmt = DirectiveStmt::new(Directive::Alias, self.module.pool_mut().extend(&operands));
        let id = self.module.directives_mut().push(stmt);
        self.push(Item::Directive(id));
    }

    /// Copies the items of a module that begin at or after `start`, with their comments. `declared` returns the symbols of names
    /// that the module has already. Returns the symbols of the items by their names.
    pub(crate) fn import(
        &mut self,
        parsed: &Module,
        start: usize,
        declared: &dyn Fn(&str) -> Option<SymbolId>,
    ) -> NamedOperands {
        let mut copier = Copier::new(parsed, &mut self.module, Relation::Separate);
        for (id, symbol) in parsed.symbols().iter() {
            // A range declares its members in each of its declarations.
            if symbol.number.is_none()
                && let Some(to) = declared(parsed.name(symbol.name))
            {
                copier.map_symbol(id, to);
            }
        }
        let items: Vec<(Span, Option<Item>)> = parsed
            .items()
            .map(|(id, item)| (parsed.span(id), item))
            .filter(|(span, _)| span.start as usize >= start)
            .map(|(span, item)| (span, copier.item(item)))
            .collect();
        let symbols = copier.copied_symbols();
        let mut last = start as u32;
        for (span, item) in items {
            self.add_comments(Span::new(last, span.start).of(parsed.source()));
            if let Some(item) = item {
                self.push(item);
            }
            last = span.end;
        }
        let end = parsed.source().len() as u32;
        self.add_comments(Span::new(last, end).of(parsed.source()));
        self.checker.extend_symbols(&self.module);
        symbols
    }

    /// Adds the comments between two items, each on a separate line.
    fn add_comments(&mut self, gap: &[u8]) {
        let texts = comments_in(gap).map(|c| c.text.to_string());
        self.comments.extend(texts);
    }

    /// Copies the declaration of a function that begins at or after `start`, but adds no item.
    pub(crate) fn import_function(
        &mut self,
        parsed: &Module,
        start: usize,
        symbol: Option<SymbolId>,
    ) -> Option<(FuncId, SymbolId)> {
        let function = first_function(parsed, start)?;
        let mut copier = Copier::new(parsed, &mut self.module, Relation::Separate);
        if let (Some(from), Some(to)) = (parsed.functions().get(function)?.symbol, symbol) {
            copier.map_symbol(from, to);
        }
        let id = copier.function(function)?;
        self.checker.extend_symbols(&self.module);
        Some((id, self.module.functions().get(id)?.symbol?))
    }

    /// Sets the header of an existing function to that of the function that begins at or after `start`.
    pub(crate) fn set_function_header(
        &mut self,
        parsed: &Module,
        start: usize,
        record: FuncId,
        parameters: impl IntoIterator<Item = (Option<NameId>, Binding)>,
    ) {
        if let Some(function) = first_function(parsed, start) {
            let mut copier = Copier::new(parsed, &mut self.module, Relation::Separate);
            copier.header(function, record, parameters);
        }
    }

    // --- the end ---

    /// The text of the items so far. Linear in the module.
    pub(crate) fn text(&self) -> String {
        let mut text = ptx_print::display(&self.module).to_string();
        for comment in &self.comments {
            text.push_str(comment);
            text.push('\n');
        }
        text
    }

    /// Whether no function is being built.
    pub(crate) fn is_complete(&self) -> bool {
        self.open_functions == 0
    }

    /// The module without abandoned functions.
    pub(crate) fn finish(mut self) -> Module {
        let mut module = if self.has_leftovers {
            self.without_leftovers()
        } else {
            self.module
        };
        for text in self.comments {
            let comments: &mut Comments<ItemId> = module.comments_mut();
            comments.push(None, CommentPlace::Above, &text);
        }
        module
    }

    fn without_leftovers(&mut self) -> Module {
        let mut module = Module::default();
        *module.header_mut() = self.module.header();
        *module.comments_mut() = mem::take(self.module.comments_mut());
        let mut copier = Copier::new(&self.module, &mut module, Relation::Separate);
        for (_, item) in self.module.items() {
            if let Some(item) = copier.item(item) {
                push_item(copier.target, item, NOWHERE);
            }
        }
        module
    }

    /// The errors of the module as a whole. Statements were checked one by one, unless the header changed since.
    pub(crate) fn errors(module: &Module, is_header_late: bool) -> Vec<Diagnostic> {
        let mut errors = if is_header_late {
            ptx_verify::verify(module, &ptx_verify::Options::default())
        } else {
            ptx_verify::verify_items(module)
        };
        errors.retain(|d| d.severity == ptx_ir::Severity::Error);
        errors
    }

    pub(crate) fn is_header_late(&self) -> bool {
        self.is_header_late
    }
}

/// The span of an item that is in no source.
const NOWHERE: StmtSpan = StmtSpan::new(Span::new(0, 0), false);

/// The first function of a module that begins at or after `start`.
fn first_function(module: &Module, start: usize) -> Option<FuncId> {
    module.items().find_map(|(id, item)| match item {
        Item::Function(function) if module.span(id).start as usize >= start => Some(function),
        _ => None,
    })
}

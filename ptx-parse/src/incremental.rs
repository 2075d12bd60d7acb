//! A source that changes: after a change inside of the body of a function, only that function is parsed again.
//!
//! The parser starts at the function with what it knew there the first time: the names that the module declares before it. The
//! body takes the place of the old one if it ends where that did, and if nothing follows from it for other functions: no error
//! that is about more than its body, no name that the module gets from it. Otherwise the whole source is parsed.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::raw::{self, RawModule};
use ptx_ir::{
    Body, Code, Diagnostic, EntityId, FuncId, Item, ItemId, Limits, Module, PrimaryMap, SourceText,
    Span, Symbol, SymbolId, TextChange, sort_by_position,
};

use ptx_isa::StateSpace;

use crate::cursor::Cursor;
use crate::output::Output;
use crate::parser::Parser;
use crate::repair;
use crate::reporter::Reports;
use crate::scope::{Binding, Scopes};

/// The part that was parsed again after a change.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reparsed {
    /// All of it: the module is a new one.
    Module,
    /// The body of this function. All ids outside of it are the same as before.
    Function(FuncId),
}

/// A source that was parsed and changes, with its module and its diagnostics.
///
/// The diagnostics of a function do not depend on those of other functions: a name that no function knows is reported in each
/// of them, while [`parse`](crate::parse) reports it once for the module.
///
/// A change inside of the body of a function costs the parsing of that function, and a copy of the source after it. Others cost
/// the parsing of the source, and so does each change of a source with errors outside of bodies or about names with a dot.
///
/// ```
/// use ptx_ir::{Limits, Span};
/// use ptx_parse::{Incremental, Reparsed};
/// let text = ".version 8.0\n.target sm_90\n.entry a() { ret; }\n.entry b() { ret; }";
/// let mut source = Incremental::new(text.as_bytes().to_vec(), Limits::default());
/// let ret = text.find("ret").unwrap_or(0);
/// let a = source.module().function("a").unwrap();
/// assert_eq!(source.replace(Span::at(ret, ret + 3), b"exit"), Reparsed::Function(a));
/// assert!(source.module().source().ends_with(b".entry a() { exit; }\n.entry b() { ret; }"));
/// assert_eq!(source.replace(Span::at(0, 0), b" "), Reparsed::Module);
/// ```
pub struct Incremental {
    limits: Limits,
    module: Module,
    /// The names of the module.
    scopes: Scopes,
    /// The diagnostics outside of bodies.
    of_module: Vec<Diagnostic>,
    /// The diagnostics of each function that has any, in the order of the source.
    of_functions: Vec<(FuncId, Vec<Diagnostic>)>,
    /// Whether functions can be parsed on their own.
    separable: bool,
    /// The source after a change that makes it necessary to parse all of it; the module is empty then.
    unparsed: Option<Vec<u8>>,
}

impl Incremental {
    /// Parses a source.
    #[must_use]
    pub fn new(source: impl Into<SourceText>, limits: Limits) -> Self {
        let source = source.into();
        let text = source.clone();
        let mut parser = Parser::new(&text, source, limits);
        parser.reporter.reports = Reports::OfFunctions;
        let readable = parser.source(&text);
        let alone = parser.leaves_nothing(text.len())
            && !parser.scopes.has_module_ranges()
            && parser.scopes.module_bindings().len() == parser.out.module.symbols().len();
        let count = parser.reporter.count();
        let (module, scopes, records) = parser.finish();
        let diagnostics = repair::diagnostics(&module, &scopes, records);
        let mut parsed = Self {
            module,
            scopes,
            unparsed: None,
            ..Self::unparsed(Vec::new(), limits)
        };
        for d in diagnostics {
            parsed.add(d);
        }
        parsed.separable = readable
            && alone
            && count < limits.diagnostics
            && parsed.of_module.is_empty()
            && parsed.is_well_formed();
        parsed
    }

    /// A source that the first [`update`](Self::update) parses: the module is empty until then.
    ///
    /// ```
    /// use ptx_ir::Limits;
    /// let mut source = ptx_parse::Incremental::unparsed(b".entry a() { ret; }".to_vec(), Limits::default());
    /// assert!(source.module().functions().is_empty());
    /// source.update();
    /// assert_eq!(source.module().functions().len(), 1);
    /// ```
    #[must_use]
    pub fn unparsed(source: Vec<u8>, limits: Limits) -> Self {
        Self {
            limits,
            module: Module::default(),
            scopes: Scopes::default(),
            of_module: Vec::new(),
            of_functions: Vec::new(),
            separable: false,
            unparsed: Some(source),
        }
    }

    /// The module.
    #[must_use]
    pub const fn module(&self) -> &Module {
        &self.module
    }

    /// All diagnostics: first those outside of bodies, then function by function.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let of_functions = self.of_functions.iter().flat_map(|(_, found)| found);
        self.of_module.iter().chain(of_functions)
    }

    /// The source with all changes.
    #[must_use]
    pub fn source(&self) -> &[u8] {
        let parsed = || self.module.source();
        self.unparsed.as_deref().unwrap_or_else(parsed)
    }

    /// Replaces a part of the source. A span beyond its end means its end.
    pub fn replace(&mut self, span: Span, text: &[u8]) -> Reparsed {
        match self.change(span, text) {
            Some(function) => Reparsed::Function(function),
            None => {
                self.update();
                Reparsed::Module
            }
        }
    }

    /// Replaces a part of the source, and parses the function around it. `None` if more has to be parsed: the module is empty
    /// until [`update`](Self::update) does so, once after any number of changes.
    pub fn change(&mut self, span: Span, text: &[u8]) -> Option<FuncId> {
        let len = self.source().len() as u32;
        let end = span.end.min(len);
        let span = Span::new(span.start.min(end), end);
        let separable = self.separable && self.unparsed.is_none();
        let place = separable.then(|| self.body_around(span)).flatten();
        if let Some((item, function)) = place
            && len as usize + text.len() <= self.limits.source_bytes
        {
            let change = TextChange::new(span, text.len() as u32);
            raw::replace_in_body(&mut self.module, item, span, text);
            self.scopes.move_bindings(change);
            self.of_functions
                .iter_mut()
                .filter(|(f, _)| *f != function)
                .flat_map(|(_, found)| found)
                .for_each(|d| change.relocate(d));
            if self.parse_function(item, function).is_some() {
                return Some(function);
            }
            self.unparsed = Some(self.take_source());
            return None;
        }
        let mut source = self.take_source();
        source.splice(span.range(), text.iter().copied());
        self.unparsed = Some(source);
        None
    }

    /// Parses the source after changes that make this necessary. Gives false if there were none.
    pub fn update(&mut self) -> bool {
        let Some(source) = self.unparsed.take() else {
            return false;
        };
        *self = Self::new(source, self.limits);
        true
    }

    /// The source, without a copy unless it is shared.
    fn take_source(&mut self) -> Vec<u8> {
        if let Some(source) = self.unparsed.take() {
            return source;
        }
        let source = raw::source_of(&self.module);
        self.module = Module::default();
        source.into_vec()
    }

    /// Whether each item was understood, and each body belongs to an item and is closed.
    fn is_well_formed(&self) -> bool {
        let module = &self.module;
        let mut functions = 0;
        let understood = module.items().all(|(_, item)| match item {
            Item::Opaque(_) => false,
            // Such a declaration is only understood where the function before it was.
            Item::Decl(id) => {
                let decl = module.declarations().decls.get(id);
                decl.is_some_and(|d| d.space != StateSpace::Reg)
            }
            Item::Function(id) => {
                functions += 1;
                let known = module.functions().get(id).is_some_and(|f| !f.raw_header);
                known && module.body(id).is_none_or(Body::is_closed)
            }
            _ => true,
        });
        understood && functions == module.functions().len()
    }

    /// The function with a body around a place: its braces are not part of that.
    fn body_around(&self, span: Span) -> Option<(ItemId, FuncId)> {
        let (item, function) = self.function_before(span.start)?;
        let body = extent(self.module.body(function)?);
        (body.start < span.start && span.end < body.end).then_some((item, function))
    }

    /// The last item that begins before an offset, if it is a function.
    fn function_before(&self, offset: u32) -> Option<(ItemId, FuncId)> {
        let spans = self.module.item_spans();
        let index = spans.partition_point(|s| s.span().start < offset);
        let item = ItemId::from_index(index.checked_sub(1)?);
        match self.module.item(item)? {
            Item::Function(function) => Some((item, function)),
            _ => None,
        }
    }

    /// Adds a diagnostic to those of the body that it is in.
    fn add(&mut self, diagnostic: Diagnostic) {
        let inside = |&(_, function): &(ItemId, FuncId)| {
            let body = self.module.body(function).map(extent);
            body.is_some_and(|b| b.start < diagnostic.span.start && diagnostic.span.end <= b.end)
        };
        let place = self.function_before(diagnostic.span.start).filter(inside);
        let Some((_, function)) = place else {
            self.of_module.push(diagnostic);
            return;
        };
        match self.of_functions.last_mut() {
            Some((last, found)) if *last == function => found.push(diagnostic),
            _ => self.of_functions.push((function, vec![diagnostic])),
        }
    }

    /// Parses a function again whose text has changed. `None` if that would change more than its body.
    fn parse_function(&mut self, item: ItemId, function: FuncId) -> Option<()> {
        let (place, old) = (self.module.span(item), self.module.body(function)?);
        let (start, open, end) = (
            place.start as usize,
            old.base() as usize,
            place.end as usize,
        );
        let source = raw::source_of(&self.module);
        let mut later = Later::hide(&mut self.module, &mut self.scopes, open);
        let mut parser = Parser {
            out: Output::of_function(core::mem::take(&mut self.module), open..end),
            scopes: core::mem::take(&mut self.scopes),
            ..Parser::new(&source, SourceText::default(), self.limits)
        };
        parser.reporter.reports = Reports::OfFunctions;
        let known_symbols = later.symbols_before;
        let parsed = parser.function_again(function, start, open);
        let alone = parsed.is_some()
            && parser.cursor.pos == end
            && parser.out.module.symbols().len() == known_symbols
            && parser.leaves_nothing(end);
        later.show(&mut parser.out.module, &mut parser.scopes);
        parser.check_characters(start, end);
        let records = parser.reporter.take_records();
        self.module = core::mem::take(&mut parser.out.module);
        self.scopes = core::mem::take(&mut parser.scopes);
        let mut body = parsed.filter(|b| alone && b.is_closed())?;
        raw::finish(parser.out.body, core::iter::once(&mut body));
        let extent = extent(&body);
        let id = self.module.functions().get(function)?.body?;
        *self.module.bodies_mut().get_mut(id)? = body;
        let diagnostics = repair::diagnostics(&self.module, &self.scopes, records);
        let inside = |d: &Diagnostic| extent.start < d.span.start && d.span.end <= extent.end;
        let mut other_functions = self.of_functions.iter();
        let other_functions = other_functions.by_ref().filter(|(f, _)| *f != function);
        // The error about a name with a dot covers its uses in all functions.
        let covers_all_functions = |d: &Diagnostic| d.code == Code::DottedName;
        let has_dotted_name = diagnostics.iter().any(covers_all_functions)
            || self
                .of_functions
                .iter()
                .any(|(_, diagnostics)| diagnostics.iter().any(covers_all_functions));
        let count = other_functions.map(|(_, d)| d.len()).sum::<usize>() + diagnostics.len();
        if count >= self.limits.diagnostics || has_dotted_name || !diagnostics.iter().all(inside) {
            return None;
        }
        self.set_diagnostics(item, function, diagnostics);
        Some(())
    }

    fn set_diagnostics(&mut self, item: ItemId, function: FuncId, found: Vec<Diagnostic>) {
        let all = &mut self.of_functions;
        if let Some(i) = all.iter().position(|(f, _)| *f == function) {
            all.remove(i);
        }
        if !found.is_empty() {
            let at = self.module.span(item).start;
            let before = |(_, d): &(FuncId, Vec<Diagnostic>)| d.iter().all(|d| d.span.start < at);
            let index = all.partition_point(before);
            all.insert(index, (function, found));
        }
    }

    /// All diagnostics in the order of the source.
    #[must_use]
    pub fn sorted_diagnostics(&self) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = self.diagnostics().cloned().collect();
        sort_by_position(&mut all);
        all
    }
}

/// From the `{` to the end of a body.
fn extent(body: &Body) -> Span {
    Span::new(body.base(), body.base() + body.end())
}

/// The number of diagnostics.
impl core::fmt::Debug for Incremental {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let diagnostics = self.diagnostics().count();
        let mut all = f.debug_struct("Incremental");
        all.field("diagnostics", &diagnostics)
            .finish_non_exhaustive()
    }
}

/// The declarations of the module after a function, which are hidden while that is parsed.
struct Later {
    bindings: Vec<Binding>,
    symbols: PrimaryMap<SymbolId, Symbol>,
    symbols_before: usize,
}

impl Later {
    /// Hides the names that are declared after the `{` at `open`.
    fn hide(module: &mut Module, scopes: &mut Scopes, open: usize) -> Self {
        let bindings = scopes.hide_from(open);
        let symbols = core::mem::take(module.symbols_mut());
        // Each name of the module is a symbol, in the order of the declarations.
        let symbols_before = symbols.len().saturating_sub(bindings.len());
        for symbol in symbols.values().take(symbols_before) {
            module.symbols_mut().push(*symbol);
        }
        Self {
            bindings,
            symbols,
            symbols_before,
        }
    }

    fn show(&mut self, module: &mut Module, scopes: &mut Scopes) {
        *module.symbols_mut() = core::mem::take(&mut self.symbols);
        for binding in &self.bindings {
            scopes.bind(binding.name, binding.meaning, binding.at as usize);
        }
    }
}

impl Output {
    /// For one function of a module, which is at `place`.
    fn of_function(module: Module, place: Range<usize>) -> Self {
        let body = raw::body_with_capacity(place.len());
        Self::with(module, body, place.start)
    }
}

impl<'s> Parser<'s> {
    /// Parses a function of the module again; `None` if its header is not what it was.
    fn function_again(&mut self, id: FuncId, start: usize, open: usize) -> Option<Body> {
        let module = &self.out.module;
        let (params, directives) = (module.params().len(), module.interface_directives().len());
        self.cursor = Cursor {
            pos: start,
            last: start,
            ..Cursor::new(self.cursor.src)
        };
        self.function = Some(id);
        let is_unchanged = self.header_before_body(start, id) == Some(open);
        self.out.module.params_mut().truncate(params);
        self.out
            .module
            .interface_directives_mut()
            .truncate(directives);
        let functions = self.out.module.functions().len();
        let body = is_unchanged.then(|| self.body());
        let none_new = self.out.module.functions().len() == functions;
        body.filter(|_| none_new)
    }

    /// Whether nothing that was reported up to `end` matters for what follows.
    fn leaves_nothing(&self, end: usize) -> bool {
        self.suppressed.is_empty()
            && self.reporter.cascade.is_over(end)
            && self.header.unknown == ptx_ir::Severity::Error
            && self.scopes.exports_nothing()
            && self.cursor.trivia.unterminated.is_none()
    }
}

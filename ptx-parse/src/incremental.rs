//! Incremental parsing: after a change inside of the body of a function, only that function is parsed again.
//!
//! The parser starts at the function with the names that the module declares before it. The new body replaces the old one if it
//! ends at the same brace, if all errors concern only the body, and if the body declares no name of the module. Otherwise the
//! whole source is parsed.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::raw::{self, RawModule, TextChange};
use ptx_ir::{
    Body, Code, Diagnostic, EntityId, FuncId, Item, ItemId, Limits, Module, PrimaryMap, SourceText,
    Span, Symbol, SymbolId, sort_by_position,
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
    /// The whole source: the module is a new one.
    Module,
    /// The body of this function. All ids outside of the body stay valid.
    Function(FuncId),
}

/// A source that can be changed, with its module and its diagnostics.
///
/// The diagnostics of a function do not depend on those of other functions: an undeclared name is reported in each function
/// that uses it, while [`parse`](crate::parse) reports it once for the module.
///
/// A change inside of the body of a function costs the parsing of that function, and a copy of the source after it. Other changes
/// cost the parsing of the source, and so does each change of a source with errors outside of bodies or about names with a dot.
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
    module_diagnostics: Vec<Diagnostic>,
    /// The diagnostics of each function that has any, in the order of the source.
    function_diagnostics: Vec<(FuncId, Vec<Diagnostic>)>,
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
        let is_self_contained = parser.leaves_no_state(text.len())
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
            parsed.add_diagnostic(d);
        }
        parsed.separable = readable
            && is_self_contained
            && count < limits.diagnostics
            && parsed.module_diagnostics.is_empty()
            && parsed.is_well_formed();
        parsed
    }

    /// Creates a source that the first [`update`](Self::update) parses. The module is empty until then.
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
            module_diagnostics: Vec::new(),
            function_diagnostics: Vec::new(),
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
        let of_functions = self
            .function_diagnostics
            .iter()
            .flat_map(|(_, diagnostics)| diagnostics);
        self.module_diagnostics.iter().chain(of_functions)
    }

    /// The source with all changes.
    #[must_use]
    pub fn source(&self) -> &[u8] {
        self.unparsed
            .as_deref()
            .unwrap_or_else(|| self.module.source())
    }

    /// Replaces a part of the source. A span beyond the end of the source is cut off there.
    pub fn replace(&mut self, span: Span, text: &[u8]) -> Reparsed {
        match self.change(span, text) {
            Some(function) => Reparsed::Function(function),
            None => {
                self.update();
                Reparsed::Module
            }
        }
    }

    /// Replaces a part of the source, and parses the function around it. `None` if the whole source has to be parsed: the module
    /// is empty until [`update`](Self::update) does so, once after any number of changes.
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
            self.function_diagnostics
                .iter_mut()
                .filter(|(id, _)| *id != function)
                .flat_map(|(_, diagnostics)| diagnostics)
                .for_each(|diagnostic| change.relocate(diagnostic));
            if self.reparse_body(item, function).is_some() {
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

    /// Parses the source after changes that make this necessary. Returns whether there were any.
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

    /// Whether each item was parsed, and each body belongs to an item and is closed.
    fn is_well_formed(&self) -> bool {
        let module = &self.module;
        let mut functions = 0;
        let are_parsed = module.items().all(|(_, item)| match item {
            Item::Opaque(_) => false,
            // A register at module level belongs to a function whose header was not parsed.
            Item::Decl(id) => {
                let decl = module.declarations().decls.get(id);
                decl.is_some_and(|d| d.space != StateSpace::Reg)
            }
            Item::Function(id) => {
                functions += 1;
                let has_header = module.functions().get(id).is_some_and(|f| !f.raw_header);
                has_header && module.body(id).is_none_or(Body::is_closed)
            }
            _ => true,
        });
        are_parsed && functions == module.functions().len()
    }

    /// The function whose body contains a span between its braces.
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

    /// Adds a diagnostic to those of the body that contains it, or of the module.
    fn add_diagnostic(&mut self, diagnostic: Diagnostic) {
        let function = self
            .function_before(diagnostic.span.start)
            .map(|(_, function)| function)
            .filter(|function| {
                let body = self.module.body(*function).map(extent);
                body.is_some_and(|body| is_inside(&diagnostic, body))
            });
        let Some(function) = function else {
            self.module_diagnostics.push(diagnostic);
            return;
        };
        match self.function_diagnostics.last_mut() {
            Some((last, diagnostics)) if *last == function => diagnostics.push(diagnostic),
            _ => self.function_diagnostics.push((function, vec![diagnostic])),
        }
    }

    /// Parses the body of a function whose text has changed, and replaces the old body. `None` if more than the body changes.
    fn reparse_body(&mut self, item: ItemId, function: FuncId) -> Option<()> {
        let item_span = self.module.span(item);
        let (start, end) = (item_span.start as usize, item_span.end as usize);
        let open = self.module.body(function)?.base() as usize;
        let source = raw::source_of(&self.module);
        let mut later_names = LaterNames::hide(&mut self.module, &mut self.scopes, open);
        let mut parser = Parser {
            out: Output::for_function(core::mem::take(&mut self.module), open..end),
            scopes: core::mem::take(&mut self.scopes),
            ..Parser::new(&source, SourceText::default(), self.limits)
        };
        parser.reporter.reports = Reports::OfFunctions;
        let body = parser.reparse_function(function, start, open);
        let is_self_contained = body.is_some()
            && parser.cursor.pos == end
            && parser.out.module.symbols().len() == later_names.symbols_before
            && parser.leaves_no_state(end);
        later_names.show(&mut parser.out.module, &mut parser.scopes);
        parser.check_characters(start, end);
        let records = parser.reporter.take_records();
        self.module = core::mem::take(&mut parser.out.module);
        self.scopes = core::mem::take(&mut parser.scopes);
        let mut body = body.filter(|b| is_self_contained && b.is_closed())?;
        raw::finish(parser.out.body, core::iter::once(&mut body));
        let extent = extent(&body);
        let id = self.module.functions().get(function)?.body?;
        *self.module.bodies_mut().get_mut(id)? = body;
        let diagnostics = repair::diagnostics(&self.module, &self.scopes, records);
        let other_count: usize = self
            .function_diagnostics
            .iter()
            .filter(|(id, _)| *id != function)
            .map(|(_, diagnostics)| diagnostics.len())
            .sum();
        // The error about a name with a dot covers its uses in all functions.
        let has_dotted_name = self
            .function_diagnostics
            .iter()
            .flat_map(|(_, diagnostics)| diagnostics)
            .chain(&diagnostics)
            .any(|d| d.code == Code::DottedName);
        if other_count + diagnostics.len() >= self.limits.diagnostics
            || has_dotted_name
            || !diagnostics.iter().all(|d| is_inside(d, extent))
        {
            return None;
        }
        self.set_diagnostics(item, function, diagnostics);
        Some(())
    }

    /// Replaces the diagnostics of a function.
    fn set_diagnostics(&mut self, item: ItemId, function: FuncId, diagnostics: Vec<Diagnostic>) {
        let list = &mut self.function_diagnostics;
        if let Some(index) = list.iter().position(|(id, _)| *id == function) {
            list.remove(index);
        }
        if !diagnostics.is_empty() {
            let start = self.module.span(item).start;
            let index = list.partition_point(|(_, diagnostics)| {
                diagnostics.iter().all(|d| d.span.start < start)
            });
            list.insert(index, (function, diagnostics));
        }
    }

    /// All diagnostics in the order of the source.
    #[must_use]
    pub fn sorted_diagnostics(&self) -> Vec<Diagnostic> {
        let mut sorted: Vec<Diagnostic> = self.diagnostics().cloned().collect();
        sort_by_position(&mut sorted);
        sorted
    }
}

/// The span from the `{` to the end of a body.
fn extent(body: &Body) -> Span {
    Span::new(body.base(), body.base() + body.end())
}

/// Whether a diagnostic is after the `{` and before the end of a body.
fn is_inside(diagnostic: &Diagnostic, body: Span) -> bool {
    body.start < diagnostic.span.start && diagnostic.span.end <= body.end
}

/// Writes the number of diagnostics.
impl core::fmt::Debug for Incremental {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Incremental")
            .field("diagnostics", &self.diagnostics().count())
            .finish_non_exhaustive()
    }
}

/// The names that the module declares after a function. They are hidden while the function is parsed.
struct LaterNames {
    bindings: Vec<Binding>,
    /// All symbols of the module.
    symbols: PrimaryMap<SymbolId, Symbol>,
    /// The number of symbols that are declared before the function.
    symbols_before: usize,
}

impl LaterNames {
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

    /// Makes the names visible again.
    fn show(&mut self, module: &mut Module, scopes: &mut Scopes) {
        *module.symbols_mut() = core::mem::take(&mut self.symbols);
        for binding in &self.bindings {
            scopes.bind(binding.name, binding.meaning, binding.offset as usize);
        }
    }
}

impl Output {
    /// The output for the function of a module whose body is at `extent`.
    fn for_function(module: Module, extent: Range<usize>) -> Self {
        let body = raw::body_with_capacity(extent.len());
        Self::with(module, body, extent.start)
    }
}

impl<'s> Parser<'s> {
    /// Parses a function of the module again, which begins at `start` and whose `{` is at `open`. Keeps the old header. `None` if
    /// the header has changed or the body declares functions.
    fn reparse_function(&mut self, id: FuncId, start: usize, open: usize) -> Option<Body> {
        let module = &self.out.module;
        let (param_count, directive_count) =
            (module.params().len(), module.interface_directives().len());
        self.cursor = Cursor {
            pos: start,
            last: start,
            ..Cursor::new(self.cursor.src)
        };
        self.function = Some(id);
        let is_unchanged = self.header_before_body(start, id) == Some(open);
        self.out.module.params_mut().truncate(param_count);
        self.out
            .module
            .interface_directives_mut()
            .truncate(directive_count);
        let function_count = self.out.module.functions().len();
        let body = is_unchanged.then(|| self.body());
        let declares_no_function = self.out.module.functions().len() == function_count;
        body.filter(|_| declares_no_function)
    }

    /// Whether nothing before `end` changes how the text after it is parsed, apart from the declared names: neither reported errors
    /// nor names that a body exports.
    fn leaves_no_state(&self, end: usize) -> bool {
        self.suppressed.is_empty()
            && self.reporter.cascade.is_over(end)
            && self.header.unknown == ptx_ir::Severity::Error
            && self.scopes.exports_nothing()
            && self.cursor.trivia.unterminated.is_none()
    }
}

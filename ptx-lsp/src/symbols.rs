//! The outline of a document, and the search for names in all open documents.

use lsp_types::{DocumentSymbol, Location, OneOf, SymbolKind, WorkspaceSymbol};
use ptx_edit::{Entity, Names};
use ptx_ir::{FuncId, FunctionKind, Item, ItemId, Module, Span, Statement};
use ptx_report::demangle::{demangle, display_name};
use serde::{Serialize, Serializer};

use crate::document::Document;

/// The maximum number of symbols that a search returns.
const MAX_RESULTS: usize = 500;

/// The functions with their labels, and the variables, in the order of the text. Each symbol is written before the next one is created, because all
/// symbols of a large document take more memory than their JSON.
pub(crate) struct Outline<'d>(pub(crate) &'d Document);

impl Serialize for Outline<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(document) = *self;
        let items = document.module().items();
        serializer.collect_seq(items.flat_map(|(id, item)| item_symbols(document, id, item)))
    }
}

fn item_symbols(document: &Document, id: ItemId, item: Item) -> Vec<DocumentSymbol> {
    let module = document.module();
    if !matches!(item, Item::Function(_) | Item::Decl(_)) {
        return Vec::new();
    }
    let mut symbols: Vec<DocumentSymbol> = declared_names(module, id, item)
        .iter()
        .map(|name| symbol(document, name, module.span(id), detail(module, item)))
        .collect();
    if let Item::Function(function) = item
        && let Some(first) = symbols.first_mut()
    {
        let labels = labels(document, function);
        first.children = (!labels.is_empty()).then_some(labels);
    }
    symbols
}

/// A name that is declared in a document.
#[derive(Copy, Clone)]
pub(crate) struct DeclaredName {
    pub(crate) span: Span,
    kind: SymbolKind,
}

/// The names that an item declares for the module.
pub(crate) fn declared_names(module: &Module, id: ItemId, item: Item) -> Vec<DeclaredName> {
    let kind = match item {
        Item::Function(_) => SymbolKind::FUNCTION,
        _ => SymbolKind::VARIABLE,
    };
    let symbols = module.declared_symbols(item);
    Names::of_header(module, id)
        .refs()
        .iter()
        .filter(|r| r.declares)
        .filter(|r| match r.entity {
            Entity::Symbol(s) => kind == SymbolKind::VARIABLE || symbols.contains(&s),
            _ => false,
        })
        .map(|r| DeclaredName { span: r.name, kind })
        .collect()
}

fn detail(module: &Module, item: Item) -> Option<String> {
    match item {
        Item::Function(f) => {
            let function = module.functions().get(f)?;
            let kind = match function.kind {
                FunctionKind::Entry => ".entry",
                FunctionKind::Func => ".func",
            };
            Some(match function.body {
                Some(_) => kind.to_owned(),
                None => format!("{kind} declaration"),
            })
        }
        Item::Decl(d) => Some(module.declarations().decls.get(d)?.space.text().to_owned()),
        _ => None,
    }
}

#[allow(deprecated, reason = "the protocol type has no constructor")]
fn symbol(
    document: &Document,
    name: &DeclaredName,
    declaration: Span,
    detail: Option<String>,
) -> DocumentSymbol {
    DocumentSymbol {
        name: display_name(&document.text(name.span)).into_owned(),
        detail,
        kind: name.kind,
        tags: None,
        deprecated: None,
        range: document.range(declaration),
        selection_range: document.range(name.span),
        children: None,
    }
}

fn labels(document: &Document, function: FuncId) -> Vec<DocumentSymbol> {
    let module = document.module();
    let Some(body) = module.body(function) else {
        return Vec::new();
    };
    let mut symbols = Vec::new();
    for label in body.labels().values() {
        if let Some(Statement::Label(_)) = body.statement(label.stmt) {
            let statement = body.source_span(label.stmt);
            let length = module.name_bytes(label.name).len() as u32;
            let name = DeclaredName {
                span: Span::new(statement.start, statement.start + length),
                kind: SymbolKind::KEY,
            };
            symbols.push(symbol(document, &name, statement, None));
        }
    }
    symbols.sort_by_key(|symbol| symbol.range.start);
    symbols
}

/// The functions and variables whose name, mangled or demangled, contains a text, ignoring case. At most [`MAX_RESULTS`] of them.
pub(crate) fn search<'d>(
    documents: impl Iterator<Item = &'d Document>,
    text: &str,
) -> Vec<WorkspaceSymbol> {
    let text = text.to_lowercase();
    let mut results = Vec::new();
    for document in documents {
        let module = document.module();
        let names = module
            .items()
            .filter(|(_, item)| declares_match(module, *item, &text))
            .flat_map(|(id, item)| declared_names(module, id, item));
        for name in names.take(MAX_RESULTS - results.len().min(MAX_RESULTS)) {
            let location = Location::new(document.uri.clone(), document.range(name.span));
            results.push(WorkspaceSymbol {
                name: display_name(&document.text(name.span)).into_owned(),
                kind: name.kind,
                tags: None,
                container_name: None,
                location: OneOf::Left(location),
                data: None,
            });
        }
    }
    results
}

/// Whether an item declares a name that contains a text in lower case.
fn declares_match(module: &Module, item: Item, text: &str) -> bool {
    module.declared_symbols(item).into_iter().any(|symbol| {
        let symbol = module.symbols().get(symbol);
        let name = symbol.map_or("", |symbol| module.name(symbol.name));
        contains_ignoring_case(name, text)
            || demangle(name).is_some_and(|name| contains_ignoring_case(&name, text))
    })
}

fn contains_ignoring_case(name: &str, lowercase_text: &str) -> bool {
    name.to_lowercase().contains(lowercase_text)
}

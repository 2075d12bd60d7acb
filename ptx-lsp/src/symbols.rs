//! The outline of a document, and names of all open documents.

use lsp_types::{DocumentSymbol, Location, OneOf, SymbolKind, WorkspaceSymbol};
use ptx_edit::Names;
use ptx_ir::{FuncId, FunctionKind, Item, ItemId, Label, Module, Span, Statement};
use ptx_report::demangle::{demangle, shown};
use serde::{Serialize, Serializer};

use crate::document::Document;

/// The most symbols that a search gives.
const MOST: usize = 500;

/// Functions with their labels, and variables, in the order of the text. Each is written before the next one is looked at: all
/// of a large document take more memory than what is written.
pub(crate) struct Outline<'d>(pub(crate) &'d Document);

impl Serialize for Outline<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(document) = *self;
        let items = document.module().items();
        serializer.collect_seq(items.flat_map(|(id, item)| of_item(document, id, item)))
    }
}

fn of_item(document: &Document, id: ItemId, item: Item) -> Vec<DocumentSymbol> {
    let module = document.module();
    if !matches!(item, Item::Function(_) | Item::Decl(_)) {
        return Vec::new();
    }
    let children = match item {
        Item::Function(function) => labels(document, function),
        _ => Vec::new(),
    };
    let names = declared(module, id, item);
    let mut found: Vec<DocumentSymbol> = names
        .into_iter()
        .map(|(name, kind)| {
            symbol(
                document,
                (name, kind),
                module.span(id),
                detail(module, item),
            )
        })
        .collect();
    if let Some(first) = found.first_mut()
        && !children.is_empty()
    {
        first.children = Some(children);
    }
    found
}

/// The names of the module that an item declares, and what they are.
pub(crate) fn declared(module: &Module, id: ItemId, item: Item) -> Vec<(Span, SymbolKind)> {
    let kind = match item {
        Item::Function(_) => SymbolKind::FUNCTION,
        _ => SymbolKind::VARIABLE,
    };
    let symbols = module.declared_symbols(item);
    let names = Names::of_header(module, id);
    let refs = names.refs().iter().filter(|r| r.declares);
    let of_module = refs.filter(|r| match r.entity {
        ptx_edit::Entity::Symbol(s) => kind == SymbolKind::VARIABLE || symbols.contains(&s),
        _ => false,
    });
    of_module.map(|r| (r.name, kind)).collect()
}

fn detail(module: &Module, item: Item) -> Option<String> {
    match item {
        Item::Function(f) => {
            let function = module.functions().get(f)?;
            let kind = match function.kind {
                FunctionKind::Entry => ".entry",
                FunctionKind::Func => ".func",
            };
            let declared = if function.body.is_none() {
                " declaration"
            } else {
                ""
            };
            Some(format!("{kind}{declared}"))
        }
        Item::Decl(d) => Some(module.declarations().decls.get(d)?.space.text().to_owned()),
        _ => None,
    }
}

#[allow(deprecated, reason = "the protocol type has no constructor")]
fn symbol(
    document: &Document,
    (name, kind): (Span, SymbolKind),
    whole: Span,
    detail: Option<String>,
) -> DocumentSymbol {
    let spelled = document.text(name);
    DocumentSymbol {
        name: shown(&spelled).into_owned(),
        detail,
        kind,
        tags: None,
        deprecated: None,
        range: document.range(whole),
        selection_range: document.range(name),
        children: None,
    }
}

fn labels(document: &Document, function: FuncId) -> Vec<DocumentSymbol> {
    let Some(body) = document.module().body(function) else {
        return Vec::new();
    };
    let of_label = |label: &Label| {
        let Some(Statement::Label(_)) = body.statement(label.stmt) else {
            return None;
        };
        let whole = body.source_span(label.stmt);
        let len = document.module().name_bytes(label.name).len() as u32;
        let name = Span::new(whole.start, whole.start + len);
        Some(symbol(document, (name, SymbolKind::KEY), whole, None))
    };
    let mut all: Vec<_> = body.labels().values().filter_map(of_label).collect();
    all.sort_by_key(|s| s.range.start);
    all
}

/// The functions and variables of documents whose name, as it is or demangled, contains a text.
pub(crate) fn search<'d>(
    documents: impl Iterator<Item = &'d Document>,
    text: &str,
) -> Vec<WorkspaceSymbol> {
    let wanted = text.to_lowercase();
    let mut found = Vec::new();
    for document in documents {
        let module = document.module();
        let symbols = module.items().flat_map(|(id, item)| {
            let mut names = module.declared_symbols(item).into_iter();
            let fits = names.any(|s| {
                let name = module.symbols().get(s).map_or("", |s| module.name(s.name));
                let matches = |name: &str| name.to_lowercase().contains(&wanted);
                matches(name) || demangle(name).is_some_and(|d| matches(&d))
            });
            match fits {
                true => declared(module, id, item),
                false => Vec::new(),
            }
        });
        for (name, kind) in symbols.take(MOST - found.len().min(MOST)) {
            let location = Location::new(document.uri.clone(), document.range(name));
            let spelled = document.text(name);
            found.push(WorkspaceSymbol {
                name: shown(&spelled).into_owned(),
                kind,
                tags: None,
                container_name: None,
                location: OneOf::Left(location),
                data: None,
            });
        }
    }
    found
}

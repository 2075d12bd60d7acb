//! Callers and callees of functions.

use lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall, Range, SymbolKind,
};
use ptx_analysis::calls::{CallGraph, Target};
use ptx_edit::Entity;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, InstId, Module, Statement, SymbolKind as Symbol};
use ptx_report::demangle::display_name;
use serde_json::json;

use crate::document::Document;
use crate::{names, symbols};

/// The function whose name is at an offset.
pub(crate) fn prepare(document: &Document, offset: u32) -> Vec<CallHierarchyItem> {
    let module = document.module();
    let entity = names::name_at(document, offset).map(|(_, name)| name.entity);
    let Some(Entity::Symbol(symbol)) = entity else {
        return Vec::new();
    };
    match module.symbols().get(symbol).map(|s| s.kind) {
        Some(Symbol::Function(f)) => item(document, f).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn item(document: &Document, function: FuncId) -> Option<CallHierarchyItem> {
    let module = document.module();
    let id = module.item_of(function)?;
    let names = symbols::declared_names(module, id, module.item(id)?);
    let name_span = names.first()?.span;
    let name = document.text(name_span);
    Some(CallHierarchyItem {
        name: display_name(&name).into_owned(),
        kind: SymbolKind::FUNCTION,
        tags: None,
        detail: None,
        uri: document.uri.clone(),
        range: document.range(module.span(id)),
        selection_range: document.range(name_span),
        data: Some(json!(name)),
    })
}

/// The function of an item that [`prepare`] or another request returned.
fn function_of(module: &Module, item: &CallHierarchyItem) -> Option<FuncId> {
    module.function(item.data.as_ref()?.as_str()?)
}

/// The callers of a function, with their calls.
pub(crate) fn incoming(
    document: &Document,
    callee: &CallHierarchyItem,
) -> Vec<CallHierarchyIncomingCall> {
    let module = document.module();
    let Some(function) = function_of(module, callee) else {
        return Vec::new();
    };
    let facts = ModuleFacts::new(module);
    let graph = CallGraph::new(&facts);
    graph
        .callers(function)
        .into_iter()
        .filter_map(|caller| {
            Some(CallHierarchyIncomingCall {
                from: item(document, caller)?,
                from_ranges: call_ranges(document, &graph, caller, function),
            })
        })
        .collect()
}

/// The callees of a function, with its calls of them.
pub(crate) fn outgoing(
    document: &Document,
    caller: &CallHierarchyItem,
) -> Vec<CallHierarchyOutgoingCall> {
    let module = document.module();
    let Some(function) = function_of(module, caller) else {
        return Vec::new();
    };
    let facts = ModuleFacts::new(module);
    let graph = CallGraph::new(&facts);
    graph
        .callees(function)
        .into_iter()
        .filter_map(|callee| {
            Some(CallHierarchyOutgoingCall {
                to: item(document, callee)?,
                from_ranges: call_ranges(document, &graph, function, callee),
            })
        })
        .collect()
}

/// The ranges of the calls of `callee` in `caller`.
fn call_ranges(
    document: &Document,
    graph: &CallGraph,
    caller: FuncId,
    callee: FuncId,
) -> Vec<Range> {
    let Some(body) = document.module().body(caller) else {
        return Vec::new();
    };
    let calls: Vec<InstId> = graph
        .calls_of(caller)
        .filter(|call| call.to == Target::Function(callee))
        .map(|call| call.inst)
        .collect();
    body.statements()
        .filter(|(_, s)| matches!(s, Statement::Inst(id) if calls.contains(id)))
        .map(|(stmt, _)| document.range(body.source_span(stmt)))
        .collect()
}

//! Callers and callees of functions.

use lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall, Range, SymbolKind,
};
use ptx_analysis::calls::{Call, CallGraph, Target};
use ptx_edit::Entity;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, InstId, Module, Statement, SymbolKind as Symbol};
use ptx_report::demangle::shown;
use serde_json::json;

use crate::document::Document;
use crate::{names, symbols};

/// The function whose name is at an offset.
pub(crate) fn prepare(document: &Document, offset: u32) -> Vec<CallHierarchyItem> {
    let module = document.module();
    let named = names::name_at(document, offset).map(|(_, name)| name.entity);
    let Some(Entity::Symbol(symbol)) = named else {
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
    let declared = symbols::declared(module, id, module.item(id)?);
    let (name, _) = declared.first()?;
    let spelled = document.text(*name);
    Some(CallHierarchyItem {
        name: shown(&spelled).into_owned(),
        kind: SymbolKind::FUNCTION,
        tags: None,
        detail: None,
        uri: document.uri.clone(),
        range: document.range(module.span(id)),
        selection_range: document.range(*name),
        data: Some(json!(spelled)),
    })
}

/// The function of an item that the client got.
fn function_of(module: &Module, item: &CallHierarchyItem) -> Option<FuncId> {
    module.function(item.data.as_ref()?.as_str()?)
}

/// Who calls it.
pub(crate) fn incoming(
    document: &Document,
    item_: &CallHierarchyItem,
) -> Vec<CallHierarchyIncomingCall> {
    let module = document.module();
    let Some(function) = function_of(module, item_) else {
        return Vec::new();
    };
    let facts = ModuleFacts::new(module);
    let graph = CallGraph::new(&facts);
    let callers = graph.callers(function).into_iter();
    callers
        .filter_map(|caller| {
            let calls = graph.calls_of(caller).filter(|c| reaches(c, function));
            Some(CallHierarchyIncomingCall {
                from: item(document, caller)?,
                from_ranges: places(document, caller, calls.map(|c| c.inst)),
            })
        })
        .collect()
}

/// Whom it calls.
pub(crate) fn outgoing(
    document: &Document,
    item_: &CallHierarchyItem,
) -> Vec<CallHierarchyOutgoingCall> {
    let module = document.module();
    let Some(function) = function_of(module, item_) else {
        return Vec::new();
    };
    let facts = ModuleFacts::new(module);
    let graph = CallGraph::new(&facts);
    let callees = graph.callees(function).into_iter();
    callees
        .filter_map(|callee| {
            let calls = graph.calls_of(function).filter(|c| reaches(c, callee));
            Some(CallHierarchyOutgoingCall {
                to: item(document, callee)?,
                from_ranges: places(document, function, calls.map(|c| c.inst)),
            })
        })
        .collect()
}

fn reaches(call: &Call, function: FuncId) -> bool {
    matches!(call.to, Target::Function(f) if f == function)
}

/// The statements of calls.
fn places(
    document: &Document,
    function: FuncId,
    calls: impl Iterator<Item = InstId>,
) -> Vec<Range> {
    let Some(body) = document.module().body(function) else {
        return Vec::new();
    };
    let calls: Vec<InstId> = calls.collect();
    let statements = body.statements();
    let found = statements.filter(|(_, s)| matches!(s, Statement::Inst(id) if calls.contains(id)));
    found
        .map(|(stmt, _)| document.range(body.source_span(stmt)))
        .collect()
}

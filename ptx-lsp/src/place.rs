//! What is at an offset of a document: the item, the statement and the token.

use ptx_ir::lex::{Lexer, Token};
use ptx_ir::{Body, EntityId as _, FuncId, Item, ItemId, Module, Span, Statement, StmtId};

/// The item whose text contains an offset, or ends there.
pub(crate) fn item_at(module: &Module, offset: u32) -> Option<(ItemId, Item)> {
    let spans = module.item_spans();
    let index = spans.partition_point(|s| s.span().start <= offset);
    let id = ItemId::from_index(index.checked_sub(1)?);
    (offset <= module.span(id).end).then_some(())?;
    Some((id, module.item(id)?))
}

/// The function whose text contains an offset.
pub(crate) fn function_at(module: &Module, offset: u32) -> Option<FuncId> {
    match item_at(module, offset)?.1 {
        Item::Function(id) => Some(id),
        _ => None,
    }
}

/// The body that contains an offset.
pub(crate) fn body_at(module: &Module, offset: u32) -> Option<(FuncId, &Body)> {
    let id = function_at(module, offset)?;
    let body = module.body(id)?;
    (body.base() < offset).then_some((id, body))
}

/// The last statement of a body that begins at or before an offset.
pub(crate) fn statement_before(body: &Body, offset: u32) -> Option<(StmtId, Statement)> {
    let at = offset.checked_sub(body.base())?;
    let index = body.stmt_spans().partition_point(|s| s.span().start <= at);
    let id = StmtId::from_index(index.checked_sub(1)?);
    Some((id, body.statement(id)?))
}

/// The statement of a body whose text contains an offset, or ends there.
pub(crate) fn statement_at(body: &Body, offset: u32) -> Option<(StmtId, Statement)> {
    let found = statement_before(body, offset)?;
    (offset <= body.source_span(found.0).end).then_some(found)
}

/// The smallest stretch of the source around an offset that can be read on its own: a statement, a header, or an item.
pub(crate) fn stretch_at(module: &Module, offset: u32) -> Span {
    let Some((id, item)) = item_at(module, offset) else {
        return gap(module, offset);
    };
    let span = module.span(id);
    let Item::Function(function) = item else {
        return span;
    };
    let Some(body) = module.body(function) else {
        return span;
    };
    if offset <= body.base() {
        return Span::new(span.start, body.base());
    }
    match statement_before(body, offset) {
        Some((stmt, _)) => {
            let start = body.source_span(stmt).start;
            let next = body.after(stmt).map(|s| body.source_span(s).start);
            Span::new(start, next.unwrap_or(span.end))
        }
        None => Span::new(body.base(), span.end),
    }
}

/// The text between two items around an offset.
fn gap(module: &Module, offset: u32) -> Span {
    let spans = module.item_spans();
    let index = spans.partition_point(|s| s.span().start <= offset);
    let before = index.checked_sub(1).and_then(|i| spans.get(i));
    let end = spans
        .get(index)
        .map_or(module.source().len() as u32, |s| s.span().start);
    Span::new(before.map_or(0, |s| s.span().end), end)
}

/// The token that contains an offset, or ends there and no other begins there; its span counts from the start of the source.
pub(crate) fn token_at(module: &Module, offset: u32) -> Option<Token> {
    let stretch = stretch_at(module, offset);
    let text = stretch.of(module.source());
    let mut found = None;
    for mut token in Lexer::fragment(text) {
        token.span = token.span.shifted(stretch.start);
        if token.span.start > offset {
            break;
        }
        if !token.kind.is_trivia() && offset <= token.span.end {
            found = Some(token);
        }
    }
    found
}

//! The item, the statement and the token at an offset of a document.

use ptx_ir::lex::{Lexer, Token};
use ptx_ir::{Body, EntityId as _, FuncId, Item, ItemId, Module, Span, Statement, StmtId};

/// The item whose text contains an offset or ends at it.
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
    let offset_in_body = offset.checked_sub(body.base())?;
    let index = body
        .stmt_spans()
        .partition_point(|s| s.span().start <= offset_in_body);
    let id = StmtId::from_index(index.checked_sub(1)?);
    Some((id, body.statement(id)?))
}

/// The statement of a body whose text contains an offset or ends at it.
pub(crate) fn statement_at(body: &Body, offset: u32) -> Option<(StmtId, Statement)> {
    let (id, statement) = statement_before(body, offset)?;
    (offset <= body.source_span(id).end).then_some((id, statement))
}

/// The smallest part of the source that contains an offset and can be lexed separately: a statement with the text up to the next one, the header of a
/// function, an item, or the text between two items.
pub(crate) fn lexical_unit_at(module: &Module, offset: u32) -> Span {
    let Some((id, item)) = item_at(module, offset) else {
        return text_between_items(module, offset);
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

/// The text between the two items before and after an offset.
fn text_between_items(module: &Module, offset: u32) -> Span {
    let spans = module.item_spans();
    let index = spans.partition_point(|s| s.span().start <= offset);
    let previous = index.checked_sub(1).and_then(|i| spans.get(i));
    let next = spans.get(index);
    Span::new(
        previous.map_or(0, |s| s.span().end),
        next.map_or(module.source().len() as u32, |s| s.span().start),
    )
}

/// The token that contains an offset. At the end of a token, this is the token that begins there, or else the one that ends. The span of the token counts
/// from the start of the source.
pub(crate) fn token_at(module: &Module, offset: u32) -> Option<Token> {
    let unit = lexical_unit_at(module, offset);
    let mut last = None;
    for mut token in Lexer::fragment(unit.of(module.source())) {
        token.span = token.span.shifted(unit.start);
        if token.span.start > offset {
            break;
        }
        if !token.kind.is_trivia() && offset <= token.span.end {
            last = Some(token);
        }
    }
    last
}

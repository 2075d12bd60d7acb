//! The headers of functions: their linkage, and declarations made from them.

use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Item, Module, Span};

/// The linkage directive of an item, with the whitespace after it.
pub(crate) fn linkage(module: &Module, span: Span) -> Option<Span> {
    let text = span.of(module.source());
    let mut tokens = Lexer::fragment(text);
    let word = tokens.find(|t| !t.kind.is_trivia())?;
    let is_linkage = matches!(
        word.span.of(text),
        b".visible" | b".extern" | b".weak" | b".common"
    );
    let mut end = word.span.end;
    if let Some(next) = tokens.next().filter(|t| t.kind == TokenKind::Whitespace) {
        end = next.span.end;
    }
    is_linkage.then(|| Span::new(word.span.start, end).shifted(span.start))
}

/// Whether a declaration has the linkage of the header that it is made from.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum HeadLinkage {
    Keep,
    Omit,
}

/// A declaration made from the header of a function.
pub(crate) fn head(module: &Module, item: ptx_ir::ItemId, keep: HeadLinkage) -> Vec<u8> {
    let whole = module.span(item);
    let body = match module.item(item) {
        Some(Item::Function(id)) => module.body(id),
        _ => None,
    };
    let mut span = Span::new(whole.start, body.map_or(whole.end, |b| b.base()));
    if keep == HeadLinkage::Omit
        && let Some(linkage) = linkage(module, whole)
    {
        span.start = linkage.end;
    }
    let text = span.of(module.source());
    let tokens = Lexer::fragment(text).filter(|t| !t.kind.is_trivia());
    let end = tokens
        .filter(|t| t.span.of(text) != b";" || t.span.end < text.len() as u32)
        .last()
        .map_or(0, |t| t.span.end);
    let mut head = text.get(..end as usize).unwrap_or_default().to_vec();
    head.push(b';');
    head
}

/// An external declaration made from the header of a function.
pub(crate) fn external(module: &Module, item: ptx_ir::ItemId) -> Vec<u8> {
    let mut text = b".extern ".to_vec();
    text.extend(head(module, item, HeadLinkage::Omit));
    text
}

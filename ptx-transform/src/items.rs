//! The items of a module with the text that belongs to them, and declarations made from the headers of functions.

use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::trivia_map::{Extent, TriviaMap};
use ptx_ir::{EntityId, Item, ItemId, Linkage, Module, Span};
use ptx_isa::Directive;

/// An item of a module.
#[derive(Copy, Clone, Debug)]
pub(crate) struct ItemText {
    pub(crate) id: ItemId,
    pub(crate) item: Item,
    /// The text of the item, and the comments that belong to it.
    pub(crate) extent: Extent,
}

/// The items of a module whose source is its text, in order.
pub(crate) fn items(module: &Module) -> Vec<ItemText> {
    let trivia = TriviaMap::of_module(module);
    module
        .items()
        .map(|(id, item)| ItemText {
            id,
            item,
            extent: trivia.extent(id.index()),
        })
        .collect()
}

/// The linkage directive at the start of an item, with the whitespace after it.
pub(crate) fn linkage_span(module: &Module, item: Span) -> Option<Span> {
    let text = item.of(module.source());
    let mut tokens = Lexer::fragment(text);
    let first = tokens.find(|token| !token.kind.is_trivia())?;
    let directive = Directive::from_text(first.span.of(text))?;
    Linkage::from_directive(directive)?;
    let mut end = first.span.end;
    if let Some(next) = tokens.next().filter(|t| t.kind == TokenKind::Whitespace) {
        end = next.span.end;
    }
    Some(Span::new(first.span.start, end).shifted(item.start))
}

/// The linkage of a declaration that is made from the header of a function.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum HeadLinkage {
    /// The linkage of the header.
    Keep,
    /// No linkage.
    Omit,
}

/// A declaration made from the header of a function.
pub(crate) fn declaration(module: &Module, item: ItemId, linkage: HeadLinkage) -> Vec<u8> {
    let item_span = module.span(item);
    let body = match module.item(item) {
        Some(Item::Function(id)) => module.body(id),
        _ => None,
    };
    let header_end = body.map_or(item_span.end, |body| body.base());
    let mut span = Span::new(item_span.start, header_end);
    if linkage == HeadLinkage::Omit
        && let Some(linkage) = linkage_span(module, item_span)
    {
        span.start = linkage.end;
    }
    let text = span.of(module.source());
    let end = Lexer::fragment(text)
        .filter(|token| !token.kind.is_trivia())
        .filter(|token| token.span.of(text) != b";" || token.span.end < text.len() as u32)
        .last()
        .map_or(0, |token| token.span.end);
    let mut declaration = text.get(..end as usize).unwrap_or_default().to_vec();
    declaration.push(b';');
    declaration
}

/// An external declaration made from the header of a function.
pub(crate) fn external_declaration(module: &Module, item: ItemId) -> Vec<u8> {
    let mut text = format!("{} ", Directive::Extern).into_bytes();
    text.extend(declaration(module, item, HeadLinkage::Omit));
    text
}

//! Directives at module level.

use ptx_ir::{DirectiveStmt, Item, ItemId, Module, Span};
use ptx_isa::Directive;

/// Every directive of a kind at module level.
pub(crate) fn each(
    module: &Module,
    directive: Directive,
) -> impl Iterator<Item = (Span, DirectiveStmt)> {
    let find = move |(id, item): (ItemId, Item)| match item {
        Item::Directive(directive_id) => {
            let stmt = *module.directives().get(directive_id)?;
            (stmt.directive == directive).then_some((module.span(id), stmt))
        }
        _ => None,
    };
    module.items().filter_map(find)
}

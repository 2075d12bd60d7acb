//! Directives at module level.

use ptx_ir::{DirectiveStmt, Item, ItemId, Module, Operand, Span};
use ptx_isa::{Directive, TargetOption};

/// Every directive of a kind at module level.
pub(crate) fn each(
    module: &Module,
    directive: Directive,
) -> impl Iterator<Item = (Span, DirectiveStmt)> {
    let find = move |(id, item): (ItemId, Item)| match item {
        Item::Directive(at) => {
            let stmt = *module.directives().get(at)?;
            (stmt.directive == directive).then_some((module.span(id), stmt))
        }
        _ => None,
    };
    module.items().filter_map(find)
}

/// Whether each texture is read with a separate sampler.
pub(crate) fn independent_textures(module: &Module) -> bool {
    let independent = |operand: &Operand| match operand {
        Operand::Name(id) => {
            let option = TargetOption::from_text(module.name_bytes(*id));
            option == Some(TargetOption::TexmodeIndependent)
        }
        _ => false,
    };
    let mut targets = each(module, Directive::Target);
    targets.any(|(_, stmt)| module.pool().slice(stmt.args).iter().any(independent))
}

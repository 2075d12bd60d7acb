//! Blocks that control never reaches.
//!
//! Their instructions go, and the places in the source that are said of them. Declarations, tables of labels and what was not
//! understood stay; tables and labels that nothing mentions any more are removed afterwards.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::Statement;
use ptx_isa::Directive;

use super::function_view::View;
use super::rewrite::{Rewrite, Step};

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let body = view.body();
    let blocks = view.cfg.blocks();
    let unreached = blocks.filter(|(id, _)| !view.dominators.is_reachable(*id));
    let statements = unreached.flat_map(|(_, b)| body.range(b.first, b.end));
    let goes = |statement: &Statement| match statement {
        Statement::Inst(_) => true,
        Statement::Directive(id) => {
            let directive = body.directives().get(*id);
            directive.is_some_and(|d| d.directive == Directive::Loc)
        }
        _ => false,
    };
    let statements = statements.filter(|(_, statement)| goes(statement));
    let step = |(stmt, _)| Step {
        stmt,
        act: Rewrite::Remove,
        why: String::from("control never gets here"),
    };
    statements.map(step).collect()
}

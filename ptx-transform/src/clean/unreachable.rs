//! Unreachable-code elimination: instructions that control never reaches are removed.
//!
//! The `.loc` directives of these instructions are removed, too. Declarations, tables of labels and statements that were not recognized stay.
//! Afterwards, unreferenced labels and tables are removed.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_edit::Editor;
use ptx_ir::{Statement, StmtId};
use ptx_isa::Directive;

use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{Rewrite, Step};

pub(super) const DEFINITION: Definition = Definition {
    name: "unreachable",
    term: "unreachable-code elimination",
    summary: "Remove unreachable instructions and unreferenced labels",
    plan,
    finish: Some(remove_unused_labels),
};

fn remove_unused_labels(editor: &mut Editor<'_>) -> Vec<(StmtId, &'static str)> {
    editor
        .remove_unused_labels()
        .into_iter()
        .map(|stmt| (stmt, "unreferenced"))
        .collect()
}

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let body = view.body();
    view.cfg
        .blocks()
        .filter(|(id, _)| !view.dominators.is_reachable(*id))
        .flat_map(|(_, block)| body.range(block.first, block.end))
        .filter(|&(_, statement)| {
            matches!(statement, Statement::Inst(_))
                || body.directive(statement).is_some_and(Directive::is_debug)
        })
        .map(|(stmt, _)| Step {
            stmt,
            rewrite: Rewrite::Remove,
            why: String::from("it is unreachable"),
        })
        .collect()
}

//! Uniform branches: a branch says that all threads which execute it go the same way, where that is proven.
//!
//! A branch that may part a warp has to be prepared for that in the machine code. What decides a marked branch is the same in all threads of a CTA that execute
//! it, so that it does not matter which threads of a warp are executed together. Nothing is assumed of other functions. As in [`ptx_analysis::uniformity`], the program has no
//! data race.

use alloc::vec::Vec;

use ptx_analysis::uniformity::Uniformity;
use ptx_ir::facts::{Facts, Flow};
use ptx_ir::{InstId, StmtId};
use ptx_isa::Modifier;

use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{Rewrite, Step};

pub(super) const DEFINITION: Definition = Definition {
    name: "uniform",
    term: "marking of uniform branches",
    summary: "Mark branches that are uniform in the CTA",
    plan,
    finish: None,
};

fn plan(view: &View<'_>) -> Vec<Step> {
    let branches = view.reached();
    let branches = branches.filter(|(_, inst, facts)| may_diverge(view, *inst, facts));
    let steps = branches.filter_map(|(stmt, _, facts)| {
        let level = level(view, stmt, &facts)?;
        (level <= Uniformity::Cta).then(|| Step {
            stmt,
            act: Rewrite::Modifier(Modifier::Uni),
            why: format!("the branch is uniform in the {}", level.name()),
        })
    });
    steps.collect()
}

/// Whether an instruction decides where to go on, and does not say that all threads decide the same.
fn may_diverge(view: &View<'_>, inst: InstId, facts: &Facts<'_>) -> bool {
    let decides = match facts.flow() {
        Flow::Jump | Flow::Return => facts.guard().is_some(),
        Flow::Table => true,
        _ => false,
    };
    let signature = view.body().inst(inst).map(|i| i.sig);
    let is_marked = |sig| {
        let mut modifiers = view.module().signature(sig).modifiers();
        modifiers.any(|m| m == Modifier::Uni)
    };
    decides && !signature.is_some_and(is_marked)
}

/// In which threads the decision is the same.
fn level(view: &View<'_>, stmt: StmtId, facts: &Facts<'_>) -> Option<Uniformity> {
    let uniformity = view.function.uniformity();
    let guard = match facts.guard() {
        Some(_) => uniformity.guard(stmt),
        None => Uniformity::Grid,
    };
    let way = match facts.flow() {
        Flow::Table => uniformity.branch(view.cfg.of_statement(stmt)?),
        _ => Uniformity::Grid,
    };
    Some(guard.max(way))
}

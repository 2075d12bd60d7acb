//! Uniform branches: a branch is marked if all threads that execute it provably take the same direction.
//!
//! The machine code of a branch that may diverge prepares the reconvergence of the warp. The condition of a marked branch is the
//! same in all threads of a CTA that execute it, so it does not matter which threads of a warp are executed together. Nothing is
//! assumed of other functions. As in [`ptx_analysis::uniformity`], the program has no data race.

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
    let mut steps = Vec::new();
    for (stmt, inst, facts) in view.reached() {
        if may_diverge(view, inst, &facts)
            && let Some(level) = level(view, stmt, &facts)
            && level <= Uniformity::Cta
        {
            steps.push(Step {
                stmt,
                rewrite: Rewrite::Modifier(Modifier::Uni),
                why: format!("the branch is uniform in the {}", level.name()),
            });
        }
    }
    steps
}

/// The instruction has a condition or a table of targets, and is not marked as uniform.
fn may_diverge(view: &View<'_>, inst: InstId, facts: &Facts<'_>) -> bool {
    let is_conditional = match facts.flow() {
        Flow::Jump | Flow::Return => facts.guard().is_some(),
        Flow::Table => true,
        _ => false,
    };
    let is_marked = view.body().inst(inst).is_some_and(|record| {
        let mut modifiers = view.module().signature(record.sig).modifiers();
        modifiers.any(|modifier| modifier == Modifier::Uni)
    });
    is_conditional && !is_marked
}

/// The threads in which the direction of a branch is the same.
fn level(view: &View<'_>, stmt: StmtId, facts: &Facts<'_>) -> Option<Uniformity> {
    let uniformity = view.function.uniformity();
    let guard = match facts.guard() {
        Some(_) => uniformity.guard(stmt),
        None => Uniformity::Grid,
    };
    let target = match facts.flow() {
        Flow::Table => uniformity.branch(view.cfg.of_statement(stmt)?),
        _ => Uniformity::Grid,
    };
    Some(guard.max(target))
}

//! Redundant synchronization: fences and barriers whose ordering is also provided by others.
//!
//! A fence is redundant if on every path to it another one that orders at least as much was executed, or if on every path from it one will be,
//! and the two have no access to memory that other threads can see, no other
//! synchronization, and no call between them. Fences only
//! concern the thread that executes them, so nothing has to be known of the other threads.
//!
//! A barrier of the CTA is redundant if on every path to it the same barrier was executed, likewise. Since a barrier pairs with those of the other
//! threads, all barriers of the kernel must then be executed by all threads of the CTA alike.

mod flow;
mod kinds;

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, Flow};
use ptx_ir::{FunctionKind, Statement, StmtId};
use ptx_isa::Uniformity;

use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{Rewrite, Step};
use flow::redundant;
use kinds::Kinds;

pub(super) const DEFINITION: Definition = Definition {
    name: "synchronization",
    term: "elimination of redundant synchronization",
    summary: "Remove fences and barriers that other fences and barriers make redundant",
    plan,
    finish: None,
};

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let synchronization = view.reached().filter(|(_, _, f)| is_synchronization(f));
    // A single fence or barrier is never redundant. In a loop, its first execution is not.
    if synchronization.take(2).count() < 2 {
        return Vec::new();
    }
    let kinds = Kinds::new(view, barriers_are_uniform(view));
    let covered_by_earlier = redundant::<false>(view, &kinds);
    if !covered_by_earlier.is_empty() {
        return removals(
            covered_by_earlier,
            "earlier synchronization provides the same ordering",
        );
    }
    // Only if the forward analysis removes nothing: of two fences that make each other redundant, one has to stay.
    removals(
        redundant::<true>(view, &kinds),
        "a later fence provides the same ordering",
    )
}

fn removals(statements: Vec<StmtId>, why: &str) -> Vec<Step> {
    statements
        .into_iter()
        .map(|stmt| Step {
            stmt,
            rewrite: Rewrite::Remove,
            why: why.into(),
        })
        .collect()
}

fn is_synchronization(f: &Facts<'_>) -> bool {
    f.is_fence() || f.is_barrier()
}

/// Whether all threads of a CTA execute the barriers of a kernel alike, so that the barriers of a number of threads pair with each other.
fn barriers_are_uniform(view: &View<'_>) -> bool {
    let function = view.module().functions().get(view.facts.id());
    if function.is_none_or(|f| f.kind != FunctionKind::Entry) {
        return false;
    }
    let is_barrier = |f: &Facts<'_>| f.is_barrier() && f.asynchronous().is_empty();
    if !view.reached().any(|(_, _, f)| is_barrier(&f)) {
        return false;
    }
    let uniformity = view.function.uniformity();
    view.cfg
        .blocks()
        .filter(|(id, _)| view.dominators.is_reachable(*id))
        .all(|(id, block)| {
            let is_uniform = uniformity.block(id) <= Uniformity::Cta;
            let mut statements = view.body().range(block.first, block.end);
            statements.all(|(_, statement)| match statement {
                Statement::Inst(inst) => {
                    let facts = view.facts.inst(inst);
                    let may_wait = matches!(facts.flow(), Flow::Call | Flow::Unknown);
                    !may_wait && (!is_barrier(&facts) || facts.guard().is_none() && is_uniform)
                }
                // An unrecognized statement may be a barrier.
                Statement::Opaque(_) => false,
                _ => true,
            })
        })
}

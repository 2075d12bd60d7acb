//! Fences that are redundant because of other fences, and fences that order nothing.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::StmtId;

use super::MOST_FENCES;
use super::order::{Code, Effect, FencePosition, Level, Side, Step};
use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(super) fn check(cx: &FunctionContext<'_>, code: &Code, findings: &mut Vec<Finding>) {
    let mut last_redundant: Option<RedundantFence<'_>> = None;
    for position in code.fences(cx).take(MOST_FENCES) {
        let steps = code.steps_of(position.block);
        let mut previous = position
            .index
            .checked_sub(1)
            .and_then(|index| steps.get(index));
        // After the redundant fence before this one is removed, the fence that covers it precedes this one.
        if let (Some(redundant), Some(step)) = (&last_redundant, previous)
            && redundant.stmt == step.stmt
        {
            previous = redundant.preceding_cover;
        }
        let next = steps.get(position.index + 1);
        if let Some(cover) = covering_step(&position, previous, next) {
            last_redundant = Some(RedundantFence {
                stmt: position.step.stmt,
                preceding_cover: previous.filter(|step| step.stmt == cover.stmt),
            });
            findings.push(covered_finding(cx, position.step, cover));
        } else if code.is_kernel
            && let Some(side) = side_without_accesses(cx, code, &position)
        {
            last_redundant = Some(RedundantFence {
                stmt: position.step.stmt,
                preceding_cover: None,
            });
            findings.push(useless_finding(cx, position.step, side));
        }
    }
}

/// A fence that was reported.
struct RedundantFence<'s> {
    stmt: StmtId,
    /// The step before the fence that makes it redundant; `None` if it is redundant for another reason.
    preceding_cover: Option<&'s Step>,
}

/// Returns the step next to a fence that provides at least the same ordering.
fn covering_step<'s>(
    position: &FencePosition<'_>,
    previous: Option<&'s Step>,
    next: Option<&'s Step>,
) -> Option<&'s Step> {
    let fence = position.fence;
    let covers = |step: &Step| match step.effect {
        Effect::Fence(other) => other.covers(fence),
        Effect::Barrier => fence.level == Level::Cta,
        _ => false,
    };
    previous.filter(|step| covers(step)).or_else(|| {
        // Of two equal fences, the second one is redundant.
        next.filter(|step| {
            let is_equal = matches!(step.effect, Effect::Fence(other) if fence.covers(other));
            covers(step) && !is_equal
        })
    })
}

/// Returns the side of a fence on which there are no accesses to order.
fn side_without_accesses(
    cx: &FunctionContext<'_>,
    code: &Code,
    position: &FencePosition<'_>,
) -> Option<Side> {
    [Side::Before, Side::After].into_iter().find(|side| {
        code.reachable_steps(cx, position, *side)
            .iter()
            .all(|step| matches!(step.effect, Effect::Fence(_) | Effect::Barrier))
    })
}

fn covered_finding(cx: &FunctionContext<'_>, fence: &Step, cover: &Step) -> Finding {
    let (mnemonic, other) = (cx.mnemonic(fence.inst), cx.mnemonic(cover.inst));
    let message = format!(
        "`{mnemonic}` is redundant: the adjacent `{other}` provides at least the same ordering"
    );
    cx.finding(
        Lint::FenceStrength,
        Certainty::Definite,
        fence.stmt,
        message,
    )
    .with_label(cx.span(cover.stmt), "this is sufficient")
    .with_help("remove the fence")
    .with_fix(cx.span(fence.stmt), "")
}

fn useless_finding(cx: &FunctionContext<'_>, step: &Step, side: Side) -> Finding {
    let mnemonic = cx.mnemonic(step.inst);
    let side = match side {
        Side::Before => "before",
        Side::After => "after",
    };
    let message = format!("`{mnemonic}` is redundant: there is no memory access {side} it");
    cx.finding(Lint::FenceStrength, Certainty::Definite, step.stmt, message)
        .with_help("remove the fence")
        .with_fix(cx.span(step.stmt), "")
}

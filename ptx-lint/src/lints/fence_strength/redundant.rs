//! Fences that are redundant because of other fences, and fences that order nothing.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;

use super::order::{Act, Code, Level, Step};
use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The maximum number of examined fences of a function.
const MOST: usize = 64;

pub(super) fn check(cx: &FunctionContext<'_>, code: &Code, found: &mut Vec<Finding>) {
    let mut seen = 0;
    for (block, _) in cx.cfg().blocks() {
        let steps = code.of(block);
        // The last reported fence, and the fence that covers it.
        let mut reported: Option<(usize, Option<usize>)> = None;
        for (index, step) in steps.iter().enumerate() {
            let Act::Fence(_) = step.act else { continue };
            seen += 1;
            if seen > MOST {
                return;
            }
            let previous = index.checked_sub(1).and_then(|p| match reported {
                // The fence that is kept in its place.
                Some((last, kept)) if last == p => kept.filter(|kept| *kept < index),
                _ => Some(p),
            });
            let near = (previous.and_then(|p| steps.get(p)), steps.get(index + 1));
            if let Some(other) = covering(step, near.0, near.1) {
                let is_before = near.0.is_some_and(|p| p.stmt == other.stmt);
                reported = Some((index, previous.filter(|_| is_before)));
                found.push(covered(cx, step, other));
            } else if code.is_kernel
                && let Some(nothing) = orders_nothing(cx, code, block, index)
            {
                reported = Some((index, None));
                found.push(useless(cx, step, nothing));
            }
        }
    }
}

/// The step next to a fence that provides at least the same ordering.
fn covering<'s>(
    fence: &Step,
    previous: Option<&'s Step>,
    next: Option<&'s Step>,
) -> Option<&'s Step> {
    let Act::Fence(own) = fence.act else {
        return None;
    };
    let covers = |other: &&Step, strictly: bool| match other.act {
        Act::Fence(other) => other.covers(own) && !(strictly && own.covers(other)),
        Act::Barrier => own.level == Level::Cta,
        _ => false,
    };
    // Of two equal fences, the second one is redundant.
    previous
        .filter(|other| covers(other, false))
        .or_else(|| next.filter(|other| covers(other, true)))
}

/// Whether there is nothing to order before, or after, a fence.
fn orders_nothing(
    cx: &FunctionContext<'_>,
    code: &Code,
    block: ptx_analysis::cfg::BlockId,
    index: usize,
) -> Option<&'static str> {
    let nothing = |after| {
        let steps = code.around(cx, block, index, after);
        let is_nothing = |s: &&Step| matches!(s.act, Act::Fence(_) | Act::Barrier);
        steps.iter().all(is_nothing)
    };
    match (nothing(false), nothing(true)) {
        (true, _) => Some("before"),
        (_, true) => Some("after"),
        _ => None,
    }
}

fn covered(cx: &FunctionContext<'_>, step: &Step, other: &Step) -> Finding {
    let (own, by) = (cx.mnemonic(step.inst), cx.mnemonic(other.inst));
    let message =
        format!("`{own}` is redundant: the adjacent `{by}` provides at least the same ordering");
    cx.finding(Lint::FenceStrength, Certainty::Definite, step.stmt, message)
        .with_label(cx.span(other.stmt), "this is sufficient")
        .with_help("remove the fence")
        .with_fix(cx.span(step.stmt), "")
}

fn useless(cx: &FunctionContext<'_>, step: &Step, place: &str) -> Finding {
    let own = cx.mnemonic(step.inst);
    let message = format!("`{own}` is redundant: there is no memory access {place} it");
    cx.finding(Lint::FenceStrength, Certainty::Definite, step.stmt, message)
        .with_help("remove the fence")
        .with_fix(cx.span(step.stmt), "")
}

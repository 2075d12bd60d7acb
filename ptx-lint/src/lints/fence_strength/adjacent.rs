//! Fences and adjacent strong accesses: stores with release semantics, loads with acquire semantics, and signals with a wider scope.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_isa::Modifier;

use super::MOST_FENCES;
use super::order::{Access, Code, Effect, Fence, FencePosition, Level, Side, Step};
use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(super) fn check(cx: &FunctionContext<'_>, code: &Code, findings: &mut Vec<Finding>) {
    let exchanges = exchanges(cx, code);
    for position in code.fences(cx).take(MOST_FENCES) {
        if findings
            .iter()
            .all(|finding| finding.stmt != position.step.stmt)
        {
            findings.extend(examine(cx, code, &exchanges, &position));
        }
    }
}

/// The accesses directly before and after a fence.
#[derive(Copy, Clone)]
struct Exchange<'s> {
    before: &'s Access,
    after: &'s Access,
}

/// Returns the accesses around the first fences of a function.
fn exchanges<'s>(cx: &FunctionContext<'_>, code: &'s Code) -> Vec<Exchange<'s>> {
    cx.cfg()
        .blocks()
        .flat_map(|(block, _)| code.steps_of(block).windows(3))
        .filter_map(|steps| match steps {
            [before, fence, after] if matches!(fence.effect, Effect::Fence(_)) => Some(Exchange {
                before: before.access()?,
                after: after.access()?,
            }),
            _ => None,
        })
        .take(MOST_FENCES)
        .collect()
}

/// Returns the finding about a fence.
fn examine(
    cx: &FunctionContext<'_>,
    code: &Code,
    exchanges: &[Exchange<'_>],
    position: &FencePosition<'_>,
) -> Option<Finding> {
    let FencePosition {
        block,
        index,
        step,
        fence,
    } = *position;
    let preceding = preceding_steps(cx, code, position);
    let steps = code.steps_of(block);
    if let Some(next) = steps.get(index + 1)
        && let Some(access) = next.access()
    {
        if is_too_narrow(fence, access) {
            return Some(narrow_finding(cx, step, next, access.scope()));
        }
        let mut earlier_in_block = steps.iter().take(index);
        if access_releases_like(fence, access) && earlier_in_block.all(|step| !may_receive(step)) {
            return Some(redundant_finding(cx, step, next));
        }
        let stored = match index {
            0 => None,
            _ => preceding.first().and_then(|step| step.access()),
        };
        if let Some(stored) = stored
            && !next.is_poll
            && may_read_old_values(
                fence,
                Exchange {
                    before: stored,
                    after: access,
                },
                exchanges,
            )
        {
            return Some(weak_finding(cx, step, next));
        }
    }
    let all_acquire = preceding.iter().all(|step| {
        step.access()
            .is_some_and(|access| access_acquires_like(fence, access))
    });
    let acquire = preceding.first().filter(|_| all_acquire)?;
    let later = code.reachable_steps(cx, position, Side::After);
    let is_redundant = !later.iter().any(|step| may_send(step));
    is_redundant.then(|| redundant_finding(cx, step, acquire))
}

/// Returns the step before a fence. If the fence is the first step of its block, returns the last step of each predecessor, or nothing if one of them
/// has no steps.
fn preceding_steps<'s>(
    cx: &FunctionContext<'_>,
    code: &'s Code,
    fence: &FencePosition<'_>,
) -> Vec<&'s Step> {
    match fence.index.checked_sub(1) {
        Some(previous) => code
            .steps_of(fence.block)
            .get(previous)
            .into_iter()
            .collect(),
        None => cx
            .cfg()
            .predecessors(fence.block)
            .iter()
            .map(|block| code.steps_of(*block).last())
            .collect::<Option<Vec<&Step>>>()
            .unwrap_or_default(),
    }
}

/// Returns `true` if other CTAs may access the memory.
fn is_visible_to_other_ctas(access: &Access) -> bool {
    !access.is_shared || access.is_cluster
}

/// Returns `true` if a strong access signals threads outside of the scope of a fence.
fn is_too_narrow(fence: Fence, access: &Access) -> bool {
    let sends = access.writes && access.is_strong() && !access.orders_before();
    sends && is_visible_to_other_ctas(access) && fence.releases() && access.scope() > fence.level
}

/// Returns `true` if an access orders earlier accesses as a fence does.
fn access_releases_like(fence: Fence, access: &Access) -> bool {
    fence.releases()
        && fence.order != Modifier::Sc
        && access.orders_before()
        && access.scope() >= fence.level
}

/// Returns `true` if an access orders later accesses as a fence does.
fn access_acquires_like(fence: Fence, access: &Access) -> bool {
    fence.acquires()
        && fence.order != Modifier::Sc
        && access.orders_after()
        && access.scope() >= fence.level
}

/// Returns `true` if a fence after this step may be the acquire for a value that the step reads.
fn may_receive(step: &Step) -> bool {
    match &step.effect {
        Effect::Access(access) => access.reads && access.is_strong(),
        Effect::Fence(_) | Effect::Barrier => false,
        Effect::Other => true,
    }
}

/// Returns `true` if a fence before this step may be the release for a signal of the step.
fn may_send(step: &Step) -> bool {
    match &step.effect {
        Effect::Access(access) => access.writes && access.is_strong() && !access.orders_before(),
        Effect::Fence(_) | Effect::Barrier => false,
        Effect::Other => true,
    }
}

/// Returns `true` if a thread signals other threads and then reads their signals, so that without a sequentially consistent fence each thread may
/// read the old value. `exchanges` are the accesses around all fences of the function.
fn may_read_old_values(fence: Fence, exchange: Exchange<'_>, exchanges: &[Exchange<'_>]) -> bool {
    let Exchange {
        before: stored,
        after: loaded,
    } = exchange;
    let is_store = stored.writes && !stored.reads && stored.is_strong();
    let is_load = loaded.reads && !loaded.writes && loaded.is_strong();
    let is_one_object = stored.provenance.is_some() && stored.provenance == loaded.provenance;
    // Other threads store to the loaded address and load from the stored address.
    let is_mirrored = || {
        exchanges.iter().any(|other| {
            other.before.writes
                && other.after.reads
                && other.before.is_same(loaded)
                && other.after.is_same(stored)
        })
    };
    is_store
        && is_load
        && stored.is_apart(loaded)
        && (is_one_object || is_mirrored())
        && fence.order != Modifier::Sc
        && !stored.is_volatile
        && !loaded.is_volatile
}

fn redundant_finding(cx: &FunctionContext<'_>, fence: &Step, access: &Step) -> Finding {
    let (mnemonic, other) = (cx.mnemonic(fence.inst), cx.mnemonic(access.inst));
    let message =
        format!("`{mnemonic}` may be redundant: the adjacent `{other}` provides the same ordering");
    cx.finding(
        Lint::FenceStrength,
        Certainty::Possible,
        fence.stmt,
        message,
    )
    .with_label(
        cx.span(access.stmt),
        "this is sufficient, unless the fence also orders other accesses",
    )
    .with_help("remove the fence")
    .with_fix(cx.span(fence.stmt), "")
}

fn narrow_finding(cx: &FunctionContext<'_>, step: &Step, signal: &Step, needed: Level) -> Finding {
    let message = format!(
        "the scope of the fence may be too narrow: the access after it requires scope {}",
        needed.name()
    );
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_label(cx.span(signal.stmt), "the access")
        .with_help(format!("use a fence with scope {}", needed.name()))
}

fn weak_finding(cx: &FunctionContext<'_>, step: &Step, load: &Step) -> Finding {
    let message =
        "the load after this fence may be reordered before the store that precedes the fence";
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_label(cx.span(load.stmt), "the load")
        .with_help("use a fence with `.sc` if at least one of two threads that do this must observe the store of the other")
}

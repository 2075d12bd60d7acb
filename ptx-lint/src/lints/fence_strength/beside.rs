//! Fences and adjacent strong accesses: stores with release semantics, loads with acquire semantics, and signals with a wider scope.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::cfg::BlockId;
use ptx_isa::Modifier;

use super::order::{Access, Act, Code, Fence, Level, Step};
use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The maximum number of examined fences of a function.
const MOST: usize = 64;

pub(super) fn check(cx: &FunctionContext<'_>, code: &Code, found: &mut Vec<Finding>) {
    let pairs = exchanged(cx, code);
    let mut seen = 0;
    for (block, _) in cx.cfg().blocks() {
        for (index, step) in code.of(block).iter().enumerate() {
            let Act::Fence(fence) = step.act else {
                continue;
            };
            seen += 1;
            if seen > MOST {
                return;
            }
            if found.iter().all(|f| f.stmt != step.stmt) {
                found.extend(examine(cx, code, &pairs, (block, index), (step, fence)));
            }
        }
    }
}

/// The store right before a fence and the load right after it.
type Pair<'s> = (&'s Access, &'s Access);

/// The pairs of the first fences of a function.
fn exchanged<'s>(cx: &FunctionContext<'_>, code: &'s Code) -> Vec<Pair<'s>> {
    let of_block = |block| code.of(block).windows(3);
    let all = cx.cfg().blocks().flat_map(|(block, _)| of_block(block));
    let pairs = all.filter_map(|steps| match steps {
        [stored, fence, loaded] if matches!(fence.act, Act::Fence(_)) => {
            Some((stored.access()?, loaded.access()?))
        }
        _ => None,
    });
    pairs.take(MOST).collect()
}

fn examine(
    cx: &FunctionContext<'_>,
    code: &Code,
    pairs: &[Pair<'_>],
    (block, index): (BlockId, usize),
    (step, fence): (&Step, Fence),
) -> Option<Finding> {
    let (before, steps) = (before(cx, code, block, index), code.of(block));
    let next = steps.get(index + 1);
    if let Some((next, access)) = next.and_then(|n| Some((n, n.access()?))) {
        if is_narrow(fence, access) {
            return Some(narrow(cx, step, next, access.scope()));
        }
        let earlier = steps.get(..index).unwrap_or_default();
        if releases(fence, access) && earlier.iter().all(|s| !reads(s)) {
            return Some(redundant(cx, step, next));
        }
        let stored = before
            .first()
            .filter(|_| index > 0)
            .and_then(|s| s.access());
        if let Some(stored) = stored
            && !next.is_poll
            && exchanges(fence, (stored, access), pairs)
        {
            return Some(weak(cx, step, next));
        }
    }
    let all_acquire = before
        .iter()
        .all(|s| s.access().is_some_and(|a| acquires(fence, a)));
    let last = before.first().filter(|_| all_acquire)?;
    let after = code.around(cx, block, index, true);
    (!after.iter().any(|s| sends(s))).then(|| redundant(cx, step, last))
}

/// The step before another one: in each block before, if it is the first one of its block.
fn before<'s>(
    cx: &FunctionContext<'_>,
    code: &'s Code,
    block: BlockId,
    index: usize,
) -> Vec<&'s Step> {
    match index.checked_sub(1) {
        Some(previous) => code.of(block).get(previous).into_iter().collect(),
        None => {
            let blocks = cx.cfg().predecessors(block);
            let last = blocks.iter().map(|b| code.of(*b).last());
            last.collect::<Option<Vec<&Step>>>().unwrap_or_default()
        }
    }
}

/// Whether other CTAs may access the memory.
fn is_far(access: &Access) -> bool {
    !access.is_shared || access.is_cluster
}

/// Whether a strong access signals threads outside of the scope of a fence.
fn is_narrow(fence: Fence, access: &Access) -> bool {
    let sends = access.writes && access.is_strong() && !access.orders_before();
    sends && is_far(access) && fence.releases() && access.scope() > fence.level
}

/// Whether an access orders earlier accesses like a fence.
fn releases(fence: Fence, access: &Access) -> bool {
    fence.releases()
        && fence.order != Modifier::Sc
        && access.orders_before()
        && access.scope() >= fence.level
}

/// Whether an access orders later accesses like a fence.
fn acquires(fence: Fence, access: &Access) -> bool {
    fence.acquires()
        && fence.order != Modifier::Sc
        && access.orders_after()
        && access.scope() >= fence.level
}

/// Whether a fence before a release may act as an acquire for the value that this step reads.
fn reads(step: &Step) -> bool {
    match &step.act {
        Act::Access(access) => access.reads && access.is_strong(),
        Act::Fence(_) | Act::Barrier => false,
        Act::Other => true,
    }
}

/// Whether a fence after an acquire may act as a release for the signal of this step.
fn sends(step: &Step) -> bool {
    match &step.act {
        Act::Access(access) => access.writes && access.is_strong() && !access.orders_before(),
        Act::Fence(_) | Act::Barrier => false,
        Act::Other => true,
    }
}

/// Whether a thread signals others and then reads their signals in the same way, so that each thread may read the old value.
fn exchanges(fence: Fence, (stored, loaded): Pair<'_>, pairs: &[Pair<'_>]) -> bool {
    let is_store = stored.writes && !stored.reads && stored.is_strong();
    let is_load = loaded.reads && !loaded.writes && loaded.is_strong();
    let is_near = |a: &Access| a.is_volatile;
    let of_one = stored.provenance.is_some() && stored.provenance == loaded.provenance;
    // Other threads store what these load, and load what these store.
    let is_mirrored = || {
        pairs
            .iter()
            .any(|(s, l)| s.writes && l.reads && s.is_same(loaded) && l.is_same(stored))
    };
    is_store
        && is_load
        && stored.is_apart(loaded)
        && (of_one || is_mirrored())
        && fence.order != Modifier::Sc
        && !is_near(stored)
        && !is_near(loaded)
}

fn redundant(cx: &FunctionContext<'_>, step: &Step, other: &Step) -> Finding {
    let (own, by) = (cx.mnemonic(step.inst), cx.mnemonic(other.inst));
    let message =
        format!("`{own}` may be redundant: the adjacent `{by}` provides the same ordering");
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_label(
            cx.span(other.stmt),
            "this is sufficient, unless the fence also orders other accesses",
        )
        .with_help("remove the fence")
        .with_fix(cx.span(step.stmt), "")
}

fn narrow(cx: &FunctionContext<'_>, step: &Step, signal: &Step, needed: Level) -> Finding {
    let message = format!(
        "the scope of the fence may be too narrow: the access after it requires scope {}",
        needed.name()
    );
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_label(cx.span(signal.stmt), "the access")
        .with_help(format!("use a fence with scope {}", needed.name()))
}

fn weak(cx: &FunctionContext<'_>, step: &Step, load: &Step) -> Finding {
    let message =
        "the load after this fence may be reordered before the store that precedes the fence";
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_label(cx.span(load.stmt), "the load")
        .with_help("use a fence with `.sc` if at least one of two threads that do this must observe the store of the other")
}

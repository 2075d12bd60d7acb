//! Accesses on different paths from a divergent branch without a barrier in between.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::threads::PerThread;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::Statement;
use ptx_isa::{Action, Marks, Modifier};

use super::pending::Pair;
use super::touch::{Touch, Touches};
use crate::context::FunctionContext;
use crate::divergence::Divergence;

/// The maximum number of examined accesses, and of blocks of each path.
const ACCESSES: usize = 128;
const BLOCKS: usize = 64;

/// A path from a branch to its post-dominator.
struct Arm {
    blocks: BTreeSet<BlockId>,
    /// The barriers on the path; `None` if anything else may order its accesses.
    barriers: Option<BTreeSet<i64>>,
    has_warp_barrier: bool,
}

/// Calls `each` with all pairs of accesses on different paths.
pub(super) fn pairs(cx: &FunctionContext<'_>, touches: &Touches, each: &mut dyn FnMut(Pair)) {
    let Some(divergence) = cx.divergence() else {
        return;
    };
    let some = touches
        .all
        .iter()
        .enumerate()
        .filter(|(_, touch)| is_of_some(touch));
    let some: Vec<(usize, Vec<BlockId>)> = some
        .map(|(at, touch)| (at, divergence.causes(touch.block, Uniformity::Cta)))
        .filter(|(_, causes)| !causes.is_empty())
        .take(ACCESSES)
        .collect();
    let mut arms: BTreeMap<BlockId, Vec<Arm>> = BTreeMap::new();
    for (at, (first, causes)) in some.iter().enumerate() {
        for (second, others) in some.iter().skip(at + 1) {
            let (a, b) = (&touches.all[*first], &touches.all[*second]);
            if !conflicts(a, b) {
                continue;
            }
            let Some(branch) = causes.iter().find(|cause| others.contains(cause)) else {
                continue;
            };
            let arms = arms
                .entry(*branch)
                .or_insert_with(|| arms_of(cx, divergence, *branch));
            if let Some(in_other_warps) = unordered(arms, a, b) {
                each(Pair {
                    first: *first,
                    second: *second,
                    is_earlier: false,
                    in_other_warps,
                    group: None,
                    is_certain: false,
                });
            }
        }
    }
}

/// Whether it is known that some threads do not execute an access.
fn is_of_some(touch: &Touch) -> bool {
    touch.set != 0 && !touch.is_anywhere && touch.repeated.is_none()
}

/// Whether different threads execute two accesses, one of which is a write.
fn conflicts(a: &Touch, b: &Touch) -> bool {
    // Where the values differ between threads, those of different threads are compared.
    let same_value = match (&a.stored, &b.stored) {
        (Some(PerThread::Same(a)), Some(PerThread::Same(b))) => a == b,
        _ => false,
    };
    a.set & b.set == 0
        && a.provenance == b.provenance
        && (a.writes || b.writes)
        && !(a.is_atomic && b.is_atomic)
        && !(a.writes && b.writes && same_value)
}

/// Whether two accesses on different paths are unordered, and whether both paths have warp barriers.
fn unordered(arms: &[Arm], a: &Touch, b: &Touch) -> Option<bool> {
    let of = |touch: &Touch| {
        let mut on = arms.iter().filter(|arm| arm.blocks.contains(&touch.block));
        on.next().filter(|_| on.next().is_none())
    };
    let (first, second) = (of(a)?, of(b)?);
    let (before, after) = (first.barriers.as_ref()?, second.barriers.as_ref()?);
    let is_other = !first.blocks.contains(&b.block) && !second.blocks.contains(&a.block);
    let warps = first.has_warp_barrier && second.has_warp_barrier;
    (is_other && before.is_disjoint(after)).then_some(warps)
}

/// The paths from a branch.
fn arms_of(cx: &FunctionContext<'_>, divergence: &Divergence, branch: BlockId) -> Vec<Arm> {
    let stop = divergence.meets(branch);
    let ways = cx.cfg().successors(branch).iter();
    ways.map(|to| arm(cx, *to, stop)).collect()
}

fn arm(cx: &FunctionContext<'_>, from: BlockId, stop: Option<BlockId>) -> Arm {
    let mut arm = Arm {
        blocks: BTreeSet::new(),
        barriers: Some(BTreeSet::new()),
        has_warp_barrier: false,
    };
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if Some(block) == stop || !arm.blocks.insert(block) {
            continue;
        }
        if arm.blocks.len() > BLOCKS {
            arm.barriers = None;
            return arm;
        }
        arm.add(cx, block);
        work.extend(cx.cfg().successors(block));
    }
    arm
}

impl Arm {
    /// Records the instructions in a block that order accesses.
    fn add(&mut self, cx: &FunctionContext<'_>, block: BlockId) {
        let Some(of) = cx.cfg().block(block) else {
            return;
        };
        for (stmt, statement) in cx.body().range(of.first, of.end) {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let facts = cx.facts().inst(inst);
            let is_plain = facts
                .memory()
                .all(|m| matches!(m.order, Some(Modifier::Weak)));
            match facts.action() {
                None | Some(Action::ToGeneric | Action::FromGeneric)
                    if facts.is_known() && facts.callees().is_none() && is_plain => {}
                Some(Action::WarpBarrier) => self.has_warp_barrier = true,
                Some(Action::BarrierSync | Action::BarrierReduce | Action::BarrierArrive) => {
                    // Where no operand is marked, the second one is the count; the number is before it.
                    let number = facts.form().and_then(|(form, _)| {
                        let mut operands = form.operands().iter();
                        let count = operands.position(|o| o.marks().contains(Marks::THREAD_COUNT));
                        Some(facts.operand(count.unwrap_or(1).checked_sub(1)?)?.operand)
                    });
                    match (
                        number.and_then(|o| cx.constant(stmt, o)),
                        &mut self.barriers,
                    ) {
                        (Some(number), Some(known)) => {
                            known.insert(number);
                        }
                        _ => self.barriers = None,
                    }
                }
                _ => self.barriers = None,
            }
        }
    }
}

//! Accesses on different paths from a divergent branch without a barrier in between.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::threads::PerThread;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::StmtId;
use ptx_ir::facts::Facts;
use ptx_isa::{Action, Marks, Modifier};

use super::accesses::{SharedAccess, SharedAccesses};
use super::pending::Pair;
use crate::context::FunctionContext;
use crate::divergence::Divergence;

/// The maximum number of examined accesses.
const MAX_ACCESSES: usize = 128;
/// The maximum number of blocks of each path.
const MAX_BLOCKS: usize = 64;

/// A path from a branch to its post-dominator.
struct Arm {
    blocks: BTreeSet<BlockId>,
    /// The numbers of the barriers on the path; `None` if anything else may order its accesses.
    barriers: Option<BTreeSet<i64>>,
    has_warp_barrier: bool,
}

/// An access that some threads do not execute.
struct DivergentAccess {
    /// Its index in [`SharedAccesses::all`].
    index: usize,
    /// The divergent branches that decide which threads execute it.
    branches: Vec<BlockId>,
}

/// Calls `each` with all pairs of accesses on different paths.
pub(super) fn pairs(
    cx: &FunctionContext<'_>,
    accesses: &SharedAccesses,
    each: &mut dyn FnMut(Pair),
) {
    let Some(divergence) = cx.divergence() else {
        return;
    };
    let divergent: Vec<DivergentAccess> = accesses
        .all
        .iter()
        .enumerate()
        .filter(|(_, access)| is_divergent(access))
        .map(|(index, access)| DivergentAccess {
            index,
            branches: divergence.causes(access.block, Uniformity::Cta),
        })
        .filter(|access| !access.branches.is_empty())
        .take(MAX_ACCESSES)
        .collect();
    let mut arms: BTreeMap<BlockId, Vec<Arm>> = BTreeMap::new();
    for (position, first) in divergent.iter().enumerate() {
        for second in divergent.iter().skip(position + 1) {
            let (a, b) = (&accesses.all[first.index], &accesses.all[second.index]);
            if !conflicts(a, b) {
                continue;
            }
            let mut branches = first.branches.iter();
            let Some(branch) = branches.find(|branch| second.branches.contains(branch)) else {
                continue;
            };
            let arms = arms
                .entry(*branch)
                .or_insert_with(|| arms_of_branch(cx, divergence, *branch));
            if let Some(in_other_warps) = unordered(arms, a, b) {
                each(Pair {
                    first: first.index,
                    second: second.index,
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
fn is_divergent(access: &SharedAccess) -> bool {
    access.executing != 0 && !access.address.is_anywhere && access.address.repeated.is_none()
}

/// Whether different threads execute two accesses, one of which is a write.
fn conflicts(a: &SharedAccess, b: &SharedAccess) -> bool {
    // Where the values differ between threads, those of different threads are compared.
    let stores_same_value = match (&a.stored, &b.stored) {
        (Some(PerThread::Same(a)), Some(PerThread::Same(b))) => a == b,
        _ => false,
    };
    a.executing & b.executing == 0
        && a.provenance == b.provenance
        && (a.writes || b.writes)
        && !(a.is_atomic && b.is_atomic)
        && !(a.writes && b.writes && stores_same_value)
}

/// If two accesses on different paths are unordered, whether both paths have warp barriers.
fn unordered(arms: &[Arm], a: &SharedAccess, b: &SharedAccess) -> Option<bool> {
    let (first, second) = (only_arm(arms, a)?, only_arm(arms, b)?);
    let (first_barriers, second_barriers) = (first.barriers.as_ref()?, second.barriers.as_ref()?);
    let are_apart = !first.blocks.contains(&b.block) && !second.blocks.contains(&a.block);
    (are_apart && first_barriers.is_disjoint(second_barriers))
        .then_some(first.has_warp_barrier && second.has_warp_barrier)
}

/// The path that contains an access, if no other path does.
fn only_arm<'a>(arms: &'a [Arm], access: &SharedAccess) -> Option<&'a Arm> {
    let mut containing = arms.iter().filter(|arm| arm.blocks.contains(&access.block));
    containing.next().filter(|_| containing.next().is_none())
}

/// The paths from a branch.
fn arms_of_branch(cx: &FunctionContext<'_>, divergence: &Divergence, branch: BlockId) -> Vec<Arm> {
    let end = divergence.meets(branch);
    let successors = cx.cfg().successors(branch).iter();
    successors.map(|start| Arm::new(cx, *start, end)).collect()
}

impl Arm {
    /// The path from a block to the post-dominator of the branch.
    fn new(cx: &FunctionContext<'_>, start: BlockId, end: Option<BlockId>) -> Self {
        let mut arm = Self {
            blocks: BTreeSet::new(),
            barriers: Some(BTreeSet::new()),
            has_warp_barrier: false,
        };
        let mut worklist = vec![start];
        while let Some(block) = worklist.pop() {
            if Some(block) == end || !arm.blocks.insert(block) {
                continue;
            }
            if arm.blocks.len() > MAX_BLOCKS {
                arm.barriers = None;
                return arm;
            }
            arm.add_barriers(cx, block);
            worklist.extend(cx.cfg().successors(block));
        }
        arm
    }

    /// Records the instructions of a block that order accesses.
    fn add_barriers(&mut self, cx: &FunctionContext<'_>, block: BlockId) {
        let Some(block) = cx.cfg().block(block) else {
            return;
        };
        for (stmt, inst) in block.insts(cx.body()) {
            let facts = cx.facts().inst(inst);
            match facts.action() {
                None | Some(Action::ToGeneric | Action::FromGeneric) if orders_nothing(&facts) => {}
                Some(Action::WarpBarrier) => self.has_warp_barrier = true,
                Some(Action::BarrierSync | Action::BarrierReduce | Action::BarrierArrive) => {
                    match (barrier_number(cx, stmt, &facts), &mut self.barriers) {
                        (Some(number), Some(barriers)) => {
                            barriers.insert(number);
                        }
                        _ => self.barriers = None,
                    }
                }
                _ => self.barriers = None,
            }
        }
    }
}

/// Whether an instruction without an action is not a call and accesses memory at most weakly.
fn orders_nothing(facts: &Facts<'_>) -> bool {
    facts.is_known()
        && facts.callees().is_none()
        && facts
            .memory()
            .all(|access| matches!(access.order, Some(Modifier::Weak)))
}

/// The constant number of a barrier.
fn barrier_number(cx: &FunctionContext<'_>, stmt: StmtId, facts: &Facts<'_>) -> Option<i64> {
    // Where no operand is marked, the second one is the count; the number is before it.
    let (form, _) = facts.form()?;
    let mut operands = form.operands().iter();
    let count = operands.position(|o| o.marks().contains(Marks::THREAD_COUNT));
    let number = facts.operand(count.unwrap_or(1).checked_sub(1)?)?.operand;
    cx.constant(stmt, number)
}
